"""Make `.venv` ready: `core` for `make demo`, `dev` for `make test` and `make lint`.

The environment counts as ready only if its stamp, written last, matches what is asked for now: this
folder, the packaging part of pyproject.toml, constraints.txt, and every distribution that was installed.
Anything else (a killed set-up, a changed dependency, a package removed by hand, a moved checkout) is thrown
away and redone.
A ready `core` environment grows into `dev` in place; its stamp is taken down while that happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "steelyard-ready.json"
LOG = VENV / "set-up.log"
PYTHON = VENV / "bin" / "python"
TARGETS = {"core": ".", "dev": ".[dev]"}
# Settings that would send packages or imports somewhere else than into the environment.
STRAY_SETTINGS = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PYTHONPATH", "PYTHONHOME")


class SetUpError(Exception):
    """The environment could not be made; the text says what happened and what to do."""


def fingerprint() -> str:
    """Hash of everything that decides what the environment holds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packaging = {
        "build-system": project["build-system"],
        "project": project["project"],
        "hatch": project.get("tool", {}).get("hatch"),
        "constraints": (ROOT / "constraints.txt").read_text(encoding="utf-8"),
        "root": str(ROOT),
    }
    return hashlib.sha256(json.dumps(packaging, sort_keys=True).encode()).hexdigest()


def distributions() -> set[str]:
    return {found.name for found in VENV.glob("lib/python*/site-packages/*.dist-info")}


def ready_level() -> str | None:
    """`core`, `dev`, or None when the environment cannot be trusted."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        trusted = stamp["fingerprint"] == fingerprint() and set(stamp["distributions"]) <= distributions()
        level = stamp["level"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return level if trusted and level in TARGETS and imports_from_here() else None


def imports_from_here() -> bool:
    """Whether the interpreter runs, still has pip, and finds this checkout's package."""
    probe = (
        "import importlib.util as u, sys; s = u.find_spec('steelyard'); "
        "sys.exit(not (u.find_spec('pip') and s and s.origin and s.origin.startswith(sys.argv[1])))"
    )
    try:
        command = [str(PYTHON), "-c", probe, str(ROOT / "src")]
        done = subprocess.run(command, cwd=VENV, env=clean_environment(), capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in STRAY_SETTINGS}


def run(*command: str, lock: int) -> None:
    """Run one step quietly. The child inherits the lock: if this process is killed, its orphan keeps it."""
    with LOG.open("ab") as log:
        done = subprocess.run(
            command, cwd=ROOT, env=clean_environment(), stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT, pass_fds=(lock,), check=False,
        )  # fmt: skip
    if done.returncode != 0:
        tail = "\n".join(LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        raise SetUpError(
            f"{tail}\nSetting up .venv failed at `{' '.join(command)}` (exit {done.returncode}): the end of "
            f"its output is above, all of it in {LOG}. Check that pip can reach a package index and retry."
        )


def throw_away() -> None:
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)


def make(level: str, *, grow: bool, lock: int) -> None:
    if grow:
        install_or_put_back(level, lock=lock)
    else:
        throw_away()
        VENV.mkdir()
        # Not simply sys.executable: with .venv activated, that is the interpreter just thrown away.
        base = getattr(sys, "_base_executable", None) or sys.executable
        run(base, "-m", "venv", str(VENV), lock=lock)
        install(level, lock=lock)
    write_stamp(level)


def install(level: str, *, lock: int) -> None:
    run(
        str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
        "--constraint", "constraints.txt", "--editable", TARGETS[level], lock=lock,
    )  # fmt: skip


def install_or_put_back(level: str, *, lock: int) -> None:
    """Install more into a ready environment; where pip gave up before it changed anything, it stays ready."""
    stamp, before = STAMP.read_bytes(), distributions()
    STAMP.unlink()
    try:
        install(level, lock=lock)
    except SetUpError:
        if distributions() == before:
            STAMP.write_bytes(stamp)
        raise


def write_stamp(level: str) -> None:
    stamp = {"level": level, "fingerprint": fingerprint(), "distributions": sorted(distributions())}
    draft = STAMP.with_suffix(".draft")
    draft.write_text(json.dumps(stamp, indent=1), encoding="utf-8")
    os.replace(draft, STAMP)


@contextlib.contextmanager
def exclusive() -> Iterator[int]:
    """Hold the set-up lock, waiting for another set-up of this checkout to end."""
    with (ROOT / ".venv.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another set-up of this folder to end ...", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def main(level: str) -> None:
    with exclusive() as lock:
        found = ready_level()
        if found in (level, "dev"):
            return
        started = time.monotonic()
        print(f"Setting up .venv ({level}; once, then kept) ...", file=sys.stderr)
        make(level, grow=found == "core", lock=lock)
        print(f"Set up .venv in {time.monotonic() - started:.0f} s.", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in TARGETS:
        sys.exit("usage: scripts/set-up core|dev")
    try:
        main(sys.argv[1])
    except (SetUpError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Set-up interrupted; the next run starts it afresh.")
