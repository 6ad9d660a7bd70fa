"""Equality as checks use it: JSON value and type, with the options that a check can set."""

from __future__ import annotations

from typing import Any

from steelyard.checks.texts import folded
from steelyard.rules.values import json_equal, json_type, nfc

__all__ = ["equal", "json_equal", "json_type", "nfc"]


def equal(left: Any, right: Any, *, strip: bool = False, case: bool = True, composed: bool = True) -> bool:
    """`json_equal` with options for text, at any depth.

    strip: white space around texts does not count. case False: letter case does not. composed: the Unicode
    spellings of one letter are equal.
    """

    def form(text: str) -> str:
        return folded(text.strip() if strip else text, case=case, composed=composed)

    if type(left) is str and type(right) is str:
        return left == right or form(left) == form(right)
    return json_equal(left, right, text=form)
