"""`--states`: folders by task and trial, with odd ids and odd contents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from steelyard.app.states import attach
from steelyard.errors import GraderError, UsageError
from steelyard.model.checks import EqualsCheck
from steelyard.model.names import safe_name
from steelyard.model.state_checks import FilesCheck, SqlCheck
from steelyard.model.trace import EndState, Trace
from unit.checks.trials import grade, said, trace_of, verdict
from unit.checks.worlds import database, files_in

TRACE = trace_of(said("done"))


def codes(trace: Trace) -> list[str]:
    return [notice.code for notice in trace.notices]


@pytest.mark.parametrize(
    "task", ["plain", "a/b", "a:b", "CON", "..", "A", "x" * 300, "\U0001f600", "", "a b", "-", ".hidden"]
)
def test_the_folder_of_a_task_is_its_safe_name(tmp_path: Path, task: str) -> None:
    end = files_in(tmp_path / safe_name(task) / "2" / "end", {"out.txt": "1\r\n"})
    trace = attach(TRACE, task, 2, tmp_path)
    assert trace.state_after == EndState(files=end)
    assert trace.state_before is None
    assert codes(trace) == []
    assert verdict(EqualsCheck(of="file:out.txt", value="1"), trace) == 1
    assert codes(attach(TRACE, task, 1, tmp_path)) == ["no_state"]


def test_a_plain_id_may_be_the_name_itself(tmp_path: Path) -> None:
    end = files_in(tmp_path / "Order-7.b" / "1" / "end", {})
    assert attach(TRACE, "Order-7.b", 1, tmp_path).state_after == EndState(files=end)
    assert attach(TRACE, "order-7.b", 1, tmp_path).state_after is None
    files_in(tmp_path / "x" / "1" / "end", {})
    for task in ("../x", "x/", "./x", "x/../x", str(tmp_path / "x")):
        assert attach(TRACE, task, 1, tmp_path).state_after is None


def test_every_part_of_a_state(tmp_path: Path) -> None:
    here = tmp_path / "t" / "1"
    files_in(here / "end", {"state.json": '\ufeff{"n": [1, 1.5]}', "files/a": "1"})
    path = database(here / "end" / "shop.sqlite", "CREATE TABLE t (a)", "INSERT INTO t VALUES (7)")
    files_in(here / "start", {"a": "0", "b.csv": ""})
    trace = attach(TRACE, "t", 1, str(tmp_path))
    assert trace.state_after == EndState(files=str(here / "end" / "files"), sqlite=path, json={"n": [1, 1.5]})
    assert trace.state_before == EndState(files=str(here / "start"))
    assert verdict(SqlCheck(query="SELECT a FROM t", rows=([7],)), trace) == 1
    assert verdict(FilesCheck(unchanged=("a",)), trace) == 0


def refused(spec: Any, trace: Trace) -> str:
    with pytest.raises(GraderError) as raised:
        grade(spec, trace)
    return raised.value.code


@pytest.mark.parametrize(
    "content", [b"{", b"\xff", b"", b"NaN", b'{"a": 1, "a": 2}', b"[" * 100_000, b"1 2", "1".encode("utf-16")]
)
def test_json_that_cannot_be_read_is_an_error_of_its_checks_alone(tmp_path: Path, content: bytes) -> None:
    files_in(tmp_path / "t" / "1" / "end", {"state.json": content})
    trace = attach(TRACE, "t", 1, tmp_path)
    assert refused(EqualsCheck(of="state#", value=1), trace) == "bad_state"
    assert verdict(FilesCheck(exists=("state.json",)), trace) == 1


def test_several_databases_and_links_that_lead_out(tmp_path: Path) -> None:
    end = tmp_path / "t" / "1" / "end"
    files_in(end, {"a.db": "", "b.sqlite": ""})
    spec = SqlCheck(query="SELECT 1", rows=([1],))
    assert refused(spec, attach(TRACE, "t", 1, tmp_path)) == "bad_state"
    assert verdict(SqlCheck(query="SELECT 1", rows=([1],), db="a.db"), attach(TRACE, "t", 1, tmp_path)) == 1
    (end / "b.sqlite").unlink()
    assert verdict(spec, attach(TRACE, "t", 1, tmp_path)) == 1
    (end / "a.db").unlink()
    secret = database(tmp_path / "secret.db", "CREATE TABLE t (a)")
    (end / "a.db").symlink_to(secret)
    (end / "state.json").symlink_to("/etc/hostname")
    trace = attach(TRACE, "t", 1, tmp_path)
    assert refused(spec, trace) == "bad_state"
    assert refused(EqualsCheck(of="state#", value=1), trace) == "bad_state"


def test_a_pipe_in_place_of_the_json_is_not_waited_for(tmp_path: Path) -> None:
    files_in(tmp_path / "t" / "1" / "end", {})
    os.mkfifo(tmp_path / "t" / "1" / "end" / "state.json")
    assert refused(EqualsCheck(of="state#", value=1), attach(TRACE, "t", 1, tmp_path)) == "bad_state"


def test_the_states_given_stand_for_those_of_the_recording(tmp_path: Path) -> None:
    own = trace_of(said("done"), state_after=EndState(json=1), state_before=EndState(json=0))
    files_in(tmp_path / "t" / "1" / "end", {"state.json": "2"})
    trace = attach(own, "t", 1, tmp_path)
    assert verdict(EqualsCheck(of="state#", value=2), trace) == 1
    assert verdict(EqualsCheck(of="state_before#", value=0), trace) == 1
    assert codes(trace) == ["state_replaced"]
    assert attach(own, "other", 1, tmp_path).state_after == own.state_after


def test_no_folder_is_no_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        attach(TRACE, "t", 1, tmp_path / "none")
