"""Text as the text checks read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from steelyard.rules.values import nfc


def as_text(value: Any) -> str:
    """The text of a value: text as it is, a structure as its keys and leaves, one a line, in order.

    Leaves are not escaped, so that a forbidden text cannot hide behind JSON's spelling of it.
    """
    return value if isinstance(value, str) else "\n".join(texts_of(value))


def texts_of(value: Any) -> Iterator[str]:
    """`as_text` in pieces, to be joined by newlines; a leaf of many megabytes is a piece of its own, uncopied."""
    lines: list[str] = []
    size = 0
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            for key in reversed(list(current)):
                pending.extend((current[key], str(key)))
        elif isinstance(current, (list, tuple)):
            pending.extend(reversed(current))
        else:
            leaf = _leaf(current)
            if size + len(leaf) > LONG and lines:
                yield "\n".join(lines)
                lines, size = [], 0
            lines.append(leaf)
            size += len(leaf)
    if lines:
        yield "\n".join(lines)


LONG = 1 << 22
"""Characters from which on a text is folded in windows, so that it is not held several times over."""

_BEFORE_ASCII = re.compile("[\x00-\x7f]")


def folded(text: str, *, case: bool, composed: bool = True) -> str:
    """The form in which texts are compared: composed Unicode, and without letter case unless `case`."""
    if case and text.isascii():
        return text  # every ASCII text is composed
    if len(text) <= LONG:
        return _folded(text, case, composed)
    return "".join([_folded(text[start:end], case, composed) for start, end in _windows(text)])


def _folded(text: str, case: bool, composed: bool) -> str:
    form = nfc(text) if composed else text
    if case:
        return form
    return nfc(form.casefold()) if composed else form.casefold()


def standing(wanted: Iterable[str], texts: Iterable[str], *, case: bool) -> set[str]:
    """Which of the texts stand in `texts`, joined by newlines; all in their folded forms."""
    open_ones = {folded(each, case=case): each for each in wanted}
    found = {form for form in open_ones if form == ""}
    overlap = max(map(len, open_ones), default=1)
    before = ""
    for text in texts:
        for start, end in _windows(text):
            window = before + _folded(text[start:end], case, True)
            found |= {form for form in open_ones if form not in found and form in window}
            before = window[-overlap:]
        before += "\n"
    return {each for each in wanted if folded(each, case=case) in found}


def _windows(text: str) -> Iterator[tuple[int, int]]:
    """Where a text can be cut without another folded form: before an ASCII character, which joins nothing before it.

    The last window ends with the text; one without ASCII has no such place.
    """
    start = 0
    while len(text) - start > LONG:
        cut = _BEFORE_ASCII.search(text, start + LONG)
        if cut is None:
            break
        yield start, cut.start()
        start = cut.start()
    yield start, len(text)


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    # Every digit stands: Python itself refuses to spell out long integers, a decimal does not.
    return str(Decimal(value)) if isinstance(value, int) else str(value)
