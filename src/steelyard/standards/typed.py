"""Nodes to the structs of the file, guided by the struct's own types; collects every problem instead of the first."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import inspect as mi

from steelyard.standards.nodes import Node
from steelyard.standards.problems import Path, Problems, closest, quoted, suggestion
from steelyard.standards.scalars import (
    INTEGER,
    NUMBER,
    WORDS,
    ScalarError,
    describe,
    to_any,
    to_bool,
    to_decimal,
    to_integer,
    to_text,
)
from steelyard.standards.shapes import CriterionFile, SuiteFile, TaskFile


class _Broken:
    """Stands for a value whose problem is already reported."""

    def __repr__(self) -> str:
        return "BROKEN"


BROKEN: Final = _Broken()
_SCALARS: dict[type, Callable[[Node], Any]] = {
    mi.StrType: to_text,
    mi.DecimalType: to_decimal,
    mi.IntType: to_integer,
    mi.BoolType: to_bool,
}


@lru_cache(maxsize=1)
def shapes() -> dict[type, mi.StructType]:
    """The descriptors of the three structs that reading starts from."""
    found: dict[type, mi.StructType] = {}
    for struct in (SuiteFile, TaskFile, CriterionFile):
        described = mi.type_info(struct)
        assert isinstance(described, mi.StructType)
        found[struct] = described
    return found


class TypedReader:
    """Reads nodes as a type. `row` is the table row that is being read, for the messages.

    `criteria` keeps every criterion that was read whole, so that those of a damaged task can still be looked at.
    """

    def __init__(self, problems: Problems, row: str | None = None) -> None:
        self.problems = problems
        self.row = row
        self.criteria: list[tuple[Path, CriterionFile]] = []

    def read(self, node: Node, kind: mi.Type, path: Path) -> Any:
        """The value, or BROKEN when it (or a part that it cannot do without) was reported."""
        if node.kind == "broken":
            return BROKEN
        if isinstance(kind, mi.UnionType):
            return self._union(node, kind, path)
        if isinstance(kind, mi.StructType):
            return self._struct(node, kind, path)
        if isinstance(kind, mi.VarTupleType):
            return self._list(node, kind, path)
        if isinstance(kind, mi.DictType):
            return self._mapping(node, kind, path)
        if isinstance(kind, mi.LiteralType):
            return self._literal(node, kind, path)
        if isinstance(kind, mi.Metadata):
            # The template of generated tasks stays as it stands: its types are decided row by row.
            return node if (kind.extra or {}).get("template") else self.read(node, kind.type, path)
        if isinstance(kind, mi.AnyType):
            return self._any(node, path)
        return self._scalar(node, _SCALARS[type(kind)], path)

    def problem(self, path: Path, message: str) -> _Broken:
        self.problems.add(path, message, row=self.row)
        return BROKEN

    def _scalar(self, node: Node, convert: Callable[[Node], Any], path: Path) -> Any:
        try:
            return convert(node)
        except ScalarError as error:
            return self.problem(path, str(error))

    def _literal(self, node: Node, kind: mi.LiteralType, path: Path) -> Any:
        text = self._scalar(node, to_text, path)
        if text is BROKEN or text in kind.values:
            return text
        words = [str(value) for value in kind.values]
        near = closest(text, words)
        hint = f"; did you mean {near!r}?" if near else ""
        return self.problem(path, f"must be {_either(words)}, not {quoted(text)}{hint}")

    def _union(self, node: Node, kind: mi.UnionType, path: Path) -> Any:
        options = [option for option in kind.types if not isinstance(option, mi.NoneType)]
        if len(options) < len(kind.types) and is_null(node):
            return None
        if isinstance(options[0], mi.StructType) and options[0].tag is not None:
            return self._tagged(node, options, path)
        wanted: dict[str, type] = {"list": mi.VarTupleType, "map": mi.StructType}
        fitting = [option for option in options if isinstance(option, wanted.get(node.kind, mi.LiteralType))]
        return self.read(node, fitting[0] if fitting else options[0], path)

    def _tagged(self, node: Node, options: list[mi.Type], path: Path) -> Any:
        by_tag = {str(o.tag): o for o in options if isinstance(o, mi.StructType)}
        if node.kind != "map":
            return self.problem(path, f"must be a mapping with a `kind`, not {describe(node)}")
        named = node.value.get("kind")
        if named is None:
            near = closest("kind", node.value)
            if near:
                return self.problem((*path, near), "unknown key; did you mean 'kind'?")
            return self.problem(path, f"the key 'kind' is missing; it is one of {', '.join(sorted(by_tag))}")
        word = self.read(named, mi.StrType(), (*path, "kind"))
        if word is BROKEN:
            return BROKEN
        if word not in by_tag:
            return self.problem(
                (*path, "kind"), f"unknown kind {quoted(word)}{suggestion(word, sorted(by_tag))}"
            )
        return self._struct(node, by_tag[word], path)

    def _struct(self, node: Node, kind: mi.StructType, path: Path) -> Any:
        if node.kind != "map":
            return self.problem(path, f"must be a mapping, not {describe(node)}")
        values, whole = self.fields(node, kind, path)
        if not whole:
            return BROKEN
        built = kind.cls(**values)
        if isinstance(built, CriterionFile):
            self.criteria.append((path, built))
        return built

    def fields(self, node: Node, kind: mi.StructType, path: Path) -> tuple[dict[str, Any], bool]:
        """The values by attribute name, and whether none is missing, unknown or broken."""
        fields = {field.encode_name: field for field in kind.fields}
        unknown = [key for key in node.value if key not in fields and key != kind.tag_field]
        for key in unknown:
            self.problem(
                (*path, key), f"unknown key{suggestion(key, [f for f in fields if f not in node.value])}"
            )
        whole = not unknown
        meant = {closest(key, fields) for key in unknown}
        values: dict[str, Any] = {}
        for name, field in fields.items():
            child = node.value.get(name)
            if child is None:
                if field.required:
                    whole = False
                    if name not in meant:
                        self.problem(path, f"the key '{name}' is missing")
                continue
            value = self.read(child, field.type, (*path, name))
            values[field.name] = value
            whole = whole and value is not BROKEN
        return values, whole

    def _list(self, node: Node, kind: mi.VarTupleType, path: Path) -> Any:
        if node.kind != "list":
            hint = f"; write [{node.value}]" if node.kind in ("text", "plain") and node.value else ""
            return self.problem(path, f"must be a list, not {describe(node)}{hint}")
        read = [self.read(child, kind.item_type, (*path, i)) for i, child in enumerate(node.value)]
        return BROKEN if any(value is BROKEN for value in read) else tuple(read)

    def _mapping(self, node: Node, kind: mi.DictType, path: Path) -> Any:
        if node.kind != "map":
            return self.problem(path, f"must be a mapping, not {describe(node)}")
        read = {key: self.read(child, kind.value_type, (*path, key)) for key, child in node.value.items()}
        return BROKEN if any(value is BROKEN for value in read.values()) else read

    def _any(self, node: Node, path: Path) -> Any:
        if node.kind == "list":
            read = self._list(node, _ANY_LIST, path)
            return read if read is BROKEN else list(read)
        if node.kind != "map":
            return BROKEN if node.kind == "broken" else self._scalar(node, to_any, path)
        for key, written in node.keys.items():
            if written.plain and (key in WORDS or NUMBER.fullmatch(key) or INTEGER.fullmatch(key)):
                self.problem((*path, key), f'the key is not text; write "{key}"')
        return self._mapping(node, _ANY_MAP, path)


_ANY_LIST = mi.VarTupleType(mi.AnyType())
_ANY_MAP = mi.DictType(mi.StrType(), mi.AnyType())


def is_null(node: Node) -> bool:
    """Null where null may stand: written out, or nothing written at all."""
    if node.kind == "typed":
        return bool(node.value == "null")
    return node.kind == "plain" and node.value in ("null", "")


def _either(words: list[str]) -> str:
    ordered = sorted(words)
    return ordered[0] if len(ordered) == 1 else f"{', '.join(ordered[:-1])} or {ordered[-1]}"


def struct_fields(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct that were set, by attribute name."""
    return {k: v for k, v in msgspec.structs.asdict(struct).items() if v is not msgspec.UNSET}
