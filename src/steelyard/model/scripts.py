"""The source of a check function: what it defines and which parameters it takes, read without running it."""

from __future__ import annotations

import ast
import warnings

MAX_BYTES = 1_000_000
"""Bytes of a check script."""

PARAMETERS: tuple[str, ...] = ("answer", "facts", "trace", "state", "extracted")
"""What a check function may ask for, by name."""


class ScriptError(ValueError):
    """A script that cannot serve as a check; the message is a sentence without its file's name."""


def decode_script(data: bytes) -> str:
    """The text of a script: UTF-8, line ends as `\\n` whatever they were. Raises `ScriptError`."""
    if len(data) > MAX_BYTES:
        raise ScriptError(f"is larger than {MAX_BYTES // 1_000_000} MB; a check is a short function")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScriptError(f"is not UTF-8 (byte {error.start}); save the file as UTF-8") from None
    if "\x00" in text:
        raise ScriptError("holds a NUL character; remove it")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parameters_of(source: str, function: str) -> tuple[str, ...]:
    """The parameters of the function, in their order; each is one of `PARAMETERS`.

    Raises `ScriptError`: the source is no Python, defines no such function at its top level, or the function asks
    for what a check is not given.
    """
    found = _find(_parse(source), function)
    parameters = found.args
    if parameters.vararg or parameters.kwarg:
        raise ScriptError(
            f"{function} takes any arguments (`*` or `**`); name those of {', '.join(PARAMETERS)} it needs"
        )
    if parameters.posonlyargs:
        raise ScriptError(f"{function} has parameters before `/`; a check's parameters are given by name")
    given = [parameter.arg for parameter in (*parameters.args, *parameters.kwonlyargs)]
    unknown = [name for name in given if name not in PARAMETERS]
    if unknown:
        raise ScriptError(f"{function} asks for {unknown[0]!r}; a check is given {', '.join(PARAMETERS)}")
    return tuple(given)


def _parse(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning about the user's script is not ours to print
            return ast.parse(source)
    except SyntaxError as error:
        raise ScriptError(f"is no Python: line {error.lineno or 1}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ScriptError("is nested too deeply to be read") from None
    except ValueError as error:
        raise ScriptError(f"is no Python: {str(error)[:100]}") from None


def _find(module: ast.Module, function: str) -> ast.FunctionDef:
    named = [node for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = [node for node in named if node.name == function]
    if not found:
        others = ", ".join(dict.fromkeys(node.name for node in named[:8])) or "no function"
        raise ScriptError(f"has no function {function} at its top level; it defines {others}")
    if isinstance(found[-1], ast.AsyncFunctionDef):
        raise ScriptError(f"{function} is `async`; a check is a plain function")
    return found[-1]
