"""Running what a task declares about itself: its `reference`, which must pass, and its `no_op`, which must not.

    reference: solutions.jsonl             # the one recording of this task in a file beside the suite ...
    reference: solutions.jsonl#2           # ... or its trial 2, or the recording with this id
    reference: {answer: Paris}             # what a right agent would reply
    reference:                             # or written out, like a line of a recording
      messages: [{role: user, content: ...}, {role: assistant, content: ..., tool_calls: [...]}]
      start_state: {sqlite: states/start.sqlite}
      end_state: {sqlite: states/right.sqlite}
      recorded: {C1: 1, C2: {score: 1, evidence_refs: [s0003]}}
    no_op: true                            # an agent that does nothing
    no_op: {answer: I cannot do that.}     # or one that does nothing that counts

A mapping holds one of `trace` (a file, as above), `messages` and `answer`; beside it may stand `start_state`,
`end_state`, `ended_by`, `measurements` and `recorded`: verdicts of people on what no code settles, by criterion, or
files of verdict rows. Paths are relative to the suite and stay in its folder.

`no_op: true` is the prompt and nothing after it: no reply, no call, and the end state is the start state, that of the
mapping or else of the reference. A mapping without `trace`, `messages` and `answer` is such a run as well.

Each is graded alone, as `grade` would grade it. A reference is broken when a criterion with a pass mark above 0
fails, or when code settles it and could not (the reference then lacks what the check reads). What only people or
judges settle, and nobody did, stays open. A no-op passes when the acceptance rule of the task takes it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from steelyard.app.declared import Declared, Kind, read_declared, row_files
from steelyard.app.facade import grade
from steelyard.app.run import Run
from steelyard.errors import InputError, SteelyardError
from steelyard.model.checks import RecordedCheck
from steelyard.model.standard import Criterion, Suite, Task
from steelyard.model.table import CriterionScore, TrialScore
from steelyard.model.trace import Trace
from steelyard.model.verdict import Errored, Verdict

Status = Literal["ok", "open", "warning", "error"]
_WORDS: Mapping[Kind, str] = {"reference": "reference", "no_op": "no-op"}


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What running a reference or no-op showed.

    `status`: `ok`; `error` for a reference that does not pass and for anything that could not be run; `warning` for a
    no-op that passes; `open` where missing verdicts of people or judges could still decide. `says` is that in a few
    words, `why` one sentence for each criterion behind it, `open` the criteria that nobody settled, `criteria` the
    outcome of each.
    """

    task: str
    kind: Kind
    status: Status
    says: str
    why: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    criteria: Mapping[str, str] = {}


def rehearse(suite: Suite, *, trust_graders: bool = False) -> Iterator[Rehearsal]:
    """Run the reference and the no-op of each task that declares one, in the order of the suite. Never raises."""
    for task in suite.tasks:
        solved: Trace | None = None
        for kind, words in _WORDS.items():
            written = task.reference if kind == "reference" else task.no_op
            if written is None or (kind == "no_op" and written is False):
                continue
            try:
                declared = read_declared(suite, task, kind, written, solved)
                solved = declared.trace if kind == "reference" else solved
                run = _graded(suite, task, declared, trust_graders=trust_graders)
                yield _of_reference(task, run) if kind == "reference" else _of_no_op(task, run)
            except SteelyardError as problem:
                says = f"{words} cannot be run"
                yield Rehearsal(task=task.id, kind=kind, status="error", says=says, why=(str(problem),))


def _of_reference(task: Task, run: Run) -> Rehearsal:
    trial, verdicts = _trial(run)
    found: dict[str, list[CriterionScore]] = {"fails": [], "does not decide": [], "open": []}
    for criterion in trial.criteria:
        shown = _shown_by(criterion, verdicts.get(criterion.id))
        if shown:
            found[shown].append(criterion)
    left = [criterion.id for criterion in found.pop("open")]
    says = [
        f"{words} {', '.join(each.id for each in several)}" for words, several in found.items() if several
    ]
    ending = trial.ended_by
    if ending is not None and ending not in task.complete_when.ended_by:
        says.append(f"ends with {ending}, which `complete_when` does not take")
    if says:
        why = [_sentence(criterion) for several in found.values() for criterion in several]
        return _rehearsal(
            task, "reference", "error", f"reference {' and '.join(says)}", trial, why=why, left=left
        )
    if left:
        return _rehearsal(
            task, "reference", "open", f"reference leaves {', '.join(left)} open", trial, left=left
        )
    return _rehearsal(task, "reference", "ok", "reference passes", trial)


