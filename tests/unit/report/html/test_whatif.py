"""The page's what-if against `Run.what_if`: the same headlines, decisions and refusals on random suites."""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.reference.generate import random_case, row_line

from scored import criterion, graded, read, suite, task, ungraded
from steelyard.app.run import Run
from steelyard.errors import UsageError
from steelyard.grading.rows import read_row
from steelyard.model.standard import Suite
from steelyard.model.table import TrialScore
from steelyard.model.trace import Quarantined
from steelyard.report.html import whatif as whatif_module
from steelyard.report.html.whatif import whatif_model
from steelyard.report.numbers import points, span
from steelyard.scoring import Change, parse_change
from steelyard.standards import parse_suite

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SUITES = 180
VALUES = ("0", "1", "1", "unknown", "error", "0.5", "0.7", "0.3333333333333333", "1e-3")
WEIGHTS = ("0", "1", "2", "0.1", "2.5", "1e2")
KINDS = {"--set": "set", "--weight": "weight", "--gate": "gate"}
Changes = dict[str, list[dict[str, Any]]]

COMPUTE = """cases => cases.map(([model, changes]) => {
  try {
    const { compute, command } = window.steelyard.whatif;
    return { ...compute(model, changes), command: command(model, changes) };
  } catch (error) { return { refused: String(error.message) }; }
})"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """A blank page with the script and nothing else."""
    opened = browser.new_page()
    opened.add_script_tag(content=(files("steelyard.report.html") / "assets/whatif.js").read_text("utf-8"))
    yield opened
    opened.close()


def computed(page: Page, cases: Sequence[tuple[Any, Changes]]) -> list[dict[str, Any]]:
    through_json = json.loads(json.dumps(cases, allow_nan=False))
    found: list[dict[str, Any]] = page.evaluate(COMPUTE, through_json)
    return found


def random_run(seed: int) -> Run:
    plain, rows = random_case(random.Random(seed))
    standard = parse_suite(
        json.dumps(plain, default=float).encode(), name="r.json", format="json", folder="."
    )
    found = [read_row(f"rows:{line}", row_line(row).encode()) for line, row in enumerate(rows)]
    lost = [row for row in found if isinstance(row, Quarantined)]
    kept = [row for row in found if not isinstance(row, Quarantined)]
    return Run(suite=standard, rows=kept, lost=lost, full=True, name=f"run-{seed}", unfinished=seed % 11 == 0)


def model_of(run: Run) -> dict[str, Any]:
    model = whatif_model(run.suite, run.rows, run=run.name, capped=bool(run.lost) or run.unfinished)
    assert model is not None
    return model


def random_changes(rng: random.Random, run: Run) -> Changes:
    changes: Changes = {"sets": [], "weights": [], "gates": []}
    for _ in range(rng.randint(0, 4)):
        picked = rng.choice(run.suite.tasks)
        trials = next(each.trials for each in run.scores.tasks if each.id == picked.id)
        numbers = [trial.trial for trial in trials if not is_stand_in(trial, trials)]
        trial = rng.choice([None, *numbers]) if numbers else None
        name = rng.choice(picked.criteria).id
        kind = rng.choice(("sets", "sets", "weights", "gates"))
        if kind == "sets":
            value = rng.choice(VALUES)
            changes["sets"].append({"task": picked.id, "trial": trial, "criterion": name, "value": value})
        elif kind == "weights":
            part = rng.choice((None, name))
            changes["weights"].append({"task": picked.id, "criterion": part, "value": rng.choice(WEIGHTS)})
        else:
            changes["gates"].append({"task": picked.id, "criterion": name})
    return changes


def is_stand_in(trial: TrialScore, trials: Sequence[TrialScore]) -> bool:
    """The empty trial beside nothing but faults holds votes and was never planned: no change may name it."""
    others = [each for each in trials if each is not trial]
    return trial.placeholder and bool(others) and not any(each.counted for each in others)


def as_changes(changes: Changes) -> list[Change]:
    """In the order of the command line: verdicts, weights, gates."""
    return [
        *(Change(kind="set", text="--set", **each) for each in changes["sets"]),
        *(Change(kind="weight", text="--weight", **each) for each in changes["weights"]),
        *(Change(kind="gate", text="--gate", **each) for each in changes["gates"]),
    ]


def expected(run: Run, changes: Changes) -> Mapping[str, Any]:
    try:
        table = run.what_if(as_changes(changes)).scores
    except UsageError as error:
        return {"refused": error}
    done, rate = table.completion, table.pass_rate
    return {
        "completion": {
            "value": done.value, "low": done.low, "high": done.high,
            "trials": {"complete": done.trials.complete, "of": done.trials.of},
            "tasks": {"always_complete": done.tasks.always_complete, "of": done.tasks.of},
        },
        "pass_rate": {
            "value": rate.value, "low": rate.low, "high": rate.high, "complete": rate.complete, "of": rate.of,
            "strict": rate.strict,
        },
        "dimensions": {
            name: {
                kind: {"value": average.value, "low": average.low, "high": average.high}
                for kind, average in (("task_average", each.task_average), ("pooled", each.pooled))
            }
            for name, each in table.dimensions.items()
        },
        "decision": table.decision,
        "exit_code": table.exit_code,
    }  # fmt: skip


def unequal(left: Any, right: Any, where: str = "") -> Iterator[str]:
    """Where two decoded values differ by more than 1e-9, or at all when they are no numbers."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right} - {"gates", "command"}):
            yield from unequal(left.get(key, "absent"), right.get(key, "absent"), f"{where}.{key}")
    elif isinstance(left, int | float) and isinstance(right, int | float):
        if not math.isclose(left, right, rel_tol=0, abs_tol=1e-9):
            yield f"{where}: {left} {right}"
    elif left != right:
        yield f"{where}: {left} {right}"


