"""`of:` - which value of a trial a check reads, and where it stands.

Only released content is read: a call in a rejected draft reached nobody, whatever it proposed. A name that holds
`/` or `~` is written as in JSON pointers (`~1`, `~0`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

import msgspec

from steelyard.checks.jsontext import NotJsonError, parse_json_text
from steelyard.checks.show import show
from steelyard.checks.states import At, NoFileError, folder_of, no_part, part_of, read_text
from steelyard.errors import GraderError
from steelyard.model.evidence import agent_calls, answer, follow, results_of
from steelyard.model.trace import MOST_DECODED, Step, Trace
from steelyard.ports.grader import GraderInput

Source = Literal["answer", "said", "call", "result", "state", "file", "extracted"]

MAX_CITED = 50
"""`said` reads all replies; this many are cited."""

_NAME = re.compile(r"(?P<name>.+?)(?:\[(?P<index>-?[0-9]{1,6})\])?", re.DOTALL)


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed `of:`. `index` null: the last one. `pointer` is a JSON pointer into the value, empty for all."""

    source: Source
    name: str = ""
    index: int | None = None
    pointer: str = ""
    parsed: bool = False
    """The answer is to be read as JSON."""
    at: At = "end"
    """Which state, where it reads one."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A value and what it rests on. `prose`: it is the text of a reply or a file, not a field of some structure."""

    value: Any
    source: Source
    evidence: tuple[str, ...] = ()
    prose: bool = False


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """There is no such value. `undecided`: the record cannot show that there was none."""

    reason: str
    source: Source
    undecided: bool = False
    unreadable: bool = False
    """Something was given, and cannot be read."""


def select(of: str, given: GraderInput) -> Found | Absent:
    """The value that `of` names.

    Raises `GraderError`: `bad_selector` when it cannot be read, `bad_state` and `bad_path` for end states.
    """
    selector = parse_selector(of)
    match selector.source:
        case "answer":
            return _answer(selector, given.trace)
        case "said":
            return _said(given.trace)
        case "call":
            return _call(selector, given.trace)
        case "result":
            return _result(selector, given.trace)
        case "extracted":
            return _extracted(selector, given)
        case "state":
            return _state(selector, given.trace)
        case "file":
            return _file(selector, given.trace)


@lru_cache(maxsize=1024)
def aspects_of(*selectors: str) -> frozenset[str]:
    """What of a trial these `of:` selectors read, in the words of `ports.Grader.reads`."""
    return frozenset(aspect for of in selectors for aspect in _aspects(parse_selector(of)))


def _aspects(selector: Selector) -> tuple[str, ...]:
    match selector.source:
        case "call":
            return (f"call:{selector.name}",)
        case "result":
            return (f"call:{selector.name}", f"result:{selector.name}")
        case "state" | "file":
            part = "json" if selector.source == "state" else "files"
            return (f"state_after:{part}" if selector.at == "end" else f"state_before:{part}",)
        case source:
            return (source,)


@lru_cache(maxsize=1024)
def parse_selector(of: str) -> Selector:
    """Reads `answer`, `answer#/p`, `said`, `call:NAME[0]/args/p`, `result:NAME/p`, `extracted.NAME`, `state#/p`, ..."""
    if of in ("answer", "said"):
        return Selector(source="answer" if of == "answer" else "said")
    head, hash_mark, pointer = of.partition("#")
    if hash_mark and head == "answer" and pointer[:1] in ("", "/"):
        return Selector(source="answer", pointer=pointer, parsed=True)
    if head in ("state", "state_before") and pointer[:1] in ("", "/"):
        return Selector(source="state", pointer=pointer, at="end" if head == "state" else "start")
    scheme, colon, rest = of.partition(":")
    if colon and rest and scheme in ("file", "file_before"):
        return Selector(source="file", name=rest, at="end" if scheme == "file" else "start")
    if colon and rest and scheme in ("call", "result"):
        return _named_selector(of, "call" if scheme == "call" else "result", rest)
    if of.startswith("extracted.") and of != "extracted.":
        return Selector(source="extracted", name=of.removeprefix("extracted."))
    raise _bad(of)


