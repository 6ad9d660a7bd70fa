"""What an expression came to, in one line: the values in place of the names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from steelyard.checks.evaluator import Evaluator, Expression, NoValueError
from steelyard.checks.show import show
from steelyard.errors import GraderError

MAX_LINE = 400

_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant)


def explained(expression: Expression, evaluator: Evaluator, value: Any) -> str:
    """`64 * 4 = 256 <= 64 = 100 - 20 - 16 does not hold`: both sides of a comparison, computed and as computed."""
    tree = expression.tree
    if isinstance(value, bool) and isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        left, right = _side(tree.left, evaluator), _side(tree.comparators[0], evaluator)
        sign = _SIGNS.get(type(tree.ops[0]), "?")
        line = (
            f"{' = '.join(left)} {sign} {' = '.join(reversed(right))} {'holds' if value else 'does not hold'}"
        )
    else:
        line = f"{_substituted(tree, evaluator)} is {show(value)}"
    return line if len(line) <= MAX_LINE else f"{expression.text[:MAX_LINE]} is {show(value)}"


def _side(node: ast.expr, evaluator: Evaluator) -> list[str]:
    result = show(evaluator.value(node))
    return [result] if isinstance(node, _PLAIN) else [_substituted(node, evaluator), result]


def _substituted(node: ast.expr, evaluator: Evaluator) -> str:
    template = _template(node)
    if template is None:
        return ast.unparse(_Values(lambda part: ast.Name(id=_value(part, evaluator))).visit(node))
    return "".join([part if isinstance(part, str) else _value(part, evaluator) for part in template])


@lru_cache(maxsize=1024)
def _template(node: ast.expr) -> tuple[str | ast.expr, ...] | None:
    """The text around the values, and the parts whose values stand between; None where they cannot be told apart."""
    parts: list[ast.expr] = []

    def gap(part: ast.expr) -> ast.expr:
        parts.append(part)
        return ast.Name(id=f"\0{len(parts) - 1}\0")

    try:
        pieces = ast.unparse(_Values(gap).visit(node)).split("\0")
    except ValueError:
        return None
    # Only a gap holds NUL, so that text and numbers of gaps take turns.
    if sorted(pieces[1::2]) != sorted(map(str, range(len(parts)))):
        return None
    return tuple([parts[int(piece)] if at % 2 else piece for at, piece in enumerate(pieces)])


def _value(part: ast.expr, evaluator: Evaluator) -> str:
    try:
        return show(evaluator.value(part))
    except (GraderError, NoValueError):
        # A part that was never reached (`a or b`) may have no value; it stays as written.
        return ast.unparse(part)


class _Values(ast.NodeVisitor):
    """Another tree with something else in the place of each name with its members."""

    def __init__(self, shown: Callable[[ast.expr], ast.expr]) -> None:
        self._shown = shown

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A node of the same kind over what its parts become."""
        return type(node)(**{name: self._part(part) for name, part in ast.iter_fields(node)})

    def _part(self, part: Any) -> Any:
        if isinstance(part, list):
            return [self._part(one) for one in part]
        return self.visit(part) if isinstance(part, ast.expr) else part

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._shown(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._shown(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._shown(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name(id=show(node.value))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        # A function's name is no value; a method's text is.
        function = node.func
        if isinstance(function, ast.Attribute):
            function = ast.Attribute(value=self.visit(function.value), attr=function.attr, ctx=function.ctx)
        return ast.Call(func=function, args=[self.visit(one) for one in node.args], keywords=node.keywords)
