"""`python`: a function of the suite's own file decides, in a sandbox."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from steelyard.checks.facts import fact_value
from steelyard.checks.findings import missing
from steelyard.checks.policy import Policy
from steelyard.checks.sandbox.protocol import Job, Limits, Sandbox
from steelyard.checks.sandbox.returned import score_of
from steelyard.checks.selectors import Absent, select
from steelyard.checks.show import show
from steelyard.errors import GraderError, MissingExtraError
from steelyard.model.checks import PythonCheck
from steelyard.model.evidence import resolve
from steelyard.model.scripts import PARAMETERS, ScriptError, decode_script, parameters_of
from steelyard.model.verdict import Finding, Score
from steelyard.ports.grader import GraderInput

VERSION = "1"

MOST_BESIDE = 2_000
"""Python files beside a trusted script that are looked at."""
START_SECONDS = 5.0
"""How long beyond its own limit a check may take to start, to be ended and to be cleared away."""

_EVERYTHING = frozenset(
    {
        "answer", "said", "calls", "results", "messages", "steps", "facts", "state_before", "state_after",
        "measurements", "external", "extracted",
    }
)  # fmt: skip
_READS: Mapping[str, str] = {
    "answer": "answer",
    "facts": "facts",
    "trace": "steps",
    "state": "state_after:json",
    "extracted": "extracted",
}
# What the aspect `steps` stands for: a function that saw more could change its mind unnoticed.
_STEP = (
    "id", "turn", "kind", "role", "agent_id", "alias", "parts", "call", "result", "speech", "visibility", "error",
)  # fmt: skip


class PythonGrader:
    """The grader of one `python` check. Its source is read once: what is hashed is what runs."""

    kind = "python"

    def __init__(self, spec: PythonCheck, policy: Policy) -> None:
        self._spec = spec
        self._policy = policy
        self._source = ""
        self._fault: GraderError | None = None
        try:
            self._source = _read(spec.file, policy.folder)
        except GraderError as error:
            self._fault = error

    @property
    def version(self) -> str:
        """The version of this grader, of the sandbox chosen, and the SHA-256 of the check's source.

        A trusted script may import the Python files beside it, so theirs counts too.
        """
        sandbox = _sandbox_name(self._spec, self._policy)
        beside = f"+{_hash_beside(self._policy.folder)}" if sandbox == "plain" else ""
        return f"{VERSION}+{sandbox}+{self.source_hash}{beside}"

    @property
    def source_hash(self) -> str:
        """SHA-256 of the script; `unreadable` where there is none, which never gives a verdict to reuse."""
        return "unreadable" if self._fault is not None else hashlib.sha256(self._source.encode()).hexdigest()

    @property
    def seconds(self) -> float:
        """How long one call of `grade` may take, its own time limit included."""
        return float(self._spec.limits.seconds) + START_SECONDS

    def reads(self, spec: PythonCheck) -> frozenset[str]:
        """The aspects behind the parameters that the function really has; all of them where that is not known."""
        try:
            wanted = _parameters(self._source, spec.function)
        except ScriptError:
            return _EVERYTHING
        return frozenset(_READS[name] for name in wanted)

    def grade(self, spec: PythonCheck, given: GraderInput) -> Finding:
        """The function's score.

        A final reply that is missing is a fail or unknown as for other checks; no recorded JSON end state is unknown.
        Raises `GraderError`: `missing_file`, `bad_script`, `missing_extra`, `no_sandbox`, `unsupported`, `timeout`,
        `memory_limit`, `output_limit`, `no_verdict`, `forged_verdict`, `check_raised`, `too_deep`, `too_large`,
        `nonsense`, `bad_evidence`.
        """
        if self._fault is not None:
            raise self._fault
        try:
            wanted = _parameters(self._source, spec.function)
        except ScriptError as error:
            raise GraderError(f"{spec.file} {error}", code="bad_script") from None
        arguments: dict[str, str] = {}
        cited: list[str] = []
        for name in wanted:
            found = _GIVEN[name](given, cited)
            if isinstance(found, _Lacking):
                return found.finding
            arguments[name] = _json(found)
        limits = Limits(
            seconds=float(spec.limits.seconds),
            memory=spec.limits.memory_mb * 1024 * 1024,
            output=spec.limits.output_kb * 1024,
        )
        job = Job(
            source=self._source, file=spec.file, function=spec.function, arguments=arguments, limits=limits
        )
        score = score_of(self._run(job), spec.function)
        return _with_evidence(score, cited, given)

    def _run(self, job: Job) -> Any:
        try:
            return _sandbox(_sandbox_name(self._spec, self._policy))(job)
        except MissingExtraError as error:
            raise GraderError(str(error), code="missing_extra") from None


@lru_cache(maxsize=64)
def _parameters(source: str, function: str) -> tuple[str, ...]:
    return parameters_of(source, function)


def _hash_beside(folder: str) -> str:
    """SHA-256 over the Python files in the suite's folder and in the working folder, by name and content."""
    digest = hashlib.sha256()
    for path in sorted({*Path(folder).rglob("*.py"), *Path.cwd().glob("*.py")})[:MOST_BESIDE]:
        digest.update(str(path).encode("utf-8", "surrogateescape") + b"\0")
        try:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError:
            digest.update(b"unreadable")
    return digest.hexdigest()


