"""What a check function returned, as a score. Nothing is converted, guessed or clamped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from steelyard.checks.numbers import exact
from steelyard.checks.sandbox.protocol import Unusable
from steelyard.checks.show import show
from steelyard.errors import GraderError
from steelyard.model.verdict import Score

MOST_EVIDENCE = 100
_SHARE = re.compile(r"(?P<part>[0-9]{1,80})/(?P<whole>[0-9]{1,80})", re.ASCII)
_KEYS = ("score", "reason", "evidence", "failure_tag")
_FORMS = "true or false, a number in 0..1, [k, n], 'k/n', or a mapping with `score`"


def score_of(returned: Any, function: str) -> Score:
    """The score. Raises `GraderError` (code `nonsense`) for anything that is none.

    Of `returned` only exact plain types are looked at, so no code of the check runs here.
    """
    if type(returned) is not dict:
        value = _value(returned, function)
        return Score(value=value, reason=f"{function} returned {_shown(returned)}")
    unknown = [key for key in returned if key not in _KEYS]
    if "score" not in returned or unknown:
        what = f"the unknown key {show(unknown[0])}" if unknown else "no `score`"
        raise _nonsense(f"{function} returned a mapping with {what}; it may hold {', '.join(_KEYS)}.")
    value = _value(returned["score"], function)
    reason = _text(returned, "reason", function) or f"{function} returned {_shown(returned['score'])}"
    tag = _text(returned, "failure_tag", function) or None
    return Score(value=value, reason=reason, evidence=_evidence(returned, function), failure_tag=tag)


def _value(value: Any, function: str) -> Fraction:
    found: Fraction | None = None
    if type(value) is bool:
        found = Fraction(value)
    elif type(value) in (int, float, Decimal):
        found = exact(value)
    elif type(value) is str:
        found = _share(_SHARE.fullmatch(value))
    elif type(value) in (list, tuple) and len(value) == 2 and all(type(one) is int for one in value):
        part, whole = value
        found = Fraction(part, whole) if 0 <= part <= whole and whole > 0 else None
    if found is None or not 0 <= found <= 1:
        raise _nonsense(f"{function} returned {_shown(value)}; a check returns {_FORMS}.")
    return found


def _share(matched: re.Match[str] | None) -> Fraction | None:
    if matched is None or int(matched["whole"]) == 0:
        return None
    return Fraction(int(matched["part"]), int(matched["whole"]))


def _text(returned: Mapping[str, Any], key: str, function: str) -> str:
    text = returned.get(key)
    if text is None:
        return ""
    if type(text) is not str:
        raise _nonsense(f"{function} returned {_shown(text)} as `{key}`, which is a text.")
    return text[:2000]


def _evidence(returned: Mapping[str, Any], function: str) -> tuple[str, ...]:
    refs = returned.get("evidence")
    if refs is None:
        return ()
    if type(refs) not in (list, tuple) or any(type(ref) is not str for ref in refs):
        raise _nonsense(f"{function} returned {_shown(refs)} as `evidence`, which is a list of references.")
    if len(refs) > MOST_EVIDENCE:
        raise _nonsense(f"{function} returned more than {MOST_EVIDENCE} references as `evidence`.")
    return tuple(refs)


def _shown(value: Any) -> str:
    if isinstance(value, Unusable):
        return f"a value of type {value.type[:80]}"
    return show([_named(one) for one in value] if type(value) in (list, tuple) else value)


def _named(value: Any) -> Any:
    if type(value) in (bool, int, float, str):
        return value
    return f"({value.type[:80] if isinstance(value, Unusable) else type(value).__name__})"


def _nonsense(message: str) -> GraderError:
    return GraderError(message, code="nonsense")
