"""One task of the file to one record: its criteria together, its needs and its acceptance rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from msgspec import UNSET

from steelyard.model.standard import LAYERS, CompleteWhen, Criterion, Excluded, Fact, Task
from steelyard.model.trace import EndedBy
from steelyard.standards.conditions import WhenError, holds
from steelyard.standards.criteria import Place, Setting, name_fault, resolve, task_findings_of
from steelyard.standards.draft import PlacedTask
from steelyard.standards.problems import quoted, suggestion
from steelyard.standards.shapes import TaskFile

MAX_TRIALS = 100_000
SHARED_BRANCH = "shared"


class TaskReader:
    """Makes the record of one task. `excluded` holds the criteria that their `when` left out."""

    def __init__(self, setting: Setting, placed: PlacedTask) -> None:
        self.setting = setting
        self.place = Place(placed.path, placed.row)
        self.file: TaskFile = placed.task
        self.facts = {name: Fact(text=fact.text, data=fact.data) for name, fact in self.file.facts.items()}
        self.excluded: list[Excluded] = []
        self.criteria: list[Criterion] = []

    def read(self) -> Task | None:
        """The task, or None when its own `when` leaves it out. Problems go to the setting."""
        kept = self._when(self.file.when, None, ())
        self._check_fields()
        self._read_criteria()
        self._check_weights()
        complete_when = self._acceptance()
        if not kept:
            self.excluded = [Excluded(task=self.file.id, criterion=None, when=self.file.when or "")]
            return None
        return Task(
            id=self.file.id,
            prompt=self.file.prompt,
            criteria=tuple(self.criteria),
            expected_behavior=self.file.expected_behavior,
            tags=self.file.tags,
            branch=self.file.branch,
            facts=self.facts,
            layers=self.file.layers,
            complete_when=complete_when,
            weight=self.file.weight,
            trials=self.file.trials,
            reference=self.file.reference,
            no_op=self.file.no_op,
        )

    def _problem(self, message: str, *steps: str | int) -> None:
        self.setting.problem(self.place.at(*steps), message, self.place.row)

    def _check_fields(self) -> None:
        file = self.file
        fault = name_fault(file.id)
        if fault:
            self._problem(fault, "id")
        if not file.prompt.strip():
            self._problem("is empty; write what the agent is asked", "prompt")
        if file.trials is not None and not 1 <= file.trials <= MAX_TRIALS:
            self._problem(
                f"is {file.trials}; a task has at least 1 trial (and at most {MAX_TRIALS})", "trials"
            )
        if file.weight is not None and file.weight < 0:
            self._problem(f"is {file.weight}; a weight is 0 or more", "weight")
        for layer, reason in file.layers.items():
            if layer not in LAYERS:
                self._problem(f"unknown layer{suggestion(layer, LAYERS)}", "layers", layer)
            elif not reason.strip():
                self._problem("is empty; say why the layer has no criterion", "layers", layer)
        self._check_branch()

    def _check_branch(self) -> None:
        branches, branch = self.setting.branches, self.file.branch
        if "branches" in self.setting.damaged:
            return
        if branches and branch is None:
            self._problem(
                f"the key 'branch' is missing: the suite has branches; it is {SHARED_BRANCH} or one of them"
            )
        elif branch is not None and not branches:
            self._problem(
                "names a branch, but the suite declares none; add `branches: [...]` or drop it", "branch"
            )
        elif branch is not None and branch not in (*branches, SHARED_BRANCH):
            known = suggestion(branch, (*branches, SHARED_BRANCH))
            self._problem(f"unknown branch {quoted(branch)}{known}", "branch")

    def _read_criteria(self) -> None:
        if not self.file.criteria:
            self._problem("is empty; a task without criteria cannot be scored", "criteria")
        left_out: dict[str, str] = {}
        first: dict[str, int] = {}
        for index, file in enumerate(self.file.criteria):
            place = Place(self.place.at("criteria", index), self.place.row)
            criterion = resolve(self.setting, place, file)
            if criterion is None:
                continue
            if criterion.id in first:
                twice = f"{quoted(criterion.id)} is already the id of criteria[{first[criterion.id]}]; ids are unique"
                self.setting.problem(place.at("use" if file.id is UNSET else "id"), twice, place.row)
            self._check_needs(place, criterion, set(first), left_out)
            first.setdefault(criterion.id, index)
            for steps, message in task_findings_of(criterion.check, criterion.judge, self.facts):
                where = ("use",) if criterion.rubric else steps
                self.setting.problem(place.at(*where), message, place.row)
            when = file.when if isinstance(file.when, str) else None
            if self._when(when, criterion.id, ("criteria", index)):
                self.criteria.append(criterion)
            else:
                left_out[criterion.id] = when or ""
        if left_out and not self.criteria:
            self._problem(
                "every criterion is left out by its `when`; a task without criteria cannot be scored",
                "criteria",
            )
        self._left_out = left_out

    def _check_needs(
        self, place: Place, criterion: Criterion, earlier: set[str], left_out: Mapping[str, str]
    ) -> None:
        later = {c.use if c.id is UNSET else c.id for c in self.file.criteria}
        for index, need in enumerate(criterion.needs):
            path = place.at("needs", index)
            if need == criterion.id:
                self.setting.problem(
                    path, "names the criterion itself; a need is an earlier criterion", place.row
                )
            elif need in left_out:
                self.setting.problem(
                    path, f"{quoted(need)} is left out of this task by its `when`; drop the need", place.row
                )
            elif need in earlier:
                continue
            elif need in later:
                self.setting.problem(
                    path, f"{quoted(need)} comes later; move it before {quoted(criterion.id)}", place.row
                )
            else:
                known = suggestion(need, earlier) or "; no criterion stands before this one"
                self.setting.problem(path, f"unknown criterion {quoted(need)}{known}", place.row)

    def _check_weights(self) -> None:
        for dimension in dict.fromkeys(c.dimension for c in self.criteria):
            weights = [c.weight for c in self.criteria if c.dimension == dimension]
            if not any(weights):
                self._problem(
                    f"all weights of {dimension!r} are 0, so nothing votes; give one criterion a weight",
                    "criteria",
                )

    def _acceptance(self) -> CompleteWhen:
        file, default = self.file.complete_when, CompleteWhen()
        rule = CompleteWhen(
            dimensions=default.dimensions if file.dimensions is UNSET else file.dimensions,
            criteria=file.criteria,
            gates=file.gates,
            ended_by=default.ended_by if file.ended_by is UNSET else file.ended_by,
        )
        known = {c.id for c in self.criteria}
        self._check_acceptance(rule, known)
        deciding = [
            c
            for c in self.criteria
            if c.pass_mark > 0
            and (c.dimension in rule.dimensions or c.id in rule.criteria or (rule.gates and c.gate))
        ]
        # Where the criteria are damaged or all left out, that was already said.
        if self.criteria and not deciding:
            self._problem(
                "the acceptance rule names no criterion that has to pass, so nothing could fail; "
                f"{'change' if self._says_rule() else 'add'} `complete_when`, or add a criterion of "
                f"{' or '.join(rule.dimensions) or 'correctness'} or a gate with a pass mark above 0",
                *(("complete_when",) if self._says_rule() else ()),
            )
        return rule

    def _says_rule(self) -> bool:
        file = self.file.complete_when
        return bool(file.criteria) or not file.gates or file.dimensions is not UNSET

    def _check_acceptance(self, rule: CompleteWhen, known: set[str]) -> None:
        for index, name in enumerate(rule.criteria):
            if name in self._left_out:
                self._problem(
                    f"{quoted(name)} is left out of this task by its `when`",
                    "complete_when",
                    "criteria",
                    index,
                )
            elif name not in known:
                hint = suggestion(name, known)
                self._problem(f"unknown criterion {quoted(name)}{hint}", "complete_when", "criteria", index)
        for index, name in enumerate(rule.dimensions):
            if name not in self.setting.dimensions and "dimensions" not in self.setting.damaged:
                hint = suggestion(name, self.setting.dimensions)
                self._problem(f"unknown dimension {quoted(name)}{hint}", "complete_when", "dimensions", index)
        words = get_args(EndedBy)
        if not rule.ended_by:
            self._problem(
                "is empty, so no trial could be complete; name at least agent_stop",
                "complete_when",
                "ended_by",
            )
        for index, name in enumerate(rule.ended_by):
            if name not in words:
                hint = suggestion(name, words)
                self._problem(f"unknown ending {quoted(name)}{hint}", "complete_when", "ended_by", index)

    def _when(self, when: str | None, criterion: str | None, steps: tuple[str | int, ...]) -> bool:
        if when is None:
            return True
        try:
            kept = holds(
                when, task_id=self.file.id, tags=self.file.tags, branch=self.file.branch, facts=self.facts
            )
        except WhenError as error:
            self._problem(str(error), *steps, "when")
            return True
        if not kept and criterion is not None:
            self.excluded.append(Excluded(task=self.file.id, criterion=criterion, when=when))
        return kept
