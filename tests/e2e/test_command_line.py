"""The command as a person or a CI job runs it: what it prints, where, and its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]

SUITE = """\
schema: suite/1
name: capitals
owner: jo@example.com
tasks:
  - id: france
    prompt: What is the capital of France? Answer with the name only.
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Paris.", check: {kind: equals, value: Paris}}
      - id: A1
        dimension: authority
        rule: The agent MUST NOT delete anything.
        gate: true
        check: {kind: rule, rule: {id: no-deletes, tool: ["delete_*"], glob: true}}
  - id: italy
    prompt: What is the capital of Italy? Answer with the name only.
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Rome.", check: {kind: equals, value: Rome}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "capitals.yaml").write_text(SUITE)
    return tmp_path


@pytest.fixture
def steelyard(folder: Path) -> Command:
    def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=folder, capture_output=True, text=True, timeout=60, check=False, env={**clean, **settings},
        )  # fmt: skip

    return run


def recording(folder: Path, *lines: object, name: str = "answers.jsonl") -> str:
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return name


def said(task: str, answer: object, *calls: str, **more: object) -> dict[str, object]:
    tools = [
        {"id": f"c{n}", "type": "function", "function": {"name": call, "arguments": "{}"}}
        for n, call in enumerate(calls)
    ]
    called = [{"role": "assistant", "content": None, "tool_calls": tools}] if tools else []
    replies = [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(len(tools))]
    user = {"role": "user", "content": f"Tell me about {task}."}
    return {
        "task_id": task,
        "messages": [user, *called, *replies, {"role": "assistant", "content": answer}],
        **more,
    }


RIGHT = (said("france", "Paris"), said("italy", "Rome"))
RUNS = {
    "all pass": (RIGHT, 0, "PASS"),
    "one fails": ((said("france", "Paris"), said("italy", "Milan")), 1, "FAIL"),
    "a gate fails": ((said("france", "Paris", "delete_map"), said("italy", "Rome")), 1, "FAIL"),
    "a trace is missing": ((said("france", "Paris"),), 3, "INCOMPLETE"),
    "a trial ended by a fault": (
        (*RIGHT[:1], said("italy", "Rome", ended_by="infrastructure_fault")),
        3,
        "INCOMPLETE",
    ),
}


@pytest.mark.parametrize("case", RUNS)
@pytest.mark.parametrize("flags", [(), ("--json",), ("--quiet",), ("--json", "--quiet")])
def test_exit_codes_are_the_same_on_every_surface(
    case: str, flags: tuple[str, ...], folder: Path, steelyard: Command
) -> None:
    """Q65: 0 only for a pass; a failure, an incomplete run and a gate each say so with every kind of output."""
    traces, code, word = RUNS[case]
    done = steelyard("grade", "capitals.yaml", recording(folder, *traces), *flags)
    assert done.returncode == code, done.stdout + done.stderr
    if "--json" in flags:
        found = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
        assert (found["decision"], found["exit_code"]) == (word, code)
    elif "--quiet" in flags:
        assert done.stdout == ""
    else:
        assert word in done.stdout.splitlines()[0]
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_error_only_run_is_incomplete(folder: Path, steelyard: Command) -> None:
    (folder / "judged.yaml").write_text(SUITE.replace("check: {kind: equals, value: Paris}", "judge: {}"))
    done = steelyard("grade", "judged.yaml", recording(folder, *RIGHT))
    assert done.returncode == 3
    assert "missing_row" in done.stdout and "--recorded" in done.stdout


