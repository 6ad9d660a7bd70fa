"""What a check says that it reads is all that decides it: where the key of a verdict is the same, so is the finding.

A verdict is used again by that key, so a check that looked at anything else would go stale unnoticed.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import typing
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from steelyard.app.state_hash import StateHasher
from steelyard.checks import Policy, grader_for
from steelyard.errors import GraderError
from steelyard.grading.address import Addressing
from steelyard.grading.findings import narrow
from steelyard.model.checks import (
    BudgetCheck,
    CallsCheck,
    Check,
    Condition,
    ContainsCheck,
    EqualsCheck,
    EventRef,
    ExcludesCheck,
    ExpectedCall,
    ExprCheck,
    JsonCheck,
    LaterCheck,
    Limit,
    NumberCheck,
    PythonCheck,
    RecordedCheck,
    RecordsCheck,
    RegexCheck,
    Rule,
    RuleCheck,
)
from steelyard.model.standard import Criterion, Fact, Task, View
from steelyard.model.state_checks import (
    CsvCheck,
    FilesCheck,
    Preserves,
    ProvenanceCheck,
    RowCondition,
    SqlCheck,
    StateCheck,
)
from steelyard.model.trace import (
    Agent,
    Call,
    EndState,
    ExternalScore,
    Fidelity,
    Notice,
    Outcome,
    Part,
    Result,
    Source,
    Step,
    Trace,
    Usage,
    Visibility,
)
from steelyard.ports.grader import GraderInput
from unit.checks.worlds import database, files_in

HOME = Path(tempfile.mkdtemp(prefix="steelyard-reads-"))
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
POLICY = Policy(folder=str(HOME))

# --- Checks of every kind, and every way to read.

SELECTORS = (
    "answer", "answer#/size", "said", "call:set/args/size", "call:set[0]", "result:look", "result:look/total",
    "result:look[0]/total", "state#/size", "state_before#/size", "file:note.txt", "file_before:note.txt",
    "extracted.size",
)  # fmt: skip
SCRIPTS = {
    "answer": "def check(answer):\n    return '16' in answer\n",
    "facts": "def check(facts):\n    return str(facts).count('16') > 0\n",
    "trace": "def check(trace):\n    return {'score': str(trace).count('16') % 2, 'reason': str(len(str(trace)))}\n",
    "state": "def check(state):\n    return str(state).count('16') > 0\n",
    "extracted": "def check(extracted):\n    return extracted.get('size') == 16\n",
    "both": "def check(answer, facts):\n    return len(answer) > len(facts)\n",
    "broken": "def check(nonsense):\n    return True\n",
}
for _name, _text in SCRIPTS.items():
    (HOME / f"{_name}.py").write_text(_text)

PYTHON: list[Check] = [PythonCheck(file=f"{name}.py") for name in SCRIPTS]
MODES = typing.get_args(typing.get_type_hints(CallsCheck)["mode"])
EXPECTED = (ExpectedCall(name="set", args={"size": 16}), ExpectedCall(name="look"))


def rule(**parts: Any) -> RuleCheck:
    return RuleCheck(rule=Rule(id="r", **{"tool": ("set",), **parts}))


CHECKS: list[Check] = [
    *(EqualsCheck(of=of, value="16") for of in SELECTORS),
    *(ContainsCheck(of=of, any=("16",)) for of in SELECTORS),
    *(ExcludesCheck(of=of, any=("64",)) for of in SELECTORS),
    *(RegexCheck(of=of, pattern="1[0-9]") for of in SELECTORS),
    *(NumberCheck(of=of, max=Decimal(16)) for of in SELECTORS),
    *(JsonCheck(of=of, value=16) for of in SELECTORS),
    *(RecordsCheck(of=of, expected=({"id": 1}, {"id": 2}), key=("id",)) for of in SELECTORS),
    *(CsvCheck(of=of, columns=("id", "size")) for of in SELECTORS if not of.startswith("call")),
    *(CallsCheck(expected=EXPECTED, mode=mode) for mode in MODES),
    *(CallsCheck(expected=EXPECTED, mode="each", by=by) for by in ("user", "any")),
    CallsCheck(expected=EXPECTED, mode="only_from", agent="a1"),
    *(BudgetCheck(**{name: Decimal(2)}) for name in ("seconds", "cost_usd", "tokens", "tool_calls", "turns")),
    ExprCheck(expr="answer == '16'"),
    ExprCheck(expr="facts.limit.max >= 16"),
    ExprCheck(expr="facts['limit'].max >= 16 and facts.other.max > 1"),
    ExprCheck(expr="state.size == 16"),
    ExprCheck(expr="extracted.size == 16"),
    ExprCheck(expr="len(calls) > 1"),
    ExprCheck(expr="size <= facts.limit.max", let={"size": "call:set/args/size"}, cite=("result:look", "said")),
    RecordedCheck(score="reward"),
    rule(),
    rule(when=(Condition(arg="size", op="eq", value=16),)),
    rule(require=(Condition(arg="size", op="exists"),)),
    rule(after=EventRef(tool="look")),
    rule(after=EventRef(event="message")),
    rule(never_after=EventRef(event="message")),
    rule(never_with=EventRef(event="message")),
    rule(never_with=EventRef(tool="look")),
    rule(limit=Limit(scope="turn", max=1)),
    rule(limit=Limit(scope="session", max=1, count="executed"), by="any"),
    FilesCheck(exists=("note.txt",)),
    FilesCheck(absent=("gone",)),
    FilesCheck(unchanged=("note.txt", "deep/**")),
    FilesCheck(exists=("note.txt",), at="start"),
    FilesCheck(sha256={"note.txt": "0" * 64}),
    CsvCheck(of="file:pool.csv", rows=([1, 16],), types={"size": "integer"}),
    CsvCheck(of="file:pool.csv", preserves=Preserves(of="file:pool.csv", column="id")),
    CsvCheck(of="file:pool.csv", where=(RowCondition(column="size", value=16),)),
    SqlCheck(query="SELECT size FROM pool", rows=([16],)),
    SqlCheck(query="SELECT size FROM gone", rows=([16],)),
    SqlCheck(query="SELECT size FROM pool", rows=([16],), at="start"),
    SqlCheck(query="SELECT size FROM pool", rows=([16],), db="inner.db"),
    StateCheck(pointer="/size", value=16),
    StateCheck(schema={"properties": {"size": {"maximum": 16}}}),
    StateCheck(pointer="/size", value=16, at="start"),
    ProvenanceCheck(),
    ProvenanceCheck(tools=("set",), derive=("sum", "difference", "lower", "today")),
]  # fmt: skip
VIEWS = (None, View(kinds=("assistant", "tool_call")), View(tools=("set",)), View(last=2))


def test_every_kind_of_check_is_here() -> None:
    kinds = set(typing.get_args(Check))
    assert {type(spec) for spec in (*CHECKS, *PYTHON)} == kinds


# --- Worlds: folders, databases and JSON that differ in one thing each.


def _end(name: str, files: Mapping[str, str], size: int, json: Any) -> EndState:
    folder = HOME / name
    files_in(folder / "files", files)
    database(folder / "files" / "inner.db", "CREATE TABLE pool (size)", rows={"pool": [(size,)]})
    place = database(folder / "state.db", "CREATE TABLE pool (size)", rows={"pool": [(size,)]})
    return EndState(files=str(folder / "files"), sqlite=place, json=json)


NOTES = {"note.txt": "16", "pool.csv": "id,size\n1,16\n", "deep/er/x": "1"}
PLAIN = _end("plain", NOTES, 16, {"size": 16})
STATES: list[EndState | None] = [
    None,
    PLAIN,
    _end("copy", NOTES, 16, {"size": 16}),
    _end("other-note", {**NOTES, "note.txt": "64"}, 16, {"size": 16}),
    _end("other-table", {**NOTES, "pool.csv": "id,size\n2,64\n"}, 16, {"size": 16}),
    _end("deeper", {**NOTES, "deep/er/y": ""}, 16, {"size": 16}),
    _end("other-row", NOTES, 64, {"size": 16}),
    _end("gone", {**NOTES, "gone": ""}, 16, {"size": 16}),
    msgspec.structs.replace(PLAIN, json={"size": 64}),
    msgspec.structs.replace(PLAIN, json={"size": "16"}),
    msgspec.structs.replace(PLAIN, json={"size": float("inf")}),
    msgspec.structs.replace(PLAIN, json={"size": None}),
    msgspec.structs.replace(PLAIN, files=None),
    msgspec.structs.replace(PLAIN, sqlite=None),
    msgspec.structs.replace(PLAIN, files=str(HOME / "nowhere")),
    msgspec.structs.replace(PLAIN, files=None, faults={"files": "its path leads out"}),
    EndState(json=[{"id": 1}, {"id": 2}]),
    EndState(),
]

# --- Trials, and one change to a trial.

TEXTS = st.sampled_from(
    [
        "16",
        "64",
        "I set it to 16.",
        '{"size": 16}',
        '[{"id": 1}, {"id": 2}]',
        "id,size\n1,16\n",
        "",
        " ",
        "LOOK",
    ]
)
ARGS = st.sampled_from(
    [
        {"size": 16}, {"size": 64}, {"size": "16"}, {"size": 16.0}, {"size": Decimal(16)}, {"size": None}, {}, [16],
        None, "LOOK", {"size": 2**70}, {"size": "\ud800"}, {"when": "2026-01-01"},
    ]
)  # fmt: skip
VALUES = st.one_of(
    ARGS, st.sampled_from([{"total": 16}, {"total": 64}, {"total": "16"}, "16", [{"id": 1}], 16, 80])
)
TOOLS = st.sampled_from(["set", "look", "drop"])
KINDS = st.sampled_from(["released", "draft_rejected", "copied_context", "demo", "synthetic", "backchannel"])
VISIBLE = st.builds(Visibility, kind=st.one_of(st.just("released"), KINDS))
TIMES = st.sampled_from(
    [None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-02T00:00:00Z", "noon"]
)
CLOCKS = st.sampled_from(["utc", "naive", "none"])
USAGES = st.sampled_from(
    [
        None,
        Usage(input_total=1, output=1),
        Usage(input_total=5, output=5),
        Usage(cost_usd=1.5),
        Usage(cost_usd=3.0),
    ]
)
CALLS = st.builds(
    lambda name, args, error, executed: Call(
        name=name, args=None if error else args, args_error=error, executed=executed
    ),
    TOOLS,
    ARGS,
    st.sampled_from([None, None, None, "It is no JSON."]),
    st.sampled_from(["yes", "no", "denied", "unknown"]),
)
RESULTS = st.builds(
    Result,
    call_step_id=st.sampled_from([None, "s0001", "s0002", "s0003", "s0004", "s0005"]),
    outcome=st.sampled_from(["ok", "ok", "error", "missing", "denied"]),
    value=VALUES,
    truncated=st.booleans(),
)
AGENTS = st.sampled_from([None, "a1", "a2"])


def _step(kind: str, role: str, **own: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.builds(
        Step, id=st.just(""), uid=st.just(""), seq=st.just(0), turn=st.sampled_from([0, 1, 1]), kind=st.just(kind),
        role=st.just(role), visibility=VISIBLE, agent_id=AGENTS, started_at=TIMES, clock=CLOCKS, usage=USAGES, **own,
    )  # fmt: skip


PARTS = st.builds(lambda text: (Part(kind="text", text=text),), TEXTS)
STEPS = st.one_of(
    _step("user", "user", parts=PARTS),
    _step("assistant", "assistant", parts=PARTS),
    _step("assistant", "assistant", parts=PARTS),
    _step("system", "system", parts=PARTS),
    _step("reasoning", "assistant", parts=PARTS),
    _step("retrieval", "tool", parts=PARTS),
    _step("tool_call", "assistant", call=CALLS),
    _step("tool_call", "assistant", call=CALLS),
    _step("tool_call", "user", call=CALLS),
    _step("tool_result", "tool", result=RESULTS, parts=st.one_of(st.just(()), PARTS)),
    _step("tool_result", "tool", result=RESULTS),
)


def numbered(steps: list[Step]) -> tuple[Step, ...]:
    """Steps as importers give them: ids by place, turns that only grow, aliases for what was found."""
    found: list[Step] = []
    turn = aliases = 0
    for place, step in enumerate(steps):
        turn += step.turn  # of a drawn step: how far it stands from the one before it
        aliases += step.kind in ("tool_result", "retrieval")
        alias = f"e{aliases}" if step.kind in ("tool_result", "retrieval") else None
        id_ = f"s{place + 1:04d}"
        found.append(
            msgspec.structs.replace(step, id=id_, uid=f"u{place + 1}", seq=place, turn=turn, alias=alias)
        )
    return tuple(found)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a check could look at."""

    steps: tuple[Step, ...]
    facts: Mapping[str, Fact]
    extracted: Mapping[str, Any]
    before: int
    after: int
    fields: Mapping[str, Any]

    def given(self, spec: Any, view: View | None) -> tuple[Task, Trace, GraderInput]:
        trace = Trace(
            source=Source(format="test", importer="test"), steps=numbered(list(self.steps)),
            state_before=STATES[self.before], state_after=STATES[self.after], **{"id": "t", **self.fields},
        )  # fmt: skip
        criterion = Criterion(
            id="C1", dimension="correctness", layer="outcome", rule="Right.", check=spec, view=view
        )
        task = Task(id="t", prompt="Do it.", criteria=(criterion,), facts=self.facts)
        shown = narrow(trace, criterion)
        return (
            task,
            trace,
            GraderInput(task=task, criterion=criterion, trace=shown, extracted=self.extracted),
        )


