"""SQL of a suite: one statement that only reads, and that SQLite can parse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from steelyard.standards.problems import quoted

MAX_QUERY = 20_000
_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_STATEMENTS = frozenset({"SELECT", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE"})
_CLOCK = frozenset({"CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"})
_CHANCE = frozenset({"RANDOM", "RANDOMBLOB"})
_SYNTAX = ("syntax error", "unrecognized token", "incomplete input")


@lru_cache(maxsize=4096)
def query_fault(query: str) -> str | None:
    """Why a text is not one SELECT (or WITH ... SELECT), as the end of a sentence, or None."""
    if not query.strip():
        return "is empty; write the query"
    if len(query) > MAX_QUERY or "\0" in query:
        return f"is no query that is read: NUL characters or more than {MAX_QUERY} characters"
    tokens = list(_tokens(query))
    while tokens and tokens[-1] == ("sign", ";"):
        tokens.pop()
    if ("sign", ";") in tokens:
        return "holds several statements; write one SELECT"
    return _statement_fault(tokens) or _chance_fault(tokens) or _syntax_fault(query)


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(query):
        kind = found.lastgroup or "sign"
        if kind != "skip":
            yield kind, found[0].upper() if kind == "word" else found[0]


def _statement_fault(tokens: list[tuple[str, str]]) -> str | None:
    words = [(kind, text) for kind, text in tokens if kind != "sign"]
    first = words[0][1] if words else ""
    if first not in ("SELECT", "WITH"):
        return f"must be one SELECT (or WITH ... SELECT), not {quoted(first)}; a check only reads"
    depth = 0
    for kind, text in tokens:
        depth += (text == "(") - (text == ")") if kind == "sign" else 0
        if kind == "word" and depth == 0 and text in _STATEMENTS:
            return (
                None if text == "SELECT" else f"must be one SELECT, not WITH ... {text}; a check only reads"
            )
    return None


def _chance_fault(tokens: list[tuple[str, str]]) -> str | None:
    for index, (kind, text) in enumerate(tokens):
        called = tokens[index + 1 : index + 2] == [("sign", "(")]
        if kind == "word" and (text in _CLOCK or (text in _CHANCE and called)):
            return f"reads {text}, so that it would not always give the same; write the value"
        if kind == "text" and text.lower() == "'now'":
            return "reads the clock with 'now', so that it would not always give the same; write the time"
    return None


def _syntax_fault(query: str) -> str | None:
    """What SQLite cannot parse. Tables are not known here, so that their absence is no fault."""
    import sqlite3

    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"EXPLAIN {query}")
    except sqlite3.Error as error:
        said = str(error)
        return f"is no SQL that SQLite reads: {said}" if any(word in said for word in _SYNTAX) else None
    except sqlite3.Warning as error:
        return f"is not one statement: {error}"
    finally:
        connection.close()
    return None
