"""The codes that notices and errored verdicts carry, found in the source with the sentences beside them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs_meanings import ERRORS, NOTICES
from docs_run import Failure

from steelyard import errors

SOURCE = Path(inspect.getfile(errors)).parent
_CODE = re.compile(r"[a-z]+(?:_[a-z0-9]+)+|quarantined|standard|selection|timeout|conflict|nonsense")
_WORD = re.compile(r"[a-z]+(?:_[a-z0-9]+)*")
_TELLERS = ("notice", "tell", "_tell", "_told")
_ABOUT = {"importers": "a trace", "grading": "grading", "scoring": "scoring", "app": "grading"}


def notice_codes() -> list[tuple[str, str, str]]:
    """(code, what it is about, what it says), by code."""
    found: dict[str, tuple[str, str]] = {}
    for room, about in _ABOUT.items():
        for path in sorted((SOURCE / room).rglob("*.py")):
            text = path.read_text("utf-8")
            for code, said in _notices(_with_texts(ast.parse(text))):
                known = found.get(code)
                if known is None or (said and not known[1]):
                    found[code] = (known[0] if known else about, said)
            found.update({code: (about, "") for code in NOTICES if code not in found and f'"{code}"' in text})
    told = {code: (about, NOTICES.get(code) or said) for code, (about, said) in found.items()}
    _refuse(NOTICES, {code: said for code, (_, said) in told.items()}, "notices")
    return [(f"`{code}`", about, said) for code, (about, said) in sorted(told.items())]


def error_codes() -> list[tuple[str, str]]:
    """(code, what it says) of errored verdicts, by code."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        for code, said in _errors(ast.parse(text)):
            found[code] = found.get(code) or said
        found.update({code: "" for code in ERRORS if code not in found and f'"{code}"' in text})
    told = {code: ERRORS.get(code) or said for code, said in found.items()}
    _refuse(ERRORS, told, "errors")
    return [(f"`{code}`", said) for code, said in sorted(told.items())]


def _refuse(described: Mapping[str, str], told: Mapping[str, str], what: str) -> None:
    """A code without a sentence, or a sentence without its code, is a page that is not true."""
    gone = [code for code in described if code not in told]
    if gone:
        raise Failure(
            f"scripts/docs_meanings.py describes codes that the source no longer has: {', '.join(gone)}"
        )
    silent = [code for code, said in told.items() if not said]
    if silent:
        raise Failure(f"{what} without a sentence; add them to scripts/docs_meanings.py: {', '.join(silent)}")


def _with_texts(tree: ast.Module) -> ast.Module:
    """The tree with each name of an argument replaced by the text that was last assigned to it above."""
    texts = [
        (node.lineno, target.id, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _text(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]

    def resolved(node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Name):
            return node
        above = [(line, text) for line, name, text in texts if name == node.id and line < node.lineno]
        return max(above, key=lambda entry: entry[0])[1] if above else node

    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.args = [resolved(argument) for argument in node.args]
            for keyword in node.keywords:
                keyword.value = resolved(keyword.value)
    return tree


def _notices(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _called(node)
            if name in ("ScoreNotice", "Notice"):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                if "code" in given and "detail" in given:
                    yield from _pair(given["code"], given["detail"], _WORD)
            elif name in _TELLERS:
                at = next((i for i, argument in enumerate(node.args) if _is_code(argument)), None)
                if at is not None and at + 1 < len(node.args):
                    said = node.args[at + 1] if name != "_tell" else None
                    yield from _pair(node.args[at], said)
            elif len(node.args) > 1 and _text(node.args[1]).endswith("."):
                yield from _pair(node.args[0], node.args[1])
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and _text(node.elts[1]).endswith("."):
            yield from _pair(node.elts[0], node.elts[1])


def _errors(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in ("GraderError", "Errored", "_error", "errored"):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            code = given.get("code") or given.get("error")
            said = node.args[0] if node.args else given.get("reason")
            if code is not None and isinstance(code, ast.Constant):
                yield from _pair(code, said, _WORD)
            elif _called(node) in ("_error", "errored") and len(node.args) > 4:
                yield from _pair(node.args[3], None)
        elif isinstance(node, ast.FunctionDef) and node.name == "_score_problem":
            for inner in ast.walk(node):
                if isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
                    yield from _pair(inner.elts[0], inner.elts[1])


def _pair(code: ast.expr, said: ast.expr | None, shape: re.Pattern[str] = _CODE) -> Iterator[tuple[str, str]]:
    if _is_code(code, shape):
        yield _text(code), _text(said)


def _is_code(node: ast.expr, shape: re.Pattern[str] = _CODE) -> bool:
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(shape.fullmatch(node.value))
    )


def _text(node: ast.expr | None) -> str:
    """A text of the source; what is filled in becomes `…`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        return text if any(letter.isalpha() for letter in text) else ""
    return ""


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
