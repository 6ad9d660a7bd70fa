"""Q59. The HTML report in a real browser: what it says, how it is used, and that nothing in it ever runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import Watched, opened
from scored import criterion, graded, suite, task
from shared_data import require_shared
from steelyard import app
from steelyard.report.text import visible
from steelyard.report.view import board

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

COMMAND = str(Path(sys.executable).with_name("steelyard"))
TELECOM = "data/tau2/telecom-solo__gpt-4.1__5tasks_4trials.json"
FAILED = "#matrix-table .cell[data-task='checkout'][data-criterion='C3']"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("demo") / "report.html"
    app.demo_run()[0].report(file, app.demo_traces())
    return file


@pytest.fixture(scope="module")
def telecom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = require_shared(TELECOM)
    file = tmp_path_factory.mktemp("telecom") / "report.html"
    app.grade_tau2([source]).report(file, app.read_traces(source))
    return file


@pytest.fixture
def page(browser: Browser, demo: Path) -> Iterator[Page]:
    """The demo's report; whatever goes wrong on it or leaves the file fails the test."""
    with opened(browser, demo) as watched:
        yield watched.page
        assert_quiet(watched, demo)


def assert_quiet(watched: Watched, file: Path) -> None:
    assert watched.errors == []
    assert watched.dialogs == []
    assert watched.outside(file) == []


def headlines(page: Page) -> dict[str, str]:
    """The text of each headline; one that stands twice says the same in both places."""
    found: dict[str, set[str]] = {}
    for name, words in page.evaluate(
        "[...document.querySelectorAll('[data-headline]')].map(e => [e.dataset.headline, e.textContent.trim()])"
    ):
        found.setdefault(name, set()).add(words)
    assert all(len(words) == 1 for words in found.values()), found
    return {name: words.pop() for name, words in found.items()}


