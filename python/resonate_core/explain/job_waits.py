"""What holds a waiting job up: the archived job, the paused queue or the circle at the end of its waits (JOBS 8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.instants import NEVER
from .store_reader import StoreReader

__all__ = ["Waits", "received_topic", "waits_before_start"]

#: The most promises that are examined for one answer.
_MOST_EXAMINED = 300


def waits_before_start(job: Mapping[str, Any]) -> bool:
    """Return whether a waiting job waits by `after`; otherwise by `job.suspend`.

    Args:
        job: As on the wire, or of a snapshot.

    Example:
        >>> from resonate_core.explain.job_waits import waits_before_start
        >>> waits_before_start({"after": ["a"]}), waits_before_start({"after": ["a"], "attempts": [{"number": 1}]})
        (True, False)
    """
    return "after" in job and not job.get("attempts")


def received_topic(row: Mapping[str, Any]) -> str | None:
    """Return the topic of which a pending step of a job takes the next message; None if it takes none.

    Args:
        row: As in a snapshot.
    """
    waits = row["state"] == "pending" and row.get("child", {}).get("kind") == "receive"
    return row["tags"].get("resonate:topic") if waits else None


@dataclass
class Waits:
    """The promises that a job waits for, those that these wait for, and so on, as far as they are visible.

    Args:
        reader: Reads the store.
        root: The id of the job.

    Attributes:
        lacks: The visible ids that each waiting job lacks.
        needs_one: The jobs that continue when one of these is settled.
        causes: The ids that wait for a person: archived jobs, jobs of paused queues, halted tasks, promises that no task settles.

    Example:
        >>> from resonate_core.explain.job_waits import Waits
        >>> from resonate_core.explain.store_reader import StoreReader
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> for id, after in (("a", None), ("b", ["a"]), ("c", ["b"])):
        ...     _ = store.jobs.enqueue("t", id=id, after=after)
        >>> Waits(StoreReader(store), "c").obstacle
        []
        >>> _ = store.jobs.archive("a")
        >>> Waits(StoreReader(store), "c").obstacle
        ['b', 'a']
    """

    reader: StoreReader
    root: str
    lacks: dict[str, list[str]] = field(default_factory=dict, init=False)
    needs_one: set[str] = field(default_factory=set, init=False)
    causes: set[str] = field(default_factory=set, init=False)
    _ranks: dict[str, int] = field(default_factory=dict, init=False)
    _paused: dict[str, bool] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        seen, frontier = {self.root: None}, [self.root]  # in the order in which they are found
        while frontier:
            rows = self.reader.rows(frontier)
            following: list[str] = []
            for id in frontier:
                self._examine(id, rows.get(id))
                following += self.lacks.get(id, ())
            room = max(_MOST_EXAMINED - len(seen), 0)
            frontier = [id for id in dict.fromkeys(following) if id not in seen][:room]
            seen.update(dict.fromkeys(frontier))
        self._rank(seen)

    def _examine(self, id: str, row: Mapping[str, Any] | None) -> None:
        if row is None or row["state"] != "pending":
            return
        job = row.get("job")
        if job is None:
            if _waits_for_a_person(row):
                self.causes.add(id)
        elif job["state"] == "waiting":
            self.lacks[id] = [other for other in job["awaits"] if self.reader.sees(other)][:_MOST_EXAMINED]
            if job.get("until") == "any":
                self.needs_one.add(id)
        elif job["state"] == "archived" or (job["state"] == "pending" and self._is_paused(job["queue"])):
            self.causes.add(id)

    def _is_paused(self, queue: str) -> bool:
        if queue not in self._paused:
            status, data = self.reader.ask("queue.get", {"queue": queue})
            self._paused[queue] = status == 200 and bool(data["queue"]["paused"])
        return self._paused[queue]

    def _rank(self, examined: Mapping[str, None]) -> None:
        """Rank what can end by itself: a job after those that it needs. Jobs of a circle, and those that need a cause, get no rank.

        What was not examined, or is not visible, counts as if it could end.
        """
        self._ranks = {id: 0 for id in examined if id not in self.causes and not self.lacks.get(id)}
        left = [id for id in reversed(list(examined)) if self.lacks.get(id)]
        found = True
        while found:
            found = False
            for id in left:
                ranks = [self._rank_of(other, examined) for other in self.lacks[id]]
                known = [rank for rank in ranks if rank is not None]
                if len(known) == len(ranks) or (id in self.needs_one and known):
                    self._ranks[id] = 1 + (min(known) if id in self.needs_one else max(known))
                    found = True
            left = [id for id in left if id not in self._ranks]

    def _rank_of(self, id: str, examined: Mapping[str, None]) -> int | None:
        return self._ranks.get(id) if id in examined else 0

    @property
    def obstacle(self) -> list[str]:
        """The ids from the first that the job waits for to the one that holds it up; empty if it is not held up.

        In a circle, they end with an id that was there before, or with the job itself.
        """
        if self.root in self._ranks or not self.lacks.get(self.root):
            return []
        before: dict[str, str] = {}
        waiting = deque([self.root])
        while waiting:
            id = waiting.popleft()
            if id in self.causes:
                return _path(before, self.root, id)
            for other in self.lacks.get(id, ()):
                if other not in before and other != self.root and (other in self.causes or other not in self._ranks):
                    before[other] = id
                    waiting.append(other)
        return self._circle()

    @property
    def has_circle(self) -> bool:
        """Whether the obstacle is a circle of jobs that wait for each other."""
        path = [self.root, *self.obstacle]
        return path[-1] in path[:-1]

    def _circle(self) -> list[str]:
        path, id = [self.root], self.root
        while True:
            id = next(other for other in self.lacks[id] if other not in self._ranks)
            if id in path:
                return [*path[1:], id]
            path.append(id)

    @property
    def in_order(self) -> list[str]:
        """The ids that the job lacks: first the one on the way to what holds it up, or the one that ends first by itself."""
        awaited, obstacle = self.lacks.get(self.root, []), self.obstacle
        if obstacle:
            return [obstacle[0], *(id for id in awaited if id != obstacle[0])]
        if self.root in self.needs_one:
            return sorted(awaited, key=lambda id: (id in self.causes, self._ranks.get(id, len(self._ranks))))
        return awaited


def _path(before: Mapping[str, str], root: str, id: str) -> list[str]:
    path = [id]
    while before[path[-1]] != root:
        path.append(before[path[-1]])
    return path[::-1]


def _waits_for_a_person(row: Mapping[str, Any]) -> bool:
    """Return whether nothing that happens by itself settles a pending promise that is no job."""
    tags, task = row["tags"], row.get("task")
    if tags.get("resonate:timer") == "true" or tags.get("resonate:scope") == "local":
        return False
    if task is not None:
        return bool(task["state"] == "halted")
    return bool(row["timeoutAt"] == NEVER)
