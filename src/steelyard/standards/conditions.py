"""`when:` - whether a task or criterion applies, decided before any run.

It reads the task alone. What the agent did is out of its reach by construction: an agent that could make a criterion
inapplicable would grade itself. The language is closed: names of the task, constants, comparisons, and / or / not.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from steelyard.model.standard import Fact
from steelyard.standards.expressions import ExpressionError, parse
from steelyard.standards.problems import quoted, suggestion

_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


class WhenError(ValueError):
    """A condition that cannot be decided; the message is the end of a sentence."""


def holds(
    when: str, *, task_id: str, tags: Mapping[str, str], branch: str | None, facts: Mapping[str, Fact]
) -> bool:
    """Whether the condition is true of the task. Raises `WhenError`; nothing is ever left out by an error."""
    try:
        tree = parse(when)
    except ExpressionError as error:
        raise WhenError(str(error)) from error
    task = {"id": task_id, "tags": tags, "branch": branch, "facts": {n: _fact(f) for n, f in facts.items()}}
    try:
        value = _value(tree.body, task)
    except RecursionError as error:
        raise WhenError("is nested too deeply to be read") from error
    if not isinstance(value, bool):
        raise WhenError(f"gives {quoted(str(value))}, not true or false; compare it with something")
    return value


def _fact(fact: Fact) -> Any:
    """As in `expr` checks: the fields of the data and `text`; plain data is the fact itself."""
    if isinstance(fact.data, dict):
        return {"text": fact.text, **fact.data}
    return {"text": fact.text} if fact.data is None else fact.data


def _value(node: ast.expr, task: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    if isinstance(node, ast.Name):
        return _name(node.id, task)
    if isinstance(node, ast.Attribute):
        return _step(_value(node.value, task), node.attr, ast.unparse(node.value))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _step(_value(node.value, task), node.slice.value, ast.unparse(node.value))
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(part, task) for part in node.elts]
    if isinstance(node, ast.BoolOp):
        return _logic(node, task)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _truth(_value(node.operand, task))
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return _negative(node.operand.value)
    if isinstance(node, ast.Compare):
        return _compare(node, task)
    raise WhenError(
        f"uses {quoted(ast.unparse(node))}; a condition only compares values of the task (and, or, not)"
    )


def _name(name: str, task: Mapping[str, Any]) -> Any:
    if name == "task":
        return task
    if name in ("true", "false"):
        return name == "true"
    if name == "state":
        raise WhenError(
            "reads `state`; initial states come with a later version, so decide by tags or facts of the task"
        )
    if name in ("answer", "trace", "calls", "extracted", "said", "verdicts"):
        raise WhenError(
            f"reads `{name}`; what an agent did must not decide which criteria apply, so use `task` alone"
        )
    raise WhenError(
        f"reads the unknown name {quoted(name)}; write task.id, task.tags.X, task.facts.X.Y or task.branch"
    )


def _step(base: Any, name: Any, shown: str) -> Any:
    if isinstance(base, Mapping) and isinstance(name, str):
        if name in base:
            return base[name]
        raise WhenError(f"reads {name!r}, which {shown} lacks{suggestion(name, base)}")
    if (
        isinstance(base, list)
        and isinstance(name, int)
        and not isinstance(name, bool)
        and -len(base) <= name < len(base)
    ):
        return base[name]
    raise WhenError(f"reads {name!r} of {shown}, which has no such part")


def _negative(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WhenError(f"negates {value!r}, which is no number")
    return -value


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise WhenError(f"takes {quoted(str(value))} for true or false; compare it with something")


def _logic(node: ast.BoolOp, task: Mapping[str, Any]) -> bool:
    # Every part is read, so that a slip in the second one shows before it matters.
    parts = [_truth(_value(part, task)) for part in node.values]
    return all(parts) if isinstance(node.op, ast.And) else any(parts)


def _compare(node: ast.Compare, task: Mapping[str, Any]) -> bool:
    left, result = _value(node.left, task), True
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, task)
        result = _pair(op, left, right) and result
        left = right
    return result


def _pair(op: ast.cmpop, left: Any, right: Any) -> bool:
    if isinstance(op, ast.Eq | ast.NotEq):
        return _same(left, right) == isinstance(op, ast.Eq)
    if isinstance(op, ast.Is | ast.IsNot):
        if left is not None and right is not None:
            raise WhenError("uses `is`; write == or !=")
        return (left is right) == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        return _within(left, right) == isinstance(op, ast.In)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise WhenError(
            f"orders {quoted(str(left))} and {quoted(str(right))}, which are not both numbers or both texts"
        )
    return bool(_ORDER[type(op)](left, right))


def _same(left: Any, right: Any) -> bool:
    # As in JSON: true is not 1.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _within(part: Any, whole: Any) -> bool:
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    if isinstance(whole, list):
        return any(_same(part, other) for other in whole)
    if isinstance(whole, Mapping):
        return isinstance(part, str) and part in whole
    raise WhenError(f"looks for {quoted(str(part))} in {quoted(str(whole))}, which holds no parts")
