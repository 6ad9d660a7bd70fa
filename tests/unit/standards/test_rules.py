"""What must hold for criteria, tasks and the suite together; each broken rule is one sentence at its place."""

from __future__ import annotations

import ast
from decimal import Decimal

import pytest

from standards_texts import (
    CHECK,
    CRITERION,
    HEAD,
    TASK,
    problems,
    read,
    with_check,
    with_criteria,
    with_suite,
    with_task,
)
from steelyard.model.checks import LATER_KINDS
from steelyard.model.standard import Excluded
from steelyard.standards import expressions
from steelyard.standards.shapes import LATER_STRUCTS

SECOND = '{id: C2, dimension: correctness, rule: "It MUST hold.", check: {kind: equals, value: x}}'
RUBRIC = 'rubrics: {shared: {dimension: process, rule: "It MUST hold.", check: {kind: calls, expected: [{name: a}]}}}'


def only(text: str) -> str:
    (said,) = problems(text)
    return said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("primary: accuracy", "primary: 'accuracy' is no metric of the suite"),
        ("primary: dimension:corectness", "did you mean 'correctness'?"),
        ("primary: dimension:process", "no task has a criterion of 'process'"),
        ("at_least: 0", "a bar of 0 lets everything pass"),
        ("at_least: 3", "a bar of 3 is off the scale of 0..1"),
        ("at_least: -0.1", "off the scale"),
        ("weights: {by: kind, shares: {a: 1}}", "lacks the tag 'kind'"),
        ("clusters: customer", "lacks the tag 'customer'"),
        ("branches: [bold]", "the key 'branch' is missing"),
        ("composite: {weights: {correctness: 0}}", "are all 0"),
        ("composite: {weights: {corectness: 1}}", "did you mean 'correctness'?"),
        ("composite: {weights: {process: 1}}", "could never be shown"),
        ("judges: {default: {model: m}}", "the key 'kind' is missing"),
        ("judges: {default: {kind: opena}}", "did you mean 'openai'?"),
        ("judges: {default: {kind: openai, api_key: s}}", "holds no keys"),
        ("dimensions: {tone: {definition: ''}}", "is empty"),
        ("rubrics: {r: {dimension: process, rule: It MUST hold.}}", "neither a check nor a judge"),
        ("owner2: jo", "unknown key; did you mean 'owner'?"),
    ],
)
def test_suite_keys(keys: str, said: str) -> None:
    # `owner` is taken in the head, so its near miss has nothing to suggest.
    expected = "unknown key" if keys.startswith("owner2") else said
    assert expected in only(with_suite(keys))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("trials: 0", "trials: is 0; a task has at least 1 trial"),
        ("trials: 1.5", "must be a whole number"),
        ("trials: 1000000000", "at most"),
        ("weight: 0", "all task weights are 0"),
        ("branch: bold", "the suite declares none"),
        ("layers: {proces: none}", "did you mean 'process'?"),
        ("layers: {process: ''}", "say why"),
        ("complete_when: {criteria: [C2]}", "unknown criterion 'C2'"),
        ("complete_when: {dimensions: [corectness]}", "did you mean 'correctness'?"),
        ("complete_when: {ended_by: [agent_stopped]}", "did you mean 'agent_stop'?"),
        ("complete_when: {ended_by: []}", "no trial could be complete"),
        ("complete_when: {dimensions: []}", "nothing could fail"),
        ("complete_when: {dimension: [correctness]}", "did you mean 'dimensions'?"),
        ("when: state.x == 1", "initial states come with a later version"),
        ("when: trace.steps == 0", "what an agent did"),
        ("when: answer == 'x'", "what an agent did"),
        ("when: task.tags.kind == 'x'", "which task.tags lacks"),
        ("when: task.id", "not true or false"),
        ("when: __import__('os').system('true') == 0", "only compares values"),
        ("when: task.id.__class__ == 1", "no such part"),
        ("when: task.id ==", "is no expression"),
        ("when: '(((('", "is no expression"),
        ("when: task.id < 3", "not both numbers or both texts"),
        ("when: not task.id", "compare it with something"),
        ("when: task.id != 't1'", "every task is left out"),
        ("prompts: x", "did you mean"),
    ],
)
def test_task_keys(keys: str, said: str) -> None:
    expected = "unknown key" if keys == "prompts: x" else said
    assert any(expected in line for line in problems(with_task(keys)))


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        ("{id: C1, dimension: correctness, rule: It MUST hold.}", "neither a check nor a judge"),
        (f"{{id: C1, dimension: correctness, {CHECK}}}", "the key 'rule' is missing"),
        (f"{{dimension: correctness, rule: It MUST hold., {CHECK}}}", "the key 'id' is missing"),
        (
            f"{{id: C1, dimension: grounding, rule: It MUST hold., {CHECK}}}",
            "dimensions: {grounding: {definition: ...}}",
        ),
        (CRITERION.replace("id: C1", "id: ''"), "id: is empty"),
        (CRITERION.replace("id: C1", 'id: "a\\nb"'), "control character"),
        (CRITERION.replace("id: C1", "id: C1, weight: -1"), "a weight is 0 or more"),
        (CRITERION.replace("id: C1", "id: C1, weight: 0"), "all weights of 'correctness' are 0"),
        (CRITERION.replace("id: C1", "id: C1, pass_mark: 3"), "is a bar of 3 on a scale of 0..1"),
        (CRITERION.replace("id: C1", "id: C1, pass_mark: 0"), "nothing could fail"),
        (CRITERION.replace("id: C1", "id: C1, gate: true, pass_mark: 0"), "would let the worst score pass"),
        (CRITERION.replace("id: C1", "id: C1, layer: outcom"), "did you mean 'outcome'?"),
        (CRITERION.replace("id: C1", "id: C1, needs: [C1]"), "names the criterion itself"),
        (CRITERION.replace("id: C1", "id: C1, needs: [C2]"), "comes later"),
        (CRITERION.replace("id: C1", "id: C1, needs: [C0]"), "unknown criterion 'C0'"),
        (CRITERION.replace("id: C1", "id: C1, view: {last: 0}"), "at least 1"),
        (CRITERION.replace("id: C1", "id: C1, judge: {extract: {n: intger}}"), "did you mean 'integer'?"),
        (CRITERION.replace("id: C1", "id: C1, judge: {evidence: always}"), "must be optional or required"),
        (CRITERION.replace("dimension", "dim"), "unknown key; did you mean 'dimension'?"),
        ("{id: C1, use: sharde}", "did you mean 'shared'?"),
        ("{use: shared, rule: other}", "belongs to the rubric 'shared'"),
        ("{use: shared, check: {kind: equals, value: 1}}", "belongs to the rubric 'shared'"),
        ("{use: shared, dimension: process}", "belongs to the rubric 'shared'"),
    ],
)
def test_criteria(criterion: str, said: str) -> None:
    others = [SECOND] if "C2" in criterion else []
    assert any(said in line for line in problems(with_criteria(criterion, *others, head=RUBRIC)))