def _shown_by(criterion: CriterionScore, verdict: Verdict | None) -> str | None:
    """What a criterion says about the reference; None when it passes, or when an earlier one speaks for it."""
    match criterion.outcome:
        case "pass" | "report":
            return None
        case "fail":
            return "fails"
        case "skipped":
            return "open" if criterion.cause == "undecided" else None
        case _:
            return "open" if _for_people(verdict) else "does not decide"


def _of_no_op(task: Task, run: Run) -> Rehearsal:
    trial, _ = _trial(run)
    if trial.complete:
        return _rehearsal(task, "no_op", "warning", "no-op passes", trial)
    rule = [criterion for criterion in trial.criteria if criterion.in_acceptance]
    if trial.possibly_complete:
        missing = [criterion for criterion in rule if criterion.outcome in ("error", "unknown", "skipped")]
        left = [criterion.id for criterion in missing]
        says = f"no-op could still pass: {', '.join(left)} open"
        return _rehearsal(task, "no_op", "open", says, trial, why=map(_sentence, missing), left=left)
    failing = ", ".join(criterion.id for criterion in rule if criterion.outcome == "fail")
    return _rehearsal(task, "no_op", "ok", f"no-op fails {failing}" if failing else "no-op fails", trial)


def _rehearsal(
    task: Task,
    kind: Kind,
    status: Status,
    says: str,
    trial: TrialScore,
    *,
    why: Iterable[str] = (),
    left: Iterable[str] = (),
) -> Rehearsal:
    outcomes = {criterion.id: criterion.outcome for criterion in trial.criteria}
    return Rehearsal(
        task=task.id, kind=kind, status=status, says=says, why=tuple(why), open=tuple(left), criteria=outcomes
    )


def _sentence(criterion: CriterionScore) -> str:
    return f"{criterion.id}: {criterion.reason or criterion.status}"


def _trial(run: Run) -> tuple[TrialScore, dict[str, Verdict]]:
    if run.lost:
        raise InputError(f"a recorded verdict cannot be read: {run.lost[0].reason}")
    trial = run.scores.tasks[0].trials[0]
    if not trial.counted:
        raise InputError(f"it ended by a fault ({trial.ended_by}), which says nothing about the task")
    return trial, {verdict.criterion: verdict for verdict in run.verdicts}


def _for_people(verdict: Verdict | None) -> bool:
    """Whether a criterion without a result waits for people or judges, rather than for a check."""
    if isinstance(verdict, Errored):
        return verdict.error == "missing_row"
    return verdict is not None and not any(ref.kind.startswith("check:") for ref in verdict.graders)


def _graded(suite: Suite, task: Task, declared: Declared, *, trust_graders: bool) -> Run:
    """The trace graded under its task alone, whatever number of trials is planned.

    Verdict files that criteria name are about the trials of a run, so they say nothing about this one.
    """
    alone = msgspec.structs.replace(task, trials=None, criteria=tuple(map(_without_file, task.criteria)))
    part = msgspec.structs.replace(suite, tasks=(alone,), excluded=(), notices=())
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        given = row_files(suite, task, declared, Path(folder))
        return grade(part, [declared.trace], recorded=given, trust_graders=trust_graders, full=True)


def _without_file(criterion: Criterion) -> Criterion:
    if isinstance(criterion.check, RecordedCheck) and criterion.check.file is not None:
        return msgspec.structs.replace(criterion, check=RecordedCheck(score=criterion.check.score))
    return criterion
