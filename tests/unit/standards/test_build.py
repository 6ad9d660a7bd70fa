"""Standards in Python: the same records through the same checks."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from standards_texts import plain, read
from steelyard.errors import StandardError
from steelyard.model.checks import EqualsCheck, JsonCheck
from steelyard.standards import build, suite_hash

RULE = "The answer MUST be Paris."


def built(**keys: Any) -> Any:
    criterion = build.criterion(
        id="C1", dimension="correctness", rule=RULE, check=build.check("equals", value="Paris")
    )
    return build.suite(
        name="small",
        owner="jo@example.com",
        tasks=[build.task(id="t1", prompt="Where?", criteria=[criterion])],
        **keys,
    )


def test_the_builder_gives_what_a_file_gives() -> None:
    suite = built(at_least=0.5)
    assert suite.tasks == read(json.dumps(plain(at_least=0.5)), "json").tasks
    assert suite.hash == read(json.dumps(plain(at_least=0.5)), "json").hash == suite_hash(suite)
    assert built(at_least=Decimal("0.50")).hash == suite.hash
    assert built(at_least=1).at_least == 1
    assert suite.at_least == Decimal("0.5")


def test_records_of_the_library_stand_for_their_mappings() -> None:
    for check in (EqualsCheck(value=["Paris", None]), JsonCheck(value=None)):
        criterion = build.criterion(id="C1", dimension="correctness", rule=RULE, check=check)
        suite = build.suite(name="s", owner="o", tasks=[build.task(id="t", prompt="p", criteria=[criterion])])
        assert suite.tasks[0].criteria[0].check == check


def test_shared_criteria() -> None:
    rubric = {"dimension": "process", "rule": "It MUST hold.", "judge": {}}
    criteria = [
        build.criterion(id="C1", dimension="correctness", rule=RULE, judge={}),
        build.use("r", weight=2),
    ]
    suite = build.suite(
        name="s", owner="o", rubrics={"r": rubric}, tasks=[build.task(id="t", prompt="p", criteria=criteria)]
    )
    assert [(c.id, c.rubric, c.weight) for c in suite.tasks[0].criteria] == [("C1", None, 1), ("r", "r", 2)]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"at_least": float("nan")}, "finite"),
        ({"at_least": float("inf")}, "finite"),
        ({"at_least": "1"}, "without quotes"),
        ({"at_least": Decimal("NaN")}, "finite"),
        ({"at_least": True}, "must be a number"),
        ({"version": 1.0}, 'write "1.0"'),
        ({"judges": {1: {}}}, "is not text"),
        ({"judges": {"a": {"kind": object()}}}, "holds a object"),
        ({"version": "\ud800"}, "surrogate"),
        ({"version": b"1"}, "holds a bytes"),
        ({"verson": "1"}, "did you mean 'version'?"),
        ({"at_least": 10**5000}, "must be|beyond|digits"),
        ({"version": "a\x00"}, "NUL"),
    ],
)
def test_values_that_no_file_could_hold(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(StandardError) as caught:
        built(**keys)
    assert any(part in line for line in caught.value.problems for part in said.split("|"))
    assert all(line.startswith("suite: ") for line in caught.value.problems)


def test_endless_values_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(StandardError, match="levels deep"):
        built(judges={"a": {"kind": "openai", "x": loop}})
