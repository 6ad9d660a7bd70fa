"""`steelyard init`: a start that works, and drafts that never pass by themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.app import draft, grade, load_suite, read_traces, start
from steelyard.cli import cli
from steelyard.errors import NothingEvaluatedError, OutputError


def recordings(folder: Path, *lines: object) -> Path:
    file = folder / "recorded.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def said(prompt: str, answer: str, *calls: str, **more: object) -> dict[str, object]:
    functions = [{"name": call, "arguments": "{}"} for call in calls]
    tools = [
        {"id": f"c{n}", "type": "function", "function": function} for n, function in enumerate(functions)
    ]
    called = [{"role": "assistant", "content": None, "tool_calls": tools}] if tools else []
    asked, reply = {"role": "user", "content": prompt}, {"role": "assistant", "content": answer}
    return {"messages": [asked, *called, reply], **more}


def test_the_starter_is_valid_and_its_recording_passes(tmp_path: Path) -> None:
    suite, answers = start(tmp_path / "new", owner='o: "x" #')
    loaded = load_suite(suite)
    assert loaded.owner == 'o: "x" #'
    assert grade(loaded, read_traces(answers)).scores.exit_code == 0


def test_files_that_are_there_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("mine")
    with pytest.raises(OutputError, match="is there already"):
        start(tmp_path)
    assert (tmp_path / "suite.yaml").read_text() == "mine"
    assert not (tmp_path / "answers.jsonl").exists()


def test_a_draft_has_a_task_for_each_prompt_and_passes_nothing(tmp_path: Path) -> None:
    source = recordings(
        tmp_path,
        said('Say "hi": {x} # not a comment', "hi"),
        said('Say "hi": {x} # not a comment', "ho"),
        said("Delete it", "done", "delete_it", "read_it", task_id="d/1"),
    )
    made = draft(tmp_path / "drafted", read_traces(source))
    file = made.file
    assert (made.tasks, made.recordings, made.left_out) == (2, 3, 0)
    loaded = load_suite(file)
    assert {task.id for task in loaded.tasks} == {"task-1", "d/1"}
    run = grade(loaded, read_traces(source))
    assert run.scores.completion.high == 0.0
    assert "delete_it x1" in file.read_text()


@pytest.mark.parametrize(
    "prompt", ["\x1b[31mred\x1b[0m", "a\u202eb", "- x: [", "'", "\U0001f600" * 50, "x" * 9_000]
)
def test_a_draft_of_any_prompt_loads(prompt: str, tmp_path: Path) -> None:
    file = draft(
        tmp_path / "drafted", read_traces(recordings(tmp_path, said(prompt, prompt, prompt[:50])))
    ).file
    assert len(load_suite(file).tasks) == 1


def test_recordings_without_a_user_message_are_refused(tmp_path: Path) -> None:
    source = recordings(tmp_path, {"task_id": "t", "messages": [{"role": "assistant", "content": "hello"}]})
    with pytest.raises(NothingEvaluatedError):
        draft(tmp_path / "drafted", read_traces(source))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_command(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert "_STEELYARD_COMPLETE" in done.output
