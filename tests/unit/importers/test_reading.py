from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import InputError, NothingEvaluatedError, UsageError
from steelyard.importers import building, known_formats, long_records, read_traces, reading
from steelyard.importers.reading import find_files, read_records
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.importer import Record

ANSWER = {"task_id": "q7", "output": "Paris"}


def records(file: Path, raw: bytes) -> list[Record | Quarantined]:
    file.write_bytes(raw)
    return list(read_records(str(file)))


def values(found: list[Record | Quarantined]) -> list[Any]:
    return [record.value if isinstance(record, Record) else None for record in found]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.ndjson", "a"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_json_lines_are_seen_by_content(tmp_path: Path, name: str, newline: bytes, bom: bytes) -> None:
    raw = bom + newline.join([b'{"a": 1}', b"", b'{"a": 2}', b"  ", b'[{"a": 3}]', b""])
    found = records(tmp_path / name, raw)
    assert values(found) == [{"a": 1}, {"a": 2}, [{"a": 3}]]
    assert [record.where for record in found] == [f"{tmp_path / name}:{line}" for line in (1, 3, 5)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a"])
@pytest.mark.parametrize("value", [{"a": [1, {"b": 2}]}, [{"a": 1}, {"a": 2}]])
def test_a_document_over_several_lines_is_one_record(tmp_path: Path, name: str, value: Any) -> None:
    found = records(tmp_path / name, b"\xef\xbb\xbf\n" + json.dumps(value, indent=2).encode())
    assert values(found) == [value]


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (record,) = records(tmp_path / "a.json", b"{}")
    assert isinstance(record, Record)
    assert record.file_sha256 == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_broken_line_is_quarantined_and_the_rest_goes_on(tmp_path: Path, name: str) -> None:
    lines = [
        b'{"a": 1}',
        b'{"a": ',
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"a": "\x00"}',
        b'{"a": 2}',
        b'{"a": 3',
    ]
    found = records(tmp_path / name, b"\n".join(lines))
    assert values(found) == [{"a": 1}, None, None, None, None, {"a": 2}, None]
    lost = [record for record in found if isinstance(record, Quarantined)]
    assert [entry.where.rsplit(":", 1)[1] for entry in lost] == ["2", "3", "4", "5", "7"]
    assert all(entry.reason.startswith("The line cannot be read as JSON: ") for entry in lost)
    assert all(entry.reason.endswith(".") and "\n" not in entry.reason for entry in lost)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_broken_first_line_does_not_hide_the_others(tmp_path: Path, name: str) -> None:
    found = records(tmp_path / name, b'{"a": \n{"a": 1}\n{"a": 2}\n')
    assert values(found) == [None, {"a": 1}, {"a": 2}]
    assert found[0].where.endswith(":1")


def test_a_cut_document_is_quarantined(tmp_path: Path) -> None:
    (lost,) = records(tmp_path / "a.json", json.dumps([ANSWER] * 3, indent=1).encode()[:-10])
    assert isinstance(lost, Quarantined)
    assert lost.reason.startswith("The file cannot be read as JSON: ")


@pytest.mark.parametrize("raw", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_holds_nothing_and_loses_nothing(tmp_path: Path, raw: bytes) -> None:
    assert records(tmp_path / "a.jsonl", raw) == []


def test_lines_are_streamed(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1}\n' * 3)
    stream = read_records(str(file))
    assert isinstance(next(stream), Record)
    stream.close()  # type: ignore[attr-defined]


def test_folders_and_patterns_give_their_files_in_order(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", "sub/c.ndjson", "notes.txt", ".hidden/d.json", "sub/.e.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    inside = [str(tmp_path / name) for name in ("a.json", "b.jsonl", "sub/c.ndjson")]
    assert list(find_files(tmp_path)) == inside
    assert list(find_files(str(tmp_path / "*.json*"))) == inside[:2]
    assert find_files([tmp_path / "b.jsonl", tmp_path]) == {
        inside[1]: True,
        inside[0]: False,
        inside[2]: False,
    }


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    file = tmp_path / "run[1].jsonl"
    file.write_text(json.dumps(ANSWER))
    (found,) = read_traces(file)
    assert isinstance(found, Trace)


def test_a_missing_file_is_an_input_error_before_reading_starts(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file or folder .*absent\.jsonl"):
        read_traces(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="NUL"):
        read_traces("a\0b")


def test_an_unreadable_file_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("{}")

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match="Permission denied"):
        list(read_traces(file))


def test_a_folder_or_pattern_without_files_evaluates_nothing(tmp_path: Path) -> None:
    for path in (tmp_path, str(tmp_path / "*.jsonl")):
        with pytest.raises(NothingEvaluatedError, match="matches no|holds no"):
            read_traces(path)
    with pytest.raises(NothingEvaluatedError, match="No trace file"):
        read_traces([])


def test_an_unknown_format_names_the_known_ones_and_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"name": "x", "version": 1}')
    with pytest.raises(InputError) as error:
        list(read_traces(file))
    assert "keys 'name', 'version'" in str(error.value)
    assert all(name in str(error.value) for name in known_formats())


@pytest.mark.parametrize("value", [42, "text", None, [], {}, [[]], [1, 2], True, 1.5])
def test_documents_that_are_no_recording_are_an_input_error(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(value))
    with pytest.raises(InputError, match="has a known format"):
        list(read_traces(file))


def test_unknown_lines_beside_known_ones_are_quarantined(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(json.dumps(value) for value in (5, ANSWER, {"a": 1}, "x", [ANSWER, {"b": 1}])))
    found = list(read_traces(file))
    assert [isinstance(one, Trace) for one in found] == [False, True, False, False, True, False]
    assert [one.where for one in found if isinstance(one, Quarantined)] == [
        f"{file}:1",
        f"{file}:3",
        f"{file}:4",
        f"{file}:5#/1",
    ]


def test_other_files_of_a_folder_do_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"name": "x"}')
    (tmp_path / "b.json").write_text(json.dumps(ANSWER))
    lost, found = read_traces(tmp_path)
    assert isinstance(lost, Quarantined)
    assert isinstance(found, Trace)
    (tmp_path / "b.json").unlink()
    with pytest.raises(InputError, match="known format"):
        list(read_traces(tmp_path))


