"""What it costs to resume a grading, beyond grading again what is all known."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from process import WORK, BenchError, Command, Spent, cpu, run

STORE = WORK / "kill.db"
WHOLE, OPEN = WORK / "kill-whole.db", WORK / "kill-open.db"
REUSED = re.compile(r"(\d+) verdicts? used again")

Said = Callable[[str], None]


def heard(grade: Command) -> Command:
    """The same command on the store that is there, saying on stderr how many verdicts it used again."""
    return replace(grade, argv=[word for word in grade.argv if word != "--quiet"], fresh=())


def resumed(grade: Command) -> Command:
    """The same command with `--resume`."""
    again = heard(grade)
    return replace(again, argv=(*again.argv, "--resume"))


def reused(spent: Spent) -> int:
    """How many verdicts the run took from the store."""
    found = REUSED.search(spent.err)
    return int(found[1]) if found else 0


def overhead(grade: Command, verdicts: int, runs: int, *, said: Said) -> tuple[float, float]:
    """Median CPU seconds of resuming a run of which only the end is missing, and of grading again with all known."""
    run(grade)
    for copy in (WHOLE, OPEN):
        shutil.copy(STORE, copy)
    with closing(sqlite3.connect(OPEN)) as store:
        changed = store.execute("UPDATE grading SET status = 'running', headline = NULL, decision = NULL")
        store.commit()
        if changed.rowcount != 1:
            raise BenchError(f"the store of one grading holds {changed.rowcount}")
    spent: dict[str, list[Spent]] = {"resume": [], "again": []}
    for number in range(runs):
        for name, source, command in (("resume", OPEN, resumed(grade)), ("again", WHOLE, heard(grade))):
            said(f"{name}: {number + 1} of {runs}")
            for file in STORE.parent.glob(f"{STORE.name}*"):
                file.unlink()
            shutil.copy(source, STORE)
            spent[name].append(run(command))
    for name, several in spent.items():
        if min(map(reused, several)) < verdicts:
            raise BenchError(f"{name} did not use every verdict again")
    return cpu(spent["resume"]), cpu(spent["again"])
