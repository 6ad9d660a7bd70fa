"""The reference of the Python interface, made from signatures and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import steelyard
from steelyard import app

_INTERNAL = ("forget",)
NAMES = ("load_suite", "read_traces", "grade", "score_rows")


def api(_: str) -> str:
    """The functions of `steelyard.__all__`, each with its signature."""
    functions = [name for name in steelyard.__all__ if inspect.isfunction(getattr(steelyard, name))]
    order = [
        *(name for name in NAMES if name in functions),
        *(name for name in functions if name not in NAMES),
    ]
    return "\n\n".join(_entry(name, getattr(steelyard, name)) for name in order)


def run(_: str) -> str:
    """What a run offers."""
    parts = [_text(app.Run)]
    for name, member in vars(app.Run).items():
        if name.startswith("_") or name in _INTERNAL:
            continue
        if isinstance(member, property | cached_property):
            code = member.fget if isinstance(member, property) else member.func
            parts.append(f"### Run.{name}\n\n{_text(code)}")
        elif inspect.isfunction(member):
            parts.append(_entry(f"Run.{name}", member, level="###"))
    return "\n\n".join(parts)


def _entry(name: str, function: Any, level: str = "##") -> str:
    return f"{level} {name}\n\n```python\n{_signature(name, function)}\n```\n\n{_text(function)}"


def _signature(name: str, function: Any) -> str:
    """One parameter a line where the whole would be long."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    pieces = list(_pieces(parameters))
    result = f" -> {signature.return_annotation}"
    whole = f"{name}({', '.join(pieces)}){result}"
    if len(whole) <= 100:
        return whole
    return f"{name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){result}"


def _pieces(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"{parameter.name}: {parameter.annotation}{default}"


def _text(documented: Any) -> str:
    """The docstring, its paragraphs kept."""
    text = inspect.getdoc(documented) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
