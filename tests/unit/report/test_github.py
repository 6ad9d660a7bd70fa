"""Workflow commands, and output in which no text of others is one."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steelyard.model.table import ScoreTable
from steelyard.report.github import SUMMARY_BYTES, harmless, harmless_json, summary, workflow_commands
from unit.report.tables import criterion, golden, task, trial

COMMAND = re.compile(r"::(?P<level>\w+) (?P<properties>.*?)::(?P<message>.*)", re.DOTALL)
UNESCAPED = (("%3A", ":"), ("%2C", ","))
TRICKS = [
    "::set-output name=x::1", "\n::add-mask::x", "\r::error::x", "  ::stop-commands::y", "\t::debug::z", "##[error]x",
    "a ##[add-path]/b", "\x0b::warning::v", "\u2028::notice::w", "\x85::error::n", ":::error::x", "::\n::",
    "%0A::error::p", "###[x]", "\n\n ::error::blank",
]  # fmt: skip


def obeyed(output: str) -> list[str]:
    """Lines that a runner takes for a command: as `ActionCommand` of the runner reads them."""
    lines = re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", output)
    return [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


def read(command: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it."""
    found = COMMAND.fullmatch(command)
    assert found is not None
    properties = {}
    for part in found["properties"].split(","):
        name, _, value = part.partition("=")
        for code, sign in UNESCAPED:
            value = value.replace(code, sign)
        properties[name] = data(value)
    return found["level"], properties, data(found["message"])


def data(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def many(count: int, outcome: str) -> ScoreTable:
    tasks = tuple(task(f"t{n}", trial((criterion("C1", outcome, reason=f"r{n}"),))) for n in range(count))
    return golden(tasks=tasks)


def test_the_golden_example():
    rules = {("csv", "A1"): "The source MUST stay."}
    found = workflow_commands(
        golden(), rules, lambda task, criterion: ("dir/suite, v1.yaml", 7 if task == "csv" else 0)
    )
    decision, gate, *rest = found
    level, properties, message = read(decision)
    assert (level, properties) == ("error", {"file": "dir/suite, v1.yaml", "title": "operations: FAIL"})
    assert message.startswith("1 of 3 executions violated authority")
    assert "33.3 %25" in decision
    level, properties, message = read(gate)
    assert properties == {"file": "dir/suite, v1.yaml", "line": "7", "title": "csv A1 fail"}
    assert message == "SOURCE_OVERWRITTEN (gate)\nrule: The source MUST stay.\ns0011 write accounts.csv"
    assert [read(each)[1]["title"] for each in rest] == ["checkout C3 fail", "csv C3 fail", "csv C4 fail"]
    assert "line" not in read(rest[0])[1]


def test_a_pass_says_nothing_or_warns():
    passing = golden(exit_code=0, decision="PASS")
    assert {read(each)[0] for each in workflow_commands(passing)} == {"warning"}
    assert not workflow_commands(msgspec.structs.replace(passing, tasks=()))


def test_undecided_is_a_warning_beside_the_decision():
    table = msgspec.structs.replace(many(1, "unknown"), exit_code=3, decision="INCOMPLETE")
    levels = [read(each)[0] for each in workflow_commands(table)]
    assert levels == ["error", "warning"]
    assert "no pass" in read(workflow_commands(table)[1])[2]


@pytest.mark.parametrize(("count", "last"), [(9, "t8 C1 fail"), (10, "and 2 more"), (500, "and 492 more")])
def test_no_more_than_github_shows(count: int, last: str):
    found = workflow_commands(many(count, "fail"))
    assert len(found) == 10
    assert read(found[-1])[1]["title"] == last


def test_trials_of_one_criterion_are_one_annotation():
    trials = [trial((criterion("C1", "fail", reason=f"r{n}"),), n) for n in (1, 2, 3)]
    _, only = workflow_commands(golden(tasks=(task("t", *trials),)))
    assert "in 3 trials, the first: r1" in read(only)[2]


@settings(max_examples=100)
@given(st.one_of(st.sampled_from(TRICKS), st.text(max_size=60)))
@example("x::error::")
def test_no_text_makes_a_command_of_its_own(text: str):
    bad = criterion(text, "fail", reason=text, failure_tag=text, gate=True)
    table = golden(tasks=(task(text, trial((bad,))),))
    found = workflow_commands(table, {(text, text): text}, lambda task, criterion: (text, 3))
    assert len(found) == 2
    for command in found:
        assert "\n" not in command
        assert "\r" not in command
        assert "##[" not in command
        level, properties, _ = read(command)
        assert level == "error"
        assert set(properties) <= {"file", "line", "title"}
        assert properties.get("file", "") == text.replace("##[", "# #[")
        assert "\n" not in properties["title"]
        assert "::" not in command.removeprefix("::error ").partition("::")[0]


@settings(max_examples=300)
@given(
    st.one_of(st.sampled_from(TRICKS), st.text(alphabet=":#[ a\n\r\t\x0b\u2028\x85", max_size=12), st.text())
)
def test_nothing_is_obeyed_in_what_is_printed(text: str):
    assert obeyed(harmless(text)) == []
    assert harmless(harmless(text)) == harmless(text)


def test_harmless_text_stays_as_it_is():
    plain = "a :: b\nstd::vector\n# [x] ## [y]\n  : one\n"
    assert harmless(plain) == plain


@given(st.dictionaries(st.text(alphabet='#[\\"u0a'), st.text(alphabet='#[\\"u0:a')))
def test_json_keeps_its_value(value: dict[str, str]):
    for written in (json.dumps(value), json.dumps(value, indent=1)):
        shown = harmless_json(written.encode()).decode()
        assert json.loads(shown) == value
        assert obeyed(shown) == []


def test_a_summary_that_fits_is_whole():
    assert summary("# a\nü\n") == "# a\nü\n".encode()


@pytest.mark.parametrize("room", [200, 5_000, SUMMARY_BYTES])
def test_a_long_summary_ends_after_a_whole_line(room: int):
    text = "".join(f"- line {n} ü\n" for n in range(200_000))
    cut = summary(text, room)
    assert len(cut) <= room
    kept, sentence = cut.decode().split("\n\n*")
    assert text.startswith(kept + "\n")
    assert "1 MiB" in sentence
    assert len(cut) > room - 200


@pytest.mark.parametrize("room", [0, -5, 20])
def test_no_room_no_summary(room: int):
    assert summary("- one\n" * 100, room) == b""
