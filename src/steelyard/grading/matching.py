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
        prompts: dict[str, list[Task]] = {}
        for task in self.by_id.values():
            prompts.setdefault(task.prompt.strip(), []).append(task)
        self.by_prompt = {prompt: tasks[0] for prompt, tasks in prompts.items() if prompt and len(tasks) == 1}
        self.taken: dict[str, set[int]] = {}
        self.next_free: dict[str, int] = {}

    def task_of(self, trace: Trace) -> Task | None:
        """The task, or None when neither id nor first user message fits one. An id that fits none is not guessed at."""
        if trace.task_id is not None:
            return self.by_id.get(trace.task_id)
        first = next((step for step in trace.steps if step.kind == "user"), None)
        return self.by_prompt.get(first.text.strip()) if first else None

    def trial_of(self, task: Task, trace: Trace) -> int | None:
        """The trial number, or None when the trace states one that is taken: ask `free` when all traces are read."""
        taken = self.taken.setdefault(task.id, set())
        if trace.trial is None:
            return self.free(task)
        if trace.trial in taken:
            return None
        taken.add(trace.trial)
        return trace.trial

    def free(self, task: Task) -> int:
        """Take the smallest free number from 1. It never falls, since no number is given back."""
        taken = self.taken.setdefault(task.id, set())
        number = self.next_free.get(task.id, 1)
        while number in taken:
            number += 1
        self.next_free[task.id] = number
        taken.add(number)
        return number
