"""The files that are measured on: made once, by rule, under `.bench/data`. No chance: the same bytes each time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from process import WORK

DATA = WORK / "data"
KINDS = ("equals", "contains", "regex", "number", "json", "expr", "calls")
MARKS = "v1"
"""Changes whenever the content of any file here does."""


def made(name: str, write: Callable[[TextIO], None]) -> Path:
    """The file of that name, written now if it is not there whole."""
    folder = DATA / MARKS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if not path.exists():
        draft = path.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as file:
            write(file)
        os.replace(draft, path)
    return path


def _lines(records: Iterable[Mapping[str, Any]]) -> Callable[[TextIO], None]:
    return lambda file: file.writelines(json.dumps(record) + "\n" for record in records)


def _suite(tasks: Sequence[Mapping[str, Any]]) -> Callable[[TextIO], None]:
    suite = {"schema": "suite/1", "name": "bench", "owner": "bench@example.com", "tasks": tasks}
    return lambda file: file.write(json.dumps(suite)) and None


def _criterion(number: int, check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"C{number}",
        "dimension": "correctness",
        "rule": f"Obligation {number} MUST be met.",
        "check": check,
    }


def expected(number: int) -> str:
    """The right answer of a task."""
    return f"Order {number} ships on 2026-05-17."


def _task(number: int, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    criteria = [_criterion(position + 1, check) for position, check in enumerate(checks)]
    return {"id": f"t{number:06d}", "prompt": f"When does order {number} ship?", "criteria": criteria}


def answers(tasks: int, trials: int = 1, *, checks: int = 1) -> tuple[Path, Path]:
    """A JSON suite with `checks` equality checks a task, and one recorded output a trial; every fourth is wrong.

    Each output is another text, and so is each expected value of one task but the first.
    """

    def outputs() -> Iterator[dict[str, Any]]:
        for number in range(tasks):
            for trial in range(trials):
                wrong = "" if (number + trial) % 4 else f" Perhaps {trial}."
                text = expected(number) + wrong + (" " * trial if trials > 1 else "")
                yield {"task_id": f"t{number:06d}", "output": text}

    def check(number: int, position: int) -> dict[str, Any]:
        return {"kind": "equals", "value": expected(number + position)}

    several = [
        _task(number, [check(number, position) for position in range(checks)]) for number in range(tasks)
    ]
    name = f"{tasks}x{trials}"
    return (
        made(f"suite-{name}-{checks}.json", _suite(several)),
        made(f"answers-{name}.jsonl", _lines(outputs())),
    )


def _call(number: int, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}


def conversation(task: str, prompt: str, calls: Sequence[Mapping[str, Any]], answer: str) -> dict[str, Any]:
    """A chat with one call a message, each followed by its result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for number, call in enumerate(calls):
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [_call(number, call["name"], call["args"])]}
        )
        result = json.dumps({"ok": True, "order": number, "state": "confirmed", "total": 17.25})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    messages.append({"role": "assistant", "content": answer})
    return {"task_id": task, "messages": messages}


def check_of(kind: str, number: int, position: int) -> dict[str, Any]:
    """The check at a position of a task; one of two passes on the conversations of `checked`."""
    right = position % 2 == 0
    return {
        "equals": {"kind": "equals", "value": {"city": f"City {number}", "price": 21.5 if right else position}},
        "contains": {"kind": "contains", "all": [f"City {number}"], "any": ["price", f"none {position}"]},
        "regex": {"kind": "regex", "pattern": rf"City {number}\b.*\b{21 if right else 1000 + position}\b"},
        "number": {"kind": "number", "of": "answer#/price", "value": 21.5 if right else 100 + position},
        "json": {"kind": "json", "of": "answer", "pointer": "/price", "value": 21.5 if right else position},
        "expr": {"kind": "expr", "expr": f"len(answer) > {position} and len(calls) == {2 if right else 9}"},
        "calls": {
            "kind": "calls", "mode": "in_order",
            "expected": [{"name": "find", "args": {"n": number}}, {"name": "book", "args": {"n": position}}],
        },
    }[kind]  # fmt: skip


