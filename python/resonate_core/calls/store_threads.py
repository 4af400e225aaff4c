"""The threads in which awaited calls of a store run."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .._core import Store

__all__ = ["MOST_OF_URL", "OwnThreads", "call_apart", "open_apart", "run_apart"]

_T = TypeVar("_T")

#: The most threads of one store. Its engine runs one request at a time, so that more would only wait.
MOST_OF_STORE = 4
#: The most threads of the client of a server: each waits for one response, most of the time for the network.
MOST_OF_URL = 32


class _Closable(Protocol):
    def close(self) -> None: ...


_Opened = TypeVar("_Opened", bound=_Closable)


class _Opening(Generic[_Opened]):
    """One opening in a thread, whose result may not be wanted any more when it is there."""

    def __init__(self, open: Callable[[], _Opened]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._made: _Opened | None = None
        self._wanted = True

    def run(self) -> _Opened:
        made = self._open()
        with self._lock:
            self._made, wanted = made, self._wanted
        if not wanted:
            made.close()
        return made

    def leave(self) -> None:
        """Have it closed, once it is open."""
        with self._lock:
            self._wanted, made = False, self._made
        if made is not None:
            threading.Thread(target=made.close, name="resonate-close").start()


async def open_apart(open: Callable[[], _Opened]) -> _Opened:
    """Open a store, or what has one, in a thread: a slow disk or a server that does not answer does not block the event loop.

    If the caller is cancelled meanwhile, the store is closed once it is open.

    Args:
        open: Opens it.

    Example:
        >>> import asyncio
        >>> from resonate_core.calls.store_threads import open_apart
        >>> asyncio.run(open_apart(lambda: rc.Store())).closed
        False
    """
    opening = _Opening(open)
    try:
        return await asyncio.to_thread(opening.run)
    except asyncio.CancelledError:
        opening.leave()
        raise


class OwnThreads:
    """The threads of one store or client. They start when they are needed, and end with it.

    The default executor of an event loop is the program's: its threads may all be waiting for this store.

    Args:
        most: How many there are at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: tuple[int, ThreadPoolExecutor] | None = None  # of a process

    def executor(self) -> ThreadPoolExecutor:
        """Return the executor of this process: a forked child has none of the threads of its parent."""
        process = os.getpid()
        if self._made is None or self._made[0] != process:
            self._made = process, ThreadPoolExecutor(self._most, thread_name_prefix="resonate-store")
        return self._made[1]

    async def call(self, function: Callable[[], _T], longest_wait: float) -> _T:
        """Call a function in one of the threads, in the caller's context, as `asyncio.to_thread` does.

        Args:
            function: The function.
            longest_wait: Seconds for which a thread is waited for.

        Raises:
            TimeoutError: No thread was free for so long; the function was not called.
        """
        called: Future[_T] = self.executor().submit(contextvars.copy_context().run, function)
        over = False

        def end() -> None:
            nonlocal over
            over = called.cancel()  # False: it has begun

        timer = asyncio.get_running_loop().call_later(longest_wait, end)
        try:
            return await asyncio.wrap_future(called)
        except asyncio.CancelledError:
            if over:
                raise TimeoutError(f"no thread was free for {longest_wait:g} s") from None
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the threads, once their calls have returned."""
        if self._made is not None and self._made[0] == os.getpid():
            self._made[1].shutdown(wait=False)


# They end with the store, since they do not refer to it while they wait.
_by_store: WeakKeyDictionary[Store[Any], OwnThreads] = WeakKeyDictionary()


def run_apart(loop: asyncio.AbstractEventLoop, store: Store[Any], function: Callable[..., _T], *args: Any) -> asyncio.Future[_T]:
    """Call a function that uses a store in a thread of the store; return the future of its result.

    Args:
        loop: Where the future is.
        store: The store. If it is closed, the function is called at once: it raises that.
        function: The function.
        args: Its arguments.
    """
    if store.closed:
        ended = _by_store.pop(store, None)
        if ended is not None:
            ended.close()
        return _called(loop, function, *args)
    threads = _by_store.get(store)
    if threads is None:  # without a lock, which a fork could leave held: of two threads, one finds those of the other
        threads = _by_store.setdefault(store, OwnThreads(MOST_OF_STORE))
    return loop.run_in_executor(threads.executor(), function, *args)


async def call_apart(store: Store[Any], function: Callable[..., _T], *args: Any) -> _T:
    """Call a function that uses a store in a thread of the store, in the caller's context."""
    run = contextvars.copy_context().run
    return await run_apart(asyncio.get_running_loop(), store, run, function, *args)


def _called(loop: asyncio.AbstractEventLoop, function: Callable[..., _T], *args: Any) -> asyncio.Future[_T]:
    future: asyncio.Future[_T] = loop.create_future()
    try:
        future.set_result(function(*args))
    except Exception as error:
        future.set_exception(error)
    return future
