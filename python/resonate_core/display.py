"""HTML of stores and records for notebooks: plain tables with escaped text.

The `_repr_html_` methods of the module call these functions by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from html import escape
from typing import TYPE_CHECKING, Any

from resonate_core._core import Replay, Value
from resonate_core._instants import counted
from resonate_core._timeline import (
    explore as explore,
    export_html as export_html,
    timeline as timeline,
    timeline_data as timeline_data,
)
from resonate_core._widget_view import view_of

if TYPE_CHECKING:
    from resonate_core._core import (
        Claim,
        Fenced,
        Fired,
        Job,
        JobBatch,
        JobHeartbeat,
        Message,
        Promise,
        PromiseBatch,
        PromisePage,
        Schedule,
        SchedulePage,
        Store,
        Suspension,
        Task,
        TaskPage,
        Violation,
    )
    from resonate_core._diff import Change, Diff
    from resonate_core._timeline_widget import DiffWidget

SHOWN_ROWS = 20
"""The maximum of records shown of a page."""

SHOWN_CHANGES = 100
"""The maximum of differences shown of a diff."""

SHOWN_TEXT = 80
"""The maximum of characters shown of a text."""

COUNTED_PROMISES = 200_000
"""The maximum of promises that a store's table counts by state; counting reads each of them."""


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


def _shown(name: str, value: object) -> object:
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


def _members(kind: str, members: Mapping[str, Any]) -> str:
    return table(((name, "" if value is None else _shown(name, value)) for name, value in members.items()), caption=kind)


def value_html(value: Value) -> str:
    """Return a table of a value's members."""
    return _members("Value", {"headers": value.headers, "data": value.data, "json": value_text(value)})


def promise_html(promise: Promise) -> str:
    """Return a table of a promise's members."""
    return _members(
        "Promise",
        {
            "id": promise.id,
            "state": promise.state,
            "param": value_text(promise.param),
            "value": value_text(promise.value),
            "tags": promise.tags,
            "timeout_at": promise.timeout_at,
            "created_at": promise.created_at,
            "settled_at": promise.settled_at,
        },
    )


def task_html(task: Task) -> str:
    """Return a table of a task's members."""
    names = ("id", "state", "version", "resumes", "ttl", "pid")
    return _members("Task", {name: getattr(task, name) for name in names})


def schedule_html(schedule: Schedule) -> str:
    """Return a table of a schedule's members."""
    return _members(
        "Schedule",
        {
            "id": schedule.id,
            "cron": schedule.cron,
            "promise_id": schedule.promise_id,
            "promise_timeout": schedule.promise_timeout,
            "promise_param": value_text(schedule.promise_param),
            "promise_tags": schedule.promise_tags,
            "next_run_at": schedule.next_run_at,
            "last_run_at": schedule.last_run_at,
            **({"paused": True} if schedule.paused else {}),
        },
    )


def job_html(job: Job) -> str:
    """Return a table of a job's members, and one of its last attempts."""
    members: dict[str, Any] = {name: getattr(job, name) for name in ("id", "type", "queue", "state", "version", "priority")}
    members["payload"] = value_text(job.payload)
    if job.state == "completed":
        members["result"] = value_text(job.result)
    members["retries"] = f"{job.retry_count} of {job.max_retries}"
    attempts = job.attempts
    members["attempts"] = _attempts_text(attempts) or "none"
    if job.report:
        members["report"] = report_text(job.report)
    if job.error:
        members["error"] = f"{job.error['code']}: {job.error['message']}"
    for name in (
        "claimed_by",
        "process_at",
        "good_until",
        "enqueued_at",
        "started_at",
        "next_retry_at",
        "completed_at",
        "failed_at",
    ):
        if getattr(job, name) is not None:
            members[name] = getattr(job, name)
    members["tags"] = json.dumps(dict(job.tags), ensure_ascii=False) if job.tags else ""
    shown = [{**attempt, "error": _member_text("error", attempt.get("error"))} for attempt in attempts[-SHOWN_ROWS:]]
    names = ("number", "worker", "startedAt", "finishedAt", "outcome", "error")
    lines = ([_member_text(name, attempt.get(name)) for name in names] for attempt in shown)
    return _members("Job", members) + (table(lines, header=names, caption="Attempts") if attempts else "")


