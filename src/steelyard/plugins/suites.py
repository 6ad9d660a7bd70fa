"""Suites as pytest tests: a test a criterion, over its trials, and one for the decision of the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest

from steelyard import app
from steelyard.errors import SteelyardError
from steelyard.plugins.grading import SuiteGrading, grading_of

if TYPE_CHECKING:
    from steelyard.model.standard import Criterion, Task
    from steelyard.model.table import CriterionScore, TrialScore

    Verdicts = list[tuple[TrialScore, CriterionScore]]

DECISION = "decision"
MOST_TRIALS = 5
MOST_CHARACTERS = 2000
MARGIN = 10

T = TypeVar("T", bound=pytest.Item)


class SuiteFile(pytest.File):
    """A suite file. Collecting reads the suite and no recording."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The tasks, then the decision."""
        try:
            grading = grading_of(self.path, self.config)
        except SteelyardError as error:
            raise self.CollectError(_said(app.plain_text(str(error)))) from None
        for task in grading.suite.tasks:
            yield TaskNode.from_parent(self, name=node_name(task.id), task=task, grading=grading)
        yield DecisionTest.from_parent(self, name=DECISION, grading=grading)


class TaskNode(pytest.Collector):
    """A task of a suite."""

    def __init__(self, *, task: Task, grading: SuiteGrading, **settings: Any) -> None:
        super().__init__(**settings)
        self.task = task
        self.grading = grading

    def collect(self) -> Iterator[pytest.Item]:
        """Its criteria."""
        for criterion in self.task.criteria:
            yield CriterionTest.from_parent(
                self, name=node_name(criterion.id), task=self.task, criterion=criterion, grading=self.grading
            )


def readably(runtest: Callable[[T], None]) -> Callable[[T], None]:
    """A test that fails in one sentence where the suite or its recordings cannot be graded."""

    @wraps(runtest)
    def told(test: T) -> None:
        problem = ""
        try:
            runtest(test)
        except SteelyardError as error:
            problem = app.plain_text(str(error))
        if problem:  # outside the handler, so that nothing is chained to it
            fail([problem])

    return told