def checked(kind: str, count: int, tasks: int, trials: int) -> tuple[Path, Path]:
    """A suite with `count` checks of one kind a task, and conversations of two calls and a JSON answer."""

    def talks() -> Iterator[dict[str, Any]]:
        for number in range(tasks):
            for trial in range(trials):
                calls = [{"name": "find", "args": {"n": number}}, {"name": "book", "args": {"n": 0}}]
                answer = json.dumps({"city": f"City {number}", "price": 21.5}) + " " * trial
                yield conversation(f"t{number:06d}", f"When does order {number} ship?", calls, answer)

    several = [_task(n, [check_of(kind, n, position) for position in range(count)]) for n in range(tasks)]
    return (
        made(f"suite-{kind}-{count}-{tasks}.json", _suite(several)),
        made(f"talks-{tasks}x{trials}.jsonl", _lines(talks())),
    )


def _trajectory(calls: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"tool_{n % 7}",
            "args": {"order": n, "reason": f"step {n} of the plan", "lines": [n, n + 1, 0.5]},
        }
        for n in range(calls)
    ]


def trajectories(traces: int, calls: int = 50) -> tuple[Path, Path]:
    """One task that expects a trajectory in order, and traces that follow it; every tenth swaps two calls."""
    wanted = _trajectory(calls)

    def talks() -> Iterator[dict[str, Any]]:
        for number in range(traces):
            steps = list(wanted)
            if number % 10 == 9:
                steps[10], steps[11] = steps[11], steps[10]
            yield conversation("plan", "Carry out the plan.", steps, f"Done, run {number}.")

    check = {"kind": "calls", "mode": "in_order", "expected": wanted}
    task = {"id": "plan", "prompt": "Carry out the plan.", "criteria": [_criterion(1, check)]}
    return made(f"suite-plan-{calls}.json", _suite([task])), made(f"plan-{traces}.jsonl", _lines(talks()))


def huge_output(megabytes: int = 200) -> tuple[Path, Path]:
    """One trace whose only tool result is that large; the checks read the answer, and the end of the result."""
    line = 'GET /orders/17 200 \\"ok\\" 0.013 s \\u00e9\\n'
    answer = expected(1)

    def write(file: TextIO) -> None:
        talk = conversation("big", "Read the log.", [{"name": "read", "args": {"path": "log"}}], answer)
        talk["messages"][2]["content"] = "@@"
        before, after = json.dumps(talk).split("@@")
        file.write(before)
        block = line * 1000
        for _ in range(megabytes * 1_000_000 // len(block)):
            file.write(block)
        file.write(f"the last line{after}\n")

    checks = [
        {"kind": "equals", "value": answer},
        {"kind": "contains", "of": "result:read", "all": ["the last line"]},
    ]
    task = {**_task(1, checks), "id": "big", "prompt": "Read the log."}
    return made("suite-big.json", _suite([task])), made(f"big-{megabytes}.jsonl", write)


def endless(steps: int = 50_000) -> tuple[Path, Path]:
    """One trace of that many steps, half calls and half results."""
    calls = [
        {"name": f"tool_{n % 7}", "args": {"order": n, "note": f"step {n}"}} for n in range(steps // 2 - 1)
    ]
    checks = [
        {"kind": "calls", "mode": "at_least", "expected": [calls[-1], calls[0]]},
        {"kind": "rule", "rule": {"id": "no-delete", "tool": ["delete_*"], "glob": True, "effect": "deny"}},
        {"kind": "budget", "tool_calls": steps},
    ]
    task = {**_task(1, checks), "id": "long", "prompt": "Work through the queue."}
    talk = conversation("long", "Work through the queue.", calls, "Done.")
    return made("suite-long.json", _suite([task])), made(f"long-{steps}.jsonl", _lines([talk]))


def small(*, crash: bool) -> tuple[Path, Path]:
    """Three tasks that meet 2 of 3, 2 of 2 and 2 of 4 checks; with `crash` the last of them left no recording."""
    words = ("one", "two", "three", "four")
    tasks = [
        {
            **_task(1, [{"kind": "contains", "all": [word]} for word in words[:count]]),
            "id": name,
            "prompt": f"{name}?",
        }
        for name, count in (("checkout", 3), ("lookup", 2), ("csv", 4))
    ]
    names = [task["id"] for task in tasks][: 2 if crash else 3]
    outputs = [{"task_id": name, "output": "one and two"} for name in names]
    return made("suite-small.json", _suite(tasks)), made(f"small-{len(names)}.jsonl", _lines(outputs))
