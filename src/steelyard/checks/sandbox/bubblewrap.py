"""Full Python under bubblewrap: no network, no files but the interpreter's, another user, no new processes."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.checks.sandbox.process import WORKER, run_worker
from steelyard.checks.sandbox.protocol import Job, Limits
from steelyard.errors import GraderError

_SCRATCH = 16 * 1024 * 1024
_INSIDE = "/check/worker.py"
_ENV = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def run(job: Job) -> Any:
    """The returned value. Raises `GraderError` (`no_sandbox`) where bubblewrap is not there or cannot work."""
    fault = _fault()
    if fault is not None:
        raise GraderError(f"There is no bubblewrap sandbox for {job.file}: {fault}", code="no_sandbox")
    return run_worker(_command(), job, sealed=True, env=_ENV)


@cache
def _fault() -> str | None:
    """Why this machine has no such sandbox, or None. Found out by running an empty check in it, once."""
    if sys.platform != "linux":
        return "it is for Linux; use Monty, or --trust-graders if you trust the file."
    if shutil.which("bwrap") is None:
        return "`bwrap` is not installed; install your system's package bubblewrap."
    limits = Limits(seconds=10.0, memory=256 * 1024 * 1024, output=65536)
    empty = Job(
        source="def check(): return True", file="probe", function="check", arguments={}, limits=limits
    )
    try:
        works = run_worker(_command(), empty, sealed=True, env=_ENV) is True
    except GraderError as error:
        return f"it does not work here ({error}); it needs user namespaces, which containers often forbid."
    return None if works else "it does not work here."


def _command() -> list[str]:
    return [
        *_namespaces(),
        "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "check",
        "--ro-bind", "/usr", "/usr", *_links(), *_interpreter(),
        *_folder(Path("/etc")), "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
        *_folder(Path("/check")), "--ro-bind", str(WORKER), _INSIDE,
        "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev",
        "--perms", "1777", "--size", str(_SCRATCH), "--tmpfs", "/tmp", "--chdir", "/tmp", "--remount-ro", "/",
        str(_python()), "-s", "-S", "-P", "-B", _INSIDE,
    ]  # fmt: skip


def _folder(path: Path) -> list[str]:
    """A folder and those above it, which another user than their maker may walk through."""
    return [word for one in (*reversed(path.parents), path) if one != Path("/") for word in _walkable(one)]


def _walkable(path: Path) -> list[str]:
    return ["--perms", "0755", "--dir", str(path)]


def _namespaces() -> list[str]:
    if os.geteuid() != 0:
        return [
            _bwrap(),
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--uid",
            "65534",
            "--gid",
            "65534",
        ]
    # Root's own number would keep root's rights to files and no limit on processes: the worker takes another.
    spaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    return [_bwrap(), *spaces, "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


def _bwrap() -> str:
    return shutil.which("bwrap") or "bwrap"


def _python() -> Path:
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _links() -> list[str]:
    """`/lib`, `/bin` and their like as they are on this machine: links into /usr, or folders of their own."""
    found: list[str] = []
    for name in ("/bin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):
            found += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            found += ["--ro-bind", name, name]
    return found


def _interpreter() -> list[str]:
    """The interpreter with its standard library, where that is not in /usr."""
    prefix = Path(sys.base_prefix).resolve()
    if prefix == Path("/") or prefix.is_relative_to("/usr"):
        return []
    return [*_folder(prefix), "--ro-bind", str(prefix), str(prefix)]
