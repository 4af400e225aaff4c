"""Jobs at every occurrence of a cron expression: each is enqueued ahead, once, however many workers there are."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .._core import cron_next
from ..errors import Conflict, Invalid, NotFound
from .client import Client
from .durations import milliseconds

__all__ = ["TAG_CRON", "TAG_NAME", "Periodic"]

#: How jobs of a periodic job are found: its name, and the expression that their instant is from.
TAG_NAME, TAG_CRON = "periodic:name", "periodic:cron"
#: The row of a job shows that its occurrence was enqueued. It stays at least this long (ms), so that a worker whose clock is late
#: does not enqueue it again.
LEAST_RETENTION = 60_000
#: How long it stays by default (ms).
RETENTION = 86_400_000
#: The retention of what stays for ever.
KEPT = "kept"


class Periodic:
    """One periodic job.

    The next occurrence always waits in the store, as a scheduled job whose id is made from its instant, so that only the first worker
    enqueues it. Occurrences that passed while no worker ran are not made up, except for the one that waited.

    Args:
        name: Its name, the beginning of the ids.
        expression: Five fields of cron, or six with leading seconds, or a word such as `@hourly`.
        tz: The time zone, `Area/City`; None is UTC.
        type: The type of the jobs.
        payload: Their payload.
        options: Their options.

    Raises:
        Invalid: No expression, an unknown time zone, or a retention that forgets at once.
    """

    def __init__(self, name: str, expression: str, tz: str | None, type: str, payload: Any, options: Mapping[str, Any]) -> None:
        if not name:
            raise Invalid("name of a periodic job must not be empty, got ''")
        self.name = name
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
        self._log = logging.getLogger("resonate_core.worker")

    def __repr__(self) -> str:
        return f"<Periodic {self.name!r} {self.cron!r}>"

    def ensure(self, client: Client) -> None:
        """Enqueue the next occurrence, unless it waits in the store already."""
        now = client.now()
        if self.next_at is None or now < self.next_at:
            return
        if self.next_at < 0:
            self._drop_others(client)
        following = cron_next(self.cron, now)
        if following:
            self._enqueue(client, following[0])
        self.next_at = following[0] if following else None

    def id_of(self, occurrence: int) -> str:
        """The id of the job of an occurrence."""
        return f"{self.name}@{occurrence}"

    def _enqueue(self, client: Client, occurrence: int) -> None:
        options: dict[str, Any] = {**self.options, "id": self.id_of(occurrence), "process_at": occurrence}
        options["tags"] = {**(self.options.get("tags") or {}), TAG_NAME: self.name, TAG_CRON: self.cron}
        if self.good_for is not None:
            options["good_until"] = occurrence + self.good_for
        try:
            client.enqueue(self.type, self.payload, options)
        except Conflict:
            # Enqueued by an older or newer version of the program, with another payload, type or queue.
            waiting = client.get(options["id"])
            if waiting.state != "scheduled":
                return
            client.delete(options["id"])
            client.enqueue(self.type, self.payload, options)

    def _drop_others(self, client: Client) -> None:
        """Delete the waiting job of another expression, which was changed since."""
        for job in client.scheduled(self.options.get("queue") or "default", {TAG_NAME: self.name}):
            if getattr(job, "tags", {}).get(TAG_CRON) == self.cron:
                continue
            try:
                client.delete(job.id)
            except (NotFound, Conflict):  # it was claimed, or deleted by another worker
                continue
            self._log.info("periodic job %r is %r now: dropped %s", self.name, self.cron, job.id)
