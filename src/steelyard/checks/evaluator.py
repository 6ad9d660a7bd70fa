"""Evaluates one expression over JSON values: simpleeval, cut down to data, exact numbers and a few functions."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
import simpleeval

from steelyard.checks.arithmetic import FUNCTIONS, METHODS, OPERATORS, leaf, truth
from steelyard.checks.show import show
from steelyard.errors import GraderError

MAX_EXPRESSION = 2_000
FROM_THE_AGENT = "extracted"
"""The root whose values the agent proposed; names of `let` are treated alike."""


class Expression(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed expression: its syntax tree, and the names it reads."""

    text: str
    tree: ast.expr
    roots: frozenset[str]
    facts: tuple[str, ...]
    state: tuple[str, ...]
    extracted: tuple[str, ...]


STATE = "state"
"""The root whose values are what the agent left behind."""


class NoValueError(Exception):
    """The expression reads a value that the agent did not give. The message says which.

    `proposal`: it was to be proposed in the answer or a call, rather than left in the state.
    """

    def __init__(self, message: str, *, proposal: bool = True) -> None:
        self.proposal = proposal
        super().__init__(message)


@lru_cache(maxsize=512)
def parse(text: str) -> Expression:
    """Reads an expression. Raises `GraderError` (`bad_expression`)."""
    if len(text) > MAX_EXPRESSION:
        raise GraderError(
            f"The expression has {len(text)} characters; at most {MAX_EXPRESSION} are read.",
            code="bad_expression",
        )
    source = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        said = problem.msg if isinstance(problem, SyntaxError) else str(problem) or type(problem).__name__
        raise GraderError(
            f"The expression {show(text)} cannot be read: {said}.", code="bad_expression"
        ) from None
    tree = _ExactConstants(source).visit(body)
    nodes = list(ast.walk(tree))
    return Expression(
        text=source,
        tree=tree,
        roots=frozenset(node.id for node in nodes if isinstance(node, ast.Name)),
        facts=_members(nodes, "facts"),
        state=_members(nodes, STATE),
        extracted=_members(nodes, FROM_THE_AGENT),
    )


class _ExactConstants(ast.NodeTransformer):
    """Reads decimal literals as written, before Python rounds them to floats."""

    def __init__(self, source: str) -> None:
        self._source = source

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, float):
            written = ast.get_source_segment(self._source, node) or repr(node.value)
            return ast.copy_location(ast.Constant(value=leaf(Decimal(written.replace("_", "")))), node)
        if isinstance(node.value, (complex, bytes)) or node.value is ...:
            raise GraderError(
                f"{node.value!r} is nothing that an expression can hold.", code="bad_expression"
            )
        return node


