"""Finds what looks like a call and was not read as one: a record that holds such a thing lacks actions.

A false alarm leaves a criterion undecided; a call that is missed lets a gate against it pass. So the look is wide: at
any depth, by the type of an object, by a key that says "tool call", and by the mere shape of a name with arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from steelyard.importers import decoding
from steelyard.importers.building import StepBuilder
from steelyard.importers.lookalikes import (
    ANSWERED_IN_TEXT,
    Lookalike,
    as_call,
    calls_in,
    calls_in_text,
    endings,
    is_call_key,
    is_quiet,
    may_hold_call,
    speaks,
)
from steelyard.model.trace import Call, Step

_NONE: frozenset[str] = frozenset()


def tell_unread(
    builder: StepBuilder,
    fields: Mapping[str, Any],
    first: int,
    *,
    calls_from: int,
    read: frozenset[str] = _NONE,
    told: Callable[[], tuple[Call, ...]] = tuple,
) -> None:
    """Marks the trace incomplete where `fields`, of the message of step `first`, look like a call.

    Fields of the names in `read` are not looked at. A copy of a call that was read, from step `calls_from` on, is no
    other call; nor is one of `told`, which the record tells in another way.
    """
    if not is_quiet(fields, read):
        rest = {key: value for key, value in fields.items() if key not in read}
        left = _left_over(rest, (*calls_of(builder.steps[calls_from:]), *told()))
        if left is not None:
            builder.unread(left.label, f"s{first + 1:04d}" if first < len(builder.steps) else None)
    steps = builder.steps
    for position in range(first, len(steps)):
        step = steps[position]
        if step.kind in ("assistant", "user"):
            text = _left_over_text(step, lambda: calls_of(builder.steps[calls_from:]))
            if text is not None:
                builder.call_in_text(text.label, step.id)


def tell_unread_beside(builder: StepBuilder, recording: Mapping[str, Any], names: Iterable[str] = ()) -> None:
    """The same for what stands beside the messages: fields whose key says "tool call", and those of `names`."""
    asked = frozenset(names)
    fields = {key: value for key, value in recording.items() if key in asked or is_call_key(key)}
    if fields:
        tell_unread(builder, fields, len(builder.steps), calls_from=0)


def answered(builder: StepBuilder) -> tuple[Call, ...]:
    """The call that the last step, a result, answers: its message may repeat it."""
    result = builder.steps[-1].result
    asked = None if result is None else result.call_step_id
    return () if asked is None else tuple(calls_of([builder.steps[int(asked[1:]) - 1]]))


def tell_batched(builder: StepBuilder) -> None:
    """The same for the arguments of the last step's call, where they list further calls."""
    step = builder.steps[-1]
    label = batched_in((step,))
    if label is not None:
        builder.unread(label, step.id)


def batched_in(steps: Iterable[Step]) -> str | None:
    """The label of the first call that the arguments of a call list under a key that says "tool call"."""
    for step in steps:
        args = None if step.call is None else step.call.args
        if not isinstance(args, dict) or not any(map(is_call_key, args)):
            continue
        found = next(calls_in({key: value for key, value in args.items() if is_call_key(key)}), None)
        if found is not None:
            return found.label
    return None


def unread_in(steps: Iterable[Any], known: frozenset[str], calls: Sequence[Call]) -> tuple[str, int] | None:
    """(label, index) of the first of a trace's decoded steps whose parts, or fields other than `known`, look so."""
    for index, step in enumerate(steps):
        if is_quiet(step, known):
            continue
        left = _left_over({key: value for key, value in step.items() if key not in known}, calls)
        if left is not None:
            return left.label, index
    return None


def text_call_in(steps: Sequence[Step]) -> tuple[str, str] | None:
    """(label, step id) of the first text that reads like a call or its result, and is none of these steps' calls."""
    calls = cache(lambda: calls_of(steps))
    found = ((_left_over_text(step, calls), step.id) for step in steps)
    return next(((one.label, step_id) for one, step_id in found if one is not None), None)


def calls_of(steps: Iterable[Step]) -> list[Call]:
    """The calls among steps."""
    return [step.call for step in steps if step.call is not None]


def _left_over(fields: Mapping[str, Any], calls: Sequence[Call]) -> Lookalike | None:
    groups = [list(calls_in({key: value})) for key, value in fields.items() if speaks(key, value)]
    whole = as_call(fields) or next(endings(fields), None)
    if whole is not None:
        groups.append([whole])
    return next((one for group in groups for one in _unmatched(group, calls)), None)


def _left_over_text(step: Step, beside: Callable[[], Sequence[Call]]) -> Lookalike | None:
    if step.kind not in ("assistant", "user"):
        return None
    for text in (part.text for part in step.parts if part.kind == "text" and part.text):
        group: list[Lookalike] = []
        if step.kind == "assistant":
            group = list(calls_in_text(text)) if may_hold_call(text) else group
        elif text[0] in "<O" and (answered_by := ANSWERED_IN_TEXT.match(text)):
            group = [Lookalike(label=answered_by.group())]
        left = next(_unmatched(group, beside()), None) if group else None
        if left is not None:
            return left
    return None


def _unmatched(group: Iterable[Lookalike], calls: Sequence[Call]) -> Iterator[Lookalike]:
    """Each call accounts for one lookalike of a field, so that a second equal one is not taken for a copy."""
    pool: list[Call] | None = None
    for one in group:
        pool = list(calls) if pool is None else pool
        if one.hint and calls:
            continue
        match = next((call for call in pool if _same(one, call)), None)
        if match is None:
            yield one
        else:
            pool.remove(match)


def _same(one: Lookalike, call: Call) -> bool:
    if one.name is None or one.name != call.name:
        return False
    if one.provider_id is not None and call.provider_id is not None:
        return one.provider_id == call.provider_id
    if isinstance(one.args, str):
        return one.args in (call.args_raw, call.args) or (
            call.args_error is None and decoding.decode_arguments(one.args)[:2] == (call.args, None)
        )
    return call.args_error is None and bool(one.args == call.args)