FACTS = st.fixed_dictionaries(
    {},
    optional={
        name: st.builds(Fact, text=TEXTS, data=st.sampled_from([None, {"max": 16}, {"max": 64}, {"max": "16"}, 16]))
        for name in ("limit", "other", "spare")
    },
)  # fmt: skip
EXTRACTED = st.fixed_dictionaries(
    {}, optional={"size": st.sampled_from([16, 64, "16", None]), "tone": st.just(3)}
)
PLACES = st.integers(0, len(STATES) - 1)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": TEXTS,
    "trial": st.integers(1, 3),
    "session_id": TEXTS,
    "usage": USAGES,
    "measurements": st.dictionaries(
        st.sampled_from(["seconds", "tokens", "turns", "cost_usd", "tool_calls", "x"]), st.sampled_from([1.0, 2.0, 3.0])
    ),
    "external_scores": st.lists(
        st.builds(
            ExternalScore,
            name=st.sampled_from(["reward", "other"]),
            value=st.sampled_from([None, 0.0, 1.0, float("nan")]),
        ),
        max_size=2,
    ).map(tuple),
    "outcome": st.builds(Outcome, ended_by=st.sampled_from([None, "agent_stop", "max_turns"]), exit_status=TEXTS),
    "notices": st.just((Notice(code="x", detail="y"),)),
    "agents": st.lists(st.builds(Agent, id=st.just("a1"), instructions=TEXTS), max_size=1).map(tuple),
    "fidelity": st.builds(
        Fidelity, complete=st.booleans(), has_tool_calls=st.booleans(), has_tool_results=st.booleans()
    ),
}  # fmt: skip
TRIALS = st.builds(
    Trial, steps=st.lists(STEPS, max_size=7).map(tuple), facts=FACTS, extracted=EXTRACTED, before=PLACES, after=PLACES,
    fields=st.fixed_dictionaries({}, optional={name: FIELDS[name] for name in FIELDS if name != "fidelity"}),
)  # fmt: skip

