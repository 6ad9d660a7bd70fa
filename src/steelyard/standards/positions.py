"""Where each criterion stands in its suite file. Worked out only when somebody asks: a sound suite keeps no lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import UNSET

from steelyard.standards.draft import PlacedTask, draft_of_nodes
from steelyard.standards.load import FORMATS
from steelyard.standards.nodes import MAX_BYTES
from steelyard.standards.parse import locator, read_nodes
from steelyard.standards.problems import Path as Place
from steelyard.standards.problems import Problems
from steelyard.standards.texts import TextError, read_limited, to_unicode


def criterion_lines(path: str | Path) -> Mapping[tuple[str, str], int]:
    """Lines by (task id, criterion id); the task's own line under (task id, "").

    Criteria of a table's rows have the line of their template. Empty where nothing can be said: a Python module, a
    file that is gone or is no suite any more.
    """
    place = Path(path)
    form = FORMATS.get(place.suffix.lower())
    if form is None:
        return {}
    try:
        text = to_unicode(read_limited(place, MAX_BYTES), place.name)
    except TextError:
        return {}
    problems = Problems()
    root = read_nodes(text, form, problems)
    if root is None:
        return {}
    locate = locator(root, text, form)
    tasks = draft_of_nodes(root, problems, str(place.parent)).tasks
    found = ((key, locate(where)) for task in tasks for key, where in _places(task))
    return {key: line for key, line in found if line}


def _places(placed: PlacedTask) -> Iterator[tuple[tuple[str, str], Place]]:
    yield (placed.task.id, ""), placed.path
    for index, criterion in enumerate(placed.task.criteria):
        name = criterion.use if criterion.id is UNSET else criterion.id
        if name is not UNSET:
            yield (placed.task.id, name), (*placed.path, "criteria", index)
