"""A report replaces what stands there at once, and beside it only what an earlier report wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from steelyard.errors import OutputError
from steelyard.report.html.files import GENERATOR, LIST, replaced

PAGE = f'<!doctype html><meta content="{GENERATOR}">'


def write(file: Path, text: str = PAGE, beside: tuple[str, ...] = (), *, others: bool = True) -> None:
    with replaced(file, others=others) as output:
        output.write(text)
        for name in beside:
            output.beside(name, [f"page {name}"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_report_alone_is_one_file(tmp_path: Path) -> None:
    write(tmp_path / "r.html")
    assert names(tmp_path) == ["r.html"]


def test_further_pages_stand_in_a_folder_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path / "r.html", beside=("a.html", "b.html"))
    assert names(tmp_path) == ["r.files", "r.html"]
    assert names(tmp_path / "r.files") == ["a.html", "b.html", LIST]
    assert (tmp_path / "r.files" / "a.html").read_text() == "page a.html"


def test_a_new_report_takes_away_the_pages_of_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "r.html", beside=("a.html", "b.html"))
    (tmp_path / "r.files" / "mine.txt").write_text("keep")
    write(tmp_path / "r.html", beside=("b.html", "c.html"))
    assert names(tmp_path / "r.files") == ["b.html", "c.html", "mine.txt", LIST]
    write(tmp_path / "r.html")
    assert names(tmp_path / "r.files") == ["mine.txt"]


def test_a_page_that_cannot_be_replaced_keeps_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "r.html", "old", beside=("a.html", "b.html"))
    (tmp_path / "r.files" / "a.html").write_text("old page")
    really = os.replace

    def refused(source: object, target: object) -> None:
        if str(target).endswith("r.html"):
            raise OSError(28, "No space left on device")
        really(source, target)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(OutputError, match="No space left"):
        write(tmp_path / "r.html", beside=("a.html", "c.html"))
    assert names(tmp_path) == ["r.files", "r.html"]
    assert names(tmp_path / "r.files") == ["a.html", "b.html", LIST]
    assert (tmp_path / "r.files" / "a.html").read_text() == "old page"


def test_reports_of_other_endings_do_not_share_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "r.html", beside=("a.html",))
    write(tmp_path / "r.htm", beside=("b.html",))
    assert names(tmp_path) == ["r.files", "r.htm", "r.htm-report.files", "r.html"]
    assert names(tmp_path / "r.files") == ["a.html", LIST]


def test_an_empty_folder_of_ours_goes_too(tmp_path: Path) -> None:
    write(tmp_path / "r.html", beside=("a.html",))
    write(tmp_path / "r.html")
    assert names(tmp_path) == ["r.html"]


def test_the_list_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "r.html", beside=("a.html",))
    (tmp_path / "precious.html").write_text("keep")
    (tmp_path / "r.files" / LIST).write_text(json.dumps(["../precious.html", "a.html", 7, "notes.txt"]))
    (tmp_path / "r.files" / "notes.txt").write_text("keep")
    write(tmp_path / "r.html")
    assert (tmp_path / "precious.html").read_text() == "keep"
    assert names(tmp_path / "r.files") == ["notes.txt"]


def test_a_folder_of_somebody_else_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "r.files").mkdir()
    (tmp_path / "r.files" / "photo.jpg").write_text("x")
    with pytest.raises(OutputError, match="is no folder of a report"):
        write(tmp_path / "r.html", beside=("a.html",))
    assert names(tmp_path) == ["r.files"]


def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "r.files").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="is no folder of a report"):
        write(tmp_path / "r.html", beside=("a.html",))
    assert names(tmp_path / "elsewhere") == []


def test_a_report_that_fails_on_the_way_leaves_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "r.html", "old " + PAGE, beside=("a.html",))

    def half() -> None:
        with replaced(tmp_path / "r.html") as output:
            output.write("new")
            output.beside("b.html", ["new"])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert (tmp_path / "r.html").read_text().startswith("old")
    assert names(tmp_path / "r.files") == ["a.html", LIST]
    assert names(tmp_path) == ["r.files", "r.html"]


def test_another_file_is_replaced_only_when_it_was_named(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("my own page")
    with pytest.raises(OutputError, match="is no report"):
        write(tmp_path / "r.html", others=False)
    assert (tmp_path / "r.html").read_text() == "my own page"
    write(tmp_path / "r.html")
    write(tmp_path / "r.html", PAGE + "again", others=False)
    assert (tmp_path / "r.html").read_text() == PAGE + "again"


def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_text("x")
    (tmp_path / "real.html").chmod(0o600)
    (tmp_path / "r.html").symlink_to("real.html")
    write(tmp_path / "r.html")
    assert (tmp_path / "r.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == PAGE
    assert (tmp_path / "real.html").stat().st_mode & 0o777 == 0o600


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write .*; choose another place"):
        write(tmp_path / "missing" / "r.html")
    with pytest.raises(OutputError, match="is a folder; name a file"):
        write(tmp_path)
    with pytest.raises(OutputError, match="choose another place"):
        write(Path("a\0b"))


def test_a_device_gets_the_page_alone(tmp_path: Path) -> None:
    with replaced(os.devnull) as output:
        assert output.alone
        output.write("x")
    assert names(tmp_path) == []