Draw = Callable[[st.SearchStrategy[Any]], Any]
STEP_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "turn": st.sampled_from([0, 1]), "role": st.sampled_from(["assistant", "user"]), "parts": PARTS,
    "visibility": VISIBLE, "agent_id": AGENTS, "started_at": TIMES, "ended_at": TIMES, "clock": CLOCKS, "usage": USAGES,
    "model": TEXTS, "recorded_by": st.sampled_from(["harness", "agent"]), "parent_step_id": st.just("s0001"),
}  # fmt: skip


def change_step(trial: Trial, draw: Draw) -> Trial:
    """One field of one step."""
    if not trial.steps:
        return trial
    place = draw(st.integers(0, len(trial.steps) - 1))
    step = trial.steps[place]
    choices = dict(STEP_FIELDS)
    if step.call is not None:
        choices["call"] = CALLS
    if step.result is not None:
        choices["result"] = RESULTS
    name = draw(st.sampled_from(sorted(choices)))
    changed = msgspec.structs.replace(step, **{name: draw(choices[name])})
    return msgspec.structs.replace(trial, steps=(*trial.steps[:place], changed, *trial.steps[place + 1 :]))


def change_part_of_step(trial: Trial, draw: Draw) -> Trial:
    """One field of a call or a result."""
    places = [place for place, step in enumerate(trial.steps) if step.call or step.result]
    if not places:
        return trial
    place = draw(st.sampled_from(places))
    step = trial.steps[place]
    kind, source = ("call", CALLS) if step.call else ("result", RESULTS)
    other = draw(source)
    name = draw(st.sampled_from(type(other).__struct_fields__))
    part = msgspec.structs.replace(getattr(step, kind), **{name: getattr(other, name)})
    changed = msgspec.structs.replace(step, **{kind: part})
    return msgspec.structs.replace(trial, steps=(*trial.steps[:place], changed, *trial.steps[place + 1 :]))


