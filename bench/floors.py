"""The physical floors: the same work with nothing around it. Usage: python floors.py WORK FILE ..."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def grade(suite: str, answers: str) -> int:
    """Decode the suite, decode each line, compare."""
    tasks = json.loads(Path(suite).read_bytes())["tasks"]
    wanted = {task["id"]: [criterion["check"]["value"] for criterion in task["criteria"]] for task in tasks}
    right = 0
    with Path(answers).open("rb") as file:
        for line in file:
            record = json.loads(line)
            right += sum(record["output"] == value for value in wanted[record["task_id"]])
    return right


def _calls(messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for message in messages
        for call in message.get("tool_calls", ())
    ]


def _in_order(check: dict[str, Any], messages: list[dict[str, Any]]) -> bool:
    made = iter(_calls(messages))
    return all((call["name"], call["args"]) in made for call in check["expected"])


TESTS: dict[str, Callable[[dict[str, Any], list[dict[str, Any]]], bool]] = {
    "equals": lambda check, messages: json.loads(messages[-1]["content"]) == check["value"],
    "contains": lambda check, messages: (
        all(text in messages[-1]["content"] for text in check["all"])
        and any(text in messages[-1]["content"] for text in check["any"])
    ),
    "regex": lambda check, messages: re.search(check["pattern"], messages[-1]["content"]) is not None,
    "number": lambda check, messages: json.loads(messages[-1]["content"])["price"] == check["value"],
    "json": lambda check, messages: json.loads(messages[-1]["content"])["price"] == check["value"],
    "expr": lambda check, messages: eval(  # noqa: S307 the bench's own expression
        check["compiled"], {"answer": messages[-1]["content"], "calls": _calls(messages), "len": len}
    ),
    "calls": _in_order,
}


def checks(suite: str, talks: str) -> int:
    """Decode each conversation, then the bare test of each check."""
    several: dict[str, list[dict[str, Any]]] = {}
    for task in json.loads(Path(suite).read_bytes())["tasks"]:
        several[task["id"]] = [criterion["check"] for criterion in task["criteria"]]
    for check in (check for found in several.values() for check in found):
        if check["kind"] == "expr":
            check["compiled"] = compile(check["expr"], "expr", "eval")
    right = 0
    with Path(talks).open("rb") as file:
        for line in file:
            record = json.loads(line)
            for check in several[record["task_id"]]:
                right += TESTS[check["kind"]](check, record["messages"])
    return right


def trajectories(suite: str, talks: str) -> int:
    """Decode each trace and its arguments with msgspec, then walk along the expected calls."""
    import msgspec

    decode = msgspec.json.decode
    wanted = decode(Path(suite).read_bytes())["tasks"][0]["criteria"][0]["check"]["expected"]
    right = 0
    with Path(talks).open("rb") as file:
        for line in file:
            made = iter(
                [
                    (call["function"]["name"], decode(call["function"]["arguments"]))
                    for message in decode(line)["messages"]
                    for call in message.get("tool_calls", ())
                ]
            )
            right += all((call["name"], call["args"]) in made for call in wanted)
    return right


def rows(file: str) -> int:
    """Decode verdict rows with msgspec and average by task."""
    import msgspec

    total: dict[str, float] = {}
    count: dict[str, int] = {}
    with Path(file).open("rb") as lines:
        for line in lines:
            row = msgspec.json.decode(line)
            if "criterion" in row:
                task = row["task"]
                total[task] = total.get(task, 0.0) + row.get("score", 0)
                count[task] = count.get(task, 0) + 1
    return int(sum(total[task] / count[task] for task in total))


def decode(file: str) -> int:
    """Decode each line with msgspec."""
    import msgspec

    with Path(file).open("rb") as lines:
        return sum(len(msgspec.json.decode(line)["messages"]) for line in lines)


if __name__ == "__main__":
    work = {"grade": grade, "checks": checks, "trajectories": trajectories, "rows": rows, "decode": decode}
    print(work[sys.argv[1]](*sys.argv[2:]))
