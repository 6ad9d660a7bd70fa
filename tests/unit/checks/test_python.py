"""`python` checks: what a function is given, what it may return, and what a verdict of it depends on."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from standards_texts import problems, read, with_check
from steelyard.checks import Policy, grader_for
from steelyard.checks.sandbox.protocol import Unusable
from steelyard.checks.sandbox.returned import score_of
from steelyard.errors import GraderError
from steelyard.model.checks import PythonCheck, PythonLimits
from steelyard.model.scripts import ScriptError, decode_script, parameters_of
from steelyard.model.standard import Fact
from steelyard.model.trace import EndState
from steelyard.model.verdict import Score, Undecided
from unit.checks.trials import INCOMPLETE, call, given, said, trace_of

PARIS = trace_of(call("look", {"city": "Paris"}, result={"found": True}), said("Paris"))


def grader(folder: Path, source: str | bytes, *, trust: bool = False, **keys: Any) -> tuple[Any, PythonCheck]:
    (folder / "c.py").write_bytes(source.encode() if isinstance(source, str) else source)
    spec = PythonCheck(file="c.py", **keys)
    return grader_for(spec, Policy(trust_graders=trust, folder=str(folder))), spec


def graded(folder: Path, source: str | bytes, trace: Any = PARIS, *, trust: bool = False, **more: Any) -> Any:
    found, spec = grader(folder, source, trust=trust)
    return found.grade(spec, given(trace, **more))


def fault(folder: Path, source: str | bytes, trace: Any = PARIS, **more: Any) -> GraderError:
    with pytest.raises(GraderError) as raised:
        graded(folder, source, trace, **more)
    return raised.value


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        (True, 1),
        (False, 0),
        (1, 1),
        (0, 0),
        (0.1, Fraction(1, 10)),
        (-0.0, 0),
        (Decimal("0.3"), Fraction(3, 10)),
        ([1, 3], Fraction(1, 3)),
        ((0, 5), 0),
        ("4/5", Fraction(4, 5)),
        ({"score": [2, 4]}, Fraction(1, 2)),
        ({"score": True, "reason": None, "evidence": None}, 1),
    ],
)
def test_what_is_a_score(returned: Any, value: Fraction) -> None:
    assert score_of(returned, "check").value == value


@pytest.mark.parametrize(
    "returned",
    [
        None, 2, -1, 1.0000001, math.nan, math.inf, Decimal("NaN"), "", "true", "1", "5/4", "1/0", "-1/2", "1/2\n",
        b"1", [], [1], [1, 2, 3], [True, True], [1, 0], [3, 2], [-1, 2], [0.5, 1], ["1", "2"], {}, {"reason": "x"},
        {"score": None}, {"score": 1, "passed": True}, {"score": {"score": 1}}, {"score": 1, "reason": 3},
        {"score": 1, "evidence": "s0001"}, {"score": 1, "evidence": [1]}, {"score": 1, "evidence": ["s"] * 101},
        Unusable(type="E"), object(), [Unusable(type="E"), 1], [10**5000], {"score": Unusable(type="E")},
    ],
)  # fmt: skip
def test_what_is_nonsense(returned: Any) -> None:
    with pytest.raises(GraderError) as raised:
        score_of(returned, "check")
    assert raised.value.code == "nonsense"
    assert len(str(raised.value)) < 500


@for_all(
    st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=6)
)
def test_a_value_is_a_score_in_0_to_1_or_an_error(returned: Any) -> None:
    try:
        assert 0 <= score_of(returned, "check").value <= 1
    except GraderError as error:
        assert error.code == "nonsense"


def test_the_function_gets_what_it_asks_for(tmp_path: Path) -> None:
    source = (
        "def check(answer, facts, trace, state, extracted):\n"
        "    calls = [step['call'] for step in trace['steps'] if step['call']]\n"
        "    return {\n"
        "        'score': [answer == 'Paris', facts['limit']['max'] == 0.5, facts['limit']['text'] == 'half',\n"
        "                  facts['plain'] == [1, 2], calls[0]['args'] == {'city': 'Paris'}, state['rows'] == [1],\n"
        "                  extracted['size'] == 3, trace['steps'][-1]['text'] == 'Paris',\n"
        "                  trace['fidelity']['complete']].count(True) / 9,\n"
        "        'reason': 'looked', 'evidence': ['s0001/args/city', 'fact:limit'], 'failure_tag': 'SEEN',\n"
        "    }\n"
    )
    facts = {"limit": Fact(text="half", data={"max": Decimal("0.5")}), "plain": Fact(data=(1, 2))}
    trial = trace_of(call("look", {"city": "Paris"}), said("Paris"), state_after=EndState(json={"rows": [1]}))
    expected = Score(
        value=Fraction(1), reason="looked", evidence=("s0001/args/city", "fact:limit"), failure_tag="SEEN"
    )
    for trust in (False, True):
        assert graded(tmp_path, source, trial, trust=trust, facts=facts, extracted={"size": 3}) == expected


def test_the_reply_is_the_evidence_where_none_is_named(tmp_path: Path) -> None:
    assert graded(tmp_path, "def check(answer):\n    return 0.5\n").evidence == ("s0003",)


def test_evidence_must_stand_in_the_trial(tmp_path: Path) -> None:
    error = fault(tmp_path, "def check(answer):\n    return {'score': 1, 'evidence': ['s0099']}\n")
    assert (error.code, "s0099" in str(error)) == ("bad_evidence", True)


def test_a_missing_reply_fails_and_is_unknown_where_the_record_is_cut(tmp_path: Path) -> None:
    source = "def check(answer):\n    return True\n"
    assert graded(tmp_path, source, trace_of(call("look"))).value == 0
    assert isinstance(graded(tmp_path, source, trace_of(call("look"), fidelity=INCOMPLETE)), Undecided)
    assert isinstance(graded(tmp_path, "def check(state):\n    return True\n"), Undecided)


@pytest.mark.parametrize("trust", [False, True])
def test_line_ends_marks_and_odd_text_make_no_difference(tmp_path: Path, trust: bool) -> None:
    source = "def check(answer):\n    text = '''a\nb'''\n    return text == 'a\\nb' and len(answer) > 3\n"
    for form in (source, source.replace("\n", "\r\n"), source.replace("\n", "\r"), "\ufeff" + source):
        assert graded(tmp_path, form, trace_of(said("x\ud800\x00y")), trust=trust).value == 1


def test_the_version_holds_the_source_and_the_sandbox(tmp_path: Path) -> None:
    source = "def check(answer):\n    return answer == 'Paris'\n"
    first = grader(tmp_path, source)[0].version
    assert grader(tmp_path, source)[0].version == first
    assert grader(tmp_path, source.replace("\n", "\r\n"))[0].version == first
    assert grader(tmp_path, source.replace("==", "!="))[0].version != first
    assert grader(tmp_path, source, trust=True)[0].version != first
    assert grader(tmp_path, source, sandbox="bubblewrap")[0].version != first


@pytest.mark.parametrize(
    ("parameters", "aspects"),
    [
        ("", set()),
        ("answer", {"answer"}),
        ("facts, state", {"facts", "state_after:json"}),
        ("trace, *, extracted=None", {"steps", "extracted"}),
    ],
)
def test_it_reads_what_its_parameters_name(tmp_path: Path, parameters: str, aspects: set[str]) -> None:
    found, spec = grader(tmp_path, f"def check({parameters}):\n    return True\n")
    assert found.reads(spec) == aspects


def test_a_script_that_says_nothing_reads_everything(tmp_path: Path) -> None:
    found, spec = grader(tmp_path, "check = 1\n")
    assert {"answer", "steps", "measurements", "state_before", "external"} <= found.reads(spec)


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "outside.py").write_text("def check():\n    return True\n")
    (tmp_path / "suite" / "link.py").symlink_to(tmp_path / "outside.py")
    for file in ("gone.py", "../outside.py", "link.py", ".", "\0"):
        spec = PythonCheck(file=file)
        found = grader_for(spec, Policy(folder=str(tmp_path / "suite")))
        with pytest.raises(GraderError) as raised:
            found.grade(spec, given(PARIS))
        assert raised.value.code == "missing_file"
        assert found.version.endswith("unreadable")


@pytest.mark.parametrize(
    ("source", "said_so"),
    [
        (b"\xff\xfe", "is not UTF-8"),
        (b"x = '\x00'", "NUL"),
        (b"#" * 1_000_001, "larger than 1 MB"),
        (b"def check(:\n", "is no Python: line 1"),
        (b"def other():\n    pass\n", "no function check at its top level; it defines other"),
        (b"class check:\n    pass\n", "no function check"),
        (b"async def check():\n    pass\n", "async"),
        (b"def check(output):\n    pass\n", "asks for 'output'"),
        (b"def check(*, trial):\n    pass\n", "asks for 'trial'"),
        (b"def check(**all):\n    pass\n", "any arguments"),
        (b"def check(answer, /):\n    pass\n", "before `/`"),
        (b"def check():\n    return " + b"(" * 5000, "is"),
    ],
)
def test_scripts_that_cannot_serve(source: bytes, said_so: str, tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"^\S") as raised:
        parameters_of(decode_script(source), "check")
    assert said_so in str(raised.value)
    assert fault(tmp_path, source).code == "bad_script"


def test_without_monty_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    error = fault(tmp_path, "def check():\n    return True\n")
    assert error.code == "missing_extra"
    assert "pip install 'steelyard[python]'" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        "import numpy",
        "import socket",
        "open('/etc/passwd').read()",
        "class B(dict):\n        pass",
        "yield 1",
    ],
)
def test_what_monty_lacks_is_said_with_the_ways_out(tmp_path: Path, body: str) -> None:
    error = fault(tmp_path, f"def check():\n    {body}\n    return True\n")
    assert error.code == "unsupported"
    assert "--trust-graders" in str(error)
    assert "bubblewrap" in str(error)


def test_monty_has_no_clock_and_no_chance_of_its_own(tmp_path: Path) -> None:
    assert fault(tmp_path, "import time\ndef check():\n    return time.time() > 0\n").code == "unsupported"
    source = "import random\ndef check():\n    return {'score': random.random()}\n"
    assert graded(tmp_path, source) == graded(tmp_path, source)


def test_without_bubblewrap_there_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.checks.sandbox import bubblewrap

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bubblewrap, "_fault", bubblewrap._fault.__wrapped__)
    found, spec = grader(tmp_path, "def check():\n    return True\n", sandbox="bubblewrap")
    with pytest.raises(GraderError, match="bubblewrap") as raised:
        found.grade(spec, given(PARIS))
    assert raised.value.code == "no_sandbox"


def test_trust_does_not_override_a_declared_sandbox(tmp_path: Path) -> None:
    found, spec = grader(
        tmp_path, "import socket\ndef check():\n    return True\n", trust=True, sandbox="monty"
    )
    with pytest.raises(GraderError) as raised:
        found.grade(spec, given(PARIS))
    assert raised.value.code == "unsupported"


def test_each_call_starts_afresh(tmp_path: Path) -> None:
    source = "seen = []\ndef check():\n    seen.append(1)\n    return len(seen) == 1\n"
    for trust in (False, False, True, True):
        assert graded(tmp_path, source, trust=trust).value == 1


@pytest.mark.parametrize(
    ("keys", "said_so"),
    [
        ("file: gone.py", "gone.py does not exist"),
        ("file: /c.py", "absolute path"),
        ("file: ../c.py", "leaves the suite's folder"),
        ("file: c.py, function: other", "no function other"),
        ("file: c.py, function: 'a b'", "no name of a function"),
        ("file: c.py, function: class", "no name of a function"),
        ("file: c.py, limits: {seconds: 0}", "above 0, at most 600"),
        ("file: c.py, limits: {memory_mb: 100000}", "at most 4096"),
        ("file: c.py, limits: {minutes: 1}", "unknown key"),
        ("file: c.py, sandbox: none", "monty"),
    ],
)
def test_a_suite_with_a_bad_script_is_no_standard(tmp_path: Path, keys: str, said_so: str) -> None:
    (tmp_path / "c.py").write_text("def check(answer):\n    return True\n")
    (found,) = problems(with_check(f"{{kind: python, {keys}}}"), folder=str(tmp_path))
    assert said_so in found


def test_a_suite_with_a_sound_script(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "c.py").write_bytes(b"def paris(answer):\r\n    return True\r\n")
    text = with_check("{kind: python, file: checks/c.py, function: paris, limits: {seconds: 0.5}}")
    check = read(text, folder=str(tmp_path)).tasks[0].criteria[0].check
    assert check == PythonCheck(
        file="checks/c.py", function="paris", limits=PythonLimits(seconds=Decimal("0.5"))
    )
