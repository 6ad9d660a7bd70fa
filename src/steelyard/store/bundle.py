"""One run as a file that can be carried to another store: a zip of JSON, checked before anything of it is believed.

    manifest.json   format `run/1`, who wrote it, the run's facts, and size and SHA-256 of the other two
    suite.json      the standard
    rows.jsonl      a trial row, then its verdicts, for each trial

Equal runs give equal bytes. The cache is not part of it, and the folder that the suite was read from is left out.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import InputError, OutputError
from steelyard.model.standard import Suite
from steelyard.model.table import Primary, ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import MOST_TRIAL, Errored, Graded, Skipped, TrialRow, Unknown, Verdict
from steelyard.ports.store import Status, Store, StoredRun
from steelyard.store.encoding import encode
from steelyard.store.naming import is_name
from steelyard.store.reading import by_trial
from steelyard.store.suites import decode_suite, encode_suite

FORMAT = "run/1"
MANIFEST, SUITE, ROWS = "manifest.json", "suite.json", "rows.jsonl"
MOST_BYTES = 2 * 1024**3
"""Bytes of a bundle when unpacked."""
MOST_MANIFEST = 64 * 1024**2
MOST_RATIO = 200
"""Unpacked to packed size; beyond `SMALL` unpacked bytes. Rows that only differ in their task pack at 20 to 60 to 1."""
SMALL = 64 * 1024**2
_TIME = (1980, 1, 1, 0, 0, 0)


class _Member(msgspec.Struct, frozen=True, kw_only=True):
    sha256: str
    bytes: int


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is beside its standard and rows."""

    name: str
    status: Status
    created_at: str
    planned: int | None = None
    options: dict[str, Any] = {}
    lost: tuple[Quarantined, ...] = ()
    notices: tuple[ScoreNotice, ...] = ()
    primary: Primary | None = None
    decision: str | None = None


class _Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    steelyard: str
    run: _Facts
    members: dict[str, _Member]


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    members: Mapping[str, bytes]
    origin: str


def export_run(store: Store, name: str, file: str | Path) -> str:
    """Write a run to a bundle, whole or not at all; returns its full name.

    UsageError when there is no such run, StoreError when the store cannot be read, OutputError when the file cannot be
    written.
    """
    run = store.load(name)
    _write(Path(file), _packed(run).members)
    return run.name


def import_run(store: Store, file: str | Path, *, accept: Callable[[Suite], None] | None = None) -> str:
    """Add the run of a bundle to a store, whole or not at all; returns its name there.

    A run that the store already has, imported before or exported from it, is not added again. One whose name belongs to
    another run gets `-imported` added. `accept` may refuse a standard by raising. InputError with one sentence when the
    file is no bundle, unsafe to unpack, or says something that its checksums or the records deny.
    """
    run, origin = read_run(file)
    if accept is not None:
        accept(run.suite)
    if _has(store, run, origin):
        return run.name
    return store.restore(run, origin=origin)


def _has(store: Store, run: StoredRun, origin: str) -> bool:
    same = any(entry.name == run.name and entry.hash == run.suite.hash for entry in store.runs())
    return same and _packed(store.load(run.name)).origin == origin


