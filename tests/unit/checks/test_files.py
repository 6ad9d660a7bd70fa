"""Files of a state: what is there, what is as it was, and what hostile folders do."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import GraderError
from steelyard.model.checks import ContainsCheck, EqualsCheck, ExprCheck, JsonCheck, NumberCheck, RecordsCheck
from steelyard.model.state_checks import FilesCheck
from steelyard.model.trace import EndState
from steelyard.model.verdict import Undecided
from unit.checks.trials import grade, trace_of, verdict
from unit.checks.worlds import files_in, left, world

OLD, NEW = "a,b\n1,2\n", "a,b\n1,3\n"
START = {"accounts.csv": OLD, "data/x.txt": "x", "data/y.txt": "y"}


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def code_of(spec: Any, trace: Any) -> str:
    with pytest.raises(GraderError) as raised:
        grade(spec, trace)
    return raised.value.code


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    trace = world(tmp_path, start=START, end={**START, "out/report.csv": "r\r\n"})
    spec = FilesCheck(
        exists=("out/report.csv", "out"),
        absent=("tmp", "out/report.json"),
        sha256={"out/report.csv": hashlib.sha256(b"r\r\n").hexdigest().upper()},
        unchanged=("accounts.csv", "data", "*.csv"),
    )
    finding = grade(spec, trace)
    assert verdict(spec, trace) == 1
    assert "file:out/report.csv" in finding.evidence
    assert verdict(FilesCheck(exists=("out/other",)), trace) == 0
    assert '"out/report.csv" is there' in grade(FilesCheck(absent=("out/report.csv",)), trace).reason
    wrong = grade(FilesCheck(sha256={"accounts.csv": "0" * 64}), trace)
    assert wrong.reason == f'"accounts.csv" has the SHA-256 {short(OLD)}, expected 00000000'


def test_every_changed_file_is_named_with_both_hashes(tmp_path: Path) -> None:
    end = {"accounts.csv": NEW, "data/x.txt": "x", "data/z.txt": "z"}
    trace = world(tmp_path, start=START, end=end)
    reason = grade(FilesCheck(unchanged=("**",)), trace).reason
    assert f'"accounts.csv" was changed from {short(OLD)} to {short(NEW)}' in reason
    assert f'"data/y.txt" ({short("y")}) is gone' in reason
    assert f'"data/z.txt" is new ({short("z")})' in reason
    assert "x.txt" not in reason
    assert verdict(FilesCheck(unchanged=("accounts.csv",)), trace) == 0
    assert verdict(FilesCheck(unchanged=("data/x*",)), trace) == 1


@pytest.mark.parametrize(
    ("pattern", "met"),
    [
        ("*.txt", set()),
        ("data/*.txt", {"data/x.txt", "data/y.txt"}),
        ("**/*.txt", {"data/x.txt", "data/y.txt"}),
        ("**/x.txt", {"data/x.txt"}),
        ("data/**", {"data/x.txt", "data/y.txt"}),
        ("data", {"data/x.txt", "data/y.txt"}),
        ("*/?.txt", {"data/x.txt", "data/y.txt"}),
        ("*", {"accounts.csv"}),
        ("**/accounts.csv", {"accounts.csv"}),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, met: set[str]) -> None:
    trace = world(tmp_path, start=START, end={"other": "o"} if pattern != "*" else {})
    finding = grade(FilesCheck(unchanged=(pattern,)), trace)
    if met:
        assert all(f'"{path}" (' in finding.reason for path in met)
        assert finding.reason.count("is gone") == len(met)
    else:
        assert isinstance(finding, Undecided)


def test_what_the_recording_cannot_show_is_unknown(tmp_path: Path) -> None:
    trace = world(tmp_path, end={"a.csv": "1"})
    for spec in (FilesCheck(exists=("x",)), EqualsCheck(of="file:a", value="1")):
        assert isinstance(grade(spec, trace_of()), Undecided)
    assert "no files of its start state" in grade(FilesCheck(unchanged=("a.csv",)), trace).reason
    assert isinstance(grade(FilesCheck(unchanged=("a.csv",)), trace), Undecided)
    both = world(tmp_path / "2", start={"b.csv": "1"}, end={"a.csv": "1"})
    finding = grade(FilesCheck(unchanged=("a.csv",)), both)
    assert isinstance(finding, Undecided)
    assert '"a.csv" was not among the files of the start state' in finding.reason
    # What fails is a fail all the same.
    assert verdict(FilesCheck(unchanged=("a.csv",), exists=("c.csv",)), both) == 0


def test_the_start_state_itself(tmp_path: Path) -> None:
    trace = world(tmp_path, start={"canary": "x"}, end={})
    assert verdict(FilesCheck(absent=("canary",), at="start"), trace) == 0
    assert verdict(FilesCheck(absent=("canary",)), trace) == 1
    assert verdict(EqualsCheck(of="file_before:canary", value="x"), trace) == 1
    assert grade(EqualsCheck(of="file_before:canary", value="x"), trace).evidence == ("file_before:canary",)


def test_a_state_that_is_named_and_not_there_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("x")
    for path in (str(tmp_path / "none"), str(file), "a\0b"):
        trace = trace_of(state_after=EndState(files=path))
        assert code_of(FilesCheck(absent=("x",)), trace) == "bad_state"
        assert code_of(EqualsCheck(of="file:x", value=1), trace) == "bad_state"
    told = trace_of(
        state_after=EndState(faults={"files": "it leads out of the folder", "json": "it is no JSON"})
    )
    assert code_of(FilesCheck(absent=("x",)), told) == "bad_state"
    assert code_of(EqualsCheck(of="state#", value=1), told) == "bad_state"


@pytest.mark.parametrize(
    "path", ["../secret", "a/../../secret", "/etc/passwd", "C:\\x", "..\\secret", "", ".", "a\0"]
)
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("s")
    trace = world(tmp_path, start={"a": ""}, end={"a": ""})
    specs = [
        FilesCheck(exists=(path,)),
        FilesCheck(absent=(path,)),
        FilesCheck(unchanged=(path,)),
        FilesCheck(sha256={path: "0" * 64}),
    ]
    for spec in specs:
        assert code_of(spec, trace) == "bad_path"
    if path:
        assert code_of(EqualsCheck(of=f"file:{path}", value="s"), trace) == "bad_path"


def test_links_are_never_followed_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    trace = world(tmp_path, start={"a": "1"}, end={"a": "1"})
    end = tmp_path / "end"
    (end / "out").symlink_to(tmp_path / "secret")
    (end / "up").symlink_to(tmp_path)
    (end / "in").symlink_to("a")
    (end / "loop").symlink_to("loop")
    for path in ("out", "up/secret", "up"):
        assert code_of(FilesCheck(exists=(path,)), trace) == "bad_state"
        assert code_of(EqualsCheck(of=f"file:{path}", value="s"), trace) == "bad_state"
    assert verdict(EqualsCheck(of="file:in", value="1"), trace) == 1
    assert verdict(EqualsCheck(of="file:loop", value="1"), trace) == 0
    assert verdict(FilesCheck(absent=("loop",)), trace) == 0
    assert verdict(FilesCheck(absent=("out",)), trace) == 0
    # A listing compares where links point, and follows none.
    reason = grade(FilesCheck(unchanged=("**",)), trace).reason
    assert '"up" is new' in reason and "secret" not in reason


def test_a_file_that_became_a_link_is_changed(tmp_path: Path) -> None:
    trace = world(tmp_path, start={"a": "1", "b": "1"}, end={"b": "1"})
    (tmp_path / "end" / "a").symlink_to("b")
    assert verdict(FilesCheck(unchanged=("a",)), trace) == 0
    assert verdict(FilesCheck(unchanged=("b",)), trace) == 1


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    trace = world(tmp_path, start={}, end={})
    os.mkfifo(tmp_path / "end" / "pipe")
    assert "no regular file" in grade(EqualsCheck(of="file:pipe", value=""), trace).reason
    assert verdict(FilesCheck(sha256={"pipe": "0" * 64}), trace) == 0


def test_odd_names_and_contents(tmp_path: Path) -> None:
    names = ["a b.txt", "ü.txt", "[x].txt", "*.txt", "emoji\U0001f600", "a'b\"c", "x" * 200]
    trace = world(tmp_path, start=dict.fromkeys(names, "1"), end=dict.fromkeys(names, "1"))
    assert verdict(FilesCheck(exists=tuple(names), unchanged=tuple(names)), trace) == 1
    with open(os.path.join(os.fsencode(tmp_path / "end"), b"bad\xff\nname"), "w") as file:
        file.write("x")
    finding = grade(FilesCheck(unchanged=("**",)), trace)
    assert "is new" in finding.reason
    assert finding.reason.encode() and all(ref.encode() for ref in finding.evidence)


def test_text_of_a_file(tmp_path: Path) -> None:
    end: dict[str, str | bytes] = {
        "bom.txt": b"\xef\xbb\xbfhello\r\nworld\r\n",
        "utf16.txt": "x".encode("utf-16"),
        "bytes.bin": b"ok\n\xff\xfe\x00",
        "n.json": '{"n": 16, "rows": [1, 2]}',
        "n.txt": "16\n",
    }
    trace = world(tmp_path, end=end)
    assert verdict(EqualsCheck(of="file:bom.txt", value="hello\nworld"), trace) == 1
    assert verdict(ContainsCheck(of="file:bom.txt", all=("hello\nworld",)), trace) == 1
    assert "UTF-16" in grade(ContainsCheck(of="file:utf16.txt", any=("x",)), trace).reason
    assert "not valid UTF-8 (line 2)" in grade(ContainsCheck(of="file:bytes.bin", any=("ok",)), trace).reason
    assert verdict(JsonCheck(of="file:n.json", pointer="/n", value=16), trace) == 1
    assert verdict(RecordsCheck(of="file:n.json", expected=(1,)), trace) == 0
    assert verdict(NumberCheck(of="file:n.txt", value=16), trace) == 1
    assert "there is no file" in grade(EqualsCheck(of="file:none", value=1), trace).reason
    assert (
        "is a folder"
        in grade(EqualsCheck(of="file:d", value=1), world(tmp_path / "2", end={"d/e": ""})).reason
    )
    assert verdict(ExprCheck(expr="size == '16\\n'", let={"size": "file:n.txt"}), trace) == 1


def test_a_file_that_is_too_large_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.checks.states.MAX_TEXT", 10)
    trace = world(tmp_path, end={"big": "x" * 11, "fits": "x" * 10})
    assert code_of(ContainsCheck(of="file:big", any=("x",)), trace) == "too_large"
    assert verdict(ContainsCheck(of="file:fits", any=("x",)), trace) == 1
    monkeypatch.setattr("steelyard.checks.states.MAX_ENTRIES", 1)
    both = trace_of(
        state_after=EndState(files=files_in(tmp_path / "end", {})), state_before=EndState(files=str(tmp_path))
    )
    assert code_of(FilesCheck(unchanged=("**",)), both) == "too_large"


def test_json_states_by_selector() -> None:
    trace = left({"orders": {"7": {"status": "open", "gone": None}}}, {"orders": {}})
    assert verdict(EqualsCheck(of="state#/orders/7/status", value="open"), trace) == 1
    assert grade(EqualsCheck(of="state#/orders/7/status", value="x"), trace).evidence == (
        "state:orders/7/status",
    )
    assert verdict(EqualsCheck(of="state_before#/orders", value={}), trace) == 1
    assert grade(EqualsCheck(of="state_before#/orders", value={}), trace).evidence == ("state_before:orders",)
    absent = grade(EqualsCheck(of="state#/orders/8", value=1), trace)
    assert absent.reason == 'the end state holds nothing at "/orders/8"'
    assert verdict(EqualsCheck(of="state#/orders/8", value=1), trace) == 0


def test_states_in_expressions() -> None:
    trace = left({"orders": {"7": {"n": 2}}, "total": 2, "closed": None})
    assert verdict(ExprCheck(expr="state.orders['7'].n == state.total"), trace) == 1
    assert grade(ExprCheck(expr="state.total == 2"), trace).evidence == ("state:total",)
    lacking = grade(ExprCheck(expr="state.orders['8'].n == 2"), trace)
    assert (lacking.value, lacking.failure_tag) == (0, None)
    assert verdict(ExprCheck(expr="x == 2", let={"x": "state#/nope"}), trace) == 0
    assert verdict(ExprCheck(expr="x == None", let={"x": "state#/closed"}), trace) == 1
    assert isinstance(grade(ExprCheck(expr="state.total == 2"), trace_of()), Undecided)
