"""Whatever a check, a trace or a recorded row does, it is an error of its own criterion and of nothing else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scored import criterion, read, suite, task
from steelyard.errors import GraderError
from steelyard.grading import Row, write_row
from steelyard.importers import read_traces
from steelyard.model.evidence import answer
from steelyard.model.trace import Notice, Outcome, Quarantined, Trace
from steelyard.model.verdict import Errored, Graded, GraderRef, Score, Skipped, TrialRow, Undecided, Unknown
from steelyard.ports.grader import GraderInput
from steelyard.scoring import score
from unit.checks.trials import call, said, trace_of
from unit.grading.stubs import Act, by_criterion, checked, engine, verdicts

PASS = Score(value=Fraction(1), reason="right")


def trace(*messages: Any, **fields: Any) -> Trace:
    fields.setdefault("task_id", "a")
    return trace_of(*(messages or (said("done"),)), **fields)


def raising(error: BaseException) -> Act:
    def act(given: GraderInput) -> Any:
        raise error

    return act


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Third(Fraction):
    """A subclass is a fraction like any other."""


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def hang(given: GraderInput) -> Any:
    time.sleep(5)


BROKEN: dict[str, tuple[Act, str]] = {
    "raises": (raising(ValueError("bad\ud800 luck")), "check_raised"),
    "raises its own": (raising(GraderError("no such fact", code="bad_reference")), "bad_reference"),
    "recurses": (raising(RecursionError()), "check_raised"),
    "out of memory": (raising(MemoryError()), "check_raised"),
    "leaves": (raising(SystemExit(0)), "check_raised"),
    "stops": (raising(StopIteration()), "check_raised"),
    "cannot say": (raising(Mute()), "check_raised"),
    "hangs": (hang, "timeout"),
    "none": (lambda _: None, "nonsense"),
    "two": (lambda _: 2, "nonsense"),
    "true": (lambda _: True, "nonsense"),
    "nan": (lambda _: float("nan"), "nonsense"),
    "float": (lambda _: 0.5, "nonsense"),
    "fraction": (lambda _: Fraction(1), "nonsense"),
    "unshowable": (lambda _: Unshowable(), "nonsense"),
    "graded": (lambda _: Graded(task="b", criterion="C9", score=1.0), "nonsense"),
    "above 1": (lambda _: Score(value=Fraction(3, 2)), "nonsense"),
    "below 0": (lambda _: Score(value=Fraction(-1, 2)), "nonsense"),
    "a score of true": (lambda _: Score(value=True), "nonsense"),  # type: ignore[arg-type]
    "a score of 1.0": (lambda _: Score(value=1.0), "nonsense"),  # type: ignore[arg-type]
    "a score of nan": (lambda _: Score(value=float("nan")), "nonsense"),  # type: ignore[arg-type]
    "a score of none": (lambda _: Score(value=None), "nonsense"),  # type: ignore[arg-type]
    "a reason of none": (lambda _: Score(value=Fraction(1), reason=None), "nonsense"),  # type: ignore[arg-type]
    "a text for evidence": (lambda _: Score(value=Fraction(1), evidence="e1"), "nonsense"),  # type: ignore[arg-type]
    "a tag of 3": (lambda _: Score(value=Fraction(0), failure_tag=3), "nonsense"),  # type: ignore[arg-type]
    "undecided about none": (lambda _: Undecided(reason=None), "nonsense"),  # type: ignore[arg-type]
}
SOUND: dict[str, Act] = {
    "pass": lambda _: PASS,
    "fail": lambda _: Score(value=Fraction(0), reason="wrong", evidence=("s0001",)),
    "third": lambda _: Score(value=Third(1, 3)),
    "undecided": lambda _: Undecided(reason="cannot tell", evidence=("e1",)),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_grader_is_an_error_of_its_criterion_alone(broken: str) -> None:
    """Q29: the grader's fault, and never a score."""
    act, code = BROKEN[broken]
    standard = suite(task("a", checked("C1", "pass"), checked("C2", "broken"), checked("C3", "pass")))
    rows = list(engine(standard, {**SOUND, "broken": act}, seconds=0.1).grade([trace()]))
    found = by_criterion(rows)
    error = found["a", 1, "C2"]
    assert isinstance(error, Errored)
    assert error.error == code
    assert error.reason
    for name in ("C1", "C3"):
        row = found["a", 1, name]
        assert isinstance(row, Graded) and row.score == 1.0
    table = score(standard, rows)
    assert table.states == {"graded": 2, "unknown": 0, "error": 1, "skipped": 0}
    assert not table.tasks[0].trials[0].complete
    assert all(write_row(row) for row in rows)


