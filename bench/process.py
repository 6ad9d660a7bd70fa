"""Runs whole processes and says what they took: CPU of the process and its children, wall time, peak memory.

The programs that drive a measurement stay small (standard library only): a child's peak memory counts from the
moment it is split off, so a large parent would show up in every figure.
"""

from __future__ import annotations

import fcntl
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".bench"
BENCH = ROOT / "bench"
PYTHON = sys.executable
STEELYARD = str(Path(sys.executable).parent / "steelyard")


class BenchError(Exception):
    """A measured program did not do its work, so its time means nothing."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """`cpu` and `wall` in seconds, `peak` in MB (10^6 bytes), `out` and `err` as the program wrote them."""

    cpu: float
    wall: float
    peak: float
    code: int
    out: str = ""
    err: str = ""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program with its arguments. `fresh`: files that must not exist before each run. `codes`: its right answers."""

    argv: Sequence[str]
    fresh: Sequence[Path] = ()
    codes: Sequence[int] = (0,)
    env: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def alone() -> Iterator[None]:
    """Hold the work folder: two measurements at once would use the same files and disturb each other. BenchError."""
    WORK.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is running ends with it
    with (WORK / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError("another measurement runs in this folder; wait for it to end") from None
        yield


def run_alone(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Run a measurement with the command line's arguments, and exit with its code; 2 for BenchError."""
    try:
        with alone():
            sys.exit(main(sys.argv[1:]))
    except BenchError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without settings that would change what is measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEELYARD", "PYTHON"))}
    return {**kept, **more}


def run(command: Command) -> Spent:
    """Run it once. BenchError when its exit code is none of `codes`."""
    for file in command.fresh:
        for found in file.parent.glob(f"{file.name}*"):
            found.unlink()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = monotonic()
        process = subprocess.Popen(
            list(command.argv), cwd=WORK, env=environment(command.env), stdin=subprocess.DEVNULL,
            stdout=out, stderr=err,
        )  # fmt: skip
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:  # interrupted: leave nothing running
            process.kill()
            raise
        wall = monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        spent = Spent(
            cpu=used.ru_utime + used.ru_stime, wall=wall, peak=used.ru_maxrss * 1024 / 1e6,
            code=process.returncode, out=_text(out), err=_text(err),
        )  # fmt: skip
    if spent.code not in command.codes:
        said = (spent.err or spent.out).strip()[-500:]
        raise BenchError(f"{' '.join(command.argv)[:200]} exited {spent.code}: {said}")
    return spent


def _text(file: object) -> str:
    file.seek(0)  # type: ignore[attr-defined]
    return file.read(2_000_000).decode("utf-8", "replace")  # type: ignore[attr-defined]


def interleaved(
    commands: Mapping[str, Command], runs: int, *, warm_up: bool = True, said: Callable[[str], None] = print
) -> dict[str, list[Spent]]:
    """Run each command `runs` times, in turn, so that a busy moment of the machine meets all of them alike."""
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for name, command in commands.items() if warm_up else ():
        said(f"{name}: warm-up")
        run(command)
    for number in range(runs):
        for name, command in commands.items():
            said(f"{name}: {number + 1} of {runs}")
            found[name].append(run(command))
    return found


def cpu(several: Sequence[Spent]) -> float:
    """Median CPU seconds."""
    return statistics.median(spent.cpu for spent in several)


def peak(several: Sequence[Spent]) -> float:
    """The largest peak in MB."""
    return max(spent.peak for spent in several)


def per_unit(many: Sequence[Spent], few: Sequence[Spent], units: int) -> float:
    """CPU seconds that each of the `units` more took: the median over pairs measured next to each other."""
    return statistics.median(a.cpu - b.cpu for a, b in zip(many, few, strict=True)) / units


def slope(points: Mapping[int, float]) -> float:
    """Least squares: what one more costs, from {how many: seconds}. Needs two different counts."""
    mean_x, mean_y = statistics.fmean(points), statistics.fmean(points.values())
    spread = sum((x - mean_x) ** 2 for x in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / spread
