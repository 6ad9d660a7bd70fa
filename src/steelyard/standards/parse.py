"""The text of a suite to the suite: the reader of its format, one set of rules for all of them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from steelyard.errors import InputError, StandardError
from steelyard.model.standard import Suite
from steelyard.standards.draft import Draft, draft_of_file, draft_of_nodes
from steelyard.standards.hashing import hash_and_find
from steelyard.standards.json_nodes import JsonLines, read_json
from steelyard.standards.json_suite import decode_json
from steelyard.standards.nodes import MAX_BYTES, Node, line_of
from steelyard.standards.problems import Path, Problems, suggestion
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
    with _collector_paused():
        if format == "json":
            draft = _quick_draft(text)
            if draft is not None:
                # Positions are only worked out for a suite that has something to say.
                return finish(draft, Problems(), name, folder, JsonLines(text))
        return _from_text(text, name, format, folder)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: it would look through the growing records again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _from_text(text: str, name: str, form: str, folder: str) -> Suite:
    problems = Problems()
    root = read_nodes(text, form, problems)
    locate = locator(root, text, form)
    if root is None:
        problems.raise_if_any(name, locate)
        raise StandardError([f"{name}: holds no suite"])
    draft = draft_of_nodes(root, problems, folder)
    return finish(draft, problems, name, folder, locate)


def suite_of_nodes(root: Node, problems: Problems, *, name: str, folder: str) -> Suite:
    """The validated suite of a tree that came from no file."""
    draft = draft_of_nodes(root, problems, folder)
    return finish(draft, problems, name, folder, lambda path: line_of(root, path))


def read_nodes(text: str, form: str, problems: Problems) -> Node | None:
    """The tree of a text in a format, or None where it cannot be parsed (which is then among `problems`)."""
    if form == "yaml":
        from steelyard.standards.yaml_nodes import read_yaml

        return read_yaml(text, problems)
    if form == "toml":
        from steelyard.standards.toml_nodes import read_toml

        return read_toml(text, problems)
    return read_json(text, problems)


def locator(root: Node | None, text: str, form: str) -> Callable[[Path], int]:
    """Paths of the tree to lines; 0 where the line is not known."""
    if form == "toml":
        from steelyard.standards.toml_nodes import toml_lines

        return toml_lines(text)
    return lambda path: line_of(root, path) if root is not None else 0


def finish(draft: Draft, problems: Problems, name: str, folder: str, locate: Callable[[Path], int]) -> Suite:
    """The validated suite with its notices and its hash, or `StandardError` with everything that is wrong."""
    built = build_suite(draft, problems, folder)
    problems.raise_if_any(name, locate)
    assert built is not None
    from steelyard.standards.lint import FILL_IN, notices

    digest, unfilled = hash_and_find(built.suite, FILL_IN)
    said = notices(built, name, locate, unfilled=unfilled)
    return msgspec.structs.replace(built.suite, hash=digest, notices=said)


def _decode_json(text: str) -> SuiteFile | None:
    return decode_json(text)


def _quick_draft(text: str) -> Draft | None:
    file = _decode_json(text)
    return None if file is None else draft_of_file(file)
