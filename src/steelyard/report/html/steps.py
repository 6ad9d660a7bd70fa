"""A trace as one column of steps: ids in the margin, results beside their calls, sub-agents as an indented tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.model.trace import RELEASED, Agent, Part, Step, Trace
from steelyard.report.html.evidence import Evidence
from steelyard.report.html.tags import NOTHING, Child, Markup, joined, tag
from steelyard.report.html.window import of_text, of_value, shown
from steelyard.report.numbers import plural
from steelyard.report.steps import heading, labels

MOST_STEPS = 400
"""Steps of a trace up to which all are shown; of a longer one, its start, its end and what is cited or labelled."""
ENDS = 120
MOST_CITED = 160
DEEPEST = 4
MOST_JUMPS = 40
ALARMS = ("DENIED", "NOT EXECUTED", "REJECTED", "INTERRUPTED", "ERROR", "TIMEOUT", "CANCELLED", "MISSING", "MALFORMED",
          "CUT")  # fmt: skip

Link = tuple[str, str]
"""A step id and the words of a link to it."""


def anchor(step_id: str) -> str:
    """The id of a step's element."""
    return f"step-{step_id}"


def trace_column(trace: Trace, found: Evidence, failing: Sequence[Link]) -> Markup:
    """The whole column with its head, jump list and notices."""
    where = source_words(trace)
    kept = _kept(trace, found)
    return tag(
        "section",
        tag("h3", "Trace"),
        tag("p", joined(_head(trace, where), " · "), class_="quiet"),
        _jumps(trace, failing),
        tag("ol", *_column(trace, found, kept, where), class_="steps"),
        _notices(trace),
        class_="trace", aria_label="trace",
    )  # fmt: skip


def source_words(trace: Trace) -> str:
    """Where the recording stands: file and place in it."""
    source = trace.source
    return " ".join(part for part in (source.file or "the recording", source.locator) if part)


def _head(trace: Trace, where: str) -> Iterator[str]:
    outcome = trace.outcome
    yield trace.id
    calls = sum(step.kind == "tool_call" for step in trace.steps)
    yield plural(len(trace.steps), "step")
    yield plural(calls, "call")
    yield f"ended: {outcome.ended_by or 'not said'}"
    for name, words in (("status", outcome.exit_status), ("error", outcome.error)):
        if words:
            yield f"{name}: {words}"
    for score in trace.external_scores:
        yield f"recorded score {score.name}: {'none' if score.value is None else score.value}"
    yield f"{trace.source.format} from {where}"
    if not trace.fidelity.complete:
        yield "the record is known to lack steps"


def _jumps(trace: Trace, failing: Sequence[Link]) -> Markup:
    """Links to the steps behind failures, and to those with a label that a reader must not miss."""
    links = dict.fromkeys((step, f"{step} {criterion}") for step, criterion in failing)
    for step in trace.steps:
        words = next((label for label in labels(step) if label.startswith(ALARMS)), "")
        if words and len(links) < MOST_JUMPS:
            links[step.id, f"{step.id} {words[:40]}"] = None
    if not links:
        return NOTHING
    listed = (tag("li", step_link(step, words)) for step, words in list(links)[:MOST_JUMPS])
    return tag("nav", tag("h4", "Violations and failing steps"), tag("ul", *listed), class_="jumps",
               aria_label="violations and failing steps")  # fmt: skip


def step_link(step_id: str, words: str) -> Markup:
    """A link to a step of the trace that is shown."""
    return tag("a", words, href=f"#{anchor(step_id)}", data_step=step_id)


# --- which steps -------------------------------------------------------------------------------------


def _kept(trace: Trace, found: Evidence) -> frozenset[int]:
    """Positions of the steps that are shown."""
    count = len(trace.steps)
    if count <= MOST_STEPS:
        return frozenset(range(count))
    wanted = [place for place, step in enumerate(trace.steps) if step.id in found.citing or _alarming(step)]
    kept = {*range(ENDS), *range(count - ENDS, count)}
    for place in sorted(wanted, key=lambda place: trace.steps[place].id not in found.citing)[:MOST_CITED]:
        kept.update(range(max(0, place - 1), min(count, place + 2)))
    return frozenset(kept)


def _alarming(step: Step) -> bool:
    return any(label.startswith(ALARMS) for label in labels(step))


def _column(trace: Trace, found: Evidence, kept: frozenset[int], where: str) -> Iterator[Markup]:
    results = _results(trace, kept)
    beside = {step.id for several in results.values() for step in several}
    agents = {agent.id: agent for agent in trace.agents}
    last: str | None = None
    before = -1
    for place in sorted(kept):
        step = trace.steps[place]
        if place > before + 1:
            yield _gap(place - before - 1, where)
        before = place
        if step.id in beside:
            continue
        if len(agents) > 1 and step.agent_id != last:
            last = step.agent_id
            yield _agent(agents, last)
        yield _row(trace, step, results.get(step.id, ()), found, where, _depth(agents, step.agent_id))


