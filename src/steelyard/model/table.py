"""The score table: every number that any surface shows. Field names are those of `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from steelyard.model.verdict import GraderRef


class Ci(msgspec.Struct, frozen=True, kw_only=True):
    """A 95% interval. Null bounds with a `status` word (`no_data`, `not_estimable`) where it cannot be said.

    `status` `too_few` stands beside numbers that rest on fewer than 10 sampling units.
    """

    low: float | None
    high: float | None
    method: str
    status: str = "ok"
    se: float | None = None
    n: int = 0


class Average(msgspec.Struct, frozen=True, kw_only=True):
    """One average. `value` equals `low`, and is null when nothing was graded.

    `low` counts each unknown, error and undecided skip as 0, `high` as 1; both are null where nothing is assigned.
    `graded_mean` is over graded verdicts only: never a headline. `n_verdicts` were graded of `assigned` verdicts;
    `n_tasks` tasks have a value.
    """

    value: float | None
    low: float | None
    high: float | None
    graded_mean: float | None
    n_verdicts: int
    assigned: int
    n_tasks: int
    ci: Ci | None = None


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """In how many tasks of the suite the dimension was assigned."""

    tasks: int
    of: int


class DimensionScore(msgspec.Struct, frozen=True, kw_only=True):
    """A dimension (or layer): the task average and the pooled score, side by side."""

    definition: str
    scope: str
    task_average: Average
    pooled: Average
    coverage: Coverage
    gate: bool = False
    """Some criterion of it is a gate."""
    gate_violations: int = 0
    """Counted trials with a gate of this dimension graded below its pass mark."""
    gate_trials: int = 0
    """Counted trials in which a gate of this dimension was assigned."""
    open_gates: int = 0
    """Counted trials in which a gate of this dimension is undecided, and none failed."""
    pooled_voters: int = 0
    """Checks that vote in the pooled score."""


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """`complete` of `of`."""

    complete: int
    of: int


class TaskCount(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks complete in every trial."""

    always_complete: int
    of: int


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """Complete-task success: mean of task completion by task weight, with the plain counts beside it."""

    value: float
    low: float
    high: float
    trials: Count
    tasks: TaskCount
    ci: Ci


class KScore(msgspec.Struct, frozen=True, kw_only=True):
    """pass^k or pass@k over the tasks that have k trials; null when there are none.

    `value` equals `low`, which counts trials whose verdicts are missing as not complete; `high` counts them as complete
    where they could be.
    """

    value: float | None
    n_tasks: int
    status: str = "ok"
    low: float | None = None
    high: float | None = None


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """Complete trials of all trials, errors included; faults outside. `strict` counts the faults as failures."""

    value: float | None
    low: float | None
    high: float | None
    complete: int
    of: int
    strict: float | None
    ci: Ci | None = None


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement in its own unit over the `n` counted trials that state it."""

    total: float
    mean: float
    median: float
    max: float
    n: int


class CriterionScore(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict as scored. `outcome`: pass, fail, unknown, error, skipped or report (pass mark 0).

    `cause` of a skip: `fail` or `undecided`. `votes` are its effective votes, by average. `graders`: who gave it;
    `retried`: how many attempts came before the one that counts.
    """

    id: str
    status: str
    score: float | None
    outcome: str
    dimension: str
    layer: str
    gate: bool
    votes: Mapping[str, float] = {}
    cause: str | None = None
    reason: str = ""
    evidence_refs: tuple[str, ...] = ()
    failure_tag: str | None = None
    in_acceptance: bool = False
    graders: tuple[GraderRef, ...] = ()
    retried: int = 0


