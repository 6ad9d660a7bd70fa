"""tau-bench trajectory files: `[{task_id, reward, info, traj, trial}, ...]`, or one such object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.errors import FormatError
from steelyard.importers.building import StepBuilder
from steelyard.importers.fields import finite, read_task_id, read_trial
from steelyard.importers.messages import add_messages
from steelyard.importers.unread import tell_unread_beside
from steelyard.model.trace import ExternalScore, Quarantined, Trace
from steelyard.ports.importer import Record


class TauBench:
    """A list is read here whole, so that the note on numeric task ids is told once a file."""

    name = "taubench"

    def matches(self, value: Any) -> bool:
        if isinstance(value, list):
            return any(_is_trajectory(element) for element in value[:20])
        return _is_trajectory(value)

    def read(self, record: Record) -> Iterator[Trace | Quarantined]:
        if not isinstance(record.value, list):
            yield _guarded(record, record.value, "", record.where, tell=(record.line or 1) == 1)
            return
        told = False
        for index, value in enumerate(record.value):
            found = _guarded(record, value, f"/{index}", f"{record.where}#/{index}", tell=not told)
            told = told or isinstance(found, Trace)
            yield found


def _is_trajectory(value: Any) -> bool:
    return isinstance(value, dict) and "traj" in value and "task_id" in value


def _guarded(record: Record, value: Any, base: str, where: str, *, tell: bool) -> Trace | Quarantined:
    try:
        return _read(record, value, base, where, tell=tell)
    except (FormatError, ValueError, TypeError, RecursionError) as refused:
        return Quarantined(where=where, reason=f"The trajectory is refused: {refused}.")


def _read(record: Record, value: Any, base: str, where: str, *, tell: bool) -> Trace:
    if not _is_trajectory(value) or not isinstance(value["traj"], list):
        raise FormatError("it is no object with a task_id and a list of messages in traj")
    builder = StepBuilder(record, base=base)
    task_id = value["task_id"]
    if isinstance(task_id, int) and not isinstance(task_id, bool) and not tell:
        task_id = str(task_id)
    add_messages(builder, value["traj"], "/traj")
    tell_unread_beside(builder, value)
    info = value.get("info") if isinstance(value.get("info"), dict) else {}
    assert isinstance(info, dict)
    cost = finite(info.get("user_cost"))
    return builder.finish(
        format=TauBench.name,
        trace_id=where,
        task_id=read_task_id(task_id, builder),
        trial=read_trial(value.get("trial"), builder),
        external_scores=_scores(value, info, builder),
        measurements={} if cost is None else {"user_cost_usd": cost},
    )


def _scores(
    value: Mapping[str, Any], info: Mapping[str, Any], builder: StepBuilder
) -> tuple[ExternalScore, ...]:
    if "reward" not in value:
        return ()
    reward = finite(value["reward"])
    if reward is None and value["reward"] is not None:
        builder.notice("bad_reward", "The recorded reward is no finite number; it is read as not recorded.")
    details = info.get("reward_info")
    components = () if details is None else (builder.plain(details),)
    return (ExternalScore(name="reward", value=reward, components=components),)
