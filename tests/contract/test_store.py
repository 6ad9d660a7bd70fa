"""What every store owes the engine and the application, whatever it keeps its rows in."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from steelyard.errors import UsageError
from steelyard.model.columns import CompactRows, ListedRows, RowColumns
from steelyard.model.table import Primary, ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Attempt, Errored, Graded, Score, Skipped, TrialRow, Undecided, Unknown
from steelyard.ports.store import Payload, Store, payload_of
from steelyard.store import open_store
from stores import REF, a_suite, a_trial, clock, graded, now, undecided

Opener: TypeAlias = Callable[..., Store]
PRIMARY = Primary(metric="completion", value=0.5, low=0.5, high=0.75, bar=1.0, declared=False)


@pytest.fixture(params=["path", "url"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same store again and again."""
    file = tmp_path / "deep" / "store.db"
    place = file if request.param == "path" else f"sqlite:///{file}"
    return lambda now=now: open_store(place, now=now)


def test_what_was_put_comes_back_in_another_process_of_reading(opened: Opener) -> None:
    suite = a_suite()
    rows = [
        a_trial(),
        graded()[0],
        Unknown(task="a", criterion="C2", reason="unclear", evidence_refs=("s0001", "e2")),
        Errored(task="a", criterion="C3", error="timeout", reason="10 s are over"),
        Skipped(task="a", criterion="C4", failure_tag="LATER"),
        TrialRow(task="b", trial=0),
    ]
    lost = [Quarantined(where="x.jsonl:3", reason="no JSON")]
    notices = [ScoreNotice(code="quarantined", detail="x.jsonl:3")]
    with opened() as store:
        grading = store.begin(suite, planned=4, options={"only": ["*"]})
        store.put_trial(grading, rows[0], rows[1:5])  # type: ignore[arg-type]
        store.put_trial(grading, rows[5], ())  # type: ignore[arg-type]
        store.finish(grading, lost, notices, primary=PRIMARY, decision="INCOMPLETE")
    with opened() as store:
        run = store.load(grading.name)
    assert run.rows == tuple(rows)
    assert (run.suite, run.status, run.planned) == (suite, "done", 4)
    assert (run.lost, run.notices, run.options) == (tuple(lost), tuple(notices), {"only": ["*"]})
    assert (run.primary, run.decision, run.created_at) == (PRIMARY, "INCOMPLETE", now())


def test_the_list_of_runs_has_the_headline_of_each(opened: Opener) -> None:
    with opened() as store:
        first = store.begin(a_suite(), planned=2, options={})
        store.put_trial(first, a_trial(), [graded()[0]])
        store.put_trial(first, a_trial(), [graded()[0]])
        store.finish(first, primary=PRIMARY, decision="FAIL")
        second = store.begin(a_suite(), planned=None, options={})
        store.put_trial(second, a_trial(), [graded()[0]])
        store.flush()
        done, running = store.runs()
    assert (done.name, done.suite, done.version, done.status) == ("2026-11-30-1", "capitals", "1.0", "done")
    assert (done.trials, done.planned, done.decision) == (1, 2, "FAIL")
    assert (done.metric, done.value, done.low, done.high, done.bar) == ("completion", 0.5, 0.5, 0.75, 1.0)
    assert (running.name, running.status, running.trials) == ("2026-11-30-2", "running", 1)
    assert running.metric is None and running.value is None and running.decision is None


def test_a_finding_is_found_by_its_key_exactly_and_the_first_one_stays(opened: Opener) -> None:
    third = Score(value=Fraction(1, 3), reason="1 of 3", evidence=("s0002",), failure_tag="NO_PROPOSAL")
    payload = payload_of(third, graders=(REF,), extracted={"n": 10**20})
    verdict = Graded(
        task="a", criterion="C1", score=1 / 3, reason="1 of 3", evidence_refs=("s0002",), graders=(REF,),
        failure_tag="MINE", extracted={"n": 10**20},
    )  # fmt: skip
    with opened() as store:
        grading = store.begin(a_suite(), planned=None, options={})
        store.put_trial(grading, a_trial(), [verdict], [b"k1"], [payload])
        assert store.find(b"k1") == payload  # while it is still buffered
        store.put_trial(grading, a_trial("b"), [graded("b")[0]], [b"k1"], [graded("b")[1]])
    with opened() as store:
        found = store.find(b"k1")
        assert found is not None and found.finding == third and found.graders == (REF,)
        assert found.extracted == {"n": 10**20}
        assert store.find(b"K1") is None
        kept = store.load("latest").rows[1]
    assert kept == verdict  # its own tag, not the finding's


