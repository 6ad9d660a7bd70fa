"""Check functions that attack: each is an error of its own criterion, the host is unharmed, the next check is graded.

Real processes in every sandbox. Where this machine cannot run bubblewrap, each of its cases must say `no_sandbox`.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from steelyard.checks import Policy, grader_for
from steelyard.checks.sandbox import bubblewrap
from steelyard.errors import GraderError
from steelyard.grading import Engine, RecordedRows
from steelyard.model.checks import PythonCheck, PythonLimits
from steelyard.model.standard import Criterion, Dimension, Suite, Task
from steelyard.model.verdict import Errored, Graded, Score
from unit.checks.trials import given, said, trace_of

pytestmark = pytest.mark.e2e

LIMITS = PythonLimits(seconds=Decimal("0.5"), memory_mb=128, output_kb=64)
AMPLE = PythonLimits()
VERDICT = '{"nonce": "x", "returned": {"value": true}}'
TRIAL = trace_of(said("Paris"))
SECRET = "f2c1-not-for-checks"

# What it does, and the codes that it may end in. Monty has no `os` to speak of: there most are `unsupported`.
EVERYWHERE: dict[str, tuple[str, set[str]]] = {
    "endless loop": ("def check():\n    while True:\n        pass", {"timeout"}),
    "endless loop that swallows": (
        "def check():\n    while True:\n        try:\n            while True:\n                pass\n"
        "        except BaseException:\n            pass",
        {"timeout"},
    ),
    "sleep": ("import time\ndef check():\n    time.sleep(100)", {"timeout"}),
    "fork bomb": ("import os\ndef check():\n    while True:\n        os.fork()", {"check_raised", "forged_verdict"}),
    "fork bomb that swallows": (
        "import os\ndef check():\n    while True:\n        try:\n            os.fork()\n"
        "        except Exception:\n            pass",
        {"timeout"},
    ),
    "2 GB": ("def check():\n    return len('x' * (2 * 1024 ** 3)) > 0", {"memory_limit"}),
    "2 GB by and by": (
        "def check():\n    x = [0]\n    while True:\n        x = x + x",
        {"memory_limit", "timeout"},
    ),
    "1 GB of output": (
        "def check():\n    for _ in range(1024):\n        print('x' * 1024 * 1024)\n    return True",
        {"output_limit"},
    ),
    "1 GB past print": (
        "import os\ndef check():\n    for _ in range(1024):\n        os.write(2, b'x' * 1024 * 1024)\n    return True",
        {"output_limit"},
    ),
    "verdict printed": (f"def check():\n    print('{VERDICT}')", {"nonsense"}),
    "verdict printed, then exit": (
        f"import os\ndef check():\n    print('{VERDICT}', flush=True)\n    os._exit(0)",
        {"no_verdict", "check_raised", "unsupported"},
    ),
    "verdict on every descriptor": (
        "import os\ndef check():\n    for fd in range(256):\n        try:\n"
        f"            os.write(fd, b'{VERDICT}\\n')\n        except OSError:\n            pass\n    os._exit(0)",
        {"forged_verdict"},
    ),
    "verdict on every descriptor, then returned": (
        "import os\ndef check():\n    for fd in range(3, 256):\n        try:\n"
        f"            os.write(fd, b'{VERDICT}\\n')\n        except OSError:\n            pass\n    return True",
        {"forged_verdict"},
    ),
    "verdict on the parent's descriptors": (
        "import os\ndef check():\n    for fd in range(30):\n        try:\n"
        "            out = os.open(f'/proc/{os.getppid()}/fd/{fd}', os.O_WRONLY)\n"
        f"            os.write(out, b'{VERDICT}\\n')\n        except OSError:\n            pass\n    os._exit(0)",
        {"forged_verdict", "no_verdict"},
    ),
    "exit 0 at once": ("import os\nos._exit(0)\ndef check():\n    return True", {"no_verdict"}),
    "exit 0 in the check": ("import os\ndef check():\n    os._exit(0)", {"no_verdict"}),
    "sys.exit": ("import sys\ndef check():\n    sys.exit(0)", {"no_verdict"}),
    "SystemExit": ("def check():\n    raise SystemExit('0')", {"no_verdict"}),
    "kills its parent": (
        "import os\ndef check():\n    os.kill(os.getppid(), 9)\n    return True",
        {"check_raised", "no_verdict"},
    ),
    "stops its parent": (
        "import os\ndef check():\n    os.kill(os.getppid(), 19)\n    return True",
        {"check_raised", "timeout"},
    ),
    "kills everything": (
        "import os\ndef check():\n    os.kill(-1, 9)\n    return True",
        {"check_raised", "no_verdict"},
    ),
    "kills itself": (
        "import os\ndef check():\n    os.kill(os.getpid(), 9)\n    return True",
        {"no_verdict", "check_raised"},
    ),
    "stops itself": (
        "import os\ndef check():\n    os.kill(os.getpid(), 19)\n    return True",
        {"timeout", "check_raised"},
    ),
    "ignores every signal": (
        "import signal\nfor number in range(1, 65):\n    try:\n        signal.signal(number, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\ndef check():\n    while True:\n        pass",
        {"timeout"},
    ),
    "closes every descriptor": (
        "import os\ndef check():\n    os.closerange(0, 1000)\n    while True:\n        pass",
        {"timeout"},
    ),
    "reads a secret": (
        "import os\ndef check():\n    return os.environ['STEELYARD_TEST_SECRET'] == ''",
        {"check_raised"},
    ),
    "executes a program": (
        f"import os\ndef check():\n    os.execv('/bin/sh', ['sh', '-c', 'echo {VERDICT}'])",
        {"check_raised", "no_verdict"},
    ),
    "recursion": ("def check():\n    return check()", {"too_deep"}),
    "recursion past its limit": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef check():\n    return sorted([1], key=lambda one: check())",
        {"no_verdict", "timeout", "memory_limit"},
    ),
    "hostile message": (
        "def check():\n    raise ValueError('\\x1b[31m\\x00\\ud800' + 'x' * 10_000_000)",
        {"check_raised", "memory_limit"},
    ),
    "message without end": (
        "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\n"
        "def check():\n    raise E()",
        {"timeout"},
    ),
    "message that is no text": (
        "class E(Exception):\n    def __str__(self):\n        return 1\ndef check():\n    raise E()",
        {"check_raised"},
    ),
    "evil object": (
        "class E:\n    def __eq__(self, other):\n        return True\n    def __float__(self):\n        return 1.0\n"
        "    def __bool__(self):\n        return True\ndef check():\n    return E()",
        {"nonsense"},
    ),
    "evil number": ("class E(float):\n    pass\ndef check():\n    return E(1.0)", {"nonsense"}),
    "evil mapping": ("class E(dict):\n    pass\ndef check():\n    return E(score=1)", {"nonsense"}),
    "pickle": ("import pickle\ndef check():\n    return pickle.dumps(True)", {"nonsense"}),
    "deep value": (
        "def check():\n    x = []\n    for _ in range(100000):\n        x = [x]\n    return x",
        {"nonsense"},
    ),
    "value without end": (
        "def check():\n    x = [1]\n    for _ in range(60):\n        x = [x, x]\n"
        "    return {'score': 1, 'evidence': x}",
        {"nonsense"},
    ),
    "value of 100 MB": ("def check():\n    return 'x' * 100_000_000", {"nonsense", "memory_limit"}),
    "fills the disk": (
        "def check():\n    with open('/tmp/steelyard-filled', 'wb') as file:\n        while True:\n"
        "            file.write(b'x' * 1024 * 1024)",
        {"check_raised"},
    ),
}  # fmt: skip

# What full Python for trusted code may do, and untrusted code may not.
UNTRUSTED: dict[str, tuple[str, set[str]]] = {
    "reads a file": ("def check():\n    return len(open('/etc/passwd').read()) > 0", {"check_raised"}),
    "reads the suite": ("def check():\n    return len(open(PATH).read()) > 0", {"check_raised"}),
    "reads through a link": (
        "import os\ndef check():\n    os.symlink(PATH, '/tmp/link')\n    return len(open('/tmp/link').read()) > 0",
        {"check_raised"},
    ),
    "reads the environment of others": (
        "import os\ndef check():\n    pids = [name for name in os.listdir('/proc') if name.isdigit()]\n"
        f"    if any(b'{SECRET}' in open(f'/proc/{{pid}}/environ', 'rb').read() for pid in pids):\n"
        "        return True\n    raise ValueError('nothing')",
        {"check_raised"},
    ),
    "writes": (
        "def check():\n    open('/usr/steelyard-was-here', 'w').write('x')\n    return True",
        {"check_raised"},
    ),
    "connects": (
        "import socket\ndef check():\n    socket.create_connection(('127.0.0.1', PORT), 1)\n    return True",
        {"check_raised"},
    ),
    "leaves a process behind": ("import os\ndef check():\n    os.fork()\n    return True", {"check_raised"}),
    "starts a thread": (
        "import threading\ndef check():\n    threading.Thread(target=check).start()\n    return True",
        {"check_raised"},
    ),
    "makes namespaces": (
        "import ctypes\ndef check():\n    if ctypes.CDLL(None).unshare(0x10000000):\n        raise OSError('no')\n"
        "    return True",
        {"check_raised"},
    ),
}
SANDBOXES = ("monty", "bubblewrap", "plain")
CASES = [
    pytest.param(sandbox, *attack, id=f"{sandbox}-{name}")
    for sandbox in SANDBOXES
    for name, attack in (EVERYWHERE if sandbox == "plain" else EVERYWHERE | UNTRUSTED).items()
]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def graded(folder: Path, sandbox: str, source: str, limits: PythonLimits = AMPLE) -> Any:
    (folder / "check.py").write_text(source)
    named: Any = "auto" if sandbox == "plain" else sandbox
    spec = PythonCheck(file="check.py", sandbox=named, limits=limits)
    policy = Policy(trust_graders=sandbox == "plain", folder=str(folder))
    return grader_for(spec, policy).grade(spec, given(TRIAL))


def works(sandbox: str) -> bool:
    return sandbox != "bubblewrap" or bubblewrap._fault() is None


@pytest.mark.parametrize(("sandbox", "source", "codes"), CASES)
def test_an_attack_is_an_error_and_the_next_check_is_graded(
    sandbox: str,
    source: str,
    codes: set[str],
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STEELYARD_TEST_SECRET", SECRET)
    source = source.replace("PORT", str(port)).replace("PATH", repr(str(tmp_path / "check.py")))
    started = time.monotonic()
    with pytest.raises(GraderError) as raised:
        graded(tmp_path, sandbox, source, LIMITS)
    assert time.monotonic() - started < 8
    if not works(sandbox):
        assert raised.value.code == "no_sandbox"
        return
    allowed = codes | {"timeout"} | ({"unsupported", "check_raised"} if sandbox == "monty" else set())
    assert raised.value.code in allowed, str(raised.value)
    assert SECRET not in str(raised.value)
    assert len(str(raised.value)) < 1000
    assert not Path("/usr/steelyard-was-here").exists()
    after = graded(tmp_path, sandbox, "def check(answer):\n    return answer == 'Paris'\n")
    assert isinstance(after, Score)
    assert after.value == 1
    Path("/tmp/steelyard-filled").unlink(missing_ok=True)


@pytest.mark.parametrize("sandbox", ["bubblewrap", "plain"])
def test_a_replaced_worker_reports_what_was_returned(sandbox: str, tmp_path: Path) -> None:
    source = (
        "import builtins, sys\nworker = sys.modules['__main__']\n"
        "for name in list(vars(worker)):\n    if not name.startswith('__'):\n"
        "        setattr(worker, name, lambda *a, **k: 'true')\n"
        "builtins.type = lambda value: bool\nbuiltins.repr = builtins.str = lambda value: '1'\n"
        "def check():\n    return False\n"
    )
    if not works(sandbox):
        with pytest.raises(GraderError, match="no bubblewrap sandbox"):
            graded(tmp_path, sandbox, source)
        return
    assert graded(tmp_path, sandbox, source).value == 0


def test_trusted_code_leaves_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    source = (
        "import os, time\ndef check():\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
        f"            open({str(tmp_path / 'daemon')!r}, 'w').write(str(os.getpid()))\n"
        "            while True:\n                time.sleep(0.05)\n        os._exit(0)\n"
        f"    while not os.path.exists({str(tmp_path / 'daemon')!r}):\n        time.sleep(0.01)\n    return True\n"
    )
    assert graded(tmp_path, "plain", source).value == 1
    daemon = int((tmp_path / "daemon").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)


def test_an_attack_costs_only_its_own_criterion(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_bytes(b"def check(answer):\r\n    return answer == 'Paris'\r\n")
    (tmp_path / "bad.py").write_text("def check(answer):\n    while True:\n        pass\n")
    criteria = tuple(
        Criterion(
            id=f"C{number}", dimension="correctness", layer="outcome", rule="It MUST hold.",
            check=PythonCheck(file=file, limits=LIMITS),
        )
        for number, file in enumerate(("good.py", "bad.py", "gone.py", "good.py"), 1)
    )  # fmt: skip
    suite = Suite(
        name="s", owner="o", tasks=(Task(id="t1", prompt="Where?", criteria=criteria),),
        dimensions={"correctness": Dimension(name="correctness", definition="right")},
    )  # fmt: skip
    policy = Policy(folder=str(tmp_path))
    engine = Engine(suite, grader_for=lambda spec: grader_for(spec, policy), recorded=RecordedRows(()))
    rows = list(engine.grade([trace_of(said("Paris"), task_id="t1")]))[1:]
    assert [type(row) for row in rows] == [Graded, Errored, Errored, Graded]
    assert [row.error for row in rows if isinstance(row, Errored)] == ["timeout", "missing_file"]
    assert [row.score for row in rows if isinstance(row, Graded)] == [1.0, 1.0]