class Alike(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts that came out alike: how many, in how many tasks, and the first of them as an example.

    `tag` is the failure tag or the word of an error, null where there is none; `rule` is then that of the criterion. An
    empty `criterion` stands for trials: nothing was recorded of them, or how they ended completes none (`tag` says).
    """

    criterion: str
    outcome: str
    tag: str | None
    dimension: str
    gate: bool
    times: int
    tasks: int
    task: str
    trial: int
    rule: str = ""
    reason: str = ""
    evidence_refs: tuple[str, ...] = ()


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Groups of verdicts that came out alike, those of gates and large ones first.

    `groups` are the first of them; `total` counts the verdicts of all groups, `rest` by outcome those that are in none
    of the groups listed, `more` the groups that are not.
    """

    groups: tuple[Alike, ...] = ()
    total: int = 0
    more: int = 0
    rest: Mapping[str, int] = {}


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """What a large run's table has no detail of: tasks in all, tasks and trials that are not complete."""

    tasks: int
    incomplete_tasks: int
    incomplete_trials: int


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """What a what-if moved: verdicts that came out otherwise, and trials that became complete or ceased to be."""

    verdicts: int
    trials: int


class TrialScore(msgspec.Struct, frozen=True, kw_only=True):
    """One trial. `complete` (low) and `possibly_complete` (high) are null for a fault, which is not `counted`."""

    trial: int
    complete: bool | None
    possibly_complete: bool | None
    ended_by: str | None
    counted: bool
    placeholder: bool
    gates: Mapping[str, str]
    failure: Mapping[str, Any] | None
    criteria: tuple[CriterionScore, ...]
    dimensions: Mapping[str, float | None] = {}
    measurements: Mapping[str, float] = {}
    trace: str | None = None


class TaskScore(msgspec.Struct, frozen=True, kw_only=True):
    """One task: its dimensions by name (`{value, low, high}`, null where it has none), and its completion."""

    id: str
    weight: float
    correctness: Mapping[str, Any] | None
    dimensions: Mapping[str, Any]
    completion: Mapping[str, Any]
    trials: tuple[TrialScore, ...]


class Primary(msgspec.Struct, frozen=True, kw_only=True):
    """The metric that decides, its bar (1 where none is declared), and the verdict of the run."""

    metric: str
    value: float | None
    low: float
    high: float
    bar: float
    declared: bool


class SuiteRef(msgspec.Struct, frozen=True, kw_only=True):
    """Which standard said so."""

    name: str
    version: str
    owner: str
    hash: str


class ScoreNotice(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the reader of a score should know."""

    code: str
    detail: str
    where: str = ""


class ScoreTable(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a surface may show of one grading. `decision`: PASS, FAIL or INCOMPLETE; `exit_code` 0, 1, 3 or 4."""

    suite: SuiteRef
    primary: str
    decision: str
    exit_code: int
    bar: Primary
    dimensions: Mapping[str, DimensionScore]
    layers: Mapping[str, DimensionScore]
    completion: Completion
    pass_hat_k: Mapping[str, KScore]
    pass_at_k: Mapping[str, KScore]
    pass_rate: PassRate
    measurements: Mapping[str, Measure]
    states: Mapping[str, int]
    faults: Mapping[str, int]
    tasks: tuple[TaskScore, ...]
    slices: Mapping[str, Any] = {}
    composite: Any = None
    licences: Mapping[str, Any] = {}
    graders: Mapping[str, int] = {}
    """Verdicts by kind of grader (`check:expr`, `recorded`, `human`, ...)."""
    notices: tuple[ScoreNotice, ...] = ()
    weights: str = "each task votes"
    """What votes in the task averages, in words."""
    run: str = ""
    grading: str = ""
    excluded: tuple[Any, ...] = ()
    causes: Counted = Counted()
    """What keeps counted trials from completion, and gates that are no pass; counted over the whole run."""
    complete_but: Counted = Counted()
    """Requirements outside the acceptance rule that complete trials failed."""
    no_verdict: Counted = Counted()
    """Verdicts outside the acceptance rule that could not be given."""
    skipped_by_fail: int = 0
    """Counted verdicts that were skipped since a criterion that they need failed."""
    failed_outside: Mapping[str, int] = {}
    """Counted fails that are neither in the acceptance rule nor gates, by dimension."""
    missing_trials: int = 0
    """Planned trials of which nothing is recorded; they count as trials, and their criteria are errors."""
    left_out: LeftOut | None = None
    """Null where `tasks` holds every verdict."""
    moved: Moved | None = None
    """Null for a record."""
    whatif: tuple[str, ...] = ()
    """The replacements behind a what-if; empty for a record."""
