"""Bundles: the same run elsewhere, and one sentence for everything else that calls itself a bundle."""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steelyard.errors import InputError, OutputError, StandardError, UsageError
from steelyard.model.standard import Suite
from steelyard.model.table import Primary, ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Errored, Unknown
from steelyard.scoring import score
from steelyard.store import bundle, export_run, import_run, open_store
from stores import a_suite, a_trial, graded, now

PRIMARY = Primary(metric="completion", value=0.5, low=0.5, high=0.75, bar=1.0, declared=False)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A store with two runs of the same day."""
    place = tmp_path / "first.db"
    with open_store(place, now=now) as store:
        for value in (Fraction(1, 3), Fraction(2, 3)):
            grading = store.begin(a_suite(), planned=2, options={"limit": 2})
            third = graded(score=value, reason="1 of 3 – ü 😀")[0]
            store.put_trial(grading, a_trial(), [third, Unknown(task="a", criterion="C2", reason="?")])
            store.put_trial(grading, a_trial("b"), [Errored(task="b", criterion="C1", error="timeout")])
            lost = [Quarantined(where="x:1", reason="cut")]
            store.finish(grading, lost, [ScoreNotice(code="c", detail="d")], primary=PRIMARY, decision="FAIL")
    return place


@pytest.fixture
def packed(first: Path, tmp_path: Path) -> Path:
    """The first of the runs as a bundle."""
    file = tmp_path / "run.zip"
    with open_store(first, now=now) as store:
        assert export_run(store, "2026-11-30-1", file) == "2026-11-30-1"
    return file


def test_scores_and_everything_else_are_the_same_after_import(
    first: Path, packed: Path, tmp_path: Path
) -> None:
    with open_store(first, now=now) as store:
        before = store.load("2026-11-30-1")
    with open_store(tmp_path / "second.db", now=now) as store:
        name = import_run(store, packed)
        after = store.load(name)
        assert store.runs()[0].value == 0.5
    assert after == msgspec.structs.replace(before, suite=msgspec.structs.replace(before.suite, folder="."))
    assert score(after.suite, after.rows) == score(before.suite, before.rows)


def test_a_bundle_of_an_imported_run_is_the_same_file(packed: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "second.db", now=now) as store:
        import_run(store, packed)
        export_run(store, "latest", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_the_same_bundle_again_is_the_same_run(first: Path, packed: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "second.db", now=now) as store:
        assert [import_run(store, packed) for _ in range(3)] == ["2026-11-30-1"] * 3
        assert len(store.runs()) == 1
    with open_store(first, now=now) as store:  # the store that it came from
        assert import_run(store, packed) == "2026-11-30-1"
        assert len(store.runs()) == 2


def test_another_run_of_that_name_stays_and_the_new_one_says_that_it_is_imported(
    first: Path, packed: Path, tmp_path: Path
) -> None:
    with open_store(tmp_path / "second.db", now=now) as store:
        store.begin(a_suite(name="other"), planned=None, options={})
        assert import_run(store, packed) == "2026-11-30-1-imported"
        assert import_run(store, packed) == "2026-11-30-1-imported"
        assert [run.suite for run in store.runs()] == ["other", "capitals"]
        assert store.begin(a_suite(), planned=None, options={}).name == "2026-11-30-2"


def test_an_unfinished_run_stays_unfinished(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db", now=now) as store:
        grading = store.begin(a_suite(), planned=5, options={})
        store.put_trial(grading, a_trial(), [graded()[0]])
        store.flush()
        export_run(store, "latest", tmp_path / "a.zip")
    with open_store(tmp_path / "b.db", now=now) as store:
        run = store.load(import_run(store, tmp_path / "a.zip"))
        assert (run.status, run.planned, len(run.rows)) == ("running", 5, 2)


def test_a_standard_that_is_not_accepted_is_not_imported(packed: Path, tmp_path: Path) -> None:
    def refuse(suite: Suite) -> None:
        raise StandardError([f"{suite.name} is not ours"])

    with open_store(tmp_path / "b.db", now=now) as store:
        with pytest.raises(StandardError, match="capitals is not ours"):
            import_run(store, packed, accept=refuse)
        assert store.runs() == []


def test_export_to_a_place_that_cannot_be_written(first: Path, tmp_path: Path) -> None:
    with open_store(first, now=now) as store:
        with pytest.raises(OutputError, match="choose another place"):
            export_run(store, "2026-11-30-1", tmp_path / "absent" / "run.zip")
        with pytest.raises(UsageError, match="no run"):
            export_run(store, "2025", tmp_path / "run.zip")
    assert not list(tmp_path.glob("*.zip"))


Members = dict[str, bytes]


def members(packed: Path) -> Members:
    with zipfile.ZipFile(packed) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_sums(made: Members, **facts: Any) -> Members:
    """The manifest made right for the members as they are."""
    manifest = json.loads(made["manifest.json"])
    manifest["run"].update(facts)
    for name in manifest["members"]:
        body = made[name]
        manifest["members"][name] = {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}
    return {**made, "manifest.json": json.dumps(manifest).encode()}


def changed(member: str, old: bytes, new: bytes) -> Callable[[Members], Members]:
    def change(made: Members) -> Members:
        assert old in made[member]
        return with_sums({**made, member: made[member].replace(old, new)})

    return change


REFUSED: dict[str, tuple[Callable[[Members], Members], str]] = {
    "other content": (lambda m: {**m, "rows.jsonl": m["rows.jsonl"] + b"\n"}, "checksum differs"),
    "a newer format": (
        lambda m: {**m, "manifest.json": m["manifest.json"].replace(b"run/1", b"run/2")},
        r"format is 'run/2'.*pip install -U",
    ),
    "no manifest": (lambda m: {k: v for k, v in m.items() if k != "manifest.json"}, "each once"),
    "one more": (lambda m: {**m, "more.txt": b""}, "each once; this one holds .*more.txt"),
    "above": (lambda m: {**m, "../evil": b""}, r"each once; this one holds '\.\./evil'"),
    "absolute": (lambda m: {**m, "/etc/x": b""}, "each once"),
    "empty": (lambda m: {}, "each once"),
    "a manifest that is a list": (lambda m: {**m, "manifest.json": b"[]"}, "Expected `object`"),
    "a manifest that is no JSON": (lambda m: {**m, "manifest.json": b"{"}, "truncated"),
    "a path as its name": (lambda m: with_sums(m, name="../../x"), "cannot be the name of a run"),
    "latest as its name": (lambda m: with_sums(m, name="latest"), "cannot be the name of a run"),
    "an odd status": (lambda m: with_sums(m, status="odd"), "Invalid enum value 'odd'"),
    "a score of 7": (changed("rows.jsonl", b'"score":0.33', b'"score":7.33'), "line 2 of rows.jsonl is no row .*0..1"),
    "a number as id": (changed("rows.jsonl", b'"task":"a"', b'"task":7'), "line 1 of rows.jsonl"),
    "an odd verdict": (changed("rows.jsonl", b'"status":"unknown"', b'"status":"fine"'), "line 3 of rows.jsonl"),
    "no status": (changed("rows.jsonl", b'"status":"unknown",', b""), "line 3 of rows.jsonl"),
    "a verdict without its trial": (
        changed("rows.jsonl", b'{"status":"unknown","task":"a"', b'{"status":"unknown","task":"z"'),
        "does not follow its trial",
    ),
    "a negative trial": (changed("rows.jsonl", b'"task":"b"', b'"task":"b","trial":-1'), "the trial number -1"),
    "deep nesting": (
        changed("rows.jsonl", b'"reason":"?"', b'"extracted":{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
        "line 3 of rows.jsonl",
    ),
    "a broken standard": (changed("suite.json", b'"tasks":[', b'"tasks":[7,'), "cannot be imported"),
    "a field of a newer standard": (
        changed("suite.json", b'"owner":', b'"later":1,"owner":'),
        "unknown field `later`",
    ),
    "an odd check": (changed("suite.json", b'"kind":"equals"', b'"kind":7'), "cannot be imported"),
    "a mark that holds nonsense": (changed("suite.json", b'"n":1', b'"n":{"$decimal":[1]}'), "cannot be imported"),
    "a mark that holds no number": (changed("suite.json", b'"n":1', b'"n":{"$decimal":"x"}'), "cannot be imported"),
}  # fmt: skip


def zipped(made: Members) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in made.items():
            archive.writestr(name, body)
    return written.getvalue()


def refusal(tmp_path: Path, content: bytes) -> str:
    file = tmp_path / "bad.zip"
    file.write_bytes(content)
    with open_store(tmp_path / "b.db", now=now) as store:
        with pytest.raises(InputError) as caught:
            import_run(store, file)
        assert store.runs() == []
    assert "\n" not in str(caught.value) and str(file) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_no_bundle_is_refused_in_one_sentence(packed: Path, tmp_path: Path, why: str) -> None:
    change, said = REFUSED[why]
    message = refusal(tmp_path, zipped(change(members(packed))))
    assert re.search(said, message), message


def test_the_changes_above_start_from_a_bundle_that_is_taken(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "good.zip").write_bytes(zipped(with_sums(members(packed))))
    with open_store(tmp_path / "b.db", now=now) as store:
        assert import_run(store, tmp_path / "good.zip") == "2026-11-30-1"


def test_a_file_that_is_no_zip_or_is_cut(packed: Path, tmp_path: Path) -> None:
    content = packed.read_bytes()
    for cut in (b"", b"PK", b"no zip at all" * 50, content[: len(content) // 2]):
        assert "no run bundle" in refusal(tmp_path, cut)
    with open_store(tmp_path / "b.db", now=now) as store:
        with pytest.raises(InputError, match="check the path"):
            import_run(store, tmp_path / "absent.zip")


def test_every_flipped_byte_is_refused_or_changes_nothing(packed: Path, tmp_path: Path) -> None:
    content = packed.read_bytes()
    with open_store(tmp_path / "b.db", now=now) as store:
        name = import_run(store, packed)
        before = store.load(name)
        for position in range(0, len(content), 7):
            (tmp_path / "bad.zip").write_bytes(
                content[:position] + bytes([content[position] ^ 0x24]) + content[position + 1 :]
            )
            try:
                assert import_run(store, tmp_path / "bad.zip") == name
            except InputError:
                continue
        assert len(store.runs()) == 1 and store.load(name) == before


def test_a_bomb_is_refused_before_it_is_unpacked(packed: Path, tmp_path: Path) -> None:
    made = members(packed)
    made["rows.jsonl"] = b"\n" * (bundle.SMALL + 1)
    assert "which no run does" in refusal(tmp_path, zipped(made))


def test_a_member_that_says_it_is_small_is_not_read_further(packed: Path, tmp_path: Path) -> None:
    made = members(packed)
    content = bytearray(zipped({**made, "rows.jsonl": b"\n" * 50_000_000}))
    size = (50_000_000).to_bytes(4, "little")
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = (10).to_bytes(4, "little")
    assert "bad.zip" in refusal(tmp_path, bytes(content))


def test_links_ciphers_and_other_packers_are_refused(packed: Path, tmp_path: Path) -> None:
    made = members(packed)
    for mode, packer, said in (
        (stat.S_IFLNK | 0o777, zipfile.ZIP_DEFLATED, "not a plain file"),
        (stat.S_IFDIR | 0o755, zipfile.ZIP_DEFLATED, "not a plain file"),
        (stat.S_IFREG | 0o644, zipfile.ZIP_LZMA, "packed in a way that is not read"),
    ):
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for name, body in made.items():
                info = zipfile.ZipInfo(name)
                info.external_attr, info.compress_type = mode << 16, packer
                archive.writestr(info, body)
        assert said in refusal(tmp_path, written.getvalue())
    content = bytearray(zipped(made))
    for start in (b"PK\x01\x02", b"PK\x03\x04"):
        at = -1
        while (at := content.find(start, at + 1)) >= 0:
            content[at + (8 if start.endswith(b"\x02") else 6)] |= 1
    assert "is encrypted" in refusal(tmp_path, bytes(content))


def test_a_name_twice_is_refused(packed: Path, tmp_path: Path) -> None:
    made = members(packed)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, body in [*made.items(), ("rows.jsonl", b"")]:
            with (
                pytest.warns(UserWarning, match="Duplicate name")
                if name in archive.namelist()
                else nullcontext()
            ):
                archive.writestr(name, body)
    assert "each once" in refusal(tmp_path, written.getvalue())