def _named_selector(of: str, source: Source, rest: str) -> Selector:
    head, slash, tail = rest.partition("/")
    matched = _NAME.fullmatch(head)
    pointer = slash + tail
    if matched is None:
        raise _bad(of)
    if source == "call":
        section, slash, tail = tail.partition("/")
        if section not in ("", "args"):
            raise _bad(of)
        pointer = slash + tail
    name = matched["name"].replace("~1", "/").replace("~0", "~")
    index = int(matched["index"]) if matched["index"] is not None else None
    return Selector(source=source, name=name, index=index, pointer=pointer)


def _bad(of: str) -> GraderError:
    return GraderError(
        f"`of: {of}` names nothing that can be read; write answer, answer#/pointer, said, call:NAME/args/pointer, "
        "result:NAME/pointer, state#/pointer, file:PATH or extracted.NAME.",
        code="bad_selector",
    )


def _answer(selector: Selector, trace: Trace) -> Found | Absent:
    step = answer(trace)
    if step is None:
        return Absent(reason="there is no reply", source="answer", undecided=not trace.fidelity.complete)
    if not selector.parsed:
        return Found(value=step.text, source="answer", evidence=(step.id,), prose=True)
    try:
        value = follow(parse_json_text(step.text), selector.pointer)
    except NotJsonError as problem:
        return Absent(reason=f"the reply ({step.id}) is not JSON: {problem}", source="answer")
    except LookupError:
        return Absent(
            reason=f"the reply ({step.id}) holds nothing at {show(selector.pointer)}", source="answer"
        )
    return Found(value=value, source="answer", evidence=(step.id,))


def _said(trace: Trace) -> Found | Absent:
    replies = [
        step
        for step in trace.steps
        if step.kind == "assistant" and step.visibility.kind == "released" and step.text.strip()
    ]
    if not replies:
        return Absent(reason="there is no reply", source="said", undecided=not trace.fidelity.complete)
    text = "\n".join(step.text for step in replies)
    cited = tuple(step.id for step in replies[-MAX_CITED:])
    return Found(value=text, source="said", evidence=cited, prose=True)


def _call(selector: Selector, trace: Trace) -> Found | Absent:
    if not trace.fidelity.has_tool_calls:
        return Absent(reason="this trace's format cannot hold tool calls", source="call", undecided=True)
    attempted = [step for step in agent_calls(trace) if _call_name(step) == selector.name]
    released = [step for step in attempted if step.visibility.kind == "released"]
    step = _pick(released, selector.index)
    if step is None or step.call is None:
        return _no_call(selector, trace, drafts=len(attempted) - len(released))
    if step.call.args_error is not None:
        reason = f"{step.id} {selector.name}: its arguments are not JSON"
        return Absent(reason=reason, source="call", unreadable=True)
    try:
        value = follow(step.call.args, selector.pointer)
    except LookupError:
        reason = f"{step.id} {selector.name} has no argument at {show(selector.pointer)}"
        return Absent(reason=reason, source="call")
    if selector.index is None and _is_ambiguous(released, step, selector.pointer):
        reason = f"message {step.turn} calls {selector.name} several times with other values, in no order"
        reason = f"{reason}; write call:{selector.name}[0] for the first recorded"
        return Absent(reason=reason, source="call", undecided=True)
    return Found(value=value, source="call", evidence=(_reference(step.id, "args", selector.pointer),))


def _is_ambiguous(calls: list[Step], chosen: Step, pointer: str) -> bool:
    """Whether the message of the chosen call holds another one that says something else at the pointer."""
    beside = [step.call for step in calls if step.turn == chosen.turn and step.call is not None]
    return len(beside) > 1 and len({_content(call.args, pointer) for call in beside}) > 1


def _content(args: Any, pointer: str) -> str:
    try:
        return repr(follow(args, pointer))
    except LookupError:
        return ""


