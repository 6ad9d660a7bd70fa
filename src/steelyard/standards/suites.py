"""A draft to a validated suite: dimensions, weights, the primary metric, and the tasks together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from steelyard.model.standard import Dimension, Excluded, Suite, Task, Weights
from steelyard.standards.criteria import Place, Setting, check_rubrics, name_fault, resolve
from steelyard.standards.draft import Draft
from steelyard.standards.plain import PlainTasks
from steelyard.standards.problems import Path, Problems, closest, quoted, suggestion
from steelyard.standards.shapes import BUILTIN_DIMENSIONS, TaskFile
from steelyard.standards.tasks import SHARED_BRANCH, TaskReader

JUDGE_KINDS = (
    "openai",
    "anthropic",
    "anyllm",
    "pydantic-ai",
    "local",
    "human",
    "recorded",
    "panel",
    "function",
)
_SECRETS = ("api_key", "apikey", "key", "token", "secret", "password")


class Stands(NamedTuple):
    """Where a task stands, and its form in the file where its criteria are others than there."""

    path: Path
    row: str | None
    file: TaskFile | None


class Built(NamedTuple):
    """A suite without hash and notices, and what the linter wants to know beside it."""

    suite: Suite
    places: tuple[Stands, ...]
    unused_rubrics: tuple[str, ...]


class _Read(NamedTuple):
    """A task that is kept, and where it stands."""

    placed: Stands
    task: Task


def build_suite(draft: Draft, problems: Problems, folder: str) -> Built | None:
    """The suite, or None when `problems` holds anything: a damaged standard scores nobody."""
    setting = _setting(draft, problems, folder)
    check_rubrics(setting)
    for loose in draft.loose:
        resolve(setting, Place(loose.path, loose.row), loose.criterion)
    read, excluded = _read_tasks(draft, setting)
    rules = _SuiteRules(draft, setting, [r for r in read if r.task.criteria])
    rules.check()
    if problems:
        return None
    suite = Suite(
        name=draft.get("name"),
        owner=draft.get("owner"),
        tasks=tuple(r.task for r in read),
        dimensions=_kept_dimensions(draft, setting, read),
        version=draft.get("version"),
        primary=draft.get("primary"),
        at_least=draft.get("at_least"),
        weights=rules.weights(),
        clusters=draft.get("clusters"),
        branches=setting.branches,
        judges=setting.judges,
        composite=rules.composite(),
        excluded=tuple(excluded),
        folder=folder,
    )
    unused = tuple(name for name in setting.rubrics if name not in setting.used_rubrics)
    return Built(suite, tuple(r.placed for r in read), unused)


def _setting(draft: Draft, problems: Problems, folder: str) -> Setting:
    dimensions = {
        name: Dimension(name=name, definition=definition, scope=scope)
        for name, (definition, scope) in BUILTIN_DIMENSIONS.items()
    }
    for name, file in draft.get("dimensions").items():
        dimensions[name] = Dimension(name=name, definition=file.definition, scope=file.scope)
        if not file.definition.strip():
            problems.add(
                ("dimensions", name, "definition"), "is empty; the name alone does not say what is measured"
            )
        if name_fault(name):
            problems.add(("dimensions", name), f"the name {name_fault(name)}")
    return Setting(
        problems=problems,
        dimensions=dimensions,
        rubrics=draft.get("rubrics"),
        judges=draft.get("judges"),
        branches=draft.get("branches"),
        folder=folder,
        damaged=frozenset(draft.damaged),
    )


def _kept_dimensions(draft: Draft, setting: Setting, read: Sequence[_Read]) -> dict[str, Dimension]:
    """Those that are declared or used; the other built-in ones would only be empty lines of a report."""
    used = {criterion.dimension for r in read for criterion in r.task.criteria}
    declared = draft.get("dimensions")
    return {name: d for name, d in setting.dimensions.items() if name in used or name in declared}


def _read_tasks(draft: Draft, setting: Setting) -> tuple[list[_Read], list[Excluded]]:
    read: list[_Read] = []
    excluded: list[Excluded] = []
    first: dict[str, Stands] = {}
    plain = PlainTasks(setting)
    waiting = draft.tasks[::-1]
    draft.tasks = []  # what was read of the file is let go as soon as its record is there
    while waiting:
        placed = waiting.pop()
        task = plain.read(placed.task)
        stands = Stands(placed.path, placed.row, placed.task if task is None else None)
        if task is None:
            reader = TaskReader(setting, placed)
            task = reader.read()
            excluded += reader.excluded
        if placed.task.id in first:
            other = first[placed.task.id]
            where = other.row or f"task {other.path[-1]}"
            twice = f"{quoted(placed.task.id)} is already the id of {where}; ids are unique"
            setting.problem((*placed.path, "id"), twice, placed.row)
        first.setdefault(placed.task.id, stands)
        if task is not None:
            read.append(_Read(stands, task))
    if not read and "tasks" not in draft.damaged:
        said = "every task is left out by its `when`" if excluded else "is empty"
        setting.problem(("tasks",), f"{said}; a suite has at least one task", None)
    return read, excluded


class _SuiteRules:
    """What must hold for the tasks together."""

    def __init__(self, draft: Draft, setting: Setting, read: list[_Read]) -> None:
        self.draft = draft
        self.setting = setting
        self.read = read
        # Statements about all tasks are only made when all of them could be read.
        self.whole = "tasks" not in draft.damaged

    def check(self) -> None:
        self._check_names()
        self._check_primary()
        self._check_branches()
        self._check_weights()
        self._check_clusters()
        self._check_composite()
        self._check_judges()

    def _problem(self, path: Path, message: str, row: str | None = None) -> None:
        self.setting.problem(path, message, row)

    def _assigned(self) -> set[str]:
        return {c.dimension for r in self.read for c in r.task.criteria}

    def _check_names(self) -> None:
        for key, mend in (("name", "name the suite"), ("owner", "name the one person who settles disputes")):
            if key in self.draft.fields and name_fault(self.draft.fields[key]):
                self._problem((key,), f"{name_fault(self.draft.fields[key])}; {mend}")
        bar = self.draft.get("at_least")
        if bar is not None and not 0 < bar <= 1:
            what = (
                "a bar of 0 lets everything pass"
                if bar == 0
                else f"a bar of {bar:f} is off the scale of 0..1"
            )
            self._problem(("at_least",), f"{what}; write a number above 0, at most 1")

    def _check_primary(self) -> None:
        primary = self.draft.get("primary")
        if primary == "completion":
            return
        kind, _, name = primary.partition(":")
        if kind != "dimension" or not name:
            known = ["completion", *(f"dimension:{d}" for d in sorted(self._assigned()))]
            self._problem(
                ("primary",), f"{quoted(primary)} is no metric of the suite{suggestion(primary, known)}"
            )
        elif name not in self.setting.dimensions:
            if "dimensions" not in self.setting.damaged:
                self._problem(
                    ("primary",),
                    f"unknown dimension {quoted(name)}{suggestion(name, self.setting.dimensions)}",
                )
        elif self.whole and name not in self._assigned():
            self._problem(
                ("primary",), f"no task has a criterion of {quoted(name)}, so it could never be decided"
            )

    def _check_branches(self) -> None:
        branches = self.setting.branches
        for index, name in enumerate(branches):
            if name_fault(name):
                self._problem(("branches", index), str(name_fault(name)))
            elif name == SHARED_BRANCH:
                self._problem(
                    ("branches", index), f"{SHARED_BRANCH!r} is the word for tasks of every branch; rename it"
                )
            elif name in branches[:index]:
                self._problem(("branches", index), f"{quoted(name)} stands twice")

    def _check_weights(self) -> None:
        weights = self.draft.get("weights")
        if weights is not None:
            _check_shares(self.setting, ("weights", "shares"), weights.shares)
            for r in self.read:
                self._check_share_of(r, weights)
        elif self.whole and self.read and all(r.task.weight == 0 for r in self.read):
            self._problem(("tasks",), "all task weights are 0, so nothing votes; give one task a weight")

    def _check_share_of(self, r: _Read, weights: Weights) -> None:
        path, row, task = r.placed.path, r.placed.row, r.task
        if task.weight is not None:
            self._problem((*path, "weight"), "stands beside the suite's `weights`; keep one of the two", row)
        if weights.by not in task.tags:
            near = closest(weights.by, task.tags)
            hint = f" (is it {near!r}?)" if near else ""
            self._problem(
                (*path, "tags"),
                f"lacks the tag {quoted(weights.by)}{hint}, which `weights.by` divides by",
                row,
            )
            return
        value = task.tags[weights.by]
        if value not in weights.shares:
            hint = suggestion(value, weights.shares)
            self._problem(
                (*path, "tags", weights.by), f"{quoted(value)} has no share in `weights`{hint}", row
            )

    def _check_clusters(self) -> None:
        tag = self.draft.get("clusters")
        if tag is None:
            return
        for r in self.read:
            if tag not in r.task.tags:
                near = closest(tag, r.task.tags)
                hint = f" (is it {near!r}?)" if near else ""
                lacks = f"lacks the tag {quoted(tag)}{hint}, which `clusters` groups by"
                self._problem((*r.placed.path, "tags"), lacks, r.placed.row)

    def _check_composite(self) -> None:
        composite = self.draft.get("composite")
        if composite is None:
            return
        _check_shares(self.setting, ("composite", "weights"), composite.weights)
        assigned = self._assigned()
        for name in composite.weights:
            path: Path = ("composite", "weights", name)
            if name not in self.setting.dimensions:
                if "dimensions" not in self.setting.damaged:
                    self._problem(path, f"unknown dimension{suggestion(name, self.setting.dimensions)}")
            elif self.whole and name not in assigned:
                self._problem(
                    path, f"no task has a criterion of {quoted(name)}, so the composite could never be shown"
                )

    def _check_judges(self) -> None:
        for name, setup in self.setting.judges.items():
            path: Path = ("judges", name)
            kind = setup.get("kind")
            if kind is None:
                self._problem(path, f"the key 'kind' is missing; it is one of {', '.join(JUDGE_KINDS)}")
            elif not isinstance(kind, str) or kind not in JUDGE_KINDS:
                self._problem(
                    (*path, "kind"), f"unknown kind {quoted(str(kind))}{suggestion(str(kind), JUDGE_KINDS)}"
                )
            for key in setup:
                if key.lower() in _SECRETS:
                    mend = "a suite is shared, so it holds no keys; set the usual variable, such as OPENAI_API_KEY"
                    self._problem((*path, key), mend)

    def weights(self) -> Weights | None:
        file = self.draft.get("weights")
        return None if file is None else Weights(**msgspec.structs.asdict(file))

    def composite(self) -> dict[str, Any] | None:
        file = self.draft.get("composite")
        return None if file is None else {"name": file.name, "weights": dict(file.weights)}


def _check_shares(setting: Setting, path: Path, shares: Mapping[str, Decimal]) -> None:
    for name, share in shares.items():
        if share < 0:
            setting.problem((*path, name), f"is {share}; a share is 0 or more", None)
    if not any(shares.values()):
        setting.problem(path, "are all 0, so nothing votes; give one a number above 0", None)
