"""Fields of tau2 result files and tau-bench trajectories, without trust: an odd value reads as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.app.bundled_tau2_gold import clean_text


def read_id(value: Any) -> str | None:
    """An id as text; a whole number as its decimal text; None for anything else."""
    if isinstance(value, str) and value:
        return clean_text(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def read_text(value: Any) -> str:
    """The text without white space around it; empty for anything but text."""
    return clean_text(value).strip() if isinstance(value, str) else ""


def at(value: Any, *path: str) -> Any:
    """The value under these keys; None where an object on the way lacks one."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def policy_of(file_value: Mapping[str, Any]) -> str:
    """The policy that the agent of a tau2 file was given: stated once, or (in newer files) by each simulation."""
    stated = read_text(at(file_value, "info", "environment_info", "policy"))
    simulations = file_value.get("simulations")
    if stated or not isinstance(simulations, list):
        return stated
    return "\n\n".join(dict.fromkeys(read_text(at(simulation, "policy")) for simulation in simulations))


def domain_of(file_value: Mapping[str, Any]) -> str:
    """The domain's name (`airline`, `telecom`, ...)."""
    return read_text(at(file_value, "info", "environment_info", "domain_name")) or "unnamed"


def purpose_of(entry: Mapping[str, Any]) -> str:
    """What the author of a tau2 task says it tests."""
    return read_text(at(entry, "description", "purpose"))


def prompt_of(entry: Mapping[str, Any], task_id: str) -> str:
    """The ticket where there is one, else what the simulated user was told."""
    ticket = read_text(entry.get("ticket"))
    instructions = at(entry, "user_scenario", "instructions")
    if ticket or isinstance(instructions, str):
        return ticket or read_text(instructions) or f"tau2 task {task_id}"
    told = [
        read_text(at(instructions, key)) for key in ("reason_for_call", "known_info", "task_instructions")
    ]
    return "\n".join(part for part in told if part) or purpose_of(entry) or f"tau2 task {task_id}"


def instruction_of(value: Mapping[str, Any]) -> str:
    """What the simulated user of a tau-bench task was told."""
    return read_text(at(value, "info", "task", "instruction"))


def system_text_of(value: Mapping[str, Any]) -> str:
    """The system messages of a tau-bench trajectory, which hold the agent's policy."""
    messages = value.get("traj")
    texts = [
        read_text(message.get("content"))
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping) and message.get("role") == "system"
    ]
    return "\n\n".join(texts)
