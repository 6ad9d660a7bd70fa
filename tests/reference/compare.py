"""Files and comparison: the reference on stored cases, and where another scorer departs from it.

`python -m tests.reference.compare SUITE.json ROWS.jsonl` prints the reference's table; with a third file, a
scorer's JSON output, it prints the differences and exits 1 if there are any.
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.reference.records import exact_number
from tests.reference.scorer import score


def load(path: str | Path) -> Any:
    """A JSON file, or a list of the lines of a .jsonl file, with decimals as written."""
    text = Path(path).read_text(encoding="utf-8")
    if str(path).endswith(".jsonl"):
        return [json.loads(line, parse_float=Decimal) for line in text.splitlines() if line.strip()]
    return json.loads(text, parse_float=Decimal)


OWN_KEYS = ("graded_mean_by_votes", "notices", "exit_code", "placeholder", "with_faults_as_failures")


def differences(expected: Any, actual: Any, where: str = "", tolerance: float = 1e-9) -> list[str]:
    """Where `actual` (a product's score output) departs from `expected`, by path.

    Ignored: extra keys of `actual`, OWN_KEYS, and intervals on which the reference has no opinion. Tasks,
    trials and criteria are matched by id; a key that `actual` lacks is reported as MISSING.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = []
        for key, value in expected.items():
            if key in OWN_KEYS or (key == "ci" and value is None):
                continue
            if key not in actual:
                found.append(f"{where}.{key}: MISSING (expected {value!r:.60})")
            else:
                found += differences(value, actual[key], f"{where}.{key}", tolerance)
        return found
    if isinstance(expected, list) and isinstance(actual, list):
        return differences(by_id(expected), by_id(actual), where, tolerance)
    left, right = exact_number(expected), exact_number(actual)
    if left is not None and right is not None:
        return (
            [] if abs(left - right) <= tolerance else [f"{where}: expected {float(left)}, got {float(right)}"]
        )
    same = type(expected) is type(actual) and expected == actual
    return [] if same else [f"{where}: expected {expected!r:.60}, got {actual!r:.60}"]


def by_id(entries: list[Any]) -> dict[str, Any]:
    named = {}
    for place, entry in enumerate(entries):
        label = entry.get("id", entry.get("trial", place)) if isinstance(entry, dict) else place
        named[str(label)] = entry
    return named


def main(arguments: list[str]) -> int:
    table = score(load(arguments[0]), load(arguments[1]))
    if len(arguments) == 2:
        sys.stdout.write(json.dumps(table, indent=1, allow_nan=False) + "\n")
        return 0
    found = differences(table, load(arguments[2]))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
