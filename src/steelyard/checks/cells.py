"""Cells of a table as values: numbers, truth, dates and times, and whether a time is in a zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from steelyard.checks.numbers import number_text
from steelyard.errors import GraderError
from steelyard.model.state_checks import CellType

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}.*", re.ASCII | re.DOTALL)
_SUFFIX = re.compile(r" ?(?:UTC|GMT)", re.ASCII)
_MAX_CELL = 64
_MAX_NUMBER = 4_000


def as_number(cell: str) -> Any:
    """The number that a cell is, by JSON's grammar (0041 is none); None for any other text."""
    if _INTEGER.fullmatch(cell) and len(cell) < _MAX_NUMBER:
        return int(cell)
    readable = cell == cell.strip() and len(cell) < _MAX_NUMBER and number_text(cell) is not None
    return Decimal(cell) if readable else None


def _integer(cell: str) -> Any:
    return int(cell) if _INTEGER.fullmatch(cell) and len(cell) < _MAX_NUMBER else None


def _boolean(cell: str) -> Any:
    return {"true": True, "false": False}.get(cell.lower())


def _date(cell: str) -> Any:
    if not _DATE.fullmatch(cell):
        return None
    try:
        return date.fromisoformat(cell).isoformat()
    except ValueError:
        return None


def moment_of(cell: str) -> datetime | None:
    """An ISO 8601 date and time (`2025-03-01T09:30:00Z`; a space for the T, `UTC` for the Z); None for other text."""
    if len(cell) > _MAX_CELL or not _TIME.fullmatch(cell):
        return None
    found = _SUFFIX.search(cell)
    text = cell[: found.start()] + "Z" if found and found.end() == len(cell) else cell
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _datetime(cell: str) -> Any:
    moment = moment_of(cell)
    if moment is None or moment.tzinfo is None:
        return None if moment is None else f"{moment.isoformat()} without zone"
    try:
        return moment.astimezone(UTC).isoformat()
    except OverflowError:
        return None


_READERS: dict[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": as_number,
    "text": lambda cell: cell,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
}
WORDS = {
    "integer": "no whole number",
    "number": "no number",
    "boolean": "neither true nor false",
    "date": "no date (as in 2025-03-01)",
    "datetime": "no date and time (as in 2025-03-01T09:30:00Z)",
}


def typed(cell: str, kind: CellType) -> Any:
    """The value of a cell of that type, in a form in which equal values are equal; None when it is none."""
    return _READERS[kind](cell)


def looks_like_a_time(cell: str) -> bool:
    return _TIME.fullmatch(cell) is not None


def zone_of(tz: str) -> ZoneInfo | None:
    """The zone of a name; None for UTC. Raises `GraderError` (`bad_zone`)."""
    if tz == "UTC":
        return None
    try:
        return ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise GraderError(
            f"There is no time zone {tz!r} here; write UTC or a name such as Europe/Berlin.", code="bad_zone"
        ) from None


def zone_fault(cell: str, zone: ZoneInfo | None, tz: str) -> str | None:
    """Why a time is not in the zone, or None: it must state the offset that the zone has at that moment."""
    moment = moment_of(cell)
    if moment is None:
        return WORDS["datetime"]
    stated = moment.utcoffset()
    if stated is None:
        return f"a time without offset, so not in {tz}"
    try:
        wanted = timedelta(0) if zone is None else moment.astimezone(zone).utcoffset()
    except OverflowError:
        return f"a time that {tz} cannot have"
    return None if stated == wanted else f"not in {tz}"
