"""Tasks from tables: strict CSV and JSON Lines, and columns in templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from standards_texts import HEAD, problems, read
from steelyard.model.checks import ContainsCheck, EqualsCheck

TEMPLATE = (
    '{id: "{id}", prompt: "{input}", criteria: [{id: C1, dimension: correctness, rule: "It MUST be {expected}.", '
    'check: {kind: equals, value: "{expected}"}}]}'
)


def suite(
    table: str | bytes, folder: Path, *, template: str = TEMPLATE, name: str = "cases.csv", more: str = ""
) -> str:
    data = table.encode() if isinstance(table, str) else table
    (folder / name).write_bytes(data)
    return f"{HEAD}tasks_from: [{{file: {name}{more}, task: {template}}}]\n"


def test_q57_bom_crlf_quotes_and_newlines(tmp_path: Path) -> None:
    table = (
        b'\xef\xbb\xbfid,input,expected\r\nq1,"{""a"": [1, ""x""]}",yes\r\nq2,"line one,\r\nline two",no\r\n'
        b"q3,plain,007\r\n\r\n"
    )
    loaded = read(suite(table, tmp_path), folder=str(tmp_path))
    assert [task.id for task in loaded.tasks] == ["q1", "q2", "q3"]
    assert loaded.tasks[0].prompt == '{"a": [1, "x"]}'
    assert loaded.tasks[1].prompt == "line one,\r\nline two"
    assert [t.criteria[0].check for t in loaded.tasks] == [EqualsCheck(value=v) for v in ("yes", "no", "007")]
    assert loaded.tasks[2].criteria[0].rule == "It MUST be 007."


def test_q57_rows_that_do_not_fit(tmp_path: Path) -> None:
    text = suite('id,input,expected\nq1,"a\nb",c\nq2,b\nq3,a,b,c\n', tmp_path)
    assert problems(text, folder=str(tmp_path)) == (
        "suite.yaml:4: tasks_from[0].file: cases.csv:4: the row has only 2 cells, the header has 3; no task is made",
        "suite.yaml:4: tasks_from[0].file: cases.csv:5: the row has 4 cells, the header has 3; no task is made",
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("id;input;expected\nq1;a;b\n", 'separated by semicolons; say so with `delimiter: ";"`'),
        ("id\tinput\texpected\nq1\ta\tb\n", 'delimiter: "\\t"'),
        ("id,input,id\nq1,a,b\n", "stands more than once"),
        ("id,,expected\nq1,a,b\n", "column 2 has no name"),
        ("", "is empty"),
        ("id,input,expected\n", "has no rows"),
        ('id,input,expected\nq1,"a,b\n', "not valid CSV"),
        ('id,input,expected\nq1,"a"b,c\n', "not valid CSV"),
        (b"id,input,expected\nq1,\xff,c\n", "cases.csv:2: is not valid UTF-8"),
        (b"id,input,expected\nq1,\x00,c\n", "NUL"),
        ("id,input,expectd\nq1,a,b\n", "{expected} names no column of the table; did you mean 'expectd'?"),
        ("id,input,expected\nq1,a,b\nq1,c,d\n", "'q1' is already the id of cases.csv:2"),
        ("id,input,expected\n,a,b\n", "id: is empty"),
    ],
)
def test_tables_that_are_refused(table: str | bytes, said: str, tmp_path: Path) -> None:
    assert any(said in line for line in problems(suite(table, tmp_path), folder=str(tmp_path)))


def test_a_declared_delimiter(tmp_path: Path) -> None:
    table = "id;input;expected\nq1;a,b;c\n"
    text = suite(table, tmp_path, more=', delimiter: ";"')
    assert read(text, folder=str(tmp_path)).tasks[0].prompt == "a,b"
    assert "not one character" in problems(text.replace('";"', '";;"'), folder=str(tmp_path))[0]


def test_one_problem_in_many_rows_is_one_sentence(tmp_path: Path) -> None:
    table = "id,input,expected\n" + "".join(f"q{i},a,b\n" for i in range(50))
    (said,) = problems(
        suite(table, tmp_path, template=TEMPLATE.replace('"{input}"', '"{inptu}"')), folder=str(tmp_path)
    )
    assert said.endswith("(cases.csv:2 and 49 more rows)")
    assert "did you mean 'input'?" in said


@pytest.mark.parametrize(
    "name", ["{0.__class__}", "{id!r}", "{id:>9}", "{}", "{ id }", "{id.x}", "{a{id}}", "{", "}", "{{id}"]
)
def test_nothing_in_braces_is_evaluated(name: str, tmp_path: Path) -> None:
    text = suite("id,input,expected\nq1,a,b\n", tmp_path, template=TEMPLATE.replace("{input}", f"x {name}"))
    assert problems(text, folder=str(tmp_path))


def test_doubled_braces_are_braces_and_cells_are_not_read_again(tmp_path: Path) -> None:
    template = TEMPLATE.replace("{input}", "{{id}} {input} }}{{")
    loaded = read(
        suite("id,input,expected\nq1,{expected},b\n", tmp_path, template=template), folder=str(tmp_path)
    )
    assert loaded.tasks[0].prompt == "{id} {expected} }{"


def test_a_column_may_be_a_number_where_one_is_wanted(tmp_path: Path) -> None:
    template = TEMPLATE.replace("prompt:", 'weight: "{w}", tags: {"{id}": "{w}"}, prompt:')
    loaded = read(
        suite("id,input,expected,w\nq1,a,1.50,1.50\n", tmp_path, template=template), folder=str(tmp_path)
    )
    task = loaded.tasks[0]
    assert str(task.weight) == "1.5"
    assert task.tags == {"q1": "1.50"}
    assert task.criteria[0].check == EqualsCheck(value="1.50")
    assert problems(
        suite("id,input,expected,w\nq1,a,b,many\n", tmp_path, template=template), folder=str(tmp_path)
    ) == ("suite.yaml:4: tasks_from[0].task.weight: must be a number, not the text 'many' (cases.csv:2)",)


def test_json_lines_keep_their_types(tmp_path: Path) -> None:
    table = (
        '\ufeff{"id": "q1", "input": "a", "expected": 1.50, "all": ["x", "y"]}\r\n\n'
        '{"id": "q2", "input": "a\u2028b", "expected": null, "all": ["z"]}\n'
    )
    template = TEMPLATE.replace("It MUST be {expected}.", "It MUST hold.").replace(
        "criteria: [",
        'criteria: [{id: C2, dimension: correctness, rule: It MUST hold., check: {kind: contains, any: "{all}"}}, ',
    )
    loaded = read(suite(table, tmp_path, template=template, name="cases.jsonl"), folder=str(tmp_path))
    assert [t.criteria[1].check for t in loaded.tasks] == [EqualsCheck(value=1.5), EqualsCheck(value=None)]
    assert loaded.tasks[0].criteria[0].check == ContainsCheck(any=("x", "y"))
    numbered = '{"id": 7, "input": "a", "expected": 2}\n'
    said = problems(suite(numbered, tmp_path, name="cases.jsonl"), folder=str(tmp_path))
    assert said == (
        'suite.yaml:4: tasks_from[0].task.id: must be text, not the number 7; write "7" (cases.jsonl:1)',
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "must be a JSON object"), ("{", "not valid JSON"), ('{"id": "a", "id": "b"}', "stands twice"),
        ('{"id": NaN}', "not valid JSON"), ('{"id": "a", "input": "b"}', "{expected} names no column"),
        ('{"id": "a", "input": "b", "expected": [1]}', "can only stand alone"), ("", "has no rows"),
    ],
)  # fmt: skip
def test_json_lines_that_are_refused(line: str, said: str, tmp_path: Path) -> None:
    assert any(
        said in p for p in problems(suite(line + "\n", tmp_path, name="c.jsonl"), folder=str(tmp_path))
    )


def test_tables_stay_in_the_folder_of_the_suite(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "cases.csv").write_text("id,input,expected\nq1,a,b\n")
    (inner / "link.csv").symlink_to(tmp_path / "cases.csv")
    for name, said in (
        ("../cases.csv", "leaves the suite's folder"),
        (str(tmp_path / "cases.csv"), "absolute path"),
        ("link.csv", "through a link"),
        ("absent.csv", "does not exist"),
        (".", "is a folder"),
        ("x/../../c.csv", "leaves"),
        ("..\\\\cases.csv", "leaves"),
        ("C:\\\\cases.csv", "absolute"),
    ):
        text = f'{HEAD}tasks_from: [{{file: "{name}", task: {TEMPLATE}}}]\n'
        assert any(said in line for line in problems(text, folder=str(inner)))


def test_the_form_of_a_table_can_be_declared(tmp_path: Path) -> None:
    table = "id,input,expected\nq1,a,b\n"
    assert read(suite(table, tmp_path, name="cases.txt", more=", format: csv"), folder=str(tmp_path)).tasks
    assert (
        "neither .csv nor .jsonl"
        in problems(suite(table, tmp_path, name="cases.txt"), folder=str(tmp_path))[0]
    )
