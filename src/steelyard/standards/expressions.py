"""Expressions of `expr` checks, read before any run: their names must exist, and nothing in them is executed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from steelyard.model.checks import ExprCheck
from steelyard.model.standard import Fact
from steelyard.standards.problems import quoted, suggestion
from steelyard.standards.references import selector_fault

NAMES = ("answer", "facts", "state", "extracted", "calls")
FUNCTIONS = ("abs", "all", "any", "len", "max", "min", "round", "sum")
METHODS = ("casefold", "endswith", "lower", "startswith", "strip", "upper")
MAX_LENGTH = 2_000
# What the evaluator of `expr` checks computes; a test holds the two together.
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Constant, ast.Name, ast.Attribute,
    ast.Subscript, ast.List, ast.Tuple, ast.IfExp, ast.expr_context, ast.boolop,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Not, ast.USub, ast.UAdd,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn,
)  # fmt: skip
Steps = tuple[str | int, ...]


class ExpressionError(ValueError):
    """A text that is no expression; the message is the end of a sentence."""


@lru_cache(maxsize=4096)
def parse(text: str) -> ast.Expression:
    """The syntax tree. Raises `ExpressionError` for what is no expression, or too large to be one on purpose."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"has more than {MAX_LENGTH} characters; compute less in one expression")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        column = f" (column {error.offset})" if error.offset else ""
        raise ExpressionError(f"is no expression: {error.msg}{column}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("is no expression that can be read; it may be nested too deeply") from error
    return tree


def expr_findings(check: ExprCheck) -> Iterator[tuple[Steps, str]]:
    """What is wrong with an `expr` check whatever the task."""
    for name, selector in check.let.items():
        if not name.isidentifier() or name in (*NAMES, "true", "false"):
            yield ("let", name), "cannot be used as a name; use a free word of letters, digits and _"
        fault = selector_fault(selector)
        if fault:
            yield ("let", name), fault
    for index, selector in enumerate(check.cite):
        fault = selector_fault(selector)
        if fault:
            yield ("cite", index), fault
    try:
        tree = parse(check.expr)
    except ExpressionError as error:
        yield ("expr",), str(error)
        return
    for message in dict.fromkeys(_tree_findings(tree, check.let)):
        yield ("expr",), message


def _tree_findings(tree: ast.Expression, let: Mapping[str, str]) -> Iterator[str]:
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            yield f"uses {type(node).__name__}, which expressions do not have; write values, operators, functions"
        elif isinstance(node, ast.Constant) and not isinstance(node.value, str | int | float | None):
            yield f"holds {node.value!r}, which is nothing that an expression can hold"
        elif id(node) in called:
            yield from _function_findings(node)
        elif isinstance(node, ast.Name) and node.id not in (*NAMES, *let, "true", "false"):
            yield f"reads the unknown name {quoted(node.id)}{_nearest(node.id, let)}"


def _function_findings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and node.id not in FUNCTIONS:
        yield f"calls the unknown function {quoted(node.id)}{suggestion(node.id, FUNCTIONS)}"
    elif isinstance(node, ast.Attribute) and node.attr not in METHODS:
        yield f"calls the unknown method {quoted(node.attr)} of a text{suggestion(node.attr, METHODS)}"
    elif not isinstance(node, ast.Name | ast.Attribute):
        yield f"calls a {type(node).__name__}, which is no function"


def _nearest(name: str, let: Iterable[str]) -> str:
    return suggestion(name, (*let, *NAMES))


def task_findings(
    check: ExprCheck, facts: Mapping[str, Fact], extract: Mapping[str, str]
) -> Iterator[tuple[Steps, str]]:
    """What the expression reads of the task must be there: facts and their fields, values that a judge extracts."""
    try:
        tree = parse(check.expr)
    except ExpressionError:
        return
    messages = (_missing(chain, facts, extract) for chain in chains(tree))
    for message in dict.fromkeys(message for message in messages if message):
        yield ("expr",), message


def _missing(chain: tuple[Any, ...], facts: Mapping[str, Fact], extract: Mapping[str, str]) -> str | None:
    if chain[0] == "facts" and len(chain) == 2:
        name = chain[1]
        return (
            None
            if name in facts
            else f"reads the fact {quoted(str(name))}, which the task lacks{_near(name, facts)}"
        )
    if chain[0] == "facts" and len(chain) == 3 and chain[1] in facts:
        return _missing_field(chain[1], chain[2], facts[chain[1]])
    if chain[0] == "extracted" and len(chain) == 2 and extract and chain[1] not in extract:
        return f"reads extracted.{chain[1]}, which the judge does not extract{suggestion(str(chain[1]), extract)}"
    return None


def _missing_field(name: str, field: Any, fact: Fact) -> str | None:
    if field == "text" or not isinstance(fact.data, dict | None):
        return None
    fields = fact.data or {}
    if field in fields:
        return None
    return f"reads facts.{name}.{field}, which the fact's data lacks{_near(field, (*fields, 'text'))}"


def _near(name: Any, known: Iterable[str]) -> str:
    return suggestion(str(name), known) or "; the task states no facts"


def chains(tree: ast.AST) -> Iterator[tuple[Any, ...]]:
    """Every read of the form NAME.a.b or NAME['a']['b'] with at least one step, as its names in order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript):
            chain = _chain(node)
            if chain is not None:
                yield chain


def _chain(node: ast.AST) -> tuple[Any, ...] | None:
    steps: list[Any] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            steps.append(node.slice.value)
        else:
            return None
        node = node.value
    return (node.id, *reversed(steps))


def reads_extracted(check: ExprCheck) -> bool:
    """Whether the check reads a value that a judge or person extracts."""
    if any(selector.startswith("extracted.") for selector in check.let.values()):
        return True
    try:
        tree = parse(check.expr)
    except ExpressionError:
        return False
    return any(isinstance(n, ast.Name) and n.id == "extracted" for n in ast.walk(tree))
