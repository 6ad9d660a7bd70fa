"""Which call a result answers. A call id is no key: real recordings use one again for another call."""

from __future__ import annotations

from collections import deque

_Key = tuple[str, str, str]


def _key(provider_id: str | None, name: str | None, caller: str) -> _Key:
    return ("name", caller, name or "") if provider_id is None else ("id", caller, provider_id)


class Pairing:
    """The open calls of one trace, by the position of their step."""

    def __init__(self) -> None:
        self.unanswered: dict[int, _Key] = {}
        self._waiting: dict[_Key, deque[int]] = {}
        self._asked: dict[str, deque[int]] = {}

    def asked(self, position: int, caller: str, provider_id: str | None, name: str) -> bool:
        """Notes a call; whether its id was used before."""
        key = _key(provider_id, name, caller)
        queue = self._waiting.get(key)
        repeated = queue is not None and provider_id is not None
        if queue is None:
            queue = self._waiting[key] = deque()
        queue.append(position)
        self.unanswered[position] = key
        self._asked.setdefault(caller, deque()).append(position)
        return repeated

    def answer(self, provider_id: str | None, name: str | None, caller: str) -> tuple[int | None, bool]:
        """The call that a result answers: the next open one of its id, or without an id the next of its name.

        A result with neither answers the oldest open call; the second value says that this was so.
        """
        queue = self._waiting.get(_key(provider_id, name, caller))
        if queue:
            position = queue.popleft()
            del self.unanswered[position]
            return position, False
        if provider_id is not None or name:
            return None, False
        asked = self._asked.get(caller, deque())
        while asked and asked[0] not in self.unanswered:
            asked.popleft()
        if not asked:
            return None, True
        self._waiting[self.unanswered.pop(asked[0])].remove(asked[0])
        return asked.popleft(), True
