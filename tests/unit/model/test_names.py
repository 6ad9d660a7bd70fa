"""Names of files for ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.names import id_of, safe_name


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("checkout-2_b.csv", "checkout-2_b.csv"),
        ("a/b", "a+2fb"),
        ("a:b", "a+3ab"),
        ("A", "+41"),
        ("a+b", "a+2bb"),
        ("", "+"),
        ("+", "+2b"),
        (".", "+2e"),
        ("..", "+2e+2e"),
        ("a..b", "a..b"),
        (".profile", "+2eprofile"),
        ("end.", "end+2e"),
        ("con", "+63on"),
        ("nul.txt", "+6eul.txt"),
        ("lpt9.a.b", "+6cpt9.a.b"),
        ("com10", "com10"),
        ("console", "console"),
        ("CON", "+43+4f+4e"),
        ("😀", "+f0+9f+98+80"),
        ("a b", "a+20b"),
        ("\ud800", "+ed+a0+80"),
    ],
)
def test_short_ids_are_written_out_and_read_back(id: str, name: str) -> None:
    assert safe_name(id) == name
    assert id_of(name) == id


def test_long_ids_are_short_and_differ() -> None:
    ids = [
        "x" * 300,
        "x" * 301,
        "X" * 300,
        "é" * 150,
        "😀" * 100,
        "x" * 121,
        "a" * 53 + "é" * 50,
        "a" * 52 + "é" * 50,
    ]
    names = [safe_name(id) for id in ids]
    assert len(set(names)) == len(ids)
    assert all(100 < len(name) <= 120 and "++" in name and id_of(name) is None for name in names)
    assert safe_name("x" * 120) == "x" * 120
    # An escape is never cut in two.
    assert safe_name("a" * 53 + "é" * 50).startswith("a" * 53 + "++")
    assert safe_name("a" * 52 + "é" * 50).startswith("a" * 52 + "++")


def test_every_name_makes_a_file(tmp_path: Path) -> None:
    ids = [
        "A",
        "a",
        "a/b",
        "a:b",
        "CON",
        "..",
        "",
        "x" * 300,
        "😀" * 90,
        "\0",
        "a\nb",
        "-rf",
        "~",
        "*?<>|\"'",
    ]
    for id in ids:
        (tmp_path / (safe_name(id) + ".jsonl")).write_text(id)
    found = {path.name.removesuffix(".jsonl") for path in tmp_path.iterdir()}
    assert found == set(map(safe_name, ids))


@pytest.mark.parametrize("name", ["A", "+4", "+4G", "+6", "+61", "a++", "é", "con", ".a", "x/y", "+ff"])
def test_what_is_no_safe_name_has_no_id(name: str) -> None:
    assert id_of(name) is None
