"""Standards as JSON text, and back without loss.

A suite is the JSON of its records. Where a record takes any value (facts, expected values), values that JSON has no
form for are marked: `{"$decimal": "0.10"}`, `{"$tuple": [...]}`, `{"$float": "nan"}`, and
`{"$map": [[name, value], ...]}` for a mapping whose names are no text or look like a mark.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import inspect as mi
from msgspec.structs import asdict, fields, replace

from steelyard.model.checks import Check, LaterCheck
from steelyard.model.standard import Criterion, Suite, Task
from steelyard.store.encoding import collector_paused

Rewrite = Callable[[Any], Any]

SUITE_FORMAT = 1
_AT_ONCE = 1_000
MARKS = frozenset({"$decimal", "$tuple", "$float", "$map"})


def _same_or(old: Any, new: Any) -> Any:
    """The old container where no member changed, so that unchanged records are not built again."""
    if isinstance(old, Mapping):
        return old if all(old[name] is child for name, child in new.items()) else new
    return old if all(a is b for a, b in zip(old, new, strict=True)) else new


def mark(value: Any) -> Any:
    """Any value as JSON values. TypeError for what is neither JSON nor a decimal, tuple or mapping."""
    if value is None or value is msgspec.UNSET or isinstance(value, str | bool | int):
        return value  # a field that is not set is left out by the encoder
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, list):
        return _same_or(value, [mark(child) for child in value])
    if isinstance(value, Mapping):
        if all(isinstance(name, str) for name in value) and not (len(value) == 1 and MARKS & value.keys()):
            return _same_or(value, {name: mark(child) for name, child in value.items()})
        return {"$map": [[mark(name), mark(child)] for name, child in value.items()]}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, tuple):
        return {"$tuple": [mark(child) for child in value]}
    raise TypeError(f"a value of type {type(value).__name__} has no form in JSON")


def unmark(value: Any) -> Any:
    """The value that was marked. ValueError and the like for a mark that holds nonsense."""
    if isinstance(value, list):
        return _same_or(value, [unmark(child) for child in value])
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not (found := MARKS & value.keys()):
        return _same_or(value, {name: unmark(child) for name, child in value.items()})
    name = next(iter(found))
    inner = value[name]
    if name == "$decimal":
        return Decimal(inner)
    if name == "$float":
        return float(inner)
    if name == "$tuple":
        return tuple(unmark(child) for child in inner)
    return {unmark(key): unmark(child) for key, child in inner}


class _Rewriter:
    """Applies a function to every value of a record that may be anything, and to nothing else."""

    def __init__(self, leaf: Rewrite) -> None:
        self.leaf = leaf
        self.plans: dict[type, tuple[tuple[str, Rewrite], ...]] = {}

    def struct(self, value: Any) -> Any:
        kind = type(value)
        plan = self.plans.get(kind)
        if plan is None:
            plan = self.plans[kind] = self._plan(kind)
        changed: dict[str, Any] = {}
        for name, rewrite in plan:
            old = getattr(value, name)
            if old is None or type(old) is str or (not old and type(old) is dict):
                continue  # text is the same either way
            new = rewrite(old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value

    def _plan(self, kind: type) -> tuple[tuple[str, Rewrite], ...]:
        found = [(field.name, self._rewrite(_info(field.type))) for field in fields(kind)]
        return tuple((name, rewrite) for name, rewrite in found if rewrite is not None)

    def _rewrite(self, kind: mi.Type | None) -> Rewrite | None:
        if isinstance(kind, mi.StructType):
            return self._records if self._plan(kind.cls) else None
        if kind is None:
            return self._records
        if isinstance(kind, mi.AnyType):
            return self.leaf
        if isinstance(kind, mi.UnionType):
            several = [rewrite for option in kind.types if (rewrite := self._rewrite(option)) is not None]
            return several[0] if len(several) == 1 else self._records if several else None
        if isinstance(kind, mi.DictType):
            inner = self._rewrite(kind.value_type)
            return inner and _in_mapping(inner)
        if isinstance(kind, mi.VarTupleType):
            inner = self._rewrite(kind.item_type)
            return inner and _in_tuple(inner)
        return None

    def _records(self, value: Any) -> Any:
        """A record, or a tuple or mapping of records; anything else stays."""
        if isinstance(value, msgspec.Struct):
            return self.struct(value)
        if isinstance(value, tuple):
            return _same_or(value, tuple(map(self._records, value)))
        if isinstance(value, Mapping):
            return _same_or(value, {name: self._records(child) for name, child in value.items()})
        return value


def _in_mapping(inner: Rewrite) -> Rewrite:
    return lambda value: _same_or(value, {name: inner(child) for name, child in value.items()})


def _in_tuple(inner: Rewrite) -> Rewrite:
    def rewrite(value: Any) -> Any:
        for position, child in enumerate(value):
            new = inner(child)
            if new is not child:
                return (*value[:position], new, *map(inner, value[position + 1 :]))
        return value

    return rewrite


def _info(annotation: Any) -> mi.Type | None:
    """Null where a union of records lies below, of which some carry no tag: there the values say what they are."""
    try:
        return mi.type_info(annotation)
    except TypeError:
        return None


_MARK = _Rewriter(mark)
_UNMARK = _Rewriter(unmark)


def encode_suite(suite: Suite) -> bytes:
    """A suite as JSON. TypeError where it holds a value that cannot be kept, ValueError for half a character."""
    around = replace(suite, tasks=())
    rest = msgspec.json.encode({"format": SUITE_FORMAT, "suite": _MARK.struct(around)})
    head, mark, tail = rest.partition(b'"tasks":[]')  # before the tasks come two texts alone
    parts = [head, mark[:-1]]
    for start in range(0, len(suite.tasks), _AT_ONCE):  # in parts: encoding grows its buffer by doubling it
        tasks = [_MARK.struct(task) for task in suite.tasks[start : start + _AT_ONCE]]
        parts += [b"," if start else b"", msgspec.json.encode(tasks)[1:-1]]
    return b"".join([*parts, mark[-1:], tail])


def is_intact(digest: object, body: object) -> bool:
    """Whether a standard is the text that was written: its digest is kept beside it."""
    return isinstance(body, str) and hashlib.sha256(body.encode()).digest() == digest


def decode_suite(body: bytes) -> Suite:
    """The suite again: an equal record with the same hash. ValueError when the text holds none."""
    try:
        with collector_paused():
            wire = _suite_decoder().decode(body).suite
            parts = asdict(wire)
            parts["tasks"] = tuple(_task(task) for task in wire.tasks)
            suite = Suite(**parts)
            return _UNMARK.struct(suite) if b'"$' in body else suite
    except (msgspec.DecodeError, RecursionError, ArithmeticError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error


def _task(wire: Any) -> Task:
    parts = asdict(wire)
    parts["criteria"] = tuple(_criterion(criterion) for criterion in wire.criteria)
    return Task(**parts)


def _criterion(wire: Any) -> Criterion:
    parts = asdict(wire)
    parts["check"] = None if wire.check in (None, _NULL) else _check(wire.check)
    return Criterion(**parts)


def _check(body: msgspec.Raw) -> Check | LaterCheck:
    """Kinds that were not graded when the suite was stored carry their settings as they were written."""
    try:
        return _CHECK.decode(body)  # type: ignore[no-any-return]
    except msgspec.ValidationError as problem:
        try:
            return _LATER.decode(body)
        except msgspec.ValidationError:
            raise problem from None


_CHECK: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Check)
_LATER = msgspec.json.Decoder(LaterCheck)
_NULL = msgspec.Raw(b"null")


@lru_cache(maxsize=1)
def _suite_decoder() -> msgspec.json.Decoder[Any]:
    """Decodes into twins of the records whose checks stay JSON, since the union of checks is only partly tagged."""
    criterion = _twin(Criterion, {"check": msgspec.Raw})
    task = _twin(Task, {"criteria": tuple[criterion, ...]})  # type: ignore[valid-type]
    suite = _twin(Suite, {"tasks": tuple[task, ...]})  # type: ignore[valid-type]
    return msgspec.json.Decoder(msgspec.defstruct("StoredText", [("format", Literal[1]), ("suite", suite)]))


def _twin(record: type[msgspec.Struct], other: Mapping[str, Any]) -> type[msgspec.Struct]:
    made: list[Any] = []
    for field in fields(record):
        kind = other.get(field.name, field.type)
        if field.required:
            made.append((field.name, kind))
        elif field.default_factory is not msgspec.NODEFAULT:
            made.append((field.name, kind, msgspec.field(default_factory=field.default_factory)))
        else:
            made.append((field.name, kind, field.default))
    return msgspec.defstruct(f"Stored{record.__name__}", made, kw_only=True, forbid_unknown_fields=True)