def add_step(trial: Trial, draw: Draw) -> Trial:
    place = draw(st.integers(0, len(trial.steps)))
    return msgspec.structs.replace(trial, steps=(*trial.steps[:place], draw(STEPS), *trial.steps[place:]))


def drop_step(trial: Trial, draw: Draw) -> Trial:
    if not trial.steps:
        return trial
    place = draw(st.integers(0, len(trial.steps) - 1))
    return msgspec.structs.replace(trial, steps=(*trial.steps[:place], *trial.steps[place + 1 :]))


def swap_steps(trial: Trial, draw: Draw) -> Trial:
    if len(trial.steps) < 2:
        return trial
    place = draw(st.integers(0, len(trial.steps) - 2))
    before, after = trial.steps[:place], trial.steps[place + 2 :]
    return msgspec.structs.replace(trial, steps=(*before, trial.steps[place + 1], trial.steps[place], *after))


def change_field(trial: Trial, draw: Draw) -> Trial:
    name = draw(st.sampled_from(sorted(FIELDS)))
    return msgspec.structs.replace(trial, fields={**trial.fields, name: draw(FIELDS[name])})


def change_world(trial: Trial, draw: Draw) -> Trial:
    which = draw(st.sampled_from(["before", "after"]))
    return msgspec.structs.replace(trial, **{which: draw(PLACES)})


