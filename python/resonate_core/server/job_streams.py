"""Job streams: each tells a worker when a job of its queues can be claimed (WIRE 3)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..base.stopwatch import seconds
from ..calls.wakeup import Wakeup
from ..errors import Closed, Invalid, NotFound
from . import event_stream
from .outage import Outage
from .watched_queue import Stats, WatchedQueue

if TYPE_CHECKING:
    from starlette.types import Receive, Send

    from .._core import Store
    from ..calls.serial_executor import Call
    from .metrics import Metrics
    from .settings import StreamSettings

__all__ = ["JobStreams"]

_log = logging.getLogger("resonate_core.server")

#: The shortest time between a look after a commit and the next look (s): a burst of commits wakes workers at once, then once in this
#: time.
_BETWEEN_LOOKS = 0.005
#: The share of the time of one thread that looks may take.
_BUSY_SHARE = 0.2
#: Seconds in which workers that were woken can claim, before others are woken for the same jobs.
_TIME_TO_CLAIM = 0.02
#: Seconds until the next look after the store has failed.
_PAUSE = 1.0
#: For `Watch.rearm`: only jobs that can be claimed wake, and no timers.
_NO_TIMERS = 0
#: The statistics of a queue that does not exist.
_NONE: Stats = {"paused": False, "counts": {"pending": 0}}


class _Stream:
    """One open connection of a worker."""

    def __init__(self, queues: Iterable[str]) -> None:
        self.queues = tuple(queues)
        self.closing = False
        self._with_jobs: dict[str, None] = {}  # queues that no event has named yet
        self._changed = asyncio.Event()

    def wake(self, queue: str) -> None:
        """Name a queue in the next event. One event names all queues that wait for it."""
        self._with_jobs[queue] = None
        self._changed.set()

    def end(self) -> None:
        self.closing = True
        self._changed.set()

    async def next(self, timeout: float) -> list[str]:
        """Return the queues of the next event: none after the timeout (s), or if the stream ends."""
        if not self._changed.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), timeout)
        self._changed.clear()
        queues, self._with_jobs = list(self._with_jobs), {}
        return queues


class JobStreams:
    """All job streams of one server.

    While a stream is open, the queues are read after each commit of this process (on PostgreSQL also of others), and once in each
    interval. The interval finds what no commit here shows: a commit of another process to a file, or a queue that is resumed.

    Args:
        store: The store.
        call: Calls a function of the store in a thread.
        settings: The lifetimes of streams.
        metrics: The counters.
        interval: Seconds between two looks without a commit.
    """

    def __init__(self, store: Store, call: Call, settings: StreamSettings, metrics: Metrics, interval: float) -> None:
        self._store = store
        self._call = call
        self._settings = settings
        self._metrics = metrics
        self._interval = interval
        self._queues: dict[str, WatchedQueue[_Stream]] = {}
        self._streams: dict[_Stream, None] = {}  # in the order in which they were opened
        self._closed = False
        self._woken = asyncio.Event()
        self._committed = False
        self._looking: asyncio.Task[None] | None = None
        self._outage = Outage("the queues of job streams could not be read", "the queues of job streams are read again", _PAUSE)

    def __len__(self) -> int:
        return len(self._streams)

    def end_all(self) -> None:
        """End every stream, and open no new one, because the server stops."""
        self._closed = True
        self._end_streams()

    async def close(self) -> None:
        """End every stream and the look at the queues."""
        self.end_all()
        self._woken.set()
        if self._looking is not None:
            await asyncio.gather(self._looking, return_exceptions=True)

    def _end_streams(self) -> None:
        for stream in self._streams:
            stream.end()

    # -- one stream ---------------------------------------------------------------------------------------------------

    async def serve(self, queues: Iterable[str], receive: Receive, send: Send) -> None:
        """Answer one GET with events about these queues, until its lifetime is over or its client disconnects."""
        stream = _Stream(queues)
        self._open(stream)  # before the client knows that it is open: no job after that is missed
        disconnect = asyncio.get_running_loop().create_task(event_stream.until_disconnect(receive))
        disconnect.add_done_callback(lambda _: stream.end())
        try:
            # A client that does not read loses its stream.
            await asyncio.wait_for(event_stream.begin(send), self._settings.keepalive)
            ends_at = seconds() + self._settings.lifetime
            while not stream.closing:
                left = ends_at - seconds()
                if left <= 0:
                    break
                with_jobs = await stream.next(min(self._settings.keepalive, left))
                if with_jobs:
                    self._metrics.job_wakeups.inc()
                    await asyncio.wait_for(event_stream.write(send, _event(with_jobs)), self._settings.keepalive)
                elif not stream.closing and left >= self._settings.keepalive:
                    await asyncio.wait_for(event_stream.write(send, event_stream.COMMENT), self._settings.keepalive)
            if not disconnect.done():
                await event_stream.end(send)
        except asyncio.TimeoutError:
            _log.debug("a job stream was closed: its client does not read it")
        finally:
            self._remove(stream)
            disconnect.cancel()

    def _open(self, stream: _Stream) -> None:
        self._streams[stream] = None
        for name in stream.queues:
            self._queues.setdefault(name, WatchedQueue()).streams[stream] = None
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        if self._closed:
            stream.end()

    def _remove(self, stream: _Stream) -> None:
        self._streams.pop(stream, None)
        for name in stream.queues:
            queue = self._queues[name]
            queue.remove(stream)
            if not queue.streams:
                del self._queues[name]
        if not self._streams:
            self._woken.set()  # the look ends

    # -- the look at the queues -----------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Look at the queues while a stream is open. A closed store ends the streams."""
        with contextlib.suppress(Closed):
            await self._look_again_and_again()
        self._end_streams()

    async def _look_again_and_again(self) -> None:
        def commit_seen() -> None:
            self._committed = True
            self._woken.set()

        with Wakeup(self._store.watch).listen(asyncio.get_running_loop(), commit_seen) as wakeup:
            while self._streams and not self._closed:
                self._woken.clear()
                committed, self._committed = self._committed, False
                wakeup.rearm(_NO_TIMERS)
                try:
                    took = await self._wake(committed)
                except Closed:
                    raise
                except Exception as error:
                    self._outage.failed(error)
                    await self._wait(_PAUSE)
                    continue
                self._outage.passed()
                await asyncio.sleep(max(_BETWEEN_LOOKS if committed else 0, took / _BUSY_SHARE))
                await self._wait(_TIME_TO_CLAIM if any(queue.left for queue in self._queues.values()) else self._interval)

    async def _wait(self, timeout: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout)

    async def _wake(self, committed: bool) -> float:
        """Look once; return how many seconds the store took."""
        names = list(self._queues)

        def look() -> tuple[list[Stats], float]:
            began = seconds()
            return [self._stats(name) for name in names], seconds() - began

        found, took = await self._call(look)
        for name, stats in zip(names, found, strict=True):
            queue = self._queues.get(name)  # its last stream may have ended meanwhile
            for stream in queue.take(stats, committed) if queue is not None else ():
                stream.wake(name)
        return float(took)

    def _stats(self, name: str) -> Stats:
        """In a thread: the statistics of a queue, except for the time that its jobs have waited, which changes by itself."""
        try:
            (stats,) = self._store.queues.stats(name)
        except (NotFound, Invalid):  # it exists from its first job on, and no job has a name that is none
            return _NONE
        return {key: value for key, value in stats.items() if key != "latency"}


def _event(queues: list[str]) -> bytes:
    event = {"kind": "claimable", "head": {}, "data": {"queues": queues}}
    return b"data: " + json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n\n"
