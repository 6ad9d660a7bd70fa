"""What the demo says below its scoreboard: the lucky guess, and what would change the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from steelyard.app.reports import changes
from steelyard.app.run import Run


class Question(NamedTuple):
    """One what-if of the demo, as a person would ask it on the command line."""

    words: str
    sets: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()


QUESTIONS = (
    Question("fix the checkout remedy", sets=("checkout/C3=1",)),
    Question("keep the CSV source", sets=("csv/A1=1",)),
    Question("the lookup counts twice", weights=("lookup=2",)),
    Question("the CSV task counts twice", weights=("csv=2",)),
    Question("the lookup must cite its source", gates=("lookup/G1",)),
)


def demo_epilogue(main: Run, lucky: Run, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The lines below the demo's scoreboard."""
    from steelyard.report.view import percent

    def share(value: float | None) -> str:
        text = percent(value)
        return text if unicode else text.encode("ascii", "replace").decode()

    lines = ["what if (nothing is saved)", f"  {'':<33}{'correctness':>12}{'pooled':>9}{'complete':>12}{'authority':>11}"]
    lines.append(_row("as recorded", main, share))
    for question in QUESTIONS:
        asked = changes(main, sets=question.sets, weights=question.weights, gates=question.gates)
        lines.append(_row(question.words, main.what_if(asked), share))
    return "\n".join([*_lucky(lucky, share), "", *lines])


def _row(words: str, run: Run, share: Callable[[float | None], str]) -> str:
    table = run.scores
    correctness, authority = table.dimensions["correctness"], table.dimensions["authority"]
    complete = f"{table.completion.trials.complete} of {table.completion.trials.of}"
    return (
        f"  {words:<33}{share(correctness.task_average.value):>12}{share(correctness.pooled.value):>9}"
        f"{complete:>12}{share(authority.task_average.value):>11}"
    )


def _lucky(run: Run, share: Callable[[float | None], str]) -> Sequence[str]:
    table = run.scores
    correctness, grounding = table.dimensions["correctness"], table.dimensions["grounding"]
    passed = sum(
        criterion.outcome == "pass"
        for task in table.tasks
        for trial in task.trials
        for criterion in trial.criteria
        if criterion.dimension == "correctness"
    )
    return (
        "beside it: the checkout task answered by a lucky guess, without reading anything",
        f"  correctness {share(correctness.task_average.value)} ({passed} of {correctness.task_average.assigned}), "
        f"grounding {share(grounding.task_average.value)}: correctness cannot tell it from sound work, grounding does",
    )
