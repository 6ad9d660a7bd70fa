"""Row files: bad lines are named, and what is written is written whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.app import files
from steelyard.app.files import read_row_file, write_row_file, write_whole
from steelyard.errors import InputError, OutputError
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Graded, TrialRow, Unknown

LINE = b'{"task": "a", "criterion": "C1", "status": "graded", "score": 1}'


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_lines_are_numbered_as_an_editor_numbers_them(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + LINE + b"\r\n\n  \nnonsense\n" + LINE)
    found = list(read_row_file(path))
    assert [type(row) for row in found] == [Graded, Quarantined, Graded]
    assert isinstance(found[1], Quarantined)
    assert found[1].where == f"{path}:4"


def test_a_cut_last_line_is_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(LINE + b"\n" + LINE[:30])
    assert [type(row) for row in read_row_file(str(path))] == [Graded, Quarantined]


def test_a_line_that_is_too_long_is_quarantined_and_the_next_one_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_LINE", 100)
    path = tmp_path / "r.jsonl"
    path.write_bytes(LINE + b"\n" + b"x" * 1_000 + b"\n" + LINE + b"\n" + b"y" * 101 + b"\n" + b"z" * 505)
    found = list(read_row_file(path))
    assert [type(row) for row in found] == [Graded, Quarantined, Graded, Quarantined, Quarantined]
    lost = [row for row in found if isinstance(row, Quarantined)]
    assert [row.where.rpartition(":")[2] for row in lost] == ["2", "4", "5"]
    assert all("longer than" in row.reason for row in lost)


@pytest.mark.parametrize("path", ["missing.jsonl", ".", "missing/rows.jsonl", "nul\0.jsonl", "x" * 5_000])
def test_a_file_that_cannot_be_read_is_an_input_error(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot read the rows"):
        list(read_row_file(path))


def test_rows_are_written_as_they_are_read(tmp_path: Path) -> None:
    rows = [
        TrialRow(task="a", ended_by="agent_stop"),
        Graded(task="a", criterion="C1", score=0.5),
        Unknown(task="a", criterion="C2", reason="two\nlines"),
        Quarantined(where="t.jsonl:3", reason="cut off"),
    ]
    path = tmp_path / "r.jsonl"
    write_row_file(path, rows)
    assert path.read_bytes().count(b"\n") == len(rows)
    assert list(read_row_file(path)) == rows


def test_no_rows_make_an_empty_file(tmp_path: Path) -> None:
    write_row_file(tmp_path / "r.jsonl", [])
    assert (tmp_path / "r.jsonl").read_bytes() == b""
    assert list(read_row_file(tmp_path / "r.jsonl")) == []


def test_an_older_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("older and longer")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == {"r.txt"}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_an_older_file_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "secret.jsonl"
    path.write_text("older")
    path.chmod(mode)
    write_whole(path, b"new")
    assert path.stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "r.txt", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "r.txt").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to("real/file.txt")
    for text in (b"first", b"second"):
        write_whole(link, text)
        assert link.is_symlink()
        assert (tmp_path / "real" / "file.txt").read_bytes() == text
    assert names(tmp_path / "real") == {"file.txt"}


def test_a_name_as_long_as_the_file_system_allows_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize(
    "path", ["missing/r.txt", ".", "", "file/r.txt", "nul\0.txt", "x" * 300, "/proc/r.txt"]
)
def test_a_place_that_cannot_be_written_is_an_output_error(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a file, not a folder")
    with pytest.raises(OutputError, match="cannot write"):
        write_whole(path, b"new")
    assert names(tmp_path) == {"file"}
    assert (tmp_path / "file").read_text() == "a file, not a folder"


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


class FullFile:
    """An open file on a disk that is full."""

    def __init__(self, handle: int, mode: str) -> None:
        self.handle = handle

    def __enter__(self) -> FullFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)

    def write(self, data: bytes) -> int:
        os.write(self.handle, data[:1])
        return full()


@pytest.mark.parametrize("failing", ["mkstemp", "write", "chmod", "replace"])
def test_a_full_disk_leaves_the_older_file_and_no_remains(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.txt"
    path.write_text("older")
    where, what = {
        "mkstemp": ("tempfile.mkstemp", full), "write": ("os.fdopen", FullFile),
        "chmod": ("os.chmod", full), "replace": ("os.replace", full),
    }[failing]  # fmt: skip
    monkeypatch.setattr(where, what)
    with pytest.raises(OutputError, match="No space left on device"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert path.read_text() == "older"
    assert names(tmp_path) == {"r.txt"}


def test_an_interrupt_while_writing_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "r.txt"
    path.write_text("older")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert path.read_text() == "older"
    assert names(tmp_path) == {"r.txt"}


def test_rows_that_fail_half_way_leave_the_older_file(tmp_path: Path) -> None:
    def rows() -> Iterator[Graded]:
        yield Graded(task="a", criterion="C1", score=1.0)
        raise RuntimeError("no more")

    path = tmp_path / "r.jsonl"
    path.write_text("older")
    with pytest.raises(RuntimeError):
        write_row_file(path, rows())
    assert path.read_text() == "older"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"through")
    reader.join(10)
    assert got == [b"through"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays_a_device() -> None:
    write_whole("/dev/null", b"gone")
    assert Path("/dev/null").is_char_device()


SCRIPT = """
import sys
from steelyard.app.files import write_whole
print("before", flush=True)
write_whole(sys.argv[1], b"written\\n")
print("after")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/dev/../dev/stdout"])
def test_standard_output_is_written_in_order_even_into_a_file(name: str, tmp_path: Path) -> None:
    """Redirected into a file, /dev/stdout names that file: replacing it would lose what others write there."""
    target = tmp_path / "out.txt"
    with open(target, "wb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, name], stdout=stream, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 0, done.stderr
    assert target.read_text() == "before\nwritten\nafter\n"
    piped = subprocess.run([sys.executable, "-c", SCRIPT, name], capture_output=True, check=True)
    assert piped.stdout == b"before\nwritten\nafter\n"
    assert Path("/dev/stdout").is_symlink()


def test_standard_error_is_no_file_either(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, "/dev/stderr"], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"before\nafter\n", b"written\n")


def test_a_stream_that_is_not_open_is_an_output_error() -> None:
    with pytest.raises(OutputError, match="cannot write /dev/fd/999"):
        write_whole("/dev/fd/999", b"new")
