"""The contents of a dash at one instant, and what it keeps from one instant to the next: rates, and failures found page by page."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resonate_core.base.stopwatch import seconds
from resonate_core.cli.exits import is_done
from resonate_core.cli.show import moment
from resonate_core.cli.target import Envelope, Target, refusal
from resonate_core.cli.values import now

__all__ = ["Frame", "FrameReader", "QueueFrame", "failed_at"]

_FAILING = ("retry", "archived", "failed", "expired")
_HELD = ("running", "claimed")
_KEPT = 40
_RUNNING = 100
# For how long (s) failures are looked through for a frame, however many there are: longer for the first, which has nothing to show yet.
_FIRST_LOOK, _LOOK = 1.0, 0.05
_PAGE = 500
_TREND = 20


def failed_at(job: Mapping[str, Any]) -> int | None:
    """Return when a job last failed, in Unix ms: its last attempt, or its end as failed or expired; None if it never did.

    Example:
        >>> from resonate_core.cli.dash_frame import failed_at
        >>> failed_at({"attempts": [{"finishedAt": 5, "error": {}}, {"startedAt": 7}], "failedAt": 6})
        6
    """
    ends = [one.get("finishedAt") for one in job.get("attempts", []) if one.get("error") is not None]
    ends += [job.get("failedAt"), job.get("expiredAt")]
    return max((end for end in ends if end is not None), default=None)


@dataclass(frozen=True)
class QueueFrame:
    """One queue.

    Attributes:
        stats: As job.stats has it.
        settings: As queue.list has it.
        per_second: Attempts that ended, by the second, since the frame before; None in the first.
        failed_per_second: Those that failed.
        trend: `per_second` of the last frames, the newest last.
    """

    stats: dict[str, Any]
    settings: dict[str, Any]
    per_second: float | None = None
    failed_per_second: float | None = None
    trend: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.stats["name"])

    def count(self, *states: str) -> int:
        """Return how many jobs are in these states."""
        return sum(int(self.stats["counts"].get(state, 0)) for state in states)

    def today(self, at: int) -> tuple[int, int]:
        """Return the attempts that ended and that failed on the day (UTC) of an instant."""
        day = moment(at)[:10]
        return next(((one["processed"], one["failed"]) for one in self.stats["days"] if one["day"] == day), (0, 0))


@dataclass(frozen=True)
class Frame:
    """The queues, running jobs and failed jobs that the dash shows, at one instant.

    Attributes:
        at: The instant, in Unix ms.
        queues: By name.
        running: Claimed and running jobs, those that began first before others.
        more_running: There are more of them.
        failures: Jobs that failed, the last first.
        all_failures: Whether all failures were read; otherwise there may be later ones.
    """

    at: int
    queues: list[QueueFrame]
    running: list[dict[str, Any]]
    more_running: bool
    failures: list[dict[str, Any]]
    all_failures: bool

    def document(self, name: str) -> dict[str, Any]:
        """The frame as JSON has it."""
        queues = [
            {**one.stats, "settings": one.settings, "perSecond": one.per_second, "failedPerSecond": one.failed_per_second}
            for one in self.queues
        ]
        rest = {"running": self.running, "moreRunning": self.more_running, "failures": self.failures}
        return {"store": name, "at": self.at, "queues": queues, **rest, "allFailures": self.all_failures}


@dataclass
class _Sweep:
    """One pass over all failures. Searches are ordered by id, so the newest failures are known only at its end."""

    searches: list[dict[str, Any]]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)


class FrameReader:
    """Reads frames.

    Args:
        target: The store.
        queues: The shown queues; none: all.

    Attributes:
        took: How long the last frame took to read, in s.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from resonate_core.cli.dash_frame import FrameReader
        >>> from resonate_core.cli.target import Access, FileTarget
        >>> with TemporaryDirectory() as folder, FileTarget(Path(folder, "a.db"), Access.MAKE) as target:
        ...     _ = target.store.jobs.enqueue("email:send", queue="mail")
        ...     [(queue.name, queue.count("pending")) for queue in FrameReader(target, []).frame().queues]
        [('mail', 1)]
    """

    def __init__(self, target: Target, queues: list[str]) -> None:
        self._target = target
        self._names = queues
        scopes: list[dict[str, Any]] = [{"queue": name} for name in queues] or [{}]
        self._scopes = scopes
        self._sweep: _Sweep | None = None
        self._is_first = True
        self.took = 0.0
        self._before: dict[str, dict[str, Any]] | None = None
        self._days: dict[str, dict[str, tuple[int, int]]] = {}
        self._seconds = 0.0
        self._trends: dict[str, deque[float]] = {}

    def _answers(self, requests: list[Envelope]) -> list[dict[str, Any]]:
        answers = []
        for answer in self._target.exchange(requests):
            status, data = answer["head"]["status"], answer["data"]
            if not is_done(status) or not isinstance(data, dict):
                raise refusal(status, data)
            answers.append(data)
        return answers

    def frame(self) -> Frame:
        """Reads the next frame.

        Raises:
            CommandFailed: The store cannot be reached, refuses it, or has no queue of a name that is to be shown.
        """
        began = seconds()
        ask = self._target.request
        requests = [ask("job.stats", scope) for scope in self._scopes]
        requests += [ask("queue.get", scope) if scope else ask("queue.list", {}) for scope in self._scopes]
        answers = self._answers(requests)
        at, scopes = now(), len(self._scopes)
        counted = [data["queues"] for data in answers[:scopes]]
        settings = [queue for data in answers[scopes:] for queue in data.get("queues", [data.get("queue")])]
        pages = self._answers([ask("job.search", search) for search in self._searches(counted, _HELD, _RUNNING)])
        held = [job for data in pages for job in data["jobs"]]
        held.sort(key=lambda job: (job.get("startedAt", job.get("claimedAt", 0)), job["id"]))
        failures, complete = self._failures(self._searches(counted, _FAILING, _PAGE))
        self.took = seconds() - began
        return Frame(
            at=at,
            queues=self._queues([queue for queues in counted for queue in queues], {queue["name"]: queue for queue in settings}),
            running=held[:_RUNNING],
            more_running=len(held) > _RUNNING or any("cursor" in data for data in pages),
            failures=failures,
            all_failures=complete,
        )

    def job(self, id: str) -> dict[str, Any] | None:
        """Read one job; None if it does not exist."""
        status, data = self._target.ask("job.get", {"id": id})
        if status == 404:
            return None
        if not is_done(status):
            raise refusal(status, data)
        found: dict[str, Any] = data["job"]
        return found

    def _searches(self, counted: list[list[dict[str, Any]]], states: Sequence[str], limit: int) -> list[dict[str, Any]]:
        """Return the searches for jobs of these states, if the counts say that there are any: a search that finds none reads all jobs."""
        return [
            {**scope, "state": state, "limit": limit}
            for scope, queues in zip(self._scopes, counted, strict=True)
            for state in states
            if any(queue["counts"].get(state) for queue in queues)
        ]

    def _queues(self, stats: list[dict[str, Any]], settings: dict[str, dict[str, Any]]) -> list[QueueFrame]:
        present = seconds()
        passed, first = present - self._seconds, not self._days and not self._trends
        self._seconds = present
        frames = []
        for queue in stats:
            name = queue["name"]
            days = {one["day"]: (one["processed"], one["failed"]) for one in queue["days"]}
            known = self._days.get(name, {})
            rates: list[float | None] = [None, None]
            trend = self._trends.setdefault(name, deque(maxlen=_TREND))
            if not first and passed > 0:
                done = [sum(counts[part] - known.get(day, (0, 0))[part] for day, counts in days.items()) for part in (0, 1)]
                rates = [max(count, 0) / passed for count in done]
                trend.append(rates[0] or 0.0)
            self._days[name] = days
            frames.append(QueueFrame(queue, settings.get(name, {}), rates[0], rates[1], tuple(trend)))
        return frames

    def _failures(self, searches: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
        """Return the newest known failures, and whether all were read.

        A page at least is read each time, and until a walk has ended, what the one before has found is shown with it.
        """
        until = seconds() + (_FIRST_LOOK if self._is_first else _LOOK)
        self._is_first = False
        sweep = self._sweep or _Sweep(searches)
        while sweep.searches:
            self._turn_pages(sweep)
            if seconds() >= until:
                break
        known = {**(self._before or {}), **sweep.found}
        self._sweep = sweep
        if not sweep.searches:
            known, self._before, self._sweep = sweep.found, sweep.found, None
        return _latest(known.values()), self._before is not None

    def _turn_pages(self, sweep: _Sweep) -> None:
        """Read the next page of each search that has one."""
        pages = self._answers([self._target.request("job.search", search) for search in sweep.searches])
        for page in pages:
            sweep.found.update((job["id"], job) for job in page["jobs"])
        sweep.found = {job["id"]: job for job in _latest(sweep.found.values())}
        sweep.searches = [
            {**search, "cursor": page["cursor"]}
            for search, page in zip(sweep.searches, pages, strict=True)
            if page.get("cursor") is not None
        ]


def _latest(jobs: Any) -> list[dict[str, Any]]:
    """Return the jobs that failed last; a job that was archived by hand has not failed."""
    failed = [(at, job) for job in jobs for at in [failed_at(job)] if at is not None]
    failed.sort(key=lambda one: (-one[0], one[1]["id"]))
    return [job for _, job in failed[:_KEPT]]
