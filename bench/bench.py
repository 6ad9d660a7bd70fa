"""Measures every performance goal beside its physical floor: `make bench`.

Exit code 1 when a goal is missed, so that it can gate a release; 2 when something could not be measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import monotonic

import page
import rows
from goals import GROUPS
from process import BenchError, run_alone
from rows import Row


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS, metavar="GROUP", help=f"some of: {', '.join(GROUPS)}"
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each measured program (default 5)")
    parser.add_argument(
        "--no-write", action="store_true", help="leave docs/benchmarks.md as it is (so does --only)"
    )
    found = parser.parse_args(arguments)
    if found.runs < 1:
        parser.error("--runs must be 1 or more")
    return found


def progress(text: str) -> None:
    """One line on a terminal that is written over."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def main(arguments: Sequence[str]) -> int:
    chosen = options(arguments)
    started, made, broken = monotonic(), [], []
    for name in chosen.only or GROUPS:
        begun = monotonic()
        try:
            found: list[Row] = GROUPS[name](
                chosen.runs, lambda text, group=name: progress(f"{group}: {text}")
            )
        except BenchError as error:
            broken.append(name)
            progress("")
            print(f"{name} could not be measured: {error}", file=sys.stderr)
            continue
        progress("")
        made.extend(found)
        print(f"{name} ({monotonic() - begun:.0f} s)\n{rows.terminal(found)}\n", flush=True)
    minutes = (monotonic() - started) / 60
    measured = sum(row.reached is not None for row in made)
    missed = [row.work for row in made if row.state == "MISSED"]
    if not (chosen.only or chosen.no_write or broken):
        page.write("goals", page.goals(made, runs=chosen.runs, minutes=minutes))
        print(f"wrote {page.PAGE.relative_to(page.ROOT)}")
    print(f"{minutes:.1f} minutes; {len(missed)} of {measured} goals missed{':' if missed else ''}")
    for work in missed:
        print(f"  MISSED  {work}")
    return 2 if broken else 1 if missed else 0


if __name__ == "__main__":
    run_alone(main)
