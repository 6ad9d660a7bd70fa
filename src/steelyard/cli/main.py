"""The `steelyard` command: its verbs, and what an error looks like."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence

import click

from steelyard.cli.check import check
from steelyard.cli.completion import completion
from steelyard.cli.demo import demo
from steelyard.cli.environment import read_dotenv
from steelyard.cli.grade import grade
from steelyard.cli.init import init
from steelyard.cli.output import warn
from steelyard.cli.runs import export, import_, runs, show
from steelyard.cli.schema import schema
from steelyard.cli.score import score
from steelyard.cli.store import store
from steelyard.cli.trace import trace
from steelyard.cli.whatif import whatif
from steelyard.errors import SteelyardError

INTERRUPTED = 130
USAGE = 2
COLLECT = (100_000, 50, 100)
"""When the garbage collector looks at new objects, and at old ones. A command makes many records and few cycles:
with Python's own setting it looks through the growing records again and again, for a third of the time."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=(
        "Exit codes: 0 passed; 1 failed; 2 usage, input or standard error; 3 incomplete (missing verdicts could "
        "still decide); 4 nothing evaluated; 130 interrupted."
    ),
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="steelyard", prog_name="steelyard")
def cli(debug: bool) -> None:
    """Weigh what an agent did against a standard that was fixed before the run."""


for command in (
    demo,
    init,
    check,
    grade,
    score,
    whatif,
    show,
    runs,
    trace,
    export,
    import_,
    store,
    schema,
    completion,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    gc.set_threshold(*COLLECT)
    debug = "--debug" in given or os.environ.get("STEELYARD_DEBUG", "") not in ("", "0")
    try:
        read_dotenv()
        code = cli.main(
            args=["--debug", *(word for word in given if word != "--debug")] if debug else given,
            prog_name="steelyard",
            standalone_mode=False,
        )
    except Exception as error:
        if debug:
            raise
        code = _say(error)
    except KeyboardInterrupt:
        warn("steelyard: interrupted")
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)


def _say(error: Exception) -> int:
    """Print an error as a sentence; what to do next is in it."""
    if isinstance(error, click.exceptions.Abort):
        warn("steelyard: interrupted")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        said = io.StringIO()
        error.show(said)
        warn(said.getvalue().removesuffix("\n"))
        return USAGE
    if isinstance(error, SteelyardError):
        warn(f"steelyard: {error}")
        return error.exit_code
    name = type(error).__name__
    warn(f"steelyard: an error inside Steelyard ({name}: {error}); --debug shows where")
    return USAGE