def test_other_dimensions_say_what_they_are() -> None:
    head = "dimensions: {tone: {definition: The reply is civil.}}"
    tone = "{id: T1, dimension: tone, rule: It MUST be civil., judge: {}}"
    assert "the key 'layer' is missing" in only(with_criteria(CRITERION, tone, head=head))
    suite = read(with_criteria(CRITERION, tone.replace("id: T1", "id: T1, layer: process"), head=head))
    assert list(suite.dimensions) == ["correctness", "tone"]


def test_rubrics_are_taken_over_and_named() -> None:
    own = "{id: R1, use: shared, weight: 2, gate: true, needs: [C1], pass_mark: 0.5, failure_tag: T, layer: risk}"
    suite = read(with_criteria(CRITERION, "{use: shared}", own, head=RUBRIC))
    _, plain, changed = suite.tasks[0].criteria
    assert (plain.id, plain.rubric, plain.layer, plain.weight) == ("shared", "shared", "process", Decimal(1))
    assert (changed.id, changed.rubric, changed.layer, changed.needs) == ("R1", "shared", "risk", ("C1",))
    assert (changed.weight, changed.pass_mark, changed.gate, changed.failure_tag) == (
        2,
        Decimal("0.5"),
        True,
        "T",
    )
    assert changed.rule == plain.rule
    assert "is already the id of criteria[1]" in only(
        with_criteria(CRITERION, "{use: shared}", "{use: shared}", head=RUBRIC)
    )


