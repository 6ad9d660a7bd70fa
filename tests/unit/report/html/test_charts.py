"""Which charts a run gets, and what they hold."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from typing import Any

import pytest

from scored import criterion, graded, scored, suite, task, ungraded
from steelyard.model.table import ScoreTable
from steelyard.report.html.charts import as_plain_script, chart_specs
from steelyard.report.html.charts_groups import MOST_SLICES, MOST_STRIPS
from steelyard.report.html.document import EXTRA_SCRIPTS, asset, assets
from steelyard.report.numbers import span

VENDOR = files("steelyard.report.html") / "assets/vendor"


def charts(table: ScoreTable) -> dict[str, dict[str, Any]]:
    return {chart["id"]: chart for chart in chart_specs(table)}


def values(chart: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart["spec"]["data"]["values"]
    return found


def one_task(*names: str, score: int = 1) -> ScoreTable:
    return scored(
        suite(task("t", *(criterion(name) for name in names))), [graded("t", n, score) for n in names]
    )


def test_a_run_in_which_all_is_alike_gets_the_headlines_only() -> None:
    assert list(charts(one_task("C1", "C2"))) == ["chart-intervals"]


def test_the_bar_stands_at_the_primary_metric_only() -> None:
    standard = suite(
        *(task(name, criterion("C1")) for name in "ab"), primary="dimension:correctness", at_least=0.7
    )
    table = scored(standard, [graded("a", "C1", 1), graded("b", "C1", 0)])
    chart = charts(table)["chart-intervals"]
    assert [(row["low"], row.get("bar")) for row in values(chart)] == [(0.5, None), (0.5, 0.7)]
    assert [row[:2] + row[3:] for row in chart["rows"]] == [
        ["completion", "50.0 %", "2 tasks"],
        ["correctness", "50.0 %", "2 tasks"],
    ]
    assert chart["rows"][0][2] == span(table.completion.ci.low, table.completion.ci.high)
    assert values(chart)[0]["ci_low"] == table.completion.ci.low


def test_an_interval_over_too_few_tasks_is_words_and_no_line() -> None:
    standard = suite(*(task(name, criterion("C1")) for name in "ab"))
    chart = charts(scored(standard, [graded("a", "C1", 0.2), graded("b", "C1", 0.7)]))["chart-intervals"]
    correctness = values(chart)[1]
    assert "ci_low" not in correctness
    assert chart["rows"][1][2] == "n 2: too few for an interval"


def test_missing_verdicts_are_a_span() -> None:
    standard = suite(*(task(name, criterion("C1")) for name in "ab"))
    chart = charts(scored(standard, [graded("a", "C1", 1), ungraded("b", "C1", "unknown")]))[
        "chart-intervals"
    ]
    assert [(row["low"], row["high"]) for row in values(chart)] == [(0.5, 1), (0.5, 1)]
    assert chart["rows"][0][1] == "50.0–100.0 %"


def test_coverage_is_drawn_where_some_is_missing() -> None:
    standard = suite(task("a", criterion("C1"), criterion("G1", "grounding")), task("b", criterion("C1")))
    table = scored(standard, [graded("a", "C1", 1), graded("a", "G1", 1), graded("b", "C1", 1)])
    chart = charts(table)["chart-coverage"]
    assert chart["rows"] == [["correctness", "2 of 2", "100.0 %"], ["grounding", "1 of 2", "50.0 %"]]
    assert [row["share"] for row in values(chart)] == [1, 0.5]


def test_states_fill_each_bar_and_carry_their_counts() -> None:
    standard = suite(task("t", criterion("C1"), criterion("C2", needs=["C1"]), criterion("G1", "grounding")))
    chart = charts(scored(standard, [graded("t", "C1", 0), ungraded("t", "G1", "unknown")]))["chart-states"]
    assert [(row["outcome"], row["start"], row["end"]) for row in values(chart)] == [
        ("fail", 0, 0.5), ("skipped", 0.5, 1), ("unknown", 0, 1),
    ]  # fmt: skip
    assert chart["rows"] == [["correctness", "1", "0", "1"], ["grounding", "0", "1", "0"]]


def test_a_faulted_trial_has_no_part_in_the_states() -> None:
    standard = suite(task("t", criterion("C1")))
    rows = [
        graded("t", "C1", 1),
        graded("t", "C1", 0, 2),
        {"task": "t", "trial": 2, "ended_by": "simulator_fault"},
    ]
    assert "chart-states" not in charts(scored(standard, rows))


def tagged(*tags: str) -> ScoreTable:
    tasks = [task(f"t{n}", criterion("C1"), tags={"kind": tag}) for n, tag in enumerate(tags)]
    return scored(suite(*tasks), [graded(f"t{n}", "C1", n % 2) for n in range(len(tags))])


@pytest.mark.parametrize("tags", [("a",), ("a", "a"), ("a", "b", "c")])
def test_a_tag_that_groups_nothing_is_not_drawn(tags: tuple[str, ...]) -> None:
    assert "chart-slices-0" not in charts(tagged(*tags))


def test_slices_are_a_row_each_with_their_count() -> None:
    chart = charts(tagged("a", "a", "b"))["chart-slices-0"]
    assert chart["title"] == "Completion by kind"
    assert [row[:2] + row[3:] for row in chart["rows"]] == [
        ["a", "50.0 %", "2 tasks"],
        ["b", "0.0 %", "1 task"],
    ]


def test_the_largest_of_many_slices_are_drawn_and_the_rest_is_said() -> None:
    names = [f"g{n:02d}" for n in range(MOST_SLICES + 5)]
    chart = charts(tagged(*names, *names[5:]))["chart-slices-0"]
    assert [row[0] for row in chart["rows"]] == names[5:]
    assert f"The {MOST_SLICES} largest of {MOST_SLICES + 5} are drawn." in chart["description"]


def repeated(n: int, *, trials: int = 2) -> ScoreTable:
    tasks = [task(f"t{k:02d}", criterion("C1"), trials=trials) for k in range(n)]
    passed = (n - 1, 1)  # of everything, the first trial of the last task
    keys = [(k, trial) for k in range(n) for trial in range(1, trials + 1)]
    rows = [graded(tasks[k]["id"], "C1", int((k, trial) == passed), trial) for k, trial in keys]
    return scored(suite(*tasks), rows)


def test_trials_are_drawn_where_tasks_have_several() -> None:
    assert "chart-trials" not in charts(repeated(3, trials=1))
    chart = charts(repeated(2))["chart-trials"]
    assert chart["columns"] == ["task", "complete trials", "complete", "not complete"]
    assert chart["rows"] == [["t01", "1 of 2 trials", "1", "1"], ["t00", "0 of 2 trials", "0", "2"]]


def test_mixed_tasks_are_drawn_first_and_the_rest_is_said() -> None:
    chart = charts(repeated(MOST_STRIPS + 3))["chart-trials"]
    assert len(chart["rows"]) == MOST_STRIPS
    assert chart["rows"][0][0] == f"t{MOST_STRIPS + 2:02d}"
    assert f"{MOST_STRIPS} of {MOST_STRIPS + 3} tasks are drawn" in chart["description"]


def test_names_alike_after_the_cut_keep_rows_of_their_own() -> None:
    long = "x" * 60
    tasks = [task(f"{long}{n}", criterion("C1"), trials=2) for n in range(2)]
    rows = [graded(t["id"], "C1", 1, trial) for t in tasks for trial in (1, 2)]
    chart = charts(scored(suite(*tasks), rows))["chart-trials"]
    assert len({row["row"] for row in values(chart)}) == 2


def test_text_of_the_run_is_data_and_never_an_expression() -> None:
    tag = "'+alert(1)+'\u202e"
    tasks = [task(f"{tag}{n}", criterion("C1"), trials=2, tags={tag: "a" if n else "b"}) for n in range(3)]
    rows = [graded(t["id"], "C1", 1, trial) for t in tasks for trial in (1, 2)]
    found = chart_specs(scored(suite(*tasks), rows))

    def texts(node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            for name, value in node.items():
                yield from texts(value, name)
        elif isinstance(node, list):
            for value in node:
                yield from texts(value, key)
        else:
            yield key, node

    hostile = {key for chart in found for key, text in texts(chart["spec"]) if "alert" in str(text)}
    assert hostile == {"row", "domain"}
    assert "\u202e" not in json.dumps(found, ensure_ascii=False)


# --- what draws them ---------------------------------------------------------------------------------


def test_vendored_files_are_those_that_are_named() -> None:
    versions = (VENDOR / "VERSIONS").read_text("utf-8")
    named = dict(reversed(line.split()) for line in versions.splitlines() if len(line.split()) == 2)
    assert set(named) == {each.name for each in VENDOR.iterdir() if each.name.endswith(".js")}
    for name, digest in named.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
        licence = VENDOR / f"{name.removesuffix('.js').removesuffix('.min')}.LICENSE"
        assert "Redistribution and use in source and binary forms" in licence.read_text("utf-8")


def test_vendored_files_become_plain_scripts() -> None:
    interpreter = asset("vendor/vega-interpreter.js")
    assert "globalThis.vegaInterpreter = expression;" in interpreter
    for name in EXTRA_SCRIPTS["chart-specs"]:
        assert not [line for line in asset(name).splitlines() if line.startswith(("import ", "export "))]
        assert "sourceMappingURL" not in assets([name])


def test_a_script_that_is_no_module_stays_as_it_is() -> None:
    assert as_plain_script("let a = 1;\n//# sourceMappingURL=a.map\n") == "let a = 1;\n\n"


def test_every_script_of_a_page_is_there() -> None:
    for names in EXTRA_SCRIPTS.values():
        assert all(len(asset(name)) > 1000 for name in names)
