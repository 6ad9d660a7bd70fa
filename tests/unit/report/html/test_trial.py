"""One trial as HTML: what each verdict rests on, the steps it cites, the words it quotes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from steelyard.model.standard import Fact, Task
from steelyard.model.table import CriterionScore, TrialScore
from steelyard.model.trace import Agent, Call, Part, Result, Source, Step, StepKind, Trace, Visibility
from steelyard.report.html.evidence import evidence
from steelyard.report.html.steps import MOST_STEPS
from steelyard.report.html.trial import trial_body

SOURCE = Source(format="test", importer="test", file="runs/a.jsonl", locator="line 3")


def step(number: int, kind: StepKind, text: str = "", **more: Any) -> Step:
    parts = (Part(kind="text", text=text),) if text else ()
    role = "assistant" if kind in ("assistant", "tool_call") else "tool" if kind == "tool_result" else "user"
    settings: dict[str, Any] = {"turn": number, "role": role, "parts": parts} | more
    return Step(id=f"s{number:04}", uid=f"u{number}", seq=number - 1, kind=kind, **settings)


def call(number: int, name: str, args: Any, **more: Any) -> Step:
    return step(number, "tool_call", call=Call(name=name, args=args, **more))


def result(number: int, of: int, value: Any, alias: str = "e1", **more: Any) -> Step:
    given = Result(call_step_id=f"s{of:04}", value=value, **more)
    return step(number, "tool_result", result=given, alias=alias)


def trace(*steps: Step, **more: Any) -> Trace:
    return Trace(id="t", source=SOURCE, steps=steps, **more)


def verdict(name: str = "C1", outcome: str = "fail", **more: Any) -> CriterionScore:
    return CriterionScore(
        id=name, status="graded", score=float(outcome == "pass"), outcome=outcome, dimension="correctness",
        layer="outcome", gate=False, **more,
    )  # fmt: skip


def trial(*verdicts: CriterionScore) -> TrialScore:
    return TrialScore(
        trial=1, complete=False, possibly_complete=False, ended_by="agent_stop", counted=True,
        placeholder=False, gates={}, failure=None, criteria=verdicts,
    )  # fmt: skip


def shown(trial: TrialScore, trace: Trace | None, task: Task | None = None) -> str:
    return str(trial_body(trial, task, trace))


def words(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_a_reference_leads_to_its_step_and_the_value_is_marked() -> None:
    seen = trace(call(1, "get", {"size": 64, "other": 640}), result(2, 1, {"rows": ["x", "y"]}))
    page = shown(trial(verdict(evidence_refs=("s0001/args/size", "e1/result/rows/1"))), seen)
    assert '<a href="#step-s0001" data-step="s0001">s0001/args/size</a>' in page
    assert "<mark>&quot;size&quot;: 64</mark>, &quot;other&quot;: 640" in page
    assert "<mark>&quot;y&quot;</mark>" in page
    assert 'id="step-s0002"' in page


def test_words_that_a_reason_quotes_are_marked_in_the_steps_it_cites_only() -> None:
    seen = trace(step(1, "user", "the pool is small"), step(2, "assistant", "I say the pool is\nsmall"))
    page = shown(trial(verdict(reason='It said "the pool is small".', evidence_refs=("s0002",))), seen)
    assert page.count("<mark>") == 1
    assert "I say <mark>the pool is\nsmall</mark>" in page


def test_a_span_is_marked_as_far_as_it_goes() -> None:
    seen = trace(step(1, "assistant", "abcdef"))
    assert "ab<mark>cd</mark>ef" in shown(trial(verdict(evidence_refs=("s0001@2-4",))), seen)


def test_what_does_not_stand_in_a_step_is_said_as_text() -> None:
    task = Task(id="t", prompt="p", criteria=(), facts={"limit": Fact(text="at most 5")})
    score = trial(verdict(evidence_refs=("fact:limit", "s0099", "file:out/a.csv")))
    page = shown(score, trace(step(1, "user", "x")), task)
    assert "fact:limit at most 5" in words(page)
    assert "s0099" in words(page)
    assert "data-step" not in page


def test_calls_stand_beside_their_results() -> None:
    page = shown(trial(), trace(call(1, "f", {}), step(2, "assistant", "between"), result(3, 1, "out")))
    row = page[page.index("row depth-0 pair") :].partition("</li>")[0]
    assert 'id="step-s0001"' in row
    assert 'id="step-s0003"' in row
    assert "between" not in row


def test_sub_agents_are_indented_under_their_path() -> None:
    agents = (
        Agent(id="m", name="manager"),
        Agent(id="r", name="researcher", role="sub", parent="m"),
        Agent(id="w", name="writer", role="sub", parent="r"),
    )
    steps = [step(number, "assistant", "x", agent_id=name) for number, name in ((1, "m"), (2, "r"), (3, "w"))]
    page = shown(trial(), trace(*steps, agents=agents))
    assert "agent manager › researcher › writer" in words(page)
    assert [f"row depth-{depth}" in page for depth in range(4)] == [True, True, True, False]


def test_agents_that_are_each_others_parents_end() -> None:
    agents = (Agent(id="a", parent="b"), Agent(id="b", parent="a"))
    assert "agent b › a" in words(
        shown(trial(), trace(step(1, "assistant", "x", agent_id="a"), agents=agents))
    )


def test_what_did_not_happen_as_it_looks_is_labelled_and_in_the_jump_list() -> None:
    draft = Visibility(kind="draft_rejected", by="guardrail")
    seen = trace(
        call(1, "drop", {}, executed="denied"),
        result(2, 1, "no", outcome="timeout", truncated=True),
        step(3, "assistant", "draft", visibility=draft),
    )
    page = shown(trial(verdict(evidence_refs=("s0001",))), seen)
    jumps = words(page[page.index("<nav") : page.index("</nav>")])
    assert jumps == (
        "Violations and failing steps s0001 C1 s0001 DENIED s0002 TIMEOUT s0003 REJECTED DRAFT: guardrail"
    )
    assert "CUT IN THE SOURCE" in page
    assert "step kind-assistant unreleased" in page


def test_of_a_trace_without_end_the_cited_steps_are_shown_and_gaps_say_their_size() -> None:
    steps = [step(number, "assistant", f"step {number}") for number in range(1, 50_001)]
    seen = trace(*steps)
    page = shown(trial(verdict(evidence_refs=("s25000",))), seen)
    assert page.count('class="step ') <= MOST_STEPS + 3
    assert 'id="step-s25000"' in page
    assert 'id="step-s0001"' in page
    assert 'id="step-s50000"' in page
    gaps = [int(found.replace(",", "")) for found in re.findall(r"… ([\d,]+) steps left out", page)]
    assert sum(gaps) + page.count('class="step ') == 50_000
    assert "all are in runs/a.jsonl line 3" in page
    assert len(page) < 200_000


def test_a_verdict_says_who_gave_it_and_what_it_votes() -> None:
    from steelyard.model.verdict import GraderRef

    graders = (GraderRef(kind="judge", setup="default", version="2", hash="0123456789abcdef"),)
    votes = {"correctness.task_average": 0.25, "correctness.pooled": 0.5, "layers.outcome.pooled": 0.5}
    page = shown(
        trial(verdict(graders=graders, votes=votes, failure_tag="LATE", in_acceptance=True, retried=2)), None
    )
    said = words(page)
    assert "judge default version 2 hash 0123456789ab… · 2 earlier attempts" in said
    assert "25.0 % of correctness (task average) · 50.0 % of correctness (pooled)" in said
    assert "failure tag LATE" in said
    assert "needed for completion" in said
    assert "The trace is not in this report." in said


def test_a_skip_says_why() -> None:
    skipped = CriterionScore(
        id="C2", status="skipped", score=None, outcome="skipped", dimension="correctness", layer="outcome",
        gate=False, cause="fail",
    )  # fmt: skip
    assert "skipped, since a criterion that it needs failed" in words(shown(trial(skipped), None))


def test_references_without_a_trace_are_not_links() -> None:
    found = evidence(trial(verdict(evidence_refs=("s0001",))), None, None)
    assert [cited.step for cited in found.cited["C1"]] == [None]