def test_ids_are_unique_and_may_be_anything_readable() -> None:
    assert "is already the id of criteria[0]" in only(with_criteria(CRITERION, CRITERION))
    assert "is already the id of task 0" in only(f"{HEAD}tasks:\n{TASK}{TASK}")
    for name in ("a/b", "..", "CON", "x" * 300, "\N{GRINNING FACE}", "a b", "1"):
        assert read(f"{HEAD}tasks:\n{TASK}".replace("id: t1", f'id: "{name}"')).tasks[0].id == name


def test_q18_nothing_to_evaluate_is_an_error() -> None:
    assert "tasks: is empty" in only(f"{HEAD}tasks: []\n")
    assert "the key 'tasks' is missing" in only(HEAD)
    assert "criteria: is empty" in only(f"{HEAD}tasks: [{{id: a, prompt: p, criteria: []}}]\n")
    assert "'criteria' is missing" in only(f"{HEAD}tasks: [{{id: a, prompt: p}}]\n")


@pytest.mark.parametrize("kind", ["outcome", "process"])
def test_q20_an_explicit_zero_is_kept_as_report_only(kind: str) -> None:
    shown = f"{{id: R1, dimension: process, layer: {kind}, rule: It MUST hold., pass_mark: 0, {CHECK}}}"
    suite = read(with_criteria(CRITERION, shown))
    assert suite.tasks[0].criteria[1].pass_mark == 0
    assert suite.tasks[0].criteria[0].pass_mark == 1


def test_q22_weights() -> None:
    weighted = [
        CRITERION.replace("id: C1", f"id: C{i}, weight: {weight}") for i, weight in enumerate((3, 1, 0))
    ]
    suite = read(with_criteria(*weighted))
    assert [c.weight for c in suite.tasks[0].criteria] == [3, 1, 0]
    zero = [CRITERION.replace("id: C1", f"id: C{i}, weight: 0") for i in range(2)]
    assert "all weights of 'correctness' are 0" in only(with_criteria(*zero))


def test_shares_of_a_tag() -> None:
    tagged = with_task("tags: {kind: a}")
    shares = "weights: {{by: kind, shares: {}}}"

    def suite(value: str, text: str = tagged) -> str:
        return text.replace("tasks:\n", shares.format(value) + "\ntasks:\n", 1)

    assert read(suite("{a: 0.7, b: 0.3}")).weights is not None
    assert "'a' has no share in `weights`; did you mean" not in only(suite("{b: 1}"))
    assert "'a' has no share" in only(suite("{b: 1}"))
    assert "all 0" in only(suite("{a: 0}"))
    assert "a share is 0 or more" in problems(suite("{a: -1}"))[0]
    assert "finite" in only(suite("{a: NaN}"))
    assert "keep one of the two" in only(suite("{a: 1}", tagged + "    weight: 2\n"))


def test_branches() -> None:
    text = with_task("branch: shared").replace("tasks:\n", "branches: [bold, calm]\ntasks:\n", 1)
    assert read(text).tasks[0].branch == "shared"
    assert "did you mean 'bold'?" in only(text.replace("branch: shared", "branch: bald"))
    assert "stands twice" in only(text.replace("[bold, calm]", "[bold, bold]"))


