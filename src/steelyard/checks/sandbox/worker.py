"""Runs one check function in a process of its own. Started as a script with the standard library alone.

Two processes: the one started here keeps the line back to the grader and gives the verdict of what happened; its
child, which has lost that line, runs the code and can only hand over a returned value.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import struct
import sys
import time
from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False
if TYPE_CHECKING:  # every module counts: this one starts anew for each check
    from collections.abc import Callable
    from typing import Any

MOST_REPORT = 1_000_000
_KILL, _XCPU = 9, 24
_SET_PDEATHSIG, _SET_SECCOMP, _SUBREAPER, _NO_NEW_PRIVS = 1, 22, 36, 38
_FILE_BYTES = 4 * 1024 * 1024
_OPEN_FILES = 64
NOBODY = 65534


def main() -> None:
    request = marshal.loads(sys.stdin.buffer.read())
    nonce = request.pop("nonce")
    channel = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    report = supervise(request, channel)
    os.write(channel, b'{"nonce":"%s",%s}\n' % (nonce.encode(), report))
    os._exit(0)


def supervise(request: dict[str, Any], channel: int) -> bytes:
    """Runs the code in a child and says what became of it, as members of a JSON object: `returned` or `failure`."""
    if sys.platform == "linux":
        _control(_SUBREAPER, 1)  # whatever the code leaves behind becomes ours to end
    token = os.urandom(16).hex().encode()
    reading, writing = os.pipe()
    guardians = {os.getpid(), os.getppid(), -os.getpid(), os.getpgid(os.getppid()), 1, -1}
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.close(channel)
            grade(request, deliverer(writing, token), guardians)
        finally:
            os._exit(70)
    os.close(writing)
    message, status = receive(reading, child, time.monotonic() + request["seconds"])
    if not request["sealed"]:  # a sealed sandbox ends as a whole with this process, its first one
        end_all(child if status is None else None)
    return judged(message, status, token)


def receive(reading: int, child: int, deadline: float) -> tuple[bytes, int | None]:
    """All that was handed over, and the exit status; status None: it was still running at the deadline."""
    message, closed = b"", False
    status: int | None = None
    while (left := deadline - time.monotonic()) > 0 and len(message) < MOST_REPORT:
        if status is None:
            ended, found = os.waitpid(child, os.WNOHANG)
            status = found if ended else None
        if closed and status is None:  # it gave up its end of the line and goes on
            time.sleep(0.001)
            continue
        # A process left behind may hold the line open: once the code is gone, what lies there is all.
        if not closed and select.select([reading], [], [], 0 if status is not None else min(left, 0.05))[0]:
            part = os.read(reading, 65536)
            message, closed = message + part, not part
        elif status is not None:
            return message, status
    return message, None


def judged(message: bytes, status: int | None, token: bytes) -> bytes:
    """What the message and the end of the process mean. Only one whole message with the token is a value."""
    if status is None:
        return b'"failure":"forged"' if len(message) >= MOST_REPORT else b'"failure":"timeout"'
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        return b'"failure":"timeout"' if ended_by == _XCPU else b'"failure":"killed","signal":%d' % ended_by
    if not message:
        return b'"failure":"exited","code":%d' % os.WEXITSTATUS(status)
    genuine = message.startswith(token) and message.find(b"\n") == len(message) - 1 and status == 0
    return b'"returned":' + message[len(token) : -1] if genuine else b'"failure":"forged"'


def end_all(child: int | None) -> None:
    """Ends the code and every process that it left behind, also those that left its session."""
    running = () if child is None else (child,)
    for _ in range(1000):
        for process in {*_children(), *running}:
            try:
                os.kill(process, _KILL)
            except OSError:
                continue
        running = ()
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(process) for process in file.read().split()]
    except OSError:
        return []


def grade(request: dict[str, Any], deliver: Callable[[dict[str, Any]], None], guardians: set[int]) -> None:
    """In the child: take away what the code must not have, call the function, hand over what it returned."""
    os.setsid()
    if sys.platform == "linux":
        _control(_SET_PDEATHSIG, _KILL)
    try:
        confine(request)
        if request["guard"]:
            sys.addaudithook(guard(guardians))
    except Exception as error:  # noqa: BLE001 whatever it was, the code is not run
        deliver({"unconfined": str(error)[:300]})
        return
    arguments, function, source, file = (
        request.pop(key) for key in ("arguments", "function", "source", "file")
    )
    try:
        space: dict[str, Any] = {"__name__": "check", "__file__": file}
        exec(compile(source, file, "exec", dont_inherit=True), space)  # noqa: S102 what this process is for
        value = space[function](**arguments)
    except BaseException as error:  # noqa: BLE001 the edge: what the code raises is told
        kind, said = _described(error)
        deliver({"raised": kind, "said": said})
    else:
        deliver({"value": value})


def _described(error: BaseException) -> tuple[str, str]:
    try:
        return type(error).__name__, str(error)[:300]
    except BaseException:  # noqa: BLE001 an exception need not be able to show itself
        return type(error).__name__, "(its message cannot be read)"


def deliverer(writing: int, token: bytes) -> Callable[[dict[str, Any]], None]:
    """Writes one message and ends the process. All that it needs is bound now: the code may replace any name later."""
    quote, text, write, leave = quoted, _encoder(_scalar_encoder()), os.write, os._exit

    def deliver(report: dict[str, Any]) -> None:
        parts = [quote(key) + ":" + text(one, 0) for key, one in report.items()]
        data = token + ("{" + ",".join(parts) + "}\n").encode()
        while data:
            data = data[write(writing, data) :]
        leave(0)

    return deliver


def _scalar_encoder() -> Callable[[Any], str | None]:
    """JSON of texts and numbers of exactly these types, `"k/n"` of exact fractions; None for anything else."""
    quote, kind_of, shown, loaded, member = quoted, type, repr, sys.modules, getattr
    whole, real, exact, large, long = int, float, str, 1e999, 1 << 256

    def share(part: Any, of: Any) -> str | None:
        sound = kind_of(part) is kind_of(of) is whole and -long < part < long and of < long
        return quote(shown(part) + "/" + shown(of)) if sound else None

    def scalar(value: Any) -> str | None:
        kind = kind_of(value)
        if kind is exact:
            return quote(value[:2000])
        if kind is whole:
            return shown(value) if -long < value < long else None
        if kind is real:
            return shown(value) if -large < value < large else "NaN"
        if kind is member(loaded.get("fractions"), "Fraction", 0):
            return share(value._numerator, value._denominator)
        if kind is member(loaded.get("decimal"), "Decimal", 0) and value.is_finite():
            return share(*value.as_integer_ratio())
        return None

    return scalar


def _encoder(scalar: Callable[[Any], str | None]) -> Callable[[Any, int], str]:
    """JSON of plain data, cut in depth and length; of anything else only the name of its type."""
    quote, kind_of, length, exact = quoted, type, len, str
    sequences, mapping, members = (list, tuple), dict, dict.items
    words = {None: "null", True: "true", False: "false"}

    def text(value: Any, depth: int) -> str:
        kind = kind_of(value)
        if value is None or value is True or value is False:
            return words[value]
        if kind in sequences and depth < 3:
            return "[" + ",".join([text(one, depth + 1) for one in value[:101]]) + "]"
        if kind is mapping and depth < 3 and length(value) < 20:
            pairs = [(key, one) for key, one in members(value) if kind_of(key) is exact]
            return "{" + ",".join([quote(key[:100]) + ":" + text(one, depth + 1) for key, one in pairs]) + "}"
        return scalar(value) or '{"__unusable__":' + quote(kind.__name__[:100]) + "}"

    return text


def confine(request: dict[str, Any]) -> None:
    """Another user where there is a privilege to lose, limits on everything, and no new processes if so asked."""
    if request["sealed"] and os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    seconds = int(request["seconds"]) + 1
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _FILE_BYTES)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    if request["sealed"]:
        _limit(resource.RLIMIT_NPROC, 0)
        _limit(resource.RLIMIT_MEMLOCK, 0)
        _seal()
    _limit(resource.RLIMIT_AS, request["memory"])


def _limit(what: int, soft: int, hard: int | None = None) -> None:
    most = resource.getrlimit(what)[1]
    wanted = soft if most == resource.RLIM_INFINITY else min(soft, most)
    limit = wanted if hard is None else hard
    resource.setrlimit(what, (wanted, limit if most == resource.RLIM_INFINITY else min(limit, most)))


# System calls that a check has no use for, by machine: new processes and programs, signals, sockets, namespaces and
# mounts, other processes' memory, and the parts of the kernel that ordinary code never needs.
_DENIED = {
    "x86_64": (
        0xC000003E,
        "29 41 42 49 53 56 57 58 59 62 68 101 129 155 161 165 166 175 200 234 246 248 249 250 272 297 298 304 308 "
        "310 311 313 319 320 321 322 323 424 425 426 427 428 429 430 432 434 435 438 442",
    ),
    "aarch64": (
        0xC00000B7,
        "39 40 41 51 97 104 105 106 117 129 130 131 138 186 194 198 199 200 203 217 218 219 220 221 240 241 265 268 "
        "270 271 273 279 280 281 282 294 424 425 426 427 428 429 430 432 434 435 438 442",
    ),
}  # fmt: skip


def _seal() -> None:
    """A seccomp filter: the calls above fail with EPERM, and another machine's calls end the process."""
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in _DENIED:
        raise OSError(f"no list of system calls for {sys.platform} on {machine}")
    mark, numbers = _DENIED[machine]
    denied = [int(number) for number in numbers.split()]
    load, equal, least, give = 0x20, 0x15, 0x35, 0x06
    program = [(load, 0, 0, 4), (equal, 1, 0, mark), (give, 0, 0, 0x80000000), (load, 0, 0, 0)]
    program.append((least, len(denied) + 1, 0, 0x40000000))  # the x32 calls of x86
    program += [(equal, len(denied) - index, 0, number) for index, number in enumerate(denied)]
    program += [(give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050001)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    _control(_NO_NEW_PRIVS, 1)
    _control(_SET_SECCOMP, 2, ctypes.addressof(head))


def _control(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def guard(guardians: set[int]) -> Callable[[str, tuple[Any, ...]], None]:
    """For trusted code, against accidents: a bounded number of new processes, and no signals to its guardians."""
    import mmap

    most = 64
    started = mmap.mmap(-1, 8)  # shared by all forks

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.fork", "os.forkpty", "subprocess.Popen", "os.posix_spawn", "os.system"):
            count = int.from_bytes(started[:8], "little") + 1
            started[:8] = count.to_bytes(8, "little")
            if count > most:
                raise OSError("a check may not start so many processes")
        elif event in ("os.kill", "os.killpg") and arguments[0] in guardians:
            raise PermissionError("a check may not send signals to the processes that run it")

    return watch


if __name__ == "__main__":
    main()
