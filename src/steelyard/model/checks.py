"""What the code graders are told: one record per kind of check, a tagged union on `kind`.

`of` picks what is read: `answer` (the final released reply, the default), `answer#/json/pointer`, `said` (all
released replies of the agent), `call:NAME/args/pointer`, `result:NAME/pointer`, `state#/pointer`, `file:PATH`,
`extracted.NAME`. A call or result selector reads the last such call; `call:NAME[0]/args/x` the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

from steelyard.model.state_checks import CsvCheck, FilesCheck, ProvenanceCheck, SqlCheck, StateCheck

Scalar = str | int | float | bool | None


class EqualsCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="equals", forbid_unknown_fields=True
):
    """The same text, or the same JSON value and type (1 equals 1.0; not "1", not true)."""

    value: Any
    of: str = "answer"
    strip: bool = True
    case: bool = True
    """False: letter case is ignored."""
    nfc: bool = True


class ContainsCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="contains", forbid_unknown_fields=True
):
    """Substrings stand: `all` of them, and at least one of `any`. `drop`: characters removed from the text first."""

    of: str = "answer"
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    case: bool = False
    drop: str = ""


class ExcludesCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="excludes", forbid_unknown_fields=True
):
    """None of `any` stands; of `all`, not every one stands together."""

    of: str = "answer"
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    case: bool = False


class RegexCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="regex", forbid_unknown_fields=True
):
    """The RE2 pattern matches somewhere, or the whole text when `full`."""

    pattern: str
    of: str = "answer"
    full: bool = False


class NumberCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="number", forbid_unknown_fields=True
):
    """A number in a field or argument (never dug out of prose): equal to `value` within tolerance, or in min..max."""

    of: str = "answer"
    value: Decimal | None = None
    min: Decimal | None = None
    max: Decimal | None = None
    unit: str | None = None
    abs_tol: Decimal = Decimal(0)
    rel_tol: Decimal = Decimal(0)


class JsonCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="json", forbid_unknown_fields=True
):
    """A JSON value fits a JSON Schema, or equals `value` at `pointer` (only looked at when `value` is given)."""

    of: str = "answer"
    schema: Any = msgspec.UNSET
    pointer: str = ""
    value: Any = msgspec.UNSET


class RecordsCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="records", forbid_unknown_fields=True
):
    """k of n expected records are there: score k/n. Matched by `key` fields where given, in order when `ordered`."""

    expected: tuple[Any, ...]
    of: str = "answer"
    key: tuple[str, ...] = ()
    ordered: bool = False


class ExpectedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One expected call. No `args`: any arguments; `{}`: exactly none. `compare` sets a comparator per argument.

    `only` narrows which arguments are compared: a list of names, or `present` = those that the actual call has
    (the reading of tau2's files).
    """

    name: str
    args: Any = msgspec.UNSET
    compare: Mapping[str, Any] = {}
    only: tuple[str, ...] | Literal["present"] | None = None
    by: Literal["assistant", "user", "any"] | None = None


class CallsCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="calls", forbid_unknown_fields=True
):
    """Expected tool calls against the attempted ones.

    `exact` the same sequence; `in_order` a subsequence, extra calls allowed; `any_order` the same multiset;
    `at_least` the multiset contained; `only_from` every actual call is among the expected; `each` every expected
    call matches some actual call, which may serve several. Matching is best, not greedy.
    """

    expected: tuple[ExpectedCall, ...]
    mode: Literal["exact", "in_order", "any_order", "at_least", "only_from", "each"] = "in_order"
    agent: str | None = None
    by: Literal["assistant", "user", "any"] = "assistant"


class BudgetCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="budget", forbid_unknown_fields=True
):
    """Every measurement named is at most its bound; a measurement that the trace lacks makes it unknown."""

    seconds: Decimal | None = None
    cost_usd: Decimal | None = None
    tokens: Decimal | None = None
    tool_calls: Decimal | None = None
    turns: Decimal | None = None


class ExprCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="expr", forbid_unknown_fields=True
):
    """An expression over answer, facts, state, extracted, calls and the names of `let`.

    `let` binds names to selectors (`proposal: call:recommend/args/pool_size`); `cite` names selectors whose steps
    are evidence beside those that the bound values came from. A value that is not there is a fail with NO_PROPOSAL.
    """

    expr: str
    let: Mapping[str, str] = {}
    cite: tuple[str, ...] = ()


class RecordedCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="recorded", forbid_unknown_fields=True
):
    """The verdict was recorded elsewhere: a row of `file` (or of --recorded), or the trace's own external `score`."""

    file: str | None = None
    score: str | None = None


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One condition on an argument of a call; `arg` is a name or a JSON pointer."""

    arg: str
    op: Literal["exists", "eq", "in", "path_under"]
    value: Any = None


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most `max` matching calls per `turn` (one message of the agent) or `session`."""

    scope: Literal["turn", "session"]
    max: int
    count: Literal["attempted", "executed"] = "attempted"


class EventRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An event of the past that a rule refers to: a tool call by name, or a released message."""

    event: Literal["tool_call", "message"] = "tool_call"
    tool: str | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A closed, declarative rule over calls; any hit is a violation whatever the effect.

    A call is concerned when its name is in `tool` (patterns only with `glob`) and all of `when` hold. It then
    violates the rule when: nothing else is stated; a `require` does not hold; `after` has not happened before it;
    `never_after` has; it is one too many for `limit`; or it shares its message with a `never_with` event.
    A missing argument, a wrong type or an evaluation error is a violation.
    """

    id: str
    tool: tuple[str, ...]
    glob: bool = False
    schema: str | None = None
    when: tuple[Condition, ...] = ()
    require: tuple[Condition, ...] = ()
    after: EventRef | None = None
    never_after: EventRef | None = None
    never_with: EventRef | None = None
    limit: Limit | None = None
    effect: Literal["deny", "ask", "warn", "audit"] = "deny"
    layer: Literal["outcome", "process", "efficiency", "risk"] | None = None
    reason: str = ""
    by: Literal["assistant", "user", "any"] = "assistant"


class RuleCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="rule", forbid_unknown_fields=True
):
    """Passes when the rule has no hit in the trace; unknown where the record is known to be incomplete."""

    rule: Rule


class PythonLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one call of a check function may use: seconds of computing, memory, and printed text.

    Under full Python, memory is the address space, of which the interpreter itself takes about 30 MB.
    """

    seconds: Decimal = Decimal(5)
    memory_mb: int = 256
    output_kb: int = 64


class PythonCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="python", forbid_unknown_fields=True
):
    """A function of a file in the suite's folder, run in a sandbox.

    It takes any of `answer`, `facts`, `trace`, `state`, `extracted` by name, and returns true or false, a number in
    0..1, `[k, n]` or `"k/n"`, or a mapping with `score` and, where wanted, `reason`, `evidence` and `failure_tag`.
    `sandbox`: `auto` is Monty, an interpreter that can reach nothing; `bubblewrap` is full Python (its standard
    library alone) without files or network.
    """

    file: str
    function: str = "check"
    limits: PythonLimits = PythonLimits()
    sandbox: Literal["auto", "monty", "bubblewrap"] = "auto"


class LaterCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of check that is known but not graded yet."""

    kind: str
    settings: Mapping[str, Any] = {}


Check = (
    EqualsCheck | ContainsCheck | ExcludesCheck | RegexCheck | NumberCheck | JsonCheck | RecordsCheck
    | CallsCheck | BudgetCheck | ExprCheck | RecordedCheck | RuleCheck
    | CsvCheck | FilesCheck | SqlCheck | StateCheck | ProvenanceCheck | PythonCheck
)  # fmt: skip
"""Every check that this version grades."""

LATER_KINDS: tuple[str, ...] = ()
"""Kinds whose parameters are accepted in a suite and whose verdict is an error that says so."""