def test_a_gate_alone_is_an_acceptance_rule() -> None:
    gate = CRITERION.replace("dimension: correctness", "dimension: authority, gate: true")
    assert read(with_criteria(gate)).tasks[0].criteria[0].gate
    assert "nothing could fail" in only(with_criteria(gate.replace(", gate: true", "")))
    assert "nothing could fail" in only(with_criteria(gate, task="complete_when: {gates: false}"))


def test_when_leaves_out_and_records() -> None:
    task = "tags: {kind: a}\n    facts: {plan: {text: gold, data: {level: 3}}}"
    when = "task.tags.kind in ['b', 'c'] or (task.facts.plan.level >= 4 and not task.facts.plan.text == 'x')"
    left = SECOND.replace("id: C2", f'id: C2, when: "{when}"')
    suite = read(with_criteria(CRITERION, left, task=task))
    assert [c.id for c in suite.tasks[0].criteria] == ["C1"]
    assert suite.excluded == (Excluded(task="t1", criterion="C2", when=when),)
    needing = SECOND.replace("id: C2", "id: C3, needs: [C2]")
    assert "left out of this task by its `when`" in only(with_criteria(CRITERION, left, needing, task=task))
    named = task + "\n    complete_when: {criteria: [C2]}"
    assert "left out of this task" in only(with_criteria(CRITERION, left, task=named))
    assert "every criterion is left out" in only(with_criteria(left, task=task))
    kept = read(with_criteria(CRITERION, left.replace(">= 4", ">= 3"), task=task))
    assert len(kept.tasks[0].criteria) == 2
    assert kept.excluded == ()


def test_when_of_a_task() -> None:
    other = TASK.replace("t1", "t2")
    suite = read(f"{HEAD}tasks:\n{TASK}{other}    when: task.id == 't1'\n")
    assert [task.id for task in suite.tasks] == ["t1"]
    assert suite.excluded == (Excluded(task="t2", criterion=None, when="task.id == 't1'"),)


def test_true_is_not_one_in_a_condition() -> None:
    with_fact = "facts: {f: {data: {flag: true}}}\n    when: task.facts.f.flag == "
    assert read(with_task(with_fact + "true")).tasks
    assert "every task is left out" in only(with_task(with_fact + "1"))


