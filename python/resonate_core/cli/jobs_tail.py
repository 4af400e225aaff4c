"""``resonate-core jobs tail``: prints a line for each event of a job as it happens."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import sleep
from typing import Annotated, Any

import typer

from resonate_core.base.states import UNFINISHED, ended_at
from resonate_core.base.stopwatch import seconds
from resonate_core.cli.command import Session
from resonate_core.cli.ending import ended_by_signals
from resonate_core.cli.exits import CommandFailed, Exit, is_done
from resonate_core.cli.jobs_newest import Wanted, newest
from resonate_core.cli.jobs_options import QUEUE, TYPE
from resonate_core.cli.jobs_table import text
from resonate_core.cli.options import MATCH
from resonate_core.cli.show import COLOURS, moment, say
from resonate_core.cli.show_jobs import error_text
from resonate_core.cli.target import Target, refusal
from resonate_core.cli.values import duration, now

__all__ = ["Happening", "Tail", "happenings", "tail"]

_SHORTEST = 50
_LIVE = tuple(state for state in UNFINISHED if state != "archived")
_MOST_LIVE = 1000
_COLUMNS = ("at", "id", "queue", "type", "event", "attempt", "worker", "error")


@dataclass(frozen=True)
class Happening:
    """One event of a job.

    Attributes:
        at: When, in Unix ms.
        event: `enqueued`, `started`, how an attempt ended, or the state that the job has come to.
        job: The job as it was read after it.
        attempt: The number of the attempt, or None.
        worker: Its worker, or None.
        error: Its error in one line, or None.
    """

    at: int
    event: str
    job: dict[str, Any]
    attempt: int | None = None
    worker: str | None = None
    error: str | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The identity of the event: two polls that find one event give the same key."""
        return (self.job["id"], self.job["sentAt"], self.at, self.event, self.attempt)

    def row(self) -> list[Any]:
        """The cells of its line."""
        return [self.at, self.job["id"], self.job["queue"], self.job["type"], self.event, self.attempt, self.worker, self.error]


def happenings(job: dict[str, Any]) -> Iterator[Happening]:
    """Yield the events that a job's record shows, in order.

    Example:
        >>> from resonate_core.cli.jobs_tail import happenings
        >>> attempts = [{"number": 1, "worker": "w", "startedAt": 5, "finishedAt": 9, "outcome": "completed"}]
        >>> job = {"id": "a", "state": "completed", "sentAt": 1, "completedAt": 9, "attempts": attempts}
        >>> [(one.at, one.event) for one in happenings(job)]
        [(1, 'enqueued'), (5, 'started'), (9, 'completed')]
    """
    yield Happening(job["sentAt"], "enqueued", job)
    outcome = None
    for attempt in job.get("attempts", []):
        number, worker = attempt["number"], attempt["worker"]
        yield Happening(attempt["startedAt"], "started", job, number, worker)
        if "finishedAt" in attempt:
            outcome = attempt.get("outcome", "ended")
            yield Happening(attempt["finishedAt"], outcome, job, number, worker, error_text(attempt.get("error")))
    end = ended_at(job)
    if end is not None and job["state"] != outcome:
        yield Happening(end, job["state"], job, error=error_text(job.get("error")))


