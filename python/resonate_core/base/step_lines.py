"""The lines that a worker adds to the report of a workflow about its steps: written here, and read here.

A step is recorded once it has ended, so these lines are all that others know of one that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from .instants import moment

__all__ = ["StepLine", "raised_line", "read_lines", "running_line"]

#: The most characters of an error in a line, which is cut after 1,000 bytes.
_MOST_OF_AN_ERROR = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class StepLine:
    """What the newest line about a step says.

    Attributes:
        id: Of the step.
        name: Its name.
        attempt: The number of its attempt.
        since: When the attempt began, in Unix ms; None: it has failed.
        error: What the attempt has raised; None: it runs.
        again_at: When the next one begins, in Unix ms; None: that is not known.
    """

    id: str
    name: str
    attempt: int
    since: int | None = None
    error: str | None = None
    again_at: int | None = None


def running_line(name: str, id: str, attempt: int, since: int) -> str:
    """Return the line of a step that runs for a while.

    Example:
        >>> from resonate_core.base.step_lines import running_line
        >>> running_line("charge", "order-7:2", 1, 5000)
        'step charge (order-7:2), attempt 1: runs since 1970-01-01T00:00:05.000Z'
    """
    return f"{_head(name, id, attempt)}: runs since {moment(since)}"


def raised_line(name: str, id: str, attempt: int, error: str, again_in: int | None = None) -> str:
    """Return the line of an attempt that has failed.

    Args:
        name: Of the step.
        id: Of the step.
        attempt: The number of the attempt.
        error: The name of the exception, and its text.
        again_in: The delay before the next attempt, in ms; None: there is none.

    Example:
        >>> from resonate_core.base.step_lines import raised_line
        >>> raised_line("charge", "order-7:2", 1, "ConnectionError: no route", 2000)
        'step charge (order-7:2), attempt 1: ConnectionError: no route; again in 2000 ms'
    """
    words = " ".join(error.split())
    shown = words if len(words) <= _MOST_OF_AN_ERROR else f"{words[:_MOST_OF_AN_ERROR]}…"
    return f"{_head(name, id, attempt)}: {shown}" + ("" if again_in is None else f"; again in {again_in} ms")


def read_lines(job: str, lines: Iterable[Mapping[str, Any]]) -> dict[str, StepLine]:
    """Return what the newest line about each step says, by the id of the step, in the order of these lines.

    Other lines, which functions of the program have reported, are passed over.

    Args:
        job: The id of the workflow.
        lines: Of its report, the oldest first.

    Example:
        >>> from resonate_core.base.step_lines import raised_line, read_lines, running_line
        >>> texts = [raised_line("charge", "o:1", 1, "OSError: no", 2000), "half done", running_line("charge", "o:1", 2, 5000)]
        >>> read_lines("o", [{"at": 4000, "attempt": 1, "text": text} for text in texts])
        {'o:1': StepLine(id='o:1', name='charge', attempt=2, since=5000, error=None, again_at=None)}
    """
    pattern = _pattern(job)
    found: dict[str, StepLine] = {}
    for line in lines:
        read = pattern.fullmatch(line["text"])
        if read is None:
            continue
        name, id, attempt, since, error, again = read.groups()
        begun = None if since is None else _instant(since)
        if since is not None and begun is None:
            continue
        found.pop(id, None)
        found[id] = StepLine(id, name, int(attempt), begun, error, None if again is None else line["at"] + int(again))
    return found


def _head(name: str, id: str, attempt: int) -> str:
    return f"step {' '.join(name.split())} ({id}), attempt {attempt}"


@lru_cache(maxsize=64)
def _pattern(job: str) -> re.Pattern[str]:
    number = r"\d{1,9}"
    return re.compile(
        rf"step (.+?) \(({re.escape(job)}(?::{number})+)\), attempt ({number}): "
        rf"(?:runs since (\S+)|(\S.*?)(?:; again in (\d{{1,15}}) ms)?)"
    )


def _instant(text: str) -> int | None:
    try:
        passed = datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH
    except (TypeError, ValueError):
        return None
    return round(passed.total_seconds() * 1000)