CHECKS = [
    ("{kind: equals}", "'value' is missing"),
    ("{kind: equals, value: 1, off: answer}", "did you mean 'of'?"),
    ("{kind: equals, value: 1, of: anser}", "did you mean 'answer'?"),
    ("{kind: equals, value: 1, of: 'answer#a'}", "starts with `/`"),
    ("{kind: equals, value: 1, of: 'call:f/x'}", "write call:f/args/x"),
    ("{kind: equals, value: 1, of: 'call:'}", "names nothing"),
    ("{kind: equals, value: 1, of: 'extracted.'}", "names nothing"),
    ("{kind: contains}", "needs texts"),
    ("{kind: excludes, any: []}", "needs texts"),
    ("{kind: contains, all: ['']}", "stands everywhere"),
    ("{kind: contains, any: x}", "write [x]"),
    ("{kind: regex, pattern: '(?=x)'}", "is no RE2 pattern"),
    ("{kind: regex}", "'pattern' is missing"),
    ("{kind: number}", "needs `value`, or `min` or `max`"),
    ("{kind: number, min: 2, max: 1}", "no number could pass"),
    ("{kind: number, value: 2, abs_tol: -1}", "0 or more"),
    ("{kind: number, value: .nan}", "finite"),
    ("{kind: number, value: '2'}", "without quotes"),
    ("{kind: json}", "needs `schema`, or `value`"),
    ("{kind: json, schema: {type: strin}}", "is no JSON Schema"),
    ("{kind: json, schema: {$ref: 'http://127.0.0.1:1/x'}}", "is no JSON Schema"),
    ("{kind: json, schema: 3}", "is no JSON Schema|must be a JSON Schema"),
    ("{kind: json, pointer: /a}", "needs `schema`"),
    ("{kind: json, pointer: a, value: 1}", "starts with `/`"),
    ("{kind: records, expected: []}", "nothing would be looked for"),
    ("{kind: records, expected: [{a: 1}], key: [b]}", "lacks the key field 'b'"),
    ("{kind: calls, expected: []}", "always meets"),
    ("{kind: calls, expected: [], mode: at_least}", "always meets"),
    ("{kind: calls, expected: [{name: a, args: 3}]}", "mapping of arguments"),
    ("{kind: calls, expected: [{name: a}], mode: inorder}", "did you mean 'in_order'?"),
    ("{kind: calls, expected: [{name: a, compare: {x: datetim}}]}", "did you mean 'datetime'?"),
    ("{kind: calls, expected: [{name: a, compare: {x: {abs_tol: -1}}}]}", "a number from 0"),
    ("{kind: budget}", "needs a bound"),
    ("{kind: budget, seconds: -1}", "0 or more"),
    ("{kind: budget, seconds: .inf}", "finite"),
    ("{kind: expr, expr: 'answr == 1'}", "did you mean 'answer'?"),
    ("{kind: expr, expr: 'answer =='}", "is no expression"),
    ("{kind: expr, expr: 'lenn(answer) > 1'}", "did you mean 'len'?"),
    ("{kind: expr, expr: 'answer.__class__()'}", "unknown method"),
    ("{kind: expr, expr: '[x for x in calls]'}", "uses ListComp"),
    ("{kind: expr, expr: 'lambda: 1'}", "uses Lambda"),
    ("{kind: expr, expr: 'facts.capacty.max > 1'}", "did you mean 'capacity'?"),
    ("{kind: expr, expr: \"facts['capacity'].mx > 1\"}", "did you mean 'max'?"),
    ("{kind: expr, expr: 'p > 1', let: {p: 'cal:x'}}", "did you mean 'call'?"),
    ("{kind: expr, expr: 'p > 1', let: {facts: answer, p: answer}}", "cannot be used as a name"),
    ("{kind: expr, expr: 'true', cite: [x]}", "names nothing"),
    ("{kind: recorded, file: ../rows.jsonl}", "leaves the suite's folder"),
    ("{kind: recorded, file: /etc/passwd}", "absolute path"),
    ("{kind: recorded, file: 'C:\\x'}", "absolute path"),
    ("{kind: rule, rule: {id: r, tool: ['update_*']}}", "write `glob: true`"),
    ("{kind: rule, rule: {id: r, tool: []}}", "names no tool"),
    ("{kind: rule, rule: {id: r, tool: [a], limit: {scope: turn, max: -1}}}", "0 or more"),
    ("{kind: rule, rule: {id: r, tool: [a], when: [{arg: x, op: in, value: 3}]}}", "needs a list"),
    ("{kind: rule, rule: {id: r, tool: [a], when: [{arg: x, op: equals}]}}", "op: must be"),
    ("{kind: rule, rule: {tool: [a]}}", "'id' is missing"),
    ("{kind: python, file: /x.py}", "absolute path"),
    ("{kind: csv}", "needs something"),
    ("{kind: sql, query: '', rows: []}", "is empty"),
    ("{kind: state, pointer: /a}", "needs `value` or `schema`"),
    ("{kind: contians, any: [x]}", "did you mean 'contains'?"),
    ("{any: [x]}", "'kind' is missing"),
    ("equals", "must be a mapping"),
]


@pytest.mark.parametrize(("check", "said"), CHECKS)
def test_checks(check: str, said: str) -> None:
    facts = "facts: {capacity: {text: t, data: {max: 100}}}"
    lines = problems(with_check(check, task=facts))
    assert any(part in line for line in lines for part in said.split("|"))