def test_many_keys_are_found_at_once(opened: Opener) -> None:
    with opened() as store:
        grading = store.begin(a_suite(), planned=None, options={})
        for number in range(1200):
            verdict, payload = graded(trial=number, reason=f"reason {number % 7}")
            store.put_trial(grading, a_trial(trial=number), [verdict], [b"%d" % number], [payload])
        store.flush()
        found = store.find_many([b"%d" % number for number in range(0, 2400, 2)])
    assert len(found) == 600 and found[b"14"].reason == "reason 0"


def test_undecided_is_found_again_and_errors_are_not(opened: Opener) -> None:
    unknown = Unknown(task="a", criterion="C1", reason="nothing says so", graders=(REF,))
    failed = Errored(task="a", criterion="C2", error="timeout")
    with opened() as store:
        grading = store.begin(a_suite(), planned=None, options={})
        store.put_trial(
            grading, a_trial(), [unknown, failed], [b"u", b"e"], [undecided(), undecided("stale")]
        )
        store.flush()
        found = store.find_many([b"u", b"e"])
    assert list(found) == [b"u"] and found[b"u"].finding == Undecided(reason="nothing says so")


def test_a_score_outside_0_and_1_or_a_key_without_payload_is_refused(opened: Opener) -> None:
    with opened() as store:
        grading = store.begin(a_suite(), planned=None, options={})
        for score in (float("nan"), 1.5, -0.1):
            with pytest.raises(ValueError, match="outside 0..1"):
                store.put_trial(grading, a_trial(), [Graded(task="a", criterion="C1", score=score)])
        with pytest.raises(ValueError, match="without the payload"):
            store.put_trial(grading, a_trial(), [graded()[0]], [b"k"])
        with pytest.raises(ValueError, match="one each"):
            store.put_trial(grading, a_trial(), [graded()[0]], [b"k", None])
        with pytest.raises(ValueError, match="among those of"):
            store.put_trial(grading, a_trial("b"), [graded("a")[0]])
        store.flush()
        assert store.committed(grading) == frozenset()


def test_a_retried_trial_counts_once_with_every_attempt_and_all_costs(opened: Opener) -> None:
    """Q17: an error at first, a pass at the second try: one trial, the last verdict, both attempts in the log."""
    error = Errored(task="a", criterion="C1", error="judge_down", reason="503", cost_usd=0.25)
    passed = msgspec.structs.replace(graded()[0], cost_usd=0.5)
    other = Unknown(task="a", criterion="C2", reason="unclear")
    with opened() as store:
        grading = store.begin(a_suite(), planned=1, options={})
        store.put_trial(grading, a_trial(ended_by="cancelled"), [error, other])
        store.put_trial(grading, a_trial("b"), [])
        store.put_trial(grading, a_trial(), [passed])
        store.finish(grading)
        run = store.load("latest")
        assert store.runs()[0].trials == 2
    assert run.rows == (
        a_trial(),
        msgspec.structs.replace(
            passed,
            cost_usd=0.75,
            attempts=(
                Attempt(stop_reason="error", error="judge_down: 503", cost_usd=0.25),
                Attempt(stop_reason="graded", reply="equal", cost_usd=0.5),
            ),
        ),
        other,
        a_trial("b"),
    )


def test_the_same_trial_put_twice_without_change_is_no_further_attempt(opened: Opener) -> None:
    with opened() as store:
        grading = store.begin(a_suite(), planned=1, options={})
        for _ in range(3):
            store.put_trial(grading, a_trial(), [graded()[0]])
        store.finish(grading)
        assert store.load("latest").rows == (a_trial(), graded()[0])


def test_two_rows_for_one_criterion_of_one_attempt_both_stay(opened: Opener) -> None:
    """They contradict each other; that is for scoring to say."""
    rows = [graded(score=Fraction(1))[0], graded(score=Fraction(0))[0]]
    with opened() as store:
        grading = store.begin(a_suite(), planned=1, options={})
        store.put_trial(grading, a_trial(), rows)
        store.flush()
        assert store.load("latest").rows == (a_trial(), *rows)


def test_an_unfinished_grading_is_found_and_resumed(opened: Opener) -> None:
    suite = a_suite()
    with opened() as store:
        grading = store.begin(suite, planned=2, options={"b": 1, "a": [2]})
        store.put_trial(grading, a_trial(), [graded()[0]])
    with opened() as store:
        assert store.load("latest").status == "running"
        assert store.unfinished(suite.hash, {"a": [2]}) is None
        assert store.unfinished("0" * 64, {"a": [2], "b": 1}) is None
        again = store.unfinished(suite.hash, {"a": [2], "b": 1})
        assert again == grading
        assert store.committed(again) == {("a", 1)}
        store.put_trial(again, a_trial("b"), [graded("b")[0]])
        store.finish(again)
        assert store.unfinished(suite.hash, {"a": [2], "b": 1}) is None
        assert store.load("latest").rows == (a_trial(), graded()[0], a_trial("b"), graded("b")[0])


