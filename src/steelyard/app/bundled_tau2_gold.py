"""What a tau2 task demands, read from its `evaluation_criteria`, and the criteria that follow from it.

tau2's reward is the product of the components named in `reward_basis`; a component whose gold list is empty
counts as met there. Here such a component is not assigned (there is nothing to check), and the suite says
so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from steelyard.model.checks import CallsCheck, Check, ContainsCheck, ExpectedCall, RecordedCheck
from steelyard.model.standard import OBLIGATION, Criterion, Dimension, Layer

COMPONENTS: tuple[str, ...] = ("DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION")
DEFAULT_BASIS: tuple[str, ...] = ("DB", "COMMUNICATE")
"""What tau2 takes where a task does not state its reward basis."""

REPORTED = Dimension(
    name="components",
    definition="Components that the source can compute but that its reward does not count.",
    scope="shown beside the reward; no part of completion",
)
OBLIGATIONS = Dimension(
    name=OBLIGATION,
    definition="The components that the source multiplies to its reward (reward_basis) are met.",
    scope="end state, expected calls and communicated information, as each task's reward basis names them",
)

_LAYERS: Mapping[str, Layer] = {"ACTION": "process"}
_TAGS: Mapping[str, str] = {
    "DB": "DATABASE_DIFFERS",
    "ENV_ASSERTION": "ENVIRONMENT_ASSERTION_FAILED",
    "ACTION": "EXPECTED_CALL_MISSING",
    "COMMUNICATE": "INFORMATION_NOT_COMMUNICATED",
    "NL_ASSERTION": "STATEMENT_NOT_MET",
}


class Gold(msgspec.Struct, frozen=True, kw_only=True):
    """One task's gold material; `basis` names the components that its reward counts."""

    basis: tuple[str, ...]
    basis_stated: bool = True
    actions: tuple[Mapping[str, Any], ...] = ()
    env_assertions: tuple[Mapping[str, Any], ...] = ()
    communicate_info: tuple[str, ...] = ()
    nl_assertions: tuple[str, ...] = ()

    def checks_something(self, component: str) -> bool:
        """Whether the component has anything to check. DB always has, when it counts: the end state is
        compared.
        """
        entries: Mapping[str, Sequence[Any]] = {
            "DB": self.basis if "DB" in self.basis else self.actions,
            "ENV_ASSERTION": self.env_assertions,
            "ACTION": self.actions,
            "COMMUNICATE": self.communicate_info,
            "NL_ASSERTION": self.nl_assertions,
        }
        return bool(entries.get(component, ("a component of another version",)))

    def nothing_to_check(self) -> tuple[str, ...]:
        """Members of the basis that the source counts as met because their gold list is empty."""
        return tuple(name for name in self.basis if not self.checks_something(name))


def read_gold(value: Any, where: str, problems: list[str]) -> Gold | None:
    """The gold material of one `evaluation_criteria` object; problems are appended, and the result is then
    null.
    """
    if not isinstance(value, Mapping):
        problems.append(f"{where}: evaluation_criteria must be an object or null.")
        return None
    found = len(problems)
    basis = _texts(value.get("reward_basis"), f"{where}/reward_basis", problems)
    gold = Gold(
        basis=tuple(dict.fromkeys(basis)) if value.get("reward_basis") is not None else DEFAULT_BASIS,
        basis_stated=value.get("reward_basis") is not None,
        actions=_objects(value.get("actions"), f"{where}/actions", "name", problems),
        env_assertions=_objects(
            value.get("env_assertions"), f"{where}/env_assertions", "func_name", problems
        ),
        communicate_info=_texts(value.get("communicate_info"), f"{where}/communicate_info", problems),
        nl_assertions=_texts(value.get("nl_assertions"), f"{where}/nl_assertions", problems),
    )
    for number, action in enumerate(gold.actions):
        _check_action(action, f"{where}/actions/{number}", problems)
    return None if len(problems) > found else gold


def _texts(value: Any, where: str, problems: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        problems.append(f"{where}: must be a list of texts, or null.")
        return ()
    return tuple(clean_text(entry) for entry in value)


def _objects(value: Any, where: str, name: str, problems: list[str]) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(
        isinstance(entry, Mapping) and isinstance(entry.get(name), str) for entry in value
    ):
        problems.append(f"{where}: must be a list of objects that have a text {name!r}, or null.")
        return ()
    return tuple(value)


def _check_action(action: Mapping[str, Any], where: str, problems: list[str]) -> None:
    if not isinstance(action.get("arguments", {}), Mapping):
        problems.append(f"{where}/arguments: must be an object.")
    _texts(action.get("compare_args"), f"{where}/compare_args", problems)


def clean_text(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be stored and hashed."""
    return text.encode("utf-8", "replace").decode("utf-8")


def component_criteria(gold: Gold, gates: Sequence[str]) -> tuple[Criterion, ...]:
    """One criterion for each component that has something to check: first those that count, then the
    reported.
    """
    counted = [name for name in gold.basis if gold.checks_something(name)]
    reported = [name for name in COMPONENTS if name not in gold.basis and gold.checks_something(name)]
    return tuple(
        Criterion(
            id=name,
            dimension=OBLIGATION if name in gold.basis else REPORTED.name,
            layer=_LAYERS.get(name, "outcome"),
            rule=_rule(name, gold),
            check=_check(name, gold),
            gate=name in gates,
            failure_tag=_TAGS.get(name),
        )
        for name in (*counted, *reported)
    )


def _check(component: str, gold: Gold) -> Check:
    if component == "ACTION":
        return CallsCheck(mode="each", by="any", expected=tuple(_expected(action) for action in gold.actions))
    if component == "COMMUNICATE":
        return ContainsCheck(of="said", all=gold.communicate_info, case=False, drop=",")
    return RecordedCheck(score=component)


def _expected(action: Mapping[str, Any]) -> ExpectedCall:
    """One gold action. tau2 lets a call of either side serve, whatever `requestor` says."""
    compared = action.get("compare_args")
    return ExpectedCall(
        name=clean_text(action["name"]),
        args=dict(action.get("arguments") or {}),
        only="present" if compared is None else tuple(clean_text(name) for name in compared),
        by="any",
    )


def _rule(component: str, gold: Gold) -> str:
    if component == "DB":
        return "The databases at the end MUST equal those that the expected calls lead to."
    if component == "ENV_ASSERTION":
        names = "; ".join(
            _called(entry.get("func_name"), entry.get("arguments")) for entry in gold.env_assertions
        )
        return f"Every assertion on the end state MUST hold: {names}."
    if component == "ACTION":
        names = "; ".join(_called(entry.get("name"), entry.get("arguments")) for entry in gold.actions)
        return f"For each expected call, agent or user MUST have made a matching one: {names}."
    if component == "COMMUNICATE":
        return f"The agent MUST have told the user: {'; '.join(gold.communicate_info)}."
    if component == "NL_ASSERTION":
        return f"Every statement about the conversation MUST hold: {' '.join(gold.nl_assertions)}"
    return f"The component {component} that the source recorded MUST be met."


def _called(name: Any, arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return clean_text(f"{name}()")
    return clean_text(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
