"""tau2 result files: `{"info", "tasks", "simulations"}`, one trace per simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from steelyard.errors import FormatError
from steelyard.importers.building import StepBuilder
from steelyard.importers.fields import finite, read_task_id, read_trial, text_of
from steelyard.importers.tau2_messages import Conversation
from steelyard.importers.tau2_scores import check_criteria, read_scores
from steelyard.importers.unread import tell_unread_beside
from steelyard.model.trace import Agent, EndedBy, Outcome, Quarantined, Trace
from steelyard.ports.importer import Record

_ENDINGS: Mapping[str, EndedBy] = {
    "agent_stop": "agent_stop",
    "user_stop": "user_stop",
    "max_steps": "max_turns",
    "max_turns": "max_turns",
    "timeout": "budget",
    "too_many_errors": "agent_error",
    "agent_error": "agent_error",
    "context_window_exceeded": "agent_error",
    "user_error": "simulator_fault",
    "infrastructure_error": "infrastructure_fault",
    "cancelled": "cancelled",
}


class Tau2File(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a result file: raw tasks by id, the raw simulations, and what `info` says of the run."""

    tasks: Mapping[str, Mapping[str, Any]]
    simulations: tuple[Any, ...]
    policy: str | None
    domain: str | None
    info: Mapping[str, Any]

    def criteria(self, task_id: str) -> Mapping[str, Any] | None:
        found = self.tasks.get(task_id, {}).get("evaluation_criteria")
        return found if isinstance(found, Mapping) else None


def read_result_file(value: Any) -> Tau2File:
    """The parts of a decoded result file. Raises `FormatError` when it is none."""
    if not isinstance(value, Mapping) or not isinstance(value.get("simulations"), list):
        raise FormatError("it is no object with a list of simulations")
    tasks = value.get("tasks")
    info = _mapping(value.get("info"))
    environment = _mapping(info.get("environment_info"))
    return Tau2File(
        tasks={
            str(task["id"]): task
            for task in (tasks if isinstance(tasks, list) else ())
            if isinstance(task, Mapping) and isinstance(task.get("id"), str | int)
        },
        simulations=tuple(value["simulations"]),
        policy=text_of(environment.get("policy")),
        domain=text_of(environment.get("domain_name")),
        info=info,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class Tau2:
    """See the module."""

    name = "tau2"

    def matches(self, value: Any) -> bool:
        return isinstance(value, dict) and isinstance(value.get("simulations"), list) and "tasks" in value

    def read(self, record: Record) -> Iterator[Trace | Quarantined]:
        try:
            file = read_result_file(record.value)
        except FormatError as refused:
            yield Quarantined(where=record.where, reason=f"The result file is refused: {refused}.")
            return
        if not file.simulations:
            yield Quarantined(where=record.where, reason="The result file holds no simulations.")
        for index, simulation in enumerate(file.simulations):
            base = f"/simulations/{index}"
            where = f"{record.where}#{base}"
            try:
                yield _read(record, file, simulation, base, where)
            except (FormatError, ValueError, TypeError, RecursionError) as refused:
                yield Quarantined(where=where, reason=f"The simulation is refused: {refused}.")


def _read(record: Record, file: Tau2File, simulation: Any, base: str, where: str) -> Trace:
    if not isinstance(simulation, Mapping):
        raise FormatError("it is no object")
    builder = StepBuilder(record, base=base)
    task_id = read_task_id(simulation.get("task_id"), builder)
    messages = simulation.get("messages")
    if messages is None:
        builder.complete = False
        builder.notice("no_messages", "The simulation has no messages.")
        messages = []
    if not isinstance(messages, list):
        raise FormatError("its messages are not a list")
    conversation = Conversation(builder)
    for turn, message in enumerate(messages):
        conversation.add(message, turn, f"/messages/{turn}")
    tell_unread_beside(builder, simulation, ("ticks",))
    reward_info = simulation.get("reward_info")
    strange: frozenset[str] = frozenset()
    if task_id is not None:
        strange = check_criteria(reward_info, file.tasks.get(task_id), task_id, builder)
    return builder.finish(
        format=Tau2.name,
        trace_id=text_of(simulation.get("id")) or where,
        task_id=task_id,
        trial=read_trial(simulation.get("trial"), builder),
        agents=_agents(file, simulation),
        outcome=_outcome(builder, simulation),
        usage=conversation.total(finite(simulation.get("agent_cost"))),
        measurements=_measurements(simulation, conversation),
        external_scores=read_scores(reward_info, builder, strange),
    )


def _agents(file: Tau2File, simulation: Mapping[str, Any]) -> tuple[Agent, ...]:
    agent, user = _mapping(file.info.get("agent_info")), _mapping(file.info.get("user_info"))
    tools = _mapping(file.info.get("environment_info")).get("tool_defs")
    return (
        Agent(
            id="agent",
            name=text_of(agent.get("implementation")) or "",
            model=text_of(agent.get("llm")),
            instructions=text_of(simulation.get("policy")) or file.policy,
            tools=tuple(tools) if isinstance(tools, list) else (),
        ),
        Agent(
            id="user",
            name=text_of(user.get("implementation")) or "",
            role="peer",
            model=text_of(user.get("llm")),
        ),
    )


def _outcome(builder: StepBuilder, simulation: Mapping[str, Any]) -> Outcome:
    reason = text_of(simulation.get("termination_reason"))
    ending = _ENDINGS.get(reason or "")
    if ending is None and reason is not None:
        if "infrastructure" in reason:
            ending = "infrastructure_fault"
        elif "user" in reason or "simulator" in reason:
            ending = "simulator_fault"
        else:
            ending = "unknown"
            builder.notice(
                "unknown_ending", f"The simulation ended by '{reason[:60]}', which has no known meaning."
            )
    if reason is None:
        ending = "unknown"
        builder.notice("unknown_ending", "The simulation does not say how it ended; its reward is then 0.")
    return Outcome(exit_status=reason, ended_by=ending)


def _measurements(simulation: Mapping[str, Any], conversation: Conversation) -> dict[str, float]:
    found = {
        "seconds": finite(simulation.get("duration")),
        "cost_usd": finite(simulation.get("agent_cost")),
        "user_cost_usd": finite(simulation.get("user_cost")),
        "tool_calls": conversation.calls,
        "turns": conversation.turns,
        "tokens": conversation.tokens(),
    }
    return {name: number for name, number in found.items() if number is not None}
