"""What the user allows the checks of a suite, and where their files are."""

from __future__ import annotations

import msgspec


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """`trust_graders`: `python` checks whose sandbox is left open run as plain Python. `folder`: the suite's own."""

    trust_graders: bool = False
    folder: str = "."
