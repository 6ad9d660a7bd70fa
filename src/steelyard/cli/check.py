"""`steelyard check`: is this suite a valid standard, and do its own references pass?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.output import say, say_bytes

if TYPE_CHECKING:
    from steelyard.app.references import Rehearsal

BROKEN = 2


@click.command()
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print what was found as JSON.")
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@click.option("--trust-graders", is_flag=True, cls=Flag, help="Let python checks run without a sandbox.")
@click.option("--quiet", "-q", is_flag=True, cls=Flag, help="Print nothing; the exit code says it.")
@click.pass_context
def check(
    context: click.Context, /, suite: str, as_json: bool, trust_python: bool, trust_graders: bool, quiet: bool
) -> None:
    """Validate SUITE, and run its references and no-ops.

    Every problem is listed with its line. A reference that does not pass its own task breaks the standard (exit code
    2); a no-op that passes is a warning; what only people or judges settle stays open.
    """
    import msgspec

    from steelyard import app
    from steelyard.app.references import rehearse

    loaded = app.load_suite(suite, trust_python=trust_python)
    runs = tuple(rehearse(loaded, trust_graders=trust_graders))
    broken = list(dict.fromkeys(run.task for run in runs if run.status == "error"))
    found: dict[str, Any] = {
        "suite": {"name": loaded.name, "version": loaded.version, "owner": loaded.owner, "hash": loaded.hash},
        "tasks": len(loaded.tasks),
        "criteria": sum(len(task.criteria) for task in loaded.tasks),
        "gates": sum(criterion.gate for task in loaded.tasks for criterion in task.criteria),
        "excluded": [msgspec.to_builtins(entry) for entry in loaded.excluded],
        "notices": list(loaded.notices),
        "references": [msgspec.to_builtins(run) for run in runs],
        "broken": broken,
    }
    if as_json:
        say_bytes(msgspec.json.encode(found))
    elif not quiet:
        _print(found, runs)
    context.exit(BROKEN if broken else 0)


def _print(found: dict[str, Any], runs: Sequence[Rehearsal]) -> None:
    suite, broken = found["suite"], found["broken"]
    version = f" {suite['version']}" if suite["version"] else ""
    several = (("tasks", "task"), ("criteria", "criterion"), ("gates", "gate"))
    counts = ", ".join(f"{found[many]} {one if found[many] == 1 else many}" for many, one in several)
    stands = f"is broken in {len(broken)} of its tasks" if broken else "is a valid standard"
    say(f"{suite['name']}{version} {stands}: {counts}")
    say(f"owner {suite['owner']} · hash {suite['hash'][:12]}")
    for line in _rehearsed(runs):
        say(line)
    for entry in found["excluded"]:
        what = f"criterion {entry['criterion']} of task" if entry["criterion"] else "task"
        say(f"left out: {what} {entry['task']} (when: {entry['when']})")
    for notice in found["notices"]:
        say(f"note: {notice}")


def _rehearsed(runs: Sequence[Rehearsal]) -> Iterator[str]:
    """How many references and no-ops were run, then each that is not as it must be."""
    counts = []
    for kind, words in (("reference", "references pass"), ("no_op", "no-ops fail (each must)")):
        own = [run for run in runs if run.kind == kind]
        if own:
            counts.append(f"{sum(run.status == 'ok' for run in own)} of {len(own)} {words}")
    if counts:
        yield " · ".join(counts)
    for run in runs:
        if run.status != "ok":
            yield f"{run.status}: {run.task}: {run.says}"
            yield from (f"  {sentence}" for sentence in run.why)
