"""What the demo says below its scoreboard: the lucky guess, and what would change the score."""

from __future__ import annotations

from collections.abc import Sequence
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


def demo_epilogue(
    main: Run, lucky: Run, *, width: int = 80, color: bool = False, unicode: bool = True
) -> str:
    """The lines below the demo's scoreboard."""
    from steelyard.report.text import Pen

    header = f"  {'':<33}{'correctness':>11}{'pooled':>9}{'complete':>10}{'authority':>11}"
    lines = [*_lucky(lucky), "", "what if (nothing is saved)", header, _row("as recorded", main)]
    for question in QUESTIONS:
        asked = changes(main, sets=question.sets, weights=question.weights, gates=question.gates)
        lines.append(_row(question.words, main.what_if(asked)))
    pen = Pen(unicode)
    return "\n".join(pen.text(line) for line in lines)


def _row(words: str, run: Run) -> str:
    from steelyard.report.view import percent

    table = run.scores
    correctness, authority = table.dimensions["correctness"], table.dimensions["authority"]
    complete = f"{table.completion.trials.complete} of {table.completion.trials.of}"
    return (
        f"  {words:<33}{percent(correctness.task_average.value):>11}{percent(correctness.pooled.value):>9}"
        f"{complete:>10}{percent(authority.task_average.value):>11}"
    )


def _lucky(run: Run) -> Sequence[str]:
    from steelyard.report.view import percent

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
        f"  correctness {percent(correctness.task_average.value)} ({passed} of {correctness.task_average.assigned})"
        f" · grounding {percent(grounding.task_average.value)}",
        "  Correctness cannot tell it from sound work; grounding does.",
    )
