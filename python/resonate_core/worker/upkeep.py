"""What a running worker does now and then: it renews its leases and keeps periodic jobs enqueued."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from .._stopwatch import seconds
from ..errors import ResonateError
from .turn import MOST

if TYPE_CHECKING:
    from .session import Session

__all__ = ["beat", "keep_periodic"]

_log = logging.getLogger("resonate_core.worker")

#: How often periodic jobs are looked at, at the least and at the most (s).
_SOONEST, _LATEST = 0.02, 60.0


async def beat(session: Session) -> None:
    """Renews the leases of all jobs of the worker, claimed and running, and calls off those that the store says are over."""
    worker = session.worker
    lease = min(worker.lease, worker.run_lease) / 1000
    renewed = seconds()
    while True:
        await asyncio.sleep(worker.heartbeat)
        held = session.attempts.held() + [(job.id, job.version) for unit in session.claimed for job in unit]
        begun = seconds()
        try:
            for first in range(0, len(held), MOST):
                part = held[first : first + MOST]
                cancelled, lost = await session.call(session.door.heartbeat, worker.name, part)
                session.attempts.call_off(cancelled, part, "cancelled")
                session.attempts.call_off(lost, part, "lost")
        except (ResonateError, OSError) as error:
            _log.error("no heartbeat: %r: %s", session.door, error)
            if seconds() - renewed >= lease:  # by now they are somebody else's
                session.attempts.call_off([id for id, _ in held], held, "lost")
            continue
        renewed = begun


async def keep_periodic(session: Session) -> None:
    """Sees to it that the next occurrence of each periodic job waits in the store."""
    worker, door = session.worker, session.door
    while worker.periodics:
        pause = worker.poll_interval if door.manual else _LATEST
        for periodic in worker.periodics:
            try:
                await session.call(periodic.ensure, door)
            except (ResonateError, OSError):
                _log.exception("periodic job %r could not be enqueued", periodic.name)
                continue
            if periodic.next_at is not None and not door.manual:
                pause = min(pause, (periodic.next_at - door.now()) / 1000)
        await asyncio.sleep(max(_SOONEST, pause))
