"""One expected call against one actual call: whether they fit, and if not, at which argument."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

from steelyard.checks.equality import equal, json_equal, json_type
from steelyard.checks.numbers import exact, number_text, within
from steelyard.checks.show import show
from steelyard.errors import GraderError
from steelyard.model.checks import ExpectedCall
from steelyard.model.trace import Step

_ABSENT = object()
_WORDS = ("datetime", "any", "nocase", "number")
_TOLERANCES = frozenset({"abs_tol", "rel_tol"})


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Whether two calls fit, and where they do not: what `differs`, the value found there and the one expected.

    `note` names a coercion that was needed. The sentence is only put together when somebody reads `problem`: most
    pairs that are compared are never reported.
    """

    fits: bool = True
    differs: str = ""
    found: Any = _ABSENT
    wanted: Any = _ABSENT
    note: str = ""

    @property
    def problem(self) -> str:
        """Which argument differs, and how; empty when they fit."""
        said = self.differs
        if self.found is not _ABSENT:
            said += f" is {show(self.found)}" + (", expected none" if self.wanted is _ABSENT else "")
        return said if self.wanted is _ABSENT else f"{said}, expected {show(self.wanted)}"


FITS = Fit()


def check_expected(expected: ExpectedCall) -> None:
    """Raises `GraderError` (`bad_comparator`) for a comparator that is none."""
    for argument, comparator in expected.compare.items():
        if comparator in _WORDS if isinstance(comparator, str) else _tolerances(comparator) is not None:
            continue
        raise GraderError(
            f"Expected call {expected.name}, argument {argument}: compare takes {', '.join(_WORDS)} or "
            f"{{abs_tol, rel_tol}} with numbers from 0, not {show(comparator)}.",
            code="bad_comparator",
        )


def fit(expected: ExpectedCall, step: Step) -> Fit:
    """Whether the call of `step` is the expected one. Arguments that could not be read equal nothing."""
    call = step.call
    if call is None or call.name != expected.name:
        return Fit(fits=False, differs=f"is not {expected.name}")
    if expected.by not in (None, "any", step.role):
        return Fit(fits=False, differs=f"was made by {step.role}, not {expected.by}")
    if expected.args is msgspec.UNSET or expected.only == ():
        return FITS
    if call.args_error is not None:
        return Fit(fits=False, differs="arguments are not JSON")
    if json_type(expected.args) != "object" or json_type(call.args) != "object":
        same = json_equal(expected.args, call.args)
        return (
            FITS
            if same
            else Fit(fits=False, differs="the whole of the arguments", found=call.args, wanted=expected.args)
        )
    return _arguments(expected, call.args)


def clearly_differs(wanted: Any, found: Any) -> bool:
    """Whether two sets of arguments, each compared as it is, differ at first sight. False: they may be equal."""
    if type(wanted) is not dict or type(found) is not dict:
        return False
    if wanted.keys() != found.keys():
        return True
    for name, value in wanted.items():
        other = found[name]
        kind = type(value)
        if kind is not type(other) or value == other:
            continue
        if kind is int or (kind is str and value.isascii() and other.isascii()):
            return True
    return False


def _arguments(expected: ExpectedCall, actual: Mapping[str, Any]) -> Fit:
    note = ""
    for name in _compared(expected, actual):
        wanted = expected.args.get(name, _ABSENT)
        found = actual.get(name, _ABSENT)
        comparator = expected.compare.get(name)
        if wanted is _ABSENT:
            if found is _ABSENT or comparator == "any":
                continue
            return Fit(fits=False, differs=f"argument {name}", found=found)
        if found is _ABSENT:
            return Fit(fits=False, differs=f"argument {name} is missing", wanted=wanted)
        same, aside = _compare(comparator, found, wanted)
        if not same:
            return Fit(fits=False, differs=f"argument {name}", found=found, wanted=wanted)
        note = note or (f"argument {name}: {aside}" if aside else "")
    return Fit(note=note) if note else FITS


def _compared(expected: ExpectedCall, actual: Mapping[str, Any]) -> list[str]:
    """The names to look at, in a stable order: the expected ones first."""
    if expected.only == "present":
        return list(actual)
    if expected.only is not None:
        return list(expected.only)
    return [*expected.args, *(name for name in actual if name not in expected.args)]


def _compare(comparator: Any, found: Any, wanted: Any) -> tuple[bool, str]:
    """Whether the two values count as equal, and a remark where that took a declared coercion."""
    if comparator is None:
        return json_equal(found, wanted), ""
    if comparator == "any":
        return True, ""
    if comparator == "nocase":
        return equal(found, wanted, case=False), ""
    if comparator == "datetime":
        left, right = _instant(found), _instant(wanted)
        return left is not None and left == right, ""
    if comparator == "number":
        return _as_numbers(found, wanted)
    return _near(comparator, found, wanted), ""


def _as_numbers(found: Any, wanted: Any) -> tuple[bool, str]:
    left, right = _coerced(found), _coerced(wanted)
    same = left is not None and left == right
    read = isinstance(found, str) or isinstance(wanted, str)
    return same, "text read as a number (compare: number)" if same and read else ""


def _coerced(value: Any) -> Fraction | None:
    return number_text(value) if isinstance(value, str) else exact(value)


def _near(comparator: Any, found: Any, wanted: Any) -> bool:
    left, right = exact(found), exact(wanted)
    bounds = _tolerances(comparator)
    return left is not None and right is not None and bounds is not None and within(left, right, *bounds)


def _tolerances(comparator: Any) -> tuple[Fraction, Fraction] | None:
    """(absolute, relative); None when the comparator is no pair of tolerances."""
    if not isinstance(comparator, Mapping) or not comparator or not comparator.keys() <= _TOLERANCES:
        return None
    absolute = exact(comparator.get("abs_tol", Decimal(0)))
    relative = exact(comparator.get("rel_tol", Decimal(0)))
    if absolute is None or relative is None or min(absolute, relative) < 0:
        return None
    return absolute, relative


def _instant(value: Any) -> tuple[str, datetime | date] | None:
    """An ISO 8601 date or time as (sort, value); a time without zone is another sort of thing than one with."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    text = value.strip()
    try:
        if len(text) <= 10:
            return "date", date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return ("local" if moment.tzinfo is None else "instant"), moment
