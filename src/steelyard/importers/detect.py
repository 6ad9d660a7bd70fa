"""Finds each record's format by its content and reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from steelyard.errors import InputError, UsageError
from steelyard.importers.formats.canonical import Canonical
from steelyard.importers.formats.openai_chat import OpenAIChat
from steelyard.importers.formats.tau2 import Tau2
from steelyard.importers.formats.taubench import TauBench
from steelyard.importers.plain_chats import FORMAT, plain_chat
from steelyard.importers.reading import PathLike, find_files, read_quickly
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.importer import Importer, Record

IMPORTERS: tuple[Importer, ...] = (Canonical(), Tau2(), TauBench(), OpenAIChat())
"""In the order of asking: the most particular first."""


def known_formats() -> tuple[str, ...]:
    """Names that `read_traces(format=...)` takes."""
    return tuple(importer.name for importer in IMPORTERS)


def read_traces(
    paths: PathLike | Iterable[PathLike], *, format: str | None = None
) -> Iterator[Trace | Quarantined]:
    """The traces of files, folders and patterns, streamed in a stable order; what cannot be read, as `Quarantined`.

    `format`: one of `known_formats()`; by default each record's content says. Raises at once `UsageError` for an
    unknown `format`, `InputError` for a missing file, `NothingEvaluatedError` for a folder or pattern that matches
    nothing; and while reading `InputError` for a file that cannot be opened or in which no record has a known format.
    """
    forced = None
    if format is not None:
        forced = next((importer for importer in IMPORTERS if importer.name == format), None)
        if forced is None:
            raise UsageError(
                f"There is no trace format '{format}'. Known formats: {', '.join(known_formats())}."
            )
    return _read_files(find_files(paths), forced)


class _Unknown(msgspec.Struct, frozen=True, kw_only=True):
    where: str
    looks: str


def _read_files(files: Mapping[str, bool], forced: Importer | None) -> Iterator[Trace | Quarantined]:
    """Files of a folder may be anything; only when none of them is known is that an error."""
    traces = 0
    strange: tuple[str, _Unknown] | None = None
    for file, named in files.items():
        before, unknown = traces, None
        for found in _read_file(file, forced):
            traces += isinstance(found, Trace)
            if not isinstance(found, _Unknown):
                yield found
                continue
            unknown = unknown or found
            yield Quarantined(where=found.where, reason=f"It has no known format: {found.looks}.")
        if unknown is not None and traces == before:
            strange = strange or (file, unknown)
            if named:
                raise _no_format(file, unknown)
    if strange is not None and not traces:
        raise _no_format(*strange)


def _no_format(file: str, unknown: _Unknown) -> InputError:
    return InputError(
        f"Nothing in {file} has a known format: {unknown.looks}. Known formats: {', '.join(known_formats())}."
    )


def _read_file(file: str, forced: Importer | None) -> Iterator[Trace | Quarantined | _Unknown]:
    quick = plain_chat if forced is None or forced.name == FORMAT else None
    for record in read_quickly(file, quick):
        if isinstance(record, Trace | Quarantined):
            yield record
        else:
            yield from _read_record(record, forced)


def _read_record(record: Record, forced: Importer | None) -> Iterator[Trace | Quarantined | _Unknown]:
    importer = forced or _importer_of(record.value)
    if importer is not None and (forced is None or importer.matches(record.value)):
        yield from _guarded(importer, record)
    elif isinstance(record.value, list) and record.value:
        for index, value in enumerate(record.value):
            yield from _element(record, index, value, forced)
    else:
        yield _Unknown(where=record.where, looks=_looks(record.value))


def _element(
    record: Record, index: int, value: Any, forced: Importer | None
) -> Iterator[Trace | Quarantined | _Unknown]:
    where = f"{record.where}#/{index}"
    importer = forced or _importer_of(value)
    if importer is None or not importer.matches(value):
        yield _Unknown(where=where, looks=_looks(value))
        return
    yield from _guarded(
        importer,
        msgspec.structs.replace(record, value=value, where=where, pointer=f"{record.pointer}/{index}"),
    )


def _importer_of(value: Any) -> Importer | None:
    for importer in IMPORTERS:
        if importer.matches(value):
            return importer
    return None


def _guarded(importer: Importer, record: Record) -> Iterator[Trace | Quarantined]:
    try:
        yield from importer.read(record)
    except Exception as error:  # noqa: BLE001  the edge to untrusted input: one odd record must not end the run
        yield Quarantined(
            where=record.where,
            reason=f"The {importer.name} importer failed on the rest of this record ({type(error).__name__}: {error}).",
        )


def _looks(value: Any) -> str:
    if isinstance(value, dict):
        if "role" in value and "content" in value:
            return "a single chat message (the messages of one conversation belong in one list, under 'messages')"
        keys = ", ".join(f"'{key[:40]}'" for key in list(value)[:8])
        more = ", ..." if len(value) > 8 else ""
        return f"an object with the keys {keys}{more}" if keys else "an empty object"
    if isinstance(value, list):
        return (
            "an empty list"
            if not value
            else f"a list of {len(value)}, of which the first is {_looks(value[0])}"
        )
    names = {str: "a text", bool: "a truth value", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), "a value")