def test_a_broken_grader_for_every_second_trial_leaves_the_others() -> None:
    """Q29: two of three verifiers that time out; one of three is graded, none counts as the agent's failure."""
    slow = iter([True, False, True])

    def act(given: GraderInput) -> Score:
        if next(slow):
            time.sleep(5)
        return PASS

    standard = suite(task("a", checked("C1", "sometimes")))
    rows = list(engine(standard, {"sometimes": act}, seconds=0.1).grade([trace()] * 3))
    statuses = [type(row).__name__ for row in rows if not isinstance(row, TrialRow)]
    assert statuses == ["Errored", "Graded", "Errored"]
    table = score(standard, rows)
    average = table.dimensions["correctness"].task_average
    assert (average.n_verdicts, average.assigned) == (1, 3)
    assert (average.low, average.high) == (pytest.approx(1 / 3), 1.0)
    assert table.pass_rate.value == pytest.approx(1 / 3)
    assert table.exit_code == 3


def test_a_grader_works_off_the_main_thread() -> None:
    standard = suite(task("a", checked("C1", "pass"), checked("C2", "hangs")))
    made = engine(standard, {**SOUND, "hangs": hang}, seconds=0.1)
    found: dict[str, Any] = {}
    thread = threading.Thread(target=lambda: found.update(verdicts(made, trace())))
    thread.start()
    thread.join(10)
    assert isinstance(found["C1"], Graded)
    assert isinstance(found["C2"], Errored) and found["C2"].error == "timeout"


def test_an_interrupt_ends_the_run() -> None:
    made = engine(suite(task("a", checked("C1", "stop"))), {"stop": raising(KeyboardInterrupt())})
    with pytest.raises(KeyboardInterrupt):
        list(made.grade([trace()]))


def test_sound_findings_become_verdicts() -> None:
    standard = suite(task("a", *(checked(name, name, failure_tag="TAG") for name in SOUND)))
    found = verdicts(engine(standard, SOUND), trace())
    by = (GraderRef(kind="check:stub", version="7"),)
    assert found["pass"] == Graded(task="a", criterion="pass", score=1.0, reason="right", graders=by)
    assert found["fail"] == Graded(
        task="a",
        criterion="fail",
        score=0.0,
        reason="wrong",
        evidence_refs=("s0001",),
        graders=by,
        failure_tag="TAG",
    )
    assert found["third"] == Graded(task="a", criterion="third", score=1 / 3, graders=by, failure_tag="TAG")
    assert found["undecided"] == Unknown(
        task="a", criterion="undecided", reason="cannot tell", evidence_refs=("e1",), graders=by
    )


def test_the_finding_may_name_its_own_tag_and_a_partial_pass_has_none() -> None:
    acts: dict[str, Act] = {
        "tagged": lambda _: Score(value=Fraction(0), failure_tag="NO_PROPOSAL"),
        "enough": lambda _: Score(value=Fraction(4, 5), failure_tag="NO_PROPOSAL"),
    }
    standard = suite(
        task(
            "a",
            checked("C1", "tagged", failure_tag="TAG"),
            checked("C2", "enough", pass_mark=0.8, failure_tag="TAG"),
        )
    )
    found = verdicts(engine(standard, acts), trace())
    assert (found["C1"].failure_tag, found["C2"].failure_tag) == ("NO_PROPOSAL", None)


@pytest.mark.parametrize(
    ("mark", "value"), [(1, 1 - Fraction(1, 10**30)), (0.8, Fraction(4, 5) - Fraction(1, 10**30))]
)
def test_a_fraction_just_below_the_mark_does_not_round_up_to_a_pass(mark: float, value: Fraction) -> None:
    standard = suite(task("a", checked("C1", "near", pass_mark=mark)))
    rows = list(engine(standard, {"near": lambda _: Score(value=value)}).grade([trace()]))
    table = score(standard, rows)
    assert table.tasks[0].trials[0].criteria[0].outcome == "fail"
    assert table.tasks[0].trials[0].criteria[0].score == pytest.approx(mark)


