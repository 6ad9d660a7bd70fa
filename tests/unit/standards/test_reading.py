"""Files to records: what each format may hold, and how types are decided."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from standards_texts import HEAD, TASK, plain, problems, read, with_check, with_suite, with_task
from steelyard.errors import InputError, StandardError
from steelyard.model.checks import EqualsCheck, ExprCheck, JsonCheck, NumberCheck
from steelyard.model.standard import CompleteWhen, JudgeUse
from steelyard.model.state_checks import CsvCheck, RowCondition
from steelyard.standards import load_suite, parse_suite, suite_hash, suite_schema
from steelyard.standards.parse import MAX_BYTES

SMALLEST = """\
schema: suite/1
name: capitals
owner: jo@example.com
tasks:
  - id: france
    prompt: What is the capital of France? Answer with the name only.
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Paris.", check: {kind: equals, value: Paris}}
"""


def test_the_smallest_suite_gives_a_whole_record(tmp_path: Path) -> None:
    path = tmp_path / "capitals.yaml"
    path.write_text(SMALLEST)
    suite = load_suite(path)
    (task,) = suite.tasks
    (criterion,) = task.criteria
    assert (suite.name, suite.owner, task.id, criterion.id) == ("capitals", "jo@example.com", "france", "C1")
    assert criterion.check == EqualsCheck(value="Paris")
    assert (criterion.layer, criterion.weight, criterion.pass_mark) == ("outcome", Decimal(1), Decimal(1))
    assert task.complete_when == CompleteWhen()
    assert suite.dimensions["correctness"].definition
    assert suite.folder == str(tmp_path)
    assert re.fullmatch("[0-9a-f]{64}", suite.hash)
    assert suite_hash(suite) == suite.hash


def example(shared: Path) -> str:
    section = (
        (shared / "design" / "interface.md").read_text().split("## Suite file")[1].split("\nChecks (`of:`")[0]
    )
    return "\n".join(line[4:] for line in section.splitlines()[1:] if line.startswith("    ")) + "\n"


def test_the_full_example_of_the_interface(require_shared: Callable[[str], Path], tmp_path: Path) -> None:
    """Its own rules ask every task for a branch and for the tags that group it, so its table needs them too."""
    text = example(require_shared("design/interface.md").parents[1])
    (tmp_path / "cases.csv").write_text("id,question,answer\nq1,What is the capital of France?,Paris\n")
    said = problems(text, folder=str(tmp_path))
    assert [re.search(r"'(branch|kind|customer)'", line)[1] for line in said] == [
        "branch",
        "kind",
        "customer",
    ]  # type: ignore[index]
    template = 'task: {id: "{id}", branch: shared, tags: {kind: lookup, customer: "{id}"},'
    suite = read(text.replace('task: {id: "{id}",', template), folder=str(tmp_path))
    assert [task.id for task in suite.tasks] == ["checkout", "q1"]
    checkout, generated = suite.tasks
    assert [c.id for c in checkout.criteria] == ["C1", "C2", "C3", "G1", "A1"]
    assert [c.layer for c in checkout.criteria] == ["outcome", "outcome", "outcome", "process", "risk"]
    assert checkout.criteria[3].rubric == "grounded"
    assert checkout.criteria[2].judge == JudgeUse(extract={"pool_size": "integer"})
    assert isinstance(checkout.criteria[2].check, ExprCheck)
    assert checkout.facts["capacity"].data == {"max": 100, "reserved": 20, "maintenance": 16, "instances": 4}
    assert generated.criteria[1].check == EqualsCheck(value="Paris")
    assert generated.criteria[1].rule == "The answer MUST be Paris."
    assert suite.weights is not None
    assert suite.weights.shares == {"diagnosis": Decimal("0.7"), "lookup": Decimal("0.3")}


def test_the_example_without_its_table_works_word_for_word(require_shared: Callable[[str], Path]) -> None:
    lines = example(require_shared("design/interface.md").parents[1]).splitlines()
    kept = [line for line in lines if not line.startswith("tasks_from")]
    assert len(kept) == len(lines) - 1
    assert [task.id for task in read("\n".join(kept)).tasks] == ["checkout"]


def test_the_standard_decides_types_in_yaml() -> None:
    suite = read(
        HEAD.replace("small", "no")
        + "version: 1.0\ntasks:\n  - id: 007\n    prompt: 12:30\n    tags: {on: yes, 1: 010, day: 2026-10-01}\n"
        + "    criteria: [{id: 1e3, dimension: correctness, rule: off MUST hold, check: {kind: equals, value: no}}]\n"
    )
    task = suite.tasks[0]
    assert (suite.name, suite.version, task.id, task.prompt) == ("no", "1.0", "007", "12:30")
    assert task.tags == {"on": "yes", "1": "010", "day": "2026-10-01"}
    assert task.criteria[0].id == "1e3"
    assert task.criteria[0].check == EqualsCheck(value="no")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("7", 7), ("-0.5", -0.5), ("1.0", 1.0), ("2e3", 2000.0), ("true", True), ("null", None), ('"7"', "7"),
        ("'true'", "true"), ("007", "007"), ("yes", "yes"), ("~", "~"), (".5", ".5"), ("+1", "+1"), ("0x1F", "0x1F"),
        ("1_000", "1_000"), ("12:30:00", "12:30:00"), (".inf", ".inf"), ("NaN", "NaN"), ("True", "True"),
        ("2026-10-01", "2026-10-01"), ("123456789012345678901234567890", 123456789012345678901234567890),
        ("[1, a, {b: false}]", [1, "a", {"b": False}]), ("0.30000000000000004", 0.30000000000000004),
    ],
)  # fmt: skip
def test_untyped_places_follow_the_grammar_of_json(written: str, meant: object) -> None:
    check = read(with_check(f"{{kind: equals, value: {written}}}")).tasks[0].criteria[0].check
    assert isinstance(check, EqualsCheck)
    assert check.value == meant
    assert type(check.value) is type(meant)


@pytest.mark.parametrize(
    "written", ["1e999", "3.14159265358979323846264338", "1e-400", "9" * 1001, "", "{1: a}"]
)
def test_untyped_values_that_would_be_changed_are_refused(written: str) -> None:
    assert len(problems(with_check(f"{{kind: equals, value: {written} }}"))) == 1


@pytest.mark.parametrize(
    ("weight", "value"),
    [("0.1", "0.1"), ("2", "2"), ("1e2", "100"), ("0.123456789012345", "0.123456789012345")],
)
def test_decimals_are_exact(weight: str, value: str) -> None:
    suite = read(with_task(f"weight: {weight}"))
    assert suite.tasks[0].weight == Decimal(value)
    fast = parse_suite(
        json.dumps(plain()).replace('"prompt"', f'"weight": {weight}, "prompt"').encode(),
        name="s", format="json", folder=".",
    )  # fmt: skip
    assert fast.tasks[0].weight == Decimal(value)
    assert fast.hash == suite.hash


@pytest.mark.parametrize(
    "weight",
    [
        "-1", "NaN", ".nan", ".inf", "inf", "-Infinity", "1e999", "1e99999999999999999999", "0.1234567890123456", '"3"',
        "three", "[3]", "true", "1,5", "50%",
    ],
)  # fmt: skip
def test_weights_that_are_no_weights(weight: str) -> None:
    (said,) = problems(with_task(f"weight: {weight}"))
    assert said.startswith("suite.yaml:9: tasks[0].weight: ")


def test_a_number_that_was_written_in_another_way_gets_its_mend() -> None:
    assert problems(with_task("weight: 50%"))[0].endswith("; write 0.5")
    assert problems(with_task("weight: .5"))[0].endswith("; write 0.5")
    assert problems(with_task('weight: "3"'))[0].endswith("; write 3 without quotes")
    assert problems(with_suite("branches: a"))[0].endswith("; write [a]")


@pytest.mark.parametrize("word", ["yes", '"true"', "True", "1", "on"])
def test_gates_are_true_or_false(word: str) -> None:
    text = f"{HEAD}tasks:\n{TASK}".replace("id: C1,", f"id: C1, gate: {word},")
    assert "gate: must be true or false" in problems(text)[0]


@pytest.mark.parametrize(
    ("old", "new", "path", "mend"),
    [
        ('"id": "t1"', '"id": 7', "tasks[0].id", 'write "7"'),
        ('"id": "C1"', '"id": 1.50', "tasks[0].criteria[0].id", 'write "1.50"'),
        ('"prompt"', '"tags": {"a": true}, "prompt"', "tasks[0].tags.a", 'write "true"'),
        ('"prompt"', '"weight": "3", "prompt"', "tasks[0].weight", "write 3 without quotes"),
        (
            '"prompt"',
            '"complete_when": {"gates": "true"}, "prompt"',
            "tasks[0].complete_when.gates",
            "write true",
        ),
    ],
)
def test_json_types_are_not_guessed(old: str, new: str, path: str, mend: str) -> None:
    text = json.dumps(plain(), indent=1).replace(old, new)
    (said,) = problems(text, "json")
    line = text[: text.index(new)].count("\n") + 1
    assert said.startswith(f"suite.json:{line}: {path}: ")
    assert said.endswith(mend)


@pytest.mark.parametrize(
    "written",
    ['"weight": "3"', '"pass_mark": "1"', '"check": {"kind": "number", "value": "3"}', '"weight": NaN'],
)
def test_the_quick_way_refuses_what_the_careful_way_refuses(written: str) -> None:
    text = json.dumps(plain()).replace('"id": "C1",', f'"id": "C1", {written},')
    if '"check"' in written:
        text = text.replace(', "check": {"kind": "equals", "value": "Paris"}', "")
    assert problems(text, "json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("name: a\nname: b\n", "stands twice (first on line 2)"),
        ("name: &x a\n", "anchor"),
        ("name: !!str a\n", "tag"),
        ("name: ! a\n", "tag"),
        ("name: small\n<<: {owner: x}\n", "merges"),
        ("name: small\n? [a]\n: b\n", "not text"),
        ("name: small\n: b\n", "not valid YAML"),
        ('name: "a\\0b"\n', "NUL"),
        ("name: [\n", "not valid YAML"),
        ("name: a\x01b\n", "not valid YAML"),
        ("name: *y\n", "*y"),
    ],
)
def test_yaml_that_reads_otherwise_than_it_stands(change: str, said: str) -> None:
    text = f"{HEAD}tasks:\n{TASK}".replace("name: small\n", change)
    assert any(said in line for line in problems(text))


def test_several_documents_are_refused() -> None:
    assert "second document" in problems(SMALLEST + "---\na: b\n")[0]
    assert read("---\n" + SMALLEST + "...\n").name == "capitals"


def test_json_with_a_doubled_key_is_refused() -> None:
    text = json.dumps(plain()).replace('"name": "small"', '"name": "a",\n"name": "b"')
    assert problems(text, "json") == (
        "suite.json:2: name: the key stands twice (first on line 1); keep one of them",
    )


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"\xff\xfea", "yaml"), (b"name: \xe9", "yaml"), (b"name: a\x00b", "yaml"), (b"", "yaml"),
        (b"# only\n", "yaml"),
        (b"[1]", "yaml"), (b"text", "yaml"), (b"", "json"), (b"{", "json"), (b"[]", "json"), (b"3", "json"),
        (b'{"a": NaN}', "json"), (b'{"a": Infinity}', "json"), (b'{"name": "\\ud800"}', "json"),
        (b'{"\\u0000": 1}', "json"), (b'{"a": ' + b"9" * 5000 + b"}", "json"), (b"a = ", "toml"), (b"", "toml"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "toml"), (b"[" * 100_000, "json"), (b"[" * 100_000, "yaml"),
        (b"a:\n" + b"- " * 10_000, "yaml"), (b'{"a":' * 5000, "json"), (b"a = 2026-10-01", "toml"),
        (b"a = " + b"9" * 5000, "toml"), (b'name = "\\uD800"', "toml"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_suite_are_a_sentence(data: bytes, form: str) -> None:
    said = problems(data, form)
    assert all(line.startswith(f"suite.{form}") for line in said)


def test_a_byte_order_mark_and_crlf_are_read() -> None:
    assert read(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode()).name == "capitals"
    assert read(b"\xef\xbb\xbf" + json.dumps(plain()).encode(), "json").name == "small"


def test_depth_has_the_same_limit_everywhere() -> None:
    def nested(depth: int) -> str:
        return json.dumps(plain()).replace('"Paris"}', "[" * depth + "]" * depth + "}")

    assert read(nested(80), "json").hash == read(nested(80)).hash
    for form in ("json", "yaml"):
        assert "levels deep" in problems(nested(101), form)[0]


def test_a_suite_that_is_too_large_is_refused() -> None:
    with pytest.raises(StandardError, match="larger than 64 MB"):
        parse_suite(b" " * (MAX_BYTES + 1), name="s", format="json", folder=".")


def test_all_problems_come_at_once_with_their_lines() -> None:
    text = """\
