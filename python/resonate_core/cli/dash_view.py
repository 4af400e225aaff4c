"""A frame of the dash, drawn for a terminal of some size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from resonate_core.cli.dash_frame import Frame, QueueFrame, failed_at
from resonate_core.cli.jobs_table import Column, fitted, short, text
from resonate_core.cli.show import COLOURS, clean, length, moment
from resonate_core.cli.show_jobs import attempts_table, error_text, member_lines

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

__all__ = ["drawn", "footer", "job_drawn", "spark"]

_BARS = "▁▂▃▄▅▆▇█"
# A table's title, head and rule, and the line after it.
_AROUND = 4
_HEAD = 2


def spark(values: Sequence[float]) -> str:
    """Return values as a row of bars; the highest bar is the largest value.

    Example:
        >>> from resonate_core.cli.dash_view import spark
        >>> spark([0, 1, 2, 4])
        '▁▃▅█'
    """
    most = max(values, default=0)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1)) if most else 0] for value in values)


def _number(count: int, style: str = "") -> Text:
    return text(short(count), style) if count else text("·", "dim")


def _queue_columns(at: int) -> list[Column]:
    def name(queue: QueueFrame) -> Text:
        shown = text(queue.name, "bold")
        return shown.append("  paused", style="bold yellow") if queue.stats["paused"] else shown

    def active(queue: QueueFrame) -> Text:
        count, limit = queue.count("claimed", "running"), queue.settings.get("concurrency")
        return text(f"{short(count)}/{short(limit)}", "cyan") if limit else _number(count, "cyan")

    def oldest(queue: QueueFrame) -> Text:
        since = queue.stats.get("oldestPendingAt")
        return text("" if since is None else length(max(at - since, 0)))

    def counted(state: str, spared: int = 0) -> Column:
        return Column(state, lambda queue: _number(queue.count(state), COLOURS[state]), right=True, spared=spared)

    def rate(value: float | None, style: str = "") -> Text:
        return text("–" if value is None else short(value), style if value else "dim")

    return [
        Column("queue", name),
        counted("pending"),
        Column("active", active, right=True),
        counted("scheduled", 2),
        counted("waiting", 3),
        counted("retry"),
        counted("archived"),
        counted("completed", 6),
        counted("failed", 5),
        Column("oldest", oldest, right=True),
        Column("today", lambda queue: _number(queue.today(at)[0]), right=True, spared=1),
        Column("failed today", lambda queue: _number(queue.today(at)[1], COLOURS["failed"]), right=True, spared=7),
        Column("/s", lambda queue: rate(queue.per_second), right=True),
        Column("failed/s", lambda queue: rate(queue.failed_per_second, COLOURS["failed"]), right=True, spared=3),
        Column("", lambda queue: text(spark(queue.trend), "green"), spared=4),
    ]


_ID = Column("id", lambda job: text(job["id"]), middle=True)
_TYPE = Column("type", lambda job: text(job["type"]))
_QUEUE = Column("queue", lambda job: text(job["queue"]), spared=2)
_STATE = Column("state", lambda job: text(job["state"], COLOURS[job["state"]]))


def _running_columns(at: int) -> list[Column]:
    def attempt(job: dict[str, Any]) -> Text:
        return text(job["attempts"][-1]["number"] if job["state"] == "running" and job.get("attempts") else "")

    def lease(job: dict[str, Any]) -> Text:
        left = job.get("leaseUntil", at) - at
        return text(f"in {length(left)}") if left > 0 else text("ran out", "red")

    return [
        _ID,
        _TYPE,
        _QUEUE,
        _STATE,
        Column("worker", lambda job: text(job.get("claimedBy", ""))),
        Column("attempt", attempt, right=True, spared=3),
        Column("for", lambda job: text(length(max(at - job.get("startedAt", job.get("claimedAt", at)), 0))), right=True),
        Column("lease ends", lease, right=True, spared=1),
    ]


def _failure_columns(at: int) -> list[Column]:
    return [
        Column("ago", lambda job: text(length(max(at - (failed_at(job) or at), 0))), right=True),
        _ID,
        _TYPE,
        _QUEUE,
        _STATE,
        Column("retries", lambda job: text(f"{job['retryCount']}/{job['maxRetries']}"), right=True, spared=1),
        Column("error", lambda job: text(error_text(job.get("error")) or ""), elastic=True),
    ]


def _rooms(frame: Frame, height: int | None) -> tuple[int, int, int]:
    """Return how many rows each table may have; rows that one does not need are given to the others."""
    queues, running, failures = len(frame.queues), len(frame.running), len(frame.failures)
    if height is None:
        return queues, running, failures
    left = max(height - _HEAD - 3 * _AROUND + 1, 3)  # after the last table there is no line
    queues = min(queues, max(left // 2, left - max(running, 1) - max(failures, 1), 1))
    left -= max(queues, 1)
    running = min(running, max(left // 2, left - max(failures, 1), 1))
    return queues, running, max(left - max(running, 1), 1)


def _titled(count: int, shown: int, name: str) -> str:
    return f"{name}: {count}" + (f", of which {shown} are shown" if shown < count else "")


def _window(rows: Sequence[Any], room: int, selected: int) -> tuple[Sequence[Any], int | None]:
    """Return as many rows as fit, the selected one among them, and its position."""
    if not 0 <= selected < len(rows):
        return rows[:room], None
    first = max(selected - room + 1, 0)
    return rows[first : first + room], selected - first


def drawn(frame: Frame, name: str, width: int, height: int | None, remark: str = "", selected: int = -1, note: str = "") -> Group:
    """The view of one frame.

    Args:
        frame: What there is.
        name: The store, as people call it.
        width: How many characters a line may have.
        height: How many lines there may be; None: as many as it needs.
        remark: Its problem, in red.
        selected: The number of the selected line, counted through all tables; -1 for none.
        note: What a person has set, such as a filter.
    """
    from rich.console import Group
    from rich.text import Text

    queues, running, failures = _rooms(frame, height)
    held = "claimed or running" if not frame.more_running else "claimed or running, at least"
    failed = "last failures" + ("" if frame.all_failures else ", of those looked at so far")
    tables: list[Any] = []
    for columns, rows, room, title in (
        (_queue_columns(frame.at), frame.queues, queues, "queues"),
        (_running_columns(frame.at), frame.running, running, held),
        (_failure_columns(frame.at), frame.failures, failures, None),
    ):
        window, place = _window(rows, room, selected)
        selected -= len(rows) if selected >= 0 else 0
        named = failed if title is None else _titled(len(rows), len(window), title)
        tables += [Text(), fitted(columns, window, width, title=named, cut=True, selected=place)]
    return Group(head(frame.at, name, width, remark, note), *tables)


def head(at: int, name: str, width: int, remark: str, note: str) -> Text:
    """Return the first line: the store, the instant, a note such as the filter, and the problem in red."""
    from rich.text import Text

    line = Text.assemble((clean(name), "bold"), ("  " + moment(at)[:19].replace("T", " ") + "Z", "dim"))
    if note:
        line.append(f"  {clean(note)}", style="bold yellow")
    if remark:
        line.append(f"  {clean(remark)}", style="bold red")
    line.truncate(width, overflow="ellipsis")
    return line


def job_drawn(job: dict[str, Any] | None, id: str, at: int, name: str, width: int, height: int, remark: str, note: str) -> Group:
    """The view of one job: its members, its error with all its lines, and its attempts."""
    from rich.console import Group
    from rich.text import Text

    lines: list[Any] = [head(at, name, width, remark, note), Text()]
    if job is None:
        return Group(*lines, text(f"job {id} is not there, or no longer", "yellow"))
    lines.append(Text.assemble((clean(job["id"]), "bold"), "  ", (job["state"], COLOURS[job["state"]])))
    attempts = attempts_table(job.get("attempts", [])[-_ATTEMPTS:], width)
    members = member_lines(job, at)
    trace = str((job.get("error") or {}).get("data") or "").rstrip().split("\n")
    room = max(height - len(members) - min(len(job.get("attempts", [])), _ATTEMPTS) - 9, 3)
    lines += [_member(*line, width) for line in members]
    if trace != [""]:
        left = len(trace) - room
        lines += [Text(), text("error.data" + (f", its last {room} of {len(trace)} lines" if left > 0 else ""), "bold")]
        lines += [text(line[: width - 1]) for line in trace[-room:]]
    return Group(*lines, Text(), attempts)


_ATTEMPTS = 8


def _member(name: str, shown: str, width: int) -> Text:
    from rich.text import Text

    line = Text.assemble((f"{name:>14}  ", "dim"), clean(shown))
    line.truncate(width, overflow="ellipsis")
    return line


def footer(keys: Sequence[tuple[str, str]], typing: str | None, width: int) -> Text:
    """The last line: the keys, or the filter while it is typed."""
    from rich.text import Text

    if typing is not None:
        line = Text.assemble(("filter: ", "bold"), clean(typing), ("▏", "bold"), ("   enter keeps it, esc clears it", "dim"))
    else:
        line = Text("  ").join(Text.assemble((key, "bold"), " ", (what, "dim")) for key, what in keys)
    line.truncate(width, overflow="ellipsis")
    return line
