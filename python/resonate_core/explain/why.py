"""Why an id does not move, what happens to it next, and when: `why`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

from .._core import ManualClock, Store
from ..base.instants import length
from .reasons import Next, Reason, Why
from .store_reader import StoreReader
from .why_jobs import why_job
from .why_promises import why_promise
from .why_queues import why_queue, why_schedule

if TYPE_CHECKING:
    from ..aio import AsyncStore
    from ..client import AsyncClient, Client

__all__ = ["why", "why_in"]

#: The most links of a chain of waits.
_LONGEST_CHAIN = 20
#: A step that is due for longer is overdue (ms): a server ticks at once, and other processes see a commit within 50 ms.
_OVERDUE = 5000


@overload
def why(store: Store[Any] | Client | Mapping[str, Any], id: str) -> Why: ...
@overload
def why(store: AsyncStore | AsyncClient, id: str) -> Awaitable[Why]: ...
def why(store: Any, id: str) -> Why | Awaitable[Why]:
    """Return why a promise, task, job, schedule or queue does not move, what happens to it next, and when. A read.

    Args:
        store: A store or a fork; a full snapshot; the client of a server that has a dashboard (`serve --ui`); or `aio` of a store or
            client: await the result.
        id: An id, or the name of a queue.

    Raises:
        TypeError: `store` is none of these, or `id` is no text.
        Unsupported: The server has no dashboard.
        Unreachable: The server did not answer.

    Example:
        >>> import resonate_core as rc
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.jobs.enqueue("mail", id="j1")
        >>> _ = store.queues.pause("default")
        >>> print(rc.why(store, "j1"))
        Job j1 is pending: queue default is paused.
        Next: nothing happens by itself.
        You can: resume the queue.
    """
    if not isinstance(id, str):
        raise TypeError(f"id must be str, got {type(id).__name__}")
    if isinstance(store, Store):
        return _of_store(store, id)
    if isinstance(store, Mapping) and {"promises", "schedules", "messages", "now"} <= store.keys():
        copy = Store(clock=ManualClock(store["now"]))
        copy.restore(dict(store))
        return _of_store(copy, id)
    return _of_others(store, id)


def _of_store(store: Store[Any], id: str) -> Why:
    return why_in(StoreReader(store), id)


def _of_others(given: Any, id: str) -> Why | Awaitable[Why]:
    from ..aio import AsyncStore
    from ..calls.store_threads import call_apart  # not above: a store alone needs neither asyncio nor HTTP
    from ..client import AsyncClient, Client
    from .why_of_server import why_of_server, why_of_server_async

    if isinstance(given, AsyncStore):
        store = given._runner.store
        return call_apart(store, _of_store, store, id)
    if isinstance(given, Client):
        return why_of_server(given, id)
    if isinstance(given, AsyncClient):
        return why_of_server_async(given, id)
    raise TypeError(
        f"store must be a Store, a full snapshot, a Client of resonate_core.connect or an aio of them, got {type(given).__name__}"
    )


def why_in(reader: StoreReader, id: str, listening: Callable[[str], bool | None] | None = None) -> Why:
    """Return why an id does not move, as far as its reader sees the store.

    Args:
        reader: Reads the store; it decides which records are visible, and which texts of programs are shown.
        id: An id, or the name of a queue.
        listening: Returns whether a worker listens on an address; None if that is not known.
    """
    first = _reason(reader, id, listening)
    if first is None:
        sentence = f"There is no promise, task, job, schedule or queue {id}: it was never created, or it was deleted."
        return Why(id, "unknown", None, sentence, now=reader.store.now)
    chain: list[tuple[str, str]] = []
    last, seen = first, {id}
    circle = None
    while last.waits_for and len(chain) < _LONGEST_CHAIN:
        waited = last.waits_for[0]
        if waited in seen:
            circle = waited
            break
        seen.add(waited)
        found = _reason(reader, waited, listening)
        if found is None:
            chain.append((waited, f"{waited} is not visible or does not exist."))
            break
        chain.append((waited, found.sentence))
        last = found
    next, stuck, advice = first.next, first.stuck, list(first.advice)
    if circle is not None:
        chain.append((circle, f"{circle} waits for itself: this circle of waits does not end by itself."))
        stuck = True
    elif last is not first:
        stuck = stuck or last.stuck
        advice += [(f"{text} ({last.id})", action) for text, action in last.advice]
    sentence, following = _with_chain(first, chain), _overdue(reader, next)
    return Why(id, first.kind, first.state, sentence, following, tuple(chain), stuck, tuple(advice), reader.store.now)


def _with_chain(first: Reason, chain: list[tuple[str, str]]) -> str:
    if len(chain) < 2 or first.names_cause:
        return first.sentence
    return f"{first.sentence.removesuffix('.')}, which waits for {', which waits for '.join(id for id, _ in chain[1:])}."


def _overdue(reader: StoreReader, next: Next | None) -> Next | None:
    """Add a note if a step is overdue: then no process ticks the store."""
    if next is None or next.at is None or not next.is_step:
        return next
    late = reader.store.now - next.at
    if late < _OVERDUE:
        return next
    return Next(f"{next.what}; this is overdue by {length(late)}: no process ticks this store", next.at)


def _reason(reader: StoreReader, id: str, listening: Callable[[str], bool | None] | None) -> Reason | None:
    job = reader.find("job", id)
    if job is not None:
        return why_job(reader, job)
    promise = reader.find("promise", id)
    if promise is not None:
        return why_promise(reader, promise, reader.find("task", id), listening)
    schedule = reader.find("schedule", id)
    if schedule is not None:
        return why_schedule(reader, schedule)
    return why_queue(reader, id)