schema: suite/1
name: s
ownr: jo
tasks:
  - id: a
    prompt: p
    criteria:
      - {id: C1, dimention: correctness, rule: It MUST hold., check: {kind: equal, value: 1}}
      - {id: C2, dimension: corectness, rule: It MUST hold., check: {kind: regex, pattern: "("}}
    trails: 3
  - id: a
    prompt: p
    criteria: []
"""
    assert problems(text) == (
        "suite.yaml:3: ownr: unknown key; did you mean 'owner'?",
        "suite.yaml:8: tasks[0].criteria[0].dimention: unknown key; did you mean 'dimension'?",
        "suite.yaml:8: tasks[0].criteria[0].check.kind: unknown kind 'equal'; did you mean 'equals'?",
        "suite.yaml:9: tasks[0].criteria[1].dimension: 'corectness' has no definition; say what it means: "
        "`dimensions: {corectness: {definition: ...}}`; did you mean 'correctness'?",
        "suite.yaml:9: tasks[0].criteria[1].check.pattern: is no RE2 pattern: missing ): (",
        "suite.yaml:10: tasks[0].trails: unknown key; did you mean 'trials'?",
        "suite.yaml:13: tasks[1].criteria: is empty; a task without criteria cannot be scored",
    )


def test_toml_problems_have_lines_too() -> None:
    text = (
        'schema = "suite/1"\nname = "s"\nowner = "jo"\n\n[[tasks]]\n'
        'id = "a"\nprompt = "p"\n[[tasks.criteria]]\nid = "C1"\n'
        'dimension = "correctness"\nrule = "It MUST hold."\nwieght = 2\ncheck = {kind = "equals", value = 1}\n'
    )
    assert problems(text, "toml") == (
        "suite.toml:12: tasks[0].criteria[0].wieght: unknown key; did you mean 'weight'?",
    )
    suite = read(text.replace("wieght = 2", "weight = 1_0.50"), "toml")
    assert suite.tasks[0].criteria[0].weight == Decimal("10.5")
    assert (
        "date or time"
        in problems(text.replace("wieght = 2", "").replace("value = 1", "value = 10:00:00"), "toml")[0]
    )


def test_missing_files_and_unknown_names(tmp_path: Path) -> None:
    for name in ("absent.yaml", "suite.txt", "suite", "a\x00.yaml"):
        with pytest.raises(InputError):
            load_suite(tmp_path / name)
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        load_suite(tmp_path / "folder.yaml")
    with pytest.raises(InputError, match="did you mean 'yaml'"):
        parse_suite(b"", name="s", format="yml", folder=".")


def test_python_is_code_and_only_run_on_request(tmp_path: Path) -> None:
    path, mark = tmp_path / "suite.py", tmp_path / "ran"
    path.write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\nsuite = {plain()!r}\n")
    with pytest.raises(StandardError, match="trust_python=True"):
        load_suite(path)
    assert not mark.exists()
    assert load_suite(path, trust_python=True).hash == read(json.dumps(plain()), "json").hash
    assert mark.exists()
    for code, said in (
        ("1/0", "ZeroDivisionError"),
        ("x = 1", "sets no `suite`"),
        ("raise SystemExit", "SystemExit"),
    ):
        path.write_text(code)
        with pytest.raises(StandardError, match=said):
            load_suite(path, trust_python=True)


def test_a_condition_may_stand_alone_or_in_a_list() -> None:
    head = "{kind: csv, of: 'file:out.csv', columns: [a, b], tz: Europe/Berlin, rows: [[0041, 2]], where: "
    one, several = (
        read(with_check(head + where + "}")).tasks[0].criteria[0].check
        for where in ("{column: a, value: x}", "[{column: a, value: x}]")
    )
    condition = RowCondition(column="a", value="x")
    assert one == CsvCheck(
        of="file:out.csv", columns=("a", "b"), tz="Europe/Berlin", rows=(["0041", 2],), where=condition
    )
    assert isinstance(several, CsvCheck)
    assert several.where == (condition,)


def test_null_is_a_value_of_a_json_check() -> None:
    check = read(with_check("{kind: json, pointer: /a, value: null}")).tasks[0].criteria[0].check
    assert check == JsonCheck(pointer="/a", value=None)
    assert isinstance(check, JsonCheck)
    assert check.schema is msgspec.UNSET


def test_an_empty_judge_asks_for_one() -> None:
    text = f"{HEAD}tasks:\n  - id: t\n    prompt: p\n    criteria:\n      - id: C1\n        dimension: correctness\n"
    suite = read(text + "        rule: It MUST hold.\n        judge:\n")
    assert suite.tasks[0].criteria[0].judge == JudgeUse()
    assert any("judges are not asked yet" in notice for notice in suite.notices)


def test_the_json_schema_accepts_what_the_reader_accepts() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = suite_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(plain(at_least=0.5, weights={"by": "k", "shares": {"a": 1}}))
    assert not validator.is_valid(plain(tsks=[]))
    assert not validator.is_valid(plain(at_least="0.5"))
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ('"weight": "1"', 'must be a number, not the text \'1\''),
        ('"pass_mark": "0.5"', 'must be a number, not the text \'0.5\''),
        ('"weight": 1, "weight": 2', "the key stands twice"),
        ('"weight": 0.12345678901234567', "more than 15 significant digits"),
        ('"weight": 1e999', "is beyond 1e300"),
        ('"check": {"kind": "number", "value": "4"}', 'must be a number, not the text \'4\''),
        ('"check": {"kind": "csv", "rows": [[1]], "abs_tol": "4"}', 'must be a number, not the text \'4\''),
        ('"check": {"kind": "equals", "value": "a\\u0000"}', "holds a NUL character"),
        ('"check": {"kind": "equals", "value": "\\ud800"}', "half of a surrogate pair"),
        ('"check": {"kind": "equals", "value": ' + "[" * 101 + "]" * 101 + "}", "nested more than 100 levels deep"),
        ('"check": {"kind": "equals", "value": NaN}', "NaN is not a number of JSON"),
    ],
)  # fmt: skip
def test_what_decoding_at_once_would_pass_over_is_said(part: str, said: str) -> None:
    with pytest.raises(StandardError) as caught:
        parse_suite(in_a_criterion(part).encode(), name="s.json", format="json", folder=".")
    assert said in str(caught.value)
    assert str(caught.value).startswith("s.json:")


@pytest.mark.parametrize(
    ("written", "shortest"), [("1.50", "1.5"), ("1e1", "10"), ("10", "10"), ("2.0", "2")]
)
def test_decimals_are_kept_in_their_shortest_form_however_a_json_file_writes_them(
    written: str, shortest: str
) -> None:
    text = in_a_criterion(f'"weight": {written}, "check": {{"kind": "number", "value": {written}}}')
    (criterion,) = parse_suite(text.encode(), name="s.json", format="json", folder=".").tasks[0].criteria
    assert str(criterion.weight) == shortest
    assert isinstance(criterion.check, NumberCheck) and str(criterion.check.value) == shortest


def test_numbers_of_a_fact_stay_what_they_are_whatever_their_name() -> None:
    text = SMALLEST_JSON % '"facts": {"f": {"data": {"weight": 0.5, "seconds": "5", "weights": {"a": 1.5}}}},'
    (task,) = parse_suite(text.encode(), name="s.json", format="json", folder=".").tasks
    data = task.facts["f"].data
    assert data == {"weight": 0.5, "seconds": "5", "weights": {"a": 1.5}}
    assert isinstance(data["weight"], float) and isinstance(data["weights"]["a"], float)


SMALLEST_JSON = (
    '{"schema": "suite/1", "name": "s", "owner": "jo@example.com", "tasks": [{"id": "t", "prompt": "What?", %s\n'
    '"criteria": [{"id": "C1", "dimension": "correctness", "rule": "It MUST be so.", '
    '"check": {"kind": "equals", "value": "x"}}]}]}'
)


def in_a_criterion(part: str) -> str:
    """A suite with this in its one criterion, which has a check of its own unless `part` holds one."""
    text = SMALLEST_JSON % ""
    if '"check"' in part:
        text = text.replace(', "check": {"kind": "equals", "value": "x"}', "")
    return text.replace('"id": "C1"', '"id": "C1", ' + part)
