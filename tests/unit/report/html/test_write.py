"""A report is one file; trials beyond its budget stand beside it, those that are not complete last to go."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scored import criterion, graded, scored, suite, task
from steelyard.model.standard import Suite
from steelyard.model.trace import Part, Source, Step, Trace
from steelyard.report.html import document
from steelyard.report.html.write import write_page

TASKS = ("a", "A", "../up", "con", "done")


def standard() -> Suite:
    return suite(*(task(name, criterion("C1")) for name in TASKS))


def trace(name: str, size: int = 10) -> Trace:
    part = Part(kind="text", text=f"answer of {name} " + "x " * size)
    step = Step(id="s0001", uid="u", seq=0, turn=0, kind="assistant", role="assistant", parts=(part,))
    return Trace(id=name, source=Source(format="f", importer="f"), steps=(step,))


def write(file: Path, verdicts: Mapping[str, int], names: Sequence[str] = TASKS, **settings: Any) -> str:
    table = scored(standard(), [graded(name, "C1", score) for name, score in verdicts.items()])
    write_page(
        file,
        table=table,
        suite=standard(),
        traces=((name, 1, trace(name, 200)) for name in names),
        **settings,
    )
    return file.read_text("utf-8")


VERDICTS = {"a": 1, "A": 1, "../up": 0, "con": 1, "done": 1}


def test_all_of_a_small_run_is_in_one_file(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", VERDICTS)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert all(f"answer of {name}" in page for name in TASKS)


def test_what_does_not_fit_stands_beside_it_under_names_of_its_own(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", VERDICTS, inline=2_500)
    assert "answer of ../up" in page  # the failure stays in the page
    beside = sorted(path.name for path in (tmp_path / "r.files").iterdir())
    assert beside == ["+41~1.html", "+63on~1.html", "a~1.html", "done~1.html", "steelyard-files.json"]
    side = (tmp_path / "r.files" / "+41~1.html").read_text("utf-8")
    assert "answer of A" in side
    assert "The result MUST satisfy C1." in side
    assert "script-src &#x27;none&#x27;" in side
    data = json.loads(re.findall(r'id="page-data">(.*?)</script>', page)[0])
    files = {row["label"]: row.get("file") for row in data["matrix"]}
    assert files == {
        "a": "r.files/a~1.html", "A": "r.files/+41~1.html", "../up": None, "con": "r.files/+63on~1.html",
        "done": "r.files/done~1.html",
    }  # fmt: skip


def test_tables_that_need_the_room_leave_less_for_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write(tmp_path / "whole.html", VERDICTS)
    most = len(whole.encode()) - 100  # all but one trial fit
    monkeypatch.setattr("steelyard.report.html.write.LARGEST_PAGE", most)
    page = write(tmp_path / "r.html", VERDICTS)
    assert len(page.encode()) <= most
    assert (tmp_path / "r.files").is_dir()
    assert "answer of ../up" in page, "the failure stays in the page"


def test_a_trial_without_a_recording_says_so(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", VERDICTS, names=("a",))
    assert page.count("There is no recording of this trial.") == len(TASKS) - 1


def test_only_the_first_recording_of_a_trial_is_shown(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", VERDICTS, names=("a", "a", "stranger"))
    assert page.count("answer of a ") == 1
    assert "stranger" not in page


def test_a_reading_error_leaves_no_half_report(tmp_path: Path) -> None:
    def broken() -> Any:
        yield "a", 1, trace("a")
        raise RuntimeError

    table = scored(standard(), [graded("a", "C1", 1)])
    with pytest.raises(RuntimeError):
        write_page(tmp_path / "r.html", table=table, suite=standard(), traces=broken())
    assert list(tmp_path.iterdir()) == []


def test_the_policy_allows_exactly_what_stands_in_the_page(tmp_path: Path) -> None:
    page = write(tmp_path / "r.html", VERDICTS)
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0].replace("&#x27;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    allowed = set(re.findall(r"'sha256-[^']+'", policy))
    assert allowed == {document.digest(source) for source in (*scripts, *styles)}
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    assert "base-uri 'none'; form-action 'none'" in policy
    assert not re.search(r"<[^>]+\s(?:style|on\w+)=", page[: page.index("<script>")])


@pytest.mark.parametrize("name", [*document.STYLES, *document.SCRIPTS])
def test_every_asset_is_there_and_loads_nothing(name: str) -> None:
    source = document.asset(name)
    assert len(source) > 200
    assert not re.search(
        r"https?:|//\w+\.|@import|url\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval", source
    )


def test_an_asset_that_would_end_its_element_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "asset", lambda name: "x </SCRIPT> y")
    with pytest.raises(ValueError, match="would end its element"):
        document.assets(["a.js"])