class Tail:
    """Finds the events of jobs that are new since the last poll.

    Args:
        target: The store.
        filters: Of job.search.
        since: Earlier events are left out, in Unix ms.
    """

    def __init__(self, target: Target, filters: dict[str, Any], since: int) -> None:
        self._target, self._filters, self._since = target, filters, since
        self._live: dict[str, dict[str, Any]] = {}
        self._listed: dict[tuple[Any, ...], None] = {}
        self._looked_at = since
        self.is_partial = False

    def look(self) -> list[Happening]:
        """Return the events since the last poll, in order."""
        began = now()
        ask = self._target.request
        searches = [ask("job.search", {**self._filters, "state": state, "limit": _MOST_LIVE}) for state in _LIVE]
        pages = [self._data(answer) for answer in self._target.exchange(searches)]
        self.is_partial = any(page.get("cursor") is not None for page in pages)
        live = {job["id"]: job for page in pages for job in page["jobs"]}
        gone = [id for id in self._live if id not in live]
        found = list(live.values()) + [job for job in self._get(gone) if job is not None]
        found += newest(self._target, Wanted(self._filters, since=self._looked_at, limit=1000)).jobs
        self._looked_at = began - 1000  # clocks of enqueuers may be behind
        self._live = live
        return self._new(found)

    def last(self, count: int) -> list[Happening]:
        """Return the last events of the newest jobs, before the first poll."""
        jobs = newest(self._target, Wanted(self._filters, limit=max(count, 1))).jobs
        all_of_them = sorted((one for job in reversed(jobs) for one in happenings(job)), key=lambda one: one.at)
        for one in all_of_them:
            self._listed[one.key] = None
        return all_of_them[len(all_of_them) - min(count, len(all_of_them)) :]

    def _new(self, jobs: Iterable[dict[str, Any]]) -> list[Happening]:
        new = {}
        for job in jobs:
            for one in happenings(job):
                if one.at >= self._since and one.key not in self._listed:
                    new[one.key] = one
        self._listed.update(dict.fromkeys(new))
        for key in list(self._listed)[: max(len(self._listed) - 100_000, 0)]:
            del self._listed[key]
        return sorted(new.values(), key=lambda one: one.at)

    def _get(self, ids: list[str]) -> list[dict[str, Any] | None]:
        if not ids:
            return []
        answers = self._target.exchange([self._target.request("job.get", {"id": id}) for id in ids])
        return [answer["data"]["job"] if is_done(answer["head"]["status"]) else None for answer in answers]

    def _data(self, answer: dict[str, Any]) -> dict[str, Any]:
        status, data = answer["head"]["status"], answer["data"]
        if not is_done(status) or not isinstance(data, dict):
            raise refusal(status, data)
        return data


def _print(session: Session, found: list[Happening]) -> None:
    for one in found:
        if session.out.as_json:
            session.out.json(dict(zip(_COLUMNS, one.row(), strict=True)))
        elif session.out.is_rich:
            from rich.text import Text

            line = Text.assemble((moment(one.at)[11:23], "dim"), "  ", (one.event.ljust(9), COLOURS.get(one.event, "")), "  ")
            line.append_text(text(one.job["id"], "bold")).append_text(text(f"  {one.job['type']} ({one.job['queue']})", "dim"))
            if one.worker is not None:
                line.append_text(text(f"  {one.worker}, attempt {one.attempt}"))
            if one.error is not None:
                line.append_text(text(f"  {one.error}", "red"))
            session.out.draw(line, soft_wrap=True)
        else:
            session.out.table(("happenedAt", *_COLUMNS[1:]), [one.row()])
    sys.stdout.flush()


def tail(
    session: Session,
    queue: QUEUE = None,
    type: TYPE = None,
    id: MATCH = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", metavar="NUMBER", help="what happened last, at first", min=0, max=1000)
    ] = 10,
    interval: Annotated[str, typer.Option("--interval", metavar="LENGTH", help="time between looks: 1s, 500ms")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="end after what happened last", show_default=False)] = False,
) -> None:
    """Print a line for each event of a job: enqueued, started, failed, completed, until Ctrl-C.

    Jobs that begin and end between two looks and are deleted at once are not seen.
    """
    pause = duration(interval, "--interval")
    if pause < _SHORTEST:
        raise CommandFailed(f"--interval: {interval!r} is shorter than {_SHORTEST}ms", Exit.USAGE)
    filters = {name: value for name, value in (("queue", queue), ("type", type), ("id", id)) if value is not None}
    found = Tail(session.target, filters, now())
    _print(session, found.last(lines))
    if once:
        return
    warned = False
    with ended_by_signals():
        while True:
            began = seconds()
            _print(session, found.look())
            if found.is_partial and not warned:
                say(f"more than {_MOST_LIVE:,} jobs of a state: not all are followed; give --queue, --type or --id")
                warned = True
            sleep(max(pause / 1000, 3 * (seconds() - began)))
