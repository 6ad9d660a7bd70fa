"""The script that keeps the documentation true notices what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "docs.py"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "page.md"


def run(page: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    page.write_text(text, "utf-8")
    command = [sys.executable, str(SCRIPT), *options, str(page)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def block(body: str, before: str = "") -> str:
    return f"{before}```console\n{body}\n```\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (block("$ echo one\none"), 0, ""),
        (block("$ echo one\ntwo"), 1, "+one"),
        (block("$ echo one"), 1, "is stale"),
        (block("$ false"), 1, "exited 1, and the page does not say so"),
        (block("$ false\n$ echo $?\n1"), 0, ""),
        (block("$ false\n$ echo $?\n0"), 1, "exited 1, and the page says 0"),
        (block("$ true\n$ echo $?\n1"), 1, "exited 0, and the page says 1"),
        (block("$ seq 3\n1\n...", "<!-- show: head=1 -->\n"), 0, ""),
        (block("$ seq 5\n...\n2\n3\n...", '<!-- show: from="2" to="3" -->\n'), 0, ""),
        (block("$ seq 3\n...", '<!-- show: from="9" -->\n'), 1, "no output holds what is to be shown"),
        (block("$ seq 3", "<!-- show: everything -->\n"), 1, "is not understood"),
        (block("no command"), 1, "without a command"),
        ("<!-- file: a.txt -->\n```text\nheld\n```\n" + block("$ cat a.txt\nheld"), 0, ""),
        ("<!-- generated: nothing -->\n<!-- end -->\n", 1, "there is no generated part"),
        ("<!-- generated: help -->\n\nold\n\n<!-- end -->\n", 1, "-old"),
    ],
)  # fmt: skip
def test_what_is_not_true_is_noticed(page: Path, text: str, code: int, said: str) -> None:
    done = run(page, text, "--check")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert page.read_text("utf-8") == text


def test_a_stale_output_is_rewritten(page: Path) -> None:
    assert run(page, block("$ echo one\ntwo\n$ echo 3")).returncode == 0
    assert page.read_text("utf-8") == block("$ echo one\none\n$ echo 3\n3")


def test_a_wrong_exit_code_is_never_rewritten(page: Path) -> None:
    text = block("$ false\n$ echo $?\n0")
    assert run(page, text).returncode == 1
    assert page.read_text("utf-8") == text


def test_run_names_and_minutes_are_those_of_one_day(page: Path) -> None:
    said = ("kept as run 2031-12-24-7", "  2031-12-24-7  PASS  1 trial  23:59", "at 23:59, 2031-12-24")
    assert run(page, block("\n".join(f"$ echo '{line}'" for line in said))).returncode == 0
    shown = [line for line in page.read_text("utf-8").split("\n") if line[:1] not in ("$", "`")]
    assert shown[:3] == [
        "kept as run 2026-03-02-7",
        "  2026-03-02-7  PASS  1 trial  09:30",
        "at 23:59, 2031-12-24",
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('    "zero_calls": ', '    "zero_rolls": ', "no longer has: zero_rolls"),
        ('    "zero_calls": ', '    "zero_calls": "" and ', "without a sentence; add them"),
    ],
)
def test_codes_and_their_sentences_go_together(page: Path, before: str, after: str, said: str) -> None:
    scripts = page.parent / "checkout" / "scripts"
    scripts.mkdir(parents=True)
    for script in SCRIPT.parent.glob("docs*.py"):
        (scripts / script.name).write_text(script.read_text("utf-8").replace(before, after), "utf-8")
    page.write_text("<!-- generated: notices -->\n<!-- end -->\n", "utf-8")
    command = [sys.executable, str(scripts / "docs.py"), "--check", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert said in done.stderr


def test_a_page_without_the_shared_data_says_what_it_did_not_run(page: Path) -> None:
    """The script looks for the data beside the checkout that it stands in, so a copy of it finds none."""
    elsewhere = page.parent / "checkout" / "scripts"
    elsewhere.mkdir(parents=True)
    for script in SCRIPT.parent.glob("docs*.py"):
        (elsewhere / script.name).write_text(script.read_text("utf-8"), "utf-8")
    text = (
        "<!-- file: x.json shared: data/x.json -->\n" + block("$ cat x.json\nold") + block("$ echo one\none")
    )
    page.write_text(text, "utf-8")
    command = [sys.executable, str(elsewhere / "docs.py"), "--check", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "not run" in done.stdout
