"""The text of a suite to the suite: the reader of its format, one set of rules for all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import msgspec

from steelyard.errors import InputError, StandardError
from steelyard.model.standard import Suite
from steelyard.standards.draft import Draft, draft_of_file, draft_of_nodes
from steelyard.standards.hashing import suite_hash
from steelyard.standards.json_nodes import JsonLines, read_json, refuse_constant
from steelyard.standards.nodes import MAX_BYTES, MAX_DEPTH, Node, line_of
from steelyard.standards.problems import Path, Problems, suggestion
from steelyard.standards.scalars import shortest
from steelyard.standards.shapes import SuiteFile
from steelyard.standards.suites import build_suite
from steelyard.standards.texts import TextError, to_unicode


def parse_suite(data: bytes, *, name: str, format: str, folder: str) -> Suite:
    """The suite in `data`, written in `format` (yaml, json or toml).

    `name` is how messages call it; `folder` is where the files that it names are looked up. Raises `StandardError`.
    """
    if format not in ("yaml", "json", "toml"):
        raise InputError(f"{name}: unknown format {format!r}{suggestion(format, ('yaml', 'json', 'toml'))}")
    if len(data) > MAX_BYTES:
        raise StandardError([f"{name}: is larger than {MAX_BYTES // (1024 * 1024)} MB; split the suite"])
    try:
        text = to_unicode(data, name)
    except TextError as error:
        raise StandardError([str(error)]) from error
    if format == "json":
        fast = _decode_json(text)
        if fast is not None:
            return _from_fast(fast, text, name, folder)
    return _from_text(text, name, format, folder)


def _from_text(text: str, name: str, form: str, folder: str) -> Suite:
    problems = Problems()
    root = _read_nodes(text, form, problems)
    locate = _locator(root, text, form)
    if root is None:
        problems.raise_if_any(name, locate)
        raise StandardError([f"{name}: holds no suite"])
    draft = draft_of_nodes(root, problems, folder)
    return finish(draft, problems, name, folder, locate)


def suite_of_nodes(root: Node, problems: Problems, *, name: str, folder: str) -> Suite:
    """The validated suite of a tree that came from no file."""
    draft = draft_of_nodes(root, problems, folder)
    return finish(draft, problems, name, folder, lambda path: line_of(root, path))


def _read_nodes(text: str, form: str, problems: Problems) -> Node | None:
    if form == "yaml":
        from steelyard.standards.yaml_nodes import read_yaml

        return read_yaml(text, problems)
    if form == "toml":
        from steelyard.standards.toml_nodes import read_toml

        return read_toml(text, problems)
    return read_json(text, problems)


def _locator(root: Node | None, text: str, form: str) -> Callable[[Path], int]:
    if form == "toml":
        from steelyard.standards.toml_nodes import toml_lines

        return toml_lines(text)
    return lambda path: line_of(root, path) if root is not None else 0


def finish(draft: Draft, problems: Problems, name: str, folder: str, locate: Callable[[Path], int]) -> Suite:
    """The validated suite with its notices and its hash, or `StandardError` with everything that is wrong."""
    built = build_suite(draft, problems, folder)
    problems.raise_if_any(name, locate)
    assert built is not None
    from steelyard.standards.lint import notices

    said = notices(built, name, locate)
    return msgspec.structs.replace(built.suite, hash=suite_hash(built.suite), notices=said)


# A number that only the careful reader can judge: many digits, or an exponent of a size that no float has.
_CAREFUL = re.compile(r"[0-9][0-9.]{15}|[eE][+-]?[0-9]{3}|\\u0000|\\u[dD][89a-fA-F]")
_DECIMALS = frozenset(
    ("weight", "pass_mark", "at_least", "seconds", "cost_usd", "tokens", "tool_calls", "turns")
)
_NUMBER_CHECK = ("value", "min", "max", "abs_tol", "rel_tol")


class _Careful(Exception):
    """The quick way does not apply; the careful way finds out why, or that all is well."""


def _decode_json(text: str) -> SuiteFile | None:
    """A sound JSON suite decoded at once; None when anything about it wants the careful reader."""
    if _CAREFUL.search(text):
        return None
    try:
        tree = json.loads(text, object_pairs_hook=_unique, parse_constant=refuse_constant)
        if not isinstance(tree, dict) or "tasks_from" in tree or "tasks" not in tree or _depth_beyond(tree):
            return None
        return msgspec.convert(tree, SuiteFile)
    except (_Careful, ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _Careful
    if not fields.keys().isdisjoint(_DECIMALS):
        _exact(fields, _DECIMALS)
    if fields.get("kind") == "number":
        _exact(fields, _NUMBER_CHECK)
    for key in ("shares", "weights"):
        if isinstance(fields.get(key), dict):
            _exact(fields[key], fields[key].keys())
    return fields


def _exact(fields: dict[str, Any], keys: Iterable[str]) -> None:
    """Numbers where decimals are wanted, exactly as written (15 digits survive a float); text there is an error."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str):
            raise _Careful
        if isinstance(value, float):
            fields[key] = shortest(Decimal(repr(value)))


def _from_fast(file: SuiteFile, text: str, name: str, folder: str) -> Suite:
    # Positions are only worked out for a suite that has something to say.
    return finish(draft_of_file(file), Problems(), name, folder, JsonLines(text))


def _depth_beyond(tree: Any) -> bool:
    """Whether lists and mappings are nested more than the careful reader allows."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        parts = (node.values() if type(node) is dict else node for node in level)
        level = [child for part in parts for child in part if type(child) is dict or type(child) is list]
        if not level:
            return False
    return True