def test_names_and_order_do_not_follow_a_clock_that_jumps_back(opened: Opener) -> None:
    times = ["2026-11-30T23:00:00Z", "2026-11-29T01:00:00Z", "2026-11-30T00:00:00Z", "not a time", ""]
    # The clock is also read once for each migration when the store is made.
    with opened() as store:
        store.flush()
    names = []
    for time in times:
        with opened(clock(time)) as store:
            names.append(store.begin(a_suite(), planned=None, options={}).name)
    assert names == ["2026-11-30-1", "2026-11-29-1", "2026-11-30-2", "run-1", "run-2"]
    with opened() as store:
        assert [run.name for run in store.runs()] == names
        assert store.load("latest").name == "run-2"


def test_a_run_is_named_by_its_name_a_beginning_or_latest(opened: Opener) -> None:
    with opened() as store:
        with pytest.raises(UsageError, match="holds no run yet"):
            store.load("latest")
        for _ in range(11):
            store.begin(a_suite(), planned=None, options={})
        assert store.load("2026-11-30-1").name == "2026-11-30-1"  # although others begin so
        assert store.load("2026-11-30-11").name == "2026-11-30-11"
        with pytest.raises(UsageError, match=r"11 runs begin with '2026-'.*2026-11-30-11"):
            store.load("2026-")
        with pytest.raises(
            UsageError, match=r"no run '2026-11-3-2'; did you mean '2026-11-30-2'\?.*2026-11-30-11"
        ):
            store.load("2026-11-3-2")
        for odd in ("", "Latest", "%", "2026-11-30-1'"):
            with pytest.raises(UsageError, match="no run"):
                store.load(odd)
    with opened(clock("2027-01-01")) as store:
        store.begin(a_suite(), planned=None, options={})
        assert store.load("2027").name == "2027-01-01-1"


def test_standards_with_one_hash_but_other_tasks_are_kept_apart(opened: Opener) -> None:
    """A selection of tasks carries the hash of the whole standard."""
    whole, part = a_suite(), a_suite(tasks=("a",))
    assert whole.hash == part.hash
    with opened() as store:
        store.begin(whole, planned=None, options={})
        store.begin(part, planned=None, options={})
        assert store.load("2026-11-30-1").suite == whole
        assert store.load("2026-11-30-2").suite == part


def test_ids_never_collide(opened: Opener) -> None:
    ids = [
        "A",
        "a",
        "x/y",
        "x~1y",
        "😀",
        "😀️",
        "x" * 300,
        "x" * 299,
        "é",
        "e\u0301",
        " a",
        "a ",
        "",
        "a\0b",
        "'; --",
    ]
    with opened() as store:
        grading = store.begin(a_suite(tasks=ids), planned=None, options={})
        for number, id in enumerate(ids):
            verdict = Unknown(task=id, trial=number, criterion=ids[-1 - number], reason=id)
            store.put_trial(grading, a_trial(id, number), [verdict])
        store.finish(grading)
    with opened() as store:
        run = store.load("latest")
        assert store.committed(grading) == {(id, number) for number, id in enumerate(ids)}
    assert [row.task for row in run.rows if isinstance(row, TrialRow)] == ids
    assert [row.criterion for row in run.rows if not isinstance(row, TrialRow)] == ids[::-1]
    assert [task.id for task in run.suite.tasks] == ids


def test_a_run_from_elsewhere_is_restored_once(opened: Opener) -> None:
    with opened() as store:
        grading = store.begin(a_suite(), planned=1, options={})
        store.put_trial(grading, a_trial(), [graded()[0]])
        store.finish(grading, primary=PRIMARY, decision="PASS")
        run = store.load("latest")
        other = msgspec.structs.replace(run, rows=())
        assert store.restore(other, origin="o1") == "2026-11-30-1-imported"
        assert store.restore(other, origin="o1") == "2026-11-30-1-imported"
        assert store.restore(other, origin="o2") == "2026-11-30-1-imported-2"
        assert len(store.runs()) == 3
        loaded = store.load("2026-11-30-1-imported")
    assert loaded == msgspec.structs.replace(other, name="2026-11-30-1-imported")