def _gap(count: int, where: str) -> Markup:
    return tag("li", f"… {plural(count, 'step')} left out here; all are in {where}", class_="gap")


def _results(trace: Trace, kept: frozenset[int]) -> dict[str, list[Step]]:
    """Results by the id of a shown call that stands before them."""
    paired: dict[str, list[Step]] = {}
    calls = set()
    for place in sorted(kept):
        step = trace.steps[place]
        if step.kind == "tool_call":
            calls.add(step.id)
        elif step.result is not None and step.result.call_step_id in calls:
            paired.setdefault(step.result.call_step_id, []).append(step)
    return paired


# --- agents ------------------------------------------------------------------------------------------


def _path(agents: Mapping[str, Agent], agent_id: str | None) -> list[str]:
    path: list[str] = []
    while agent_id is not None and agent_id not in path and len(path) < 20:
        path.append(agent_id)
        agent = agents.get(agent_id)
        agent_id = agent.parent if agent else None
    return path[::-1]


def _depth(agents: Mapping[str, Agent], agent_id: str | None) -> int:
    return min(DEEPEST, max(0, len(_path(agents, agent_id)) - 1))


def _agent(agents: Mapping[str, Agent], agent_id: str | None) -> Markup:
    path = _path(agents, agent_id)
    names = [agents[name].name or name if name in agents else name for name in path]
    words = f"agent {' › '.join(names)}" if names else "no agent named"
    return tag("li", words, class_=f"agent depth-{_depth(agents, agent_id)}")


# --- one step ----------------------------------------------------------------------------------------


def _row(
    trace: Trace, step: Step, results: Iterable[Step], found: Evidence, where: str, depth: int
) -> Markup:
    cells = [_step(trace, step, found, where), *(_step(trace, result, found, where) for result in results)]
    pair = " pair" if len(cells) > 1 else ""
    return tag("li", *cells, class_=f"row depth-{depth}{pair}")


def _step(trace: Trace, step: Step, found: Evidence, where: str) -> Markup:
    title = f"{step.kind.replace('_', ' ')} {heading(step, len(trace.agents))}".rstrip()
    citing = found.citing.get(step.id, ())
    noted: list[Child] = [tag("span", label, class_=_label_class(label)) for label in labels(step)]
    if citing:
        noted.append(tag("span", f"cited by {', '.join(citing)}", class_="cited"))
    alias = tag("span", step.alias, class_="alias") if step.alias else None
    head = tag("p", tag("span", step.id, class_="id"), alias, tag("b", title), *noted, class_="head")
    quotes = found.quotes.get(step.id, ())
    return tag(
        "div", head, *_contents(step, quotes, where), id=anchor(step.id), tabindex="-1",
        class_=f"step kind-{step.kind}" + ("" if step.visibility == RELEASED else " unreleased"),
    )  # fmt: skip


def _label_class(label: str) -> str:
    return "label alarm" if label.startswith(ALARMS) else "label"


def _contents(step: Step, quotes: Sequence[str], where: str) -> Iterator[Markup]:
    if step.call is not None:
        raw = step.call.args_raw or "" if step.call.args_error is not None else step.call.args
        yield _content(raw, quotes, where)
    if step.speech is not None and step.speech.heard_text is not None:
        yield _content(f"heard: {step.speech.heard_text}", quotes, where)
    if step.result is not None and step.result.value is not None:
        yield _content(step.result.value, quotes, where)
        return
    for part in step.parts:
        yield _content(_part(part), quotes, where)


def _part(part: Part) -> Any:
    if part.kind == "json":
        return part.value
    if part.kind == "text":
        return part.text or ""
    names = " ".join(str(name) for name in (part.title, part.doc_id, part.uri, part.blob) if name)
    return f"[{part.kind}{f' {names}' if names else ''}] {part.text or part.quote or ''}".rstrip()


def _content(value: Any, quotes: Sequence[str], where: str) -> Markup:
    if value == "":
        return NOTHING
    long = of_value(value) if not isinstance(value, str) else of_text(value)
    return shown(long, value if isinstance(value, str) else None, quotes, where)


def _notices(trace: Trace) -> Markup:
    if not trace.notices:
        return NOTHING
    listed = (
        tag("li", f"{notice.code}{f' at {notice.step}' if notice.step else ''}: {notice.detail}")
        for notice in trace.notices[:MOST_JUMPS]
    )
    return joined([tag("h4", plural(len(trace.notices), "notice")), tag("ul", *listed)])
