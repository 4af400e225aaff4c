"""Jobs at every occurrence of a cron expression: each is enqueued ahead, once, however many workers there are."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .._core import cron_next
from ..base.instants import moment
from ..calls.values import milliseconds
from ..errors import Conflict, NotFound
from .job_source import JobSource
from .option_values import name_or_none, text

__all__ = ["TAG_CRON", "TAG_NAME", "Periodic"]

#: How jobs of a periodic job are found: its name, and the expression that their instant is from.
TAG_NAME, TAG_CRON = "periodic:name", "periodic:cron"
#: The row of a job shows that its occurrence was enqueued. It stays at least this long (ms), so that a worker whose clock is late
#: does not enqueue it again.
LEAST_RETENTION = 60_000
#: How long it stays by default (ms).
RETENTION = 86_400_000
#: The number of looks for the end of a job that holds the unique key, in the time to the next occurrence.
_LOOKS = 4
#: The retention of what stays for ever.
KEPT = "kept"


class Periodic:
    """One periodic job.

    The next occurrence always waits in the store, as a scheduled job whose id is made from its instant, so that only the first worker
    enqueues it. Occurrences that passed while no worker ran are not made up, except for the one that waited.

    A `unique_key` is held by one occurrence at a time. While a job with this key is not over, no other occurrence is enqueued; once it
    is, the next one of the expression is.

    Args:
        name: Its name, the beginning of the ids.
        expression: Five fields of cron, or six with leading seconds, or a word such as `@hourly`.
        tz: The time zone, `Area/City`; None is UTC.
        type: The type of the jobs.
        payload: Their payload.
        options: Their options.

    Attributes:
        next_at: When the occurrence after the waiting one is enqueued, in Unix ms; below 0: nothing was enqueued yet; None: never.
        blocked_until: The next occurrence, in Unix ms, if it could not be enqueued because another job holds the unique key.

    Raises:
        Invalid: No expression, an unknown time zone, or a retention that forgets at once.
    """

    def __init__(self, name: str, expression: str, tz: str | None, type: str, payload: Any, options: Mapping[str, Any]) -> None:
        self.name = text("name of a periodic job", name)
        tz = name_or_none(f"tz of periodic job {name!r}", tz)
        expression = text(f"cron of periodic job {name!r}", expression)
        self.cron = expression if tz is None else f"CRON_TZ={tz} {expression}"
        cron_next(self.cron, 0)
        self.type = type
        self.payload = payload
        self.options = dict(options)
        good_for = self.options.pop("good_for", None)
        self.good_for = None if good_for is None else milliseconds("good_for", good_for, 1)
        if self.options.get("retention") is None:
            self.options["retention"] = RETENTION
        elif self.options["retention"] != KEPT:
            milliseconds(f"retention of periodic job {name!r}", self.options["retention"], LEAST_RETENTION)
        self.next_at: int | None = -1
        self.blocked_until: int | None = None
        self._log = logging.getLogger("resonate_core.worker")

    def __repr__(self) -> str:
        return f"<Periodic {self.name!r} {self.cron!r}>"

    def ensure(self, client: JobSource) -> None:
        """Enqueue the next occurrence, unless it waits in the store already, or another job holds its unique key."""
        now = client.now()
        if self.next_at is None or now < self.next_at:
            return
        if self.next_at < 0:
            self._drop_others(client)
        following = cron_next(self.cron, now)
        if following and not self._enqueue(client, following[0]):
            if self.blocked_until is not None and self.blocked_until < following[0]:
                self._log.warning(
                    "periodic job %r: the occurrence at %s is left out: another job holds its unique_key %r",
                    self.name,
                    moment(self.blocked_until),
                    self.options["unique_key"],
                )
            self.blocked_until = following[0]
            self.next_at = now  # each call tries again
            return
        self.blocked_until = None
        self.next_at = following[0] if following else None

    def pause(self, now: int, poll_interval: float) -> float | None:
        """Return the seconds until `ensure` has something to do; None: never.

        A job that holds the unique key can end at any time, in any process. Each poll checks for that, and more checks are made
        shortly before the next occurrence, so that this one is not missed.

        Args:
            now: The present instant, in Unix ms.
            poll_interval: The longest pause between two looks for the end of a job, in seconds.
        """
        if self.next_at is None:
            return None
        if self.blocked_until is not None:
            return min(poll_interval, (self.blocked_until - now) / 1000 / _LOOKS)
        return (self.next_at - now) / 1000

    def id_of(self, occurrence: int | str) -> str:
        """The id of the job of an occurrence; of ``*`` the pattern of all of them."""
        return f"{self.name}@{occurrence}"

    def _enqueue(self, client: JobSource, occurrence: int) -> bool:
        """Enqueue an occurrence; return False if another job holds its unique key."""
        options: dict[str, Any] = {**self.options, "id": self.id_of(occurrence), "process_at": occurrence}
        options["tags"] = {**(self.options.get("tags") or {}), TAG_NAME: self.name, TAG_CRON: self.cron}
        if self.good_for is not None:
            options["good_until"] = occurrence + self.good_for
        try:
            client.enqueue(self.type, self.payload, options)
        except Conflict:
            try:
                waiting = client.get(options["id"])
            except NotFound:  # so it is not the id that is taken
                if options.get("unique_key") is None:
                    raise
                return False
            # Enqueued by an older or newer version of the program, with another payload, type or queue.
            if waiting.state != "scheduled":
                return True
            client.delete(options["id"])
            return self._enqueue(client, occurrence)
        return True

    def _drop_others(self, client: JobSource) -> None:
        """Delete the waiting jobs of another expression or queue, which were changed since."""
        queue = self.options.get("queue") or "default"
        for job in client.scheduled(self.id_of("*"), {TAG_NAME: self.name}):
            if job.queue == queue and getattr(job, "tags", {}).get(TAG_CRON) == self.cron:
                continue
            try:
                client.delete(job.id)
            except (NotFound, Conflict):  # it was claimed, or deleted by another worker
                continue
            self._log.info("periodic job %r is %r in queue %s now: dropped %s", self.name, self.cron, queue, job.id)
