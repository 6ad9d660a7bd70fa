"""The messages of a tau2 simulation: agent and simulated user both speak and both call tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from steelyard.importers.building import StepBuilder
from steelyard.importers.fields import finite, text_of
from steelyard.importers.messages import json_part, read_usage
from steelyard.importers.unread import answered, tell_batched, tell_unread
from steelyard.model.trace import Call, Part, Usage

_STOP = "###STOP###"
_STOP_CALLS = (Call(name="done", args={}),)
"""An agent on its own ends by the call `done`, for which tau2 records its stop word; only `raw_data` keeps the call."""


class Conversation:
    """Adds messages and counts what the agent (not the simulated user) did and spent."""

    def __init__(self, builder: StepBuilder) -> None:
        self.builder = builder
        self.calls = 0
        self.turns = 0
        self.usages: list[Usage] = []

    def add(self, message: Any, turn: int, at: str) -> None:
        first = len(self.builder.steps)
        role = message.get("role") if isinstance(message, Mapping) else None
        if role in ("assistant", "user"):
            self._speaker(message, role, turn, at)
        elif role == "tool" and isinstance(message.get("tool_messages"), list):
            for index, result in enumerate(message["tool_messages"]):
                self._result(result, turn, f"{at}/tool_messages/{index}")
            self._unread(message, first, "tool_messages")
        elif role == "tool":
            self._result(message, turn, at)
        elif role == "system":
            self._said("system", "system", message, turn, at, {})
            self._unread(message, first)
        else:
            self.builder.unreadable(
                message, "A message is no object with a known role.", turn=turn, pointer=at
            )

    def tokens(self) -> int | None:
        counts = [n for usage in self.usages for n in (usage.input_total, usage.output) if n is not None]
        return sum(counts) if counts else None

    def total(self, cost: float | None) -> Usage | None:
        """The agent's whole usage; null where no message tells any."""
        sums = {
            name: [n for usage in self.usages if (n := getattr(usage, name)) is not None]
            for name in ("input_total", "output")
        }
        if cost is None and not any(sums.values()):
            return None
        return Usage(
            input_total=sum(sums["input_total"]) if sums["input_total"] else None,
            output=sum(sums["output"]) if sums["output"] else None,
            cost_usd=cost,
            cost_basis=None if cost is None else "reported",
        )

    def _speaker(
        self, message: Mapping[str, Any], role: Literal["assistant", "user"], turn: int, at: str
    ) -> None:
        builder = self.builder
        fields: dict[str, Any] = {"agent_id": "agent" if role == "assistant" else "user"}
        first = len(builder.steps)
        self.turns += role == "assistant"
        thought = text_of(message.get("reasoning"))
        if thought:
            builder.thought(thought, role, turn=turn, pointer=f"{at}/reasoning", **fields)
        calls = message.get("tool_calls")
        if calls is not None and not isinstance(calls, list):
            builder.unreadable(calls, "`tool_calls` is not a list.", turn=turn, pointer=f"{at}/tool_calls")
        listed = calls if isinstance(calls, list) else []
        content = message.get("content")
        if not listed or (content.strip() if isinstance(content, str) else content):
            self._said(role, role, message, turn, at, fields)
        for index, call in enumerate(listed):
            self._call(
                call, role, turn, f"{at}/tool_calls/{index}", {**fields, "time": message.get("timestamp")}
            )
        self._spent(message, role, first)
        self._unread(message, first, "tool_calls", told=lambda: _STOP_CALLS if content == _STOP else ())

    def _unread(
        self,
        fields: Mapping[str, Any],
        first: int,
        *read: str,
        told: Callable[[], tuple[Call, ...]] = tuple,
    ) -> None:
        tell_unread(self.builder, fields, first, calls_from=first, read=frozenset(read), told=told)

    def _said(
        self, kind: Any, role: Any, message: Mapping[str, Any], turn: int, at: str, fields: dict[str, Any]
    ) -> None:
        content = self.builder.plain(message.get("content"))
        parts: tuple[Part, ...] = ()
        if content is not None:
            parts = (Part(kind="text", text=content) if isinstance(content, str) else json_part(content),)
        self.builder.add(
            kind,
            role,
            turn=turn,
            pointer=at,
            content=content,
            parts=parts,
            time=message.get("timestamp"),
            **fields,
        )

    def _call(
        self, call: Any, role: Literal["assistant", "user"], turn: int, at: str, fields: dict[str, Any]
    ) -> None:
        if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
            self.builder.unreadable(call, "A tool call has no name.", turn=turn, pointer=at)
            return
        caller = _requestor(call, role)
        self.calls += caller == "assistant"
        self.builder.call(
            call["name"],
            call.get("arguments"),
            turn=turn,
            pointer=at,
            provider_id=_id(call),
            role=caller,
            missing="arguments" not in call,
            **fields,
        )
        tell_batched(self.builder)
        self._unread(call, len(self.builder.steps) - 1, "id", "name", "arguments", "type")

    def _result(self, message: Any, turn: int, at: str) -> None:
        builder = self.builder
        if not isinstance(message, Mapping):
            builder.unreadable(message, "A tool result is no object.", turn=turn, pointer=at)
            return
        caller = _requestor(message, "assistant")
        content = message.get("content")
        parts: tuple[Part, ...] = ()
        if isinstance(content, str):
            value, parts = builder.decoded(content), (Part(kind="text", text=content),)
        else:
            value = builder.plain(content)
            parts = () if value is None else (json_part(value),)
        builder.result(
            value,
            parts,
            turn=turn,
            pointer=at,
            provider_id=_id(message),
            caller=caller,
            outcome="error" if message.get("error") is True else "ok",
            agent_id="agent" if caller == "assistant" else "user",
            time=message.get("timestamp"),
        )
        self._unread(message, len(builder.steps) - 1, told=lambda: answered(builder))

    def _spent(self, message: Mapping[str, Any], role: str, first: int) -> None:
        usage = read_usage(message.get("usage"))
        cost = finite(message.get("cost"))
        if usage is None and cost is None:
            return
        usage = msgspec.structs.replace(
            usage or Usage(), cost_usd=cost, cost_basis=None if cost is None else "reported"
        )
        if role == "assistant":
            self.usages.append(usage)
        steps = self.builder.steps
        if len(steps) > first:
            steps[first] = msgspec.structs.replace(steps[first], usage=usage)


def _requestor(
    value: Mapping[str, Any], default: Literal["assistant", "user"]
) -> Literal["assistant", "user"]:
    requestor = value.get("requestor")
    if requestor == "user":
        return "user"
    return "assistant" if requestor == "assistant" else default


def _id(value: Mapping[str, Any]) -> str | None:
    """Empty ids are written where the source had none."""
    found = value.get("id")
    return None if found is None or found == "" else str(found)