def change_facts(trial: Trial, draw: Draw) -> Trial:
    return msgspec.structs.replace(trial, facts={**trial.facts, **draw(FACTS)})


def change_extracted(trial: Trial, draw: Draw) -> Trial:
    return msgspec.structs.replace(trial, extracted=draw(EXTRACTED))


CHANGES = [
    change_step, change_part_of_step, add_step, drop_step, swap_steps, change_field, change_world, change_facts,
    change_extracted,
]  # fmt: skip


@st.composite
def pairs(draw: Draw) -> tuple[Trial, Trial]:
    trial = draw(TRIALS)
    return trial, draw(st.sampled_from(CHANGES))(trial, draw)


# --- The law.


def answered(spec: Any, given_: GraderInput) -> Any:
    try:
        finding = grader_for(spec, POLICY).grade(spec, given_)
    except GraderError as error:
        return ("error", error.code)
    return finding


def key_of(spec: Any, task: Task, trace: Trace, given_: GraderInput) -> bytes | None:
    """None: what cannot be addressed is never used again."""
    addressing = Addressing(task, trace, StateHasher())
    try:
        return addressing.key(grader_for(spec, POLICY), given_.criterion, given_)
    except (GraderError, ValueError, TypeError, RecursionError):
        return None


def the_same_key_is_the_same_finding(spec: Any, one: Trial, other: Trial, view: View | None) -> str:
    task, trace, given_ = one.given(spec, view)
    task_2, trace_2, given_2 = other.given(spec, view)
    key, key_2 = key_of(spec, task, trace, given_), key_of(spec, task_2, trace_2, given_2)
    if key is None or key_2 is None:
        return "no key"
    if key != key_2:
        return "other key"
    assert answered(spec, given_) == answered(spec, given_2), (spec, view)
    return "same key"


