"""Which task and trial a trace belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.model.standard import Task
from steelyard.model.trace import Trace


class Matcher:
    """Gives each trace its task (by id, else by its prompt) and a trial number of its own.

    Trials are counted from 1 in the order of arrival where the trace does not say. A trace that states a number which
    is taken already (two files that both say trial 0) has to wait: only when all are read is it known which numbers
    are free, so that it never takes one that a later trace states.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.by_id: Mapping[str, Task] = {task.id: task for task in tasks}
        self.by_prompt: dict[str, Task] = {}
        shared = {""}
        for task in self.by_id.values():
            prompt = task.prompt.strip()
            if self.by_prompt.setdefault(prompt, task) is not task:
                shared.add(prompt)
        for prompt in shared:
            self.by_prompt.pop(prompt, None)
        self.stated: dict[str, set[int]] = {}
        """Numbers that traces state, as far as counting has not passed them."""
        self.next_free: dict[str, int] = {}
        """Every number from 1 up to this one is taken."""

    def task_of(self, trace: Trace) -> Task | None:
        """The task, or None when neither id nor first user message fits one. An id that fits none is not guessed at."""
        if trace.task_id is not None:
            return self.by_id.get(trace.task_id)
        first = next((step for step in trace.steps if step.kind == "user"), None)
        return self.by_prompt.get(first.text.strip()) if first else None

    def trial_of(self, task: Task, trace: Trace) -> int | None:
        """The trial number, or None when the trace states one that is taken: ask `free` when all traces are read."""
        number = trace.trial
        if number is None:
            return self.free(task)
        stated = self.stated.setdefault(task.id, set())
        if number in stated or 1 <= number < self.next_free.get(task.id, 1):
            return None
        stated.add(number)
        return number

    def free(self, task: Task) -> int:
        """Take the smallest free number from 1. It never falls, since no number is given back."""
        number = self.next_free.get(task.id, 1)
        stated = self.stated.get(task.id)
        while stated and number in stated:
            number += 1
        self.next_free[task.id] = number + 1
        return number