def _no_call(selector: Selector, trace: Trace, *, drafts: int) -> Absent:
    which = "" if selector.index is None else f" number {selector.index}"
    aside = "; only rejected drafts hold one" if drafts else ""
    return Absent(
        reason=f"there is no call{which} of {selector.name}{aside}",
        source="call",
        undecided=not trace.fidelity.complete,
    )


def _result(selector: Selector, trace: Trace) -> Found | Absent:
    if not (trace.fidelity.has_tool_calls and trace.fidelity.has_tool_results):
        return Absent(reason="this trace's format cannot hold tool results", source="result", undecided=True)
    results = results_of(trace)
    calls = [step for step in agent_calls(trace) if _call_name(step) == selector.name]
    answering = [results[step.id] for step in calls if step.id in results]
    step = _pick([found for found in answering if found.visibility.kind == "released"], selector.index)
    if step is None or step.result is None or step.result.outcome == "missing":
        reason = f"there is no result of {selector.name}"
        return Absent(reason=reason, source="result", undecided=not trace.fidelity.complete)
    if _is_undecoded(step.result.value, selector.pointer):
        reason = f"the result of {selector.name} ({step.id}) is too long to be read as JSON"
        return Absent(reason=reason, source="result", undecided=True)
    try:
        value = follow(step.result.value, selector.pointer)
    except LookupError:
        reason = f"the result of {selector.name} ({step.id}) holds nothing at {show(selector.pointer)}"
        return Absent(reason=reason, source="result", undecided=step.result.truncated)
    evidence = _reference(step.alias or step.id, "result", selector.pointer)
    return Found(value=value, source="result", evidence=(evidence,))


def _is_undecoded(value: Any, pointer: str) -> bool:
    """Whether it may be JSON that was too long to decode: nothing stands at a pointer then, and texts stand escaped."""
    if not isinstance(value, str) or len(value) <= MOST_DECODED:
        return False
    ends = value[:64].lstrip()[:1] + value[-64:].rstrip()[-1:]
    return ends in ("{}", "[]") and (bool(pointer) or "\\" in value)


def _extracted(selector: Selector, given: GraderInput) -> Found | Absent:
    if selector.name not in given.extracted:
        return Absent(reason=f"no value was extracted for {selector.name}", source="extracted")
    return Found(value=given.extracted[selector.name], source="extracted")


def _state(selector: Selector, trace: Trace) -> Found | Absent:
    state = part_of(trace, selector.at, "json")
    if state is None:
        return Absent(reason=no_part(selector.at, "json"), source="state", undecided=True)
    try:
        value = follow(state, selector.pointer)
    except LookupError:
        reason = f"the {selector.at} state holds nothing at {show(selector.pointer)}"
        return Absent(reason=reason, source="state")
    scheme = "state" if selector.at == "end" else "state_before"
    pointer = selector.pointer if selector.pointer.isprintable() else ""
    return Found(value=value, source="state", evidence=(f"{scheme}:{pointer.removeprefix('/')}",))


def _file(selector: Selector, trace: Trace) -> Found | Absent:
    root = folder_of(trace, selector.at)
    if root is None:
        return Absent(reason=no_part(selector.at, "files"), source="file", undecided=True)
    try:
        text = read_text(root, selector.name)
    except NoFileError as problem:
        return Absent(reason=f"in the {selector.at} state, {problem}", source="file")
    scheme = "file" if selector.at == "end" else "file_before"
    evidence = (f"{scheme}:{selector.name}",) if selector.name.isprintable() else ()
    return Found(value=text, source="file", evidence=evidence, prose=True)


def _call_name(step: Step) -> str | None:
    return step.call.name if step.call is not None else None


def _pick(steps: list[Step], index: int | None) -> Step | None:
    position = -1 if index is None else index
    return steps[position] if -len(steps) <= position < len(steps) else None


def _reference(step: str, part: str, pointer: str) -> str:
    """An evidence reference as fine as it can be written; the step alone where the pointer cannot be."""
    return f"{step}/{part}{pointer}" if pointer and pointer.isprintable() else step
