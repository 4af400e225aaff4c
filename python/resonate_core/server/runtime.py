"""The parts of an app that run on one event loop: threads, driver, batcher and transports."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from random import Random
from typing import TYPE_CHECKING

from .._core import Store
from ..base.release_delay import Damper
from ..base.stopwatch import seconds
from ..calls.serial_executor import SerialExecutor
from .batcher import Batcher
from .delivery import Delivery
from .driver import Driver
from .job_streams import JobStreams
from .leases import Leases
from .metrics import Metrics
from .otel_metrics import MetricExport
from .poll import Poll
from .push import Push
from .request_body import BodyTimeout
from .settings import Settings
from .stream_places import StreamPlaces
from .tenants import Tenants

if TYPE_CHECKING:
    from .._core import Message

__all__ = ["Runtime"]

_log = logging.getLogger("resonate_core.server")

#: The number of times that the other processes of a server can read the store, before this one gives a message to a stream that the
#: message does not prefer.
_READS_OF_OTHERS = 3
#: The most long requests, or portions of them, that are decoded at a time. One of 10,000 jobs takes about 10 MB.
_LONG_REQUESTS = 4
#: Seconds that a stop waits until delivered messages are acknowledged.
_ACKNOWLEDGE_TIMEOUT = 5


class Runtime:
    """Everything that an app runs on one event loop.

    Args:
        store: The store.
        settings: The settings of the server.
        metrics: The counters.
        random: Spreads the retries of pushes, and names this server's leases.
        body_timeout: The time limit of a request's body, in seconds.
        tenants: The known prefixes of ids.
    """

    def __init__(
        self, store: Store, settings: Settings, metrics: Metrics, random: Random, body_timeout: float, tenants: Tenants
    ) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        delivery, streams, url = settings.delivery, settings.streams, settings.server.url
        self.loop = asyncio.get_running_loop()
        self.stream_places = StreamPlaces(settings.limits)
        self.counting = store.watch(-1)
        self.damper = Damper(seconds)
        self.executor = SerialExecutor("resonate-store")
        self._acknowledging = SerialExecutor("resonate-acknowledge")
        self.body_timeout = BodyTimeout(body_timeout)
        interval = delivery.foreign_interval_ms / 1000 if store.shared else None
        self.driver = Driver(store, self.executor.call, metrics, interval)
        self._turns = asyncio.Semaphore(_LONG_REQUESTS)
        self._waiting = 0
        self.batcher = Batcher(store, metrics, lambda: self.driver.behind, in_order=store.debug)
        holder = f"{url or 'server'}#{random.getrandbits(64):016x}"
        leases = Leases(store, self._acknowledging.call, holder, delivery.lease_ms) if store.shared else None
        self.deliveries = Delivery(store, self._acknowledging.call, metrics, self.driver.wake, self.damper, streams.grace, leases)
        self.poll = Poll(self.deliveries, streams, metrics, url, self._wait_for_others)
        self.deliveries.transports["poll"] = self.poll
        if settings.push.enabled:
            push = Push(self.deliveries, settings.push, metrics, url, random, tenants)
            self.deliveries.transports["http"] = self.deliveries.transports["https"] = push
        self.driver.serve(self.deliveries)
        self._looking = SerialExecutor("resonate-job-streams")
        #: For the pages outside the protocol: their reads may take long, and no tick waits for them.
        self.reading = SerialExecutor("resonate-pages")
        self.job_streams = JobStreams(store, self._looking.call, streams, metrics, delivery.foreign_interval_ms / 1000)
        self.driving = self.loop.create_task(self.driver.run()) if delivery.enabled else None
        if self.driving is not None:
            self.driving.add_done_callback(_log_failure)
        self._export = MetricExport(metrics, self._read_for_export) if settings.server.metrics_otel else None

    def _read_for_export(self) -> None:
        self.show(self._metrics)
        self._metrics.read(self._store, self.counting)

    def _wait_for_others(self, message: Message) -> float:
        """Return the seconds in which another process of this server may still give a message to the stream that the message prefers."""
        delivery = self._settings.delivery
        if delivery.processes == 1:
            return 0.0
        until = message.queued_at + _READS_OF_OTHERS * delivery.foreign_interval_ms
        return max(0.0, (until - self._store.now) / 1000)

    @property
    def open_streams(self) -> int:
        """The number of open streams of both kinds."""
        return len(self.poll.streams) + len(self.job_streams)

    @property
    def in_flight(self) -> int:
        """The number of requests that wait or run."""
        return self.batcher.in_flight + self._waiting

    @contextlib.asynccontextmanager
    async def turn_of_long(self, requests: int) -> AsyncIterator[None]:
        """Wait until these long requests may be decoded and run, if there are any; meanwhile they count as under way.

        Few are decoded at a time, because a request takes many times the memory of its text.
        """
        if requests == 0 or self.in_flight >= self._settings.limits.requests_in_flight:  # then each is refused
            yield
            return
        self._waiting += requests
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= requests
        try:
            yield
        finally:
            self._turns.release()

    def show(self, metrics: Metrics) -> None:
        """Set the gauges of the streams and requests of this loop."""
        metrics.streams.set(len(self.poll.streams))
        metrics.job_streams.set(len(self.job_streams))
        metrics.in_flight.set(self.in_flight)

    def end_streams(self) -> None:
        """End every stream, and open no new one, because the server stops. A poll stream first sends its queued messages."""
        self.poll.end_all()
        self.job_streams.end_all()

    async def stop(self) -> None:
        """Wait for the requests and deliveries under way, so that no reply and no delivered message is lost."""
        if self._export is not None:
            self._export.close()
        self.body_timeout.close()
        await self.job_streams.close()
        if self.driving is not None:
            self.driver.end()
            await asyncio.gather(self.driving, return_exceptions=True)
        await self.deliveries.close(_ACKNOWLEDGE_TIMEOUT)
        for part in (self.batcher, self.executor, self._acknowledging, self._looking, self.reading):
            await self.loop.run_in_executor(None, part.close)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.critical("ticks and deliveries ended: %s", task.exception(), exc_info=task.exception())
