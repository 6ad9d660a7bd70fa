"""A suite file that was read, before its parts are looked at together. Damaged parts are known by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import inspect as mi

from steelyard.standards.nodes import Node
from steelyard.standards.problems import Path, Problems, quoted
from steelyard.standards.shapes import CriterionFile, SuiteFile, TaskFile
from steelyard.standards.tables import TableError, read_table
from steelyard.standards.templates import fill
from steelyard.standards.typed import BROKEN, TypedReader, shapes, struct_fields


class PlacedTask(NamedTuple):
    """A task that was read whole, where it stands, and the table row that it came from."""

    path: Path
    row: str | None
    task: TaskFile


class PlacedCriterion(NamedTuple):
    """A whole criterion of a damaged task."""

    path: Path
    row: str | None
    criterion: CriterionFile


@dataclass
class Draft:
    """`fields` are the sound top-level keys by attribute name; `damaged` names those that were reported."""

    fields: dict[str, Any] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    tasks: list[PlacedTask] = field(default_factory=list)
    loose: list[PlacedCriterion] = field(default_factory=list)

    def get(self, name: str) -> Any:
        """A sound field, or the default of the file."""
        return self.fields.get(name, _DEFAULTS.get(name))


_DEFAULTS: Mapping[str, Any] = {
    "name": "", "owner": "", "tasks_from": (), "version": "", "primary": "completion", "branches": (),
    "dimensions": {}, "judges": {}, "rubrics": {},
}  # fmt: skip


def draft_of_file(file: SuiteFile) -> Draft:
    """The draft of a file that was decoded whole."""
    fields = struct_fields(file)
    tasks = [PlacedTask(("tasks", i), None, task) for i, task in enumerate(fields.pop("tasks"))]
    return Draft(fields=fields, tasks=tasks)


def draft_of_nodes(root: Node, problems: Problems, folder: str) -> Draft:
    """The draft of a tree, with the tasks of its tables; whatever is wrong is added to `problems`."""
    draft = Draft()
    if root.kind != "map":
        problems.add((), "must be a mapping of keys; it starts with `schema: suite/1`")
        return draft
    _check_schema(root, problems)
    reader = TypedReader(problems)
    tasks_node = root.value.get("tasks")
    rest = Node(
        "map", {k: v for k, v in root.value.items() if k not in ("tasks", "schema")}, root.line, root.keys
    )
    shape = _without(shapes()[SuiteFile], "tasks", "schema")
    values, _ = reader.fields(rest, shape, ())
    draft.fields = {name: value for name, value in values.items() if value is not BROKEN}
    draft.damaged = {name for name, value in values.items() if value is BROKEN}
    if tasks_node is not None:
        _read_tasks(tasks_node, draft, reader)
    elif "tasks_from" not in root.value:
        draft.damaged.add("tasks")
        problems.add((), "the key 'tasks' is missing")
    for index, source in enumerate(draft.get("tasks_from")):
        _read_rows(index, source, draft, problems, folder)
    return draft


def _without(shape: mi.StructType, *names: str) -> mi.StructType:
    fields = tuple(f for f in shape.fields if f.encode_name not in names)
    return mi.StructType(cls=shape.cls, fields=fields, forbid_unknown_fields=True)


def _check_schema(root: Node, problems: Problems) -> None:
    node = root.value.get("schema")
    if node is None:
        problems.add((), "the key 'schema' is missing; the file starts with `schema: suite/1`")
    elif node.kind in ("map", "list", "broken") or node.value != "suite/1":
        said = "" if node.kind in ("map", "list", "broken") else f", not {quoted(node.value)}"
        problems.add(("schema",), f"must be suite/1{said}")


def _read_tasks(node: Node, draft: Draft, reader: TypedReader) -> None:
    if node.kind != "list":
        draft.damaged.add("tasks")
        reader.read(node, mi.VarTupleType(shapes()[TaskFile]), ("tasks",))
        return
    for index, child in enumerate(node.value):
        _read_task(child, ("tasks", index), None, draft, reader)


def _read_task(node: Node, path: Path, row: str | None, draft: Draft, reader: TypedReader) -> None:
    before = len(reader.criteria)
    task = reader.read(node, shapes()[TaskFile], path)
    if task is BROKEN:
        draft.damaged.add("tasks")
        draft.loose += [PlacedCriterion(p, row, c) for p, c in reader.criteria[before:]]
    else:
        draft.tasks.append(PlacedTask(path, row, task))
    del reader.criteria[before:]


def _read_rows(index: int, source: Any, draft: Draft, problems: Problems, folder: str) -> None:
    path: Path = ("tasks_from", index)
    try:
        rows = read_table(source.file, folder=folder, delimiter=source.delimiter, form=source.format)
    except TableError as error:
        draft.damaged.add("tasks")
        for message in error.messages:
            problems.add((*path, "file"), message)
        return
    for row in rows:
        faults = Problems()
        filled = fill(source.task, row.cells, faults, (*path, "task"))
        for fault in faults.found:
            problems.add(fault.path, fault.message, row=row.label)
        if faults:
            draft.damaged.add("tasks")
        reader = TypedReader(problems, row.label)
        _read_task(filled, (*path, "task"), row.label, draft, reader)
