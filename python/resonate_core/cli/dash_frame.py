"""What a dash shows at one instant, and what it must remember from one to the next: rates, and failures found page by page."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resonate_core._stopwatch import seconds
from resonate_core.cli.exits import is_done
from resonate_core.cli.show import moment
from resonate_core.cli.target import Envelope, Target, refusal
from resonate_core.cli.values import now

__all__ = ["Frame", "QueueFrame", "Reader", "failed_at"]

_FAILING = ("retry", "archived", "failed", "expired")
_KEPT = 40
_RUNNING = 100
# How much of the failures is read for the first frame, and for each later one.
_FIRST_PAGES, _FIRST_PAGE = 10, 1000
_PAGE = 100
_TREND = 20


def failed_at(job: Mapping[str, Any]) -> int | None:
    """When a job last failed, in Unix ms: its last attempt, the end of its retries or of its time; None if it never did.

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
        """How many jobs are in these states."""
        return sum(int(self.stats["counts"].get(state, 0)) for state in states)

    def today(self, at: int) -> tuple[int, int]:
        """Attempts that ended and that failed on the day (UTC) of an instant."""
        day = moment(at)[:10]
        return next(((one["processed"], one["failed"]) for one in self.stats["days"] if one["day"] == day), (0, 0))


@dataclass(frozen=True)
class Frame:
    """All of it at one instant.

    Attributes:
        at: The instant, in Unix ms.
        queues: By name.
        running: Claimed and running jobs, those that began first before others.
        more_running: There are more of them.
        failures: Jobs that failed, the last first.
        all_failures: Every one was looked at; else there may be later ones.
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
    """One walk through all failures. Searches are ordered by id, so the last ones are known when it has ended."""

    cursors: dict[int, str | None]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)


class Reader:
    """Reads frames.

    Args:
        target: The store.
        queues: Those that are shown; none: all.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from resonate_core.cli.dash_frame import Reader
        >>> from resonate_core.cli.target import Access, FileTarget
        >>> with TemporaryDirectory() as folder, FileTarget(Path(folder, "a.db"), Access.MAKE) as target:
        ...     _ = target.store.jobs.enqueue("email:send", queue="mail")
        ...     [(queue.name, queue.count("pending")) for queue in Reader(target, []).frame().queues]
        [('mail', 1)]
    """

    def __init__(self, target: Target, queues: list[str]) -> None:
        self._target = target
        self._names = queues
        scopes: list[dict[str, Any]] = [{"queue": name} for name in queues] or [{}]
        self._scopes = scopes
        self._searches = [{**scope, "state": state} for scope in scopes for state in _FAILING]
        self._sweep = self._new_sweep()
        self._is_first = True
        self._before: dict[str, dict[str, Any]] | None = None
        self._days: dict[str, dict[str, tuple[int, int]]] = {}
        self._seconds = 0.0
        self._trends: dict[str, deque[float]] = {}

    def _new_sweep(self) -> _Sweep:
        return _Sweep(dict.fromkeys(range(len(self._searches))))

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
            Failure: The store cannot be reached, refuses it, or has no queue of a name that is to be shown.
        """
        ask = self._target.envelope
        requests = [ask("job.stats", scope) for scope in self._scopes]
        requests += [ask("queue.get", scope) if scope else ask("queue.list", {}) for scope in self._scopes]
        states = [{**scope, "state": state, "limit": _RUNNING} for scope in self._scopes for state in ("running", "claimed")]
        requests += [ask("job.search", search) for search in states]
        answers = self._answers(requests)
        at, scopes = now(), len(self._scopes)
        stats = [queue for data in answers[:scopes] for queue in data["queues"]]
        settings = [queue for data in answers[scopes : 2 * scopes] for queue in data.get("queues", [data.get("queue")])]
        held = [job for data in answers[2 * scopes :] for job in data["jobs"]]
        held.sort(key=lambda job: (job.get("startedAt", job.get("claimedAt", 0)), job["id"]))
        failures, complete = self._failures()
        return Frame(
            at=at,
            queues=self._queues(stats, {queue["name"]: queue for queue in settings}),
            running=held[:_RUNNING],
            more_running=len(held) > _RUNNING or any("cursor" in data for data in answers[2 * scopes :]),
            failures=failures,
            all_failures=complete,
        )

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

    def _failures(self) -> tuple[list[dict[str, Any]], bool]:
        """The last failures that are known, and whether all were looked at.

        A few pages are read each time, so that a frame costs the same however many there are; until a walk has ended, what the one
        before has found is shown with it.
        """
        is_first, self._is_first = self._is_first, False
        for _ in range(_FIRST_PAGES if is_first else 1):
            self._turn_pages(_FIRST_PAGE if is_first else _PAGE)
            if not self._sweep.cursors:
                self._before, self._sweep = self._sweep.found, self._new_sweep()
                break
        known = {**(self._before or {}), **self._sweep.found}
        return _latest(known.values()), self._before is not None

    def _turn_pages(self, limit: int) -> None:
        """Reads the next page of each search that has one."""
        sweep = self._sweep
        waiting = list(sweep.cursors.items())
        requests = []
        for index, cursor in waiting:
            data = self._searches[index] | {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
            requests.append(self._target.envelope("job.search", data))
        for (index, _), data in zip(waiting, self._answers(requests), strict=True):
            sweep.found.update((job["id"], job) for job in data["jobs"])
            if data.get("cursor") is None:
                del sweep.cursors[index]
            else:
                sweep.cursors[index] = data["cursor"]
        sweep.found = {job["id"]: job for job in _latest(sweep.found.values())}


def _latest(jobs: Any) -> list[dict[str, Any]]:
    """Those that failed last; a job that was archived by hand has not failed."""
    failed = [(at, job) for job in jobs for at in [failed_at(job)] if at is not None]
    failed.sort(key=lambda one: (-one[0], one[1]["id"]))
    return [job for _, job in failed[:_KEPT]]
