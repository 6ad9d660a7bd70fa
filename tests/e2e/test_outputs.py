"""No output takes the place of what a command reads or keeps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.cli import main

SUITE = """
schema: suite/1
name: capitals
owner: jo@example.com
tasks:
  - id: italy
    prompt: What is the capital of Italy?
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Rome.", check: {kind: equals, value: Rome}}
"""
RECORDING = '{"task_id": "italy", "messages": [{"role": "assistant", "content": "Rome"}]}\n'
STORE = ".steelyard/store.db"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("STEELYARD_", "GITHUB_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.jsonl").write_text(RECORDING)
    assert steelyard("grade", "suite.yaml", "runs", "--quiet") == 0
    return tmp_path


def steelyard(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return int(left.value.code or 0)


@pytest.mark.parametrize("name", [STORE, f"{STORE}-wal", f"{STORE}-live-1", "suite.yaml", "runs/a.jsonl"])
@pytest.mark.parametrize(
    "command",
    [
        ("show", "--csv"),
        ("show", "--html"),
        ("whatif", "latest", "--set", "italy/C1=1", "--junit"),
        ("export", "latest"),
        ("grade", "suite.yaml", "runs/a.jsonl", "--markdown"),
    ],
    ids=" ".join,
)
def test_the_record_and_what_it_was_made_from_stay(
    folder: Path, capfd: pytest.CaptureFixture[str], command: tuple[str, ...], name: str
) -> None:
    (folder / f"{STORE}-live-1").touch()  # as while a run is being graded
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert steelyard(*command, name) == 2
    assert "is read or written by this command already" in capfd.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("option", ["--html", "--csv", "--junit", "--markdown"])
def test_an_output_without_a_name_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str], option: str
) -> None:
    assert steelyard("show", option, "") == 2
    assert f"{option} names no file" in capfd.readouterr().err


@pytest.mark.parametrize(
    "command", [("show",), ("runs",), ("store", "check"), ("grade", "suite.yaml", "runs")]
)
def test_a_store_without_a_name_is_refused(
    folder: Path, capfd: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    assert steelyard(*command, "--store", "") == 2
    assert "names no file" in capfd.readouterr().err


def test_an_export_without_a_name_is_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert steelyard("export", "latest", "") == 2
    assert "FILE is empty" in capfd.readouterr().err
