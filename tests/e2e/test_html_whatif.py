"""What-if and charts in the written page, in a real Chromium: numbers of the command line, nothing saved, no errors."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import Watched, opened
from scored import criterion, graded, read, suite, task, ungraded
from steelyard.app import Run, changes, demo_run, demo_traces
from steelyard.report.numbers import average, span

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def demo() -> Run:
    return demo_run()[0]


@pytest.fixture(scope="module")
def demo_page(demo: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("demo") / "report.html"
    demo.report(file, demo_traces())
    return file


@pytest.fixture(scope="module")
def demo_tab(browser: Browser, demo_page: Path) -> Iterator[Watched]:
    with opened(browser, demo_page) as found:
        found.page.wait_for_selector("#charts[data-drawn]")
        yield found


@pytest.fixture
def watched(demo_tab: Watched, demo_page: Path) -> Iterator[Watched]:
    """The demo's page as recorded; nothing may go wrong on it while a test runs."""
    demo_tab.page.evaluate("() => { window.steelyard.close(); window.steelyard.whatif.reset(); }")
    yield demo_tab
    assert (demo_tab.errors, demo_tab.dialogs, demo_tab.outside(demo_page)) == ([], [], [])


def cell(page: Page, where: str) -> str:
    name, criterion_id = where.split("/")
    return f'#matrix-table .cell[data-task="{name}"][data-criterion="{criterion_id}"]'


def now(page: Page, headline: str) -> str:
    """What stands behind each place of a headline; the same at each of them."""
    script = f"""() => [...document.querySelectorAll('[data-headline="{headline}"]')].map((place) => {{
        const next = place.nextElementSibling;
        return next && next.classList.contains("whatif-now") ? next.textContent.trim() : "";
    }})"""
    found = page.evaluate(script)
    assert found
    assert len(set(found)) == 1
    return str(found[0])


def body(page: Page) -> str:
    found: str = page.evaluate("document.body.innerText")
    return found


def test_a_fixed_remedy_shows_the_figures_of_the_command_line(watched: Watched, demo: Run) -> None:
    page = watched.page
    before = body(page)
    page.click(cell(page, "checkout/C3"))
    page.click("#panel-whatif >> text=✓ pass")
    scores = demo.what_if(changes(demo, sets=["checkout/C3=1"])).scores
    correctness = scores.dimensions["correctness"]
    assert average(correctness.task_average) == "83.3 %"
    assert now(page, "dimension:correctness.task_average") == f"→ {average(correctness.task_average)} (+11.1)"
    assert now(page, "dimension:correctness.pooled") == f"→ {average(correctness.pooled)} (+11.1)"
    assert now(page, "completion") == "→ 66.7 % (+33.3)"
    assert now(page, "completion.trials") == "→ 2 of 3 (+1)"
    assert now(page, "pass_rate") == f"→ {span(scores.pass_rate.low, scores.pass_rate.high)} (+33.3)"
    assert now(page, "decision") == now(page, "dimension:authority.pooled") == ""
    bar = page.inner_text(".whatif-bar")
    assert "what-if: nothing is saved" in bar
    assert "steelyard whatif SUITE ROWS --set checkout/C3=1" in bar
    changed = page.locator("#matrix-table .cell.changed")
    assert [changed.count(), changed.get_attribute("data-status")] == [1, "pass"]
    assert "→ complete" in page.inner_text('#matrix-table tr[data-task="checkout"] .state')
    page.click("#panel-close")
    page.click(".whatif-bar >> text=Reset")
    assert body(page) == before
    assert page.locator(".whatif-now, .changed").count() == 0


STALE = ("1 of 3 tasks complete", "each task votes, 1 of 3 tasks", "1 of 3 trials complete", "6 of 9")


def test_no_count_stands_beside_a_headline_that_moved(watched: Watched) -> None:
    page = watched.page
    said = body(page)
    assert all(text in said for text in STALE)
    assert "what-if is not in this part" not in said
    page.focus(cell(page, "checkout/C3"))
    page.keyboard.press("p")
    said = body(page)
    assert not [text for text in STALE if text in said]
    assert said.count("As recorded: the what-if is not in this part.") == 3
    label = "getComputedStyle(document.querySelector('.because'), '::before').content"
    assert page.evaluate(label) == '"as recorded: "'
    page.keyboard.press("r")
    assert page.evaluate(label) == "none"
    assert all(text in body(page) for text in STALE)


def test_what_votes_follows_the_weights(watched: Watched) -> None:
    page = watched.page
    before = body(page)
    assert "weighted tasks" not in before
    page.evaluate("window.steelyard.whatif.setWeight('csv', null, '3')")
    assert set(page.locator("#scores [data-votes]").all_inner_texts()) == {"weighted tasks"}
    assert "correctness, weighted tasks" in page.inner_text("#whatif")
    page.evaluate("window.steelyard.whatif.reset()")
    assert body(page) == before


def test_keys_set_a_verdict_and_take_it_back(watched: Watched) -> None:
    page = watched.page
    page.focus(cell(page, "csv/A1"))
    page.keyboard.press("p")
    assert now(page, "dimension:authority.task_average") == "→ 100.0 % (+33.3)"
    assert (
        page.evaluate("document.activeElement.dataset.criterion") == "A1"
    )  # the keyboard stays where it was
    page.keyboard.press("u")
    assert now(page, "dimension:authority.task_average") == "→ 66.7–100.0 % (at most +33.3)"
    page.keyboard.press("f")
    assert (
        now(page, "dimension:authority.task_average") == ""
    )  # it is a fail as recorded, so nothing is changed
    assert page.locator(".whatif-bar").is_hidden()
    page.keyboard.press("p")
    page.keyboard.press("r")
    assert page.locator(".whatif-bar").is_hidden()