def test_random_suites_and_changes_score_as_in_python(page: Page) -> None:
    runs = [random_run(seed) for seed in range(SUITES)]
    drawn = [random_changes(random.Random(seed), run) for seed, run in enumerate(runs)]
    found = computed(page, [(model_of(run), changes) for run, changes in zip(runs, drawn, strict=True)])
    wrong = {}
    decisions, refused = set(), 0
    for seed, (run, changes, mine) in enumerate(zip(runs, drawn, found, strict=True)):
        right = expected(run, changes)
        if "refused" in right:
            refused += 1
            if "refused" not in mine:
                wrong[seed] = [f"python refuses: {right['refused']}"]
            continue
        decisions.add(right["decision"])
        differences = list(unequal(right, mine))
        if differences:
            wrong[seed] = differences[:3]
    assert not wrong
    assert decisions == {"PASS", "FAIL", "INCOMPLETE"}
    assert 0 < refused < SUITES / 4


def by_people(name: str) -> dict[str, Any]:
    """A criterion without a check: yes or no, never a fraction."""
    return {key: value for key, value in criterion(name).items() if key != "check"} | {"judge": {}}


C1 = {"task": "t", "trial": 1, "criterion": "C1"}


@pytest.mark.parametrize(
    ("criteria", "rows", "changes"),
    [
        ([criterion("C1")], [], {}),
        ([criterion("C1")], [], {"sets": [C1 | {"value": "1"}]}),
        ([criterion("C1")], [], {"sets": [C1 | {"value": "error"}]}),
        ([by_people("C1"), criterion("C2")], [graded("t", "C2", 1)], {"sets": [C1 | {"value": "0.5"}]}),
        ([by_people("C1"), criterion("C2")], [graded("t", "C2", 1)], {"sets": [C1 | {"value": "1"}]}),
        (
            [criterion("C1")],
            [{"task": "t", "ended_by": "agent_stop"}, {"task": "t", "ended_by": "max_turns"}],
            {"sets": [C1 | {"value": "1"}]},
        ),
        (
            [criterion("C1")],
            [{"task": "t", "trial": 1, "ended_by": "simulator_fault"}],
            {"sets": [C1 | {"value": "1"}]},
        ),
    ],
)
def test_what_chance_seldom_draws(page: Page, criteria: Any, rows: Any, changes: Any) -> None:
    run = Run(suite=suite(task("t", *criteria)), rows=read(rows))
    asked: Changes = {"sets": [], "weights": [], "gates": [], **changes}
    (mine,) = computed(page, [(model_of(run), asked)])
    assert list(unequal(expected(run, asked), mine)) == []


def test_the_command_line_says_the_same(page: Page) -> None:
    runs = [random_run(seed) for seed in range(60)]
    drawn = [random_changes(random.Random(seed + 1000), run) for seed, run in enumerate(runs)]
    found = computed(page, [(model_of(run), changes) for run, changes in zip(runs, drawn, strict=True)])
    checked = 0
    for run, changes, mine in zip(runs, drawn, found, strict=True):
        if "refused" in mine:
            continue
        assert shlex.split(mine["command"])[:3] == ["steelyard", "whatif", run.name]
        typed = run.what_if(typed_changes(mine["command"], run.suite)).scores
        assert typed.decision == mine["decision"]
        assert typed.completion.low == pytest.approx(mine["completion"]["low"], abs=1e-9)
        checked += sum(map(len, changes.values()))
    assert checked > 60