@settings(max_examples=120)
@given(pairs(), st.sampled_from(VIEWS))
def test_a_check_reads_nothing_but_what_it_says(pair: tuple[Trial, Trial], view: View | None) -> None:
    for spec in CHECKS:
        the_same_key_is_the_same_finding(spec, *pair, view)


@settings(max_examples=60)
@given(pairs())
@pytest.mark.slow
def test_a_python_check_reads_nothing_but_its_parameters(pair: tuple[Trial, Trial]) -> None:
    for spec in PYTHON:
        the_same_key_is_the_same_finding(spec, *pair, None)


FULL = Trial(
    steps=tuple(
        Step(id="", uid="", seq=0, turn=1, kind=kind, role=role, **own)
        for kind, role, own in (
            ("user", "user", {"parts": (Part(kind="text", text="Set it to 16."),)}),
            ("tool_call", "assistant", {"call": Call(name="look", args={})}),
            ("tool_result", "tool", {"result": Result(call_step_id="s0002", value={"total": 16})}),
            ("tool_call", "assistant", {"call": Call(name="set", args={"size": 16})}),
            ("tool_result", "tool", {"result": Result(call_step_id="s0004", value={"ok": True})}),
            ("assistant", "assistant", {"parts": (Part(kind="text", text="16"),)}),
        )
    ),
    facts={name: Fact(data={"max": 16}) for name in ("limit", "other", "spare")},
    extracted={"size": 16}, before=1, after=1, fields={},
)  # fmt: skip


def replaced(trial: Trial, place: int, **changes: Any) -> Trial:
    steps = list(trial.steps)
    steps[place] = msgspec.structs.replace(steps[place], **changes)
    return msgspec.structs.replace(trial, steps=tuple(steps))


ONE_BY_ONE = {
    "what the user said": replaced(FULL, 0, parts=(Part(kind="text", text="Set it to 64."),)),
    "arguments of look": replaced(FULL, 1, call=Call(name="look", args={"all": True})),
    "result of look": replaced(FULL, 2, result=Result(call_step_id="s0002", value={"total": 64})),
    "cut result of look": replaced(FULL, 2, result=Result(call_step_id="s0002", value={"total": 16}, truncated=True)),
    "withheld result of look": replaced(FULL, 2, visibility=Visibility(kind="draft_rejected")),
    "arguments of set": replaced(FULL, 3, call=Call(name="set", args={"size": 64})),
    "result of set": replaced(FULL, 4, result=Result(call_step_id="s0004", value={"ok": False})),
    "answer": replaced(FULL, 5, parts=(Part(kind="text", text="64"),)),
    "withheld answer": replaced(FULL, 5, visibility=Visibility(kind="draft_rejected")),
    "fact limit": msgspec.structs.replace(FULL, facts={**FULL.facts, "limit": Fact(data={"max": 64})}),
    "fact spare": msgspec.structs.replace(FULL, facts={**FULL.facts, "spare": Fact(data={"max": 64})}),
    "extracted": msgspec.structs.replace(FULL, extracted={"size": 64}),
    "files at the end": msgspec.structs.replace(FULL, after=3),
    "JSON at the end": msgspec.structs.replace(FULL, after=8),
    "start state": msgspec.structs.replace(FULL, before=3),
    "measurements": msgspec.structs.replace(FULL, fields={"measurements": {"tokens": 9.0}}),
    "external score": msgspec.structs.replace(
        FULL, fields={"external_scores": (ExternalScore(name="reward", value=1.0),)}
    ),
    "how it ended": msgspec.structs.replace(FULL, fields={"outcome": Outcome(ended_by="max_turns")}),
    "name of the trace": msgspec.structs.replace(FULL, fields={"id": "another"}),
    "fidelity": msgspec.structs.replace(FULL, fields={"fidelity": Fidelity(complete=False)}),
}  # fmt: skip
AGAIN: list[tuple[Check, set[str]]] = [
    (EqualsCheck(value="16"), {"answer", "withheld answer"}),
    (ExcludesCheck(of="said", any=("64",)), {"answer", "withheld answer"}),
    (NumberCheck(of="call:set/args/size", max=Decimal(16)), {"arguments of set"}),
    (
        NumberCheck(of="result:look/total", max=Decimal(16)),
        {"arguments of look", "result of look", "cut result of look", "withheld result of look"},
    ),
    (CallsCheck(expected=EXPECTED), {"arguments of look", "arguments of set"}),
    (rule(after=EventRef(tool="look")), {"arguments of look", "arguments of set"}),
    (ExprCheck(expr="facts.limit.max > 1"), {"fact limit"}),
    (ExprCheck(expr="extracted.size > 1"), {"extracted"}),
    (BudgetCheck(tokens=Decimal(9)), {"measurements", "withheld answer", "withheld result of look"}),
    (RecordedCheck(score="reward"), {"external score"}),
    (StateCheck(pointer="/size", value=16), {"JSON at the end"}),
    (FilesCheck(exists=("note.txt",), at="start"), {"start state"}),
    (FilesCheck(unchanged=("note.txt",)), {"start state", "files at the end"}),
    (CsvCheck(of="file:pool.csv", columns=("id", "size")), {"files at the end"}),
    (PythonCheck(file="answer.py"), {"answer", "withheld answer"}),
    (PythonCheck(file="facts.py"), {"fact limit", "fact spare"}),
]


