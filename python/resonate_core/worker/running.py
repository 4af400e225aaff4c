"""The ways to run a worker: by itself, in an event loop of the program, or in a thread beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import fields, replace
from typing import Any

from .._core import __version__
from ..errors import Invalid
from .job_source import names_of
from .session import WorkerSession
from .settings import WorkerOptions, WorkerParts
from .signals import Signals

__all__ = ["WorkerRunner"]

_log = logging.getLogger("resonate_core.worker")


def _beginning(parts: WorkerParts) -> str:
    """Return the log line of a worker that starts."""
    settings, registry = parts.settings, parts.registry
    if isinstance(settings.queues, dict):
        named = ", ".join(f"{name} (weight {weight})" for name, weight in settings.queues.items())
    else:
        named = ", ".join(names_of(settings.queues)) + (" (in this order)" if settings.strict else "")
    parts_shown = [f"queues {named}", f"{settings.concurrency} slots", f"jobs of {parts.client!r}"]
    parts_shown.append(f"types {', '.join(sorted(registry.tasks))}" if registry.tasks else "no handlers")
    if registry.periodics:
        parts_shown.append(f"periodic jobs {', '.join(each.name for each in registry.periodics)}")
    if settings.target_group is not None:
        parts_shown.append(f"calls to group {settings.target_group}")
    return f"worker {settings.name!r} starts: {'; '.join(parts_shown)}; resonate-core {__version__}, process {os.getpid()}"


async def _first(wait: Coroutine[Any, Any, object], task: asyncio.Task[None]) -> None:
    """Wait for one of both."""
    waiting = asyncio.ensure_future(wait)
    try:
        await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


class WorkerRunner:
    """Runs the sessions of a worker, one at a time.

    Args:
        settings: Of the worker.
        parts: Returns its parts, when it starts.
        opening: Opens in a thread what the parts need; None: nothing takes time.

    Attributes:
        session: The one that runs.
    """

    def __init__(
        self, settings: WorkerOptions, parts: Callable[[], WorkerParts], opening: Callable[[], Coroutine[Any, Any, object] | None]
    ) -> None:
        self._settings = settings
        self._parts = parts
        self._opening = opening
        self._opens: asyncio.Task[object] | None = None  # before there is a session
        self._lock = threading.Lock()  # between a stop and the change from opening to a session
        self.session: WorkerSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._began: asyncio.Event | None = None  # set once it has its session
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None

    async def serve(self, *, alone: bool) -> None:
        """Run in the caller's event loop until it is stopped.

        Args:
            alone: Whether nothing else runs in the loop.

        Raises:
            Invalid: It runs already.
        """
        self.check_stopped()
        opening = None if alone else self._opening()  # alone, nothing else waits for the loop
        if opening is not None and not await self._open(opening):
            return
        parts = self._parts()
        with self._lock:
            if opening is not None and self._opens is None:
                return  # stopped
            session, self._opens = WorkerSession(parts, alone), None
            self.session = session
        if self._began is not None:
            self._began.set()
        began = session.loop.time()
        before = replace(parts.counts)
        _log.info("%s", _beginning(parts))
        try:
            await session.run()
        finally:
            self.session = None
            names = [each.name for each in fields(before)]
            since = ", ".join(f"{name} {getattr(parts.counts, name) - getattr(before, name)}" for name in names)
            _log.info("worker %r has stopped after %.1f s: %s", self._settings.name, session.loop.time() - began, since)

    async def _open(self, opening: Coroutine[Any, Any, object]) -> bool:
        """Open the store beside the loop; return False if the worker was stopped meanwhile."""
        opens = self._opens = asyncio.ensure_future(opening)
        try:
            await asyncio.wait({opens})
        except asyncio.CancelledError:
            opens.cancel()
            self._opens = None
            await asyncio.gather(opens, return_exceptions=True)
            raise
        if self._opens is None:
            await asyncio.gather(opens, return_exceptions=True)
            return False
        if opens.cancelled() or opens.exception() is not None:
            self._opens = None
        opens.result()
        return True

    def check_stopped(self) -> None:
        """Refuse a call that needs a worker that does not run.

        Raises:
            Invalid: It runs.
        """
        if self.session is not None or self._opens is not None:
            raise Invalid(f"{self._settings} runs already: stop it first")

    def run(self, *, signals: bool) -> None:
        """Run in an event loop of its own until it is stopped, by signals too if this is the main thread."""
        if signals and threading.current_thread() is threading.main_thread():
            with Signals(self._settings, lambda: self.session) as heard:
                asyncio.run(self._serve_listening(heard))
        else:
            asyncio.run(self.serve(alone=True))

    async def _serve_listening(self, signals: Signals) -> None:
        signals.listen()  # the loop may have taken the descriptor
        await self.serve(alone=True)

    def stop(self, grace: float) -> None:
        """Stop the session that runs, from any thread, with a grace in seconds."""
        with self._lock:
            session, opens = self.session, self._opens
            if session is None:
                self._opens = None
        if session is not None:
            session.stop_from_outside(grace)
        elif opens is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed: it has stopped
                opens.get_loop().call_soon_threadsafe(opens.cancel)

    # -- beside a program -------------------------------------------------------------------------------------------------

    async def begin(self, *, alone: bool = False) -> None:
        """Run in the caller's event loop; return once it claims jobs."""
        began = self._began = asyncio.Event()
        task = self._task = asyncio.ensure_future(self.serve(alone=alone))
        try:
            await _first(began.wait(), task)
            if self.session is not None:
                await _first(self.session.ready.wait(), task)
        except asyncio.CancelledError:
            task.cancel()
            self._task = None
            await asyncio.gather(task, return_exceptions=True)
            raise
        finally:
            self._began = None
        if task.done():
            await task

    async def end(self) -> None:
        """Stop the worker that `begin` started, and wait for its end."""
        task, self._task = self._task, None
        self.stop(self._settings.grace)
        if task is not None:
            await task

    def begin_thread(self) -> None:
        """Run in a new thread; return once it claims jobs."""
        began: Future[None] = Future()

        async def main() -> None:
            await self.begin(alone=True)
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

        # In the context of the caller, as a worker that runs in its thread.
        self._thread = threading.Thread(target=copy_context().run, args=(work,), name=f"{self._settings.name}-loop", daemon=True)
        self._thread.start()
        began.result()

    def end_thread(self) -> None:
        """Stop the worker that `begin_thread` started, wait for its end, and raise the error that ended it."""
        thread, self._thread = self._thread, None
        self.stop(self._settings.grace)
        if thread is not None:
            thread.join()
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
