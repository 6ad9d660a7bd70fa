"""The line of each criterion in its suite file."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.standards import criterion_lines

YAML = """\
schema: suite/1
name: s
owner: o
rubrics:
  kind: {dimension: correctness, rule: It MUST be kind., judge: {}}
tasks_from:
  - file: rows.csv
    task:
      id: "{id}"
      prompt: p
      criteria: [{use: kind}]
tasks:
  - id: a
    prompt: p
    criteria:
      - {id: C1, dimension: correctness, rule: It MUST be., check: {kind: equals, value: x}}

      - use: kind
"""
JSON = """{"schema": "suite/1", "name": "s", "owner": "o", "tasks": [
 {"id": "a", "prompt": "p",
  "criteria": [
   {"id": "C1", "dimension": "correctness", "rule": "It MUST be.", "check": {"kind": "equals", "value": "x"}},
   {"id": "C2", "dimension": "correctness", "rule": "It MUST be.", "check": {"kind": "equals", "value": "x"}}]}]}
"""
TOML = """\
schema = "suite/1"
name = "s"
owner = "o"

[[tasks]]
id = "a"
prompt = "p"

[[tasks.criteria]]
id = "C1"
dimension = "correctness"
rule = "It MUST be."
check = {kind = "equals", value = "x"}
"""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "s.yaml",
            YAML,
            {("a", ""): 13, ("a", "C1"): 16, ("a", "kind"): 18, ("r1", ""): 8, ("r1", "kind"): 11},
        ),
        ("s.json", JSON, {("a", ""): 2, ("a", "C1"): 4, ("a", "C2"): 5}),
        ("s.toml", TOML, {("a", ""): 5, ("a", "C1"): 9}),
    ],
)
def test_lines(tmp_path: Path, name: str, text: str, lines: dict[tuple[str, str], int]) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "rows.csv").write_text("id\nr1\n")
    assert criterion_lines(tmp_path / name) == lines


@pytest.mark.parametrize("text", ["", ": [", "a: 1\na: 2\n", "[]", "tasks: 3", "\udcff"])
def test_what_is_no_suite_has_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert criterion_lines(file) == {}


def test_what_cannot_be_read_has_none(tmp_path: Path) -> None:
    assert criterion_lines(tmp_path / "gone.yaml") == {}
    assert criterion_lines(tmp_path) == {}
    assert criterion_lines("tau2") == {}
