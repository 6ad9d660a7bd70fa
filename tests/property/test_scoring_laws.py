"""The seven invariants of the scoring algebra, on random suites; and that shortcuts find the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from scored import read, scored, suite
from steelyard.app.run import Run
from steelyard.errors import UsageError
from steelyard.grading.log import RowLog
from steelyard.model.standard import Suite
from steelyard.model.table import Average, ScoreTable
from steelyard.model.verdict import Errored, Graded, Unknown
from steelyard.report.changes import changes
from steelyard.report.failures import failures
from steelyard.scoring import apply_changes, parse_change, score

DIMENSIONS = ("correctness", "authority", "grounding", "tone")
WEIGHTS = (0, 0.5, 1, 2, 3.25)
SCORES = (0, 0.25, 0.7, 1)


@st.composite
def criteria(draw: st.DrawFn) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 5))):
        dimension = "correctness" if number == 0 else draw(st.sampled_from(DIMENSIONS))
        earlier = [entry["id"] for entry in found]
        first = dimension not in {entry["dimension"] for entry in found}
        entry: dict[str, Any] = {
            "id": f"C{number}",
            "dimension": dimension,
            "rule": f"The result MUST satisfy C{number}.",
            "check": {"kind": "recorded"},
            "weight": draw(st.sampled_from(WEIGHTS[1:] if first else WEIGHTS)),
            "pass_mark": 1 if number == 0 else draw(st.sampled_from((0.5, 0.7, 1))),
            "gate": draw(st.booleans()),
            "needs": draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2)) if earlier else [],
        }
        if dimension in ("grounding", "tone"):
            entry["layer"] = draw(st.sampled_from(("outcome", "process", "risk")))
        found.append(entry)
    return found


@st.composite
def suites(draw: st.DrawFn) -> Suite:
    weighted = draw(st.sampled_from(("none", "tasks", "shares")))
    tasks = []
    for number in range(draw(st.integers(1, 4))):
        entry: dict[str, Any] = {
            "id": f"t{number}",
            "prompt": f"Do t{number}.",
            "criteria": draw(criteria()),
            "tags": {"kind": draw(st.sampled_from("ab"))},
        }
        if weighted == "tasks":
            entry["weight"] = draw(st.sampled_from((0.5, 1, 3) if number == 0 else (0, 0.5, 1, 3)))
        tasks.append(entry)
    more: dict[str, Any] = (
        {"weights": {"by": "kind", "shares": {"a": 0.3, "b": 0.7}}} if weighted == "shares" else {}
    )
    if draw(st.booleans()):
        more["clusters"] = "kind"
    return suite(*tasks, **more)


def cells(standard: Suite, trials: int) -> Iterator[tuple[str, int, str]]:
    for task in standard.tasks:
        for trial in range(1, trials + 1):
            for criterion in task.criteria:
                yield task.id, trial, criterion.id


STATUSES = ("graded", "graded", "graded", "graded", "unknown", "error", "skipped", "absent")


def row_of(draw: st.DrawFn, address: tuple[str, int, str]) -> dict[str, Any] | None:
    status = draw(st.sampled_from(STATUSES))
    row: dict[str, Any] = dict(zip(("task", "trial", "criterion"), address, strict=True)) | {"status": status}
    if status == "absent":
        return None
    return {**row, "score": draw(st.sampled_from(SCORES))} if status == "graded" else row


@st.composite
def cases(draw: st.DrawFn) -> tuple[Suite, list[dict[str, Any]]]:
    """A suite and rows of it: with gaps, skips, repeats, rows that contradict each other, faults and other ends."""
    standard = draw(suites())
    rows: list[dict[str, Any]] = []
    for address in cells(standard, draw(st.integers(1, 3))):
        times = draw(st.sampled_from((1, 1, 1, 1, 1, 2)))
        rows.extend(row for row in (row_of(draw, address) for _ in range(times)) if row is not None)
    if rows and draw(st.booleans()):
        rows.append(dict(draw(st.sampled_from(rows))))
    for task in standard.tasks:
        for _ in range(draw(st.sampled_from((0, 0, 0, 0, 1, 2)))):
            ended_by = draw(st.sampled_from(("infrastructure_fault", "max_turns", "agent_stop")))
            measured = {"seconds": draw(st.sampled_from((0.1, 0.2, 1e9)))}
            rows.append({"task": task.id, "trial": 1, "ended_by": ended_by, "measurements": measured})
    return standard, rows


def averages(table: ScoreTable) -> dict[str, Average]:
    found = {f"{name}.task_average": entry.task_average for name, entry in table.dimensions.items()}
    found |= {f"{name}.pooled": entry.pooled for name, entry in table.dimensions.items()}
    found |= {f"layers.{name}.task_average": entry.task_average for name, entry in table.layers.items()}
    return found | {f"layers.{name}.pooled": entry.pooled for name, entry in table.layers.items()}


@given(suites(), st.integers(1, 2))
def test_law_1_the_worst_never_passes_and_the_best_never_fails(standard: Suite, trials: int) -> None:
    def all_rows(value: int) -> list[dict[str, Any]]:
        return [
            {"task": task, "trial": trial, "criterion": name, "status": "graded", "score": value}
            for task, trial, name in cells(standard, trials)
        ]

    worst, best = scored(standard, all_rows(0)), scored(standard, all_rows(1))
    assert (worst.exit_code, worst.completion.high) == (1, 0.0)
    assert (best.exit_code, best.completion.low) == (0, 1.0)
    voted = [entry for entry in averages(best).values() if entry.n_tasks and entry.graded_mean is not None]
    assert voted and all(entry.value == 1.0 for entry in voted)


@given(cases(), st.randoms(use_true_random=False), st.sampled_from(("unknown", "error", "removed")))
def test_law_2_losing_a_verdict_never_raises_low_nor_lowers_high(
    case: tuple[Suite, list[dict[str, Any]]], rng: random.Random, turned: str
) -> None:
    standard, rows = case
    keys = [(row["task"], row["trial"], row.get("criterion")) for row in rows]
    places = [
        index
        for index, row in enumerate(rows)
        if row.get("status") == "graded"
        and keys.count(keys[index]) == 1  # of two, losing one may settle a conflict
    ]
    if not places:
        return
    place = rng.choice(places)
    lost = {**rows[place], "status": turned, "score": None}
    after_rows = [*rows[:place], *([] if turned == "removed" else [lost]), *rows[place + 1 :]]
    keep_trial = [{"task": lost["task"], "trial": lost["trial"]}]
    has_trial_row = any(
        "criterion" not in row and row["task"] == lost["task"] and row["trial"] == lost["trial"]
        for row in rows
    )
    extra = [] if has_trial_row else keep_trial
    before, after = scored(standard, [*rows, *extra]), scored(standard, [*after_rows, *extra])
    for name, entry in averages(before).items():
        if entry.assigned:
            other = averages(after)[name]
            assert (other.low or 0.0) <= (entry.low or 0.0) + 1e-12, name
            assert (other.high or 0.0) >= (entry.high or 0.0) - 1e-12, name
    assert after.completion.low <= before.completion.low
    assert after.completion.high >= before.completion.high
    if before.exit_code != 0:
        assert after.exit_code != 0, "losing a verdict never unblocks a release"


@given(cases(), st.randoms(use_true_random=False))
def test_law_3_order_changes_nothing(case: tuple[Suite, list[dict[str, Any]]], rng: random.Random) -> None:
    standard, rows = case
    table = scored(standard, rows)
    shuffled = list(rows)
    rng.shuffle(shuffled)
    assert scored(standard, shuffled) == table
    tasks = list(standard.tasks)
    rng.shuffle(tasks)
    moved = scored(msgspec.structs.replace(standard, tasks=tuple(tasks)), rows)
    assert (moved.dimensions, moved.layers, moved.completion) == (
        table.dimensions,
        table.layers,
        table.completion,
    )
    assert {task.id: task for task in moved.tasks} == {task.id: task for task in table.tasks}


@given(cases())
def test_law_4_votes_sum_to_one_and_reproduce_each_average(case: tuple[Suite, list[dict[str, Any]]]) -> None:
    table = scored(*case)
    low: dict[str, list[float]] = {}
    high: dict[str, list[float]] = {}
    votes: dict[str, list[float]] = {}
    for task in table.tasks:
        for trial in task.trials:
            for entry in trial.criteria:
                is_open = entry.status in ("unknown", "error") or entry.cause == "undecided"
                for name, vote in entry.votes.items():
                    votes.setdefault(name, []).append(vote)
                    low.setdefault(name, []).append(vote * (entry.score or 0.0))
                    high.setdefault(name, []).append(vote * (1.0 if is_open else entry.score or 0.0))
    for name, entry in averages(table).items():
        total = math.fsum(votes.get(name, []))
        assert abs(total - 1) < 1e-12 or total == 0.0, name
        if total:
            assert abs(math.fsum(low[name]) - (entry.low or 0.0)) < 1e-12, name
            assert abs(math.fsum(high[name]) - (entry.high or 0.0)) < 1e-12, name


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int | float):
        yield float(value)
    else:
        for entry in value.values() if isinstance(value, dict) else value:
            yield from numbers(entry)


@given(cases())
def test_law_5_every_number_is_finite_in_range_and_has_its_count(
    case: tuple[Suite, list[dict[str, Any]]],
) -> None:
    table = scored(*case)
    assert all(math.isfinite(number) for number in numbers(msgspec.to_builtins(table)))
    for name, entry in averages(table).items():
        assert 0 <= entry.n_verdicts <= entry.assigned, name
        if entry.assigned:
            assert entry.low is not None and entry.high is not None
            assert 0.0 <= entry.low <= entry.high <= 1.0, name
            assert entry.value in (entry.low, None)
            assert entry.value is not None or not entry.n_verdicts or entry.graded_mean is None
        ci = entry.ci
        if ci is not None and ci.low is not None and ci.high is not None and entry.low is not None:
            assert (
                0.0 <= ci.low <= entry.low + 1e-12
                and entry.high is not None
                and entry.high - 1e-12 <= ci.high <= 1.0
            )
    assert 0.0 <= table.completion.low <= table.completion.high <= 1.0


def drawn(table: ScoreTable, k: int, rule: Callable[[tuple[bool, ...]], bool], high: bool) -> list[Fraction]:
    """For each task with k trials, the share of all draws of k of them that meet the rule: written out, no formula."""
    empty = {notice.where for notice in table.notices if notice.code == "only_faults"}
    shares = []
    for task in table.tasks:
        trials = [trial for trial in task.trials if trial.counted and task.id not in empty]
        done = [bool(trial.possibly_complete if high else trial.complete) for trial in trials]
        draws = list(combinations(done, k))
        if draws:
            shares.append(Fraction(sum(map(rule, draws)), len(draws)))
    return shares


@given(cases())
def test_repeats_are_the_share_of_all_draws_from_low_to_high(
    case: tuple[Suite, list[dict[str, Any]]],
) -> None:
    table = scored(*case)
    nothing_open = table.pass_rate.low == table.pass_rate.high
    for scores, rule in ((table.pass_hat_k, all), (table.pass_at_k, any)):
        for k, found in scores.items():
            low, high = (drawn(table, int(k), rule, end) for end in (False, True))
            assert found.n_tasks == len(low)
            if not low:
                assert (found.value, found.low, found.high) == (None, None, None)
                continue
            assert found.low is not None and found.high is not None
            assert found.value == found.low <= found.high
            assert abs(found.low - sum(low) / len(low)) < 1e-12
            assert abs(found.high - sum(high) / len(high)) < 1e-12
            assert not nothing_open or found.low == found.high


@settings(max_examples=50)
@given(cases(), st.randoms(use_true_random=False))
def test_law_6_the_same_verdicts_are_no_change(
    case: tuple[Suite, list[dict[str, Any]]], rng: random.Random
) -> None:
    """Held as records or as bytes, in one order or another, in a run or in a what-if that changes nothing."""
    standard, rows = case
    shuffled = read(rows)
    rng.shuffle(shuffled)
    base = Run(suite=standard, rows=read(rows))
    for other in (
        Run(suite=standard, rows=shuffled),
        Run(suite=standard, rows=RowLog(shuffled)),
        base.what_if([]),
    ):
        found = changes(base.scores, other.scores)
        assert (found.verdicts, found.trials, found.more_verdicts, found.more_trials) == ((), (), 0, 0)
        assert not [entry.label for entry in found.headlines if entry.changed]
        assert msgspec.structs.replace(other.scores, moved=None) == base.scores


def text_of(draw: st.DrawFn, standard: Suite) -> tuple[Literal["set", "weight", "gate"], str]:
    task = draw(st.sampled_from(standard.tasks))
    name = f"{task.id}/{draw(st.sampled_from(task.criteria)).id}"
    kind = draw(st.sampled_from(("set", "set", "weight", "task", "gate")))
    if kind == "set":
        return "set", f"{name}={draw(st.sampled_from(('0', '0.7', '1', 'unknown', 'error')))}"
    if kind == "gate":
        return "gate", name
    return "weight", f"{task.id if kind == 'task' else name}={draw(st.sampled_from(('0', '2', '0.5')))}"


@settings(max_examples=50)
@given(cases(), st.data())
def test_a_what_if_is_what_the_changed_rows_and_standard_score(
    case: tuple[Suite, list[dict[str, Any]]], data: st.DataObject
) -> None:
    """Only the tasks that change are scored anew: to the last bit as if everything was."""
    standard, rows = case
    texts = [text_of(data.draw, standard) for _ in range(data.draw(st.integers(1, 3)))]  # type: ignore[arg-type]
    run = Run(suite=standard, rows=read(rows))
    try:
        asked = [parse_change(kind, text, standard) for kind, text in texts]
        suite_after, rows_after = apply_changes(standard, run.rows, asked)
    except UsageError:
        return
    expected, found = Run(suite=suite_after, rows=rows_after).scores, run.what_if(asked).scores
    assert msgspec.structs.replace(found, whatif=(), moved=None) == expected
    outcomes = [
        [
            (entry.outcome, entry.score, entry.gate)
            for task in table.tasks
            for trial in task.trials
            for entry in trial.criteria
        ]
        for table in (run.scores, found)
    ]
    different = sum(one != other for one, other in zip(*outcomes, strict=True))
    assert found.moved is not None and found.moved.verdicts == different


@settings(max_examples=50)
@given(cases())
def test_the_counts_of_a_table_are_those_of_its_own_verdicts(
    case: tuple[Suite, list[dict[str, Any]]],
) -> None:
    """What a report says of a run too large to list is what it would count in the list."""
    standard, rows = case
    whole, short = score(standard, read(rows)), score(standard, read(rows), detail=False)
    assert (whole.causes, whole.complete_but, whole.no_verdict) == (
        short.causes, short.complete_but, short.no_verdict,
    )  # fmt: skip
    listed = [(trial, entry) for task in whole.tasks for trial in task.trials for entry in trial.criteria]
    assert whole.complete_but.total == sum(
        bool(t.complete) and entry.outcome == "fail" for t, entry in listed
    )
    beside = [entry for t, entry in listed if t.counted and not entry.in_acceptance and not entry.gate]
    assert sum(whole.failed_outside.values()) == sum(entry.outcome == "fail" for entry in beside)
    assert whole.skipped_by_fail == sum(t.counted and entry.cause == "fail" for t, entry in listed)
    assert whole.no_verdict.total == sum(
        entry.outcome in ("unknown", "error") and t.counted and not t.placeholder and not entry.in_acceptance
        and not entry.gate
        for t, entry in listed
    )  # fmt: skip
    lines = failures(whole, most=10**6)
    assert whole.causes.total == lines.total
    for name, scored_dimension in whole.dimensions.items():
        votes = [entry.votes[f"{name}.pooled"] for _, entry in listed if entry.dimension == name]
        assert scored_dimension.pooled_voters == sum(vote > 0 for vote in votes)
    assert short.left_out is not None
    unlisted = short.left_out.incomplete_tasks
    assert unlisted + len(short.tasks) == sum(task.completion["low"] < 1 for task in whole.tasks)


@given(cases(), st.integers(0, 3))
def test_law_7_another_check_changes_no_other_tasks_vote(
    case: tuple[Suite, list[dict[str, Any]]], place: int
) -> None:
    standard, rows = case
    chosen = standard.tasks[place % len(standard.tasks)]
    extra = msgspec.structs.replace(chosen.criteria[0], id="EXTRA", needs=())
    longer = msgspec.structs.replace(chosen, criteria=(*chosen.criteria, extra))
    tasks = tuple(longer if task.id == chosen.id else task for task in standard.tasks)
    before, after = scored(standard, rows), scored(msgspec.structs.replace(standard, tasks=tasks), rows)
    for task, other in zip(before.tasks, after.tasks, strict=True):
        if task.id == chosen.id:
            continue
        for trial, trial_after in zip(task.trials, other.trials, strict=True):
            for entry, entry_after in zip(trial.criteria, trial_after.criteria, strict=True):
                name = f"{entry.dimension}.task_average"
                assert entry.votes[name] == entry_after.votes[name]


@settings(max_examples=50)
@given(cases())
def test_headlines_equal_exact_fractions(case: tuple[Suite, list[dict[str, Any]]]) -> None:
    """Completion recomputed in exact fractions from the table's own trials."""
    standard, rows = case
    table = score(standard, read(rows))
    shares: dict[str, Fraction] = {}
    for task in standard.tasks:
        group = [other for other in standard.tasks if other.tags["kind"] == task.tags["kind"]]
        if standard.weights:
            shares[task.id] = Fraction(standard.weights.shares[task.tags["kind"]]) / len(group)
        else:
            shares[task.id] = Fraction(1 if task.weight is None else task.weight)
    total = sum(shares.values())
    value = Fraction(0)
    for task in table.tasks:
        counted = [trial for trial in task.trials if trial.counted]
        value += (
            shares[task.id] / total * Fraction(sum(bool(trial.complete) for trial in counted), len(counted))
        )
    assert abs(float(value) - table.completion.value) < 1e-12


def test_verdict_types_have_no_number_where_nothing_was_graded() -> None:
    assert "score" in Graded.__struct_fields__
    assert all("score" not in kind.__struct_fields__ for kind in (Unknown, Errored))
