"""Full Python in a process: starts the worker, waits no longer than it must, believes only the worker's own report."""

from __future__ import annotations

import json
import marshal
import os
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.checks.sandbox.protocol import Job, Unusable, ended_early, raised, too_long, too_much_output
from steelyard.errors import GraderError

WORKER = Path(__file__).with_name("worker.py")
START_SECONDS = 4.0
"""How long beyond its limit a job may take to start and to be cleared away."""
_MOST_REPORT = 1_000_000


def run_worker(command: Sequence[str], job: Job, *, sealed: bool, env: Mapping[str, str]) -> Any:
    """The value that the function returned. `sealed`: the worker takes away processes, sockets and its user."""
    nonce = secrets.token_hex(16)
    request = {
        "nonce": nonce, "source": job.source, "file": os.path.basename(job.file), "function": job.function,
        "arguments": {name: json.loads(text) for name, text in job.arguments.items()},
        "seconds": job.limits.seconds, "memory": job.limits.memory, "sealed": sealed, "guard": not sealed,
    }  # fmt: skip
    try:
        data = marshal.dumps(request)
    except ValueError:
        message = f"The trial holds a value nested too deeply to be given to {job.file}."
        raise GraderError(message, code="too_deep") from None
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        report, said = _converse(command, given, job, env)
    return _read(report, nonce, job, said)


def _converse(command: Sequence[str], given: Any, job: Job, env: Mapping[str, str]) -> tuple[bytes, str]:
    try:
        process = subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        message = f"The sandbox could not be started: {error.strerror or error}"
        raise GraderError(message, code="no_sandbox") from None
    try:
        return _listen(process, job)
    finally:
        _end(process)


def _listen(process: subprocess.Popen[bytes], job: Job) -> tuple[bytes, str]:
    """The worker's report and the beginning of what was printed. Printed text is counted and thrown away."""
    assert process.stdout is not None
    assert process.stderr is not None
    report, printed, beginning = b"", 0, b""
    deadline = time.monotonic() + job.limits.seconds + START_SECONDS
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        waiting.register(process.stderr, selectors.EVENT_READ)
        while process.stdout in waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise too_long(job)
            for key, _ in waiting.select(left):
                part = os.read(key.fd, 65536)
                if not part:
                    waiting.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    report += part
                else:
                    printed += len(part)
                    beginning += part[: 300 - len(beginning)]
            if printed > job.limits.output:
                raise too_much_output(job)
            if len(report) > _MOST_REPORT:
                raise forged(job)
    return report, beginning.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def forged(job: Job) -> GraderError:
    message = f"{job.file}: something other than the return of {job.function} was written as its verdict."
    return GraderError(message, code="forged_verdict")


def _read(report: bytes, nonce: str, job: Job, said: str) -> Any:
    if not report:
        raise ended_early(job, f"ended its sandbox{f' (it printed: {said.strip()})' if said.strip() else ''}")
    try:
        found = json.loads(report)
        genuine = found.pop("nonce") == nonce
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        genuine = False
    if not genuine:
        raise forged(job)
    if "failure" in found:
        raise _failure(found, job)
    returned = found.get("returned")
    match returned:
        case {"value": value}:
            return _usable(value)
        case {"raised": kind, "said": said}:
            raise raised(job, str(kind), said if isinstance(said, str) else "(its message cannot be read)")
        case {"unconfined": said}:
            message = f"The sandbox could not be closed, so {job.file} was not run: {said}"
            raise GraderError(message, code="no_sandbox")
    raise forged(job)


def _failure(found: Mapping[str, Any], job: Job) -> GraderError:
    match found["failure"]:
        case "timeout":
            return too_long(job)
        case "exited":
            return ended_early(job, f"ended its process (exit {found.get('code')})")
        case "killed":
            return ended_early(job, f"was ended by signal {found.get('signal')}")
    return forged(job)


def _usable(value: Any) -> Any:
    if isinstance(value, list):
        return [_usable(one) for one in value]
    if isinstance(value, dict):
        if "__unusable__" in value:
            return Unusable(type=str(value["__unusable__"]))
        return {key: _usable(one) for key, one in value.items()}
    return value
