"""How a worker is run: by itself, in a web app's loop, or in a thread beside a program."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from concurrent.futures import Future
from dataclasses import fields, replace
from typing import TYPE_CHECKING, cast

from .._core import __version__
from .._stopwatch import seconds
from ..errors import Invalid
from .doors import names_of
from .durations import Duration, milliseconds
from .session import Session
from .signals import Signals
from .turn import Counts

if TYPE_CHECKING:
    from typing_extensions import Self

    from .worker import Worker

__all__ = ["Serving"]

_log = logging.getLogger("resonate_core.worker")


def _beginning(worker: Worker) -> str:
    """What a worker says of itself when it starts."""
    queues = worker.queues
    if isinstance(queues, dict):
        named = ", ".join(f"{name} (weight {weight})" for name, weight in queues.items())
    else:
        named = ", ".join(names_of(queues)) + (" (in this order)" if worker.strict else "")
    parts = [f"queues {named}", f"{worker.concurrency} slots", f"jobs of {worker.door!r}"]
    parts.append(f"types {', '.join(sorted(worker.tasks))}" if worker.tasks else "no handlers")
    if worker.periodics:
        parts.append(f"periodic jobs {', '.join(each.name for each in worker.periodics)}")
    return f"worker {worker.name!r} starts: {'; '.join(parts)}; resonate-core {__version__}, process {os.getpid()}"


def _grown(worker: Worker, before: Counts, name: str) -> int:
    since: int = getattr(worker.counts, name) - getattr(before, name)
    return since


class Serving:
    """The running side of a `Worker`."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None

    async def serve(self) -> None:
        """Claims and runs jobs until `stop` is called; in the loop of a program of your own. To cancel it is a stop too.

        Raises:
            Invalid: It runs already.
            ResonateError: The store refuses it, as a server does whose token is another one.

        Example:
            >>> import asyncio
            >>> store = rc.Store()
            >>> worker = rc.worker.Worker(store)
            >>> @worker.task("last")
            ... async def last():
            ...     worker.stop()
            >>> _ = last.enqueue()
            >>> asyncio.run(worker.serve())
            >>> worker.counts.completed
            1
        """
        await self._serve(alone=False)

    async def _serve(self, alone: bool) -> None:
        if self._session is not None:
            raise Invalid(f"{self!r} runs already")
        worker = cast("Worker", self)
        session = self._session = Session(worker, alone)
        began = seconds()
        before = replace(worker.counts)
        _log.info("%s", _beginning(worker))
        try:
            await session.run()
        finally:
            self._session = None
            ended = ", ".join(f"{each.name} {_grown(worker, before, each.name)}" for each in fields(before))
            _log.info("worker %r has stopped after %.1f s: %s", worker.name, seconds() - began, ended)

    def run(self, *, signals: bool = True) -> None:
        """Claims and runs jobs until the process is told to end, or `stop` is called: what a program of its own does.

        SIGTERM and SIGINT stop it gracefully, a second one without the grace: what runs then is put back. A worker that does not end
        after that, since a handler blocks the loop or swallows its cancellation, names the job in the log, and the process exits
        with 1; so it does at once at a second signal that finds the loop blocked.

        Args:
            signals: Listen to them, where this is the main thread.

        Raises:
            RuntimeError: An event loop runs in this thread: `await worker.serve()`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store())
            >>> _ = worker.task("last")(lambda: worker.stop()).enqueue()
            >>> worker.run()
            >>> worker.counts.completed
            1
        """
        try:
            if signals and threading.current_thread() is threading.main_thread():
                with Signals(cast("Worker", self), lambda: self._session) as heard:
                    asyncio.run(self._serve_listening(heard))
            else:
                asyncio.run(self._serve(alone=True))
        finally:
            cast("Worker", self).close()

    async def _serve_listening(self, signals: Signals) -> None:
        signals.listen()  # the loop may have taken the descriptor
        await self._serve(alone=True)

    def stop(self, grace: Duration | None = None) -> None:
        """Stops it gracefully: no more jobs are claimed, those that wait are given back, and those that run have the grace to end.

        What has not ended then is called off and put back (a snooze of 0 ms, which uses no retry), so that another worker has it at
        once. From any thread; it returns at once. Nothing happens where it does not run.

        Args:
            grace: In ms or as a timedelta; None: the worker's. A second call can only make it shorter.

        Example:
            >>> rc.worker.Worker(rc.Store(clock=rc.ManualClock())).stop()
        """
        session = self._session
        if session is None:
            return
        wait = cast("Worker", self).grace if grace is None else milliseconds("grace", grace) / 1000
        with contextlib.suppress(RuntimeError):  # its loop is closed: it has stopped
            session.loop.call_soon_threadsafe(session.stop, wait)

    # -- beside a program -------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        return await self._begin(alone=False)

    async def _begin(self, alone: bool) -> Self:
        self._task = asyncio.ensure_future(self._serve(alone))
        await asyncio.sleep(0)  # it has its session, or has failed
        if self._session is not None:
            ready = asyncio.ensure_future(self._session.ready.wait())
            await asyncio.wait({ready, self._task}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
        if self._task.done():
            await self._task
        return self

    async def __aexit__(self, *raised: object) -> None:
        task, self._task = self._task, None
        self.stop()
        if task is not None:
            await task

    def __enter__(self) -> Self:
        began: Future[None] = Future()

        async def main() -> None:
            await self._begin(alone=True)
            task = self._task
            began.set_result(None)
            assert task is not None
            await task

        def work() -> None:
            try:
                asyncio.run(main())
            except BaseException as error:
                if began.done():
                    self._failed = error
                else:
                    began.set_exception(error)

        self._thread = threading.Thread(target=work, name=f"{cast('Worker', self).name}-loop", daemon=True)
        self._thread.start()
        began.result()
        return self

    def __exit__(self, *raised: object) -> None:
        thread, self._thread = self._thread, None
        self.stop()
        if thread is not None:
            thread.join()
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
