"""Assertions on stores, for tests. A failure shows similar ids, the differences, and what a pending promise waits for.

They take a `Store`, or a client of a server (`resonate_core.connect`), unless they say otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .._core import Job, Promise, Store
from ..base.json_differences import differences
from ..errors import NotFound
from ..notebook.html import instant_text, value_text
from .differences import cut, state_differences
from .waiting import holder_text, paths_between, rows_of, why_pending

if TYPE_CHECKING:
    from ..client import Client

    AnyStore = Store[Any] | Client

__all__ = ["ANYTHING", "assert_enqueued", "assert_same_state", "assert_settled", "assert_sound", "assert_waiting_for"]


class _Anything:
    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING: Any = _Anything()
"""Stands for a value that is not compared."""

MOST_NEAR = 3
"""The most records that a message shows because they are near."""

MOST_READ = 1000
"""The most ids that are read to find similar ones."""


def assert_enqueued(
    store: AnyStore, type: str, *, payload: Any = ANYTHING, queue: str | None = None, count: int | None = None, **members: Any
) -> list[Job]:
    """Assert that jobs were enqueued, whatever their state is now.

    Args:
        store: Where.
        type: The type of the job.
        payload: The payload as JSON, or a function of it that returns whether it fits; default: any.
        queue: The queue; None: any.
        count: How many such jobs there are, exactly; None: at least one. 0 asserts that there is none.
        members: Other attributes of `Job` and their values, such as ``priority=1`` or ``state="scheduled"``.

    Returns:
        The jobs, in the order of their ids.

    Raises:
        AssertionError: There are more or fewer; the message shows the nearest other jobs and what differs.
        TypeError: A member is no attribute of `Job`.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import assert_enqueued
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("email", {"to": "bob"}, id="mail-1", queue="mail")
        >>> [job.id for job in assert_enqueued(store, "email", queue="mail")]
        ['mail-1']
        >>> assert_enqueued(store, "email", payload={"to": "ann"})
        Traceback (most recent call last):
        ...
        AssertionError: at least 1 job 'email' with payload {'to': 'ann'} must be enqueued, found 0
        near: job 'mail-1' of type 'email' in queue 'mail', pending
          payload $.to: got 'bob', expected 'ann'
    """
    __tracebackhide__ = True
    unknown = [name for name in members if not hasattr(Job, name)]
    if unknown:
        raise TypeError(f"members must be attributes of Job, got {', '.join(unknown)}")
    wanted = {"type": type, **({} if queue is None else {"queue": queue}), **members}
    fitting, near = [], []
    for job in _all_jobs(store):
        wrong = _mismatches(job, wanted, payload)
        if not wrong:
            fitting.append(job)
        else:
            near.append((_distance(job, type, wrong), job.id, job, wrong))
    if (len(fitting) > 0) if count is None else (len(fitting) == count):
        return fitting
    shown = "".join(f" with {name} {value!r}" for name, value in wanted.items() if name not in ("type", "queue"))
    shown += "" if payload is ANYTHING else f" with payload {_expectation(payload)}"
    where = "" if queue is None else f" in queue {queue!r}"
    wanted_count = "at least 1 job" if count is None else f"exactly {count} job{'' if count == 1 else 's'}"
    lines = [f"{wanted_count} {type!r}{where}{shown} must be enqueued, found {len(fitting)}"]
    lines += cut([f"found: {_job_text(job)}, payload {value_text(job.payload)}" for job in fitting])
    if count is None or len(fitting) < count:
        for _, _, job, wrong in sorted(near, key=lambda one: one[:2])[:MOST_NEAR]:
            lines += [f"near: {_job_text(job)}", *(f"  {line}" for line in cut(wrong))]
        lines += ["the store has no job"] if not near and not fitting else []
    raise AssertionError("\n".join(lines))


def _all_jobs(store: AnyStore) -> list[Job]:
    jobs: list[Job] = []
    cursor = None
    while True:
        page = store.jobs.search(cursor=cursor, limit=1000)
        jobs += page
        cursor = page.cursor
        if cursor is None:
            return jobs


def _mismatches(job: Job, wanted: Mapping[str, Any], payload: Any) -> list[str]:
    wrong = [
        f"{name}: got {getattr(job, name)!r}, expected {value!r}" for name, value in wanted.items() if getattr(job, name) != value
    ]
    if payload is not ANYTHING:
        got = _json(job.payload)
        if callable(payload):
            wrong += [] if payload(got) else [f"payload {got!r}: {_expectation(payload)} returned a false value"]
        else:
            wrong += [f"payload {line}" for line in differences(got, payload)]
    return wrong


def _distance(job: Job, type: str, wrong: list[str]) -> float:
    return len(wrong) + 3 * (1 - difflib.SequenceMatcher(None, job.type, type).ratio())


def _expectation(payload: Any) -> str:
    return getattr(payload, "__name__", repr(payload)) if callable(payload) else repr(payload)


def _json(value: Any) -> Any:
    """The JSON of a value; its raw data if it is none."""
    if value.data is None:
        return None
    try:
        return value.json()
    except ValueError:
        return value.data


def _job_text(job: Job) -> str:
    return f"job {job.id!r} of type {job.type!r} in queue {job.queue!r}, {job.state}"


def assert_settled(
    store: AnyStore,
    id: str,
    *,
    state: Literal["resolved", "rejected", "rejected_canceled", "rejected_timedout"] | None = None,
    value: Any = ANYTHING,
) -> Promise:
    """Assert that a promise is settled: of a workflow, a job or a timer.

    Args:
        store: Where.
        id: The id of the promise.
        state: The state; None: any but pending.
        value: The value as JSON, or a function of it that returns whether it fits; default: any.

    Returns:
        The promise.

    Raises:
        AssertionError: It does not exist, is pending, or has another state or value. The message shows similar ids, what a pending
            promise waits for, or what differs.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import assert_settled
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.tasks.create("order-1", pid="ann", ttl=5000, timeout=60_000, target="poll://any@shop")
        >>> assert_settled(store, "order-1")
        Traceback (most recent call last):
        ...
        AssertionError: promise 'order-1' must be settled, is pending
        its task is acquired by 'ann', version 1, until 5000
        its deadline is 60000, the clock is at 0
    """
    __tracebackhide__ = True
    promise = _promise(store, id)
    wanted = "settled" if state is None else state
    if promise.state == "pending":
        raise AssertionError("\n".join([f"promise {id!r} must be {wanted}, is pending", *why_pending(store, promise)]))
    lines = []
    if state is not None and promise.state != state:
        lines.append(f"promise {id!r} must be {state}, is {promise.state} since {instant_text(promise.settled_at or 0)}")
        lines.append(f"its value is {value_text(promise.value) or 'empty'}")
        lines += _error_of_job(store, id)
    if value is not ANYTHING:
        got = _json(promise.value)
        if callable(value):
            wrong = [] if value(got) else [f"{got!r}: {_expectation(value)} returned a false value"]
        else:
            wrong = list(differences(got, value))
        if wrong:
            lines += [f"the value of promise {id!r}, which is {promise.state}, must be {_expectation(value)}, got {got!r}"]
            lines += [f"  {line}" for line in cut(wrong)]
    if lines:
        raise AssertionError("\n".join(lines))
    return promise


def _promise(store: AnyStore, id: str) -> Promise:
    """The promise, or an error with similar ids."""
    __tracebackhide__ = True
    try:
        return store.promises.get(id)
    except NotFound:
        pass
    ids = [promise.id for promise in store.promises.search(limit=MOST_READ)]
    similar = difflib.get_close_matches(id, ids, n=MOST_NEAR, cutoff=0.4) or ids[:MOST_NEAR]
    near = f"similar ids: {', '.join(map(repr, similar))}" if similar else "the store has no promise"
    raise AssertionError(f"promise {id!r} must exist, does not\n{near}")


def _error_of_job(store: AnyStore, id: str) -> list[str]:
    try:
        job = store.jobs.get(id)
    except NotFound:
        return []
    error = [] if job.error is None else [f"its error is {job.error.get('code')}: {job.error.get('message', '')}"]
    return [f"it is a job of type {job.type!r}, {job.state} after {len(job.attempts)} attempts", *error]


def assert_waiting_for(store: Store[Any], id: str, other: str) -> None:
    """Assert that a suspended task awaits a promise: it is woken when that promise is settled.

    Args:
        store: A `Store`; who awaits whom is not in the answers of a server.
        id: The id of the waiting task.
        other: The id of the awaited promise.

    Raises:
        AssertionError: It does not await it; the message shows what it awaits, and its state.
        TypeError: The store is no `Store`.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import assert_waiting_for
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.tasks.create("order", pid="ann", ttl=5000, timeout=60_000, target="poll://any@shop")
        >>> for step in ("pack", "charge"):
        ...     _ = store.promises.create(step, timeout=60_000)
        >>> _ = store.tasks.suspend("order", 1, ["charge"])
        >>> assert_waiting_for(store, "order", "charge")
        >>> assert_waiting_for(store, "order", "pack")
        Traceback (most recent call last):
        ...
        AssertionError: 'order' must wait for 'pack', does not
        'order' waits for 'charge', which is pending
        'pack' is pending, and no task waits for it
    """
    __tracebackhide__ = True
    if not isinstance(store, Store):
        raise TypeError(f"store must be a Store, got {type(store).__name__}: a server does not show who awaits whom")
    for named in (id, other):
        _promise(store, named)
    rows = rows_of(store)
    task = rows[id].get("task")
    if id in rows[other]["callbacks"] and rows[other]["state"] == "pending" and task is not None and task["state"] == "suspended":
        return
    lines = [f"{id!r} must wait for {other!r}, does not"]
    awaited = [row for row in rows.values() if id in row["callbacks"]]
    if rows[id]["state"] != "pending":
        lines.append(f"{id!r} is {rows[id]['state']}")
    elif task is None:
        lines.append(f"{id!r} has no task")
    else:
        if task["state"] != "suspended":
            lines.append(f"the task of {id!r} is {holder_text(task)}")
        lines += cut([f"{id!r} waits for {row['id']!r}, which is {row['state']}" for row in awaited])
    waiting = [repr(awaiter) for awaiter in rows[other]["callbacks"][:MOST_NEAR]]
    who = f"awaited by {', '.join(waiting)}" if waiting else "no task waits for it"
    lines.append(f"{other!r} is {rows[other]['state']}, and {who}")
    chain = paths_between(rows, id, other)
    if chain and len(chain) > 2:
        lines.append(f"indirectly it does: {' waits for '.join(map(repr, chain))}")
    raise AssertionError("\n".join(lines))


def assert_sound(store: Store[Any], *, ignore: Collection[str] = ()) -> None:
    """Assert that the store breaks no invariant, and has set nothing aside.

    Args:
        store: A `Store`.
        ignore: Names of invariants and problems that may be reported.

    Raises:
        AssertionError: `Store.check` reports something; the message has each name, id and detail.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import assert_sound
        >>> assert_sound(rc.Store(clock=rc.ManualClock()))
    """
    __tracebackhide__ = True
    found = [one for one in store.check() if one.name not in ignore]
    if found:
        lines = cut([f"{one.name}: {one.id!r}: {one.detail}" for one in found])
        raise AssertionError("\n".join([f"the store must be sound, check() reports {len(found)}", *lines]))


def assert_same_state(
    store: Store[Any], expected: Store[Any] | Mapping[str, Any], *, besides: Callable[[str], bool] | None = None
) -> None:
    """Assert that a store has the state of another one, or of a snapshot.

    Args:
        store: A `Store`.
        expected: Another `Store`, or a snapshot of one.
        besides: A function of a line of difference that returns whether it is allowed.

    Raises:
        AssertionError: The states differ; the message lists the differences row by row.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import assert_same_state
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000)
        >>> before = store.snapshot()
        >>> _ = store.promises.resolve("a")
        >>> assert_same_state(store, before)
        Traceback (most recent call last):
        ...
        AssertionError: the states must be the same, 2 differences
        promises['a'].settledAt: got 0, expected none
        promises['a'].state: got 'resolved', expected 'pending'
    """
    __tracebackhide__ = True
    wanted = expected.snapshot() if isinstance(expected, Store) else expected
    lines = [line for line in state_differences(store.snapshot(), wanted) if besides is None or not besides(line)]
    if lines:
        count = f"{len(lines)} difference{'' if len(lines) == 1 else 's'}"
        raise AssertionError("\n".join([f"the states must be the same, {count}", *cut(lines)]))