def _members(nodes: list[ast.AST], root: str) -> tuple[str, ...]:
    """The names read directly below a root, in order: `facts.a`, `facts["b"]`."""
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_name(node.value, root):
            found[node.attr] = None
        elif (
            isinstance(node, ast.Subscript)
            and _is_name(node.value, root)
            and isinstance(node.slice, ast.Constant)
        ):
            found[str(node.slice.value)] = None
    return tuple(found)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class Evaluator(simpleeval.SimpleEval):  # type: ignore[misc]
    """Runs expressions over `names`. `proposed`: roots whose missing parts are the agent's omission.

    Raises `NoValueError` for those, `GraderError` for everything else that stands in the way.
    """

    def __init__(self, names: Mapping[str, Any], proposed: frozenset[str]) -> None:
        super().__init__(operators=OPERATORS, functions={}, names={})
        self._values = names
        self._proposed = proposed
        self.nodes = {
            ast.Attribute: self._attribute,
            ast.BinOp: self._eval_binop,
            ast.BoolOp: self._boolean,
            ast.Call: self._call,
            ast.Compare: self._eval_compare,
            ast.Constant: self._constant,
            ast.IfExp: self._either,
            ast.List: self._list,
            ast.Name: self._name,
            ast.Subscript: self._subscript,
            ast.Tuple: self._list,
            ast.UnaryOp: self._eval_unaryop,
        }

    def value(self, tree: ast.expr) -> Any:
        """The value of a node: bool, int, Fraction, text, None, or a list or object of JSON values."""
        try:
            return leaf(self._eval(tree))
        except simpleeval.InvalidExpression as problem:
            raise GraderError(
                f"The expression uses what is not available: {problem}", code="bad_expression"
            ) from None
        except KeyError as problem:
            raise GraderError(
                f"The expression uses an operator that it may not: {problem}.", code="bad_expression"
            ) from None

    def _check_disallowed_items(self, found: Any) -> None:
        """Nothing to look for: names give JSON only, and functions are called by name, never handed on."""

    def _constant(self, node: ast.Constant) -> Any:
        return leaf(node.value) if isinstance(node.value, (int, float)) else node.value

    def _list(self, node: ast.List | ast.Tuple) -> list[Any]:
        return [self._eval(element) for element in node.elts]

    def _boolean(self, node: ast.BoolOp) -> bool:
        wanted = isinstance(node.op, ast.Or)
        return wanted if any(truth(self._eval(part)) is wanted for part in node.values) else not wanted

    def _either(self, node: ast.IfExp) -> Any:
        return self._eval(node.body if truth(self._eval(node.test)) else node.orelse)

    def _name(self, node: ast.Name) -> Any:
        if node.id in self._values:
            return leaf(self._values[node.id])
        if node.id in ("true", "false"):
            return node.id == "true"
        raise GraderError(
            f"The expression reads {node.id}, which is not defined; there are {', '.join(sorted(self._values))}.",
            code="bad_reference",
        )

    def _attribute(self, node: ast.Attribute) -> Any:
        return self._member(node, self._eval(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Slice):
            raise GraderError("Expressions do not slice.", code="bad_expression")
        return self._member(node, self._eval(node.value), self._eval(node.slice))

    def _member(self, node: ast.expr, whole: Any, key: Any) -> Any:
        if isinstance(whole, Mapping) and isinstance(key, str) and key in whole:
            return self._given(node, whole[key])
        counts = isinstance(key, int) and not isinstance(key, bool)
        if isinstance(whole, (list, tuple)) and counts and -len(whole) <= key < len(whole):
            return self._given(node, whole[key])
        return self._lacking(node, show(key))

    def _given(self, node: ast.expr, value: Any) -> Any:
        if value is None and _root(node) == FROM_THE_AGENT:
            raise NoValueError(f"{ast.unparse(node)} is null")
        return leaf(value)

    def _lacking(self, node: ast.expr, key: str) -> Any:
        read = ast.unparse(node)
        if _root(node) in self._proposed:
            raise NoValueError(f"there is no {read}", proposal=_root(node) != STATE)
        raise GraderError(f"The expression reads {read}, but there is no {key}.", code="bad_reference")

    def _call(self, node: ast.Call) -> Any:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise GraderError("Functions in expressions take plain arguments only.", code="bad_expression")
        arguments = [self._eval(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            return self._apply(node.func.id, FUNCTIONS[node.func.id], arguments)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            text = self._eval(node.func.value)
            if isinstance(text, str) and all(isinstance(argument, str) for argument in arguments):
                return self._apply(node.func.attr, METHODS[node.func.attr], [text, *arguments])
            raise GraderError(f"`{node.func.attr}` works on texts only.", code="wrong_type")
        known = ", ".join(sorted([*FUNCTIONS, *(f"text.{method}" for method in METHODS)]))
        raise GraderError(
            f"{ast.unparse(node.func)} is no function here; there are {known}.", code="bad_expression"
        )

    def _apply(self, name: str, function: Any, arguments: list[Any]) -> Any:
        try:
            return function(*arguments)
        except TypeError:
            raise GraderError(f"`{name}` does not take these arguments.", code="bad_expression") from None


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
