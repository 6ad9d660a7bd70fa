"""Runs the console blocks of the documentation in a folder of their own, as a reader would type them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

SECONDS = 120
DAY = "2026-03-02"
_OPTION = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
_SOURCE = re.compile(r"(\S+) (from|shared): (\S+)")
_RUN = re.compile(r"\b20\d\d-\d\d-\d\d-(\d+)\b")
_MOMENT = re.compile(r"(?<=  )\d\d:\d\d$")


class Failure(Exception):
    """An example that does not do what the page says."""


class Show(NamedTuple):
    """Which lines of an output a page shows; what is left out becomes `...`."""

    head: int | None = None
    first: str = ""
    last: str = ""

    @classmethod
    def parsed(cls, text: str) -> Show:
        """Of `head=12` or `from="text" to="text"`."""
        found = {name: quoted or plain for name, quoted, plain in _OPTION.findall(text)}
        if not found or set(found) - {"head", "from", "to"}:
            raise Failure(f'`show: {text}` is not understood; write head=N, from="..." or to="..."')
        return cls(
            int(found["head"]) if "head" in found else None, found.get("from", ""), found.get("to", "")
        )

    def of(self, lines: list[str]) -> list[str] | None:
        """The lines to show; None where the output holds none of them."""
        start = _find(lines, self.first, 0)
        last = _find(lines, self.last, start or 0) if self.last else len(lines) - 1
        if start is None or last is None:
            return None
        end = last + 1
        if self.head is not None:
            end = min(end, start + self.head)
        return [*(["..."] if start else []), *lines[start:end], *(["..."] if end < len(lines) else [])]


def _find(lines: list[str], text: str, start: int) -> int | None:
    return next((index for index in range(start, len(lines)) if text in lines[index]), None if text else 0)


class Folder:
    """The folder that the examples of one page run in."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path / "here"
        self._root = root
        self._absent: set[str] = set()
        self._commands = path / "bin"
        for folder in (self.path, self._commands):
            folder.mkdir()
        for name, command in (("steelyard", "-m steelyard "), ("python", "")):
            script = self._commands / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command}"$@"\n')
            script.chmod(0o755)

    def add(self, name: str, text: str) -> None:
        """A file of the example."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def add_all(self, files: Mapping[str, str]) -> None:
        """Several files."""
        for name, text in files.items():
            self.add(name, text)

    def add_named(self, value: str) -> str:
        """Copy the file that a directive names; the name alone means that a block follows, and is given back."""
        source = _SOURCE.fullmatch(value)
        if source is None:
            return value
        name, kind, place = source.groups()
        if kind == "from":
            shutil.copy(self._root / "src" / "steelyard" / "bundled" / place, self.path / name)
        elif (self._root.parent / "shared").is_dir():
            shutil.copy(self._root.parent / "shared" / place, self.path / name)
        else:
            self._absent.add(name)
        return ""

    def lacks_shared(self, body: list[str]) -> bool:
        """Whether a command reads a file of the shared data, which is not there."""
        return any(line.startswith("$ ") and name in line for line in body for name in self._absent)

    def run(self, body: list[str], show: Show) -> list[str]:
        """The block with fresh outputs. An exit code is the page's claim: another one is a `Failure`."""
        found = list(_commands(body))
        commands = [command for command, _ in found]
        claimed = {index: shown for index, (_, shown) in enumerate(found)}
        if not commands:
            raise Failure("a console block without a command; its commands start with `$ `")
        lines: list[str] = []
        code, applied = 0, False
        for index, command in enumerate(commands):
            lines += command.split("\n")
            if command == "$ echo $?":
                if str(code) != claimed.get(index):
                    raise Failure(
                        f"{commands[index - 1]!r} exited {code}, and the page says {claimed.get(index)}"
                    )
                lines.append(str(code))
                continue
            code, output = self._execute(command.removeprefix("$ "))
            announced = index + 1 < len(commands) and commands[index + 1] == "$ echo $?"
            if code != 0 and not announced:
                raise Failure(
                    f"{command!r} exited {code}, and the page does not say so:\n" + "\n".join(output)
                )
            chosen = show.of(output)
            applied = applied or chosen is not None
            lines += output if chosen is None else chosen
        if not applied:
            shown = "\n".join(lines)
            raise Failure(f"no output holds what is to be shown ({show.first!r} to {show.last!r}):\n{shown}")
        return lines

    def _execute(self, command: str) -> tuple[int, list[str]]:
        environment = {
            "PATH": f"{self._commands}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.path), "LC_ALL": "C.UTF-8",
            "PYTHONUTF8": "1", "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "COLUMNS": "80", "NO_COLOR": "1",
            "OPENBLAS_NUM_THREADS": "1",  # each command is short, and starting threads takes longer than it saves
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.path, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
        )  # fmt: skip
        text = done.stdout.decode("utf-8").rstrip()
        return done.returncode, [_settled(line.rstrip()) for line in text.split("\n")] if text else []


def _settled(line: str) -> str:
    """Runs are named after the day, and their list says the minute: a page shows one day for all time."""
    named = _RUN.sub(rf"{DAY}-\1", line)
    return named if named == line and DAY not in line else _MOMENT.sub("09:30", named)


def _commands(body: list[str]) -> Iterator[tuple[str, str]]:
    """The commands of a block, continuation lines joined by newlines, each with the line that follows it."""
    lines = [*body, ""]
    at = 0
    while at < len(body):
        command = lines[at]
        at += 1
        if not command.startswith("$ "):
            continue
        while command.endswith("\\") and at < len(body):
            command += "\n" + lines[at]
            at += 1
        yield command, lines[at]