# --- what it says ------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["demo", "telecom"])
def test_each_headline_is_the_number_of_the_terminal(
    which: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    run = app.demo_run()[0] if which == "demo" else app.grade_tau2([require_shared(TELECOM)])
    file: Path = request.getfixturevalue(which)
    with opened(browser, file) as watched:
        shown = headlines(watched.page)
        assert_quiet(watched, file)
    terminal = app.scoreboard(run, width=100)
    rows = board(run.scores).rows
    names = list(run.scores.dimensions)
    expected = {"completion": rows[0].value, "decision": run.scores.decision}
    for name, average, pooled in zip(names, rows[1::2], rows[2::2], strict=True):
        expected |= {
            f"dimension:{name}.task_average": average.value,
            f"dimension:{name}.pooled": pooled.value,
        }
    assert {name: shown[name] for name in expected} == expected
    scores = json.loads(app.json_report(run))
    for name, scored in scores["dimensions"].items():
        line = next(line for line in terminal.splitlines() if line.startswith(f"{name} "))
        assert line.split()[1] == shown[f"dimension:{name}.task_average"].split()[0]
        for kind in ("task_average", "pooled"):
            assert shown[f"dimension:{name}.{kind}"] == f"{100 * scored[kind]['value']:.1f} %"
    completion, rate = scores["completion"], scores["pass_rate"]
    assert shown["completion"] == f"{100 * completion['value']:.1f} %"
    assert shown["pass_rate"] == f"{100 * rate['value']:.1f} %"
    trials = completion["trials"]
    assert shown["completion.trials"] == f"{trials['complete']} of {trials['of']} trials"
    assert set(shown) == {*expected, "pass_rate", "completion.trials"}


def test_the_matrix_holds_every_verdict_as_it_was_scored(page: Page) -> None:
    cells = page.evaluate(
        "[...document.querySelectorAll('#matrix-table .cell')].map(c => [c.dataset.task, Number(c.dataset.trial),"
        " c.dataset.criterion, c.dataset.status, c.textContent])"
    )
    table = app.demo_run()[0].scores
    marks = {"pass": "✓", "fail": "✗"}
    expected = {
        (each.id, trial.trial, entry.id, entry.outcome, marks[entry.outcome])
        for each in table.tasks
        for trial in each.trials
        for entry in trial.criteria
    }
    assert set(map(tuple, cells)) == expected
    assert len(cells) == len(expected) == 14


def test_why_who_and_notices_are_said_as_in_the_terminal(page: Page) -> None:
    view = board(app.demo_run()[0].scores)
    said = " ".join(page.inner_text("main").split())
    for line in (*view.graders, *view.notices, *view.failures.footnotes):
        assert " ".join(line.split()) in said
    for cause in view.failures.shown:
        assert cause.what in said
        assert " ".join(cause.reason.split()) in said
    assert "G1 UNSUPPORTED_STATEMENT in 1 of 1 complete trial" in said
    assert "no licence" in said or "licences: none" in said


def test_it_can_be_read_without_scripts(browser: Browser, demo: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(demo.as_uri())
    said = page.inner_text("body")
    context.close()
    for words in ("FAIL", "33.3 %", "TIMESTAMP_NOT_UTC", "Complete, but", "checkout", "not complete"):
        assert words in said


# --- how it is used ----------------------------------------------------------------------------------


def focused(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(
        "({...document.activeElement.dataset, id: document.activeElement.id})"
    )
    return found


def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("/")
    assert focused(page)["id"] == "matrix-search"
    page.keyboard.type("check")
    assert page.locator("#matrix-table tbody tr").count() == 1
    assert page.inner_text("#live") == "1 trial shown"
    page.fill("#matrix-search", "")
    page.focus(FAILED)
    page.keyboard.press("ArrowDown")
    assert (focused(page)["task"], focused(page)["criterion"]) == ("lookup", "C2")
    page.keyboard.press("End")
    assert focused(page)["criterion"] == "G1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert (focused(page)["task"], focused(page)["criterion"]) == ("checkout", "C3")
    assert page.locator(".cell[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert page.locator("#panel").is_visible()
    assert focused(page)["id"] == "panel-title"
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()
    assert (focused(page)["task"], focused(page)["criterion"]) == ("checkout", "C3")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#keys").is_hidden()


def test_a_verdict_opens_with_its_evidence_in_the_trace(page: Page) -> None:
    page.click(FAILED)
    verdict = page.locator("#panel .verdict.current")
    said = verdict.inner_text()
    for words in (
        "C3",
        "fail",
        "64 * 4 = 256 <= 64",
        "REMEDY_EXCEEDS_CONNECTION_BUDGET",
        "check:expr",
        "correctness",
    ):
        assert words in said
    assert "MUST" in said
    verdict.locator("a", has_text="s0009/args/pool_size_per_instance").click()
    step = page.locator("#panel .step.target")
    assert step.get_attribute("id") == "step-s0009"
    assert step.locator("mark").inner_text() == '"pool_size_per_instance": 64'
    box = step.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 900
    verdict.locator("a", has_text="e3").click()
    assert page.locator("#panel .step.target").get_attribute("id") == "step-s0008"
    assert page.locator("#panel .row.pair").count() >= 3
    assert page.locator("#panel nav a", has_text="s0009 C3").count() == 1


def test_an_address_opens_a_verdict_and_what_it_does_not_know_is_said(browser: Browser, demo: Path) -> None:
    with opened(browser, demo, fragment="#verdict=csv/1/C4") as watched:
        assert watched.page.inner_text("#panel-title") == "csv · C4"
    nasty = "#verdict=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E/1/C1"
    with opened(browser, demo, fragment=nasty) as watched:
        said = watched.page.inner_text("#live")
        assert said == "this report has no verdict <img src=x onerror=alert(1)>/1/C1"
        assert_quiet(watched, demo)


def test_tables_sort_and_filter(page: Page) -> None:
    def column(number: int) -> list[str]:
        return page.locator(f"#tasks-table tbody tr > :nth-child({number})").all_inner_texts()

    head = page.locator("#tasks-table thead th", has_text="completion")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(3) == ["0.0 %", "0.0 %", "100.0 %"]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(1)[0] == "lookup"
    page.fill("#tasks-search", "cs")
    assert column(1) == ["csv"]
    page.locator("#criteria-controls select").select_option(label="grounding")
    assert page.locator("#criteria-table tbody th").all_inner_texts() == ["G1"]
    page.locator("#matrix-controls select").nth(0).select_option("complete")
    assert page.locator("#matrix-table tbody th").all_inner_texts() == ["lookup"]


def test_changed_verdicts_are_shown_and_told(page: Page) -> None:
    page.evaluate(
        "steelyard.onCellsChanged([{task: 'checkout', trial: 1, criterion: 'C3', status: 'pass', score: 1}])"
    )
    cell = page.locator(FAILED)
    assert cell.get_attribute("data-status") == "pass"
    assert cell.get_attribute("aria-label") == "checkout, C3: pass, score 1, what-if; recorded fail"
    page.evaluate("steelyard.onCellsChanged([])")
    assert page.locator(FAILED).get_attribute("data-status") == "fail"


# --- for everybody -----------------------------------------------------------------------------------


def test_its_structure_can_be_heard(page: Page) -> None:
    found = page.evaluate(
        """() => ({
          landmarks: ["header", "main", "nav"].map(n => document.querySelectorAll("body > " + n).length),
          h1: document.querySelectorAll("h1").length,
          ids: [...document.querySelectorAll("[id]")].map(e => e.id),
          heads: [...document.querySelectorAll("main th")].filter(e => !e.scope).length,
          captions: [...document.querySelectorAll("main table")]
            .filter(e => !(e.caption || e.closest("figure"))).length,
          unnamed: [...document.querySelectorAll("button, input, select, a")].filter(e => !(e.getAttribute("aria-label")
            || e.textContent.trim() || e.labels?.length)).length,
          inline: document.querySelectorAll("[style], [onclick], [onerror], [onload]").length,
          lang: document.documentElement.lang,
        })"""
    )
    assert found["landmarks"] == [1, 1, 1]
    assert found["h1"] == 1
    assert len(found["ids"]) == len(set(found["ids"]))
    assert (found["heads"], found["captions"], found["unnamed"]) == (0, 0, 0)
    assert found["lang"] == "en"


CONTRAST = """() => {
  const channel = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const rgb = s => s.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("svg, canvas, :disabled")) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([e.className, e.textContent.slice(0, 30), ratio]);
  }
  return poor;
}"""


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")]
)
def test_nothing_is_cut_or_too_faint(width: int, scheme: str, browser: Browser, telecom: Path) -> None:
    with opened(browser, telecom, width=width, scheme=scheme) as watched:
        page = watched.page
        for opens in (False, True):
            if opens:
                page.locator(".cell").first.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CONTRAST) == []
        assert_quiet(watched, telecom)


@pytest.mark.parametrize("which", ["demo", "telecom"])
def test_it_prints_to_two_pages(
    which: str, browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with opened(browser, request.getfixturevalue(which)) as watched:
        watched.page.click(".cell")
        data = watched.page.pdf(prefer_css_page_size=True)
        watched.page.emulate_media(media="print")
        seen = [
            name for name in ("nav.parts", "#panel", ".controls", ".trace") if watched.page.is_visible(name)
        ]
        assert seen == []
        assert watched.page.is_visible("#matrix-table")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 2


# --- nothing runs (planted markup) -------------------------------------------------------------------

PLANTED = (
    "</script><script>window.pwned=1;alert(1)</script>",
    '<img src=x onerror="window.pwned=1;alert(1)">',
    "\"'><svg onload=alert(1)>",
    "[x](javascript:alert(1)) </template><iframe src=https://example.invalid></iframe>",
    "a\u202egnp.exe\u2028<!--<script>\x1b[2J",
)


def as_id(plant: str) -> str:
    """Ids and names are one line of text: a suite with control characters in them does not load."""
    return "".join(char for char in plant if char.isprintable())


def planted(file: Path, plant: str) -> str:
    """A run in which everything that a stranger may write holds `plant`; returns the folder of further pages."""
    name = as_id(plant)
    entry = criterion("C1", rule=f"The agent MUST do {plant}.", failure_tag=f"T {name}")
    named = criterion(f"C {name}", dimension=f"d {name}", rule="The agent MUST do it.")
    standard = suite(
        task(f"t {name}", entry, named, tags={f"k {name}": name}, expected_behavior=plant),
        name=f"n {name}",
        owner=f"o {name}",
        version=name,
    )
    call = {"name": f"f {plant}", "arguments": json.dumps({plant: plant})}
    record = {
        "task_id": f"t {name}",
        "messages": [
            {"role": "system", "content": plant},
            {"role": "user", "content": f"u {plant} <a href=javascript:alert(1)>x</a>"},
            {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": "1", "content": f"output {plant} " + "x" * 9_000 + plant},
            {"role": "assistant", "content": f"answer {plant}"},
        ],
    }
    recording = file.with_name("recording <img src=x onerror=alert(1)> '\".jsonl")
    recording.write_text(json.dumps(record) + "\n", "utf-8")
    rows = [
        {"task": f"t {name}", "criterion": of, "status": "graded", "score": 0, "failure_tag": f"F {plant}",
         "reason": f"reason \"{plant[:40]}\" {plant}", "evidence_refs": ["s0004", "s0005"],
         "graders": [{"kind": f"judge {plant}", "setup": plant}]}
        for of in ("C1", f"C {name}")
    ]  # fmt: skip
    book = file.with_name("rows.jsonl")
    book.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    other = {"task_id": f"stray {plant}", "messages": [{"role": "user", "content": plant}]}
    with recording.open("a", encoding="utf-8") as more:
        more.write(json.dumps(other) + "\n")
    run = app.grade(standard, app.read_traces(recording), recorded=[book])
    return run.report(file, app.read_traces(recording), date=plant)


@pytest.mark.parametrize("plant", PLANTED)
def test_planted_markup_is_shown_as_text_and_never_runs(plant: str, browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    planted(file, plant)
    with opened(browser, file, fragment="#" + plant) as watched:
        page = watched.page
        body = page.inner_text("body")
        shown, name = visible(plant), as_id(plant)
        for words in (f"n {name}", f"o {name}", f"t {name}", f"C {name}", f"d {name}", f"F {shown}"):
            assert " ".join(words.split()) in " ".join(body.split())
        page.locator("#matrix-table .cell").nth(1).click()
        panel = " ".join(page.inner_text("#panel").split())
        for words in (
            f'reason "{visible(plant[:40])}" {shown}',
            f"judge {shown}",
            f"f {shown}",
            f"answer {shown}",
        ):
            assert " ".join(words.split()) in panel
        page.fill("#matrix-search", plant)
        page.keyboard.press("Escape")
        page.evaluate(
            "location.hash = '#verdict=' + encodeURIComponent('<img src=x onerror=alert(1)>') + '/1/x'"
        )
        page.wait_for_timeout(50)
        assert page.evaluate("window.pwned") is None
        assert page.locator("img, iframe, object, embed, base, form[action]").count() == 0
        hrefs = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
        assert all(href.startswith(("#", "./")) for href in hrefs)
        assert_quiet(watched, file)


def test_a_page_beside_the_report_shows_the_same_text_and_runs_nothing(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.report.html.write.LARGEST_INLINE", 10)
    plant = "".join(PLANTED[:3])
    beside = planted(tmp_path / "report <img src=x>.html", plant)
    (file,) = Path(beside).glob("*.html")
    with opened(browser, file, fragment="#step-s0004") as watched:
        page = watched.page
        said = " ".join(page.inner_text("body").split())
        for words in (
            f"t {plant}#1",
            f"judge {plant}",
            f"f {plant}",
            f"answer {plant}",
            "The agent MUST do it.",
        ):
            assert words in said
        assert (
            page.evaluate("getComputedStyle(document.getElementById('step-s0004')).outlineStyle") == "solid"
        )
        assert page.locator("img, iframe, script").count() == 0
        assert_quiet(watched, file)


def test_a_script_that_got_in_all_the_same_does_not_run(browser: Browser, demo: Path, tmp_path: Path) -> None:
    """The content policy is the second wall: it holds even where markup was written by mistake."""
    file = tmp_path / "broken.html"
    hole = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'><p style='color:red'>x</p>"
    file.write_text(demo.read_text("utf-8").replace("<main", hole + "<main", 1), "utf-8")
    with opened(browser, file) as watched:
        assert watched.page.evaluate("window.pwned") is None
        assert len(watched.errors) >= 3
        assert all("Content Security Policy" in error for error in watched.errors)


# --- many trials -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """2,500 tasks of 4 trials, one in ten of them failed; only a part stands in the page itself."""
    folder = tmp_path_factory.mktemp("many")
    standard = suite(*(task(f"t{number:04}", criterion("C1"), trials=4) for number in range(2_500)))
    rows = (
        {"task": f"t{number:04}", "trial": trial, "criterion": "C1", "status": "graded",
         "score": int((number + trial) % 10 > 0), "reason": "said " * 25}
        for number in range(2_500) for trial in range(1, 5)
    )  # fmt: skip
    book = folder / "rows.jsonl"
    book.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    file = folder / "report.html"
    beside = app.score_rows(standard, book).report(file)
    return file, Path(beside)


def test_keys_cross_pages_and_keep_the_column(browser: Browser, tmp_path: Path) -> None:
    names = ("C1", "C2", "C3")
    standard = suite(task("t", *map(criterion, names), trials=120))
    rows = [graded("t", name, 1, trial) for trial in range(1, 121) for name in names]
    book = tmp_path / "rows.jsonl"
    book.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    file = tmp_path / "report.html"
    app.score_rows(standard, book).report(file)
    with opened(browser, file) as watched:
        page = watched.page
        page.focus('.cell[data-trial="7"][data-criterion="C3"]')
        for key, at in (
            ("PageDown", "57"), ("PageDown", "107"), ("PageDown", "107"), ("PageUp", "57"), ("PageUp", "7"),
            ("PageUp", "7"),
        ):  # fmt: skip
            page.keyboard.press(key)
            assert page.evaluate("({...document.activeElement.dataset})")["trial"] == at
            assert focused(page)["criterion"] == "C3"
        page.focus('.cell[data-trial="50"][data-criterion="C2"]')
        for key, at in (("ArrowDown", "51"), ("ArrowUp", "50"), ("ArrowDown", "51")):
            page.keyboard.press(key)
            assert page.evaluate("({...document.activeElement.dataset})")["trial"] == at
            assert focused(page)["criterion"] == "C2"
            assert page.locator(".cell[tabindex='0']").count() == 1
        assert_quiet(watched, file)


def test_stand_ins_are_no_trials(browser: Browser, tmp_path: Path) -> None:
    standard = suite(task("a", criterion("C1")), task("b", criterion("C1")))
    rows = [
        {"task": "a", "trial": 1, "ended_by": "simulator_fault"},
        {"task": "a", "trial": 2, "ended_by": "infrastructure_fault"},
        graded("b", "C1", 1),
    ]
    book = tmp_path / "rows.jsonl"
    book.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    file = tmp_path / "report.html"
    app.score_rows(standard, book).report(file)
    with opened(browser, file) as watched:
        page = watched.page
        assert "2 tasks · 3 trials" in page.inner_text("header")
        assert "1–4 of 3 trials and 1 stand-in" in page.inner_text("#matrix-controls")
        heads = page.locator("#matrix-table tbody th").all_inner_texts()
        assert heads == ["a#1", "a#2", "a, stand-in", "b"]
        words = page.locator("#matrix-table .state .word").all_inner_texts()
        assert words == ["fault", "fault", "no execution counted", "complete"]
        ended = "every recorded trial ended by infrastructure_fault or simulator_fault"
        assert ended in page.inner_text("#why")
        assert "a#3" not in page.inner_text("body")
        assert_quiet(watched, file)


def test_ten_thousand_trials_stay_usable(browser: Browser, many: tuple[Path, Path]) -> None:
    file, beside = many
    assert file.stat().st_size < 15_000_000
    with opened(browser, file) as watched:
        page = watched.page
        assert page.locator("#matrix-table tbody tr").count() == 50
        assert "1–50 of 10,000 trials" in page.inner_text("#matrix-controls")
        page.locator("#matrix-controls select").nth(0).select_option("not complete")
        assert "1–50 of 1,000 trials" in page.inner_text("#matrix-controls")
        page.locator("#matrix-controls .turn").nth(1).click()
        assert "51–100 of 1,000 trials" in page.inner_text("#matrix-controls")
        page.locator("#matrix-table .cell").first.click()
        assert "said" in page.inner_text("#panel .verdict.current")  # failures stand in the page
        page.keyboard.press("Escape")
        page.fill("#matrix-search", "t2499#4")
        page.locator("#matrix-controls select").nth(0).select_option("")
        page.locator("#matrix-table .cell").first.click()
        page.locator("#panel a", has_text="Reason, evidence and trace").click()
        page.wait_for_url("**/report.files/t2499~4.html")
        assert "said" in page.inner_text("main")
        assert watched.errors == []
    assert beside == file.with_name("report.files")


# --- the command line --------------------------------------------------------------------------------


def steelyard(*words: str, code: int = 0) -> str:
    """Runs the command where the test stands; returns what it says on standard error."""
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def test_the_demo_writes_its_report_and_runs_where_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "wrote report.html" in steelyard("demo")
    assert "REMEDY_EXCEEDS_CONNECTION_BUDGET" in (tmp_path / "report.html").read_text("utf-8")
    assert "wrote report.html" in steelyard("demo", "--json")  # our own report may be replaced
    (tmp_path / "report.html").write_text("my own page")
    assert "no report.html was written" in steelyard("demo")
    assert (tmp_path / "report.html").read_text() == "my own page"


def test_grade_score_and_show_write_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(
        "schema: suite/1\nname: capitals\nowner: jo@example.com\ntasks:\n  - id: france\n    prompt: Capital?\n"
        "    criteria:\n      - {id: C1, dimension: correctness, rule: The answer MUST be Paris., "
        "check: {kind: equals, value: Paris}}\n"
    )
    answer = {"task_id": "france", "messages": [{"role": "user", "content": "Capital?"}]}
    said = {"role": "assistant", "content": "It is Lyon, I am sure."}
    recording = tmp_path / "a.jsonl"
    recording.write_text(json.dumps({**answer, "messages": [*answer["messages"], said]}) + "\n")
    steelyard("grade", "s.yaml", "a.jsonl", "--html", "g.html", "--out", "rows.jsonl", code=1)
    assert "It is Lyon" in (tmp_path / "g.html").read_text("utf-8")
    steelyard("score", "s.yaml", "rows.jsonl", "--html", "s.html", code=1)
    assert "written without the recordings" in (tmp_path / "s.html").read_text("utf-8")
    steelyard("show", "--html", "k.html")
    assert "It is Lyon" in (tmp_path / "k.html").read_text("utf-8")
    recording.write_text(recording.read_text() + "\n")
    assert "has changed since" in steelyard("show", "--html", "k.html")
    assert "has changed since" in (tmp_path / "k.html").read_text("utf-8")
    recording.rename(tmp_path / "moved.jsonl")
    assert "not at a.jsonl any more" in steelyard("show", "--html", "k.html")
    steelyard("show", "--html", "k.html", "--traces", "moved.jsonl", "--why")
    assert "It is Lyon" in (tmp_path / "k.html").read_text("utf-8")
    steelyard("show", "--traces", "moved.jsonl", code=2)
    steelyard("grade", "s.yaml", "moved.jsonl", "--html", "moved.jsonl", code=2)


def test_a_cause_leads_to_its_verdict_with_the_reason_first(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    app.demo_run()[0].report(file, app.demo_traces())
    with opened(browser, file) as watched:
        page = watched.page
        page.click("#why a:text-is('A1')")
        assert page.inner_text("#panel-title") == "csv · A1"
        reason, choices = page.locator("#panel .verdict.current"), page.locator("#panel-whatif")
        above, below = reason.bounding_box(), choices.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] < below["y"], "what was found stands above what could be changed"
        page.click("#why a:text-is('C4')")
        assert page.inner_text("#panel-title") == "csv · C4"
        assert page.locator("#panel-whatif").count() == 1
        assert watched.errors == []
