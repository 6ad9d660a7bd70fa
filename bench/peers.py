"""Measures Steelyard beside pydantic-evals and inspect-ai on the same files, in turn: `make bench-peers`.

Each peer has an environment of its own under `.bench`, with the pinned versions of `bench/peers/*.txt`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import util
from pathlib import Path

import inputs
import page
import rows
from bench import progress
from goals import grade
from process import (
    BENCH,
    PYTHON,
    STEELYARD,
    WORK,
    BenchError,
    Command,
    Spent,
    cpu,
    environment,
    interleaved,
    peak,
    run,
    run_alone,
)

NAMES = ("pydantic-evals", "inspect-ai")
LOGS = WORK / "inspect-logs"
MANY, SOME, FEW = 10_000, 1_000, 200


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment, which is made when it is not there with exactly these versions."""
    pins = BENCH / "peers" / f"{name}.txt"
    folder = WORK / f"venv-{name}"
    python, stamp = folder / "bin" / "python", folder / "bench-ready"
    mark = hashlib.sha256(pins.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text("utf-8") != mark:
        print(f"setting up {folder.name} (once, then kept) ...", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        if util.find_spec("ensurepip") is None:
            raise BenchError("this Python cannot make environments; install its venv package (python3-venv)")
        install = (
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            str(pins),
        )
        for command in ((PYTHON, "-m", "venv", str(folder)), install):
            done = subprocess.run(command, env=environment({}), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                said = done.stderr.strip()[-500:]
                raise BenchError(
                    f"setting up {name} failed: {said}; check that pip can reach a package index"
                )
        stamp.write_text(mark, "utf-8")
    return python


def version_of(name: str) -> str:
    """The pinned version."""
    pins = (BENCH / "peers" / f"{name}.txt").read_text("utf-8").splitlines()
    return next(pin.partition("==")[2] for pin in pins if pin.partition("==")[0].replace("_", "-") == name)


def peer(name: str, program: str, *arguments: object) -> Command:
    return Command(argv=(str(python_of(name)), str(BENCH / "peers" / program), *map(str, arguments)))


def said_right(spent: Spent, count: int) -> None:
    """BenchError unless the peer graded every output and found three of four right, as they are."""
    found = json.loads(spent.out.strip().splitlines()[-1])
    if found["n"] != count or found["share"] != 0.75:
        raise BenchError(f"a peer was to grade {count} outputs, three of four right, and said {found}")


def speed(runs: int) -> list[tuple[str, ...]]:
    """Lines of the table of ratios."""
    many, some, few = (inputs.answers(count) for count in (MANY, SOME, FEW))
    evals = "run_pydantic_evals.py"
    found = interleaved(
        {
            "ours 10,000": grade(*many),
            "pydantic-evals 10,000": peer("pydantic-evals", evals, *many),
            "ours 1,000": grade(*some),
            "pydantic-evals 1,000": peer("pydantic-evals", evals, *some),
            "inspect-ai 1,000": peer("inspect-ai", "run_inspect.py", *some, LOGS),
            "ours 200": grade(*few),
            "inspect-ai 200": peer("inspect-ai", "run_inspect.py", *few, LOGS),
            "ours import": Command(argv=(PYTHON, "-c", "import steelyard")),
            "pydantic-evals import": Command(
                argv=(str(python_of("pydantic-evals")), "-c", "import pydantic_evals")
            ),
            "inspect-ai import": Command(argv=(str(python_of("inspect-ai")), "-c", "import inspect_ai")),
        },
        runs,
        said=progress,
    )
    for name, count in (("pydantic-evals 10,000", MANY), ("inspect-ai 1,000", SOME), ("inspect-ai 200", FEW)):
        for spent in found[name]:
            said_right(spent, count)
    return [
        *(_line("import", "import", name, found) for name in NAMES),
        _line("grade 10,000 outputs, one equality check", "10,000", "pydantic-evals", found),
        _each("each further sample", ("10,000", "1,000"), MANY - SOME, "pydantic-evals", found),
        _line("grade 1,000 outputs, one equality check", "1,000", "inspect-ai", found),
        _each("each further sample", ("1,000", "200"), SOME - FEW, "inspect-ai", found),
    ]


def ratio(pairs: Sequence[tuple[float, float]]) -> str:
    """Smallest to largest of peer / ours over the pairs measured next to each other."""
    several = [theirs / ours for theirs, ours in pairs if ours > 0]
    if not several:
        return ""
    low, high = (f"{value:.0f}" if value >= 10 else f"{value:.1f}" for value in (min(several), max(several)))
    return f"{low}×" if low == high else f"{low}–{high}×"


def _line(work: str, suffix: str, name: str, found: Mapping[str, Sequence[Spent]]) -> tuple[str, ...]:
    ours, theirs = found[f"ours {suffix}"], found[f"{name} {suffix}"]
    pairs = [(a.cpu, b.cpu) for a, b in zip(theirs, ours, strict=True)]
    memory = f"{peak(ours):.0f} / {peak(theirs):.0f} MB"
    return (
        work, name, rows.figure(cpu(ours), "s"), rows.figure(cpu(theirs), "s"), ratio(pairs), memory,
    )  # fmt: skip


def _each(
    work: str, ends: tuple[str, str], units: int, name: str, found: Mapping[str, Sequence[Spent]]
) -> tuple[str, ...]:
    """The difference of two sizes, divided by how many samples more."""

    def each(who: str) -> list[float]:
        ends_of = (found[f"{who} {end}"] for end in ends)
        return [1e6 * (a.cpu - b.cpu) / units for a, b in zip(*ends_of, strict=True)]

    ours, theirs = each("ours"), each(name)
    middle = len(ours) // 2
    shown = (rows.figure(sorted(several)[middle], "µs") for several in (ours, theirs))
    return (work, name, *shown, ratio(list(zip(theirs, ours, strict=True))), "")


def small() -> list[tuple[str, ...]]:
    """What each prints for 2 of 3, 2 of 2 and 2 of 4 checks, and when the third task crashes."""
    lines = []
    for crash in (False, True):
        suite, answers = inputs.small(crash=crash)
        ours = _ours(suite, answers)
        evals = _said(peer("pydantic-evals", "small_pydantic_evals.py", suite, answers))
        inspect = _said(peer("inspect-ai", "small_inspect.py", suite, answers, LOGS))
        kept = _said(peer("inspect-ai", "small_inspect.py", suite, answers, LOGS, "keep"))
        lines.append(
            (
                "the third task crashes" if crash else "2 of 3, 2 of 2, 2 of 4",
                ours,
                f"assertions {_percent(evals['assertions'])} over {evals['cases']} cases, {evals['failures']} failures",
                _inspected(inspect)
                if inspect == kept
                else f"{_inspected(inspect)}; kept going: {_inspected(kept)}",
            )
        )
    return lines


def _said(command: Command) -> dict[str, object]:
    found: dict[str, object] = json.loads(run(command).out.strip().splitlines()[-1])
    return found


def _inspected(found: Mapping[str, object]) -> str:
    if found["mean"] is None:
        return f"{found['status']}, no score"
    return f"mean {_percent(found['mean'])} over {found['completed']} of {found['of']} samples"


def _percent(value: object) -> str:
    return f"{100 * value:.1f} %" if isinstance(value, float) else "none"


def _ours(suite: Path, answers: Path) -> str:
    argv = (STEELYARD, "grade", str(suite), str(answers), "--no-store", "--json")
    scores = json.loads(run(Command(argv=argv, codes=(1,))).out)["dimensions"]["correctness"]
    shown = []
    for what, name in (("each task votes", "task_average"), ("each check votes", "pooled")):
        low, high = scores[name]["low"], scores[name]["high"]
        span = _percent(low) if low == high else f"{100 * low:.1f} to {_percent(high)}"
        shown.append(f"{span} ({what})")
    found = scores["pooled"]
    return f"{', '.join(shown)}, {found['n_verdicts']} of {found['assigned']} graded"


SPEED_HEADS = ("work", "peer", "Steelyard", "the peer", "peer / Steelyard", "peak memory, ours / theirs")
SMALL_HEADS = ("checks met", "Steelyard", "pydantic-evals", "inspect-ai")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each measured program (default 3)")
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md as it is")
    chosen = parser.parse_args(arguments)
    try:
        printed = small()
        measured = speed(max(chosen.runs, 1))
    except BenchError as error:
        progress("")
        print(error, file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(LOGS, ignore_errors=True)
    progress("")
    print(rows.columns([SPEED_HEADS, *measured]), "\n")
    for line in printed:
        print("\n".join(f"{head:16}{cell}" for head, cell in zip(SMALL_HEADS, line, strict=True)), "\n")
    if not chosen.no_write:
        beside = "".join(f"; {name} {version_of(name)}" for name in NAMES)
        parts = (
            page.facts(beside),
            rows.markdown(SPEED_HEADS, measured),
            rows.markdown(SMALL_HEADS, printed),
        )
        page.write("peers", "\n\n".join(parts))
        print(f"wrote {page.PAGE.relative_to(page.ROOT)}")
    return 0


if __name__ == "__main__":
    run_alone(main)
