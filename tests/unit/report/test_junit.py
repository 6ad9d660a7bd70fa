"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings

from steelyard.report.junit import junit_xml
from unit.report.tables import criterion, golden, task, trial
from unit.report.test_terminal import completion, spoiled
from unit.report.test_text import ANY


def parse(text: str) -> Xml.Element:
    return Xml.fromstring(text.encode("utf-8"))


def marks(root: Xml.Element) -> dict[str, str]:
    """Case name to the tag of its mark, empty for a plain case."""
    found = {}
    for case in root.iter("testcase"):
        tags = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        assert len(tags) <= 1
        found[f"{case.get('classname')}/{case.get('name')}"] = tags[0] if tags else ""
    return found


def test_the_golden_example():
    root = parse(junit_xml(golden()))
    assert root.attrib == {
        "name": "operations",
        "tests": "15",
        "failures": "5",
        "errors": "0",
        "skipped": "1",
    }
    shown = marks(root)
    assert shown["steelyard/decision"] == "failure"
    assert shown["operations.checkout/1/C1"] == ""
    assert shown["operations.checkout/1/C3"] == "failure"
    assert shown["operations.lookup/1/G1"] == "skipped", "it is outside the acceptance rule"
    failure = root.find(".//testsuite[@name='checkout']//failure")
    assert failure is not None
    assert failure.get("type") == "REMEDY_EXCEEDS_CONNECTION_BUDGET"
    assert failure.text == "evidence: e3"


def test_states_stay_apart():
    criteria = (
        criterion("F", "fail"),
        criterion("U", "unknown"),
        criterion("E", "error"),
        criterion("S", "skipped", cause="fail"),
        criterion("R", "report"),
        criterion("P", "pass"),
    )
    faulted = trial((criterion("P", "pass"),), 2, counted=False, ended_by="infrastructure_fault")
    root = parse(junit_xml(golden(tasks=(task("a", trial(criteria), faulted),), completion=completion(0, 1))))
    shown = {name.removeprefix("operations.a/"): tag for name, tag in marks(root).items()}
    assert shown == {
        "steelyard/decision": "failure",
        "1/F": "failure", "1/U": "error", "1/E": "error", "1/S": "skipped", "1/R": "", "1/P": "",
        "2/fault": "skipped",
    }  # fmt: skip
    suite = root.find("testsuite[@name='a']")
    assert suite is not None
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "7", "failures": "1", "errors": "2", "skipped": "2"}
    score = suite.find(".//testcase[@name='1/R']/properties/property[@name='score']")
    assert score is not None
    assert score.get("value") == "0.5"


@pytest.mark.parametrize(("code", "tag"), [(0, ""), (1, "failure"), (3, "error"), (4, "error")])
def test_the_decision_case_follows_the_exit_code(code, tag):
    passing = (task("a", trial((criterion("C1", "pass"),))),)
    decision = {0: "PASS", 1: "FAIL"}.get(code, "INCOMPLETE")
    table = golden(exit_code=code, decision=decision, tasks=passing, completion=completion(1, 1))
    root = parse(junit_xml(table))
    assert marks(root)["steelyard/decision"] == tag
    bad = int(root.get("failures", "0")) + int(root.get("errors", "0"))
    assert (bad == 0) == (code == 0)


def test_a_trial_that_ended_badly_is_a_failure_though_every_check_passed():
    late = trial((criterion("C1", "pass"),), ended_by="max_turns", complete=False, possibly_complete=False)
    root = parse(junit_xml(golden(tasks=(task("a", late),), completion=completion(0, 1))))
    assert marks(root)["operations.a/1/ended_by"] == "failure"


def test_tasks_left_out_are_said():
    root = parse(junit_xml(golden(completion=completion(1, 500))))
    assert marks(root)["steelyard/tasks_left_out"] == "skipped"


@settings(max_examples=100)
@given(ANY)
def test_any_text_gives_well_formed_xml_with_true_counts(text):
    root = parse(junit_xml(spoiled(text)))
    cases = list(root.iter("testcase"))
    assert int(root.get("tests", "0")) == len(cases)
    assert int(root.get("failures", "0")) == sum(case.find("failure") is not None for case in cases)
    assert int(root.get("errors", "0")) == sum(case.find("error") is not None for case in cases)
