"""What must hold for a check before any run: one function per kind. A check that could never fail is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from keyword import iskeyword
from typing import Any

import msgspec

from steelyard.errors import GraderError
from steelyard.model.checks import (
    BudgetCheck,
    CallsCheck,
    ContainsCheck,
    ExcludesCheck,
    ExprCheck,
    JsonCheck,
    NumberCheck,
    PythonCheck,
    RecordedCheck,
    RecordsCheck,
    RegexCheck,
    RuleCheck,
)
from steelyard.model.scripts import MAX_BYTES as MAX_SCRIPT
from steelyard.model.scripts import ScriptError, decode_script, parameters_of
from steelyard.rules import compile_rule
from steelyard.standards.expressions import expr_findings
from steelyard.standards.problems import quoted, suggestion
from steelyard.standards.references import pointer_fault, selector_fault
from steelyard.standards.schemas import schema_fault
from steelyard.standards.state_rules import STATE_RULES
from steelyard.standards.texts import TextError, inside_folder, path_fault, read_limited

Finding = tuple[tuple[str | int, ...], str]
"""Where in the check, and what is wrong there."""

COMPARATORS = ("datetime", "any", "nocase", "number")
_MAX_PATTERN = 10_000
_MOST = {"seconds": 600, "memory_mb": 4096, "output_kb": 10_240}


def check_findings(check: Any) -> list[Finding]:
    """Everything that is wrong with a check by itself."""
    found: list[Finding] = []
    of = getattr(check, "of", None)
    if isinstance(of, str):
        fault = selector_fault(of)
        if fault:
            found.append((("of",), fault))
    rule = _RULES.get(type(check))
    if rule is not None:
        found.extend(rule(check))
    return found


def _contains(check: ContainsCheck | ExcludesCheck) -> Iterator[Finding]:
    if not check.any and not check.all:
        yield (), "needs texts to look for: `any: [...]` or `all: [...]`"
    for name, texts in (("any", check.any), ("all", check.all)):
        for index, text in enumerate(texts):
            if text == "":
                yield (
                    (name, index),
                    "is empty, and an empty text stands everywhere; write the text to look for",
                )


def _regex(check: RegexCheck) -> Iterator[Finding]:
    fault = pattern_fault(check.pattern)
    if fault:
        yield ("pattern",), fault


@lru_cache(maxsize=4096)
def pattern_fault(pattern: str) -> str | None:
    """Why RE2 refuses a pattern, or None. RE2 has no look-around and no back-references, so its time is bounded."""
    import re2

    if len(pattern) > _MAX_PATTERN:
        return f"has more than {_MAX_PATTERN} characters; split it"
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        return f"is no RE2 pattern: {' '.join(reason.split())}"
    return None


def _number(check: NumberCheck) -> Iterator[Finding]:
    if check.value is None and check.min is None and check.max is None:
        yield (), "needs `value`, or `min` or `max`"
    if check.min is not None and check.max is not None and check.min > check.max:
        yield ("min",), f"is above `max` ({check.min:f} > {check.max:f}), so no number could pass"
    for name in ("abs_tol", "rel_tol"):
        tolerance: Decimal = getattr(check, name)
        if tolerance < 0:
            yield (name,), f"is {tolerance:f}; a tolerance is 0 or more"
        if tolerance > 0 and check.value is None:
            yield (name,), "belongs to `value`, which is not given; widen `min` and `max` instead"


def _json(check: JsonCheck) -> Iterator[Finding]:
    if check.schema is msgspec.UNSET and check.value is msgspec.UNSET:
        yield (), "needs `schema`, or `value` (with a `pointer`)"
    fault = pointer_fault(check.pointer)
    if fault:
        yield ("pointer",), fault
    elif check.pointer and check.value is msgspec.UNSET:
        yield (
            ("pointer",),
            "is only looked at with `value`; write the value that stands there, or put it in the schema",
        )
    if check.schema is not msgspec.UNSET:
        fault = schema_fault(check.schema)
        if fault:
            yield ("schema",), fault


def _records(check: RecordsCheck) -> Iterator[Finding]:
    if not check.expected:
        yield ("expected",), "is empty, so nothing would be looked for; name the records"
    for index, record in enumerate(check.expected if check.key else ()):
        lacking = [name for name in check.key if not isinstance(record, Mapping) or name not in record]
        if lacking:
            yield ("expected", index), f"lacks the key field {quoted(lacking[0])}"


def _calls(check: CallsCheck) -> Iterator[Finding]:
    if not check.expected and check.mode in ("in_order", "at_least", "each"):
        yield (
            ("expected",),
            f"is empty, which `{check.mode}` always meets; name the calls, or use exact or only_from",
        )
    for index, call in enumerate(check.expected):
        if not call.name.strip():
            yield ("expected", index, "name"), "is empty; name the tool"
        if call.args is not msgspec.UNSET and not isinstance(call.args, dict):
            yield ("expected", index, "args"), "must be a mapping of arguments; leave it out to allow any"
        for name, comparator in call.compare.items():
            fault = comparator_fault(comparator)
            if fault:
                yield ("expected", index, "compare", name), fault


def comparator_fault(comparator: Any) -> str | None:
    """Why something is no way to compare an argument, or None."""
    if isinstance(comparator, str):
        if comparator in COMPARATORS:
            return None
        return f"unknown comparator {quoted(comparator)}{suggestion(comparator, COMPARATORS)}"
    if not isinstance(comparator, Mapping) or not comparator:
        return f"must be {', '.join(COMPARATORS)} or {{abs_tol: ..., rel_tol: ...}}"
    for name, bound in comparator.items():
        if name not in ("abs_tol", "rel_tol"):
            return f"unknown key {quoted(name)}{suggestion(name, ('abs_tol', 'rel_tol'))}"
        if isinstance(bound, bool) or not isinstance(bound, int | float) or bound < 0:
            return f"`{name}` must be a number from 0"
    return None


def _budget(check: BudgetCheck) -> Iterator[Finding]:
    bounds = {name: getattr(check, name) for name in ("seconds", "cost_usd", "tokens", "tool_calls", "turns")}
    if all(bound is None for bound in bounds.values()):
        yield (), f"needs a bound: {', '.join(bounds)}"
    for name, bound in bounds.items():
        if bound is not None and bound < 0:
            yield (name,), f"is {bound:f}; a bound is 0 or more"


def _recorded(check: RecordedCheck) -> Iterator[Finding]:
    if check.file is not None:
        fault = path_fault(check.file)
        if fault:
            yield ("file",), fault
    if check.score is not None and not check.score.strip():
        yield ("score",), "is empty; name the score that the trace recorded"


def _rule(check: RuleCheck) -> Iterator[Finding]:
    rule = check.rule
    if not rule.id.strip():
        yield ("rule", "id"), "is empty; name the rule"
    if rule.schema not in (None, "gate-rule/1"):
        yield ("rule", "schema"), f"must be gate-rule/1, not {quoted(str(rule.schema))}"
    if not rule.tool or not all(name.strip() for name in rule.tool):
        yield ("rule", "tool"), "names no tool; list the tools that the rule concerns"
        return
    for index, name in enumerate(rule.tool):
        if not rule.glob and any(mark in name for mark in "*?"):
            yield (
                ("rule", "tool", index),
                f"{quoted(name)} looks like a pattern; write `glob: true` beside `tool`",
            )
    if rule.limit is not None and rule.limit.max < 0:
        yield ("rule", "limit", "max"), f"is {rule.limit.max}; a limit is 0 or more"
        return
    try:
        compile_rule(rule)
    except GraderError as error:
        yield ("rule",), f"can mean nothing: {error}"


def _python(check: PythonCheck) -> Iterator[Finding]:
    fault = path_fault(check.file)
    if fault:
        yield ("file",), fault
    if not _names_a_function(check.function):
        yield ("function",), f"{quoted(check.function)} is no name of a function"
    for name, most in _MOST.items():
        bound = getattr(check.limits, name)
        if not 0 < bound <= most:
            yield ("limits", name), f"is {bound:f}; write a number above 0, at most {most}"


def _names_a_function(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name)


def file_findings(check: Any, folder: str) -> list[Finding]:
    """What is wrong with the file that a check names, which must stand in the suite's folder before any run."""
    if isinstance(check, RecordedCheck) and check.file is not None and not path_fault(check.file):
        try:
            found = inside_folder(check.file, folder).is_file()
        except TextError as error:
            return [(("file",), str(error))]
        return (
            []
            if found
            else [(("file",), f"{quoted(check.file)} is not there; put the verdict rows beside the suite")]
        )
    return _script_findings(check, folder)


def _script_findings(check: Any, folder: str) -> list[Finding]:
    if not isinstance(check, PythonCheck) or path_fault(check.file) or not _names_a_function(check.function):
        return []
    try:
        data = read_limited(inside_folder(check.file, folder), MAX_SCRIPT)
    except TextError as error:
        return [(("file",), f"{error}; put the check script there")]
    try:
        parameters_of(decode_script(data), check.function)
    except ScriptError as error:
        return [(("file",), f"{quoted(check.file)} {error}")]
    return []


_RULES: dict[type, Callable[[Any], Iterator[Finding]]] = {
    ContainsCheck: _contains,
    ExcludesCheck: _contains,
    RegexCheck: _regex,
    NumberCheck: _number,
    JsonCheck: _json,
    RecordsCheck: _records,
    CallsCheck: _calls,
    BudgetCheck: _budget,
    ExprCheck: expr_findings,
    RecordedCheck: _recorded,
    RuleCheck: _rule,
    PythonCheck: _python,
    **STATE_RULES,
}
