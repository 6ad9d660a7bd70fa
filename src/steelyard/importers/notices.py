"""Equal notices as one: a trace with 500 malformed calls says so once."""

from __future__ import annotations

from steelyard.model.trace import Notice


class _Tally:
    def __init__(self, detail: str, step: str | None) -> None:
        self.detail, self.step, self.count = detail, step, 1


class Tallies:
    """Notices of one trace by code: the first detail and step, and how often."""

    def __init__(self) -> None:
        self._by_code: dict[str, _Tally] = {}

    def add(self, code: str, detail: str, step: str | None) -> None:
        tally = self._by_code.get(code)
        if tally is None:
            self._by_code[code] = _Tally(detail, step)
        else:
            tally.count += 1

    def told(self) -> tuple[Notice, ...]:
        """The notices, in the order in which each code was first met."""
        return tuple(_told(code, tally) for code, tally in self._by_code.items())


def _told(code: str, tally: _Tally) -> Notice:
    if tally.count == 1:
        return Notice(code=code, detail=tally.detail, step=tally.step)
    first = f"; first in {tally.step}" if tally.step else ""
    return Notice(code=code, detail=f"{tally.detail} ({tally.count} times{first})", step=tally.step)
