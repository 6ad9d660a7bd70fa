"""The rows and columns of a page's tables follow from the score table alone."""

from __future__ import annotations

from scored import criterion, graded, read, scored, suite, task, ungraded
from steelyard.report.html.charts import chart_specs
from steelyard.report.html.rows import MOST_COLUMNS, rows, rule_of
from steelyard.report.html.tables import criteria, page_data
from steelyard.scoring import score


def test_columns_stand_in_the_order_of_the_dimensions_and_rows_name_trials_where_there_are_several() -> None:
    standard = suite(
        task("a", criterion("C1"), criterion("G1", "style"), criterion("C2")),
        task("b", criterion("C2"), criterion("C3")),
    )
    table = scored(standard, [graded("a", "C1", 1), graded("a", "C1", 0, trial=2), graded("b", "C2", 1)])
    view = rows(table, standard)
    assert [(column.dimension, column.label) for column in view.columns] == [
        ("correctness", "C1"), ("correctness", "C2"), ("correctness", "C3"), ("style", "G1"),
    ]  # fmt: skip
    assert [row.label for row in view.matrix] == ["a#1", "a#2", "b"]
    assert [[cell.score.id for cell in row.cells] for row in view.matrix][2] == ["C2", "C3"]
    assert not view.by_order


def test_too_many_criteria_are_lined_up_by_their_order() -> None:
    several = [task(f"t{n}", criterion(f"C{n}"), criterion(f"D{n}")) for n in range(MOST_COLUMNS)]
    standard = suite(*several)
    view = rows(scored(standard, [graded("t0", "C0", 1)]), standard)
    assert view.by_order
    assert [column.label for column in view.columns] == ["1", "2"]
    assert [cell.score.id for cell in view.matrix[3].cells] == ["C3", "D3"]


def test_what_lists_failing_trials_only_counts_nothing() -> None:
    """16 verdicts, of which 2 fail: the counts of the two trials with detail would be no counts of the run."""
    standard = suite(*(task(name, criterion("C1"), criterion("C2"), trials=4) for name in "ab"))
    found = [
        graded(name, each, int((each, n) != ("C1", 1)), n)
        for name in "ab"
        for each in ("C1", "C2")
        for n in (1, 2, 3, 4)
    ]
    whole, part = scored(standard, found), score(standard, read(found), detail=False)
    assert [row.counts for row in rows(whole, standard).criteria] == [{"pass": 6, "fail": 2}, {"pass": 8}]
    assert part.left_out is not None
    view = rows(part, standard)
    assert view.criteria == ()
    assert "lists incomplete trials only" in str(criteria(view))
    assert "chart-states" in {entry["id"] for entry in chart_specs(whole)}
    assert "chart-states" not in {entry["id"] for entry in chart_specs(part)}


def test_the_state_of_a_trial_is_told_in_words() -> None:
    names = ("done", "broken", "open", "silent", "faulty")
    standard = suite(*(task(name, criterion("C1")) for name in names))
    fault = {"task": "faulty", "trial": 1, "ended_by": "infrastructure_fault"}
    found = [graded("done", "C1", 1), graded("broken", "C1", 0), ungraded("open", "C1", "unknown"), fault]
    view = rows(scored(standard, found), standard)
    states = [(row.label.partition("#")[0], row.state) for row in view.matrix]
    assert ("done", "complete") in states
    assert ("broken", "not complete") in states
    assert ("open", "open") in states
    assert ("silent", "nothing recorded") in states
    assert ("faulty", "fault") in states


def test_criteria_are_counted_by_outcome_with_their_rule_where_it_is_one() -> None:
    standard = suite(
        task("a", criterion("C1", rule="The answer MUST be A."), criterion("C2", failure_tag="LATE")),
        task("b", criterion("C1", rule="The answer MUST be B."), criterion("C2", failure_tag="LATE")),
    )
    found = [graded("a", "C1", 1), graded("b", "C1", 0), graded("a", "C2", 0), ungraded("b", "C2", "unknown")]
    first, second = rows(scored(standard, found), standard).criteria
    assert (first.id, dict(first.counts), first.tasks, first.rule) == ("C1", {"pass": 1, "fail": 1}, 2, "")
    assert (second.counts["unknown"], second.tag) == (1, "LATE")
    assert second.rule == "The result MUST satisfy C2."


def test_the_page_has_every_row_as_data_with_each_text_once() -> None:
    standard = suite(*(task(f"t{n}", criterion("C1")) for n in range(60)))
    table = scored(standard, [graded(f"t{n}", "C1", n % 2) for n in range(60)])
    data = page_data(rows(table, standard), table, rule_of(standard), {7: "r.files/x.html"})
    assert [row["label"] for row in data["matrix"]] == [f"t{n}" for n in range(60)]
    assert len(data["texts"]) == len(set(data["texts"])) == 4
    column, name, outcome, score, rule, gate = data["matrix"][1]["cells"][0]
    assert (column, data["texts"][name], data["texts"][outcome], score, gate) == (0, "C1", "pass", 1.0, 0)
    assert data["texts"][rule] == "The result MUST satisfy C1."
    assert data["matrix"][7]["file"] == "r.files/x.html"
    assert all("file" not in row for number, row in enumerate(data["matrix"]) if number != 7)
