"""JUnit XML: a suite a task, a case a verdict, and one case for the decision, so that no bad run is green."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as Xml

from steelyard.model.table import CriterionScore, ScoreTable, TaskScore, TrialScore
from steelyard.report.failures import detail_is_partial
from steelyard.report.numbers import plural, quantity
from steelyard.report.text import visible
from steelyard.report.view import because

MOST_CHARACTERS = 100_000
"""Of one text; servers that read this show a few lines."""
COUNTED = ("failure", "error", "skipped")
DECIDED = {1: ("failure", "FAIL"), 3: ("error", "INCOMPLETE"), 4: ("error", "NOTHING_EVALUATED")}


def junit_xml(table: ScoreTable) -> str:
    """The verdicts for a CI server.

    Fail: `failure`; unknown and error: `error`; skipped and trials that ended by a fault: `skipped`; report-only:
    a plain case with its score as a property. The case `steelyard / decision` fails or errs with the exit code.
    Control and direction characters of names and reasons are escaped, since XML cannot hold them all.
    """
    root = Xml.Element("testsuites", name=_safe(table.suite.name) or "suite")
    _decision(root, table)
    for task in table.tasks:
        suite = Xml.SubElement(root, "testsuite", name=_safe(task.id))
        for trial in task.trials:
            _trial(suite, f"{table.suite.name}.{task.id}", task, trial)
        _count(suite, [suite])
    _count(root, list(root))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _decision(root: Xml.Element, table: ScoreTable) -> None:
    suite = Xml.SubElement(root, "testsuite", name="steelyard")
    case = Xml.SubElement(suite, "testcase", classname="steelyard", name="decision")
    if table.exit_code != 0:
        tag, kind = DECIDED.get(table.exit_code, ("error", table.decision))
        _mark(case, tag, f"{table.decision}: {because(table)}", kind=kind)
    if detail_is_partial(table):
        case = Xml.SubElement(suite, "testcase", classname="steelyard", name="tasks_left_out")
        left_out = table.completion.tasks.of - len(table.tasks)
        trials = table.left_out.incomplete_trials if table.left_out else 0
        more = f", and {plural(trials, 'more trial')} that are not complete" if trials else ""
        _mark(case, "skipped", f"{plural(left_out, 'task')} without detail here{more}; --full has them")
    _count(suite, [suite])


def _trial(suite: Xml.Element, classname: str, task: TaskScore, trial: TrialScore) -> None:
    if not trial.counted and not trial.placeholder:
        case = _case(suite, classname, f"{trial.trial}/fault")
        outside = f"{plural(len(trial.criteria), 'verdict')} of this trial stay outside the averages"
        _mark(case, "skipped", f"ended by {trial.ended_by or 'a fault'}: {outside}")
        return
    for criterion in trial.criteria:
        case = _case(suite, classname, f"{trial.trial}/{criterion.id}")
        _verdict(case, criterion)
    stopped = not trial.complete and all(entry.outcome in ("pass", "report") for entry in _required(trial))
    if stopped:
        case = _case(suite, classname, f"{trial.trial}/ended_by")
        ended = trial.ended_by or "not said"
        _mark(case, "failure", f"ended by {ended}, which completes no trial here", kind="ENDED_BY")


def _required(trial: TrialScore) -> Iterator[CriterionScore]:
    return (entry for entry in trial.criteria if entry.in_acceptance)


def _case(suite: Xml.Element, classname: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=_safe(classname), name=_safe(name))


def _verdict(case: Xml.Element, criterion: CriterionScore) -> None:
    reason = criterion.reason or "no reason given"
    about = f"{criterion.dimension}{', gate' if criterion.gate else ''}: {reason}"
    if criterion.outcome in ("fail", "unknown", "error") and not (criterion.in_acceptance or criterion.gate):
        _mark(case, "skipped", f"{criterion.outcome}, reported outside the acceptance rule; {about}")
        return
    match criterion.outcome:
        case "pass" | "report":
            if criterion.score is not None and criterion.score != 1:
                properties = Xml.SubElement(case, "properties")
                Xml.SubElement(properties, "property", name="score", value=quantity(criterion.score))
                Xml.SubElement(properties, "property", name="outcome", value=criterion.outcome)
        case "fail":
            _mark(case, "failure", about, kind=criterion.failure_tag or "fail", refs=criterion.evidence_refs)
        case "skipped":
            cause = "a criterion that it needs failed" if criterion.cause == "fail" else "undecided"
            _mark(case, "skipped", f"{cause}; {about}")
        case _:
            _mark(case, "error", about, kind=criterion.outcome, refs=criterion.evidence_refs)


def _mark(case: Xml.Element, tag: str, message: str, *, kind: str = "", refs: tuple[str, ...] = ()) -> None:
    mark = Xml.SubElement(case, tag, message=_safe(message))
    if kind:
        mark.set("type", _safe(kind))
    if refs:
        mark.text = _safe("evidence: " + ", ".join(refs))


def _count(into: Xml.Element, suites: list[Xml.Element]) -> None:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    into.set("tests", str(len(cases)))
    for tag in COUNTED:
        name = "skipped" if tag == "skipped" else f"{tag}s"
        into.set(name, str(sum(case.find(tag) is not None for case in cases)))


def _safe(text: str) -> str:
    return visible(text[:MOST_CHARACTERS]) + ("…" if len(text) > MOST_CHARACTERS else "")