def typed_changes(command: str, standard: Suite) -> list[Change]:
    """The changes of a command, through the reader of the command line."""
    words = shlex.split(command)[3:]
    return [parse_change(KINDS[o], text, standard) for o, text in zip(words[::2], words[1::2], strict=True)]  # type: ignore[arg-type]


def test_ids_are_escaped_for_the_shell_and_for_the_reader(page: Page) -> None:
    name = "a/b~1 c's#2"
    standard = suite(task(name, criterion("C/1"), criterion("it's"), trials=2))
    rows = read([graded(name, each, 1, trial) for each in ("C/1", "it's") for trial in (1, 2)])
    changes: Changes = {
        "sets": [{"task": name, "trial": 2, "criterion": "C/1", "value": "0"}],
        "weights": [{"task": name, "criterion": "it's", "value": "2"}],
        "gates": [{"task": name, "criterion": "C/1"}],
    }
    (mine,) = computed(page, [(whatif_model(standard, rows, run="it's mine"), changes)])
    assert shlex.split(mine["command"])[2] == "it's mine"
    parsed = typed_changes(mine["command"], standard)
    assert [(c.kind, c.task, c.criterion, c.trial, c.value) for c in parsed] == [
        ("set", name, "C/1", 2, "0"),
        ("weight", name, "it's", None, "2"),
        ("gate", name, "C/1", None, ""),
    ]


@pytest.mark.parametrize(
    "name", ["a\u202eb", "it's\x1b[1m", "\\\u2066n", "\U000e0041 x", "tab\tnewline\n3", "\x85f", "a\u00a0b"]
)
def test_what_cannot_be_seen_is_spelled_for_bash(page: Page, name: str) -> None:
    model = whatif_model(suite(task("a", criterion("C1"))), read([graded("a", "C1", 1)]), run=name)
    (mine,) = computed(page, [(model, {"gates": [{"task": "a", "criterion": "C1"}]})])
    typed = mine["command"]
    assert typed.startswith("steelyard whatif $'")
    assert typed.isascii() and typed.isprintable()
    shown = subprocess.run(
        ["bash", "-c", f'steelyard() {{ printf %s "$2"; }}; {typed}'],
        capture_output=True, env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}, check=True, timeout=30,
    )  # fmt: skip
    assert shown.stdout.decode() == name


def test_changes_that_led_to_the_run_come_first(page: Page) -> None:
    standard = suite(task("a b", criterion("C1")))
    before = ("--set a b/C1=1",)
    model = whatif_model(standard, read([graded("a b", "C1", 1)]), run="r", before=before)
    (mine,) = computed(page, [(model, {"gates": [{"task": "a b", "criterion": "C1"}]})])
    assert shlex.split(mine["command"]) == [
        "steelyard",
        "whatif",
        "r",
        "--set",
        "a b/C1=1",
        "--gate",
        "a b/C1",
    ]


def test_one_trial_needs_no_number_and_an_unkept_run_no_name(page: Page) -> None:
    standard = suite(task("checkout", criterion("C3")))
    changes: Changes = {"sets": [{"task": "checkout", "trial": 1, "criterion": "C3", "value": "1"}]}
    (mine,) = computed(page, [(whatif_model(standard, read([graded("checkout", "C3", 0)])), changes)])
    assert mine["command"] == "steelyard whatif SUITE ROWS --set checkout/C3=1"


@pytest.mark.parametrize(
    ("weights", "scores", "bar", "decision"),
    [
        (
            ("0.1", "0.2", "0.7"),
            (1, 1, 0),
            "0.3",
            "PASS",
        ),  # 0.1 + 0.2 is above 0.3 in floats, equal as written
        (("0.1", "0.2", "0.7"), (1, 1, 0), "0.3000000000001", "FAIL"),
        (("0.1", "0.7", "0.2"), (1, 1, 0), "0.8", "PASS"),  # and 0.1 + 0.7 below 0.8
        (("1", "1", "1"), (0.3333333333333333, 0.6666666666666666, 1), "0.6666666666666666", "PASS"),
        (("1", "1", "1"), (0.1, 0.2, 0.3), "0.2", "PASS"),
        (("1", "1", "1"), (0.1, 0.2, 0.3), "0.20000000000000001", "FAIL"),
    ],
)
def test_on_the_bar_exact_fractions_decide(
    page: Page, weights: Sequence[str], scores: Sequence[float], bar: str, decision: str
) -> None:
    plain = suite(
        *(task(name, criterion("C1", pass_mark=0.05)) for name in "abc"), primary="dimension:correctness"
    )
    tasks = tuple(
        msgspec.structs.replace(t, weight=Decimal(w)) for t, w in zip(plain.tasks, weights, strict=True)
    )
    standard = msgspec.structs.replace(plain, tasks=tasks, at_least=Decimal(bar))
    rows = read([graded(name, "C1", value) for name, value in zip("abc", scores, strict=True)])
    run = Run(suite=standard, rows=rows)
    (mine,) = computed(page, [(model_of(run), {"sets": []})])
    assert (mine["decision"], run.scores.decision) == (decision, decision)


