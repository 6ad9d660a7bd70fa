"""What was there before a call: texts, numbers and dates that an argument can have come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from steelyard.checks.cells import moment_of
from steelyard.checks.numbers import exact, number_text
from steelyard.checks.texts import as_text
from steelyard.rules.values import nfc

MAX_PAIRED = 5_000
"""Sums and differences of two are looked for among this many numbers at most."""

_NUMBER = re.compile(
    r"(?:(?<![\w.])(?<![A-Za-z]-)-?|(?<=[0-9]-))(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])|[0-9]+)(?:\.[0-9]+)?",
    re.ASCII,
)
"""A number that is no part of a word: not the 41 of ORD-41, but both of 5-10."""
_CLOCK = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?", re.ASCII)
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SLASHED = re.compile(r"(?<![0-9])([0-9]{1,2})[/.]([0-9]{1,2})[/.]([0-9]{4})(?![0-9])")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_MONTH = r"(?P<{0}>[A-Za-z]{{3,9}})\.?"
_DAY = r"(?P<{0}>[0-9]{{1,2}})(?:st|nd|rd|th)?"
_WRITTEN = re.compile(
    rf"\b(?:{_MONTH.format('m1')}\s+{_DAY.format('d1')}|{_DAY.format('d2')}\s+(?:of\s+)?{_MONTH.format('m2')}),?\s+"
    r"(?P<year>[0-9]{4})\b"
)
_PUNCTUATION = re.compile(r"[\s#_/.-]+")
_MAX_DIGITS = 40


class Sources:
    """Everything that stood somewhere before one call. Built up as the trace goes on."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._folded: list[str] = []
        self._bare: list[str] = []
        self._numbers: set[Fraction] = set()
        self._sums: set[Fraction] = set()
        self._dates: set[date] = set()
        self._moments: set[datetime] = set()

    def add(self, value: Any) -> None:
        """A text or JSON value that the agent could read."""
        text = " ".join(nfc(as_text(value)).split())
        if not text:
            return
        self._texts.append(text)
        self._folded.append(text.casefold())
        self._bare.append(_bare(text))
        self._numbers.update(_numbers(text))
        self._dates.update(dates_in(text))
        for leaf in _leaves(value):
            number = exact(leaf)
            if number is not None:
                self._numbers.add(number)
            moment = moment_of(leaf) if isinstance(leaf, str) else None
            if moment is not None and moment.tzinfo is not None:
                self._moments.add(moment)
        self._sums.update(_column_sums(value))

    def has_text(self, text: str, *, case: bool = True) -> bool:
        """Whether the text stands somewhere as whole words, white space aside."""
        wanted = " ".join(nfc(text).split())
        wanted = wanted if case else wanted.casefold()
        return any(_stands(wanted, found) for found in (self._texts if case else self._folded))

    def has_id(self, text: str) -> bool:
        """Whether the text is an id (it has a digit and no space) that stands somewhere, however it is punctuated."""
        if not any(character.isdigit() for character in text) or len(text) > 100 or len(text.split()) != 1:
            return False
        wanted = _bare(text).strip()
        return bool(wanted) and any(_stands(wanted, found) for found in self._bare)

    def has_number(self, number: Fraction) -> bool:
        return number in self._numbers

    def has_date(self, day: date) -> bool:
        return day in self._dates

    def has_moment(self, moment: datetime) -> bool:
        return moment.tzinfo is not None and moment in self._moments

    def has_sum(self, number: Fraction) -> bool:
        """Whether it is the sum of two numbers, or of a column of a result."""
        return number in self._sums or any(number - one in self._numbers for one in self._some())

    def has_difference(self, number: Fraction) -> bool:
        return any(number + one in self._numbers for one in self._some())

    def _some(self) -> Iterable[Fraction]:
        return sorted(self._numbers)[:MAX_PAIRED]


def dates_in(text: str) -> Iterator[date]:
    """Dates in a text: 2025-03-01, March 1st, 2025, 1 March 2025; 03/01/2025 in both readings."""
    for found in _ISO.finditer(text):
        try:
            yield date.fromisoformat(found[0])
        except ValueError:
            continue
    for found in _SLASHED.finditer(text):
        yield from _day(found[3], found[1], found[2])
        yield from _day(found[3], found[2], found[1])
    for found in _WRITTEN.finditer(text):
        word = (found["m1"] or found["m2"]).lower()
        month = next((i for i, name in enumerate(_MONTHS, 1) if name == word or name[:3] == word), None)
        if month is not None:
            yield from _day(found["year"], str(month), found["d1"] or found["d2"])


def _day(year: str, month: str, day: str) -> Iterator[date]:
    try:
        yield date(int(year), int(month), int(day))
    except ValueError:
        return


def _stands(wanted: str, text: str) -> bool:
    """Whether it stands there and no letter or digit goes on at its ends."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before = start > 0 and text[start - 1].isalnum() and wanted[0].isalnum()
        after = end < len(text) and text[end].isalnum() and wanted[-1].isalnum()
        if not (before or after):
            return True
        start = text.find(wanted, start + 1)
    return False


def _bare(text: str) -> str:
    """Words without the punctuation of ids and without case: `#ORD-0041` and `ord 0041` become `ord0041`."""
    return " ".join(_PUNCTUATION.sub("", word) for word in text.casefold().split())


def _numbers(text: str) -> Iterator[Fraction]:
    bare = _CLOCK.sub(" ", text)
    for found in _NUMBER.finditer(bare):
        written = found[0].replace(",", "")
        if len(written) > _MAX_DIGITS:
            continue
        number = Fraction(written)
        yield number
        if bare[found.end() : found.end() + 1] == "%":
            yield number / 100


def _leaves(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            pending.extend(current.values())
        elif isinstance(current, list | tuple):
            pending.extend(current)
        else:
            yield current


def _column_sums(value: Any) -> Iterator[Fraction]:
    """The sum of every list of numbers, and of every member over a list of objects."""
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            pending.extend(current.values())
        elif isinstance(current, list | tuple):
            pending.extend(current)
            yield from _sums_of(current)


def _sums_of(rows: list[Any] | tuple[Any, ...]) -> Iterator[Fraction]:
    numbers = [_amount(row) for row in rows]
    if numbers and all(number is not None for number in numbers):
        yield sum((number for number in numbers if number is not None), Fraction(0))
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return
    for name in rows[0]:
        amounts = [_amount(row.get(name)) for row in rows]
        if all(amount is not None for amount in amounts):
            yield sum((amount for amount in amounts if amount is not None), Fraction(0))


def _amount(value: Any) -> Fraction | None:
    return number_text(value) if isinstance(value, str) else exact(value)
