"""Scalars of a file to values: numbers by JSON's grammar, decimals exactly as written."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from steelyard.standards.nodes import Node
from steelyard.standards.problems import quoted

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
MAX_SIGNIFICANT = 15
MAX_EXPONENT = 300
MAX_INTEGER_DIGITS = 1000


class ScalarError(ValueError):
    """A scalar that cannot stand where it stands; the message is the end of a sentence (`must be ...`)."""


def describe(node: Node) -> str:
    """What a node is, for `must be X, not ...`."""
    if node.kind == "map":
        return "a mapping"
    if node.kind == "list":
        return "a list"
    if node.kind == "typed":
        return f"the number {node.value}" if node.value not in WORDS else str(node.value)
    if node.kind == "plain":
        if node.value == "":
            return "an empty value"
        return (
            quoted(node.value) if node.value not in WORDS and not NUMBER.fullmatch(node.value) else node.value
        )
    return f"the text {quoted(node.value)}"


def number_text(node: Node, wanted: str) -> str:
    """The JSON text of a number where a number is wanted."""
    if node.kind == "text":
        hint = f"; write {node.value} without quotes" if NUMBER.fullmatch(node.value) else ""
        raise ScalarError(f"must be {wanted}, not {describe(node)}{hint}")
    if node.kind not in ("plain", "typed", "filled"):
        raise ScalarError(f"must be {wanted}, not {describe(node)}")
    text: str = node.value.strip() if node.kind == "filled" else node.value
    if text.lower().lstrip("+-.") in ("nan", "inf", "infinity"):
        raise ScalarError(f"must be a finite number, not {text}")
    if not NUMBER.fullmatch(text):
        raise ScalarError(f"must be {wanted}, not {describe(node)}{_number_hint(text)}")
    return text


def _number_hint(text: str) -> str:
    bare = text.lstrip("+").replace("_", "").replace(",", ".")
    bare = f"0{bare}" if bare.startswith(".") else bare
    if bare.endswith("%") and NUMBER.fullmatch(bare[:-1]) and len(bare) < 12:
        return f"; write {(Decimal(bare[:-1]) / 100).normalize():f}"
    return f"; write {bare}" if bare != text and NUMBER.fullmatch(bare) else ""


def to_decimal(node: Node) -> Decimal:
    """An exact decimal of at most 15 significant digits (what a float carries through unharmed)."""
    text = number_text(node, "a number")
    mantissa, _, exponent = text.lower().lstrip("-").partition("e")
    if len(mantissa.replace(".", "").lstrip("0").rstrip("0")) > MAX_SIGNIFICANT:
        raise ScalarError(f"has more than {MAX_SIGNIFICANT} significant digits; round it to what is meant")
    if len(exponent) > 4 or len(mantissa) > MAX_EXPONENT or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise ScalarError(f"is beyond 1e{MAX_EXPONENT}; write a number of a usual size")
    return shortest(Decimal(text))


def shortest(value: Decimal) -> Decimal:
    """The same decimal without trailing zeros or a positive exponent: equal decimals get one text."""
    return Decimal(f"{value.normalize():f}") if value else Decimal(0)


def to_integer(node: Node) -> int:
    """A whole number."""
    text = number_text(node, "a whole number")
    if not INTEGER.fullmatch(text):
        raise ScalarError(f"must be a whole number, not {text}")
    return _integer(text)


def to_bool(node: Node) -> bool:
    """`true` or `false`, nothing else."""
    if node.kind in ("plain", "typed", "filled") and node.value in ("true", "false"):
        return bool(WORDS[node.value])
    word = str(node.value).lower() if node.kind not in ("map", "list") else ""
    meant = "true" if word in ("yes", "on", "true") else "false" if word in ("no", "off", "false") else ""
    raise ScalarError(f"must be true or false, not {describe(node)}" + (f"; write {meant}" if meant else ""))


def to_text(node: Node) -> str:
    """Text as written. A typed number is not taken for text: whether 7 or 7.0 or 007 was meant is not ours to say."""
    if node.kind in ("text", "plain", "filled"):
        return str(node.value)
    if node.kind == "typed":
        raise ScalarError(f'must be text, not {describe(node)}; write "{node.value}"')
    raise ScalarError(f"must be text, not {describe(node)}")


def to_any(node: Node) -> Any:
    """A scalar of an untyped place, by JSON's grammar. Quoted scalars and columns of a table are text."""
    if node.kind in ("text", "filled"):
        return node.value
    text: str = node.value
    if text in WORDS:
        return WORDS[text]
    if NUMBER.fullmatch(text):
        return _number(text)
    if node.kind == "typed":
        raise ScalarError(f"must be a finite number, not {text}")
    if text == "":
        raise ScalarError('has no value; write null, or "" for an empty text')
    return text


def _number(text: str) -> int | float:
    if INTEGER.fullmatch(text):
        return _integer(text)
    value = float(text)
    mantissa, _, exponent = text.lower().partition("e")
    exact = len(mantissa) <= 400 and len(exponent) <= 4 and Decimal(text) == Decimal(repr(value))
    if not exact:
        raise ScalarError(
            f"holds {quoted(text, 40)}, which a floating point number cannot hold; write it as text"
        )
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise ScalarError(f"has more than {MAX_INTEGER_DIGITS} digits; write it as text")
    return int(text)