class SuiteTest(pytest.Item):
    """A test of a suite. Grades the suite unless that is done, and looks at its own part."""

    def __init__(self, *, grading: SuiteGrading, **settings: Any) -> None:
        super().__init__(**settings)
        self.grading = grading

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The suite file; failures name the line themselves, so that a sound run need not look for it."""
        return self.path, None, self.nodeid.partition("::")[2]


def _reported(short: Verdicts) -> str:
    """How a criterion that decides nothing came out where it did not score 1."""
    if not short:
        return "and no trial counts"
    trial, verdict = short[0]
    shown = (
        f"scored {verdict.score:g}" if verdict.score is not None else f"has no verdict ({verdict.outcome})"
    )
    several = f" (and {len(short) - 1} more)" if len(short) > 1 else ""
    return f"and trial {trial.trial} {shown}{several}"


class CriterionTest(SuiteTest):
    """A criterion of a task, over all its trials.

    It fails where the criterion is a gate or is required and failed, or has no verdict, in any trial. One that stands
    outside the acceptance rule, or is reported only, is skipped with its reason unless it passed everywhere, as is one
    that waits for another which failed.
    """

    def __init__(self, *, task: Task, criterion: Criterion, **settings: Any) -> None:
        super().__init__(**settings)
        self.task = task
        self.criterion = criterion

    @readably
    def runtest(self) -> None:
        """Fails, or skips with a reason, unless the criterion passed in every trial."""
        found = self.grading.verdicts(self.task.id, self.criterion.id)
        if self.criterion.pass_mark == 0:
            short = [pair for pair in found if pair[1].score != 1]
            if short or not found:
                pytest.skip(_said(f"{self._name()} is reported only, {_reported(short)}"))
            return
        failed = [pair for pair in found if pair[1].outcome == "fail"]
        waiting = [pair for pair in found if pair[1].outcome == "skipped" and pair[1].cause == "fail"]
        open_ = [
            pair
            for pair in found
            if pair[1].outcome not in ("pass", "fail", "report") and pair not in waiting
        ]
        required = self.criterion.gate or any(verdict.in_acceptance for _, verdict in found)
        if found and not required and (failed or open_):
            pytest.skip(_said(f"{self._title(failed or open_, found)}, outside the acceptance rule"))
        if failed:
            fail(self._lines(f"{self._title(failed, found)}", failed))
        if open_ or not found:
            fail(self._lines(f"{self._title(open_, found)}: undecided is no pass", open_))
        if waiting:
            pytest.skip(_said(f"{self._name()}: a criterion that it needs failed"))

    def _name(self) -> str:
        return f"{one_line(self.task.id)} {one_line(self.criterion.id)}"

    def _title(self, chosen: Verdicts, found: Verdicts) -> str:
        if not found:
            return f"{self._name()} has no trial that counts"
        failed = bool(chosen) and chosen[0][1].outcome == "fail"
        word = (
            "violated its gate"
            if failed and self.criterion.gate
            else ("failed" if failed else "has no verdict")
        )
        several = f" in {len(chosen)} of {len(found)} trials" if len(found) > 1 else ""
        return f"{self._name()} {word}{several}"

    def _lines(self, title: str, chosen: Verdicts) -> Iterator[str]:
        yield title
        yield _row("at", self.grading.place(self.task.id, self.criterion.id))
        yield _row("rule", self.criterion.rule)
        for trial, verdict in chosen[:MOST_TRIALS]:
            tag = verdict.failure_tag or ("" if verdict.outcome == "fail" else verdict.outcome)
            yield _row(f"trial {trial.trial}", ": ".join(part for part in (tag, verdict.reason) if part))
            if verdict.evidence_refs:
                yield _row("evidence", ", ".join(verdict.evidence_refs))
        if len(chosen) > MOST_TRIALS:
            yield _row("", f"and {len(chosen) - MOST_TRIALS:,} more trials")
        if chosen and not chosen[0][0].placeholder:
            for label, text in self.grading.trace_lines(self.task.id, chosen[0][0].trial):
                yield _row(label, text)
        missing = [str(trial.trial) for trial, _ in chosen if trial.placeholder]
        if missing:
            one = len(missing) == 1
            yield _row(
                "next",
                f"the {'recording' if one else 'recordings'} of {'trial' if one else 'trials'} {', '.join(missing)} "
                f"{'is' if one else 'are'} missing: record the task again, or plan fewer `trials`",
            )
        if any(verdict.failure_tag == "missing_row" and not trial.placeholder for trial, verdict in chosen):
            name = f"{self.grading.name}.recorded.jsonl"
            yield _row(
                "next", f"put the verdicts of people or judges in {name}, or give --steelyard-recorded FILE"
            )


class DecisionTest(SuiteTest):
    """The decision of the run: fails unless `steelyard grade` would exit with 0."""

    @readably
    def runtest(self) -> None:
        """Fails with the scoreboard unless the run passed."""
        run = self.grading.run()
        board = app.scoreboard(run)
        if run.problem:
            fail([app.plain_text(f"this run was not kept to its end: {run.problem}")])
        if run.scores.exit_code != 0:
            fail([f"{one_line(run.suite.name)} is {run.scores.decision}", *board.split("\n")])
        self.add_report_section("call", "scoreboard", _said(board))


def fail(lines: Iterable[str]) -> NoReturn:
    """Fail the test with these lines, without a traceback."""
    pytest.fail(_said("\n".join(lines)), pytrace=False)


def node_name(id: str) -> str:
    """An id as a part of a pytest node id; distinct for distinct ids, and `urllib.parse.unquote` gives the id back.

    Written as `%XX` are `%`, what pytest splits on (`[`, and `:` beside another or at an end), `]`, whatever
    `plain_text` would write out, and the first letter of `decision`, which is a test of its own. An id of more than
    2,000 characters is cut and ends with a part of its hash.
    """
    if len(id) > MOST_CHARACTERS:
        return f"{node_name(id[:MOST_CHARACTERS])}…{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    if id == DECISION:
        return f"%{ord(id[0]):02X}{id[1:]}"
    return "".join(
        "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        if _splits(id, place)
        else char
        for place, char in enumerate(id)
    )


def _splits(id: str, place: int) -> bool:
    """Whether a character of an id cannot stand as itself in a node id."""
    char = id[place]
    if char == ":":
        return bool({id[place - 1 : place], id[place + 1 : place + 2]} & {"", ":"})
    return char in "%[]\n" or app.plain_text(char) != char


def one_line(text: str) -> str:
    """Text on one line in which nothing steers a terminal, cut at 2,000 characters."""
    cut = text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"
    return app.plain_text(cut).replace("\n", "\\n")


def _row(label: str, text: str) -> str:
    return f"  {label:<{MARGIN}}{one_line(text)}"


def _said(text: str) -> str:
    """What pytest prints in GitHub Actions holds no command to the runner."""
    return app.harmless(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text
