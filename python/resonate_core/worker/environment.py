"""The dependencies of a worker on its machine, each behind a small interface, so that a simulator can replace them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import os
import re
import socket
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .._core import Store
from ..calls.wakeup import Wakeup
from .job_source import JobSource, Queues
from .store_client import StoreClient
from .threads import Threads
from .url_client import UrlClient

__all__ = ["ClaimWakeup", "Environment", "HandlerPool", "Target", "WorkerStore", "default", "open_client"]


@runtime_checkable
class WorkerStore(Protocol):
    """An object in the place of a store, such as the store of a simulated process."""

    def worker_client(self) -> JobSource:
        """Return the client of a worker."""


Target = Store | WorkerStore | str | os.PathLike[str]

_numbers = itertools.count(1)


class ClaimWakeup(Protocol):
    """Calls a function when there may be something to claim, while its `with` block runs."""

    def __enter__(self) -> object:
        """Begin to watch."""

    def __exit__(self, *raised: object) -> None:
        """End the watch."""

    def rearm(self, until: int | None) -> None:
        """Ask for one more call, for what becomes claimable before this instant (Unix ms). Call it before each claim."""


class HandlerPool(Protocol):
    """Runs the calls of synchronous handlers, beside the event loop."""

    def submit(self, items: Iterable[Any]) -> None:
        """Run each item as soon as there is room for it."""

    def withdraw(self) -> list[Any]:
        """Cancel the calls that have not begun."""

    def close(self) -> None:
        """End the idle threads; each other thread ends when its handler returns."""


def open_client(target: Target, token: str | None = None, answer_bytes: int | None = None) -> JobSource:
    """Open the client of a store, of the file of one, or of a server's URL.

    Raises:
        TypeError: There is a token or a limit of answers, and the target is not the URL of a server.
    """
    if isinstance(target, str) and re.match(r"https?://", target):
        return UrlClient(target, token, answer_bytes=answer_bytes)
    if token is not None:
        raise TypeError(f"token must be None, except beside the URL of a server, got one beside {target!r}")
    if answer_bytes is not None:
        raise TypeError(f"answer_bytes must be None, except beside the URL of a server, got {answer_bytes!r} beside {target!r}")
    if isinstance(target, WorkerStore):
        return target.worker_client()
    return StoreClient(target) if isinstance(target, Store) else StoreClient(Store(target), owned=True)


def process_name() -> str:
    """Return a name for a worker: host, process and a number."""
    return f"{socket.gethostname()}-{os.getpid()}-{next(_numbers)}"


def client_threads(worker: str) -> concurrent.futures.Executor:
    """Return six threads for requests that take time, so that no answer that does not come holds up another kind of request.

    The kinds are a heartbeat, what running jobs report, a periodic job, a look at the jobs that others wait for, calls to the
    worker's group, and a round that has no thread of its own.
    """
    return concurrent.futures.ThreadPoolExecutor(6, thread_name_prefix=f"{worker}-store")


def commit_wakeup(client: JobSource, loop: asyncio.AbstractEventLoop, wake: Callable[[], None], queues: Queues) -> ClaimWakeup:
    """Return the wake-up by commits of this process, or by the stream of a server."""
    wakeup = Wakeup(lambda descriptor: client.watch(descriptor, queues))
    wakeup.listen(loop, wake)
    return wakeup


@dataclass(frozen=True)
class Environment:
    """The dependencies of a worker on its machine. Time is that of the event loop and of the store's clock.

    Attributes:
        connect: Opens the client of a target, with a token and the most bytes of an answer.
        name: Returns a name for a worker that was given none.
        wakeup: Makes a `ClaimWakeup` from a client, an event loop, the function to call in the loop, and the queues of the worker.
        handler_pool: Makes a `HandlerPool` from the number of calls at once, the function that runs one item, and a name.
        client_pool: Makes the executor of the requests that take time, from the name of the worker.
        client: Returns the client with which code in this environment uses a worker that was made outside of it. None: the
            worker's own client.
        polls: Whether the wake-up may miss a commit, so that the worker also claims every `poll_interval`.
        beside: Whether synchronous handlers run in threads beside the event loop, where they may wait for the loop.
    """

    connect: Callable[[Target, str | None, int | None], JobSource] = open_client
    name: Callable[[], str] = process_name
    wakeup: Callable[[JobSource, asyncio.AbstractEventLoop, Callable[[], None], Queues], ClaimWakeup] = commit_wakeup
    handler_pool: Callable[[int, Callable[[Any], None], str], HandlerPool] = Threads
    client_pool: Callable[[str], concurrent.futures.Executor] = client_threads
    client: Callable[[], JobSource] | None = None
    polls: bool = True
    beside: bool = True


#: The environment of workers that are given none: a simulator sets it in the contexts of its processes.
default: ContextVar[Environment | None] = ContextVar("resonate_core_worker_environment", default=None)
