"""`steelyard check`: is this suite a valid standard?"""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.output import say, say_bytes


@click.command()
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print what was found as JSON.")
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@click.option("--quiet", "-q", is_flag=True, cls=Flag, help="Print nothing; the exit code says it.")
def check(suite: str, as_json: bool, trust_python: bool, quiet: bool) -> None:
    """Validate SUITE and list every problem with its line."""
    import msgspec

    from steelyard import app

    loaded = app.load_suite(suite, trust_python=trust_python)
    found: dict[str, Any] = {
        "suite": {"name": loaded.name, "version": loaded.version, "owner": loaded.owner, "hash": loaded.hash},
        "tasks": len(loaded.tasks),
        "criteria": sum(len(task.criteria) for task in loaded.tasks),
        "gates": sum(criterion.gate for task in loaded.tasks for criterion in task.criteria),
        "excluded": [msgspec.to_builtins(entry) for entry in loaded.excluded],
        "notices": list(loaded.notices),
    }
    if as_json:
        say_bytes(msgspec.json.encode(found))
    elif not quiet:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    suite = found["suite"]
    version = f" {suite['version']}" if suite["version"] else ""
    several = (("tasks", "task"), ("criteria", "criterion"), ("gates", "gate"))
    counts = ", ".join(f"{found[many]} {one if found[many] == 1 else many}" for many, one in several)
    say(f"{suite['name']}{version} is a valid standard: {counts}")
    say(f"owner {suite['owner']} · hash {suite['hash'][:12]}")
    for entry in found["excluded"]:
        what = f"criterion {entry['criterion']} of task" if entry["criterion"] else "task"
        say(f"left out: {what} {entry['task']} (when: {entry['when']})")
    for notice in found["notices"]:
        say(f"note: {notice}")
