"""What has to be measured or made from inside: programs on the package itself. Usage: python inside.py WORK ARG ..."""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

TASKS, TRIALS, CRITERIA = 1_000, 200, 5


def make_million(place: str, suite_file: str) -> dict[str, Any]:
    """A store with one finished grading of 1,000,000 verdicts, a quarter of them failed with a reason of their own."""
    from steelyard import app
    from steelyard.model.verdict import Graded, GraderRef, Score, TrialRow
    from steelyard.ports.store import payload_of

    suite = app.load_suite(suite_file)
    by = (GraderRef(kind="check:equals", version="1"),)
    draft = Path(f"{place}.draft")
    for old in draft.parent.glob(f"{draft.name}*"):
        old.unlink()
    with app.open_store(str(draft)) as store:
        grading = store.begin(suite, planned=None, options={})
        for task in suite.tasks:
            for trial in range(1, TRIALS + 1):
                verdicts, payloads = [], []
                for position, criterion in enumerate(task.criteria):
                    failed = (trial + position) % 4 == 0
                    reason = (
                        f"answer is another one in trial {trial}" if failed else "answer is the expected one"
                    )
                    finding = Score(
                        value=0 if failed else 1, reason=f"{task.id}: {reason}", evidence=("s0001",)
                    )
                    payloads.append(payload_of(finding, graders=by))
                    verdicts.append(
                        Graded(
                            task=task.id,
                            trial=trial,
                            criterion=criterion.id,
                            score=0.0 if failed else 1.0,
                            reason=finding.reason,
                            evidence_refs=finding.evidence,
                            graders=by,
                        )
                    )
                store.put_trial(
                    grading, TrialRow(task=task.id, trial=trial), verdicts, [None] * CRITERIA, payloads
                )
        store.finish(grading)
    os.replace(draft, place)
    return {"verdicts": TASKS * TRIALS * CRITERIA}


def what_if(place: str) -> dict[str, Any]:
    """CPU seconds of a what-if on a run that is loaded and scored: change one verdict, read its dimension's average."""
    from steelyard import app

    with app.open_store(place, must_exist=True) as store:
        run = app.load_run(store)
    before = run.headlines["correctness"][0]
    spent, after = [], before
    for number in range(3):
        started = time.process_time()
        changed = run.what_if(app.changes(run, sets=(f"t{number:06d}#4/C1=1",), weights=(), gates=()))
        after = changed.headlines["correctness"][0]
        spent.append(time.process_time() - started)
    return {
        "seconds": statistics.median(spent),
        "before": before,
        "after": after,
        "verdicts": len(run.verdicts),
    }


def bincount(tasks: str, trials: str) -> dict[str, Any]:
    """The floor of rescoring: a million scores in memory to the average over tasks, without loading numpy."""
    import numpy as np

    task = np.repeat(np.arange(int(tasks)), int(trials) * CRITERIA)
    score = (np.arange(task.size) % 4 > 0).astype(float)
    spent = []
    for _ in range(5):
        started = time.process_time()
        (np.bincount(task, weights=score) / np.bincount(task)).mean()
        spent.append(time.process_time() - started)
    return {"seconds": statistics.median(spent)}


def kills(moments: str, folder: str) -> dict[str, Any]:
    """Kill a grading of 5,000 trials at random moments and resume it; see tests/kill_runs.py.

    Half of the moments are spread over the time of a run, start-up and end too, half over the checks.
    """
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    import kill_runs

    chance = random.Random(20260302)
    place = Path(folder)
    kill_runs.write_inputs(place)
    started = time.monotonic()
    whole = kill_runs.uninterrupted(place)
    length = time.monotonic() - started
    equal, once, stages, committed = 0, 0, Counter[str](), 0
    wrong: list[str] = []
    for number in range(int(moments)):
        where = chance.random()
        when = {"seconds": where * length} if number % 2 else {"at_fraction": where}
        found = kill_runs.kill_and_resume(place, whole, **when)
        runs = 2 if found.stage == "done" else 1  # a finished run is not resumed: the same again is a new one
        right = found.equal and (found.double, found.runs, found.check) == (0, runs, "clean")
        equal += right
        if not right:
            table = "the same table" if found.equal else "another table"
            wrong.append(
                f"{found.stage}: {table}, {found.double} double, {found.runs} runs, store {found.check}"
            )
        once += not found.again
        stages[found.stage] += 1
        committed += found.committed
    return {"equal": equal, "once": once, "stages": stages, "committed": committed, "wrong": wrong}


def versions() -> dict[str, Any]:
    """What the figures depend on."""
    import sqlite3
    from importlib.metadata import version

    from steelyard.model.version import VERSION

    names = ("msgspec", "numpy", "google-re2", "simpleeval", "click", "rich")
    return {"steelyard": VERSION, **{name: version(name) for name in names}, "SQLite": sqlite3.sqlite_version}


WORK: dict[str, Callable[..., dict[str, Any]]] = {
    "make-million": make_million,
    "what-if": what_if,
    "bincount": bincount,
    "kills": kills,
    "versions": versions,
}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
