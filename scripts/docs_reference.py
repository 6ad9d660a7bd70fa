"""The parts of the reference pages that are made from the code: help texts, tables of fields, codes."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import click
import docs_api
import msgspec
from docs_codes import error_codes, notice_codes
from docs_meanings import MEANINGS
from docs_run import Failure

from steelyard import errors
from steelyard.cli import cli
from steelyard.model import checks, standard, state_checks, table, verdict
from steelyard.ports import store
from steelyard.standards import shapes

_HOMES = (shapes, table, verdict, standard, checks, state_checks, store)
_WORDS: Mapping[Any, str] = {
    str: "text", bool: "true or false", int: "whole number", float: "number", Decimal: "number", Any: "any value",
}  # fmt: skip


def part(name: str) -> str:
    """The generated part of that name (`help grade`, `fields TaskFile`, ...)."""
    kind, _, rest = name.partition(" ")
    if kind not in _PARTS:
        raise Failure(f"there is no generated part {name!r}; known: {', '.join(_PARTS)}")
    return _PARTS[kind](rest)


def difference(before: str, after: str) -> str:
    """What would change, as a short diff."""
    lines = difflib.unified_diff(
        before.split("\n"), after.split("\n"), "as it stands", "as it should be", lineterm="", n=1
    )
    return "\n".join(list(lines)[:60])


# The command line


def _help(verb: str) -> str:
    command = _verbs()[verb] if verb else cli
    name = f"steelyard {verb}".strip()
    context = click.Context(
        command, info_name=name, max_content_width=80, terminal_width=80, help_option_names=["-h", "--help"]
    )
    return "```text\n" + "\n".join(line.rstrip() for line in command.get_help(context).split("\n")) + "\n```"


def _verbs() -> dict[str, click.Command]:
    """Every verb by its name; those of a group as `store check`, after the group itself."""
    found: dict[str, click.Command] = {}
    for verb, command in sorted(cli.commands.items()):
        found[verb] = command
        if isinstance(command, click.Group):
            found |= {f"{verb} {name}": inner for name, inner in sorted(command.commands.items())}
    return found


def _commands(_: str) -> str:
    return "\n\n".join(f"## steelyard {verb}\n\n{_help(verb)}" for verb in _verbs())


def _environment(_: str) -> str:
    found: dict[str, tuple[str, list[str]]] = {}
    for verb, command in _verbs().items():
        for option in command.params:
            if isinstance(option.envvar, str):
                found.setdefault(option.envvar, (option.opts[0], []))[1].append(verb)
    rows = ((f"`{name}`", f"`{flag}`", ", ".join(verbs)) for name, (flag, verbs) in sorted(found.items()))
    return _table(("variable", "option", "verbs"), rows)


def _exits(_: str) -> str:
    rows = []
    pending: list[type[errors.SteelyardError]] = [errors.SteelyardError]
    while pending:
        kind = pending.pop(0)
        pending = [*kind.__subclasses__(), *pending]
        if issubclass(kind, errors.GraderError | errors.FormatError) or kind is errors.SteelyardError:
            continue
        rows.append((f"`{kind.__name__}`", str(kind.exit_code), _paragraph(kind)))
    return _table(("error", "exit code", "when"), rows)


# Records


def _fields(name: str) -> str:
    home = next(home for home in _HOMES if hasattr(home, name))
    kind = getattr(home, name)
    heading = _paragraph(kind)
    rows = list(_rows(kind))
    columns = ("key", "value", "default", "meaning")
    if home in (table, store):
        return f"{heading}\n\n" + _table(
            ("key", "value", "meaning"), ((row[0], row[1], row[3]) for row in rows)
        )
    return f"{heading}\n\n" + _table(columns, rows)


def _rows(kind: type[msgspec.Struct]) -> Iterator[tuple[str, str, str, str]]:
    said = _attribute_docs(kind)
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        meaning = said.get(field.name) or MEANINGS.get(f"{kind.__name__}.{field.encode_name}", "")
        if field.name == "of" and kind in typing.get_args(checks.Check):
            meaning = "which value is read, see [selectors](#what-a-check-reads)"
        if not meaning:
            raise Failure(
                f"no meaning for {kind.__name__}.{field.encode_name}; add it to scripts/docs_meanings.py"
            )
        yield f"`{field.encode_name}`", _type(hints[field.name]), _default(field), meaning


def _default(field: Any) -> str:
    if field.required:
        return "required"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if value is msgspec.UNSET or value is None or value in ("", (), {}):
        return ""
    if isinstance(value, msgspec.Struct):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"`{value}`"


def _type(hint: Any) -> str:
    if hint in _WORDS:
        return _WORDS[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin in (typing.Union, types.UnionType):
        kept = [part for part in arguments if part not in (types.NoneType, msgspec.UnsetType)]
        if len(kept) > 3:
            return "a check" if any(part is checks.EqualsCheck for part in kept) else "any of several"
        return " or ".join(dict.fromkeys([_type(part) for part in kept]))
    if origin is typing.Literal:
        return ", ".join(f"`{word}`" for word in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return f"mapping of {_type(arguments[1])}"
    if inspect.isclass(hint) and issubclass(hint, msgspec.Struct):
        name = hint.__name__
        return f"[{name.removesuffix('File')}](#{_anchor(name)})" if name != "EqualsCheck" else "a check"
    return getattr(hint, "__name__", str(hint))


def _anchor(name: str) -> str:
    return name.removesuffix("File").lower()


def _attribute_docs(kind: type) -> dict[str, str]:
    """The string below each field of a class, which Python itself does not keep."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


# Checks


def _checks(_: str) -> str:
    return "\n\n".join(_check(kind) for kind in typing.get_args(checks.Check))


def _check(kind: type[msgspec.Struct]) -> str:
    tag = str(kind.__struct_config__.tag)
    module = importlib.import_module(f"steelyard.checks.kinds.{tag}")
    grade = module.PythonGrader.grade if tag == "python" else module.grade
    table_of_fields = _table(("parameter", "value", "default", "meaning"), _rows(kind))
    return f"### {tag} check\n\n{_paragraph(kind)}\n\n{table_of_fields}\n\nResult: {_result(grade)}"


def _result(grade: Any) -> str:
    """The docstring in a reader's words."""
    text = _paragraph(grade).replace("Raises `GraderError`: ", "Errors: ")
    return text.replace("Raises `GraderError` for", "An error for")


def _dimensions(_: str) -> str:
    rows = (
        (f"`{name}`", definition, scope, shapes.DEFAULT_LAYERS[name])
        for name, (definition, scope) in shapes.BUILTIN_DIMENSIONS.items()
    )
    return _table(("dimension", "definition", "scope", "layer"), rows)


# Codes


def _notices(_: str) -> str:
    return _table(("code", "about", "what it says"), notice_codes())


def _errors(_: str) -> str:
    return _table(("code", "what it says"), error_codes())


def _paragraph(thing: Any) -> str:
    """The docstring, paragraphs kept, lines joined."""
    text = inspect.getdoc(thing) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _table(columns: tuple[str, ...], rows: Any) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


_PARTS: Mapping[str, Callable[[str], str]] = {
    "help": _help,
    "commands": _commands,
    "environment": _environment,
    "exits": _exits,
    "fields": _fields,
    "checks": _checks,
    "api": docs_api.api,
    "run": docs_api.run,
    "dimensions": _dimensions,
    "notices": _notices,
    "errors": _errors,
}
