"""HTML of notebooks: plain tables with escaped text, and the texts of their cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from html import escape
from typing import Any

from .._core import Value

__all__ = [
    "EARLIEST_DATE",
    "LATEST_DATE",
    "SHOWN_TEXT",
    "instant_text",
    "member_text",
    "members_html",
    "report_text",
    "shown",
    "table",
    "text_cell",
    "value_text",
]

SHOWN_TEXT = 80
"""The maximum of characters shown of a text."""

EARLIEST_DATE = 10**11
"""The first instant that is shown as a date, in March 1973: earlier ones are of manual clocks that began at 0."""

LATEST_DATE = 253_402_300_799_999
"""The last one, in the year 9999: later ones stand for no end."""

_INSTANTS = frozenset({"at", "now", "deadline", "good_until", "goodUntil", "lease_until", "leaseUntil", "leased_until"})


def instant_text(at: int) -> str:
    """Return an instant as a date in UTC, or its milliseconds if it does not look like Unix time.

    Example:
        >>> from resonate_core import display
        >>> display.instant_text(1_767_225_600_000), display.instant_text(5000)
        ('2026-01-01T00:00:00.000Z', '5000')
    """
    if not EARLIEST_DATE <= at <= LATEST_DATE:
        return str(at)
    date = datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=at)
    return date.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03}Z"


def shown(name: str, value: object) -> object:
    """Return the value of a member; an instant as its text."""
    is_instant = name in _INSTANTS or name.endswith(("_at", "At"))
    return instant_text(value) if is_instant and isinstance(value, int) else value


def text_cell(value: object) -> str:
    """Return a value as escaped text, cut if it is long.

    Example:
        >>> from resonate_core import display
        >>> display.text_cell("<b>")
        '&lt;b&gt;'
    """
    text = value if isinstance(value, str) else repr(value)
    return escape(text if len(text) <= SHOWN_TEXT else text[: SHOWN_TEXT - 1] + "…")


def table(rows: Iterable[Iterable[object]], header: Iterable[str] = (), caption: str = "") -> str:
    """Return a plain HTML table with escaped cells.

    Args:
        rows: The cells, row by row.
        header: The names of the columns, or none.
        caption: The text above the table, or nothing.

    Example:
        >>> from resonate_core import display
        >>> display.table([["a", 1]], header=["id", "n"])
        '<table><thead><tr><th>id</th><th>n</th></tr></thead><tbody><tr><td>a</td><td>1</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{text_cell(name)}</th>" for name in header)
    head = f"<thead><tr>{names}</tr></thead>" if names else ""
    title = f"<caption>{escape(caption)}</caption>" if caption else ""  # whole: it says what is not shown
    body = "".join("<tr>" + "".join(f"<td>{text_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"


def value_text(value: Value) -> str:
    """Return a short text of a value: its JSON, else its raw data.

    Example:
        >>> from resonate_core import Value, display
        >>> display.value_text(Value(data="WzEsMl0="))
        '[1, 2]'
    """
    if value.data is None:
        return "" if value.headers is None else f"headers {value.headers!r}"
    try:
        shown = json.dumps(value.json(), ensure_ascii=False)
    except ValueError:
        shown = value.data
    return shown if not value.headers else f"{shown} headers {value.headers!r}"


def members_html(kind: str, members: Mapping[str, Any]) -> str:
    """Return a table of the members of one record."""
    return table(((name, "" if value is None else shown(name, value)) for name, value in members.items()), caption=kind)


def member_text(name: str, value: Any) -> str:
    """Return a member of a record as text, empty if it says nothing."""
    if isinstance(value, dict):
        if value.keys() <= {"data", "headers"}:
            return value_text(Value(**value)) if value else ""
        if {"code", "message"} <= value.keys():
            return f"{value['code']}: {value['message']}"
        return json.dumps(value, ensure_ascii=False) if value else ""
    if name == "attempts" and isinstance(value, list):
        return _attempts_text(value)
    if name == "report" and isinstance(value, dict):
        return report_text(value)
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return "" if value is None else str(shown(name, value))


def _attempts_text(attempts: list[dict[str, Any]]) -> str:
    return f"{len(attempts)}, the last {attempts[-1].get('outcome', 'under way')}" if attempts else ""


def report_text(report: Mapping[str, Any]) -> str:
    """What a job last reported, in one line.

    Example:
        >>> from resonate_core.notebook.html import report_text
        >>> report_text({"at": 0, "progress": 0.5, "lines": [{"at": 0, "attempt": 1, "text": "page 3 of 6"}]})
        '50 %, page 3 of 6'
    """
    progress, lines = report.get("progress"), report.get("lines")
    return ", ".join(
        [*([] if progress is None else [f"{progress:.0%}".replace("%", " %")]), *([lines[-1]["text"]] if lines else [])]
    )
