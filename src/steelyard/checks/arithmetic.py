"""Operators and functions of expressions: exact on numbers, strict on types, bounded in size."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sized
from decimal import Decimal
from fractions import Fraction
from typing import Any

from steelyard.checks.numbers import exact
from steelyard.checks.show import show
from steelyard.errors import GraderError
from steelyard.rules.values import is_finite, nfc

MAX_BITS = 40_000
"""Numbers may grow to this many bits (about 12,000 digits)."""
MAX_LENGTH = 100_000
"""Texts and lists that operators make may have this many characters or elements."""
MAX_EXPONENT = 1_000
_USUAL = 1 << 64
_AS_THEY_ARE = frozenset({str, bool, type(None), Fraction})


def leaf(value: Any) -> Any:
    """A value as expressions see it: numbers exact, everything else as it is. NaN and infinities are refused."""
    kind = type(value)
    if kind in _AS_THEY_ARE or (kind is int and -_USUAL < value < _USUAL):
        return value
    if isinstance(value, (float, Decimal)) and not is_finite(value):
        raise GraderError("The expression reads a number that is not finite.", code="non_finite")
    if isinstance(value, (float, Decimal)) or (isinstance(value, int) and not isinstance(value, bool)):
        number = exact(value)
        if number is None:
            raise GraderError("The expression reads a number of absurd size.", code="too_large")
        return value if isinstance(value, int) else number
    return value


def is_number(value: Any) -> bool:
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def truth(value: Any) -> bool:
    """A bool, and nothing that Python would take for one."""
    if not isinstance(value, bool):
        raise _wrong_type(f"{show(value)} is no truth value; compare it with something")
    return value


def same(left: Any, right: Any) -> bool:
    """JSON equality of values as expressions see them: 1 equals 1.0, neither equals true or "1"."""
    left, right = leaf(left), leaf(right)
    if is_number(left) or is_number(right):
        return is_number(left) and is_number(right) and left == right
    if isinstance(left, str) and isinstance(right, str):
        return nfc(left) == nfc(right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right) and bool(left == right)


def _wrong_type(what: str) -> GraderError:
    return GraderError(f"The expression cannot be computed: {what}.", code="wrong_type")


def _numbers(left: Any, right: Any, sign: str) -> None:
    for value in (left, right):
        if not is_number(value):
            raise _wrong_type(f"{show(value)} is no number for `{sign}`")


def _bounded(number: Any) -> Any:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise GraderError("The expression computes a number of absurd size.", code="too_large")
    return number


def _arithmetic(sign: str, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        _numbers(left, right, sign)
        if right == 0 and sign in ("/", "//", "%"):
            raise GraderError("The expression divides by zero.", code="zero_division")
        return _bounded(compute(left, right))

    return apply


def _divide(left: Any, right: Any) -> Fraction:
    return Fraction(left) / Fraction(right)


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        _check_length(left, right)
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        _check_length(left, right)
        return left + right
    return _ADD_NUMBERS(left, right)


def _check_length(left: Sized, right: Sized) -> None:
    if len(left) + len(right) > MAX_LENGTH:
        raise GraderError("The expression builds a text or list of absurd size.", code="too_large")


def _power(left: Any, right: Any) -> Any:
    _numbers(left, right, "**")
    exponent = Fraction(right)
    if exponent.denominator != 1:
        raise _wrong_type("the exponent is no whole number, and roots are not exact")
    size = max(left.numerator.bit_length(), left.denominator.bit_length())
    if abs(exponent) > MAX_EXPONENT or size * abs(exponent) > MAX_BITS:
        raise GraderError("The expression raises to an absurd power.", code="too_large")
    if left == 0 and exponent < 0:
        raise GraderError("The expression divides by zero.", code="zero_division")
    return Fraction(left) ** exponent.numerator


def _ordered(sign: str, compute: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def apply(left: Any, right: Any) -> bool:
        if not (isinstance(left, str) and isinstance(right, str)):
            _numbers(left, right, sign)
        return compute(left, right)

    return apply


def _holds(needle: Any, haystack: Any) -> bool:
    if isinstance(haystack, str):
        if not isinstance(needle, str):
            raise _wrong_type(f"{show(needle)} cannot be looked up in a text")
        return nfc(needle) in nfc(haystack)
    if isinstance(haystack, (list, tuple, Mapping)):
        return any(same(needle, element) for element in haystack)
    raise _wrong_type(f"nothing can be looked up in {show(haystack)}")


def _negated(value: Any) -> Any:
    _numbers(value, 0, "-")
    return -value


_ADD_NUMBERS = _arithmetic("+", operator.add)

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _add,
    ast.Sub: _arithmetic("-", operator.sub),
    ast.Mult: _arithmetic("*", operator.mul),
    ast.Div: _arithmetic("/", _divide),
    ast.FloorDiv: _arithmetic("//", operator.floordiv),
    ast.Mod: _arithmetic("%", operator.mod),
    ast.Pow: _power,
    ast.Eq: same,
    ast.NotEq: lambda left, right: not same(left, right),
    ast.Lt: _ordered("<", operator.lt),
    ast.LtE: _ordered("<=", operator.le),
    ast.Gt: _ordered(">", operator.gt),
    ast.GtE: _ordered(">=", operator.ge),
    ast.In: _holds,
    ast.NotIn: lambda needle, haystack: not _holds(needle, haystack),
    ast.Not: lambda value: not truth(value),
    ast.USub: _negated,
    ast.UAdd: lambda value: -_negated(value),
}


def _listed(values: tuple[Any, ...], name: str) -> list[Any]:
    """The elements of the one list given, or the arguments themselves."""
    elements = values[0] if len(values) == 1 else values
    if not isinstance(elements, (list, tuple)):
        raise _wrong_type(f"`{name}` needs a list")
    return [leaf(element) for element in elements]


def _extreme(name: str, compute: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        elements = _listed(values, name)
        if not elements:
            raise _wrong_type(f"`{name}` of nothing")
        for element in elements:
            if not (isinstance(element, str) and isinstance(elements[0], str)):
                _numbers(element, elements[0], name)
        return compute(elements)

    return apply


def _sum(values: Any) -> Any:
    total: Any = 0
    for element in _listed((values,), "sum"):
        total = _ADD_NUMBERS(total, element)
    return total


def _length(value: Any) -> int:
    if not isinstance(value, (str, list, tuple, Mapping)):
        raise _wrong_type(f"{show(value)} has no length")
    return len(value)


def _round(value: Any, digits: Any = 0) -> Any:
    """Half to even, exactly; always a number of the same kind as its input."""
    _numbers(value, digits, "round")
    if not isinstance(digits, int) or abs(digits) > MAX_EXPONENT:
        raise _wrong_type("`round` takes a whole number of digits up to 1000")
    return _bounded(round(Fraction(value), digits))


def _absolute(value: Any) -> Any:
    _numbers(value, 0, "abs")
    return abs(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "all": lambda values: all(truth(element) for element in _listed((values,), "all")),
    "any": lambda values: any(truth(element) for element in _listed((values,), "any")),
    "len": _length,
    "max": _extreme("max", max),
    "min": _extreme("min", min),
    "round": _round,
    "sum": _sum,
}

METHODS: dict[str, Callable[..., Any]] = {
    "casefold": str.casefold,
    "endswith": str.endswith,
    "lower": str.lower,
    "startswith": str.startswith,
    "strip": str.strip,
    "upper": str.upper,
}
"""Methods that a text has in expressions; nothing else has any."""
