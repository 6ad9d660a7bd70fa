"""For code that the user trusts (--trust-graders): full Python with limits against accidents, not against malice."""

from __future__ import annotations

import os
import sys
from typing import Any

from steelyard.checks.sandbox.process import WORKER, run_worker
from steelyard.checks.sandbox.protocol import Job
from steelyard.errors import GraderError

_KEPT = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TZ")


def run(job: Job) -> Any:
    """The returned value. The packages of this interpreter can be imported; the environment's secrets are left out."""
    if os.name != "posix":
        message = "Full Python for checks needs Linux or macOS; on this system use Monty."
        raise GraderError(message, code="no_sandbox")
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    command = [sys.executable, "-s", "-P", "-B", str(WORKER)]
    return run_worker(command, job, sealed=False, env={**env, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"})
