"""Suites as pytest tests: what is collected, what fails, what a failure says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.plugins.suites import node_name

pytest_plugins = ["pytester"]

SUITE = """\
schema: suite/1
name: capitals
owner: jo@example.com
dimensions: {style: {definition: It reads well.}}
tasks:
  - id: france
    prompt: What is the capital of France?
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Paris.", check: {kind: equals, value: Paris}}
      - id: A1
        dimension: authority
        rule: The agent MUST NOT delete anything.
        gate: true
        check: {kind: rule, rule: {id: no-deletes, tool: ["delete_*"], glob: true}}
      - {id: S1, dimension: style, layer: outcome, rule: "It MUST end with a dot.", check: {kind: contains, any: ["."]}}
  - id: italy
    prompt: What is the capital of Italy?
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Rome.", check: {kind: equals, value: Rome}}
      - {id: J1, dimension: correctness, rule: "The answer MUST be polite.", judge: {evidence: required}, needs: [C1]}
      - {id: R1, dimension: efficiency, pass_mark: 0, rule: "It MUST be one turn.", check: {kind: budget, turns: 0}}
"""
IDS = [
    "capitals.suite.yaml::france::C1", "capitals.suite.yaml::france::A1", "capitals.suite.yaml::france::S1",
    "capitals.suite.yaml::italy::C1", "capitals.suite.yaml::italy::J1", "capitals.suite.yaml::italy::R1",
    "capitals.suite.yaml::decision",
]  # fmt: skip
NEXT = "put the verdicts of people or judges in capitals.recorded.jsonl, or give --steelyard-recorded FILE"
POLITE = {
    "task": "italy",
    "criterion": "J1",
    "status": "graded",
    "score": 1,
    "reason": "says please",
    "evidence_refs": ["s0002"],
}


def said(task: str, answer: str, *calls: str) -> dict[str, object]:
    tools = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(calls)
    ]
    called = [{"role": "assistant", "content": None, "tool_calls": tools}] if tools else []
    replies = [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(len(tools))]
    end = {"role": "assistant", "content": answer}
    return {"task_id": task, "messages": [{"role": "user", "content": "?"}, *called, *replies, end]}


GOOD = (said("france", "Paris"), said("italy", "Rome"))


def write(path: Path, *rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a grading imports: pytester forgets what its runs import, and extension modules load once in a process."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "s.yaml").write_text(SUITE)
    write(folder / "t.jsonl", *GOOD, said("france", "Paris", "delete_all"))
    run = sy.grade(sy.load_suite(folder / "s.yaml"), sy.read_traces(folder / "t.jsonl"))
    from steelyard import app

    assert app.scoreboard(run)
    assert app.criterion_lines(folder / "s.yaml")[("italy", "R1")] == 21


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    (pytester.path / "capitals.suite.yaml").write_text(SUITE)
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> tuple[dict[str, str], str]:
    """Outcomes by node id, and what was printed."""
    done = project.inline_run("-p", "no:cacheprovider", "-W", "error", "-rs", *arguments)
    outcomes: dict[str, str] = {}
    for report in done.getreports("pytest_runtest_logreport"):
        if report.when == "call" or report.outcome != "passed":
            outcomes[report.nodeid] = report.outcome
    texts = [report.longreprtext for report in done.getreports() if getattr(report, "longrepr", None)]
    return outcomes, "\n".join(texts)


def test_all_is_well(project: pytest.Pytester) -> None:
    write(project.path / "capitals.traces.jsonl", said("france", "Paris"), said("italy", "Rome"))
    write(project.path / "capitals.recorded.jsonl", POLITE)
    outcomes, text = run(project)
    assert list(outcomes) == IDS
    assert outcomes.pop("capitals.suite.yaml::france::S1") == "skipped"
    assert outcomes.pop("capitals.suite.yaml::italy::R1") == "skipped"
    assert "italy R1 is reported only, and trial 1 scored 0" in text
    assert set(outcomes.values()) == {"passed"}
    assert "france S1 failed, outside the acceptance rule" in text


def test_a_reported_criterion_without_a_verdict_is_no_green_test(project: pytest.Pytester) -> None:
    judged = SUITE.replace("check: {kind: budget, turns: 0}", "judge: {}")
    (project.path / "capitals.suite.yaml").write_text(judged)
    write(project.path / "capitals.traces.jsonl", *GOOD)
    write(project.path / "capitals.recorded.jsonl", POLITE)
    outcomes, text = run(project)
    assert outcomes["capitals.suite.yaml::italy::R1"] == "skipped"
    assert "italy R1 is reported only, and trial 1 has no verdict (error)" in text


def test_what_failed_is_told_without_a_traceback(project: pytest.Pytester) -> None:
    recordings = (*GOOD, said("france", "Lyon.", "delete_map"))
    write(project.path / "capitals.traces" / "a.jsonl", *recordings)
    outcomes, text = run(project)
    failed = [name.partition("::")[2] for name, outcome in outcomes.items() if outcome == "failed"]
    assert failed == ["france::C1", "france::A1", "italy::J1", "decision"]
    for line in (
        "france C1 failed in 1 of 2 trials",
        "  at        capitals.suite.yaml:9",
        "  rule      The answer MUST be Paris.",
        '  trial 2   answer is "Lyon.", expected "Paris"',
        "  see       steelyard trace capitals.traces --task france --trial 2",
        "france A1 violated its gate in 1 of 2 trials",
        "  at        capitals.suite.yaml:10",
        "italy J1 has no verdict: undecided is no pass",
        f"  next      {NEXT}",
        "capitals is FAIL",
    ):
        assert line in text.split("\n"), line
    assert "Traceback" not in text


def test_a_criterion_that_waits_for_a_failed_one_is_skipped(project: pytest.Pytester) -> None:
    write(project.path / "capitals.traces.jsonl", said("france", "Paris"), said("italy", "Turin"))
    outcomes, text = run(project)
    assert outcomes["capitals.suite.yaml::italy::C1"] == "failed"
    assert outcomes["capitals.suite.yaml::italy::J1"] == "skipped"
    assert "italy J1: a criterion that it needs failed" in text


def test_a_task_without_a_recording_fails(project: pytest.Pytester) -> None:
    write(project.path / "capitals.traces.jsonl", said("france", "Paris"))
    outcomes, text = run(project, "-k", "italy")
    assert {name.rpartition("::")[2]: outcome for name, outcome in outcomes.items()} == {
        "C1": "failed", "J1": "failed", "R1": "skipped",
    }  # fmt: skip
    assert "italy C1 has no verdict: undecided is no pass" in text


def test_no_recordings_fail_with_what_to_do(project: pytest.Pytester) -> None:
    outcomes, text = run(project)
    assert list(outcomes) == IDS
    assert set(outcomes.values()) == {"failed"}
    assert "neither capitals.traces.jsonl nor the folder capitals.traces is beside it" in text
    assert "--steelyard-traces PATH" in text
    assert "During handling" not in text


def test_recordings_named_elsewhere(project: pytest.Pytester) -> None:
    write(project.path / "runs" / "capitals.jsonl", *GOOD)
    write(project.path / "rows.jsonl", POLITE)
    options = ("--steelyard-traces", "runs/{name}.jsonl", "--steelyard-recorded", "rows.jsonl")
    by_option, _ = run(project, *options)
    assert by_option["capitals.suite.yaml::decision"] == "passed"
    project.makeini(
        "[pytest]\nsteelyard_traces = runs/{name}.jsonl\nsteelyard_recorded = rows.jsonl missing/{name}.jsonl\n"
        "steelyard_store = kept/store.db\n"
    )
    (project.path / "kept").mkdir()
    by_configuration, text = run(project)
    assert by_configuration == by_option, text
    assert (project.path / "kept" / "store.db").is_file()


def test_nothing_is_kept_unless_asked(project: pytest.Pytester) -> None:
    write(project.path / "capitals.traces.jsonl", *GOOD)
    run(project)
    assert not list(project.path.rglob("*.db"))


def test_collecting_reads_no_recording_and_names_the_same_tests(project: pytest.Pytester) -> None:
    (project.path / "capitals.traces.jsonl").write_text("this is no recording\n")
    items, report = project.inline_genitems()
    again, _ = project.inline_genitems()
    assert [item.nodeid for item in items] == [item.nodeid for item in again] == IDS
    assert report.ret == 0


def test_a_suite_is_graded_once(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard import app

    write(project.path / "capitals.traces.jsonl", *GOOD)
    asked: list[object] = []
    grade = app.grade
    monkeypatch.setattr(
        app, "grade", lambda *args, **more: asked.append(args) or grade(*args, **more), raising=False
    )
    outcomes, _ = run(project, *(f"{name}" for name in (IDS[0], IDS[3], IDS[-1])))
    assert len(outcomes) == 3
    assert len(asked) == 1


def test_a_suite_that_is_no_standard_is_an_error_of_collection(project: pytest.Pytester) -> None:
    (project.path / "broken.suite.json").write_text('{"schema": "suite/1", "name": "x"}')
    done = project.runpytest_inprocess("-p", "no:cacheprovider", "broken.suite.json")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*broken.suite.json*the key 'owner' is missing"])


def test_which_files_are_suites_can_be_said(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nsteelyard_suites = *.standard.yaml\n")
    items, _ = project.inline_genitems()
    assert items == []


def test_ids_cannot_break_node_ids_or_command_the_runner(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    check = {"kind": "equals", "value": "b"}
    rule = "It MUST be.\n::warning::r"
    criterion = {"id": "##[error]c", "dimension": "correctness", "rule": rule, "check": check}
    task = {"id": "::add-mask::x", "prompt": "p", "criteria": [criterion]}
    suite = {"schema": "suite/1", "name": "::error::s", "owner": "o", "tasks": [task]}
    (project.path / "capitals.suite.yaml").unlink()
    (project.path / "odd.suite.json").write_text(json.dumps(suite))
    write(project.path / "odd.traces.jsonl", said("::add-mask::x", "a\n::error::y ##[error]z"))
    done = project.runpytest_inprocess("-p", "no:cacheprovider", "-rA")
    done.assert_outcomes(failed=2)
    obeyed = [line for line in done.outlines if line.lstrip().startswith("::") or "##[" in line]
    assert obeyed == []
    assert any("odd.suite.json::%3A%3Aadd-mask%3A%3Ax" in line for line in done.outlines)


def test_the_fixture_grades_in_tests(project: pytest.Pytester) -> None:
    write(project.path / "t.jsonl", *GOOD)
    project.makepyfile(f"""
        import pytest
        import steelyard as sy
        GOOD = {GOOD!r}
        CHECK = {{"kind": "equals", "value": "Paris"}}
        RULE = {{"id": "C1", "dimension": "correctness", "rule": "It MUST be Paris.", "check": CHECK}}
        SUITE = {{"name": "c", "owner": "o", "tasks": [{{"id": "france", "prompt": "?", "criteria": [RULE]}}]}}

        def test_mapping(steelyard):
            run = steelyard.grade(SUITE, GOOD)
            steelyard.check(run)
            assert run.scores.completion.value == 1

        def test_files(steelyard):
            trace = next(iter(sy.read_traces("t.jsonl")))
            mapped = {{"task_id": "france", "messages": [{{"role": "assistant", "content": "Lyon"}}]}}
            mixed = steelyard.grade(SUITE, [trace, mapped, "t.jsonl"], only=["france"])
            answers = [mixed.find("france", number, "C1")[0].score for number in (1, 2, 3)]
            assert answers == [1, 0, 1], "in the order in which they were given"
            run = steelyard.grade("capitals.suite.yaml", "t.jsonl", only=["france"])
            steelyard.check(run)

        def test_incomplete_is_no_pass(steelyard):
            with pytest.raises(AssertionError, match="the run is INCOMPLETE(?s:.)*why not complete"):
                steelyard.check(steelyard.grade(steelyard.suite("capitals.suite.yaml"), ["t.jsonl"]))

        def test_bad(steelyard):
            steelyard.check(steelyard.grade(SUITE, [dict(GOOD[1], task_id="france")]))
    """)
    done = project.runpytest_inprocess(
        "-p", "no:cacheprovider", "-W", "error", "test_the_fixture_grades_in_tests.py"
    )
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["E*AssertionError: the run is FAIL"])


@pytest.mark.parametrize(
    "other", ["capitals.traces.json", "capitals.traces.2.ndjson", "capitals.traces/a.jsonl"]
)
def test_several_recordings_beside_a_suite_are_named_and_decide_nothing(
    project: pytest.Pytester, other: str
) -> None:
    write(project.path / "capitals.traces.jsonl", *GOOD)
    write(project.path / other, *GOOD)
    outcomes, text = run(project)
    assert list(outcomes) == IDS
    assert set(outcomes.values()) == {"failed"}
    names = sorted(["capitals.traces.jsonl", other.partition("/")[0]])
    assert f"so nothing is decided: {', '.join(names)}. Leave one" in text
    assert "--steelyard-traces PATH" in text
    chosen, _ = run(project, "--steelyard-traces", "capitals.traces.jsonl", "-k", "C1")
    assert set(chosen.values()) == {"passed"}


@pytest.mark.parametrize("backup", ["capitals.traces.jsonl.bak", "capitals.traces.jsonl~", "capitals.traces"])
def test_a_backup_is_no_recording(project: pytest.Pytester, backup: str) -> None:
    write(project.path / backup, *GOOD)
    alone, text = run(project)
    assert set(alone.values()) == {"failed"}
    assert "no recordings of capitals.suite.yaml, so nothing is decided" in text
    write(project.path / "capitals.traces.jsonl", said("france", "Lyon"), said("italy", "Rome"))
    beside, text = run(project, "-k", "C1")
    assert list(beside.values()) == ["failed", "passed"]
    assert "france C1 failed\n" in text, "one trial: the backup is no second one"


def test_a_planned_trial_without_a_recording_is_named(project: pytest.Pytester) -> None:
    planned = SUITE.replace("  - id: france\n", "  - id: france\n    trials: 2\n")
    (project.path / "capitals.suite.yaml").write_text(planned)
    write(project.path / "capitals.traces.jsonl", *GOOD)
    _, text = run(project, "-k", "france and C1")
    missing = "  next      the recording of trial 2 is missing: record the task again, or plan fewer `trials`"
    assert missing in text.split("\n")
    assert NEXT not in text
    _, text = run(project, "-k", "italy and J1")
    assert NEXT in text, "the trial is recorded, and its verdict is not"


def test_a_renumbered_trial_is_named_by_its_place(project: pytest.Pytester) -> None:
    second = {**said("france", "Lyon"), "trial": 1}
    write(project.path / "capitals.traces.jsonl", {**said("france", "Paris"), "trial": 1}, GOOD[1], second)
    _, text = run(project, "-k", "france and C1")
    lines = text.split("\n")
    assert '  trial 2   answer is "Lyon", expected "Paris"' in lines
    assert "  see       steelyard trace capitals.traces.jsonl --task france" in lines
    (place,) = [line for line in lines if line.startswith("  trace ")]
    assert " at capitals.traces.jsonl line 3 (it says trial 1, which another recording has)" in place


ODD = (
    "x::y[1]",
    "x: :y[1]",
    "x%3A%3Ay[1]",
    "x:",
    ":x",
    "a:b",
    "[",
    "]",
    "decision",
    "\u202ex",
    "t\u00e9/\U0001f600",
    "a b",
)


def test_collected_names_select_what_they_name(project: pytest.Pytester) -> None:
    check = {"kind": "equals", "value": "b"}
    criteria = [
        {"id": id, "dimension": "correctness", "rule": "It MUST be b.", "check": check} for id in ODD[:3]
    ]
    tasks = [{"id": id, "prompt": f"p{n}", "criteria": criteria} for n, id in enumerate(ODD)]
    suite = {"schema": "suite/1", "name": "s", "owner": "o", "tasks": tasks}
    (project.path / "capitals.suite.yaml").unlink()
    (project.path / "odd.suite.json").write_text(json.dumps(suite))
    items, _ = project.inline_genitems()
    names = [item.nodeid for item in items]
    assert len(set(names)) == len(names) == len(ODD) * 3 + 1
    for name in (*names[::4], names[-1]):
        found, _ = project.inline_genitems(*shlex.split(shlex.quote(name)))
        assert [item.nodeid for item in found] == [name]


@given(
    st.lists(
        st.text(st.sampled_from(":%[]\n3Aa\u202e\ud800"), min_size=1), min_size=2, max_size=2, unique=True
    )
)
@example(["decision", "%64ecision"])
def test_names_of_tests_are_distinct_and_give_the_id_back(ids: list[str]) -> None:
    names = [node_name(id) for id in ids]
    assert [unquote(name, errors="surrogatepass") for name in names] == ids
    assert all(name.strip(":") == name and not {"::", "[", "]"} & {name, *name} for name in names)
    assert all("::" not in name and name != "decision" for name in names)


def test_long_ids_stay_apart() -> None:
    first, second = ("x" * 3000 + end for end in "ab")
    assert node_name(first) != node_name(second)
    assert len(node_name(first)) < 2100


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("grade(SUITE, GOOD[0])", "the traces are one mapping; put it in a list: [recording]"),
        ("grade(SUITE, None)", "the traces are None; give a path, or a list*"),
        ("grade(SUITE, [object()])", "an object of the type object among the traces is no recording; give*"),
        ("grade(SUITE, [{'task_id': object()}])", "a recording among the traces is not JSON: *; give*"),
        ("check(None)", "check needs the run that `grade` returned, and was given None"),
    ],
)
def test_what_is_no_recording_is_one_sentence_without_frames(
    project: pytest.Pytester, call: str, sentence: str
) -> None:
    project.makepyfile(
        f"GOOD = {GOOD!r}\nSUITE = 'capitals.suite.yaml'\ndef test_it(steelyard):\n    steelyard.{call}\n"
    )
    name = "test_what_is_no_recording_is_one_sentence_without_frames.py"
    done = project.runpytest_inprocess("-p", "no:cacheprovider", "-W", "error", name)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"E *steelyard.errors.UsageError: {sentence.replace('[', '[[]')}"])
    assert not [line for line in done.outlines if "fixture.py" in line or "During handling" in line]
