"""Conditions on one argument of a call: true, false, or not to be told (which violates)."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.errors import GraderError
from steelyard.model.checks import Condition
from steelyard.model.evidence import follow
from steelyard.rules.values import json_equal, json_type

_ABSENT = object()


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a condition holds; None: it cannot be told (argument missing, wrong type). `why` says what was read."""

    holds: bool | None
    why: str = ""


def check_condition(condition: Condition, rule_id: str) -> None:
    """Refuses a condition that can mean nothing. Raises `GraderError` with code `bad_rule`."""
    problem = ""
    if condition.op == "in" and json_type(condition.value) != "list":
        problem = "`in` needs a list of values"
    elif condition.op == "exists" and not (condition.value is None or isinstance(condition.value, bool)):
        problem = "`exists` takes no value, or true or false"
    elif condition.op == "path_under":
        roots = _roots(condition.value)
        if not roots or any(normal_path(root) is None for root in roots):
            problem = "`path_under` needs an absolute POSIX folder, or a list of them"
    if problem:
        raise GraderError(f"Rule {rule_id!r}, condition on {condition.arg!r}: {problem}.", code="bad_rule")


def judge(condition: Condition, args: Any) -> Truth:
    """What one condition says of the arguments of a readable call."""
    found = _argument(args, condition.arg)
    if condition.op == "exists":
        wanted = condition.value is not False
        return Truth(holds=(found is not _ABSENT) == wanted, why="" if wanted else "it is given")
    if found is _ABSENT:
        return Truth(holds=None, why="it is missing")
    kind = json_type(found)
    if condition.op == "path_under":
        return _path_under(found, _roots(condition.value))
    allowed = [condition.value] if condition.op == "eq" else list(condition.value)
    if any(json_equal(found, value) for value in allowed):
        return Truth(holds=True)
    if kind is None or (allowed and kind not in {json_type(value) for value in allowed}):
        return Truth(holds=None, why=f"it is of the wrong type ({kind or 'not JSON'})")
    return Truth(holds=False, why="it has another value")


def all_hold(conditions: tuple[Condition, ...], args: Any) -> tuple[Truth, Condition | None]:
    """The conjunction, and the condition that decided it. One that is false decides before one that is unclear."""
    unclear: tuple[Truth, Condition] | None = None
    for condition in conditions:
        truth = judge(condition, args)
        if truth.holds is False:
            return truth, condition
        if truth.holds is None and unclear is None:
            unclear = (truth, condition)
    return unclear if unclear is not None else (Truth(holds=True), None)


def normal_path(path: Any) -> str | None:
    """The absolute POSIX path without `.`, `..` and doubled slashes; None when it is none.

    Refused: what is not text, relative paths (`~` too), NUL, backslashes and with them drive letters. Links are
    not followed: this is about how the path is written.
    """
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path or "\\" in path:
        return None
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def _path_under(found: Any, roots: tuple[Any, ...]) -> Truth:
    path = normal_path(found)
    if path is None:
        return Truth(holds=None, why="it is no absolute POSIX path")
    for root in roots:
        folder = normal_path(root)
        if folder is not None and (path == folder or path.startswith(folder.rstrip("/") + "/")):
            return Truth(holds=True)
    return Truth(holds=False, why="it lies outside")


def _roots(value: Any) -> tuple[Any, ...]:
    return tuple(value) if json_type(value) == "list" else (value,)


def _argument(args: Any, name: str) -> Any:
    """An argument by its name, or by a JSON pointer when it starts with a slash."""
    if name.startswith("/"):
        try:
            return follow(args, name)
        except LookupError:
            return _ABSENT
    return args.get(name, _ABSENT) if json_type(args) == "object" else _ABSENT
