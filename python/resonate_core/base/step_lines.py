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

__all__ = ["ToldStep", "raised_line", "read_lines", "running_line"]

#: The most characters of an error in a line, which is cut after 1,000 bytes.
_MOST_OF_AN_ERROR = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(slots=True)
class ToldStep:
    """What the lines of a report say about a step.

    Attributes:
        id: Of the step.
        name: Its name.
        job_attempt: The attempt of the workflow that has reported the newest line.
        attempt: The attempt of the step that runs, or runs next.
        since: When that began, in Unix ms; None: it has not.
        begins_at: When it begins, in Unix ms; None: it has begun, or that is not known.
        error: What an attempt before has raised last; None: that is not known.
    """

    id: str
    name: str
    job_attempt: int
    attempt: int
    since: int | None = None
    begins_at: int | None = None
    error: str | None = None


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


def read_lines(job: str, lines: Iterable[Mapping[str, Any]]) -> dict[str, ToldStep]:
    """Return what the lines of a report say about steps, by the id of the step, in the order of the newest lines.

    Other lines, which functions of the program have reported, are passed over.

    Args:
        job: The id of the workflow.
        lines: Of its report, the oldest first.

    Example:
        >>> from resonate_core.base.step_lines import raised_line, read_lines, running_line
        >>> texts = [raised_line("charge", "o:1", 1, "OSError: no", 2000), "half done", running_line("charge", "o:1", 2, 6500)]
        >>> read_lines("o", [{"at": 4000, "attempt": 1, "text": text} for text in texts])["o:1"]
        ToldStep(id='o:1', name='charge', job_attempt=1, attempt=2, since=6500, begins_at=None, error='OSError: no')
    """
    pattern = _pattern(job)
    found: dict[str, ToldStep] = {}
    for line in lines:
        read = pattern.fullmatch(line["text"])
        if read is None:
            continue
        name, id, number, since, error, again = read.groups()
        before = found.pop(id, None)
        told = ToldStep(id, name, line["attempt"], int(number))
        if error is None:
            told.since = _instant(since)
            told.error = None if before is None else before.error
        else:
            told.attempt += 1
            told.begins_at = None if again is None else line["at"] + int(again)
            told.error = error
        found[id] = told
    return found


def _head(name: str, id: str, attempt: int) -> str:
    return f"step {' '.join(name.split())} ({id}), attempt {attempt}"


@lru_cache(maxsize=64)
def _pattern(job: str) -> re.Pattern[str]:
    number = r"[0-9]{1,9}"
    return re.compile(
        rf"step (.+?) \(({re.escape(job)}(?::{number})+)\), attempt ({number}): "
        rf"(?:runs since ([0-9]\S+)|(\S.*?)(?:; again in ([0-9]{{1,15}}) ms)?)"
    )


def _instant(text: str) -> int | None:
    """Return an instant of `moment`; None if the text is another."""
    if text.isascii() and text.isdigit():  # beyond the calendar
        return int(text) if len(text) < 20 else None
    try:
        passed = datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH
    except (TypeError, ValueError):
        return None
    return round(passed.total_seconds() * 1000)