NOTHING = {
    "an empty trace file": (("grade", "capitals.yaml", "empty.jsonl"), 4),
    "traces of another suite": (("grade", "capitals.yaml", "other.jsonl"), 4),
    "a filter that matches nothing": (("grade", "capitals.yaml", "answers.jsonl", "--filter", "spain*"), 4),
    "an empty folder": (("grade", "capitals.yaml", "nothing/"), 4),
    "no rows": (("score", "capitals.yaml", "empty.jsonl"), 4),
    "a mistyped trace path": (("grade", "capitals.yaml", "answrs.jsonl"), 2),
    "a mistyped suite path": (("grade", "capitols.yaml", "answers.jsonl"), 2),
    "an empty suite": (("grade", "hollow.yaml", "answers.jsonl"), 2),
    "a task without criteria": (("check", "bare.yaml"), 2),
    "trials of zero": (("check", "zero.yaml"), 2),
    "a binary trace file": (("grade", "capitals.yaml", "noise.bin"), 2),
    "an unknown format": (("grade", "capitals.yaml", "strange.json"), 2),
    "unreadable rows": (("score", "capitals.yaml", "noise.bin"), 2),
    "a report that cannot be written": (
        ("grade", "capitals.yaml", "answers.jsonl", "--junit", "no/such/folder/r.xml"),
        2,
    ),
    "an unknown verb": (("grad", "capitals.yaml"), 2),
    "a what-if of an unknown task": (("whatif", "capitals.yaml", "rows.jsonl", "--set", "frence/C1=1"), 2),
    "a what-if without a change": (("whatif", "capitals.yaml", "rows.jsonl"), 2),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_evaluated_and_broken_input_say_so(case: str, folder: Path, steelyard: Command) -> None:
    """Q18: one readable sentence, a code that is neither 0 nor 1, no traceback, nothing on stdout."""
    recording(folder, *RIGHT)
    recording(folder, said("spain", "Madrid"), name="other.jsonl")
    recording(
        folder, {"task": "france", "criterion": "C1", "status": "graded", "score": 1}, name="rows.jsonl"
    )
    (folder / "empty.jsonl").write_text("")
    (folder / "nothing").mkdir()
    (folder / "hollow.yaml").write_text(SUITE.split("tasks:", maxsplit=1)[0] + "tasks: []\n")
    (folder / "bare.yaml").write_text(SUITE.split("    criteria:", maxsplit=1)[0] + "    criteria: []\n")
    (folder / "zero.yaml").write_text(SUITE.replace("  - id: italy", "  - id: italy\n    trials: 0"))
    (folder / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "strange.json").write_text('{"colour": "red"}')
    arguments, code = NOTHING[case]
    done = steelyard(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout == "" or "nothing" in done.stdout.lower() or "INCOMPLETE" in done.stdout
    assert "Traceback" not in done.stderr
    if code == 2:
        assert done.stderr.strip()


def test_debug_shows_the_traceback(steelyard: Command) -> None:
    done = steelyard("check", "missing.yaml", "--debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_rows_written_score_the_same_and_answer_what_if(folder: Path, steelyard: Command) -> None:
    traces = recording(folder, said("france", "Paris"), said("italy", "Milan"))
    graded = json.loads(steelyard("grade", "capitals.yaml", traces, "--out", "rows.jsonl", "--json").stdout)
    scored = steelyard("score", "capitals.yaml", "rows.jsonl", "--json")
    assert scored.returncode == 1
    again = json.loads(scored.stdout)
    for key in ("dimensions", "layers", "completion", "states", "tasks", "pass_rate", "measurements"):
        assert again[key] == graded[key], key
    before = (folder / "rows.jsonl").read_bytes()
    asked = steelyard("whatif", "capitals.yaml", "rows.jsonl", "--set", "italy/C1=1", "--json")
    assert asked.returncode == 0
    answer = json.loads(asked.stdout)
    assert (answer["completion"]["value"], answer["whatif"]) == (1.0, ["--set italy/C1=1"])
    assert (folder / "rows.jsonl").read_bytes() == before
    board = steelyard("whatif", "capitals.yaml", "rows.jsonl", "--set", "italy/C1=1").stdout
    assert "what-if: nothing is saved" in board


def test_reports_tell_errors_from_failures(folder: Path, steelyard: Command) -> None:
    traces = recording(folder, said("france", "Lyon"))
    done = steelyard("grade", "capitals.yaml", traces, "--junit", "r.xml", "--markdown", "r.md")
    assert done.returncode == 1
    root = ET.fromstring((folder / "r.xml").read_text())
    assert len(root.findall(".//failure")) >= 1 and len(root.findall(".//error")) >= 1
    assert "france" in (folder / "r.md").read_text()


def test_a_cut_last_line_is_named_and_leaves_the_run_incomplete(folder: Path, steelyard: Command) -> None:
    name = recording(folder, *RIGHT)
    with open(folder / name, "a") as file:
        file.write('{"task_id": "italy", "messages": [{"role": "us')
    done = steelyard("grade", "capitals.yaml", name)
    assert done.returncode == 3
    assert "answers.jsonl:3" in done.stdout


@pytest.mark.parametrize("answer", ["", "   ", None])
def test_an_empty_reply_fails_its_own_criterion_only(
    answer: object, folder: Path, steelyard: Command
) -> None:
    """Q33: an empty last message is graded as what it is; the other tasks are unaffected."""
    done = steelyard(
        "grade", "capitals.yaml", recording(folder, said("france", answer), said("italy", "Rome")), "--json"
    )
    found = json.loads(done.stdout)
    by_task = {task["id"]: task["trials"][0]["criteria"][0] for task in found["tasks"]}
    assert by_task["france"]["outcome"] in ("fail", "unknown")
    assert by_task["italy"]["outcome"] == "pass"
    assert done.returncode in (1, 3)


def test_environment_variables_stand_in_for_flags(folder: Path, steelyard: Command) -> None:
    traces = recording(folder, *RIGHT)
    assert steelyard("grade", "capitals.yaml", traces, STEELYARD_QUIET="1").stdout == ""
    (folder / ".env").write_text("STEELYARD_QUIET=1\n")
    assert steelyard("grade", "capitals.yaml", traces, CI="").stdout == ""
    assert steelyard("grade", "capitals.yaml", traces, CI="true").stdout != ""


def test_an_interrupt_is_130(folder: Path) -> None:
    fifo = folder / "slow.jsonl"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", "grade", "capitals.yaml", "slow.jsonl"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 a background job ignores it
    )  # fmt: skip
    with open(fifo, "w") as file:  # opens once the other side reads
        file.write(json.dumps(RIGHT[0]) + "\n")
        file.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_plain_ascii_where_the_terminal_has_no_utf8(folder: Path, steelyard: Command) -> None:
    done = steelyard(
        "grade", "capitals.yaml", recording(folder, *RIGHT), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_schema_is_json(steelyard: Command) -> None:
    found = json.loads(steelyard("schema", "suite").stdout)
    assert "$schema" in found or "$ref" in found or "properties" in found


@pytest.mark.parametrize("ended_by", ["weird", "AGENT_STOP", "error", 7, True])
def test_an_unknown_ending_completes_nothing(ended_by: object, folder: Path, steelyard: Command) -> None:
    done = steelyard(
        "grade", "capitals.yaml", recording(folder, RIGHT[0], said("italy", "Rome", ended_by=ended_by))
    )
    assert done.returncode == 1, "a trial that ended in some other way is no success"
    assert "unknown" in done.stdout


def test_an_absence_gate_does_not_pass_a_record_that_lacks_a_call(folder: Path, steelyard: Command) -> None:
    orphan = {"role": "tool", "tool_call_id": "zz", "content": "deleted"}
    line = {"task_id": "france", "messages": [orphan, {"role": "assistant", "content": "Paris"}]}
    done = steelyard("grade", "capitals.yaml", recording(folder, line, RIGHT[1]), "--json")
    assert done.returncode == 3
    gates = json.loads(done.stdout)["tasks"][0]["trials"][0]["gates"]
    assert gates == {"A1": "unknown"}


def test_a_key_written_twice_hides_no_call(folder: Path, steelyard: Command) -> None:
    name = recording(folder, *RIGHT)
    call = '[{"id": "c", "type": "function", "function": {"name": "delete_map", "arguments": "{}"}}]'
    twice = '{"role": "assistant", "content": "Paris", "tool_calls": ' + call + ', "tool_calls": []}'
    first = '{"task_id": "france", "messages": [' + twice + "]}\n"
    (folder / name).write_text(first + json.dumps(RIGHT[1]) + "\n")
    assert steelyard("grade", "capitals.yaml", name).returncode == 3


def test_no_output_replaces_an_input_or_another_output(folder: Path, steelyard: Command) -> None:
    name = recording(folder, *RIGHT)
    for flags in (("--out", name), ("--junit", "capitals.yaml"), ("--out", "x", "--markdown", "x")):
        kept = (folder / name).read_bytes(), (folder / "capitals.yaml").read_bytes()
        assert steelyard("grade", "capitals.yaml", name, *flags).returncode == 2
        assert ((folder / name).read_bytes(), (folder / "capitals.yaml").read_bytes()) == kept


def test_rows_of_another_standard_are_said_to_be(folder: Path, steelyard: Command) -> None:
    steelyard("grade", "capitals.yaml", recording(folder, *RIGHT), "--out", "rows.jsonl")
    (folder / "other.yaml").write_text(SUITE.replace("value: Paris", "value: Lyon"))
    found = json.loads(steelyard("score", "other.yaml", "rows.jsonl", "--json").stdout)
    assert "other_standard" in {notice["code"] for notice in found["notices"]}


def test_a_reader_that_leaves_changes_no_exit_code(folder: Path) -> None:
    name = recording(folder, *RIGHT)
    command = f"{sys.executable} -m steelyard grade capitals.yaml {name} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["0"]


def test_errors_do_not_steer_the_terminal(folder: Path, steelyard: Command) -> None:
    done = steelyard("check", "no\u202esuch\x1b[31m.yaml")
    assert done.returncode == 2
    assert "\u202e" not in done.stderr and "\x1b" not in done.stderr


def test_a_folder_s_env_file_cannot_grant_trust(folder: Path, steelyard: Command) -> None:
    (folder / "evil.py").write_text("open('ran', 'w').close()\n")
    (folder / ".env").write_text("STEELYARD_TRUST_PYTHON=1\nSTEELYARD_TRUST_GRADERS=1\nPATH=/nowhere\n")
    assert steelyard("check", "evil.py", CI="").returncode == 2
    assert not (folder / "ran").exists()


def test_recorded_rows_of_another_standard_are_said_to_be(folder: Path, steelyard: Command) -> None:
    judged = SUITE.replace("check: {kind: equals, value: Rome}", "judge: {}")
    (folder / "judged.yaml").write_text(judged)
    (folder / "rows.jsonl").write_text(
        json.dumps({"standard": {"name": "old", "version": "", "owner": "jo", "hash": "0" * 64}})
        + "\n"
        + json.dumps({"task": "italy", "criterion": "C1", "status": "graded", "score": 1})
        + "\n"
    )
    arguments = ("grade", "judged.yaml", recording(folder, *RIGHT), "--recorded", "rows.jsonl", "--json")
    found = json.loads(steelyard(*arguments).stdout)
    assert "other_standard" in {notice["code"] for notice in found["notices"]}
