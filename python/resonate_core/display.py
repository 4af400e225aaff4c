"""HTML of stores and records for notebooks: plain tables with escaped text.

The `_repr_html_` methods of the module call these functions by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from resonate_core._core import Replay, Value
from resonate_core.base.instants import counted
from resonate_core.notebook.html import (
    instant_text as instant_text,
    member_text,
    members_html,
    report_text,
    table as table,
    text_cell as text_cell,
    value_text as value_text,
)
from resonate_core.timeline.timeline import (
    explore as explore,
    export_html as export_html,
    timeline as timeline,
    timeline_data as timeline_data,
)

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

SHOWN_ROWS = 20
"""The maximum of records shown of a page."""

COUNTED_PROMISES = 200_000
"""The maximum of promises that a store's table counts by state; counting reads each of them."""


def value_html(value: Value) -> str:
    """Return a table of a value's members."""
    return members_html("Value", {"headers": value.headers, "data": value.data, "json": value_text(value)})


def promise_html(promise: Promise) -> str:
    """Return a table of a promise's members."""
    return members_html(
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
    return members_html("Task", {name: getattr(task, name) for name in names})


def schedule_html(schedule: Schedule) -> str:
    """Return a table of a schedule's members."""
    return members_html(
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
    if job.awaits is not None:
        members["waits_for"] = f"{job.awaits['count']}: {', '.join(job.awaits['ids'][:SHOWN_ROWS])}"
    members["retries"] = f"{job.retry_count} of {job.max_retries}"
    attempts = job.attempts
    members["attempts"] = member_text("attempts", attempts) or "none"
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
    shown = [{**attempt, "error": member_text("error", attempt.get("error"))} for attempt in attempts[-SHOWN_ROWS:]]
    names = ("number", "worker", "startedAt", "finishedAt", "outcome", "error")
    lines = ([member_text(name, attempt.get(name)) for name in names] for attempt in shown)
    return members_html("Job", members) + (table(lines, header=names, caption="Attempts") if attempts else "")


def message_html(message: Message) -> str:
    """Return a table of a message's members."""
    names = ("kind", "id", "version", "address", "attempts", "queued_at", "key")
    return members_html("Message", {name: getattr(message, name) for name in names})


def fired_html(fired: Fired) -> str:
    """Return a table of a step's members."""
    return members_html("Fired", fired.to_dict())


def violation_html(violation: Violation) -> str:
    """Return a table of a violation's members."""
    return members_html("Violation", violation.to_dict())


def _preload(reply: Claim | Suspension | Fenced) -> dict[str, object]:
    ids = [promise.id for promise in reply.preload]
    return {"preload": ", ".join(ids) + (", ..." if reply.preload_cut else "")} if ids else {}


def claim_html(claim: Claim) -> str:
    """Return tables of a claim's task and promise, and of its preload if it has any."""
    preload = _preload(claim)
    return task_html(claim.task) + promise_html(claim.promise) + (members_html("Claim", preload) if preload else "")


def suspension_html(suspension: Suspension) -> str:
    """Return a table of a suspension's members."""
    return members_html("Suspension", {"suspended": suspension.suspended, "status": suspension.status, **_preload(suspension)})


def fenced_html(fenced: Fenced) -> str:
    """Return a table of a fenced promise, and of the preload if there is any."""
    preload = _preload(fenced)
    return promise_html(fenced.promise) + (members_html("Fenced", preload) if preload else "")


def heartbeat_html(heartbeat: JobHeartbeat) -> str:
    """Return a table of the jobs that a worker should stop."""
    return members_html("JobHeartbeat", {"cancelled": ", ".join(heartbeat.cancelled), "lost": ", ".join(heartbeat.lost)})


def records_html(records: Iterable[Any], caption: str) -> str:
    """Return a table of records, a line for each: dates for instants, decoded payloads, attempts as a count, no empty column.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> html = rc.display.records_html([store.jobs.enqueue("mail", {"to": "ann"}, id="m")], "One job")
        >>> "<td>{&quot;to&quot;: &quot;ann&quot;}</td>" in html, "ZXlK" in html
        (True, False)
    """
    dicts = [record.to_dict() for record in records]
    lines = [{name: member_text(name, value) for name, value in record.items()} for record in dicts]
    names = [name for name in dict.fromkeys(name for line in lines for name in line) if any(line.get(name) for line in lines)]
    return table(([line.get(name, "") for name in names] for line in lines), header=names, caption=caption)


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
    return members_html("Replay", {name: getattr(replay, name) for name in names if getattr(replay, name) is not None})


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
