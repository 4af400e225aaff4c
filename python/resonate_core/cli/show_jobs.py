"""How jobs and queues are printed: records, lists, attempts, and statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from resonate_core.base.first_few import first_few
from resonate_core.base.instants import counted
from resonate_core.base.states import JOB_STATES, ended_at, next_at
from resonate_core.cli.jobs_table import Column, fits, fitted, text
from resonate_core.cli.notation import exact, groups_text, policy_text, rate_text
from resonate_core.cli.show import COLOURS, Output, beside, length, moment, payload_text, put, say
from resonate_core.cli.values import now
from resonate_core.notebook.html import report_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "attempts_table",
    "error_text",
    "member_lines",
    "order_text",
    "show_attempts",
    "show_awaited",
    "show_job",
    "show_jobs",
    "show_lines",
    "show_queue",
    "show_queues",
    "show_stats",
]

_USUAL_PRIORITY = 50
#: The most ids of a list that one line names.
_MOST_IDS = 10
_LIST = ("id", "queue", "type", "state", "priority", "retries", "claimedBy", "sentAt", "nextAt", "endedAt", "error")
_LINE = ("at", "attempt", "text")
_ATTEMPT = ("number", "outcome", "worker", "startedAt", "finishedAt", "took", "error")
_QUEUE = ("name", "paused", "weight", "active", "concurrency", "rate", "lifecycle", "defaults", "groups")
_LENGTHS = ("retention", "timeout", "processIn", "goodFor", "uniqueFor")


def error_text(error: Mapping[str, Any] | None) -> str | None:
    """An error in one line.

    Example:
        >>> from resonate_core.cli.show_jobs import error_text
        >>> error_text({"code": "Timeout", "message": "no answer"}), error_text({"code": "Lost", "message": ""}), error_text(None)
        ('Timeout: no answer', 'Lost', None)
    """
    if error is None:
        return None
    return f"{error['code']}: {error['message']}" if error.get("message") else str(error["code"])


def _retries(job: Mapping[str, Any]) -> str:
    return f"{job['retryCount']}/{job['maxRetries']}"


def _error(job: Mapping[str, Any]) -> str | None:
    return error_text(job.get("error"))


def _row(job: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    derived = {
        "retries": _retries(job),
        "nextAt": next_at(job),
        "endedAt": ended_at(job),
        "error": _error(job),
    }
    return [derived[name] if name in derived else job.get(name) for name in columns]


def _count(out: Output, number: int, one: str) -> None:
    if out.is_rich:
        say(counted(number, one))


def show_jobs(out: Output, data: dict[str, Any], *, columns: Sequence[str] = _LIST, noun: str = "job") -> None:
    """Print the jobs of a search, a line each.

    Args:
        out: Where.
        data: Of the answer.
        columns: The members that a pipe gets.
        noun: The word for one of them.
    """
    if out.as_json:
        out.json(data)
        return
    jobs = data["jobs"]
    if not out.is_rich:
        out.table(columns, [_row(job, columns) for job in jobs])
    elif jobs:
        out.draw(_person(jobs, out.console.width))
    _count(out, len(jobs), noun)
    if data.get("cursor") is not None:
        say(f"there is more: --cursor {data['cursor']!r}, or --all")


def _when(job: Mapping[str, Any], present: int) -> str:
    """Return the time of a job for a person: until its next move, since it waits or runs, or since it ended."""
    since = {"pending": "enqueuedAt", "claimed": "claimedAt", "running": "startedAt"}.get(job["state"])
    at = job.get(since) if since else next_at(job) or ended_at(job)
    if job.get("gathering"):
        return "gathering"
    if job["state"] == "waiting":
        return f"for {counted(job['awaits']['count'], 'other')}"
    return "" if at is None else beside(at, present)


def _person(jobs: Sequence[Mapping[str, Any]], width: int) -> Table:
    """Return jobs for a person, a line each, with the columns that differ between them."""
    present = now()

    def priority(job: Mapping[str, Any]) -> Text:
        return text("" if job["priority"] == _USUAL_PRIORITY else job["priority"])

    columns = [
        Column("id", lambda job: text(job["id"])),
        Column("queue", lambda job: text(job["queue"]), spared=1),
        Column("type", lambda job: text(job["type"])),
        Column("state", lambda job: text(job["state"], COLOURS[job["state"]])),
        Column("when", lambda job: text(_when(job, present))),
        Column("sent", lambda job: text(moment(job["sentAt"])[:19].replace("T", " ") + "Z"), spared=6),
        Column("group", lambda job: text(job.get("group", "")), spared=5, always=False),
        Column("priority", priority, right=True, spared=3, always=False),
        Column("retries", lambda job: text(_retries(job) if job["retryCount"] else ""), right=True, spared=2, always=False),
        Column("steps", lambda job: text(job.get("steps", "")), right=True, spared=3, always=False),
        Column("worker", lambda job: text(job.get("claimedBy", "")), spared=4, always=False),
        Column("error", lambda job: text(_error(job) or ""), elastic=True, always=False),
    ]
    return fitted(columns, jobs, width, cut=max(len(job["id"]) for job in jobs) < width // 3)


def show_job(out: Output, data: dict[str, Any]) -> None:
    """Print the one job of an answer, except its attempts and the lines of its report."""
    if out.as_json:
        out.json(data)
        return
    shown: dict[str, Any] = {}
    lines: list[str] = []
    for name, value in data["job"].items():
        if name == "error":
            shown |= {f"error.{part}": words for part, words in value.items() if words != ""}
            if out.is_rich and "\n" in str(value.get("data", "")):
                lines = str(shown.pop("error.data")).rstrip("\n").split("\n")  # a traceback, for one
        elif name == "retryPolicy":
            shown[name] = policy_text(value)
        elif name == "after":
            shown[name] = first_few(value, _MOST_IDS)
        elif name == "awaits":
            shown[name] = first_few(value["ids"], _MOST_IDS, value["count"])
        elif name == "report":
            shown |= {f"report.{part}": known for part, known in value.items() if part != "lines"}
        elif name != "attempts":
            shown[name] = value
    out.record(shown, "job")
    if lines:
        # Behind a bar: none of them looks like a line of the command, such as one of the table of attempts below.
        out.draw(text("error.data", "dim"), *(text(f"  │ {line}") for line in lines), sep="\n")


def show_awaited(out: Output, awaited: Sequence[Mapping[str, Any]]) -> None:
    """Print what a job waits for, a line each; to a pipe each begins with the word awaits.

    Args:
        out: Where.
        awaited: `id`, `state`, and `lacks`: whether the job still waits for it.
    """
    if not out.is_rich:
        if awaited:
            lines = [["awaits", one["id"], one["state"], "missing" if one["lacks"] else None] for one in awaited]
            out.table(("kind", "id", "state", "lacks"), lines)
    elif awaited:
        columns = [
            Column("waits for", lambda one: text(one["id"])),
            Column("state", lambda one: text(one["state"] or "gone", COLOURS.get(one["state"], "dim"))),
            Column("", lambda one: text("missing" if one["lacks"] else ""), always=False),
        ]
        put()
        out.draw(fitted(columns, awaited, out.console.width))


def _took(attempt: Mapping[str, Any]) -> int | None:
    return attempt["finishedAt"] - attempt["startedAt"] if "finishedAt" in attempt else None


def show_attempts(out: Output, attempts: Sequence[Mapping[str, Any]]) -> None:
    """Print the attempts of a job, a line each, the first one first; to a pipe each begins with the word attempt."""
    if not out.is_rich:
        known = [{**one, "took": _took(one), "error": error_text(one.get("error"))} for one in attempts]
        out.table(("kind", *_ATTEMPT), [["attempt", *(one.get(name) for name in _ATTEMPT)] for one in known])
        return
    if attempts:
        put()
        out.draw(attempts_table(attempts, out.console.width))


def show_lines(out: Output, lines: Sequence[Mapping[str, Any]]) -> None:
    """Print the log lines of a job, the oldest first; to a pipe each begins with the word line."""
    if not out.is_rich:
        if lines:
            out.table(("kind", *_LINE), [["line", *(one[name] for name in _LINE)] for one in lines])
    elif lines:
        columns = [
            Column("at", lambda one: text(moment(one["at"]))),
            Column("attempt", lambda one: text(one["attempt"]), right=True),
            Column("line", lambda one: text(one["text"]), elastic=True),
        ]
        put()
        out.draw(fitted(columns, lines, out.console.width))


def attempts_table(attempts: Sequence[Mapping[str, Any]], width: int) -> Table:
    """Return the attempts of a job for a person, a line each."""

    def took(attempt: Mapping[str, Any]) -> Text:
        ms = _took(attempt)
        return text("" if ms is None else length(ms))

    def outcome(attempt: Mapping[str, Any]) -> Text:
        word = attempt.get("outcome", "running")
        return text(word, COLOURS[word])

    columns = [
        Column("attempt", lambda one: text(one["number"]), right=True),
        Column("outcome", outcome),
        Column("worker", lambda one: text(one["worker"]), spared=1),
        Column("started", lambda one: text(moment(one["startedAt"]))),
        Column("took", took, right=True),
        Column("error", lambda one: text(error_text(one.get("error")) or ""), elastic=True, always=False),
    ]
    return fitted(columns, attempts, width)


def member_lines(job: Mapping[str, Any], present: int) -> list[tuple[str, str]]:
    """Return the most important members of a job: the name and the text of each.

    Example:
        >>> from resonate_core.cli.show_jobs import member_lines
        >>> job = {"queue": "mail", "type": "send", "retryCount": 1, "maxRetries": 3, "sentAt": 1000}
        >>> for line in member_lines({**job, "payload": {"data": "WzFd"}}, 61_000):
        ...     print(*line)
        queue mail
        type send
        retries 1/3
        payload [1]
        sentAt 1970-01-01T00:00:01.000Z (1m ago)
    """
    lines = [("queue", job["queue"]), ("type", job["type"]), ("retries", _retries(job))]
    lines += [(name, str(job[name])) for name in ("claimedBy", "group", "uniqueKey") if job.get(name)]
    lines += [(name, payload_text(job[name])) for name in ("payload", "result") if job.get(name)]
    if job.get("tags"):
        lines.append(("tags", " ".join(f"{name}={value}" for name, value in job["tags"].items())))
    if job.get("report"):
        lines.append(("report", report_text(job["report"])))
    if job.get("error"):
        lines.append(("error", error_text(job["error"]) or ""))
    instants = [(name, at) for name, at in job.items() if name.endswith(("At", "Until")) and isinstance(at, int)]
    for name, at in sorted(instants, key=lambda one: one[1]):
        near = beside(at, present)
        lines.append((name, moment(at) + (f" ({near})" if near else "")))
    return lines


def order_text(members: Mapping[str, Any]) -> dict[str, str]:
    """Return the defaults of the jobs of a queue or a schedule, in the form of the options that set them.

    Example:
        >>> from resonate_core.cli.show_jobs import order_text
        >>> order_text({"timeout": 90_000, "retention": None, "maxRetries": 3, "retryPolicy": {"kind": "asynq"}})
        {'timeout': '90s', 'retention': 'keep', 'maxRetries': '3', 'retryPolicy': 'asynq'}
    """
    shown = {}
    for name, value in members.items():
        if name == "retryPolicy":
            shown[name] = policy_text(value)
        elif name in _LENGTHS:
            shown[name] = "keep" if value is None else exact(value)
        else:
            shown[name] = str(value)
    return shown


def _queue_shown(queue: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(queue)
    shown["paused"] = "paused" if queue["paused"] else None
    if queue.get("rate"):
        shown["rate"] = rate_text(queue["rate"])
    if queue.get("groups"):
        shown["groups"] = groups_text(queue["groups"])
    shown["defaults"] = " ".join(f"{name}={value}" for name, value in order_text(queue.get("defaults") or {}).items())
    return shown


def _queue_name(queue: Mapping[str, Any]) -> Text:
    name = text(queue["name"], "bold")
    return name.append("  paused", style="bold yellow") if queue["paused"] else name


def show_queues(out: Output, data: dict[str, Any]) -> None:
    """Print the settings of queues, a line each."""
    if out.as_json:
        out.json(data)
        return
    shown = [_queue_shown(queue) for queue in data["queues"]]
    if not out.is_rich:
        out.table(_QUEUE, [[queue.get(name) for name in _QUEUE] for queue in shown])
        return

    def member(name: str) -> Callable[[Mapping[str, Any]], Text]:
        return lambda queue: text("" if queue.get(name) is None else queue[name])

    columns = [Column("queue", _queue_name)]
    columns.append(Column("weight", member("weight"), right=True))
    columns.append(Column("active", member("active"), right=True, spared=1))
    columns.append(Column("concurrency", member("concurrency"), right=True, always=False))
    columns.append(Column("rate", member("rate"), always=False))
    columns.append(Column("lifecycle", member("lifecycle"), spared=2, always=False))
    columns.append(Column("groups", member("groups"), spared=3, always=False))
    columns.append(Column("defaults", member("defaults"), elastic=True, always=False))
    if shown:
        out.draw(fitted(columns, shown, out.console.width))
    _count(out, len(shown), "queue")


def show_queue(out: Output, data: dict[str, Any]) -> None:
    """Print the settings of one queue, a line each."""
    if out.as_json:
        out.json(data)
        return
    shown = _queue_shown(data["queue"])
    shown |= {"defaults": None} | {
        f"defaults.{name}": value for name, value in order_text(data["queue"].get("defaults") or {}).items()
    }
    out.record(shown, "queue")


def show_stats(out: Output, queues: Sequence[Mapping[str, Any]], days: int) -> None:
    """Print how many jobs each queue has in each state, and its attempts of the last days.

    In a pipe each line begins with the word queue or day.

    Args:
        out: Where.
        queues: As job.stats has them.
        days: Of how many days at most.
    """
    daily = [(queue["name"], day) for queue in queues for day in (queue["days"][-days:] if days else [])]
    if not out.is_rich:
        out.table(("kind", "queue", "paused", *JOB_STATES, "active", "latency"), [["queue", *_counted(queue)] for queue in queues])
        parts = ("day", "processed", "failed")
        out.table(("kind", "queue", *parts), [["day", name, *(day[part] for part in parts)] for name, day in daily])
        return
    if queues:
        out.draw(_counts(queues, out.console.width))
    if daily:
        columns = [Column("queue", lambda one: text(one[0], "bold")), Column("day", lambda one: text(one[1]["day"]))]
        columns.append(Column("processed", lambda one: _number(one[1]["processed"]), right=True))
        columns.append(Column("failed", lambda one: _number(one[1]["failed"], COLOURS["failed"]), right=True))
        put()
        out.draw(fitted(columns, daily, out.console.width))


def _counted(queue: Mapping[str, Any]) -> list[Any]:
    counts = [queue["counts"].get(state, 0) for state in JOB_STATES]
    return [queue["name"], "paused" if queue["paused"] else None, *counts, queue["active"], _latency(queue)]


def _latency(queue: Mapping[str, Any]) -> int | None:
    return queue["latency"] if queue.get("oldestPendingAt") is not None else None


def _number(count: int, style: str = "") -> Text:
    return text(count, style) if count else text("·", "dim")


def _counts(queues: Sequence[Mapping[str, Any]], width: int) -> Table:
    """Return a line for each queue; if that is too wide, a line for each state."""

    def counted(state: str) -> Callable[[Mapping[str, Any]], Text]:
        return lambda queue: _number(queue["counts"].get(state, 0), COLOURS[state])

    def latency(queue: Mapping[str, Any]) -> Text:
        ms = _latency(queue)
        return text("·", "dim") if ms is None else text(length(ms))

    cells = {state: counted(state) for state in JOB_STATES} | {"latency": latency}
    columns = [Column("queue", _queue_name), *(Column(name, cell, right=True) for name, cell in cells.items())]
    if fits(columns, queues, width):
        return fitted(columns, queues, width)

    def of(queue: Mapping[str, Any]) -> Callable[[str], Text]:
        return lambda name: cells[name](queue)

    turned = [Column("", lambda name: text(name))]
    turned += [Column(queue["name"] + (" (paused)" if queue["paused"] else ""), of(queue), right=True) for queue in queues]
    return fitted(turned, list(cells), width)
