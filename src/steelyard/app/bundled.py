"""The bundled standards, run: `operations` (the demo), `booking`, and `tau2` (built from result files)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from steelyard.app.facade import Inputs, Keep, Progress, grade, grade_inputs, load_suite, read_traces, select
from steelyard.app.run import Run
from steelyard.errors import InputError
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import Quarantined, Trace


def demo_run() -> tuple[Run, Run]:
    """The bundled example, and beside it the lucky guess: the checkout task answered right without looking."""
    from steelyard.app.bundled_operations import operations_folder

    folder = operations_folder()
    suite = load_suite(folder / "suite.yaml")
    main = grade(suite, read_traces(folder / "traces.jsonl"), recorded=[folder / "verdicts.jsonl"])
    checkout, _ = select(suite, only=["checkout"])
    lucky = grade(checkout, read_traces(folder / "lucky.jsonl"), recorded=[folder / "lucky_verdicts.jsonl"])
    return main, lucky


def booking_run() -> Run:
    """One task of booking a room, and three trials whose agent says that it is done.

    In the first no row was written, in the second one for another customer, in the third the right one after a change
    that nobody had allowed: claim, outcome and authority come apart.
    """
    from steelyard.app.bundled_operations import booking_folder

    folder = booking_folder()
    return grade(load_suite(folder / "suite.yaml"), read_traces(folder / "traces.jsonl"))


def grade_tau2(
    paths: Sequence[str | Path],
    *,
    gates: Sequence[str] = (),
    only: Sequence[str] = (),
    limit: int | None = None,
    progress: Progress | None = None,
    full: bool = False,
    keep: Keep | None = None,
) -> Run:
    """Grade tau2 result files or tau-bench trajectory files under the standard that the files themselves hold.

    `gates` names process criteria that become gates. Disagreements between what was computed here and what the
    source recorded are notices. InputError when a file is neither format.
    """
    from steelyard.app.bundled_tau2 import build_from_files
    from steelyard.app.bundled_tau2_audit import cross_check, watched

    suite = build_from_files({str(path): _document(path) for path in paths}, gates=gates)
    kept: list[Trace] = []
    said = [ScoreNotice(code="standard", detail=text) for text in suite.notices]

    def audit(run: Run) -> Sequence[ScoreNotice]:
        whole = Run(suite=run.suite, rows=run.rows, full=True)
        return (*cross_check(whole.scores, kept), *said)

    built = msgspec.structs.replace(suite, notices=())
    inputs = Inputs(only=tuple(only), limit=limit)
    traces = watched(read_traces(paths), kept)
    return grade_inputs(built, traces, inputs, progress=progress, full=full, keep=keep, audit=audit)


def _document(path: str | Path) -> Any:
    """The one JSON document of a result file. InputError when the file holds none."""
    from steelyard.importers import read_records

    for record in read_records(str(path)):
        if isinstance(record, Quarantined):
            raise InputError(
                f"{record.where}: {record.reason} A tau2 or tau-bench file is one JSON document."
            )
        return record.value
    raise InputError(f"{path} is empty; a tau2 or tau-bench file is one JSON document")
