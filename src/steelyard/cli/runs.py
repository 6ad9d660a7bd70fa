"""`steelyard runs`, `show`, `export`, `import`: what was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import (
    STORE,
    Output,
    Recordings,
    output_options,
    refuse_overwriting,
    refuse_overwriting_record,
    show_run,
    style,
    write_reports,
)
from steelyard.cli.output import in_github, say, say_bytes, say_parts
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.ports.store import Store


@click.command()
@click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print the runs as JSON.")
@STORE
def runs(as_json: bool, store: str | None) -> None:
    """List the kept runs with the trend of their primary metric."""
    import msgspec

    from steelyard import app

    with app.open_store(store, must_exist=True) as opened:
        found = app.list_runs(opened)
    if as_json:
        say_bytes(msgspec.json.encode({"runs": found}))
    else:
        say(app.runs_board(found, **style()))


@click.command()
@click.argument("run", default="latest")
@click.option("--task", metavar="ID", cls=Flag, help="The verdicts of this task.")
@click.option("--criterion", metavar="ID", cls=Flag, help="The verdicts of this criterion.")
@click.option(
    "--why", is_flag=True, cls=Flag, help="Each verdict that is no pass, with its rule, reason and evidence."
)
@click.option(
    "--traces", multiple=True, metavar="PATH", cls=Flag, help="Where the recordings are now, for --html."
)
@click.option("--csv", metavar="FILE", cls=Flag, help="Write every verdict as CSV; - for standard output.")
@STORE
@output_options
def show(
    run: str,
    task: str | None,
    criterion: str | None,
    why: bool,
    traces: tuple[str, ...],
    store: str | None,
    **options: Any,
) -> None:
    """Show the scoreboard of a kept RUN (default: the latest), or its verdicts."""
    from steelyard import app

    output = Output(**options)
    if traces and not output.html:
        raise UsageError("--traces is about the HTML report; add --html FILE, or leave it out")
    refuse_overwriting(traces, output)
    if output.csv == "-":
        _refuse_printing_with(output, {"--task": task, "--criterion": criterion, "--why": why})
    recordings = Recordings()
    with app.open_store(store, must_exist=True) as opened:
        refuse_overwriting_record(opened, run, store, output)
        kept = app.load_run(opened, run, full=output.full or bool(task or criterion or why or output.csv))
        if output.html:
            recordings = _recordings(opened, kept.name, traces)
    if output.csv == "-":
        write_reports(kept, output, recordings)
        say_parts(app.csv_report(kept, bom=False))
    elif (task or criterion or why) and not (output.as_json or output.quiet):
        write_reports(kept, output, recordings)
        say(app.verdict_board(kept, task=task, criterion=criterion, why=why, **style(output)))
    else:
        show_run(kept, output, recordings)


def _refuse_printing_with(output: Output, chosen: dict[str, object]) -> None:
    """Verdicts as CSV are printed whole and as they are, which nothing else on standard output goes with."""
    others = [name for name, value in {**chosen, "--json": output.as_json}.items() if value]
    if others:
        raise UsageError(
            f"--csv - prints every verdict and nothing else; leave {others[0]} out, or name a file"
        )
    if in_github():
        raise UsageError(
            "here a runner takes printed lines for commands, and cells could hold some; name a file"
        )


def _recordings(store: Store, run: str, given: tuple[str, ...]) -> Recordings:
    """Those that were given, else those that the run was graded from if they are as they were."""
    from steelyard import app

    stored = store.load(run)
    found, why = app.recordings(given) if given else app.kept_recordings(stored)
    return Recordings(traces=found, without=why, date=stored.created_at)


@click.command()
@click.argument("run")
@click.argument("file")
@STORE
def export(run: str, file: str, store: str | None) -> None:
    """Write a kept RUN to FILE: a bundle (.zip), or Parquet where FILE ends in .parquet."""
    from steelyard import app

    if not file:
        raise UsageError("FILE is empty; name the file to write, such as run.zip")
    with app.open_store(store, must_exist=True) as opened:
        refuse_overwriting_record(opened, run, store, Output(out=file))
        name = app.export_bundle(opened, run, file)
    say(f"wrote run {name} to {file}")


@click.command(name="import")
@click.argument("file")
@STORE
def import_(file: str, store: str | None) -> None:
    """Add the run of a bundle FILE to the store."""
    from steelyard import app

    with app.open_store(store) as opened:
        name = app.import_bundle(opened, file)
    where = f" --store {store}" if store else ""
    say(f"imported as run {name}; see it with: steelyard show {name}{where}")