def test_a_pass_of_everything_passes(watched: Watched) -> None:
    page = watched.page
    for where in ("checkout/C3", "csv/C3", "csv/C4", "csv/A1"):
        page.focus(cell(page, where))
        page.keyboard.press("p")
    assert now(page, "decision") == "→ PASS"
    assert now(page, "completion") == "→ 100.0 % (+66.7)"


def test_weights_and_gates_count_as_on_the_command_line(watched: Watched, demo: Run) -> None:
    page = watched.page
    weight = page.locator('#tasks-table tr[data-task="lookup"] input')
    weight.fill("2")
    weight.press("Tab")
    page.click(cell(page, "lookup/G1"))
    page.check("#panel-whatif input[type=checkbox]")
    scores = demo.what_if(changes(demo, weights=["lookup=2"], gates=["lookup/G1"])).scores
    shown = average(scores.dimensions["correctness"].task_average)
    assert now(page, "dimension:correctness.task_average").startswith(f"→ {shown} (")
    assert now(page, "completion") == "→ 0.0 % (−33.3)"
    assert "--weight lookup=2 --gate lookup/G1" in page.inner_text(".whatif-bar code")


def test_a_weight_that_cannot_be_meant_is_refused_in_words(watched: Watched) -> None:
    page = watched.page
    for wrong in ("", "-1", "two", "1e99"):
        weight = page.locator('#tasks-table tr[data-task="csv"] input')
        weight.fill(wrong)
        weight.press("Tab")
        said = page.inner_text(".whatif-bar [role=alert]")
        assert said == f"not changed: {wrong or 'nothing'} is no weight; give a number from 0 to 1e9"
        assert weight.input_value() == "1"
        assert now(page, "completion") == ""


def test_the_panel_says_what_a_verdict_is_worth(watched: Watched) -> None:
    page = watched.page
    page.click(cell(page, "csv/C3"))
    rows = [re.split(r"\t", line) for line in page.inner_text(".whatif-worth tbody").splitlines()]
    assert ["correctness, each task votes", "8.3 %", "80.6 % (+8.3)", "as now"] in rows
    assert ["correctness, each check votes", "11.1 %", "77.8 % (+11.1)", "as now"] in rows
    assert ["completion", "", "as now", "as now"] in rows


# --- charts, and a run with everything in it ----------------------------------------------------------


HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def wide_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every chart: several trials, faults, missing verdicts, tags, a name that is markup."""
    rng = random.Random(5)
    tasks = [
        task(
            f"{HOSTILE if n == 0 else 'task'}-{n}",
            criterion("C1"),
            criterion("C2", needs=["C1"]),
            criterion("G1", "grounding" if n % 2 else "authority"),
            trials=3,
            tags={"kind": ("lookup", "repair", HOSTILE)[n % 3]},
        )
        for n in range(9)
    ]
    rows = []
    for each in tasks:
        for trial in (1, 2):
            for name in ("C1", "C2", "G1"):
                rows.append(graded(each["id"], name, int(rng.random() < 0.7), trial))
    rows.append({"task": "task-1", "trial": 3, "ended_by": "infrastructure_fault"})
    rows.append(ungraded("task-2", "C1", "unknown", 3))
    file = tmp_path_factory.mktemp("wide") / "report.html"
    Run(suite=suite(*tasks), rows=read(rows), full=True, name="wide").report(file)
    return file


ALL = ["chart-intervals", "chart-coverage", "chart-states", "chart-slices-0", "chart-trials"]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_chart_is_drawn_within_the_page(
    browser: Browser, wide_page: Path, width: int, scheme: str
) -> None:
    with opened(browser, wide_page, width=width, scheme=scheme) as watched:
        page = watched.page
        page.wait_for_selector("#charts[data-drawn]")
        assert page.eval_on_selector_all("figure.chart", "all => all.map((each) => each.id)") == ALL
        drawn = page.eval_on_selector_all(
            "figure.chart svg",
            """all => all.map((svg) => ({
                marks: svg.querySelectorAll("path, text").length, right: svg.getBoundingClientRect().right,
                role: svg.getAttribute("role"), label: svg.getAttribute("aria-label"),
            }))""",
        )
        assert len(drawn) == len(ALL)
        for each in drawn:
            assert each["marks"] > 8
            assert each["role"] == "img"
            assert len(each["label"]) > 40
            assert each["right"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("figure.chart details table").count() == len(ALL)
        assert page.locator("img").count() == 0
        assert (watched.errors, watched.dialogs, watched.outside(wide_page)) == ([], [], [])


def test_charts_of_the_demo_are_those_that_say_something(watched: Watched) -> None:
    found = watched.page.eval_on_selector_all("figure.chart", "all => all.map((each) => each.id)")
    assert found == ["chart-intervals", "chart-coverage", "chart-states"]


def test_the_page_compiles_no_text_and_takes_no_inline_style(watched: Watched) -> None:
    page = watched.page
    policy = page.get_attribute('meta[http-equiv="Content-Security-Policy"]', "content") or ""
    assert "unsafe" not in policy
    tried = page.evaluate(  # in a timer, since what the test itself evaluates is not held to the policy
        """() => new Promise((done) => setTimeout(() => {
            document.body.setAttribute("style", "opacity: 0.5");
            const opacity = getComputedStyle(document.body).opacity;
            document.body.removeAttribute("style");
            try { done([opacity, new Function("return 1")()]); } catch (error) { done([opacity, error.name]); }
        }))"""
    )
    assert tried == ["1", "EvalError"]
    assert watched.errors
    watched.errors.clear()  # the browser's report of the two attempts above