@pytest.mark.parametrize(("spec", "again"), AGAIN, ids=[str(index) for index in range(len(AGAIN))])
def test_a_key_changes_with_what_is_read_and_with_nothing_else(spec: Check, again: set[str]) -> None:
    told = {
        name: the_same_key_is_the_same_finding(spec, FULL, trial, None) for name, trial in ONE_BY_ONE.items()
    }
    assert {name for name, word in told.items() if word == "other key"} == again | {"fidelity"}
    assert "no key" not in told.values()


FIRST_STEPS = [
    FULL.steps[0],
    *(Step(id="", uid="", seq=0, turn=1, kind="tool_call", role="assistant", call=Call(name=name, args={}))
      for name in ("set", "look", "drop")),
]  # fmt: skip
ABOUT_CALLS = [
    spec for spec in CHECKS if isinstance(spec, RuleCheck | CallsCheck | ExprCheck | ProvenanceCheck)
]
HIDING = (
    View(last=1),
    View(last=3),
    View(kinds=("assistant",)),
    View(tools=("look",)),
    View(tools=("set",), last=2),
)


@pytest.mark.parametrize("view", HIDING, ids=str)
def test_what_a_view_hides_decides_nothing_unnoticed(view: View) -> None:
    """A hidden call is in no aspect that is read, and may still leave the record incomplete for the check."""
    trials = [msgspec.structs.replace(FULL, steps=(first, *FULL.steps[1:])) for first in FIRST_STEPS]
    for spec in (
        *ABOUT_CALLS,
        rule(tool=("drop",)),
        rule(tool=("d*",), glob=True),
        ExcludesCheck(any=("64",)),
    ):
        for trial in trials[1:]:
            the_same_key_is_the_same_finding(spec, trials[0], trial, view)


def test_the_law_is_not_empty() -> None:
    """Of every kind, some change leaves the key as it is, and some does not."""
    words: dict[type, Counter[str]] = {}
    for spec in (*CHECKS, *PYTHON):
        for trial in ONE_BY_ONE.values():
            word = the_same_key_is_the_same_finding(spec, FULL, trial, None)
            words.setdefault(type(spec), Counter())[word] += 1
    for kind, counted in words.items():
        assert counted["same key"] > 1, kind
        assert counted["other key"] > 1, kind


def test_a_kind_that_is_not_graded_reads_nothing() -> None:
    assert grader_for(LaterCheck(kind="next")).reads(LaterCheck(kind="next")) == frozenset()
