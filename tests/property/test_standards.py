"""Laws of the standards room: one content has one record and one hash, and nothing that is wrong goes through."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from standards_texts import plain, problems
from steelyard.errors import InputError, StandardError
from steelyard.model.standard import Suite
from steelyard.standards import build, parse, parse_suite, suite_hash
from steelyard.standards.plain import PlainTasks

# What every format can write: YAML refuses control characters and folds U+2028, TOML has no null.
words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Zl", "Zp")), min_size=1, max_size=12
).filter(str.strip)
amounts = st.decimals(min_value=0, max_value=1000, places=3).map(lambda d: d + Decimal("0.001"))
scalars = st.one_of(
    words, st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
)
jsons = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """Plain data of a valid suite, with decimals where the standard has decimals."""
    tasks = []
    for name in draw(st.lists(words, min_size=1, max_size=3, unique=True)):
        ids = draw(st.lists(words, min_size=1, max_size=3, unique=True))
        criteria: list[dict[str, Any]] = [
            {
                "id": criterion,
                "dimension": draw(st.sampled_from(["correctness", "process"])) if i else "correctness",
                "rule": draw(words),
                "weight": draw(amounts),
                "check": draw(
                    st.one_of(
                        st.fixed_dictionaries({"kind": st.just("equals"), "value": jsons}),
                        st.fixed_dictionaries(
                            {"kind": st.just("number"), "value": amounts, "abs_tol": amounts}
                        ),
                        st.fixed_dictionaries(
                            {"kind": st.just("contains"), "any": st.lists(words, min_size=1, max_size=2)}
                        ),
                    )
                ),
            }
            for i, criterion in enumerate(ids)
        ]
        task = {
            "id": name,
            "prompt": draw(words),
            "criteria": criteria,
            "tags": draw(st.dictionaries(words, words, max_size=2)),
            "weight": draw(amounts),
            "trials": draw(st.integers(1, 9)),
            "facts": {draw(words): {"data": draw(jsons)}},
        }
        tasks.append(task)
    return {"schema": "suite/1", "name": draw(words), "owner": draw(words), "tasks": tasks}


def numbers(value: Any) -> Any:
    """Decimals to floats: these have few digits, which a float's shortest text gives back."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: numbers(child) for key, child in value.items()}
    return [numbers(child) for child in value] if isinstance(value, list) else value


