"""`grade` and `score` as a step of GitHub Actions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

Command = Callable[..., subprocess.CompletedProcess[str]]

SUITE = """\
schema: suite/1
name: capitals
owner: jo@example.com
tasks:
  - id: france
    prompt: What is the capital of France?
    criteria:
      - id: C1
        dimension: correctness
        rule: The answer MUST be Paris.
        check: {kind: equals, value: Paris}
      - {id: J1, dimension: correctness, rule: "The answer MUST be polite.", judge: {evidence: required}}
"""
HOSTILE = "::set-output name=x::1\n::add-mask::Paris\r::error::forged ##[add-path]/tmp"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "capitals.yaml").write_text(SUITE)
    answer(tmp_path, "Lyon")
    return tmp_path


def answer(folder: Path, text: str) -> None:
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]
    (folder / "runs.jsonl").write_text(json.dumps({"task_id": "france", "messages": messages}) + "\n")


def settings_of(extra: dict[str, str]) -> dict[str, str]:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("STEELYARD_", "GITHUB_"))
    }
    return {**clean, **extra}


@pytest.fixture
def steelyard(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in this process, which saves the seconds of its start."""
    from steelyard.cli import main

    monkeypatch.chdir(folder)

    def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(os, "environ", settings_of(settings))
        with pytest.raises(SystemExit) as left:
            main(arguments)
        said, warned = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, int(left.value.code or 0), said, warned)

    return run


GRADE = ("grade", "suites/capitals.yaml", "runs.jsonl", "--no-store")


def in_actions(folder: Path) -> dict[str, str]:
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_WORKSPACE": str(folder),
    }


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_a_failing_run_is_summarised_and_annotated(folder: Path) -> None:
    (folder / "summary.md").write_text("# before\n")
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *GRADE],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False, env=settings_of(in_actions(folder)),
    )  # fmt: skip
    assert done.returncode == 1
    assert commands(done.stdout) == []
    decision, failed, missing = commands(done.stderr)
    assert decision.startswith(
        "::error file=suites/capitals.yaml,title=capitals%3A FAIL::completion is 0.0 %25"
    )
    assert failed.startswith(
        "::error file=suites/capitals.yaml,line=8,title=france C1 fail::The answer MUST be Paris.%0A"
    )
    assert missing.startswith(
        "::warning file=suites/capitals.yaml,line=12,title=france J1 error::error missing_row%0A"
    )
    written = (folder / "summary.md").read_text()
    assert written.startswith("# before\n\n## FAIL: capitals\n")
    assert "### Why not complete" in written


def test_elsewhere_nothing_of_it_happens(folder: Path, steelyard: Command) -> None:
    outside = {**in_actions(folder), "GITHUB_ACTIONS": ""}
    assert commands(steelyard(*GRADE, **outside).stderr) == []
    assert commands(steelyard(*GRADE, "--no-github", **in_actions(folder)).stderr) == []
    assert commands(steelyard(*GRADE, **in_actions(folder), STEELYARD_GITHUB="0").stderr) == []
    assert not (folder / "summary.md").exists()
    forced = steelyard(*GRADE, "--github")
    assert len(commands(forced.stderr)) == 3
    assert forced.returncode == 1


def test_json_stays_json_and_quiet_stays_quiet(folder: Path, steelyard: Command) -> None:
    rows = folder / "rows.jsonl"
    assert steelyard(*GRADE, "--quiet", "--out", str(rows)).stderr == ""
    quiet = steelyard("score", "suites/capitals.yaml", "rows.jsonl", "--quiet", **in_actions(folder))
    assert (quiet.stdout, quiet.stderr, quiet.returncode) == ("", "", 1)
    assert (folder / "summary.md").read_text().startswith("## FAIL: capitals\n")
    done = steelyard("score", "suites/capitals.yaml", "rows.jsonl", "--json", **in_actions(folder))
    assert json.loads(done.stdout)["decision"] == "FAIL"
    assert len(commands(done.stderr)) == 3


def test_no_text_of_others_commands_the_runner(folder: Path, steelyard: Command) -> None:
    answer(folder, HOSTILE)
    told = steelyard(*GRADE, **in_actions(folder))
    as_json = steelyard(*GRADE, "--json", **in_actions(folder))
    plain = steelyard(*GRADE, "--json")
    for done in (told, as_json):
        assert commands(done.stdout) == []
        found = commands(done.stderr)
        assert [line.split(" ", 1)[0] for line in found] == ["::error", "::error", "::warning"]
        assert "##[" not in done.stderr
    assert "set-output" in told.stderr
    assert json.loads(as_json.stdout)["tasks"] == json.loads(plain.stdout)["tasks"]
    assert "##[" in plain.stdout


def test_cells_are_not_printed_where_lines_are_commands(folder: Path, steelyard: Command) -> None:
    steelyard(*GRADE[:-1], **in_actions(folder))
    done = steelyard("show", "--csv", "-", **in_actions(folder))
    assert (done.returncode, done.stdout) == (2, "")
    assert "name a file" in done.stderr
    assert steelyard("show", "--csv", "v.csv", "--quiet", **in_actions(folder)).returncode == 0


def test_messages_about_hostile_names_command_nothing(folder: Path, steelyard: Command) -> None:
    for words in (
        ("grade", "suites/capitals.yaml", "no\n::error::such"),
        ("grade", "x", "--no-such\n::error::option"),
    ):
        done = steelyard(*words, **in_actions(folder))
        assert done.returncode == 2
        assert "such" in done.stderr
        assert commands(done.stdout + "\n" + done.stderr) == []


def test_a_summary_that_cannot_be_written_does_not_decide(folder: Path, steelyard: Command) -> None:
    (folder / "summary.md").mkdir()
    done = steelyard(*GRADE, **in_actions(folder))
    assert done.returncode == 1
    assert "cannot write the step summary" in done.stderr
    assert len(commands(done.stderr)) == 3


def test_a_full_summary_is_cut_with_a_sentence(folder: Path, steelyard: Command) -> None:
    file = folder / "summary.md"
    file.write_text("x" * (1024 * 1024 - 600))
    assert steelyard(*GRADE, **in_actions(folder)).returncode == 1
    assert file.stat().st_size <= 1024 * 1024
    assert file.read_text().rstrip().endswith("The report files hold all of it.*")


def test_a_summary_that_was_asked_for_stands_once(folder: Path, steelyard: Command) -> None:
    steelyard(*GRADE, "--markdown", "summary.md", **in_actions(folder))
    assert (folder / "summary.md").read_text().count("## FAIL") == 1