def read_run(file: str | Path) -> tuple[StoredRun, str]:
    """The run in a bundle, and the digest that identifies it. InputError as for `import_run`."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _manifest(archive)
            suite = decode_suite(_member(archive, SUITE, manifest))
            rows = tuple(_rows(_member(archive, ROWS, manifest)))
    except InputError as error:
        raise InputError(f"{file} cannot be imported: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}; check the path") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(
            f"{file} is no run bundle, or a damaged one ({error}); export the run again"
        ) from error
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{file} cannot be imported: {str(error)[:300]}; export the run again") from error
    facts = manifest.run
    run = StoredRun(
        name=facts.name, suite=suite, rows=rows, status=facts.status, created_at=facts.created_at,
        planned=facts.planned, options=facts.options, lost=facts.lost, notices=facts.notices,
        primary=facts.primary, decision=facts.decision,
    )  # fmt: skip
    return run, _origin(facts, manifest.members)


def _packed(run: StoredRun) -> _Written:
    suite = encode_suite(msgspec.structs.replace(run.suite, folder="."))
    rows = b"".join(encode(row) + b"\n" for row in run.rows)
    facts = _Facts(
        name=run.name, status=run.status, created_at=run.created_at, planned=run.planned, options=dict(run.options),
        lost=run.lost, notices=run.notices, primary=run.primary, decision=run.decision,
    )  # fmt: skip
    members = {name: _described(body) for name, body in ((SUITE, suite), (ROWS, rows))}
    manifest = _Manifest(format=FORMAT, steelyard=_version(), run=facts, members=members)
    written = msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2)
    return _Written(members={MANIFEST: written, SUITE: suite, ROWS: rows}, origin=_origin(facts, members))


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("steelyard")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"


def _described(body: bytes) -> _Member:
    return _Member(sha256=hashlib.sha256(body).hexdigest(), bytes=len(body))


def _origin(facts: _Facts, members: Mapping[str, _Member]) -> str:
    content = {"run": facts, "members": {name: members[name] for name in (SUITE, ROWS)}}
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()


def _write(target: Path, members: Mapping[str, bytes]) -> None:
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.")
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, body in members.items():
                info = zipfile.ZipInfo(name, date_time=_TIME)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.create_system = 3  # the same bytes on every system
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                archive.writestr(info, body)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise OutputError(
            f"cannot write {target}: {error.strerror or error}; choose another place or free some space"
        ) from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _manifest(archive: zipfile.ZipFile) -> _Manifest:
    infos = archive.infolist()
    names = sorted(info.filename for info in infos)
    if names != sorted((MANIFEST, SUITE, ROWS)):
        shown = ", ".join(repr(name[:60]) for name in names[:5])
        raise InputError(
            f"a run bundle holds {MANIFEST}, {SUITE} and {ROWS}, each once; this one holds {shown}"
        )
    for info in infos:
        _check_member(info)
    unpacked = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    if unpacked > MOST_BYTES or (unpacked > SMALL and unpacked > MOST_RATIO * packed):
        raise InputError(
            f"it would unpack {packed:,} bytes to {unpacked:,}, which no run does; it is refused"
        )
    written = archive.getinfo(MANIFEST)
    if written.file_size > MOST_MANIFEST:
        raise InputError(f"{MANIFEST} has {written.file_size:,} bytes, which is too many")
    body = archive.read(written)
    form = msgspec.json.decode(body, type=dict[str, Any]).get("format")
    if form != FORMAT:
        raise InputError(
            f"its format is {str(form)[:40]!r} and this version reads {FORMAT!r}; try `pip install -U steelyard`"
        )
    manifest = msgspec.json.decode(body, type=_Manifest)
    if set(manifest.members) != {SUITE, ROWS}:
        raise InputError(f"{MANIFEST} must name {SUITE} and {ROWS}")
    if not is_name(manifest.run.name):
        raise InputError(f"{manifest.run.name[:60]!r} cannot be the name of a run")
    return manifest


def _check_member(info: zipfile.ZipInfo) -> None:
    """Names are compared before; here: links, folders, ciphers, and packers that are not read."""
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise InputError(f"{info.filename} is not a plain file in it")
    if info.flag_bits & 0x1:
        raise InputError(f"{info.filename} is encrypted; export the run again")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{info.filename} is packed in a way that is not read; export the run again")


def _member(archive: zipfile.ZipFile, name: str, manifest: _Manifest) -> bytes:
    stated = manifest.members[name]
    body = archive.read(name)
    if _described(body) != stated:
        raise InputError(f"{name} is not what {MANIFEST} says (its checksum differs); export the run again")
    return body


class _Telling(msgspec.Struct):
    status: Any = None


class _StrictTrial(TrialRow, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


_decode_telling = msgspec.json.Decoder(_Telling).decode
_decode_verdict = msgspec.json.Decoder(Graded | Unknown | Errored | Skipped).decode
_decode_trial = msgspec.json.Decoder(_StrictTrial).decode


def _rows(body: bytes) -> Iterator[Verdict | TrialRow]:
    rows: list[Verdict | TrialRow] = []
    for number, line in enumerate(body.splitlines(), 1):
        try:
            rows.append(_row(line))
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise InputError(f"line {number} of {ROWS} is no row ({str(error)[:200]})") from error
    for _ in by_trial(rows):
        pass  # raises where a verdict stands without its trial
    yield from rows


def _row(line: bytes) -> Verdict | TrialRow:
    row: Verdict | TrialRow
    if _decode_telling(line).status is None:
        row = TrialRow(**msgspec.structs.asdict(_decode_trial(line)))
    else:
        row = _decode_verdict(line)
    if not 0 <= row.trial <= MOST_TRIAL:
        raise ValueError(f"the trial number {row.trial}")
    if isinstance(row, Graded) and not 0 <= row.score <= 1:
        raise ValueError(f"the score {row.score} is outside 0..1")
    return row
