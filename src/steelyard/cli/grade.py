"""`steelyard grade`: import traces, grade them, score them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from steelyard.cli.environment import Flag
from steelyard.cli.github import GITHUB, Github
from steelyard.cli.options import (
    ROWS,
    STORE,
    Output,
    Recordings,
    output_options,
    refuse_overwriting,
    show_run,
)
from steelyard.cli.output import warn
from steelyard.cli.progress import progress
from steelyard.errors import StoreError, UsageError

if TYPE_CHECKING:
    from steelyard.app import Keep, Run


INPUTS = ("recorded", "only", "limit", "gates", "states", "trust_graders")
OWN = (*INPUTS, "trust_python", "resume", "store", "no_store", "github")


@click.command()
@click.argument("suite")
@click.argument("traces", nargs=-1, required=True)
@click.option(
    "--recorded",
    multiple=True,
    metavar="FILE",
    cls=Flag,
    help="Verdict rows of people or judges (JSON Lines).",
)
@click.option(
    "--filter",
    "only",
    multiple=True,
    metavar="TASK|TAG=VALUE",
    cls=Flag,
    help="Only these tasks (* allowed).",
)
@click.option("--limit", type=click.IntRange(min=1), cls=Flag, help="Only the first N tasks.")
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="CRITERION",
    cls=Flag,
    help="tau2 only: make a process criterion a gate.",
)
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@click.option("--states", metavar="DIR", cls=Flag, help="End states as DIR/TASK/TRIAL/{start,end}.")
@click.option(
    "--trust-graders",
    is_flag=True,
    cls=Flag,
    help="Let python checks run without a sandbox.",
)
@click.option(
    "--resume", is_flag=True, cls=Flag, help="Go on with the unfinished run of the same suite and inputs."
)
@STORE
@click.option("--no-store", is_flag=True, cls=Flag, help="Keep nothing, and reuse nothing.")
@ROWS
@output_options
@GITHUB
@click.pass_context
def grade(context: click.Context, /, suite: str, traces: tuple[str, ...], **options: Any) -> None:
    """Grade TRACES under SUITE and print the scoreboard.

    TRACES are files, folders or globs; their format is detected. SUITE is a suite file, or `tau2` to take the
    standard out of a tau2 or tau-bench result file itself.
    """
    from steelyard import app

    chosen = {name: options.pop(name) for name in OWN}
    output = Output(**options)
    github = Github.wanted(context, chosen["github"])
    kept = () if chosen["no_store"] else app.store_files(chosen["store"])
    refuse_overwriting((suite, *traces, *chosen["recorded"], *kept), output)
    run: Run | None = None
    try:
        with progress(quiet=output.quiet) as update, _keep(suite, traces, chosen) as keep:
            run = _run(suite, traces, chosen, output, update, keep)
    except StoreError as error:
        if run is None:
            raise
        run.problem = run.problem or str(error)
        run.forget()
    found, why = app.recordings(traces) if output.html else (None, "")
    show_run(run, output, Recordings(traces=found, without=why))
    github.tell(run, suite, output)
    if run.problem:  # what was graded is told all the same
        raise StoreError(f"this run was not kept to its end: {run.problem}")
    if run.name and not output.quiet:
        several = "verdicts" if run.reused != 1 else "verdict"
        reused = f", {run.reused} {several} used again" if run.reused else ""
        warn(f"kept as run {run.name}{reused}; `steelyard show --why` has every reason whole")
    context.exit(run.scores.exit_code)


@contextmanager
def _keep(suite: str, traces: tuple[str, ...], chosen: dict[str, Any]) -> Iterator[Keep | None]:
    from steelyard import app

    if chosen["no_store"]:
        if chosen["resume"]:
            raise UsageError("--resume needs the store; leave --no-store out")
        yield None
        return
    options = {name: chosen[name] for name in INPUTS} | {"suite": suite, "traces": traces}
    options["content"] = app.fingerprint(traces, chosen["states"])
    with app.open_store(chosen["store"]) as store:
        yield app.Keep(store=store, options=msgspec.to_builtins(options), resume=chosen["resume"])


def _run(
    suite: str,
    traces: tuple[str, ...],
    chosen: dict[str, Any],
    output: Output,
    update: Any,
    keep: Keep | None,
) -> Run:
    from steelyard import app

    common = {
        "only": chosen["only"],
        "limit": chosen["limit"],
        "progress": update,
        "full": output.full,
        "keep": keep,
    }
    if suite == "tau2" and not Path(suite).exists():
        unused = [name for name in ("states", "recorded", "trust_graders", "trust_python") if chosen[name]]
        if unused:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
            raise UsageError(
                f"{flags} does nothing in `grade tau2`, which reads all from the file; leave it out"
            )
        return app.grade_tau2(traces, gates=chosen["gates"], **common)
    if chosen["gates"]:
        raise UsageError("--gate works with `grade tau2`; in a suite file write `gate: true`, or ask whatif")
    return app.grade(
        app.load_suite(suite, trust_python=chosen["trust_python"]), app.read_traces(traces),
        recorded=chosen["recorded"], states=chosen["states"], trust_graders=chosen["trust_graders"], **common,
    )  # fmt: skip
