"""Monty: a Python interpreter of its own, without files, network, environment, clock or imports from outside.

Code runs in a worker process that is kept warm and is replaced when it dies.
"""

from __future__ import annotations

import atexit
import builtins
import os
from functools import cache
from typing import Any

from steelyard.checks.sandbox.protocol import (
    FULL_PYTHON,
    MAX_SAID,
    Job,
    Unusable,
    ended_early,
    raised,
    too_long,
    too_much_output,
)
from steelyard.errors import GraderError, MissingExtraError

MISSING = "Checks of kind 'python' run in Monty, which is not installed: pip install 'steelyard[python]'"
RECURSION = 500
_GRACE = 1.0
_WAIT = 60.0
_PLAIN = (bool, int, float, str)
# No clock and no chance of its own: the same trial gives the same verdict.
_POLICY: Any = {
    "datetime": "call_host",
    "random_start": {"seed": 0},
    "sleep": "system",
    "process_time": "zero",
}


def run(job: Job) -> Any:
    """The returned value. Raises `GraderError`; `missing_extra` without Monty, `unsupported` for what it lacks."""
    monty = _monty()
    limits = {
        "max_feed_duration_secs": job.limits.seconds,
        "max_memory": job.limits.memory,
        "max_recursion_depth": RECURSION,
        "max_suspensions": 100,
        "max_total_sleep_secs": 0.0,
    }
    printed = monty.CollectString(max_bytes=job.limits.output)
    names = {f"__given_{name}": value for name, value in job.arguments.items()}
    arguments = ", ".join(f"{name}=__json.loads(__given_{name})" for name in job.arguments)
    # Last, so that line numbers stay those of the file.
    code = f"{job.source}\nimport json as __json\n{job.function}({arguments})\n"
    try:
        with _pool(os.getpid()).checkout(
            script_name=os.path.basename(job.file),
            limits=limits,
            os_policy=_POLICY,
            assert_message_annotations=False,
        ) as session:
            return _usable(session.feed_run(code, inputs=names, print_callback=printed))
    except monty.MontyCrashedError as error:
        raise (too_long(job) if error.timed_out else ended_early(job, "ended its sandbox")) from None
    except monty.MontyConversionError as error:
        raise GraderError(f"{job.file}: {str(error)[:MAX_SAID]}", code="check_raised") from None
    except monty.MontyError as error:
        raise _error(job, error) from None
    except (OSError, UnicodeError, TimeoutError, RuntimeError, ValueError) as error:
        message = f"The Monty sandbox could not be used: {str(error)[:MAX_SAID]}"
        raise GraderError(message, code="no_sandbox") from None


def _monty() -> Any:
    try:
        import pydantic_monty
    except ImportError as error:
        raise MissingExtraError(MISSING) from error
    return pydantic_monty


@cache
def _pool(process: int) -> Any:
    """The workers of this process; a forked child has a pool of its own."""
    pool = _monty().Monty(
        min_processes=1,
        checkout_timeout=_WAIT,
        feed_duration_limit_grace=_GRACE,
        max_checkouts_per_worker=1000,
    )
    pool.__enter__()
    atexit.register(_close, pool, process)
    return pool


def _close(pool: Any, process: int) -> None:
    if os.getpid() == process:
        pool.__exit__(None, None, None)


def _error(job: Job, error: Any) -> GraderError:
    inner = error.exception()
    kind, said = type(inner).__name__, str(inner)[:MAX_SAID]
    if kind == "TimeoutError" and "limit exceeded" in said:
        return too_long(job)
    if kind == "MemoryError" and said.endswith(f"> {job.limits.output} bytes"):
        return too_much_output(job)
    if kind == "JSONDecodeError" and "recursion limit" in said:
        return GraderError(f"{job.file}: a value is nested too deeply to be read.", code="too_deep")
    if _lacks(kind, said):
        message = f"{job.file} uses what the Monty sandbox does not offer ({kind}: {said}); {FULL_PYTHON}."
        return GraderError(message, code="unsupported")
    return raised(job, kind, said)


def _lacks(kind: str, said: str) -> bool:
    """Whether an exception says that Monty is not all of Python, or that it reaches nothing outside."""
    if kind in (
        "NotImplementedError",
        "ModuleNotFoundError",
        "ImportError",
        "SyntaxError",
        "PermissionError",
    ):
        return True
    if kind == "NameError":
        return any(f"'{name}'" in said for name in dir(builtins))
    if kind == "AttributeError":
        return said.startswith("module ")
    return kind == "RuntimeError" and "not supported in this environment" in said


def _usable(value: Any) -> Any:
    """Plain data as it is; of everything else the type alone. Exact types: nothing here calls code of the check."""
    from decimal import Decimal

    if value is None or type(value) in (*_PLAIN, Decimal):
        return value
    if type(value) is list or type(value) is tuple:
        return [one if type(one) in _PLAIN else Unusable(type=type(one).__name__) for one in value[:3]]
    if type(value) is dict and len(value) < 20:
        return {key: _inner(one) for key, one in value.items() if type(key) is str}
    return Unusable(type=type(value).__name__)


def _inner(value: Any) -> Any:
    return [*value[:101]] if type(value) in (list, tuple) else value