def _sandbox_name(spec: PythonCheck, policy: Policy) -> str:
    if spec.sandbox != "auto":
        return spec.sandbox
    return "plain" if policy.trust_graders else "monty"


def _sandbox(name: str) -> Sandbox:
    if name == "plain":
        from steelyard.checks.sandbox import plain

        return plain.run
    if name == "bubblewrap":
        from steelyard.checks.sandbox import bubblewrap

        return bubblewrap.run
    from steelyard.checks.sandbox import monty

    return monty.run


def _read(file: str, folder: str) -> str:
    """The script, which lies in the suite's folder also where links lead. Line ends are those of the text."""
    try:
        root = Path(folder).resolve()
        path = (root / file).resolve()
        if not path.is_relative_to(root):
            raise GraderError(
                f"{file!r} leads out of the suite's folder; put the check script there.", code="missing_file"
            )
        if not path.is_file():
            raise GraderError(
                f"The check script {file!r} is not in the suite's folder {folder}.", code="missing_file"
            )
        return decode_script(path.read_bytes())
    except ScriptError as error:
        raise GraderError(f"{file} {error}", code="bad_script") from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GraderError(
            f"The check script {file!r} cannot be read: {reason}", code="missing_file"
        ) from None


class _Lacking(msgspec.Struct, frozen=True, kw_only=True):
    """The trial lacks what the function asks for; what that means for the verdict."""

    finding: Finding


def _answer(given: GraderInput, cited: list[str]) -> Any:
    found = select("answer", given)
    if isinstance(found, Absent):
        return _Lacking(finding=missing(found))
    cited.extend(found.evidence)
    return found.value


def _facts(given: GraderInput, cited: list[str]) -> Any:
    return {name: fact_value(fact) for name, fact in given.task.facts.items()}


def _trace(given: GraderInput, cited: list[str]) -> Any:
    """What was done and said: `{steps, fidelity}`. Each step has its fields of the canonical trace, and its `text`."""
    trace = given.trace
    steps = [{name: getattr(step, name) for name in _STEP} | {"text": step.text} for step in trace.steps]
    return msgspec.to_builtins({"steps": steps, "fidelity": trace.fidelity}, builtin_types=(Decimal,))


def _state(given: GraderInput, cited: list[str]) -> Any:
    found = select("state", given)
    if isinstance(found, Absent):
        return _Lacking(finding=missing(found))
    cited.extend(found.evidence)
    return found.value


def _extracted(given: GraderInput, cited: list[str]) -> Any:
    return given.extracted


_GIVEN: Mapping[str, Callable[[GraderInput, list[str]], Any]] = {
    "answer": _answer, "facts": _facts, "trace": _trace, "state": _state, "extracted": _extracted,
}  # fmt: skip
assert tuple(_GIVEN) == PARAMETERS


def _json(value: Any) -> str:
    """The JSON text of an argument: decimals as the nearest float, text as it can be encoded."""
    try:
        text = json.dumps(value, default=_plain)
    except ValueError:
        message = "The trial holds an integer of more than 4,300 digits, which is not given to a check."
        raise GraderError(message, code="too_large") from None
    return json.dumps(_encodable(json.loads(text))) if "\\ud" in text else text


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else float("nan")
    return dict(value) if isinstance(value, Mapping) else str(value)


def _encodable(value: Any) -> Any:
    """Lone surrogates, which no sandbox takes, spelt out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value


def _with_evidence(score: Score, cited: list[str], given: GraderInput) -> Score:
    """The references of the check, each of which must stand; where it names none, what it was given."""
    for ref in score.evidence:
        if resolve(ref, given.trace, given.task) is None:
            message = f"the check cites {show(ref)}, which is not in the trace or the task's facts"
            raise GraderError(message, code="bad_evidence")
    return score if score.evidence else msgspec.structs.replace(score, evidence=tuple(cited))