# --- what a trace may hold


MESSAGES: dict[str, Any] = {
    "empty": {"role": "assistant", "content": ""},
    "spaces": {"role": "assistant", "content": " \n\t "},
    "null": {"role": "assistant", "content": None},
    "only a call": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_an_empty_reply_among_normal_ones_is_graded_as_what_it_is(kind: str, tmp_path: Path) -> None:
    """Q33, with the real importer and the real checks."""
    from steelyard.checks import grader_for
    from steelyard.grading import Engine, RecordedRows

    names = ["t0", "t1", "t2", "odd", "t3", "t4"]
    check = {"kind": "equals", "value": "Paris"}
    standard = suite(
        *(
            task(name, criterion("C1", check=check), criterion("C2", check={"kind": "regex", "pattern": "."}))
            for name in names
        )
    )
    normal = {"role": "assistant", "content": "Paris"}
    lines = [
        {
            "task_id": name,
            "messages": [{"role": "user", "content": "?"}, MESSAGES[kind] if name == "odd" else normal],
        }
        for name in names
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    made = Engine(standard, grader_for=grader_for, recorded=RecordedRows())
    found = by_criterion(made.grade(read_traces([str(tmp_path / "t.jsonl")])))
    assert len(found) == 12
    for name in names:
        for criterion_id in ("C1", "C2"):
            row = found[name, 1, criterion_id]
            if name == "odd":
                assert not (isinstance(row, Graded) and row.score == 1.0)
            else:
                assert isinstance(row, Graded) and row.score == 1.0


def test_a_faulted_trace_has_a_trial_row_and_no_verdicts() -> None:
    standard = suite(task("a", checked("C1", "pass")))
    fault = trace(outcome=Outcome(ended_by="infrastructure_fault"))
    rows = list(engine(standard, SOUND).grade([fault, trace(outcome=Outcome(ended_by="max_turns"))]))
    assert [type(row).__name__ for row in rows] == ["TrialRow", "TrialRow", "Graded"]
    assert [row.ended_by for row in rows if isinstance(row, TrialRow)] == [
        "infrastructure_fault",
        "max_turns",
    ]
    table = score(standard, rows)
    assert table.faults["infrastructure"] == 1
    assert table.pass_rate.of == 1


def test_a_trial_row_names_its_trace_and_what_was_measured() -> None:
    standard = suite(task("a", checked("C1", "pass")))
    [row, _] = engine(standard, SOUND).grade(
        [trace(call("look"), said("done"), measurements={"seconds": 2.5})]
    )
    assert isinstance(row, TrialRow)
    assert row.trace == "t"
    assert row.measurements == {"tool_calls": 1.0, "recoveries": 0.0, "turns": 2.0, "seconds": 2.5}


def test_records_that_cannot_be_read_are_kept_and_named() -> None:
    lost = [Quarantined(where=f"t.jsonl:{number}", reason="cut off") for number in range(25)]
    made = engine(suite(task("a", checked("C1", "pass"))), SOUND)
    assert len(list(made.grade([*lost, trace()]))) == 2
    assert made.lost == lost
    details = [notice.detail for notice in made.notices() if notice.code == "quarantined"]
    assert details[0] == "t.jsonl:0: cut off"
    assert (len(details), details[-1]) == (21, "and 5 more records")


def test_notices_of_traces_are_told_once_a_kind() -> None:
    traces = [trace(notices=(Notice(code="odd", detail=f"detail {number}"),)) for number in range(3)]
    made = engine(suite(task("a", checked("C1", "pass"))), SOUND)
    assert len(list(made.grade(traces))) == 6
    assert [(notice.code, notice.detail) for notice in made.notices()] == [
        ("odd", "a#1: detail 0 (and 2 more)")
    ]


# --- which task and trial a trace belongs to


def numbers(rows: list[Row]) -> list[tuple[str, int]]:
    return [(row.task, row.trial) for row in rows if isinstance(row, TrialRow)]


def test_traces_are_matched_by_id_else_by_prompt() -> None:
    standard = suite(task("a", checked("C1", "pass")), task("b", checked("C1", "pass")))
    asked = said("  Do b.\n", role="user")
    traces = [
        trace(task_id="b"),
        trace(asked, said("done"), task_id=None),
        trace(asked, said("done"), task_id="a"),
        trace(asked, said("done"), task_id="zzz"),
        trace(said("Do c.", role="user"), task_id=None),
        trace(said("done"), task_id=None),
    ]
    made = engine(standard, SOUND)
    assert numbers(list(made.grade(traces))) == [("b", 1), ("b", 2), ("a", 1)]
    assert made.graded_traces == 3
    assert made.unmatched == {"zzz": 1, "": 2}
    details = [notice.detail for notice in made.notices()]
    assert any("'zzz'" in detail and "not graded" in detail for detail in details)
    assert any("2 traces" in detail and "first user message" in detail for detail in details)


def test_a_prompt_that_two_tasks_share_matches_neither() -> None:
    standard = suite(
        task("a", checked("C1", "pass"), prompt="Go."), task("b", checked("C1", "pass"), prompt="Go.")
    )
    made = engine(standard, SOUND)
    assert list(made.grade([trace(said("Go.", role="user"), task_id=None)])) == []
    assert made.unmatched == {"": 1}


def test_choosing_tasks_does_not_change_which_task_a_trace_belongs_to() -> None:
    standard = suite(
        task("a", checked("C1", "pass"), prompt="Go."),
        task("b", checked("C1", "pass"), prompt="Go."),
        task("c", checked("C1", "pass"), prompt="Stay."),
    )
    chosen = msgspec.structs.replace(standard, tasks=standard.tasks[:1])
    made = engine(chosen, SOUND, left_out=standard.tasks[1:])
    shared = trace(said("Go.", role="user"), task_id=None)
    other = trace(said("Stay.", role="user"), task_id=None)
    assert numbers(list(made.grade([shared, other, trace(task_id="b"), trace(task_id="a")]))) == [("a", 1)]
    assert made.unmatched == {"": 1}


def test_many_unmatched_ids_are_counted_and_the_first_named() -> None:
    made = engine(suite(task("a", checked("C1", "pass"))), SOUND)
    assert list(made.grade(trace(task_id=f"t{number:02}") for number in range(30))) == []
    details = [notice.detail for notice in made.notices()]
    assert (len(details), details[-1]) == (21, "and 10 more task ids")


def test_repeated_trial_numbers_wait_for_one_that_nobody_states() -> None:
    made = engine(suite(task("a", checked("C1", "pass"))), SOUND)
    given = [0, 0, 2, None, 2, None, 7]
    rows = list(made.grade(trace(trial=number) for number in given))
    assert numbers(rows) == [("a", number) for number in (0, 2, 1, 3, 7, 4, 5)], (
        "no stated number is taken away"
    )
    detail = made.notices()[0].detail
    assert "states a#0, which is taken, and counts as a#4" in detail and "(and 1 more)" in detail
    assert len(by_criterion(rows)) == len(given)


@pytest.mark.slow
def test_a_hundred_thousand_repeats_of_one_trial_are_numbered_in_seconds() -> None:
    from steelyard.grading.matching import Matcher

    standard = suite(task("a", checked("C1", "pass")))
    matcher, only, started = Matcher(standard.tasks), standard.tasks[0], time.monotonic()
    assert [matcher.trial_of(only, trace(trial=1)) for _ in range(3)] == [1, None, None]
    found = {matcher.free(only) for _ in range(100_000)}
    assert found == set(range(2, 100_002))
    assert time.monotonic() - started < 10


def test_a_task_without_a_trace_is_an_error_of_its_criteria() -> None:
    standard = suite(
        task("a", checked("C1", "pass")), task("b", checked("C1", "pass"), checked("C2", "pass"))
    )
    table = score(standard, list(engine(standard, SOUND).grade([trace()])))
    assert table.states["error"] == 2
    assert any(notice.where == "b" for notice in table.notices)
    assert table.exit_code == 3


# --- views


def seen(standard_view: dict[str, Any] | None, shown: Trace) -> list[str]:
    steps: list[str] = []

    def act(given: GraderInput) -> Score:
        steps.extend(step.id for step in given.trace.steps)
        return PASS

    view = {} if standard_view is None else {"view": standard_view}
    list(engine(suite(task("a", checked("C1", "look", **view))), {"look": act}).grade([shown]))
    return steps


VIEWED = trace(
    said("hello", role="user"),
    call("read", result="text"),
    call("write", result="ok"),
    call("read", result="more"),
    said("done"),
)  # fmt: skip  s0001 user, s0002 read, s0003 its result, s0004 write, s0005, s0006 read, s0007, s0008 answer


@pytest.mark.parametrize(
    ("view", "steps"),
    [
        (None, "12345678"),
        ({"kinds": ["tool_call"]}, "246"),
        ({"kinds": ["assistant", "user"]}, "18"),
        ({"tools": ["read"]}, "123678"),
        ({"tools": ["write"]}, "1458"),
        ({"tools": ["nothing"]}, "18"),
        ({"kinds": ["tool_result"], "tools": ["write"]}, "5"),
        ({"last": 2}, "78"),
        ({"last": 99}, "12345678"),
        ({"kinds": ["tool_call"], "last": 1}, "6"),
    ],
)
def test_a_view_narrows_what_a_check_reads(view: dict[str, Any] | None, steps: str) -> None:
    assert seen(view, VIEWED) == [f"s000{number}" for number in steps]


def test_a_view_narrows_one_criterion_only() -> None:
    def act(given: GraderInput) -> Score:
        return Score(value=Fraction(answer(given.trace) is not None))

    standard = suite(task("a", checked("C1", "look", view={"kinds": ["tool_call"]}), checked("C2", "look")))
    found = verdicts(engine(standard, {"look": act}), VIEWED)
    assert [row.score for row in found.values() if isinstance(row, Graded)] == [0.0, 1.0]


# --- recorded verdicts and values


def judged(name: str, **judge: Any) -> dict[str, Any]:
    return {
        "id": name,
        "dimension": "correctness",
        "rule": f"The result MUST satisfy {name}.",
        "judge": judge,
    }


def recorded(name: str, status: str = "graded", **more: Any) -> dict[str, Any]:
    score = {"score": 1} if status == "graded" else {}
    return {"task": "a", "criterion": name, "status": status, **score, **more}


def test_a_recorded_verdict_stands_in_for_a_judge() -> None:
    standard = suite(task("a", judged("C1"), criterion("C2"), judged("C3")))
    by_person = recorded("C2", graders=[{"kind": "human"}], reason="I looked.")
    found = verdicts(engine(standard, {}, recorded=read([recorded("C1"), by_person])), trace())
    assert found["C1"] == Graded(task="a", criterion="C1", score=1.0, graders=(GraderRef(kind="recorded"),))
    assert found["C2"] == Graded(
        task="a", criterion="C2", score=1.0, reason="I looked.", graders=(GraderRef(kind="human"),)
    )
    missing = found["C3"]
    assert isinstance(missing, Errored) and missing.error == "missing_row"
    assert "--recorded" in missing.reason


@pytest.mark.parametrize("status", ["graded", "unknown", "error", "skipped"])
def test_recorded_states_stay_what_they_are(status: str) -> None:
    found = verdicts(
        engine(suite(task("a", judged("C1"))), {}, recorded=read([recorded("C1", status)])), trace()
    )
    words = {Graded: "graded", Unknown: "unknown", Errored: "error", Skipped: "skipped"}
    assert words[type(found["C1"])] == status


@pytest.mark.parametrize(
    "ref",
    [
        "e9",
        "s0099",
        "nonsense",
        "",
        "s0001@0-999",
        "s0002/args/zzz",
        "fact:nothing",
        "state:x",
        "s0002/args/" + "a/" * 5_000,
    ],
)
def test_evidence_that_does_not_exist_makes_the_verdict_an_error(ref: str) -> None:
    shown = trace(said("hello", role="user"), call("read", {"path": "x"}, result="text"), said("done"))
    rows = [
        recorded("C1", evidence_refs=["e1", ref]),
        recorded("C2", evidence_refs=["e1", "s0002/args/path", "s0001@0-5"]),
    ]
    found = verdicts(engine(suite(task("a", judged("C1"), judged("C2"))), {}, recorded=read(rows)), shown)
    bad = found["C1"]
    assert isinstance(bad, Errored) and bad.error == "bad_evidence"
    assert isinstance(found["C2"], Graded)


def test_evidence_that_is_required_must_be_there() -> None:
    standard = suite(
        task(
            "a",
            judged("C1", evidence="required"),
            judged("C2", evidence="optional"),
            judged("C3", evidence="required"),
        )
    )
    rows = [recorded("C1"), recorded("C2"), recorded("C3", "unknown")]
    found = verdicts(engine(standard, {}, recorded=read(rows)), trace())
    bare = found["C1"]
    assert isinstance(bare, Errored) and bare.error == "no_evidence"
    assert isinstance(found["C2"], Graded)
    assert isinstance(found["C3"], Unknown)
    cited = engine(standard, {}, recorded=read([recorded("C1", evidence_refs=["s0001"])]))
    assert isinstance(verdicts(cited, trace())["C1"], Graded)


EXTRACTING = [
    ("integer", 64, True), ("integer", -1, True), ("integer", 10**30, True), ("integer", 64.0, False),
    ("integer", True, False), ("integer", "64", False), ("integer", [1], False), ("number", 64, True),
    ("number", 0.5, True), ("number", 10**399, True), ("number", True, False), ("number", "NaN", False),
    ("number", {"x": 1}, False), ("text", "x", True), ("text", 1, False), ("boolean", False, True),
    ("boolean", 0, False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "fits"), EXTRACTING)
def test_an_extracted_value_must_be_of_the_declared_type(kind: str, value: object, fits: bool) -> None:
    got: list[object] = []

    def act(given: GraderInput) -> Score:
        got.append(dict(given.extracted))
        return PASS

    standard = suite(task("a", checked("C1", "use", judge={"extract": {"size": kind}})))
    rows = read([recorded("C1", extracted={"size": value, "other": 1})])
    found = verdicts(engine(standard, {"use": act}, recorded=rows), trace())["C1"]
    if fits:
        assert isinstance(found, Graded) and found.graders[0].kind == "check:stub"
        assert got == [{"size": value}]
    else:
        assert isinstance(found, Errored) and found.error == "bad_extraction"
        assert "size" in found.reason and kind in found.reason
        assert got == []


@pytest.mark.parametrize("extracted", [{}, {"size": None}, {"other": 3}])
def test_a_value_that_was_looked_for_and_not_there_is_left_to_the_check(extracted: dict[str, Any]) -> None:
    def act(given: GraderInput) -> Score:
        return Score(value=Fraction("size" in given.extracted), failure_tag="NO_PROPOSAL")

    standard = suite(task("a", checked("C1", "use", judge={"extract": {"size": "integer"}})))
    found = verdicts(
        engine(standard, {"use": act}, recorded=read([recorded("C1", extracted=extracted)])), trace()
    )["C1"]
    assert isinstance(found, Graded)
    assert (found.score, found.failure_tag) == (0.0, "NO_PROPOSAL")


@pytest.mark.parametrize(
    ("rows", "kind", "code"),
    [
        ([], Errored, "missing_row"),
        ([recorded("C1", "error", error="refused")], Errored, "refused"),
        ([recorded("C1", "unknown")], Unknown, None),
        ([recorded("C1", "skipped")], Skipped, None),
        (
            [recorded("C1", extracted={"size": 4}), recorded("C1", extracted={"size": 64})],
            Errored,
            "conflict",
        ),
        ([recorded("C1", evidence_refs=["e77"])], Errored, "bad_evidence"),
    ],
)
def test_where_nobody_read_the_value_out_the_check_is_not_asked(
    rows: list[dict[str, Any]], kind: type[Any], code: str | None
) -> None:
    """An undecided reading is no missing proposal: as a fail it would lower what is still possible."""
    standard = suite(task("a", checked("C1", "use", judge={"extract": {"size": "integer"}})))
    found = verdicts(
        engine(standard, {"use": raising(AssertionError("asked"))}, recorded=read(rows)), trace()
    )["C1"]
    assert isinstance(found, kind)
    assert getattr(found, "error", None) == code


def test_contradicting_rows_are_an_error_and_equal_ones_count_once() -> None:
    rows = [
        recorded("C1"),
        recorded("C1", reason="other"),
        recorded("C1"),
        recorded("C2"),
        recorded("C2"),
        recorded("C2"),
    ]
    made = engine(suite(task("a", judged("C1"), judged("C2"))), {}, recorded=read(rows))
    found = verdicts(made, trace())
    conflict = found["C1"]
    assert isinstance(conflict, Errored) and conflict.error == "conflict"
    assert isinstance(found["C2"], Graded)
    assert [(notice.code, notice.detail[:1]) for notice in made.notices()] == [("duplicate_rows", "2")]


def test_rows_that_nothing_asked_for_are_named() -> None:
    extra = [
        recorded("C1", trial=2),
        recorded("C9"),
        {"task": "z", "criterion": "C1", "status": "graded", "score": 1},
    ]
    rows = [*read([recorded("C1"), *extra, {"task": "a", "trial": 1, "ended_by": "simulator_fault"}])]
    lost = [Quarantined(where=f"r.jsonl:{number}", reason="odd") for number in range(22)]
    made = engine(suite(task("a", judged("C1"))), {}, recorded=[*rows, *lost])
    assert isinstance(verdicts(made, trace())["C1"], Graded)
    details = {notice.code: notice.detail for notice in made.notices()}
    assert "3 recorded rows were not used (first: a#1/C9)" in details["unused_rows"]
    assert details["unused_trial_rows"].startswith("1 ")
    assert details["quarantined"] == "and 2 more rows"
    assert made.recorded.lost == lost


def files(**held: list[dict[str, Any]]) -> Callable[[str], list[Row]]:
    def read_file(name: str) -> list[Row]:
        from steelyard.errors import InputError

        if name not in held:
            raise InputError(f"cannot read the rows in {name}")
        return read(held[name])

    return read_file


def test_a_criterion_may_name_its_own_file_of_rows(tmp_path: Path) -> None:
    from steelyard.grading import Engine, RecordedRows

    named = {"check": {"kind": "recorded", "file": "mine"}}
    for name in ("mine", "gone"):
        (tmp_path / name).touch()
    standard = suite(
        task(
            "a",
            criterion("C1", **named),
            criterion("C2", **named),
            criterion("C3", check={"kind": "recorded", "file": "gone"}),
        ),
        folder=str(tmp_path),
    )
    book = RecordedRows(read([recorded("C2")]), read_file=files(mine=[recorded("C1", reason="mine")]))

    def nobody(check: Any) -> Any:
        raise AssertionError("no check is asked")

    found = verdicts(Engine(standard, grader_for=nobody, recorded=book), trace())
    assert isinstance(found["C1"], Graded) and found["C1"].reason == "mine"
    absent, unreadable = found["C2"], found["C3"]
    assert isinstance(absent, Errored) and absent.error == "missing_row" and "mine" in absent.reason
    assert (
        isinstance(unreadable, Errored)
        and unreadable.error == "unreadable_rows"
        and "gone" in unreadable.reason
    )


def test_a_rule_about_a_tool_that_is_called_almost_like_it_is_told() -> None:
    from steelyard.checks import grader_for
    from unit.checks.trials import call, trace_of
    from unit.checks.trials import said as says

    def deny(*tools: str) -> dict[str, Any]:
        check = {"kind": "rule", "rule": {"id": "r", "tool": list(tools)}}
        return {
            "id": "A1",
            "dimension": "authority",
            "rule": "The agent MUST NOT.",
            "gate": True,
            "check": check,
        }

    from steelyard.grading import Engine, RecordedRows

    def told(*tools: str) -> list[str]:
        made = Engine(suite(task("t", deny(*tools))), grader_for=grader_for, recorded=RecordedRows())
        list(made.grade([trace_of(says("go", role="user"), call("waive_fine"), says("done"), task_id="t")]))
        return [notice.detail for notice in made.notices() if notice.code == "unknown_tool"]

    assert any("did you mean 'waive_fine'?" in detail for detail in told("waive_fines"))
    assert told("waive_fine") == told("delete_everything") == []