@pytest.mark.parametrize(
    "check",
    [
        "{kind: contains, any: [x]}", "{kind: excludes, all: [x]}", "{kind: number, min: 0}",
        "{kind: json, value: null}",
        "{kind: json, schema: {type: object}}", "{kind: calls, expected: [], mode: exact}",
        "{kind: calls, expected: [], mode: only_from}", "{kind: calls, expected: [{name: a, args: {}, only: present}]}",
        "{kind: calls, expected: [{name: a, only: [x], compare: {x: {abs_tol: 0.01}, y: any}}]}",
        "{kind: budget, turns: 0}", "{kind: recorded}", "{kind: recorded, score: reward}",
        "{kind: expr, expr: 'len(answer.strip()) > 1 and p[0] in (1, 2.5)', let: {p: 'call:f[0]/args/x'}}",
        "{kind: expr, expr: 'facts.capacity.max > 1 and facts.capacity.text == answer'}",
        "{kind: rule, rule: {id: r, tool: ['*'], glob: true}}", "{kind: equals, value: 1, of: 'result:f[-1]/a~1b'}",
        "{kind: equals, value: 1, of: 'state#/a'}", "{kind: files, exists: [a]}", "{kind: provenance}",
        "{kind: equals, value: 1, of: 'state_before#/a'}", "{kind: equals, value: 1, of: 'file_before:a/b c.txt'}",
    ],
)  # fmt: skip
def test_sound_checks(check: str) -> None:
    suite = read(with_check(check, task="facts: {capacity: {text: t, data: {max: 100}}}"))
    assert suite.tasks[0].criteria[0].check is not None


def test_extracted_values_must_be_extracted() -> None:
    check = "{kind: expr, expr: extracted.pool_size > 1}"
    assert "did you mean" not in str(read(with_check(check, judge="{extract: {pool_size: integer}}")).notices)
    assert "the judge does not extract" in only(with_check(check, judge="{extract: {size: integer}}"))
    assert any("no judge extracts one" in notice for notice in read(with_check(check)).notices)


def test_the_language_of_expressions_is_the_evaluators() -> None:
    arithmetic = pytest.importorskip("steelyard.checks.arithmetic")
    assert set(expressions.FUNCTIONS) == set(arithmetic.FUNCTIONS)
    assert set(expressions.METHODS) == set(arithmetic.METHODS)
    operators = (ast.operator, ast.unaryop, ast.cmpop)
    mine = {kind for kind in expressions._ALLOWED if issubclass(kind, operators)}
    assert mine == set(arithmetic.OPERATORS)


def test_every_later_kind_has_its_parameters() -> None:
    assert {struct.__struct_config__.tag for struct in LATER_STRUCTS} == set(LATER_KINDS)


def test_lint_speaks_once_for_many() -> None:
    rules = ["The answer is Paris.", "It MUST be good.", "It MUST be short and MUST be true.", "It is Paris."]
    criteria = [
        CRITERION.replace("The answer MUST be Paris.", r).replace("C1", f"C{i}") for i, r in enumerate(rules)
    ]
    gate = CRITERION.replace("id: C1", "id: A1, gate: true")
    notices = read(with_criteria(*criteria, gate, head=RUBRIC)).notices
    assert sum("no word that binds" in notice for notice in notices) == 1
    assert any("t1/C0: " in n and "also t1/C3" in n for n in notices if "binds" in n)
    assert any("'good'" in n and n.startswith("suite.yaml:10: tasks[0].criteria[1]") for n in notices)
    assert any("t1/C2: the rule demands two things" in n for n in notices)
    assert any("t1/A1: a gate without a failure tag" in n for n in notices)
    assert any("rubrics.shared: shared: no task uses this rubric" in n for n in notices)
    assert any("for process, efficiency, risk" in n for n in notices)


def test_parts_for_later_are_checked_and_said() -> None:
    keys = "branches: [a]\ncomposite: {weights: {correctness: 1}}\njudges: {default: {kind: openai, base_url: null}}"
    suite = read(f"{HEAD}{keys}\ntasks:\n{TASK}    branch: a\n")
    for key in ("branches", "composite", "judges"):
        assert any(f"{key}: `{key}` is read and checked, but" in notice for notice in suite.notices)
    assert suite.composite == {"name": "composite", "weights": {"correctness": Decimal(1)}}
    assert suite.judges == {"default": {"kind": "openai", "base_url": None}}
