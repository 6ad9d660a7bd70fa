"""The bundled standard for tau2 result files and tau-bench trajectories, built from the file itself.

A tau2 file repeats every task with its evaluation criteria, so the standard stands beside the recordings.
What the raw messages settle (ACTION, COMMUNICATE, the policy's own manner of working) is computed again;
what needs the simulator (DB, ENV_ASSERTION) or a judge (NL_ASSERTION) is taken from the source's record.
Completion then equals the source's reward, and `cross_check` says where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from steelyard.app.bundled_policy import PROCESS, process_criteria
from steelyard.app.bundled_tau2_audit import cross_check, distrust_mismatched, watched
from steelyard.app.bundled_tau2_fields import (
    at,
    domain_of,
    instruction_of,
    policy_of,
    prompt_of,
    purpose_of,
    read_id,
    system_text_of,
)
from steelyard.app.bundled_tau2_gold import (
    COMPONENTS,
    OBLIGATIONS,
    REPORTED,
    Gold,
    component_criteria,
    read_gold,
)
from steelyard.errors import StandardError, UsageError
from steelyard.model.checks import RecordedCheck
from steelyard.model.standard import LAYERS, OBLIGATION, Criterion, Dimension, Suite, Task
from steelyard.standards import suite_hash

__all__ = [
    "build_from_files",
    "build_tau2",
    "build_taubench",
    "cross_check",
    "distrust_mismatched",
    "watched",
]

_OWNER = "the publisher of the result file"
_NO_LAYER = "none: the result file states no requirement of this layer"
_SHOWN = 5
MOST_PLANNED = 10_000
"""A file that says it planned more simulations of a task than this is not believed."""


def build_tau2(file_value: Mapping[str, Any], *, gates: Sequence[str] = ()) -> Suite:
    """The standard that one decoded tau2 result file states: a task for each entry of `tasks`.

    The components of `reward_basis` form correctness, so that completion equals the recorded reward; other
    components that have gold entries form the dimension `components`, reported only; `P1` and `P2` form
    `process` where the file's policy states them. `gates` names criteria that shall be gates as well
    (completion is then stricter than the reward).

    Tasks without anything to check (the source gives them 1.0) are left out with a notice. Raises
    `StandardError` with every problem found when the file is no tau2 result file or no task remains,
    `UsageError` when `gates` names a criterion that no task has.
    """
    tasks, notices = _tau2_tasks(file_value, gates)
    return _suite(f"tau2-{domain_of(file_value)}", tasks, notices, gates)


def build_from_files(files: Mapping[str, Any], *, gates: Sequence[str] = ()) -> Suite:
    """One standard for several decoded files by name: tau2 result files, or tau-bench lists of trajectories.

    A task that stands in several files counts once (its simulations become trials). Raises as the builders
    do, and `StandardError` when files of both kinds are mixed, or when two files give one task different
    criteria.
    """
    trajectories = {name: value for name, value in files.items() if isinstance(value, list)}
    if trajectories and len(trajectories) == len(files):
        return build_taubench([entry for value in files.values() for entry in value], gates=gates)
    if trajectories:
        mixed = ", ".join(trajectories)
        raise StandardError(
            [f"{mixed}: tau-bench trajectories cannot stand beside tau2 files; grade them apart."]
        )
    tasks: dict[str, Task] = {}
    notices: list[str] = []
    problems: list[str] = []
    for name, value in files.items():
        try:
            found, said = _tau2_tasks(value, gates)
        except StandardError as error:
            problems.extend(f"{name}: {problem}" for problem in error.problems)
            continue
        notices.extend(said if len(files) == 1 else (f"{name}: {notice}" for notice in said))
        for task in found:
            merged = _merged(tasks.get(task.id), task)
            if merged is not None:
                tasks[task.id] = merged
            else:
                problems.append(
                    f"{name}: task {task.id} has other criteria than in an earlier file; grade them apart."
                )
    if problems:
        raise StandardError(problems)
    domains = sorted({domain_of(value) for value in files.values()})
    return _suite(f"tau2-{'-'.join(domains)}", list(tasks.values()), notices, gates)


def _tau2_tasks(file_value: Any, gates: Sequence[str]) -> tuple[list[Task], list[str]]:
    problems: list[str] = []
    notices: list[str] = []
    entries = _task_entries(file_value, problems, notices)
    process = process_criteria(policy_of(file_value), gates)
    tasks: list[Task] = []
    golds: dict[str, Gold] = {}
    unchecked: list[str] = []
    for task_id, where, entry in entries:
        if entry.get("evaluation_criteria") is None:
            unchecked.append(task_id)
            continue
        gold = read_gold(entry["evaluation_criteria"], f"{where}/evaluation_criteria", problems)
        if gold is None:
            continue
        criteria = component_criteria(gold, gates)
        if not any(criterion.dimension == OBLIGATION for criterion in criteria):
            unchecked.append(task_id)
            continue
        golds[task_id] = gold
        tasks.append(
            _task(
                task_id,
                prompt_of(entry, task_id),
                purpose_of(entry),
                (*criteria, *process),
                _planned(file_value),
            )
        )
    if problems:
        raise StandardError(problems)
    return tasks, [*notices, *_notices(golds, unchecked)]


def build_taubench(values: Sequence[Any], *, gates: Sequence[str] = ()) -> Suite:
    """The standard for tau-bench trajectories (a list of `{task_id, trial, reward, traj, info}`).

    One task for each task id (its decimal text); the one obligation is the recorded `reward`. `P1` and `P2`
    are added where a system message of the task states them. Raises `StandardError` when nothing is a
    trajectory, `UsageError` when `gates` names a criterion that no task has. Values of another shape are
    named in a notice.
    """
    prompts: dict[str, str] = {}
    policies: dict[str, set[str]] = {}
    odd = 0
    for value in values:
        task_id = read_id(value.get("task_id")) if isinstance(value, Mapping) else None
        if task_id is None:
            odd += 1
            continue
        prompts[task_id] = prompts.get(task_id) or instruction_of(value)
        policies.setdefault(task_id, set()).add(system_text_of(value))
    stated = {text: process_criteria(text, gates) for texts in policies.values() for text in texts}
    tasks = []
    for task_id, prompt in prompts.items():
        process = {
            criterion.id: criterion for text in sorted(policies[task_id]) for criterion in stated[text]
        }
        criteria = (_reward_criterion("reward" in gates), *process.values())
        tasks.append(_task(task_id, prompt or f"tau-bench task {task_id}", "", criteria))
    notices = [f"{odd} records have no usable task_id and belong to no task."] if odd else []
    return _suite("tau-bench", tasks, notices, gates)


def _reward_criterion(gate: bool) -> Criterion:
    return Criterion(
        id="reward",
        dimension=OBLIGATION,
        layer="outcome",
        rule="The reward that the source recorded (end state and required outputs) MUST be 1.",
        check=RecordedCheck(score="reward"),
        gate=gate,
        failure_tag="REWARD_NOT_EARNED",
    )


def _task_entries(
    file_value: Any, problems: list[str], notices: list[str]
) -> list[tuple[str, str, Mapping[str, Any]]]:
    """(id, pointer, entry) of each task; a repeated equal entry counts once."""
    entries = file_value.get("tasks") if isinstance(file_value, Mapping) else None
    if not isinstance(entries, list):
        raise StandardError(["This is no tau2 result file: it must be an object with a list `tasks`."])
    found: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for number, entry in enumerate(entries):
        where = f"/tasks/{number}"
        task_id = read_id(entry.get("id")) if isinstance(entry, Mapping) else None
        if task_id is None:
            problems.append(f"{where}: a task must be an object with an id (text or whole number).")
        elif task_id not in found:
            found[task_id] = (task_id, where, entry)
        elif found[task_id][2] == entry:
            notices.append(f"{where}: task {task_id} stands twice with the same content and counts once.")
        else:
            problems.append(f"{where}: task {task_id} stands twice with different content; keep one.")
    return list(found.values())


def _task(
    task_id: str, prompt: str, purpose: str, criteria: tuple[Criterion, ...], trials: int | None = None
) -> Task:
    covered = {criterion.layer for criterion in criteria}
    return Task(
        id=task_id,
        prompt=prompt,
        expected_behavior=purpose,
        criteria=criteria,
        trials=trials,
        layers={layer: _NO_LAYER for layer in LAYERS if layer not in covered},
    )


def _suite(name: str, tasks: Sequence[Task], notices: Sequence[str], gates: Sequence[str]) -> Suite:
    if not tasks:
        raise StandardError(
            [f"{name}: no task of the file has anything to check, so there is nothing to grade."]
        )
    criteria = [criterion for task in tasks for criterion in task.criteria]
    unknown = sorted(set(gates) - {criterion.id for criterion in criteria})
    if unknown:
        known = ", ".join(sorted({criterion.id for criterion in criteria}))
        raise UsageError(f"No task of {name} has a criterion {', '.join(unknown)}. Gates can be: {known}.")
    used = {criterion.dimension for criterion in criteria}
    dimensions: dict[str, Dimension] = {
        dimension.name: dimension for dimension in (OBLIGATIONS, REPORTED, PROCESS) if dimension.name in used
    }
    suite = Suite(name=name, owner=_OWNER, tasks=tuple(tasks), dimensions=dimensions, notices=tuple(notices))
    return msgspec.structs.replace(suite, hash=suite_hash(suite))


def _notices(golds: Mapping[str, Gold], unchecked: Sequence[str]) -> list[str]:
    notices = []
    if unchecked:
        notices.append(
            f"{_named(unchecked)}: nothing to check. "
            "The source gives such a task reward 1.0; it is left out here."
        )
    for component in dict.fromkeys(name for gold in golds.values() for name in gold.nothing_to_check()):
        tasks = [task for task, gold in golds.items() if component in gold.nothing_to_check()]
        notices.append(
            f"{component}: in the reward basis of {_named(tasks)}, but with nothing to check there. "
            "The source counts it as met; it is not assigned here."
        )
    unstated = [task for task, gold in golds.items() if not gold.basis_stated]
    if unstated:
        notices.append(
            f"{_named(unstated)}: no reward basis stated; the source's default DB, COMMUNICATE is used."
        )
    for component in dict.fromkeys(name for gold in golds.values() for name in gold.basis):
        if component not in COMPONENTS:
            notices.append(
                f"{component}: not a component that this version knows; only a recorded value counts."
            )
    return notices


def _named(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _SHOWN} more" if len(tasks) > _SHOWN else ""
    return f"{len(tasks)} task{'s' if len(tasks) != 1 else ''} ({', '.join(tasks[:_SHOWN])}{more})"


def _planned(file_value: Mapping[str, Any]) -> int | None:
    """How many simulations of each task the file says were planned; those that are missing count as missing."""
    planned = at(file_value, "info", "num_trials")
    is_number = isinstance(planned, int) and not isinstance(planned, bool)
    return planned if is_number and 1 <= planned <= MOST_PLANNED else None


def _merged(known: Task | None, task: Task) -> Task | None:
    """A task that stands in several files: its planned trials add up. None where the criteria differ."""
    if known is None:
        return task
    if msgspec.structs.replace(known, trials=None) != msgspec.structs.replace(task, trials=None):
        return None
    planned = None if known.trials is None or task.trials is None else known.trials + task.trials
    return msgspec.structs.replace(known, trials=planned)