def message_html(message: Message) -> str:
    """Return a table of a message's members."""
    names = ("kind", "id", "version", "address", "attempts", "queued_at", "key")
    return _members("Message", {name: getattr(message, name) for name in names})


def fired_html(fired: Fired) -> str:
    """Return a table of a step's members."""
    return _members("Fired", fired.to_dict())


def violation_html(violation: Violation) -> str:
    """Return a table of a violation's members."""
    return _members("Violation", violation.to_dict())


def _preload(reply: Claim | Suspension | Fenced) -> dict[str, object]:
    ids = [promise.id for promise in reply.preload]
    return {"preload": ", ".join(ids) + (", ..." if reply.preload_cut else "")} if ids else {}


def claim_html(claim: Claim) -> str:
    """Return tables of a claim's task and promise, and of its preload if it has any."""
    preload = _preload(claim)
    return task_html(claim.task) + promise_html(claim.promise) + (_members("Claim", preload) if preload else "")


def suspension_html(suspension: Suspension) -> str:
    """Return a table of a suspension's members."""
    return _members("Suspension", {"suspended": suspension.suspended, "status": suspension.status, **_preload(suspension)})


def fenced_html(fenced: Fenced) -> str:
    """Return a table of a fenced promise, and of the preload if there is any."""
    preload = _preload(fenced)
    return promise_html(fenced.promise) + (_members("Fenced", preload) if preload else "")


def heartbeat_html(heartbeat: JobHeartbeat) -> str:
    """Return a table of the jobs that a worker should stop."""
    return _members("JobHeartbeat", {"cancelled": ", ".join(heartbeat.cancelled), "lost": ", ".join(heartbeat.lost)})


def records_html(records: Iterable[Any], caption: str) -> str:
    """Return a table of records, a line for each: dates for instants, decoded payloads, attempts as a count, no empty column.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> html = rc.display.records_html([store.jobs.enqueue("mail", {"to": "ann"}, id="m")], "One job")
        >>> "<td>{&quot;to&quot;: &quot;ann&quot;}</td>" in html, "ZXlK" in html
        (True, False)
    """
    dicts = [record.to_dict() for record in records]
    lines = [{name: _member_text(name, value) for name, value in record.items()} for record in dicts]
    names = [name for name in dict.fromkeys(name for line in lines for name in line) if any(line.get(name) for line in lines)]
    return table(([line.get(name, "") for name in names] for line in lines), header=names, caption=caption)


def _member_text(name: str, value: Any) -> str:
    """A member of a record as text, empty if it says nothing."""
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
    return "" if value is None else str(_shown(name, value))


def _attempts_text(attempts: list[dict[str, Any]]) -> str:
    return f"{len(attempts)}, the last {attempts[-1].get('outcome', 'under way')}" if attempts else ""


def report_text(report: Mapping[str, Any]) -> str:
    """What a job last reported, in one line.

    Example:
        >>> from resonate_core.display import report_text
        >>> report_text({"at": 0, "progress": 0.5, "lines": [{"at": 0, "attempt": 1, "text": "page 3 of 6"}]})
        '50 %, page 3 of 6'
    """
    progress, lines = report.get("progress"), report.get("lines")
    return ", ".join(
        [*([] if progress is None else [f"{progress:.0%}".replace("%", " %")]), *([lines[-1]["text"]] if lines else [])]
    )


def page_html(page: PromisePage | TaskPage | SchedulePage | PromiseBatch | JobBatch) -> str:
    """Return a table of the first records of a page or batch."""
    size = len(page)
    records: list[Any] = [page[place] for place in range(min(size, SHOWN_ROWS))]
    return records_html(records, _counted(type(page).__name__, size))


