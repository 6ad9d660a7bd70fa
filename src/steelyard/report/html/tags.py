"""Elements of a page. Whatever is not already an element is text, and is escaped: nothing untrusted becomes markup."""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from steelyard.report.plain import clean, plain
from steelyard.report.text import visible

VOID = frozenset({"meta", "br"})
SHORT = 120
IN_SCRIPTS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What could end a script element or be read differently inside one, as JSON writes it instead."""

_IN_SCRIPTS = str.maketrans(IN_SCRIPTS)


class Markup(str):
    """Text that is HTML already. Made only here, from escaped parts."""

    __slots__ = ()


Child = str | Markup | None
NOTHING = Markup("")


def text(raw: str, keep: str = "") -> Markup:
    """Untrusted text as HTML: control and direction marks are written out (but those in `keep`), markup is escaped."""
    return _again(raw, keep) if len(raw) <= SHORT else _text(raw, keep)


def _text(raw: str, keep: str) -> Markup:
    return Markup(html.escape(visible(clean(raw), keep=keep)))


_again = lru_cache(maxsize=8192)(_text)
"""Labels and names stand on a page many times."""


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Markup:
    """An element. Attribute names are given with `_` for `-` (`class_`, `data_task`); null and false ones are left out.

    Attribute values keep every character, so that scripts can compare them with the data.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is True:
            parts.append(f" {_attribute(key)}")
        elif value is not None and value is not False:
            parts.append(f' {_attribute(key)}="{_value(value)}"')
    parts.append(">")
    if name in VOID:
        return Markup("".join(parts))
    for child in children:
        if child is not None:
            parts.append(child if type(child) is Markup else text(child))
    parts.append(f"</{name}>")
    return Markup("".join(parts))


@lru_cache(maxsize=256)
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | int) -> str:
    return html.escape(clean(value)) if isinstance(value, str) else str(value)


def joined(parts: Iterable[Child], between: str = "") -> Markup:
    """Several children as one, with escaped text between them."""
    gap = text(between)
    return Markup(
        gap.join(part if isinstance(part, Markup) else text(part) for part in parts if part is not None)
    )


def embedded(value: Any) -> Markup:
    """A value as JSON that may stand inside a script element: it holds no `<`, `>`, `&` and no line separators."""
    try:
        encoded = msgspec.json.encode(value).decode()
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ):  # what has no JSON form is made plain first
        encoded = msgspec.json.encode(plain(value)).decode()
    return Markup(encoded.translate(_IN_SCRIPTS))


def row_head(raw: str, *more: Child) -> Markup:
    """The head of a row. Its name is as wide as it needs, up to the width that the style allows."""
    return tag("th", tag("span", raw, class_="name"), *more, scope="row")


def screen_only(raw: str) -> Markup:
    """Words for those who hear the page."""
    return tag("span", raw, class_="heard")
