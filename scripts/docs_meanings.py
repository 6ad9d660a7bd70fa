"""What the keys of a suite file and the codes mean, where the source does not say it in a sentence of its own."""

from __future__ import annotations

MEANINGS: dict[str, str] = {}
NOTICES: dict[str, str] = {}
ERRORS: dict[str, str] = {}