def toml(value: Any) -> str:
    """An inline TOML value; texts with JSON's escapes, which TOML shares for these characters."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {toml(v)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" in text else f"{text}.0"
    return json.dumps(value, ensure_ascii=False)


def without_notices(suite: Suite) -> Suite:
    """Notices hold lines, which differ between formats."""
    return msgspec.structs.replace(suite, notices=())


def parsed(text: str, form: str) -> Suite:
    return without_notices(parse_suite(text.encode(), name=f"s.{form}", format=form, folder="."))


@settings(max_examples=40)
@given(contents())
def test_every_format_gives_the_same_suite_and_hash(content: dict[str, Any]) -> None:
    as_json = json.dumps(numbers(content), ensure_ascii=False)
    suites = {
        "json": parsed(as_json, "json"),
        "spread": parsed(json.dumps(numbers(content), indent=2), "json"),
        "json as yaml": parsed(as_json, "yaml"),
        "toml": parsed("\n".join(f"{key} = {toml(value)}" for key, value in content.items()), "toml"),
        "python": without_notices(build.suite_of(content)),
        "reordered": parsed(json.dumps(numbers(content), sort_keys=True), "json"),
    }
    first = suites["python"]
    assert first.hash == suite_hash(first)
    for name, suite in suites.items():
        assert suite == first, name
        assert suite.hash == first.hash, name


@settings(max_examples=40)
@given(contents())
def test_the_quick_way_and_the_careful_way_agree(content: dict[str, Any]) -> None:
    text = json.dumps(numbers(content))
    quick = parsed(text, "json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parse, "_decode_json", lambda text: None)
        careful = parsed(text, "json")
    assert quick == careful
    assert quick.hash == careful.hash


ODD_TASK: list[dict[str, Any]] = [
    {"id": ""}, {"id": "a\nb"}, {"prompt": " \n"}, {"weight": -1}, {"weight": 0}, {"trials": 0}, {"branch": "x"},
    {"when": ""}, {"when": "id == 'x'"}, {"layers": {"risk": " "}}, {"layers": {"process": "why"}},
    {"layers": {"x": "y"}},
    {"complete_when": {"dimensions": ["process"]}}, {"complete_when": {"ended_by": []}}, {"criteria": []},
    {"complete_when": {}}, {"facts": {"f": {"text": "t", "data": [1]}}}, {"reference": {"a": 1}}, {"no_op": [1]},
]  # fmt: skip
ODD_CRITERION: list[dict[str, Any]] = [
    {"id": " "}, {"rule": ""}, {"dimension": "tone"}, {"dimension": "grounding"}, {"layer": "risk"}, {"layer": None},
    {"weight": 0}, {"weight": -1}, {"pass_mark": 0}, {"pass_mark": 2}, {"pass_mark": 0.5}, {"gate": True},
    {"gate": True, "pass_mark": 0}, {"gate": True, "failure_tag": "T"}, {"failure_tag": ""}, {"failure_tag": None},
    {"needs": ["C0"]}, {"needs": []}, {"when": ""}, {"when": "id == 'x'"}, {"view": {"last": 0}}, {"view": {}},
    {"judge": None}, {"check": None}, {"check": {"kind": "contains"}}, {"check": {"kind": "contains", "any": [""]}},
    {"check": {"kind": "equals", "value": 1, "of": "nowhere"}}, {"check": {"kind": "expr", "expr": "facts.x > 1"}},
    {"check": {"kind": "regex", "pattern": "("}}, {"check": {"kind": "number"}},
    {"check": {"kind": "recorded", "file": "x"}},
    {"check": {"kind": "python", "file": "no.py"}}, {"check": {"kind": "equals", "value": "FILL IN"}},
]  # fmt: skip


def outcome(content: dict[str, Any]) -> Suite | tuple[str, ...]:
    try:
        return parse_suite(json.dumps(numbers(content)).encode(), name="s.json", format="json", folder=".")
    except StandardError as error:
        return error.problems


@settings(max_examples=150)
@given(contents(), st.data())
def test_tasks_that_are_sound_at_first_sight_are_read_as_by_the_whole_way(
    content: dict[str, Any], data: st.DataObject
) -> None:
    """Whatever is odd about them: the same records, notices, problems and lines."""
    for _ in range(data.draw(st.integers(0, 2))):
        task = data.draw(st.sampled_from(content["tasks"]))
        if not task["criteria"] or data.draw(st.booleans()):
            task.update(data.draw(st.sampled_from(ODD_TASK)))
        else:
            data.draw(st.sampled_from(task["criteria"])).update(data.draw(st.sampled_from(ODD_CRITERION)))
    quick = outcome(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainTasks, "read", lambda self, file: None)
        whole = outcome(content)
    assert quick == whole


@settings(max_examples=40)
@given(contents(), st.data())
def test_any_change_of_content_changes_the_hash(content: dict[str, Any], data: st.DataObject) -> None:
    before = build.suite_of(content).hash
    task = data.draw(st.sampled_from(content["tasks"]))
    part = data.draw(st.sampled_from([task, *task["criteria"]]))
    key = data.draw(st.sampled_from(["weight", "prompt" if part is task else "rule"]))
    part[key] = part[key] + (Decimal("0.5") if key == "weight" else "x")
    assert build.suite_of(content).hash != before


BLOCK = yaml.safe_dump(plain(facts_placeholder=None), sort_keys=False).replace(
    "facts_placeholder: null\n", ""
)


@given(st.from_regex(r"[a-z]{3,9}_[a-z]{3,9}", fullmatch=True), st.data())
def test_an_unknown_key_is_found_on_its_line(key: str, data: st.DataObject) -> None:
    lines = BLOCK.splitlines()
    # Before any key of a mapping in block form, at the same depth.
    places = [i for i, line in enumerate(lines) if ":" in line and not line.lstrip().startswith("-")]
    place = data.draw(st.sampled_from(places))
    indent = len(lines[place]) - len(lines[place].lstrip())
    text = "\n".join([*lines[:place], f"{' ' * indent}{key}: 1", *lines[place:]]) + "\n"
    known = {
        "at_least",
        "complete_when",
        "expected_behavior",
        "failure_tag",
        "pass_mark",
        "tasks_from",
        "no_op",
    }
    said = problems(text)
    if key not in known:
        assert any(
            line.startswith(f"suite.yaml:{place + 1}: ") and f"{key}: unknown key" in line for line in said
        )


@given(
    st.sampled_from(["-1", "-0.001", "NaN", ".nan", "nan", "inf", "-inf", "Infinity", "1e999", "1e-999"])
    | st.decimals(max_value=Decimal("-0.001"), allow_nan=False, allow_infinity=False, places=3).map(str)
)
def test_weights_below_zero_or_beyond_numbers_are_refused(weight: str) -> None:
    for where in ("task", "criterion"):
        content = plain()
        target = content["tasks"][0] if where == "task" else content["tasks"][0]["criteria"][0]
        target["weight"] = "W"
        text = json.dumps(content).replace('"W"', weight)
        assert all("weight" in line for line in problems(text))
        assert problems(text, "json")


@given(st.binary(max_size=300), st.sampled_from(["yaml", "json", "toml"]))
def test_no_bytes_raise_anything_but_the_librarys_errors(data: bytes, form: str) -> None:
    with pytest.raises((StandardError, InputError)) as caught:
        parse_suite(data, name="s", format=form, folder=".")
    assert str(caught.value)


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "schema: suite/1\n",
            "name: a\n",
            "owner: b\n",
            "tasks:\n",
            "  - id: x\n",
            "    prompt: p\n",
            "    criteria:\n",
            "      - {",
            "id: C1, ",
            "use: r, ",
            "dimension: correctness, ",
            "rule: MUST, ",
            "check: {kind: ",
            "equals, ",
            "expr, ",
            "value: ",
            "expr: ",
            "1",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "!!int ",
            "? ",
            ": ",
            "|\n",
            "'",
            '"',
            "<<: ",
            "---\n",
            "\t",
            "weights: ",
            "tasks_from: ",
            "when: ",
            "(" * 300,
            "not " * 2000,
            "\u2028",
            "\ufeff",
            "%YAML 1.1\n",
            "#",
            "\\",
            "\x07",
        ]
    ),
    max_size=30,
).map("".join)


@given(FRAGMENTS, st.sampled_from(["yaml", "json", "toml"]))
@example('schema: "\\uD800"', "yaml")
def test_shuffled_suites_never_crash(text: str, form: str) -> None:
    try:
        suite = parse_suite(text.encode("utf-8", "surrogatepass"), name="s", format=form, folder=".")
    except (StandardError, InputError) as error:
        assert str(error)
    else:
        assert suite.tasks


@settings(max_examples=40)
@given(contents(), st.data())
def test_broken_values_anywhere_are_sentences(content: dict[str, Any], data: st.DataObject) -> None:
    places: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(child, dict | list):
                collect(child)

    collect(content)
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(st.one_of(jsons, st.none(), st.just([]), st.just({}), st.just(float("nan"))))
    try:
        suite = build.suite_of(content)
    except StandardError as error:
        assert error.problems
        assert all(problem.startswith("suite: ") for problem in error.problems)
    else:
        assert suite.hash
