"""The check script of the `python` cases."""

from typing import Any


def check(answer: str, trace: dict[str, Any]) -> bool:
    calls = [step["call"] for step in trace["steps"] if step["call"]]
    return answer == "16" and len(calls) < 10