def _counted(name: str, size: int) -> str:
    caption = f"{name}: {counted(size, 'record')}"
    return caption if size <= SHOWN_ROWS else f"{caption}, the first {SHOWN_ROWS}"


def list_html(records: list[Any]) -> str | None:
    """Return a table of a list of records of one class, such as the steps that a clock fired; None for any other list.

    Example:
        >>> rc.display.list_html([1, 2]) is None
        True
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
        >>> "<caption>Fired: 1 record</caption>" in rc.display.list_html(clock.advance(2000))
        True
    """
    kinds = {type(record) for record in records}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind.__module__.partition(".")[0] != "resonate_core" or not hasattr(kind, "to_dict"):
        return None
    return records_html(records[:SHOWN_ROWS], _counted(kind.__name__, len(records)))


def replay_html(replay: Replay) -> str:
    """Return a table of a replay: whether it was the same, and the first difference."""
    names = ("ok", "steps", "line", "difference", "expected", "got")
    return _members("Replay", {name: getattr(replay, name) for name in names if getattr(replay, name) is not None})


def diff_html(diff: Diff) -> str:
    """Return a table of what differs between two states."""
    (a, start), (b, end) = diff.a, diff.b
    counts = ", ".join(f"{count:,} {name}" for name, count in diff.counts.items() if count) or "no difference"
    caption = f"From {a} at {instant_text(start)} to {b} at {instant_text(end)}: {counts}"
    hidden = max(len(diff.items) - SHOWN_CHANGES, 0) + diff.left_out
    if hidden:
        caption += f"; {hidden:,} of them are not shown"
    rows = [(item.kind, item.id, item.change, _change_text(item)) for item in diff.items[:SHOWN_CHANGES]]
    return table(rows, header=("kind", "id", "change", "members"), caption=caption)


def _change_text(change: Change) -> str:
    parts = [
        f"{one.name}: {_member_text(one.name, one.before) or '—'} → {_member_text(one.name, one.after) or '—'}"
        for one in change.fields
    ]
    state = (change.before or change.after or {}).get("state")
    return "; ".join(parts) if parts else f"state {state}" if state is not None else ""


def diff_bundle(diff: Diff) -> dict[str, Any]:
    """Return what a notebook shows of a diff beside its table: the interactive view if anywidget is installed, else nothing."""
    widget = _diff_widget(diff)
    return {} if widget is None else view_of(widget)


def show_diff(diff: Diff) -> None:
    """Show a diff in the running notebook: the interactive view if anywidget is installed, and the table for exports.

    Raises:
        NotImplementedError: No notebook runs, or anywidget is not installed; IPython then shows the table alone.
    """
    widget = _diff_widget(diff)
    if widget is None:
        raise NotImplementedError("anywidget is not installed")
    widget._ipython_display_()


def _diff_widget(diff: Diff) -> DiffWidget | None:
    try:
        from resonate_core._timeline_widget import DiffWidget
    except ModuleNotFoundError:
        return None
    return DiffWidget(diff)


def register() -> None:
    """Let IPython show lists of records and replays as tables; it has no effect elsewhere.

    `import resonate_core` calls it in a notebook.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(list, list_html)
    formatter.for_type(Replay, replay_html)


def store_html(store: Store) -> str:
    """Return a table of what a store holds, by state, and what is due next."""
    if store.closed:
        return table([["closed"]], caption="Store")
    rows: list[tuple[str, object]] = []
    total = store.promises.count()
    if total <= COUNTED_PROMISES:
        counts = store.counts()
        rows += [(f"promises {state}", number) for state, number in counts["promises"].items()]
        rows += [(f"tasks {state}", number) for state, number in counts["tasks"].items()]
        rows += [("schedules", counts["schedules"]), ("messages", counts["messages"])]
    else:
        rows.append(("promises", total))
    due = store.next_due()
    rows += [("now", instant_text(store.now)), ("next due", "never" if due is None else instant_text(due)), ("rules", store.rules)]
    return table(rows, caption="Store")