def test_a_format_can_be_forced(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(ANSWER))
    assert len(list(read_traces(file, format="openai_chat"))) == 1
    with pytest.raises(InputError):
        list(read_traces(file, format="tau2"))
    with pytest.raises(UsageError, match="no trace format 'openai'.*openai_chat"):
        read_traces(file, format="openai")


def test_messages_one_a_line_are_told_how_to_be_written(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n')
    with pytest.raises(InputError, match="belong in one list, under 'messages'"):
        list(read_traces(file))


@pytest.fixture
def _short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONG", 64)
    monkeypatch.setattr(reading, "BLOCK", 16)
    monkeypatch.setattr(long_records, "MOST_TEXT", 24)


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_long_lines_are_read_in_blocks_like_short_ones(tmp_path: Path, name: str) -> None:
    long, blank = {"a": "x" * 500, "b": "y" * 90}, b" " * 200
    lines = [
        json.dumps(long).encode(),
        blank,
        b'{"a": 1}',
        b'{"a": "' + b"z" * 300,
        json.dumps([long]).encode(),
    ]
    found = records(tmp_path / name, b"\xef\xbb\xbf" + b"\n".join(lines))
    assert values(found) == [long, {"a": 1}, None, [long]]
    assert [record.where.rsplit(":", 1)[1] for record in found] == ["1", "3", "4", "5"]


@pytest.mark.usefixtures("_short_blocks")
@pytest.mark.parametrize("indent", [None, 2])
def test_a_long_document_is_one_record(tmp_path: Path, indent: int | None) -> None:
    value = [{"a": "x" * 500}, {"b": ["y" * 90, 1]}]
    found = records(tmp_path / "a.json", b"\n" + json.dumps(value, indent=indent).encode() + b"\n\n")
    assert values(found) == [value]
    assert [(record.where, getattr(record, "line", 0)) for record in found] == [
        (str(tmp_path / "a.json"), None)
    ]


@pytest.mark.usefixtures("_short_blocks")
def test_a_broken_long_first_line_does_not_hide_the_others(tmp_path: Path) -> None:
    found = records(tmp_path / "a.json", b'{"a": "' + b"x" * 300 + b'\n{"a": 1}\n')
    assert values(found) == [None, {"a": 1}]


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    for raw, expected in ((b'{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]), (b'{\n"a":\n\n1}', [{"a": 1}])):
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(raw,))
        writer.start()
        assert values(list(read_records(str(pipe)))) == expected
        writer.join()
        pipe.unlink()


def test_a_long_result_is_decoded_where_its_long_texts_make_it_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "MOST_DECODED", 64)
    monkeypatch.setattr(long_records, "MOST_TEXT", 24)
    monkeypatch.setattr(long_records, "BLOCK", 16)
    outputs = [
        json.dumps({"log": "x" * 500}),
        json.dumps(list(range(100))),
        "{ " + "x" * 100 + " }",
        "x" * 200,
    ]
    messages: list[Any] = [{"role": "user", "content": "Go"}]
    for number, output in enumerate(outputs):
        call = {"id": str(number), "function": {"name": "f", "arguments": "{}"}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": output})
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"messages": messages}))
    (trace,) = read_traces(file)
    assert isinstance(trace, Trace)
    results = [step.result.value for step in trace.steps if step.result is not None]
    assert results == [{"log": "x" * 500}, *outputs[1:]]
    assert [(notice.code, notice.step) for notice in trace.notices] == [("large_result", "s0005")]