def test_votes_are_those_of_the_table(page: Page) -> None:
    runs = [random_run(seed) for seed in range(40)]
    asked = [
        [
            model_of(run),
            [[t.id, n.trial, c.id] for t in run.scores.tasks for n in t.trials for c in n.criteria],
        ]
        for run in runs
    ]
    script = """cases => cases.map(([model, cells]) => cells.map(([task, trial, criterion]) =>
        window.steelyard.whatif.votes(model, {}, task, trial, criterion)))"""
    found = page.evaluate(script, json.loads(json.dumps(asked)))
    checked = 0
    for run, mine in zip(runs, found, strict=True):
        cells = [c for t in run.scores.tasks for n in t.trials for c in n.criteria]
        for cell, got in zip(cells, mine, strict=True):
            assert (got["outcome"], got["score"], got["in_rule"]) == (
                cell.outcome, cell.score, cell.in_acceptance,
            )  # fmt: skip
            for kind in ("task_average", "pooled"):
                assert got[kind] == pytest.approx(cell.votes[f"{cell.dimension}.{kind}"], abs=1e-12)
            checked += 1
    assert checked > 300


def test_what_follows_from_a_change_is_named(page: Page) -> None:
    standard = suite(task("t", criterion("C1"), criterion("C2", needs=["C1"]), criterion("C3")))
    rows = read([graded("t", "C1", 1), graded("t", "C2", 1), ungraded("t", "C3", "unknown")])
    script = "([model, changes]) => window.steelyard.whatif.answer(model, changes).cells"
    changes = {"sets": [{"task": "t", "trial": 1, "criterion": "C1", "value": "0"}]}
    found = page.evaluate(script, [whatif_model(standard, rows), changes])
    assert [(each["criterion"], each["outcome"]) for each in found] == [("C1", "fail"), ("C2", "skipped")]
    assert page.evaluate(script, [whatif_model(standard, rows), {}]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"sets": [{"task": "t", "trial": 9, "criterion": "C1", "value": "1"}]},
        {"sets": [{"task": "t", "trial": 1, "criterion": "C1", "value": "2"}]},
        {"sets": [{"task": "t", "trial": 1, "criterion": "nope", "value": "1"}]},
        {"weights": [{"task": "nope", "criterion": None, "value": "1"}]},
        {"weights": [{"task": "t", "criterion": None, "value": ""}]},
        {"weights": [{"task": "t", "criterion": None, "value": "-1"}]},
        {"weights": [{"task": "t", "criterion": None, "value": "0"}]},
        {"weights": [{"task": "t", "criterion": "C1", "value": "0"}]},
        {"gates": [{"task": "t", "criterion": "R1"}]},
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_reason(page: Page, changes: Changes) -> None:
    standard = suite(task("t", criterion("C1"), criterion("R1", "process", pass_mark=0)))
    model = whatif_model(standard, read([graded("t", "C1", 1), graded("t", "R1", 1)]))
    (mine,) = computed(page, [(model, changes)])
    assert len(mine["refused"]) > 8


SHARES = (0.0, 1e-7, 0.0004, 0.3335, 1 / 3, 0.5, 2 / 3, 0.7, 0.89996, 0.9, 0.95, 0.99999, 1 - 1e-12, 1.0)


def test_numbers_are_written_as_in_the_terminal(page: Page) -> None:
    cases = [[low, high, bar] for low in SHARES for high in SHARES if high >= low for bar in (None, "0.9")]
    script = """cases => cases.map(([low, high, bar]) => {
        const { span, points } = window.steelyard.whatif;
        return [span(low, high, bar), points(low, high), points(high, low)];
    })"""
    right = [
        [span(low, high, None if bar is None else float(bar)), points(low, high), points(high, low)]
        for low, high, bar in cases
    ]
    assert page.evaluate(script, cases) == right
    assert page.evaluate("() => window.steelyard.whatif.span(null, null)") == span(None, None)


def test_a_run_too_large_for_the_page_has_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    standard = suite(task("t", criterion("C1"), criterion("C2")))
    assert whatif_model(standard, []) is not None
    monkeypatch.setattr(whatif_module, "MOST_CELLS", 1)
    assert whatif_model(standard, []) is None
