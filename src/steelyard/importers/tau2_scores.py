"""What a tau2 simulation recorded about itself: reward components, and whether they fit the task that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from steelyard.importers.building import StepBuilder
from steelyard.importers.fields import finite
from steelyard.model.trace import ExternalScore

_COMPONENTS = (
    ("ENV_ASSERTION", "env_assertions", "met"),
    ("ACTION", "action_checks", "action_match"),
    ("COMMUNICATE", "communicate_checks", "met"),
    ("NL_ASSERTION", "nl_assertions", "met"),
)
_GOLD: tuple[tuple[str, str, str, Callable[[Mapping[str, Any]], Any]], ...] = (
    ("ACTION", "action_checks", "actions", lambda check: check.get("action")),
    ("ENV_ASSERTION", "env_assertions", "env_assertions", lambda check: check.get("env_assertion")),
    ("NL_ASSERTION", "nl_assertions", "nl_assertions", lambda check: check.get("nl_assertion")),
    ("COMMUNICATE", "communicate_checks", "communicate_info", lambda check: check.get("info")),
)


def read_scores(
    reward_info: Any, builder: StepBuilder, strange: frozenset[str] = frozenset()
) -> tuple[ExternalScore, ...]:
    """The reward and its components by tau2's names; those in `strange` (see `check_criteria`) without a value.

    A component's value is 1.0 when all that it lists holds, 0.0 when not, and null when the record has no list, an
    empty one, or one that cannot be read.
    """
    if not isinstance(reward_info, Mapping):
        return ()
    info = builder.plain(reward_info)
    if info.get("reward") is not None and finite(info["reward"]) is None:
        builder.notice("bad_reward", "The recorded reward is no finite number; it is read as not recorded.")
    basis = info.get("reward_basis")
    named = ", ".join(str(name) for name in basis) if isinstance(basis, list) else ""
    scores = [
        ExternalScore(
            name="reward", value=finite(info.get("reward")), detail=f"basis: {named}" if named else ""
        )
    ]
    db = info.get("db_check")
    met = db.get("db_match") if isinstance(db, Mapping) else None
    scores.append(ExternalScore(name="DB", value=_truth(met), components=() if db is None else (db,)))
    for name, key, verdict in _COMPONENTS:
        checks = info.get(key)
        listed = tuple(checks) if isinstance(checks, list) else ()
        values = [_truth(check.get(verdict)) if isinstance(check, Mapping) else None for check in listed]
        known = [value for value in values if value is not None]
        value = min(known) if known and (len(known) == len(values) or min(known) == 0.0) else None
        if name in strange:
            detail = "recorded against other entries than the named task's"
            scores.append(ExternalScore(name=name, detail=detail, components=listed))
        else:
            scores.append(ExternalScore(name=name, value=value, components=listed))
    return tuple(scores)


def _truth(value: Any) -> float | None:
    return float(value) if isinstance(value, bool) else None


def check_criteria(reward_info: Any, task: Any, task_id: str, builder: StepBuilder) -> frozenset[str]:
    """Tells where what was checked is not what the named task asks for; the components that are no evidence then.

    `criteria_mismatch`: entries that the reward rests on differ, or a component shares no entry with the task's; the
    simulation then belongs to some other task (one public upload names wrong task ids), and nothing that it recorded
    speaks of this one. `component_mismatch`: a component outside the reward differs in part, as when a task's wording
    was corrected between run and upload.
    """
    if task is None:
        builder.notice(
            "unknown_task", f"The file holds no task '{task_id[:80]}'; its criteria cannot be compared."
        )
        return frozenset()
    criteria = task.get("evaluation_criteria")
    if not isinstance(reward_info, Mapping) or not isinstance(criteria, Mapping):
        return frozenset()
    basis = reward_info.get("reward_basis")
    # The database's gold state comes from the gold actions, so actions always count.
    counting = {
        "ACTION",
        *(name for name in (basis if isinstance(basis, list) else ()) if isinstance(name, str)),
    }
    strange: set[str] = set()
    for component, key, gold_key, gold_of in _GOLD:
        checks = reward_info.get(key)
        if not isinstance(checks, list) or not checks:
            continue
        recorded = Counter(
            _canonical(gold_of(check) if isinstance(check, Mapping) else None) for check in checks
        )
        gold = criteria.get(gold_key)
        expected = Counter(map(_canonical, gold if isinstance(gold, list) else ()))
        if recorded == expected:
            continue
        strange.add(component)
        code = (
            "component_mismatch" if recorded & expected and component not in counting else "criteria_mismatch"
        )
        builder.notice(code, f"The recorded {key} are not those of the named task '{task_id[:80]}'.")
    return frozenset(strange)


def _canonical(entry: Any) -> str:
    """Fields that are null say the same as absent ones: versions of the format differ in which they write."""
    if isinstance(entry, Mapping):
        entry = {key: value for key, value in entry.items() if value is not None}
    return msgspec.json.encode(entry, order="deterministic").decode()