def test_a_trial_that_is_put_as_it_was_kept_is_not_written_again_once_that_is_asked_for(
    opened: Opener,
) -> None:
    worse = Graded(task="b", criterion="C1", score=0.0, reason="wrong after all", graders=(REF,))
    with opened() as store:
        grading = store.begin(a_suite(), planned=2, options={})
        other = store.begin(a_suite(), planned=2, options={})
        for task in ("a", "b"):
            row, verdicts, keys, payloads = put_with_key(task)
            store.put_trial(grading, row, verdicts, keys, payloads)
    with opened() as store:
        store.skip_kept(grading)
        row, verdicts, keys, payloads = put_with_key("a")
        store.put_trial(grading, row, verdicts, keys, payloads)
        store.put_trial(other, row, verdicts, keys, payloads)
        store.put_trial(grading, TrialRow(task="b", trial=1), (worse,))
    with opened() as store:
        store.skip_kept(grading)  # of several attempts, the last one is what counts
        store.put_trial(grading, TrialRow(task="b", trial=1), (worse,))
        run, same = store.load(grading.name), store.load(other.name)
    attempts = {row.task: len(row.attempts) for row in run.rows if not isinstance(row, TrialRow)}
    assert attempts == {"a": 0, "b": 2}
    assert len(same.rows) == 2


def put_with_key(task: str) -> tuple[TrialRow, tuple[Graded], tuple[bytes], tuple[Payload]]:
    payload = payload_of(Score(value=Fraction(1), reason=f"right for {task}"), graders=(REF,))
    verdict = Graded(task=task, criterion="C1", score=1.0, reason=f"right for {task}", graders=(REF,))
    return TrialRow(task=task, trial=1), (verdict,), (task.encode() * 32,), (payload,)


def test_columns_score_as_the_rows_do_and_give_them_back(opened: Opener) -> None:
    """With a trial graded twice, a rest that scoring does not read, and a store that is closed meanwhile."""
    rows = (
        TrialRow(
            task="a", trial=1, ended_by="agent_stop", measurements={"seconds": 1.5, "turns": 2.0}, trace="x"
        ),
        Graded(task="a", criterion="C1", score=0.7, reason='says "graders":', graders=(REF,)),
        Graded(task="a", criterion="C2", score=1.0, extracted={"graders": 1}, evidence_refs=("s1",)),
        Errored(task="a", criterion="C3", error="timeout", failure_tag="NOT_THIS", graders=(REF, REF)),
        Skipped(task="a", criterion="C4", failure_tag="LATER"),
        TrialRow(task="b", trial=0),
        Graded(task="b", trial=0, criterion="C1", score=0.0, attempts=(Attempt(), Attempt())),
    )
    with opened() as store:
        other, grading = (store.begin(a_suite(), planned=None, options={"n": n}) for n in (1, 2))
        store.put_trial(other, TrialRow(task="c"), (Graded(task="c", criterion="C1", score=1.0),))
        store.put_trial(grading, rows[0], rows[1:5])  # type: ignore[arg-type]
        store.put_trial(other, TrialRow(task="c", trial=2), (Unknown(task="c", trial=2, criterion="C1"),))
        store.put_trial(grading, TrialRow(task="d"), (Unknown(task="d", criterion="C1", reason="first"),))
        store.put_trial(grading, rows[5], rows[6:])  # type: ignore[arg-type]
        store.put_trial(grading, TrialRow(task="d"), (Graded(task="d", criterion="C1", score=1.0),))
        store.finish(grading, primary=PRIMARY, decision="PASS")
        loaded, read = store.load(grading.name), store.columns(grading.name)
    assert msgspec.structs.replace(read, rows=loaded.rows) == loaded
    held = read.rows
    assert isinstance(held, CompactRows)
    assert sorted(map(repr, held)) == sorted(map(repr, loaded.rows))
    columns, expected = held.columns(), ListedRows(loaded.rows).columns()
    assert _said(columns) == _said(expected)
    assert held.rows_at(columns.place.tolist()) == [
        row for place in columns.place.tolist() for row in held.rows_at([place])
    ]
    retried = [row for row in loaded.rows if not isinstance(row, TrialRow) and len(row.attempts) > 1]
    assert {repr(row) for row in held.rows_at(columns.retried.tolist())} == set(map(repr, retried))
    assert len(retried) == 2
    assert held.find("a", 1, "C1") == [rows[1]]


def _said(read: RowColumns) -> tuple[list[object], list[object], list[object]]:
    """What columns say, by names."""
    verdicts = zip(
        read.task.tolist(), read.number.tolist(), read.criterion.tolist(), read.status.tolist(),
        map(str, read.score.tolist()), read.kind.tolist(), read.tag.tolist(), strict=True,
    )  # fmt: skip
    trials = zip(read.trial_task.tolist(), read.trial_number.tolist(), read.ended.tolist(), strict=True)
    measured = zip(read.measured.tolist(), read.measure.tolist(), read.value.tolist(), strict=True)
    return (
        sorted(
            (read.tasks[a], read.numbers[b], read.criteria[c], d, e, read.kinds[f], read.tags[g] or "")
            for a, b, c, d, e, f, g in verdicts
        ),
        sorted((read.tasks[a], read.numbers[b], read.endings[c] or "") for a, b, c in trials),
        sorted((read.tasks[read.trial_task[a]], read.measures[b], value) for a, b, value in measured),
    )
