"""JSON Schemas of a suite: whether they can be used without a network."""

from __future__ import annotations

from typing import Any

from steelyard.standards.problems import quoted

_PATTERN_BYTES = 1 << 20


def schema_fault(schema: Any) -> str | None:
    """Why something is no JSON Schema that can be used offline, or None."""
    if not isinstance(schema, dict | bool):
        return "must be a JSON Schema: a mapping, true or false"
    import jsonschema_rs

    limits = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES)
    try:
        jsonschema_rs.validator_for(schema, offline=True, pattern_options=limits)
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        reason = getattr(error, "message", None) or str(error).partition("\n")[0]
        return f"is no JSON Schema: {quoted(str(reason), 200)}"
    return None
