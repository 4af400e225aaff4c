"""The newest jobs, and jobs of a period: in the store's own order if it has one, else by reading a part of all jobs."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.target import Target

__all__ = ["USUAL", "NewestJobs", "Wanted", "newest"]

MOST_READ = 50_000
"""The maximum of jobs that are read of a store that cannot search by time."""

USUAL = 50
"""The maximum of jobs that are shown if none is given."""


@dataclass(frozen=True)
class Wanted:
    """Which jobs.

    Attributes:
        filters: Of job.search.
        since: None or the first instant at which they were sent, in Unix ms.
        until: None or the last one.
        limit: The maximum of jobs.
        cursor: Where to continue.
    """

    filters: dict[str, Any]
    since: int | None = None
    until: int | None = None
    limit: int = USUAL
    cursor: str | None = None

    def has(self, job: dict[str, Any]) -> bool:
        """Whether a job is of this period."""
        sent_at = int(job["sentAt"])
        return (self.since is None or sent_at >= self.since) and (self.until is None or sent_at <= self.until)


@dataclass(frozen=True)
class NewestJobs:
    """The result of a search by time.

    Attributes:
        jobs: The last that was sent first.
        cursor: Where to continue; None: there is no more.
        read: Of how many jobs, if not all could be read; None: of all.
    """

    jobs: list[dict[str, Any]]
    cursor: str | None = None
    read: int | None = None


def newest(target: Target, wanted: Wanted) -> NewestJobs:
    """Return the newest jobs.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from resonate_core.cli.jobs_newest import Wanted, newest
        >>> from resonate_core.cli.target import Access, FileTarget
        >>> with TemporaryDirectory() as folder, FileTarget(Path(folder, "a.db"), Access.MAKE) as target:
        ...     for id, sent_at in (("a", 1000), ("b", 3000), ("c", 2000)):
        ...         _ = target.store.jobs.enqueue("t", id=id, sent_at=sent_at)
        ...     [job["id"] for job in newest(target, Wanted({}, since=1500)).jobs]
        ['b', 'c']
    """
    if wanted.cursor is not None:
        raise CommandFailed("--cursor: this store cannot continue a search by time: give --until, or --limit", Exit.USAGE)
    return _swept(target, wanted)


def _swept(target: Target, wanted: Wanted) -> NewestJobs:
    """Read all jobs, or as many as permitted, and keep the newest: searches are ordered by id."""
    read = 0

    def looked_at() -> Iterator[dict[str, Any]]:
        nonlocal read
        for job in target.pages("job.search", "jobs", {**wanted.filters, "limit": 1000}):
            if read == MOST_READ:
                read += 1
                return
            read += 1
            if wanted.has(job):
                yield job

    jobs = heapq.nsmallest(wanted.limit, looked_at(), key=lambda job: (-int(job["sentAt"]), job["id"]))
    return NewestJobs(jobs, read=MOST_READ if read > MOST_READ else None)
