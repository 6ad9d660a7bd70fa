"""Limits that keep the package readable: sizes, nesting, `__init__` files, records."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import steelyard
import steelyard.model

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "steelyard"
MODULES = sorted(SOURCE.rglob("*.py"))

MODULE_LINES = 400
FUNCTION_LINES = 80
NESTING = 4

# What a user may import from `steelyard` itself. A change here changes the public surface: say so in a news
# fragment.
PUBLIC_SURFACE = {
    "Run",
    "SteelyardError",
    "__version__",
    "grade",
    "load_suite",
    "read_traces",
    "score_rows",
}

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCK = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def where(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTION))


def nesting(node: ast.AST, *, is_elif: bool = False) -> int:
    """Depth of blocks in blocks; an `elif` lies as deep as its `if`, an inner function starts anew."""
    deepest = 0
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, FUNCTION):
                continue
            chained = name == "orelse" and isinstance(node, ast.If) and isinstance(child, ast.If)
            chained = chained and len(value) == 1 and child.col_offset == node.col_offset
            deepest = max(deepest, nesting(child, is_elif=chained))
    return deepest + (isinstance(node, BLOCK) and not is_elif)


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    found = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
    assert found, "no source found: these tests would check nothing"
    return found


def test_modules_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert not [f"{p.relative_to(ROOT)}: {n} lines" for p, n in lengths.items() if n > MODULE_LINES]


def test_functions_are_short(trees: dict[Path, ast.Module]) -> None:
    long = [
        f"{where(path, node)} {node.name}: {length} lines"
        for path, tree in trees.items()
        for node in functions(tree)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert not long


def test_functions_are_flat(trees: dict[Path, ast.Module]) -> None:
    deep = [
        f"{where(path, node)} {node.name}: {depth} levels"
        for path, tree in trees.items()
        for node in functions(tree)
        if (depth := max((nesting(child) for child in node.body), default=0)) > NESTING
    ]
    assert not deep


@pytest.mark.parametrize(
    ("source", "depth"),
    [
        ("x = 1", 0),
        ("if a:\n  b\nelif c:\n  d\nelif e:\n  f", 1),
        ("if a:\n  b\nelse:\n  if c:\n    d", 2),
        ("for a in b:\n  with c:\n    try:\n      d\n    except E:\n      if f:\n        g", 4),
        ("match a:\n  case 1:\n    while b:\n      c", 2),
        ("def f():\n  if a:\n    def g():\n      if b:\n        c", 0),
    ],
)
def test_nesting_is_counted_as_a_reader_would(source: str, depth: int) -> None:
    assert nesting(ast.parse(source)) == depth


def test_complexity_is_never_waved_through() -> None:
    waved = re.compile(r"noqa:[^#]*\b(C901|PLR09\d\d)\b|noqa(?!:)|type: ignore(?!\[)", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if waved.search(line)
    ]
    assert not found


def _only_re_exports(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name.startswith("_")
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return all(_only_re_exports(inner) for inner in [*node.body, *node.orelse])
        case _:
            return False


def _is_door(path: Path) -> bool:
    """Whether `path` is the package's own `__init__` or a room's: these may re-export lazily."""
    return SOURCE in {path.parent, path.parent.parent}


def test_init_files_only_re_export(trees: dict[Path, ast.Module]) -> None:
    lazy = {"__getattr__", "__dir__"}
    found = [
        where(path, node)
        for path, tree in trees.items()
        if path.name == "__init__.py"
        for node in tree.body
        if not _only_re_exports(node)
        and not (_is_door(path) and isinstance(node, ast.FunctionDef) and node.name in lazy)
    ]
    assert not found


def test_public_surface_is_the_recorded_one() -> None:
    assert set(steelyard.__all__) == PUBLIC_SURFACE
    assert len(steelyard.__all__) == len(set(steelyard.__all__))
    assert not [name for name in steelyard.__all__ if not hasattr(steelyard, name)]


def _records() -> list[type[msgspec.Struct]]:
    found: dict[str, type[msgspec.Struct]] = {}
    for module in pkgutil.walk_packages(steelyard.model.__path__, "steelyard.model."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct:
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return [found[name] for name in sorted(found)]


@pytest.mark.parametrize("record", _records(), ids=lambda record: record.__qualname__)
def test_records_are_frozen_and_keyword_only(record: type[msgspec.Struct]) -> None:
    assert record.__struct_config__.frozen
    parameters = inspect.signature(record).parameters.values()
    assert not [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]


def _mutable_parts(annotation: object) -> Iterator[object]:
    if typing.get_origin(annotation) in {list, dict, set} or annotation in {list, dict, set, bytearray}:
        yield annotation
    for part in typing.get_args(annotation):
        if not isinstance(part, str):
            yield from _mutable_parts(part)


@pytest.mark.parametrize("record", _records(), ids=lambda record: record.__qualname__)
def test_records_declare_no_mutable_containers(record: type[msgspec.Struct]) -> None:
    hints = typing.get_type_hints(record, include_extras=True)
    assert not {name: hint for name, hint in hints.items() if any(True for _ in _mutable_parts(hint))}
