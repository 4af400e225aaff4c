"""
The engine of resonate_core, in C++. Import resonate_core instead.
"""

from __future__ import annotations

import builtins
import collections.abc
import datetime
import os
import typing

import resonate_core._messages

__all__: list[str] = [
    "Claim",
    "Clock",
    "Envelope",
    "Fenced",
    "Fired",
    "Job",
    "JobBatch",
    "JobHeartbeat",
    "Jobs",
    "ManualClock",
    "Message",
    "Page",
    "Promise",
    "PromiseBatch",
    "PromisePage",
    "Promises",
    "Queues",
    "Recording",
    "Replay",
    "RequestLimits",
    "Schedule",
    "SchedulePage",
    "Schedules",
    "Store",
    "Suspension",
    "SystemClock",
    "Task",
    "TaskPage",
    "Tasks",
    "Value",
    "Violation",
    "Watch",
    "check_file",
    "cron_next",
    "replay",
]

class Value:
    """
    The param or the value of a promise: headers and data, each only where it was given (PROTOCOL 2).

    The typed calls take `bytes`, JSON-able objects or a `Value`. A `Value` goes in as it is; its data is base64 by convention and
    the engine never looks inside (PROTOCOL 3).

    Args:
        headers: Strings by name, or None for no headers.
        data: The raw text, base64 by convention, or None for no data.

    Raises:
        TypeError: Headers that are no mapping of strings, or data that is no string.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> promise = store.promises.create("order:1", timeout=1000, param={"amount": 3})
        >>> promise.param
        Value(data='eyJhbW91bnQiOjN9')
        >>> promise.param.json()
        {'amount': 3}
    """
    def __bool__(self) -> bool:
        """
        True where headers or data were given.
        """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, headers: collections.abc.Mapping[str, str] | None = None, data: str | None = None) -> None: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def bytes(self) -> builtins.bytes:
        """
        The bytes behind the data, empty where there is none.

        Raises:
            Invalid: The data is no base64; read `data` then.

        Example:
            >>> rc.Value(data="aGk=").bytes()
            b'hi'
        """
    def json(self) -> typing.Any:
        """
        The JSON behind the data; None where there is no data.

        Raises:
            Invalid: The data is no base64, or the bytes are no JSON in UTF-8.

        Example:
            >>> rc.Value(data="WzEsMl0=").json()
            [1, 2]
        """
    def text(self) -> str:
        """
        The bytes behind the data as UTF-8 text, empty where there is none.

        Raises:
            Invalid: The data is no base64, or the bytes are no UTF-8.

        Example:
            >>> rc.Value(data="aGk=").text()
            'hi'
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The value as it stands in an envelope of 2026-04-01: only the members that were given.

        Example:
            >>> rc.Value(data="aGk=").to_dict()
            {'data': 'aGk='}
        """
    @property
    def data(self) -> str | None:
        """
        The raw text as it is stored, base64 by convention; None where no data was given.

        Example:
            >>> rc.Value(data="aGk=").data
            'aGk='
        """
    @property
    def headers(self) -> dict[str, str] | None:
        """
        Strings by name, a new dict each time; None where no headers were given.

        Example:
            >>> rc.Value({"trace": "7"}).headers
            {'trace': '7'}
        """

class Promise:
    """
    A promise as it was at the instant of the call (PROTOCOL 1).

    Immutable. Its state is the projection: a promise whose deadline has passed is settled, whatever was stored by then
    (PROTOCOL 1.2). Instants are Unix milliseconds. Equal to another when all members are.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.promises.create("order:1", timeout=1000, tags={"kind": "order"})
        Promise(id='order:1', state='pending', tags={'kind': 'order'}, timeout_at=1000, created_at=0)
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The record as it stands in an envelope of 2026-04-01.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.promises.create("a", timeout=1000).to_dict()["timeoutAt"]
            1000
        """
    @property
    def created_at(self) -> int:
        """
        When it was created, in Unix ms.
        """
    @property
    def id(self) -> str:
        """
        The id that the promise was created under.
        """
    @property
    def param(self) -> Value:
        """
        What the creator passed.
        """
    @property
    def settled_at(self) -> int | None:
        """
        When it was settled, in Unix ms; None while pending.
        """
    @property
    def state(self) -> str:
        """
        `pending`, `resolved`, `rejected`, `rejected_canceled` or `rejected_timedout`.
        """
    @property
    def tags(self) -> dict[str, str]:
        """
        The tags, a new dict each time.
        """
    @property
    def timeout_at(self) -> int:
        """
        The deadline, in Unix ms.
        """
    @property
    def value(self) -> Value:
        """
        What it was settled with; empty while pending.
        """

class Task:
    """
    A task as it was at the instant of the call (PROTOCOL 1): the work behind the promise of the same id.

    Immutable. A task whose promise is past its deadline is fulfilled (PROTOCOL 1.2). Equal to another when all members are.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.tasks.create("job", pid="worker-1", ttl=60_000, timeout=1000, target="poll://any@workers").task
        Task(id='job', state='acquired', version=1, resumes=0, ttl=60000, pid='worker-1')
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The record as it stands in an envelope of 2026-04-01.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers")
            >>> claim.task.to_dict()["version"]
            1
        """
    @property
    def id(self) -> str:
        """
        The id, also of its promise.
        """
    @property
    def pid(self) -> str | None:
        """
        Who holds the lease; None unless acquired.
        """
    @property
    def resumes(self) -> int:
        """
        How many awaited promises wait to be seen.
        """
    @property
    def state(self) -> str:
        """
        `pending`, `acquired`, `suspended`, `halted` or `fulfilled`.
        """
    @property
    def ttl(self) -> int | None:
        """
        The length of the lease in ms; None unless acquired.
        """
    @property
    def version(self) -> int:
        """
        How often it was acquired; requests that act on it have to name it (PROTOCOL 2).
        """

class Schedule:
    """
    A schedule as it was at the instant of the call (PROTOCOL 1): it creates a promise at every occurrence of a cron expression.

    Immutable. Instants are Unix milliseconds. Equal to another when all members are.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.schedules.create("nightly", "0 3 * * *", promise_timeout=3_600_000).next_run_at
        10800000
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The record as it stands in an envelope of 2026-04-01.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000).to_dict()["cron"]
            '0 3 * * *'
        """
    @property
    def created_at(self) -> int:
        """
        When it was created, in Unix ms.
        """
    @property
    def cron(self) -> str:
        """
        The expression as it was given.
        """
    @property
    def id(self) -> str:
        """
        The id of the schedule.
        """
    @property
    def job(self) -> dict[str, typing.Any] | None:
        """
        What makes its promises jobs, as on the wire; None where they are none.
        """
    @property
    def last_run_at(self) -> int | None:
        """
        The occurrence that made the last promise, in Unix ms; None before the first.
        """
    @property
    def next_run_at(self) -> int:
        """
        The next occurrence, in Unix ms; 2**63 - 1 where the calendar holds no further one.
        """
    @property
    def problem(self) -> str | None:
        """
        Why the schedule is set aside: its time zone is missing, say; None while it goes on.
        """
    @property
    def promise_id(self) -> str:
        """
        The template of its promises' ids.
        """
    @property
    def promise_param(self) -> Value:
        """
        The param of its promises.
        """
    @property
    def promise_tags(self) -> dict[str, str]:
        """
        The tags of its promises, a new dict each time.
        """
    @property
    def promise_timeout(self) -> int:
        """
        From an occurrence to its promise's deadline, in ms.
        """
    @property
    def retry_at(self) -> int | None:
        """
        When a schedule that is set aside is looked at again, in Unix ms; else None.
        """

class Message:
    """
    A message that waits in the outbox (PROTOCOL 5). Immutable.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
        >>> store.messages()
        [Message(kind='execute', id='job', version=0, address='poll://any@workers', attempts=0, queued_at=0)]
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The message as `Store.take_messages` gives it: its key, its address and what goes over the wire.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.messages()[0].to_dict()["key"]
            'execute:job'
        """
    def to_json(self, server_url: str | None = None) -> bytes:
        """
        The message as it goes over the wire, as JSON in ASCII on one line.

        Args:
            server_url: What an execute tells its receiver to call back, in its head.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.messages()[0].to_json("http://localhost:8001")
            b'{"kind":"execute","head":{"serverUrl":"http://localhost:8001"},"data":{"task":{"id":"job","version":0}}}'
        """
    @property
    def address(self) -> str:
        """
        Where it goes.
        """
    @property
    def attempts(self) -> int:
        """
        How often its delivery was tried.
        """
    @property
    def id(self) -> str:
        """
        The task to run, or the promise that was settled.
        """
    @property
    def key(self) -> str:
        """
        Its key: a new message replaces one of the same key.
        """
    @property
    def kind(self) -> str:
        """
        `execute` or `unblock`; `invoke`, `resume` or `notify` where it speaks 2025-01-15.
        """
    @property
    def message(self) -> dict[str, typing.Any]:
        """
        The message as it goes over the wire, a new dict each time.
        """
    @property
    def number(self) -> int:
        """
        Its place in the order of queueing, which no other message of the store ever has: what `Store.acknowledge` takes.
        """
    @property
    def queued_at(self) -> int:
        """
        When it was queued, in Unix ms.
        """
    @property
    def stale(self) -> bool:
        """
        Whether it was of no use any more when it was read: its task had been acquired in another way, or was over.
        """
    @property
    def version(self) -> int | None:
        """
        The version to acquire the task with, counting acquisitions; None for a settled promise.
        """

class Fired:
    """
    An internal step that the engine took by itself (PROTOCOL 4). Immutable.

    Example:
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
        >>> clock.advance(5000)
        [Fired(kind='promise_timeout', id='a', at=1000, now=1000)]
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        All members in a dict.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:external": "true"})
            >>> clock.advance_to_next()[0].to_dict()
            {'kind': 'promise_timeout', 'id': 'a', 'at': 1000, 'now': 1000, 'detail': {}}
        """
    @property
    def at(self) -> int:
        """
        When it was due, in Unix ms; for a drain when the promise was settled.
        """
    @property
    def detail(self) -> dict[str, typing.Any]:
        """
        `address` of a listener_drain or dispatch, `awaiter` of a callback_drain, `promise_id` and `created` of a schedule; a new dict each time.
        """
    @property
    def id(self) -> str:
        """
        The promise, task or schedule; for a drain the settled promise.
        """
    @property
    def kind(self) -> str:
        """
        `promise_timeout`, `listener_drain`, `callback_drain`, `lease_expiry`, `dispatch` or `schedule`.
        """
    @property
    def now(self) -> int:
        """
        When it was taken, in Unix ms.
        """

class Violation:
    """
    A property of PROTOCOL 6 that does not hold. Immutable.

    Example:
        >>> rc.Store(clock=rc.ManualClock()).check()
        []
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        All members in a dict.
        """
    @property
    def detail(self) -> str:
        """
        What was found, with the values.
        """
    @property
    def id(self) -> str:
        """
        The promise, task, schedule or message.
        """
    @property
    def name(self) -> str:
        """
        The name of the property, such as `orphan_tasks`.
        """

class Page:
    """
    One page of a search: a sequence of records, ordered by id (PROTOCOL 3.7).

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create_many(["a", "b", "c"], 1000)
        >>> page = store.promises.search(limit=2)
        >>> [promise.id for promise in page], len(page)
        (['a', 'b'], 2)
        >>> [promise.id for promise in store.promises.search(limit=2, cursor=page.cursor)]
        ['c']
    """
    @property
    def cursor(self) -> str | None:
        """
        Where the next page begins, to be passed on as it is; None on the last page.
        """

class PromisePage(Page):
    """
    A page of promises; see `Page`.
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Promise: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Promise]: ...
    def __iter__(self) -> collections.abc.Iterator[Promise]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...

class TaskPage(Page):
    """
    A page of tasks; see `Page`.
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Task: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __iter__(self) -> collections.abc.Iterator[Task]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...

class SchedulePage(Page):
    """
    A page of schedules; see `Page`.
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Schedule: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Schedule]: ...
    def __iter__(self) -> collections.abc.Iterator[Schedule]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...

class PromiseBatch:
    """
    The promises of `Promises.create_many` or `Promises.settle_many`, in order of the ids that were given.

    A sequence that makes a record when one is asked for.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> batch = store.promises.create_many(["a", "b"], 1000)
        >>> batch.ids, batch.states, batch[-1].id
        (['a', 'b'], ['pending', 'pending'], 'b')
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Promise: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Promise]: ...
    def __iter__(self) -> collections.abc.Iterator[Promise]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    @property
    def ids(self) -> list[str]:
        """
        All ids.
        """
    @property
    def states(self) -> list[str]:
        """
        All states.
        """

class Claim:
    """
    A task that was created or acquired, with its promise (PROTOCOL 3.9, 3.10). Immutable.

    Where `Tasks.create` met a task that was fulfilled already, so is the one here: look at `task.state`.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers", param=[1, 2])
        >>> claim.task.version, claim.promise.param.json(), claim.preload
        (1, [1, 2], [])
    """
    def __repr__(self) -> str: ...
    @property
    def preload(self) -> list[Promise]:
        """
        The other promises of the same `resonate:branch`, ordered by id (PROTOCOL 3, preload).
        """
    @property
    def preload_cut(self) -> bool:
        """
        Whether there are more than `preload` holds: it is cut at 1 MiB.
        """
    @property
    def promise(self) -> Promise:
        """
        Its promise.
        """
    @property
    def task(self) -> Task:
        """
        The task.
        """

class Suspension:
    """
    What `Tasks.suspend` answers (PROTOCOL 3.12): the task sleeps, or something that it awaits is settled and it goes on. Immutable.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
        >>> _ = store.promises.create("child", timeout=9000)
        >>> store.tasks.suspend("job", claim.task.version, ["child"]).suspended
        True
    """
    def __repr__(self) -> str: ...
    @property
    def preload(self) -> list[Promise]:
        """
        When it goes on: the other promises of the same `resonate:branch`, ordered by id.
        """
    @property
    def preload_cut(self) -> bool:
        """
        Whether there are more than `preload` holds: it is cut at 1 MiB.
        """
    @property
    def status(self) -> int:
        """
        200 when it sleeps, 300 when it goes on.
        """
    @property
    def suspended(self) -> bool:
        """
        False where the task stays acquired and goes on at once.
        """

class Fenced:
    """
    What a fenced action answers (PROTOCOL 3.14). Immutable.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
        >>> store.tasks.fence_create("job", claim.task.version, "child", timeout=500).promise.id
        'child'
    """
    def __repr__(self) -> str: ...
    @property
    def preload(self) -> list[Promise]:
        """
        The other promises of the task's `resonate:branch`, ordered by id.
        """
    @property
    def preload_cut(self) -> bool:
        """
        Whether there are more than `preload` holds: it is cut at 1 MiB.
        """
    @property
    def promise(self) -> Promise:
        """
        The promise that was created or settled.
        """

class Clock:
    """
    Where a store's instants come from: a `ManualClock` or the `SystemClock`. One clock can drive several stores.

    Example:
        >>> isinstance(rc.ManualClock(), rc.Clock)
        True
    """
    @property
    def now(self) -> int:
        """
        The present instant, in Unix ms. It never goes back.
        """

class ManualClock(Clock):
    """
    A clock that stands still until it is moved, and fires what is due on its stores on the way (PROTOCOL 4).

    It drives every store that was made with it, in the order in which they were made. Thread-safe; one move at a time.

    Args:
        start: The first instant, in Unix ms, 0 or more.

    Raises:
        Invalid: A negative start, or one beyond 64 bits.
        TypeError: A start that is no int (a float and a bool are none).

    Example:
        >>> clock = rc.ManualClock(start=1000)
        >>> store = rc.Store(clock=clock)
        >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
        >>> clock.advance(2000)
        [Fired(kind='promise_timeout', id='a', at=1500, now=1500)]
        >>> clock.now
        3000
    """
    def __init__(self, start: int = 0) -> None: ...
    def __repr__(self) -> str: ...
    def advance(self, by: int | datetime.timedelta) -> list[Fired]:
        """
        Moves the clock by a duration and fires everything that is due on the way, each step at its own instant.

        Args:
            by: Milliseconds, 0 or more, or a `datetime.timedelta` of a whole number of them.

        Returns:
            What fired, in order.

        Raises:
            Invalid: A negative duration, or parts of a millisecond.
            TypeError: Neither an int nor a timedelta.

        Example:
            >>> from datetime import timedelta
            >>> clock = rc.ManualClock()
            >>> clock.advance(timedelta(days=1)), clock.now
            ([], 86400000)
        """
    def advance_to(self, at: int) -> list[Fired]:
        """
        Moves the clock to an instant and fires everything that is due on the way, each step at its own instant.

        The present instant is fine: what is due at once is fired.

        Args:
            at: Unix ms.

        Returns:
            What fired, in order.

        Raises:
            Invalid: An instant that has passed.
            TypeError: No int.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> [(step.kind, step.at) for step in clock.advance_to(7_200_000) if step.kind == "schedule"]
            [('schedule', 3600000), ('schedule', 7200000)]
        """
    def advance_to_next(self) -> list[Fired]:
        """
        Moves the clock to the next instant at which anything is due on any of its stores, and fires it.

        Returns:
            What fired, in order; nothing, and the clock stays, where nothing ever will.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
            >>> clock.advance_to_next(), clock.now, store.promises.get("a").state
            ([Fired(kind='promise_timeout', id='a', at=500, now=500)], 500, 'resolved')
        """

class SystemClock(Clock):
    """
    The system's wall time in ms, made monotonic: where the system's clock is set back, this one stands still until it has caught up.

    A store fires what is due when it is used and when `Store.tick` is called.

    Example:
        >>> rc.SystemClock().now > 1_700_000_000_000
        True
    """
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...

class Promises:
    """
    The promises of a store: `store.promises`.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("order:1", timeout=1000, param={"amount": 3})
        >>> store.promises.resolve("order:1", "shipped").value.json()
        'shipped'
    """
    def __repr__(self) -> str: ...
    def cancel(
        self,
        id: str,
        value: typing.Any = None,
        *,
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """
        Settles a promise as rejected_canceled (PROTOCOL 3.3); as `resolve` in everything else.

        Args:
            id: The id of the promise.
            value: Why: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the value.
            idempotency_key: A key of the settlement.

        Returns:
            The settled promise.

        Raises:
            NotFound: It does not exist.
            Conflict: It was settled under another idempotency key, or none, or by its deadline.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.cancel("a").state
            'rejected_canceled'
        """
    def count(self) -> int:
        """
        How many promises the store holds, settled ones included.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.count()
            1
        """
    def create(
        self,
        id: str,
        timeout_at: int | None = None,
        *,
        timeout: int | datetime.timedelta | None = None,
        param: typing.Any = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """
        Creates a promise, or answers the one that exists under the id (PROTOCOL 3.2).

        A promise with a target (tag `resonate:target`) gets a task, whose first message goes out at once, or at the instant that the tag
        `resonate:delay` names. One whose deadline has passed is born settled (PROTOCOL 1.2).

        Args:
            id: Any text that is not empty and holds no NUL.
            timeout_at: The deadline in Unix ms. Either this or `timeout` has to be given.
            timeout: The deadline from now on, in ms or as a timedelta.
            param: What is kept with it: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the param.
            tags: Strings by name; the protocol reads those that begin with `resonate:`.
            idempotency_key: A key of the creation. The existing promise is only answered when it was created under the same one.

        Returns:
            The promise, new or existing.

        Raises:
            Invalid: An empty id, a negative deadline, tags that contradict each other (PROTOCOL 3, shape rules).
            Conflict: It exists and was created under another idempotency key, or none.
            TypeError: An argument of the wrong type; both or neither of `timeout_at` and `timeout`.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.promises.create("a", 1000).state
            'pending'
            >>> store.promises.create("b", timeout_at=0).state
            'rejected_timedout'
        """
    def create_many(
        self,
        ids: collections.abc.Iterable[str],
        timeout_at: int | collections.abc.Iterable[int],
        *,
        params: collections.abc.Iterable[typing.Any] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
    ) -> PromiseBatch:
        """
        Creates many promises in one transaction, all of them or none; as `create` for each, in order.

        Args:
            ids: The ids.
            timeout_at: One deadline for all in Unix ms, or one for each.
            params: One param for each, or None.
            tags: The tags of all of them.

        Returns:
            The promises, new or existing, in order of the ids.

        Raises:
            Invalid: As `create`, or columns of different lengths. Nothing was created then.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> batch = store.promises.create_many(["a", "b"], [1000, 2000], params=[1, 2])
            >>> [(promise.id, promise.param.json()) for promise in batch]
            [('a', 1), ('b', 2)]
        """
    def get(self, id: str) -> Promise:
        """
        The promise as it is now (PROTOCOL 3.1). A read: nothing is stored and nothing fires.

        Args:
            id: The id of the promise.

        Returns:
            The promise, settled where its deadline has passed.

        Raises:
            NotFound: It does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.get("a").timeout_at
            1000
        """
    def register_callback(self, awaited: str, awaiter: str) -> Promise:
        """
        Lets a task be resumed when a promise is settled (PROTOCOL 3.4). Without effect where one of the two is settled.

        Args:
            awaited: The promise that is waited for.
            awaiter: The id of the task that waits; its promise needs a target.

        Returns:
            The awaited promise.

        Raises:
            Invalid: Both are the same.
            NotFound: The awaited promise does not exist.
            Unprocessable: The awaiter does not exist or has no target; under strict rules also: the awaited promise is internal.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("child", timeout=1000)
            >>> _ = store.promises.create("parent", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.promises.register_callback("child", "parent").id
            'child'
        """
    def register_listener(self, awaited: str, address: str) -> Promise:
        """
        Lets a message be sent to an address when a promise is settled (PROTOCOL 3.6). Without effect where it is settled already.

        Args:
            awaited: The promise that is waited for.
            address: `scheme:rest`; strict rules take `http://`, `https://` and `poll://` with an `@` only (PROTOCOL 2.1).

        Returns:
            The awaited promise.

        Raises:
            Invalid: No address.
            NotFound: The promise does not exist.
            Unprocessable: Under strict rules: the promise is internal.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> _ = store.promises.register_listener("a", "poll://any@clients")
            >>> _ = store.promises.resolve("a")
            >>> [message.key for message in store.messages()]
            ['unblock:a:poll://any@clients']
        """
    def reject(
        self,
        id: str,
        value: typing.Any = None,
        *,
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """
        Settles a promise as rejected (PROTOCOL 3.3); as `resolve` in everything else.

        Args:
            id: The id of the promise.
            value: What went wrong: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the value.
            idempotency_key: A key of the settlement.

        Returns:
            The settled promise.

        Raises:
            NotFound: It does not exist.
            Conflict: It was settled under another idempotency key, or none, or by its deadline.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.reject("a", "no stock").state
            'rejected'
        """
    def resolve(
        self,
        id: str,
        value: typing.Any = None,
        *,
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """
        Settles a promise as resolved, and fulfils its task (PROTOCOL 3.3). One that is settled already is answered as it is.

        Args:
            id: The id of the promise.
            value: The result: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the value.
            idempotency_key: A key of the settlement. A settled promise is only answered when it was settled under the same one.

        Returns:
            The settled promise.

        Raises:
            NotFound: It does not exist.
            Conflict: It was settled under another idempotency key, or none, or by its deadline.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock(5))
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.resolve("a", {"ok": True})
            Promise(id='a', state='resolved', value=Value(data='eyJvayI6dHJ1ZX0='), timeout_at=1005, created_at=5, settled_at=5)
        """
    def search(
        self,
        id: str | None = None,
        *,
        state: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> PromisePage:
        """
        The promises that match, ordered by id, a page at a time (PROTOCOL 3.7). A read: nothing is stored and nothing fires.

        Args:
            id: A pattern in which `*` stands for any run of characters; None for all.
            state: A state that they have now, their deadlines considered; None for all.
            tags: Tags that all have to be there with these values.
            limit: How many at most, 1 to 1000.
            cursor: The `cursor` of the page before.

        Returns:
            A page; its `cursor` is None where there is no more.

        Raises:
            Invalid: A limit out of range, or an unknown state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create_many(["order:1", "order:2", "other"], 1000)
            >>> [promise.id for promise in store.promises.search("order:*", state="pending")]
            ['order:1', 'order:2']
        """
    def settle_many(
        self,
        ids: collections.abc.Iterable[str],
        values: collections.abc.Iterable[typing.Any] | None = None,
        *,
        state: str = "resolved",
    ) -> PromiseBatch:
        """
        Settles many promises in one transaction, all of them or none; as `resolve` for each, in order.

        Args:
            ids: The ids.
            values: One value for each, or None.
            state: `resolved`, `rejected` or `rejected_canceled`, for all of them.

        Returns:
            The settled promises, in order of the ids.

        Raises:
            NotFound: One does not exist. Nothing was settled then.
            Invalid: Another state, or columns of different lengths.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create_many(["a", "b"], 1000)
            >>> store.promises.settle_many(["a", "b"], [1, 2]).states
            ['resolved', 'resolved']
        """

class Tasks:
    """
    The tasks of a store: `store.tasks`. A task is the work behind the promise of the same id.

    Versions count acquisitions (PROTOCOL 2): a request that acts on a task names the version under which the caller holds it.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
        >>> claim = store.tasks.acquire("job", version=0, pid="w1", ttl=60_000)
        >>> store.tasks.fulfill("job", claim.task.version, "done").state
        'resolved'
    """
    def __repr__(self) -> str: ...
    def acquire(self, id: str, version: int, *, pid: str, ttl: int | datetime.timedelta) -> Claim:
        """
        Takes a pending task under a lease (PROTOCOL 3.10). Its version rises by one.

        Args:
            id: The id of the task.
            version: The version that its message carried.
            pid: Who holds the lease.
            ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.

        Returns:
            The task with its new version, and its promise.

        Raises:
            NotFound: It does not exist.
            Conflict: It is not pending, or has another version; the same version cannot be acquired twice.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.tasks.acquire("job", 0, pid="w1", ttl=60_000).task.version
            1
        """
    def create(
        self,
        id: str,
        timeout_at: int | None = None,
        *,
        pid: str,
        ttl: int | datetime.timedelta,
        timeout: int | datetime.timedelta | None = None,
        target: str | None = None,
        param: typing.Any = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Claim:
        """
        Creates a promise whose task the caller holds at once, without a message (PROTOCOL 3.9).

        Where the promise exists: a pending task is acquired, a fulfilled one is answered as it is.

        Args:
            id: The id of the promise and the task.
            timeout_at: The promise's deadline in Unix ms. Either this or `timeout` has to be given.
            pid: Who holds the lease.
            ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.
            timeout: The promise's deadline from now on, in ms or as a timedelta.
            target: The address to which messages go when the lease is lost; the tag `resonate:target`.
            param: What is kept with the promise: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the param.
            tags: Strings by name.
            idempotency_key: A key of the creation, as in `Promises.create`.

        Returns:
            The task and its promise.

        Raises:
            Invalid: No target, a tag `resonate:delay`, a ttl below 1 (PROTOCOL 3, shape rules).
            Conflict: It is acquired, suspended or halted; or the idempotency key differs.
            Unprocessable: The promise exists and has no task.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> claim = store.tasks.create("job", pid="w1", ttl=60_000, timeout=1000, target="poll://any@workers")
            >>> claim.task.state, claim.promise.tags
            ('acquired', {'resonate:target': 'poll://any@workers'})
        """
    def fence_create(
        self,
        id: str,
        version: int,
        promise_id: str,
        timeout_at: int | None = None,
        *,
        timeout: int | datetime.timedelta | None = None,
        param: typing.Any = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Fenced:
        """
        Creates another promise, provided that the caller still holds the task (PROTOCOL 3.14).

        Args:
            id: The id of the task.
            version: Its version.
            promise_id: The id of the promise to create, not the task's own.
            timeout_at: Its deadline in Unix ms. Either this or `timeout` has to be given.
            timeout: Its deadline from now on, in ms or as a timedelta.
            param: What is kept with it: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the param.
            tags: Strings by name.
            idempotency_key: A key of the creation, as in `Promises.create`.

        Returns:
            The promise, new or existing.

        Raises:
            Invalid: The task's own id, or what `Promises.create` refuses.
            NotFound: The task does not exist.
            Conflict: It is not acquired, or has another version; or the idempotency key differs.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.fence_create("job", 1, "job.1", timeout=1000).promise.state
            'pending'
        """
    def fence_settle(
        self,
        id: str,
        version: int,
        promise_id: str,
        value: typing.Any = None,
        *,
        state: str = "resolved",
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Fenced:
        """
        Settles another promise, provided that the caller still holds the task (PROTOCOL 3.14).

        Args:
            id: The id of the task.
            version: Its version.
            promise_id: The id of the promise to settle, not the task's own.
            value: The result: bytes, a `Value`, or anything JSON-able.
            state: `resolved`, `rejected` or `rejected_canceled`.
            headers: Headers of the value.
            idempotency_key: A key of the settlement, as in `Promises.resolve`.

        Returns:
            The settled promise.

        Raises:
            Invalid: The task's own id, or another state.
            NotFound: The task or the promise does not exist.
            Conflict: The task is not acquired, or has another version; or the idempotency key differs.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> _ = store.tasks.fence_create("job", 1, "job.1", timeout=1000)
            >>> store.tasks.fence_settle("job", 1, "job.1", 42).promise.value.json()
            42
        """
    def fulfill(
        self,
        id: str,
        version: int,
        value: typing.Any = None,
        *,
        state: str = "resolved",
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """
        Settles the promise of an acquired task, and fulfils the task with it (PROTOCOL 3.13).

        Args:
            id: The id of the task.
            version: Its version.
            value: The result: bytes, a `Value`, or anything JSON-able.
            state: `resolved`, `rejected` or `rejected_canceled`.
            headers: Headers of the value.
            idempotency_key: A key of the settlement, as in `Promises.resolve`.

        Returns:
            The settled promise.

        Raises:
            Invalid: Another state.
            NotFound: The task does not exist.
            Conflict: It is not acquired, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.fulfill("job", 1, {"total": 3}).value.json()
            {'total': 3}
        """
    def get(self, id: str) -> Task:
        """
        The task as it is now (PROTOCOL 3.8). A read: nothing is stored and nothing fires.

        Args:
            id: The id of the task, which is that of its promise.

        Returns:
            The task, fulfilled where its promise's deadline has passed.

        Raises:
            NotFound: There is no promise of this id, or it has no task.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.tasks.get("job")
            Task(id='job', state='pending', version=0, resumes=0)
        """
    def halt(self, id: str) -> None:
        """
        Stops a task until `resume` (PROTOCOL 3.16): nobody holds it and no message goes out. Without effect where it is halted already.

        Args:
            id: The id of the task.

        Raises:
            NotFound: It does not exist.
            Conflict: It is fulfilled.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.halt("job")
            >>> store.tasks.get("job").state
            'halted'
        """
    def heartbeat(self, pid: str, tasks: collections.abc.Iterable[tuple[str, int]] = ()) -> None:
        """
        Renews leases (PROTOCOL 3.15): each becomes now + ttl. What the pid does not hold any more is skipped.

        Args:
            pid: Who holds the leases.
            tasks: Pairs of id and version. None at all: every lease of the pid (under strict rules: none).

        Raises:
            Invalid: An empty pid, or a negative version.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.tasks.create("job", pid="w1", ttl=1000, timeout=90_000, target="poll://any@workers")
            >>> _ = clock.advance(900)
            >>> store.tasks.heartbeat("w1", [("job", 1)])
            >>> store.next_due()
            1900
        """
    def release(self, id: str, version: int) -> None:
        """
        Gives an acquired task back: it is pending, and a new message goes out at once (PROTOCOL 3.11).

        Args:
            id: The id of the task.
            version: Its version.

        Raises:
            NotFound: It does not exist.
            Conflict: It is not acquired, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.release("job", 1)
            >>> [message.key for message in store.messages()]
            ['execute:job']
        """
    def resume(self, id: str) -> None:
        """
        Lets a halted task go on (PROTOCOL 3.17, `task.continue`): it is pending, and a message goes out at once.

        Args:
            id: The id of the task.

        Raises:
            NotFound: It does not exist.
            Conflict: It is not halted.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.halt("job")
            >>> store.tasks.resume("job")
            >>> store.tasks.get("job").state
            'pending'
        """
    def search(
        self,
        id: str | None = None,
        *,
        state: str | None = None,
        target: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TaskPage:
        """
        The tasks that match, ordered by id, a page at a time (PROTOCOL 3.7). A read: nothing is stored and nothing fires.

        Args:
            id: A pattern in which `*` stands for any run of characters; None for all.
            state: A state that they have now, their promises' deadlines considered; None for all.
            target: The address that they go to.
            tags: Tags of the promise that all have to be there with these values.
            limit: How many at most, 1 to 1000.
            cursor: The `cursor` of the page before.

        Returns:
            A page; its `cursor` is None where there is no more.

        Raises:
            Invalid: A limit out of range, or an unknown state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> [task.id for task in store.tasks.search(state="pending", target="poll://any@workers")]
            ['job']
        """
    def suspend(self, id: str, version: int, awaiting: collections.abc.Iterable[str]) -> Suspension:
        """
        Lets an acquired task sleep until one of the promises that it awaits is settled (PROTOCOL 3.12).

        Args:
            id: The id of the task.
            version: Its version.
            awaiting: The ids of the awaited promises, at least one.

        Returns:
            Whether it sleeps. Where one of them is settled already it stays acquired and goes on.

        Raises:
            Invalid: Nothing is awaited, or the task itself; under strict rules also: the same promise twice.
            NotFound: The task does not exist.
            Conflict: It is not acquired, or has another version.
            Unprocessable: An awaited promise does not exist; under strict rules also: it is internal. Nothing was registered then.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> _ = store.promises.create("child", timeout=90_000)
            >>> store.tasks.suspend("job", 1, ["child"])
            Suspension(suspended=True, status=200)
            >>> _ = store.promises.resolve("child")
            >>> store.tasks.get("job").state
            'pending'
        """

class Schedules:
    """
    The schedules of a store: `store.schedules`. Each creates a promise at every occurrence of a cron expression.

    Example:
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.schedules.create("nightly", "0 3 * * *", promise_timeout=3_600_000)
        >>> _ = clock.advance(86_400_000)
        >>> [promise.id for promise in store.promises.search("nightly.*")]
        ['nightly.10800000']
    """
    def __repr__(self) -> str: ...
    def create(
        self,
        id: str,
        cron: str,
        *,
        promise_id: str = "{{.id}}.{{.timestamp}}",
        promise_timeout: int | datetime.timedelta,
        param: typing.Any = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        job: collections.abc.Mapping[str, typing.Any] | None = None,
    ) -> Schedule:
        """
        Creates a schedule, or answers the one that exists under the id (PROTOCOL 3.18, 4).

        Args:
            id: The id of the schedule.
            cron: Five fields (minute hour day-of-month month day-of-week), six with leading seconds, or a word such as `@hourly`; in UTC,
                unless it begins with `CRON_TZ=Area/City`.
            promise_id: The ids of its promises, where `{{.id}}` is the schedule's id and `{{.timestamp}}` the occurrence in Unix ms.
            promise_timeout: From an occurrence to its promise's deadline, in ms or as a timedelta.
            param: What is kept with each promise: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the param.
            tags: Tags of each promise; under compatible rules lineage tags are added (PROTOCOL 2.1).
            job: Makes each of its promises a job (JOBS 5), with `param` as payload and the promise's deadline: {"type"} and, as on the wire,
                perhaps "queue", "priority", "processIn", "goodFor", "timeout", "retention", "maxRetries", "retryPolicy", "onExhausted",
                "lifecycle", "uniqueKey", "uniqueFor" and "group". An occurrence whose unique key is held is left out.

        Returns:
            The schedule, new or existing.

        Raises:
            Invalid: An expression that is none or can never fire, a tag `resonate:delay`, or a `job` that breaks a rule of jobs.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.schedules.create("weekly", "CRON_TZ=Europe/Berlin 30 9 * * MON", promise_timeout=1000).next_run_at
            376200000
        """
    def delete(self, id: str) -> None:
        """
        Deletes a schedule. The promises that it made stay.

        Args:
            id: The id of the schedule.

        Raises:
            NotFound: It does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> store.schedules.delete("hourly")
            >>> len(store.schedules.search())
            0
        """
    def get(self, id: str) -> Schedule:
        """
        The schedule. A read: nothing is stored and nothing fires.

        Args:
            id: The id of the schedule.

        Raises:
            NotFound: It does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> store.schedules.get("hourly").cron
            '@hourly'
        """
    def search(
        self,
        id: str | None = None,
        *,
        tags: collections.abc.Mapping[str, str] | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> SchedulePage:
        """
        The schedules that match, ordered by id, a page at a time (PROTOCOL 3.7). A read: nothing is stored and nothing fires.

        Args:
            id: A pattern in which `*` stands for any run of characters; None for all.
            tags: Tags of its promises that all have to be there with these values.
            limit: How many at most, 1 to 1000.
            cursor: The `cursor` of the page before.

        Returns:
            A page; its `cursor` is None where there is no more.

        Raises:
            Invalid: A limit out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> [schedule.id for schedule in store.schedules.search()]
            ['hourly']
        """

class Job:
    """
    A job as it was at the instant of the call (JOBS 2): a promise with a task and a policy, under one id.

    Immutable. A job whose deadline, or whose `good_until`, has passed is over, whatever was stored by then. Instants are Unix
    milliseconds. Equal to another when all members are.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
        Job(id='mail:1', type='email:send', queue='default', state='pending', version=0)
    """
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object) -> bool: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """
        The record as it stands in an envelope.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.jobs.enqueue("t", id="a").to_dict()["enqueuedAt"]
            0
        """
    @property
    def asynq_state(self) -> str:
        """
        What asynq calls the state (JOBS 1).
        """
    @property
    def attempts(self) -> list[dict[str, typing.Any]]:
        """
        The newest 100 attempts, oldest first: `number`, `worker`, `startedAt`, and once they are over `finishedAt`, `outcome` and perhaps `error`.
        """
    @property
    def batch(self) -> str | None:
        """
        Which jobs of its group it gathered with: those of one batch are claimed together; None where it has none.
        """
    @property
    def cancelled_at(self) -> int | None:
        """
        When it was cancelled, in Unix ms.
        """
    @property
    def claimed_at(self) -> int | None:
        """
        When it was claimed, in Unix ms.
        """
    @property
    def claimed_by(self) -> str | None:
        """
        The worker that holds it; None where none does.
        """
    @property
    def completed_at(self) -> int | None:
        """
        When it was completed, in Unix ms.
        """
    @property
    def deadline(self) -> int | None:
        """
        Its promise's deadline, in Unix ms; None: none.
        """
    @property
    def enqueued_at(self) -> int | None:
        """
        Since when it may be, or might have been, claimed, in Unix ms; moves on every retry.
        """
    @property
    def error(self) -> dict[str, str] | None:
        """
        The last error: `code`, `message` and perhaps `data`; None where there was none.
        """
    @property
    def expired_at(self) -> int | None:
        """
        When it expired, in Unix ms.
        """
    @property
    def failed_at(self) -> int | None:
        """
        When it failed for good, in Unix ms.
        """
    @property
    def gathering(self) -> bool:
        """
        Whether it waits, scheduled, for its group to be ready.
        """
    @property
    def good_until(self) -> int | None:
        """
        It expires unless it has been started by then, in Unix ms; None: never.
        """
    @property
    def group(self) -> str | None:
        """
        The group with whose jobs it may be claimed together; None where it has none.
        """
    @property
    def horsies_state(self) -> str:
        """
        What horsies calls the state (JOBS 1).
        """
    @property
    def id(self) -> str:
        """
        The id, also of its promise and its task.
        """
    @property
    def lease_until(self) -> int | None:
        """
        When its worker's lease ends, in Unix ms; None where nobody holds it.
        """
    @property
    def max_retries(self) -> int:
        """
        How many retries it has in all.
        """
    @property
    def next_retry_at(self) -> int | None:
        """
        When it may be claimed again, in Unix ms; None unless its state is `retry`.
        """
    @property
    def on_exhausted(self) -> str:
        """
        What it becomes without retries left: `archived` or `failed`.
        """
    @property
    def payload(self) -> Value:
        """
        What it was enqueued with; its promise's param.
        """
    @property
    def priority(self) -> int:
        """
        1 comes first, 100 last.
        """
    @property
    def process_at(self) -> int | None:
        """
        When it was, or is, to be processed, in Unix ms; None where it was to be at once.
        """
    @property
    def queue(self) -> str:
        """
        The name of its queue.
        """
    @property
    def result(self) -> Value:
        """
        Its promise's value, once it is over: what it was completed with, or the error that it ended with; empty before.
        """
    @property
    def retention(self) -> int | None:
        """
        How long it is kept once completed, in ms; None: for ever.
        """
    @property
    def retry_count(self) -> int:
        """
        How many retries it has used.
        """
    @property
    def retry_policy(self) -> dict[str, typing.Any]:
        """
        When a failed attempt is followed by the next, as on the wire.
        """
    @property
    def sent_at(self) -> int:
        """
        When its caller sent it, in Unix ms.
        """
    @property
    def started_at(self) -> int | None:
        """
        When its last attempt began, in Unix ms.
        """
    @property
    def state(self) -> str:
        """
        `scheduled`, `pending`, `claimed`, `running`, `retry`, `archived`, `completed`, `failed`, `cancelled` or `expired`.
        """
    @property
    def tags(self) -> dict[str, str]:
        """
        The tags of its promise, a new dict each time.
        """
    @property
    def timeout(self) -> int | None:
        """
        How long an attempt may take, in ms; None: as long as it likes.
        """
    @property
    def type(self) -> str:
        """
        What kind of job it is: which function runs it.
        """
    @property
    def unique_for(self) -> int | None:
        """
        How long after `sent_at` it holds its key at most, in ms; None: until it is over.
        """
    @property
    def unique_key(self) -> str | None:
        """
        No other job of its queue may be enqueued with this key while it holds it.
        """
    @property
    def version(self) -> int:
        """
        How often it was claimed; what its worker asks has to name it.
        """

class JobBatch(Page):
    """
    Jobs that were enqueued, claimed or found: a sequence that makes a record when one is asked for.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> batch = store.jobs.enqueue_many("t", [1, 2, 3], ids=["a", "b", "c"])
        >>> len(batch), batch[-1].payload.json()
        (3, 3)
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Job: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __iter__(self) -> collections.abc.Iterator[Job]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    @property
    def next_at(self) -> int | None:
        """
        Of a claim that got fewer jobs than it asked for: when a queue that only lacked a token of its rate has one, in Unix ms; None where there is no such queue.
        """

class JobHeartbeat:
    """
    What `Jobs.heartbeat` answers: which jobs their worker need not go on with.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.jobs.heartbeat("w", [("a", 1)]).lost
        ['a']
    """
    def __repr__(self) -> str: ...
    @property
    def cancelled(self) -> list[str]:
        """
        Ids of jobs that were cancelled.
        """
    @property
    def lost(self) -> list[str]:
        """
        Ids of jobs that the worker does not hold under that version, for any other reason.
        """

class Jobs:
    """
    The jobs of a store: `store.jobs` (JOBS). `resonate_core.worker.Worker` runs them by Python functions.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
        >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
        >>> _ = store.jobs.start(job.id, job.version)
        >>> store.jobs.complete(job.id, job.version, "sent").state
        'completed'
        >>> store.promises.get("mail:1").value.json()
        'sent'
    """
    def archive(self, id: str) -> Job:
        """
        Puts a pending, scheduled or retrying job aside, for a person to look at.

        Raises:
            NotFound: It does not exist.
            Conflict: It is in another state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.archive("a").state
            'archived'
        """
    def archive_all(
        self,
        state: str,
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """
        As `archive` for all jobs of a state ("pending", "scheduled" or "retry") that match, a thousand a transaction; how many.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3))
            >>> store.jobs.archive_all("pending", type="t")
            3
        """
    def cancel(self, id: str) -> Job:
        """
        Cancels a job that is not over: its promise is canceled. A worker that runs it hears of it with its next heartbeat.

        Raises:
            NotFound: It does not exist.
            Conflict: It is over.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.cancel("a").state
            'cancelled'
        """
    def cancel_all(
        self,
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """
        Cancels all jobs that match and are not over, a thousand a transaction; how many. At least one filter has to be given.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3), tags={"resonate:parent": "order:1"})
            >>> store.jobs.cancel_all(tags={"resonate:parent": "order:1"})
            3
        """
    def claim(
        self,
        queues: str | collections.abc.Iterable[str] | collections.abc.Mapping[str, int],
        count: int | None = None,
        *,
        worker: str,
        lease: int | datetime.timedelta,
        run_lease: int | datetime.timedelta | None = None,
        strict: bool | None = None,
        start: int | None = None,
    ) -> JobBatch:
        """
        Takes jobs that may be claimed, each under a lease (JOBS 3). Its version rises by one; what its worker asks has to name it.

        A job of a lifecycle that claims in one step runs at once; another is `claimed` until `start`. Of a group that gathered, all that may
        be claimed come together, even beyond `count`.

        Args:
            queues: A name, names, or weights (1..1000) by name. Queues take turns by weight.
            count: How many at most, 1..10000.
            worker: Who holds the leases.
            lease: The length of the lease of a claimed job, in ms or as a timedelta.
            run_lease: The same of a job that runs at once; as `lease` where not given.
            strict: A queue gives jobs only when those before it have none.
            start: So many of them, the first ones, run at once, whatever their lifecycle.

        Returns:
            The jobs in order of claiming: by priority, then `enqueued_at`, then id within a queue.

        Raises:
            Invalid: No queue, one that is named twice, a count or a lease outside its bounds.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="later", priority=60)
            >>> _ = store.jobs.enqueue("t", id="sooner", priority=10)
            >>> [(job.id, job.state, job.version) for job in store.jobs.claim("default", 2, worker="w", lease=60_000)]
            [('sooner', 'claimed', 1), ('later', 'claimed', 1)]
        """
    def complete(
        self, id: str, version: int, result: typing.Any = None, *, headers: collections.abc.Mapping[str, str] | None = None
    ) -> Job:
        """
        Completes a running job: its promise is resolved with the result (JOBS 3). Then it is kept as long as its retention says.

        Args:
            id: The id of the job.
            version: Of the claim.
            result: bytes, a `Value`, or anything JSON-able.
            headers: Headers of the result.

        Returns:
            The job.

        Raises:
            NotFound: It does not exist.
            Conflict: It does not run, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retention="kept")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.complete("a", job.version, {"sent": True}).result.json()
            {'sent': True}
        """
    def complete_many(self, jobs: collections.abc.Iterable[tuple[str, int, typing.Any]]) -> list[int]:
        """
        Completes several running jobs in one transaction, each for itself.

        Args:
            jobs: Triples of id, version and result.

        Returns:
            The status of each: 200, 404 or 409.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.jobs.complete_many([("a", 1, None)])
            [404]
        """
    def delete(self, id: str) -> None:
        """
        Deletes a job that nobody holds, and its promise with it; one that is over as soon as nothing undelivered refers to it.

        Raises:
            NotFound: It does not exist.
            Conflict: It is claimed or running, or it is not over and somebody awaits it.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.delete("a")
            >>> len(store.jobs.search())
            0
        """
    def delete_all(
        self,
        state: str,
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """
        As `delete` for all jobs of a state, but "claimed" and "running", that match, a thousand a transaction; how many.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3))
            >>> store.jobs.delete_all("pending", queue="default")
            3
        """
    def enqueue(
        self,
        type: str,
        payload: typing.Any = None,
        *,
        id: str | None = None,
        queue: str | None = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        priority: int | None = None,
        process_at: int | None = None,
        process_in: int | datetime.timedelta | None = None,
        good_until: int | None = None,
        good_for: int | datetime.timedelta | None = None,
        timeout: int | datetime.timedelta | None = None,
        deadline: int | None = None,
        retention: int | datetime.timedelta | typing.Literal["kept"] | None = None,
        max_retries: int | None = None,
        retry_policy: collections.abc.Mapping[str, typing.Any] | None = None,
        on_exhausted: str | None = None,
        lifecycle: str | None = None,
        unique_key: str | None = None,
        unique_for: int | datetime.timedelta | None = None,
        group: str | None = None,
        sent_at: int | None = None,
    ) -> Job:
        """
        Enqueues a job, or answers the same one that is there (JOBS 3). What is not given comes from the queue, then from the lifecycle.

        Args:
            type: What kind of job it is: which function runs it.
            payload: What that function gets: bytes, a `Value`, or anything JSON-able.
            id: Its id, also of its promise; one is made where none is given. A pending promise without a task becomes the job.
            queue: The name of its queue; "default" where none is given.
            headers: Headers of the payload.
            tags: Tags of its promise.
            priority: 1 comes first, 100 last; 50 where nothing else is said.
            process_at: Not before this instant, in Unix ms.
            process_in: Not before so long from now, in ms or as a timedelta.
            good_until: It expires unless it has been started by then, in Unix ms.
            good_for: A `good_until` so long after it can first run, in ms or as a timedelta.
            timeout: How long one attempt may take, in ms or as a timedelta.
            deadline: Of its promise, in Unix ms; none where none is given.
            retention: How long it is kept once completed, in ms or as a timedelta; "kept": for ever.
            max_retries: How many retries it has.
            retry_policy: {"kind": "fixed", "intervals": [ms, ...]}, {"kind": "exponential", "base": ms, "factor", "cap": ms, "jitter"} or
                {"kind": "asynq"}; with "codes": [...] only errors of these codes are retried.
            on_exhausted: "archived" or "failed": what it becomes without retries left.
            lifecycle: "asynq" or "horsies": the preset for what nobody says (JOBS 4).
            unique_key: No other job of the queue may hold this key.
            unique_for: For how long after `sent_at` at most it holds it, in ms or as a timedelta; none: until it is over.
            group: It waits until the jobs of its queue and type with this group are many enough, none has joined for a while, or the
                first has waited long enough (`Queues.set`); then all of them may be claimed, together.
            sent_at: When the caller sent it, in Unix ms; now where not given.

        Returns:
            The job.

        Raises:
            Invalid: A value that breaks a rule.
            Conflict: The id is that of another job, of a task, or of a settled promise; or another job holds the unique key.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> job = store.jobs.enqueue("email:send", {"to": "a@example.com"}, queue="mail", process_in=60_000)
            >>> job.state, job.process_at
            ('scheduled', 60000)
        """
    def enqueue_many(
        self,
        type: str,
        payloads: collections.abc.Iterable[typing.Any],
        *,
        ids: collections.abc.Iterable[str] | None = None,
        queue: str | None = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        priority: int | None = None,
        process_at: int | None = None,
        process_in: int | datetime.timedelta | None = None,
        good_until: int | None = None,
        good_for: int | datetime.timedelta | None = None,
        timeout: int | datetime.timedelta | None = None,
        deadline: int | None = None,
        retention: int | datetime.timedelta | typing.Literal["kept"] | None = None,
        max_retries: int | None = None,
        retry_policy: collections.abc.Mapping[str, typing.Any] | None = None,
        on_exhausted: str | None = None,
        lifecycle: str | None = None,
        group: str | None = None,
        sent_at: int | None = None,
    ) -> JobBatch:
        """
        Enqueues a job for each payload, all of them or none, in one transaction; as `enqueue` for each, in order.

        Args:
            type: What kind of jobs they are.
            payloads: The payload of each.
            ids: The id of each; made where none are given.
            queue: As in `enqueue`, for all of them; so are those that follow.
            headers: See `enqueue`.
            tags: See `enqueue`.
            priority: See `enqueue`.
            process_at: See `enqueue`.
            process_in: See `enqueue`.
            good_until: See `enqueue`.
            good_for: See `enqueue`.
            timeout: See `enqueue`.
            deadline: See `enqueue`.
            retention: See `enqueue`.
            max_retries: See `enqueue`.
            retry_policy: See `enqueue`.
            on_exhausted: See `enqueue`.
            lifecycle: See `enqueue`.
            group: See `enqueue`.
            sent_at: See `enqueue`.

        Returns:
            The jobs, in order of the payloads.

        Raises:
            Invalid: As `enqueue`, or ids and payloads of different numbers. Nothing was enqueued then.
            Conflict: As `enqueue`.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> [job.state for job in store.jobs.enqueue_many("t", range(3))]
            ['pending', 'pending', 'pending']
        """
    def fail(
        self,
        id: str,
        version: int,
        code: str,
        message: str | None = None,
        data: str | None = None,
        *,
        retryable: bool | None = None,
        retry_after: int | datetime.timedelta | None = None,
    ) -> Job:
        """
        Ends an attempt without success: the job is retried, or archived or failed for good (JOBS 3).

        Args:
            id: The id of the job.
            version: Of the claim.
            code: Which error it was; a policy may retry certain codes only.
            message: For people.
            data: More of it, base64 by convention.
            retryable: False: there is no use in another attempt.
            retry_after: When the next attempt may begin, in ms from now or as a timedelta, in place of what the policy says.

        Returns:
            The job.

        Raises:
            Invalid: An empty code, a negative pause.
            NotFound: It does not exist.
            Conflict: It does not run, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retry_policy={"kind": "fixed", "intervals": [5000]})
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.fail("a", job.version, "SmtpError", "no such host").next_retry_at
            5000
        """
    def get(self, id: str) -> Job:
        """
        The job. A read: nothing is stored and nothing fires.

        Raises:
            NotFound: There is no promise of this id, or it is no job.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.get("a").state
            'pending'
        """
    def heartbeat(self, worker: str, jobs: collections.abc.Iterable[tuple[str, int]]) -> JobHeartbeat:
        """
        Renews the leases of jobs that are claimed or running, each by its own length.

        Args:
            worker: Who holds them.
            jobs: Pairs of id and version.

        Returns:
            Which of them were cancelled, and which are not held any more.

        Raises:
            Invalid: An empty name or id, a negative version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> _ = store.jobs.cancel("a")
            >>> store.jobs.heartbeat("w", [("a", job.version)])
            JobHeartbeat(cancelled=['a'], lost=[])
        """
    def release(self, id: str, version: int) -> Job:
        """
        Gives a claimed job back that was not started; no retry is used.

        Raises:
            NotFound: It does not exist.
            Conflict: It is not claimed, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.release("a", job.version).state
            'pending'
        """
    def run(self, id: str) -> Job:
        """
        Makes a scheduled, retrying or archived job claimable at once. Whoever awaits its promise goes on waiting for it.

        Raises:
            NotFound: It does not exist.
            Conflict: It is in another state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
            >>> store.jobs.run("a").enqueued_at
            0
        """
    def run_all(
        self,
        state: str,
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """
        As `run` for all jobs of a state ("archived", "retry" or "scheduled") that match, a thousand a transaction; how many.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3), process_in=60_000)
            >>> store.jobs.run_all("scheduled")
            3
        """
    def search(
        self,
        id: str | None = None,
        *,
        queue: str | None = None,
        type: str | None = None,
        state: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
        unique_key: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> JobBatch:
        """
        One page of the jobs that match, ordered by id.

        Args:
            id: A glob: `*` stands for any characters.
            queue: Of this queue.
            type: Of this type.
            state: In this state now.
            tags: With these tags, all of them.
            group: Of this group.
            unique_key: With this unique key.
            limit: The size of a page, 1..1000; 100 where not given.
            cursor: Of the page before.

        Returns:
            The jobs; `cursor` of it for the next page, None on the last.

        Raises:
            Invalid: A state that jobs do not have, or a limit outside its bounds.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3), ids=["a", "b", "c"])
            >>> [job.id for job in store.jobs.search(state="pending", limit=2)]
            ['a', 'b']
        """
    def snooze(self, id: str, version: int, delay: int | datetime.timedelta) -> Job:
        """
        Puts a running job off; its attempt is over, no retry is used.

        Args:
            id: The id of the job.
            version: Of the claim.
            delay: From now until it may be claimed again, in ms or as a timedelta.

        Raises:
            NotFound: It does not exist.
            Conflict: It does not run, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.snooze("a", job.version, 5000).process_at
            5000
        """
    def start(self, id: str, version: int, *, lease: int | datetime.timedelta | None = None) -> Job:
        """
        Begins the attempt of a claimed job.

        Args:
            id: The id of the job.
            version: Of the claim.
            lease: The length of the lease from now on, in ms or as a timedelta; as before where not given.

        Returns:
            The job.

        Raises:
            NotFound: It does not exist.
            Conflict: It is not claimed, or has another version; it may have expired.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.start("a", job.version).attempts
            [{'number': 1, 'worker': 'w', 'startedAt': 0}]
        """
    def start_many(
        self, jobs: collections.abc.Iterable[tuple[str, int]], *, lease: int | datetime.timedelta | None = None
    ) -> list[int]:
        """
        Begins the attempts of several claimed jobs in one transaction, each for itself.

        Args:
            jobs: Pairs of id and version.
            lease: As in `start`, for all of them.

        Returns:
            The status of each: 200, 404 or 409.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.jobs.start_many([("a", 1)])
            [404]
        """

class Queues:
    """
    The queues of a store: `store.queues`. A queue exists once it has had a job, or once it is set.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.queues.set("mail", concurrency=10, rate={"limit": 100, "per": 60_000})["concurrency"]
        10
        >>> [queue["name"] for queue in store.queues.list()]
        ['mail']
    """
    def get(self, name: str) -> dict[str, typing.Any]:
        """
        The queue, as on the wire.

        Raises:
            NotFound: It does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", queue="mail")
            >>> store.queues.get("mail")
            {'name': 'mail', 'paused': False, 'weight': 1, 'active': 0}
        """
    def list(self) -> builtins.list[dict[str, typing.Any]]:
        """
        All queues by name, as on the wire.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).queues.list()
            []
        """
    def pause(self, name: str) -> dict[str, typing.Any]:
        """
        Stops claims from a queue; jobs that run go on. Doing it twice is doing it once.

        Raises:
            NotFound: The queue does not exist; `set(name)` makes it. The queue `default` always exists.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.queues.set("mail")
            >>> store.queues.pause("mail")["paused"]
            True
        """
    def resume(self, name: str) -> dict[str, typing.Any]:
        """
        Lets claims go on.

        Raises:
            NotFound: The queue does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.queues.set("mail")
            >>> store.queues.resume("mail")["paused"]
            False
        """
    def set(self, name: str, **kwargs: typing.Any) -> dict[str, typing.Any]:
        """
        Sets members of a queue, which is made where it does not exist (JOBS 4, 5). What is not given stays; None clears.

        Args:
            name: The name of the queue.
            **given: `lifecycle`: "asynq", "horsies" or None; what its jobs get that say nothing themselves. `weight`: 1..1000, its share
                where a claim names several queues. `concurrency`: how many of its jobs may be claimed or running at once, or None.
                `rate`: {"limit": tokens, "per": ms, "burst": tokens} or None; how often its jobs may be claimed.
                `groups`: {"size": 1..1000, "grace": ms, "maxDelay": ms} or None; when the jobs of a group are ready: so many of them, so
                long after the last one joined (a minute where nothing is said), or after the first. `defaults`: what its jobs
                get that say nothing themselves, before the lifecycle: {"maxRetries", "retryPolicy", "onExhausted", "retention", "timeout",
                "priority"}, or None.

        Returns:
            The queue, as on the wire.

        Raises:
            Invalid: A value that breaks a rule.
            TypeError: A member that queues do not have.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.queues.set("mail", lifecycle="asynq", weight=6)["weight"]
            6
        """
    def stats(self, name: str | None = None) -> builtins.list[dict[str, typing.Any]]:
        """
        How many jobs of each state queues hold, how long the oldest that may be claimed has waited, and what was processed per UTC day.

        Args:
            name: One queue; None: all.

        Returns:
            Of each queue `counts` by state, `oldestPendingAt` (Unix ms), `latency` (ms), `active`, and `days`, at most 90, each with how many
            attempts were `processed` and how many of them `failed`.

        Raises:
            NotFound: The queue does not exist.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.jobs.enqueue("t")
            >>> _ = clock.advance(500)
            >>> store.queues.stats("default")[0]["latency"]
            500
        """

class Recording:
    """
    A recording that is under way: `Store.record`. A context manager that closes it.

    Example:
        >>> import io
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> trace = io.StringIO()
        >>> with store.record(trace) as recording:
        ...     _ = store.promises.create("a", timeout=1000)
        >>> recording.closed, recording.lines
        (True, 2)
    """
    def __enter__(self) -> Recording: ...
    def __exit__(self, exc_type: typing.Any, exc: typing.Any, traceback: typing.Any) -> None: ...
    def __repr__(self) -> str: ...
    def close(self) -> None:
        """
        Ends the recording and closes the file; a file object is flushed and left open. Without effect where it has ended.

        Raises:
            StoreError: A line could not be written. What it would have told has been done nevertheless.

        Example:
            >>> import io
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> recording = store.record(io.StringIO())
            >>> recording.close()
        """
    @property
    def closed(self) -> bool:
        """
        Whether it has ended.
        """
    @property
    def lines(self) -> int:
        """
        How many lines were written.
        """

class Replay:
    """
    How a trace came out when it was run again: `replay`. True in a condition when all of it came out as recorded.

    Example:
        >>> import io
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> trace = io.StringIO()
        >>> with store.record(trace):
        ...     _ = store.promises.create("a", timeout=1000)
        >>> rc.replay(trace.getvalue().splitlines())
        Replay(ok=True, steps=2)
    """
    def __bool__(self) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def difference(self) -> str | None:
        """
        Where it first differs, in words; None where it does not.
        """
    @property
    def expected(self) -> str | None:
        """
        That line as it was recorded; None where there is none.
        """
    @property
    def got(self) -> str | None:
        """
        That line as it came out now; None where nothing came.
        """
    @property
    def line(self) -> int | None:
        """
        The first line that did not, counted from 1; None where all did.
        """
    @property
    def ok(self) -> bool:
        """
        Whether every line came out as recorded.
        """
    @property
    def steps(self) -> int:
        """
        How many lines came out as recorded.
        """

class RequestLimits:
    """
    How large a request may be, and how long what it asks for may last; what is beyond is answered with status 400.

    Args:
        id_bytes: Of an id, a pid, an address or the name of a tag.
        tags: Tags of a promise, headers of a value.
        list_length: Tasks of a heartbeat, actions of a suspend.
        nesting: Levels of brackets in the JSON.
        lease: Ms for which a job may be claimed or started.
        ttl: Ms for which a task may be acquired.
        delay: Ms that a job, a message or a next attempt may lie ahead.
        clock: Tells how far ahead an instant is. Without one, instants may be any.

    Example:
        >>> from resonate_core import Envelope, RequestLimits
        >>> Envelope(b"[[[]]]", RequestLimits(nesting=2)).refused
        True
    """
    def __init__(
        self,
        *,
        id_bytes: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        tags: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        list_length: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        nesting: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        lease: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        ttl: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        delay: typing.SupportsInt | typing.SupportsIndex = 9223372036854775807,
        clock: Clock | None = None,
    ) -> None: ...

class Envelope:
    """
    A request as a server holds it: decoded once, judged, then run by `Store.run`.

    Args:
        text: JSON in UTF-8. Whatever it is, it makes an envelope; a malformed one is `refused` and answered with status 400.
        limits: How large it may be.

    Example:
        >>> from resonate_core import Envelope, RequestLimits
        >>> text = b'{"kind":"promise.get","head":{"corrId":"1","version":"2026-04-01"},"data":{"id":"a"}}'
        >>> envelope = Envelope(text, RequestLimits())
        >>> envelope.kind, envelope.ids
        ('promise.get', ['a'])
        >>> rc.Store(clock=rc.ManualClock()).run([envelope])[0][0]
        404
    """
    def __init__(self, text: bytes, limits: RequestLimits) -> None: ...
    def forget_debug_time(self) -> None:
        """
        Makes it run at the store's own instant, whatever its `resonate:debug_time` says.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> Envelope(b"{}", RequestLimits()).forget_debug_time()
        """
    def refusal(self, status: typing.SupportsInt | typing.SupportsIndex, message: str) -> bytes:
        """
        The envelope, as JSON, that answers it with this status and text.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> Envelope(b"{}", RequestLimits()).refusal(429, "later")
            b'{"kind":"unknown","head":{"corrId":"0","status":429,"version":"2026-04-01"},"data":"later"}'
        """
    def restrict(self, prefix: str) -> None:
        """
        Makes what the request finds by itself (searches, preloads, all leases of a pid) only what has an id that begins with `prefix`.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> text = b'{"kind":"promise.search","head":{"corrId":"1","version":"2026-04-01"},"data":{}}'
            >>> Envelope(text, RequestLimits()).restrict("mine.")
        """
    @property
    def advice(self) -> list[str]:
        """
        A sentence for each tag that has no meaning though it looks like one that has. Fit for a log.
        """
    @property
    def auth(self) -> str | None:
        """
        head.auth; None where there is none, or an empty one.
        """
    @property
    def corr_id(self) -> str:
        """
        What its answer repeats.
        """
    @property
    def debug(self) -> bool:
        """
        Whether it is a debug operation. It is run alone.
        """
    @property
    def ids(self) -> list[str]:
        """
        Every id that it names, those of the actions inside it among them; of a schedule also how the ids of its promises begin.
        """
    @property
    def kind(self) -> str:
        """
        What is asked for, as far as it can be told; any text where it is refused.
        """
    @property
    def queues(self) -> list[str]:
        """
        Every queue that it enqueues into, claims from or looks for jobs in. The name of a queue that it sets, pauses or reads is an id.
        """
    @property
    def refused(self) -> bool:
        """
        Whether it is malformed or too large, and so answered with status 400.
        """
    @property
    def search(self) -> bool:
        """
        Whether it may look at every row. Run alone it keeps nobody waiting.
        """
    @property
    def version(self) -> str:
        """
        The dialect in which it is answered.
        """

class Watch:
    """
    Rings when a store has something to do for whoever ticks it and delivers its messages; `Store.watch` makes it.

    Ringing is one byte written to a descriptor. After it there is silence until `rearm`.

    Example:
        >>> import os
        >>> reader, writer = os.pipe()
        >>> os.set_blocking(writer, False)
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> watch = store.watch(writer)
        >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
        >>> os.read(reader, 1)
        b'!'
        >>> watch.close(); os.close(reader); os.close(writer)
    """
    def close(self) -> None:
        """
        Ends it. The descriptor is not written to afterwards; whoever opened it closes it.

        Example:
            >>> import os
            >>> reader, writer = os.pipe()
            >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
            >>> watch.close(); os.close(reader); os.close(writer)
            >>> watch.closed
            True
        """
    def rearm(self, until: int | None = None) -> None:
        """
        Makes it ring again: at the next message, and at the next change that makes something due before `until`.

        Whatever happened since it last rang did not ring, so whoever calls this looks at the store once more afterwards.

        Args:
            until: The instant, in Unix ms, at which the caller looks again anyway; None: never.

        Example:
            >>> import os
            >>> reader, writer = os.pipe()
            >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
            >>> watch.rearm(until=5000)
            >>> watch.close(); os.close(reader); os.close(writer)
        """
    @property
    def closed(self) -> bool:
        """
        Whether it was closed.
        """
    @property
    def job_attempts(self) -> dict[str, int]:
        """
        How many attempts of jobs ended so, by outcome, in commits of this store since the watch was made.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> watch = store.watch(-1)
            >>> _ = store.jobs.enqueue("email", id="j"), store.jobs.claim("default", worker="w", lease=1000, start=1)
            >>> _ = store.clock.advance(1000)
            >>> watch.job_attempts["crashed"]
            1
        """
    @property
    def job_states(self) -> dict[str, int]:
        """
        How many jobs came into a state, by state, in commits of this store since the watch was made.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> watch = store.watch(-1)
            >>> _ = store.jobs.enqueue("email", id="j"), store.jobs.cancel("j")
            >>> watch.job_states["cancelled"]
            1
        """

class Store:
    """
    A store of durable promises, tasks and schedules: one engine, its rows and its clock (DESIGN 1).

    Thread-safe; calls release the GIL. A context manager that closes it. A child of `os.fork` may go on with its copy.

    Args:
        path_or_url: Where the rows live: the path of a SQLite file, which is made where there is none; None is memory.
        clock: A `ManualClock` for simulation, or None for the system's.
        rules: `compatible` takes what every published client sends, `strict` holds to the formal model (PROTOCOL 2.1).
        retry_timeout: From one message of a pending task to the next, in ms or as a timedelta; `ttl`: that of the task's last lease.
        catchup: Which missed occurrences of a schedule are made up: `all`, `latest`, or `none` (later than a minute).
        check: Look at the properties of PROTOCOL 6 after every request and step, and raise InvariantViolation. Slow: for tests.
        debug: Serve `debug.*` envelopes; None: on a manual clock only.
        unblock_retention: How long an unblock message waits to be taken, in ms or as a timedelta.
        durability: Of a file. `full`: what was answered survives a loss of power (fsync at each commit). `normal`: it survives the death
            of the process; a loss of power may undo the last commits, never half of one.
        busy_timeout: How long a call waits for another process that writes to the same file, in ms or as a timedelta.
        read_only: Open a file to look at it: whatever would change it raises ReadOnly.

    Raises:
        StoreError: The file cannot be opened, is no store's, or is damaged; it is left as it was.
        StoreBusy: Another process held the file for longer than `busy_timeout`.
        Unsupported: A URL of a database that this version does not know.
        Invalid: An option that is none of those above.

    Example:
        >>> with rc.Store(clock=rc.ManualClock()) as store:
        ...     _ = store.promises.create("order:1", timeout=60_000)
        ...     store.promises.resolve("order:1", "shipped").state
        'resolved'
    """
    def __enter__(self) -> Store: ...
    def __exit__(self, exc_type: typing.Any, exc: typing.Any, traceback: typing.Any) -> None: ...
    def __init__(
        self,
        path_or_url: str | os.PathLike[str] | None = None,
        *,
        clock: Clock | None = None,
        rules: typing.Literal["compatible", "strict"] = "compatible",
        retry_timeout: int | datetime.timedelta | typing.Literal["ttl"] = 5000,
        catchup: typing.Literal["all", "latest", "none"] = "all",
        check: bool = False,
        debug: bool | None = None,
        unblock_retention: int | datetime.timedelta = 86400000,
        durability: typing.Literal["full", "normal"] = "full",
        busy_timeout: int | datetime.timedelta = 5000,
        read_only: bool = False,
    ) -> None: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def acknowledge(self, numbers: collections.abc.Iterable[int]) -> list[int]:
        """
        Takes the messages of these numbers out of the outbox: they were delivered (PROTOCOL 5).

        Args:
            numbers: `Message.number` of each. One that does not wait any more is passed over.

        Returns:
            Those that waited, in order. Of several callers who name one message one is told its number.

        Raises:
            Closed: The store was closed.
            StoreError: The commit failed; all of them still wait.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.acknowledge([message.number for message in store.messages()])
            [1]
        """
    @typing.overload
    def apply(self, envelope: dict[str, typing.Any], now: int | None = None, atomic: bool = False) -> dict[str, typing.Any]:
        """
        Runs a request in its envelope, of either dialect, or a list of them in one transaction (PROTOCOL 2, 8).

        Whatever is refused is answered, a malformed envelope with status 400; nothing that a client sends raises.

        Args:
            envelope: `{"kind", "head", "data"}`, or a list of such.
            now: On a manual clock: the instant of the request, in Unix ms, to which the clock is moved. `head["resonate:debug_time"]` does
                the same. An instant that has passed is answered with status 400.
            atomic: The first refusal undoes all of a list.

        Returns:
            The answering envelope, or a list of them in the same order.

        Raises:
            Closed: The store was closed.
            TypeError: `now` is no int.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> head = {"corrId": "1", "version": "2026-04-01"}
            >>> store.apply({"kind": "promise.get", "head": head, "data": {"id": "nobody"}})["head"]["status"]
            404
            >>> store.apply(["no envelope"])[0]["head"]
            {'corrId': '0', 'status': 400, 'version': '2026-04-01'}
        """
    @typing.overload
    def apply(
        self, envelope: list[dict[str, typing.Any]], now: int | None = None, atomic: bool = False
    ) -> list[dict[str, typing.Any]]:
        """
        A list of them, in one transaction.
        """
    def apply_async(
        self, envelope: dict[str, typing.Any] | list[dict[str, typing.Any]], now: int | None = None, atomic: bool = False
    ) -> collections.abc.Awaitable[typing.Any]:
        """
        As `apply`, for asyncio: the request runs off the loop's thread, and the tasks of one loop share commits.

        Requests that come in one turn of the loop, or while a commit is under way, run in one transaction, in the order in which they came.
        Each gets its own answer. A commit that fails raises in all of them, and nothing of it was done.

        Args:
            envelope: An envelope, or a list of such.
            now: On a manual clock: the instant of the request, in Unix ms.
            atomic: The first refusal undoes all of a list, which then has a transaction of its own.

        Returns:
            An awaitable of the answering envelope, or of a list of them.

        Raises:
            Closed: The store was closed.

        Example:
            >>> import asyncio
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> async def main():
            ...     head = {"corrId": "1", "version": "2026-04-01"}
            ...     return await store.apply_async({"kind": "promise.get", "head": head, "data": {"id": "nobody"}})
            >>> asyncio.run(main())["head"]["status"]
            404
        """
    @typing.overload
    def apply_json(self, envelope: bytes | str, now: int | None = None, atomic: bool = False) -> bytes:
        """
        As `apply`, from JSON to JSON. A batch is a Python list of texts; a JSON array in one text is none and answered with status 400.

        Args:
            envelope: JSON in UTF-8, or a list of such texts, which run in one transaction.
            now: The instant of the request on a manual clock, in Unix ms.
            atomic: The first refusal undoes all of a list.

        Returns:
            The answer as JSON in ASCII, or a list of them in the same order.

        Raises:
            Closed: The store was closed.
            TypeError: Neither bytes nor str nor a list of them; `now` is no int.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.apply_json(b"{")[:42]
            b'{"kind":"unknown","head":{"corrId":"0","st'
        """
    @typing.overload
    def apply_json(self, envelope: list[bytes] | list[str], now: int | None = None, atomic: bool = False) -> list[bytes]:
        """
        A list of them, in one transaction.
        """
    def backup(self, path: str | os.PathLike[str]) -> None:
        """
        Writes the whole state, as of one instant, into a new SQLite file that `Store(path)` opens. Others read and write meanwhile.

        Args:
            path: Where no file is yet. It appears once it is complete and on the disk.

        Raises:
            StoreError: There is a file already, or it cannot be written; nothing is left behind.

        Example:
            >>> import tempfile, pathlib
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     store.backup(pathlib.Path(folder) / "copy.db")
            ...     with rc.Store(pathlib.Path(folder) / "copy.db", clock=rc.ManualClock()) as copy:
            ...         copy.promises.get("a").state
            'pending'
        """
    def check(self) -> list[Violation]:
        """
        Every property of PROTOCOL 6 that does not hold, by name, and every problem that the store works around (`problems`); empty when there
        is none. It looks at the whole state.

        A store made with `check=True` looks at what each request and step changed, and raises InvariantViolation.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).check()
            []
        """
    def close(self) -> None:
        """
        Closes the store: what it held in memory is gone, what it held in a file is there for the next that opens it. Every later call
        raises Closed. Without effect where it is closed.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.close()
            >>> store.closed
            True
        """
    def counts(self) -> dict[str, typing.Any]:
        """
        How many promises and tasks there are in each state, how many schedules and messages. It looks at the whole state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.counts()
            {'promises': {'pending': 1}, 'tasks': {}, 'schedules': 0, 'messages': 0}
        """
    def deliver(self) -> int:
        """
        Hands what waits now to the functions that `on_message` was given, in order of queueing; how many messages they took.

        A function that raises is logged and keeps nothing from the others.

        Raises:
            Invalid: A function that it calls calls it again.
            Closed: The store was closed.
            StoreError: What was taken could not be taken out of the store, and will be delivered again.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).deliver()
            0
        """
    def digest(self) -> str:
        """
        A hash of the whole state in hex: equal states have equal digests, in every process and storage.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).digest() == rc.Store(clock=rc.ManualClock()).digest()
            True
        """
    def fork(self, clock: Clock | None = None) -> Store:
        """
        An independent copy of the store in memory. Of a store in memory it is cheap however much that holds: rows are shared until one of
        the two changes them. Of a file everything is read once, and the file is never touched by what happens to the copy.

        Args:
            clock: The clock of the copy. None: a new manual clock at the same instant, or the same system clock.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
            >>> what_if = store.fork()
            >>> _ = what_if.clock.advance(5000)
            >>> what_if.promises.get("a").state, store.promises.get("a").state
            ('resolved', 'pending')
        """
    def messages(
        self,
        limit: int | None = None,
        *,
        after: typing.SupportsInt | typing.SupportsIndex = 0,
        addresses: collections.abc.Iterable[str] | None = None,
    ) -> list[Message]:
        """
        What waits in the outbox, in order of queueing (PROTOCOL 5). It stays there.

        Args:
            limit: How many at most.
            after: Only those with a greater `number`.
            addresses: Only those to one of these addresses; one that ends in `*` stands for all that begin so.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> [(message.kind, message.address) for message in store.messages()]
            [('execute', 'poll://any@workers')]
        """
    def next_due(self) -> int | None:
        """
        The next instant at which anything is due, in Unix ms, never in the past; None where nothing ever will be.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
            >>> store.next_due()
            500
        """
    def on_message(
        self, scheme: str, handler: collections.abc.Callable[[Message], typing.Any], *, background: bool | None = None
    ) -> resonate_core._messages.Subscription:
        """
        Hands the messages of all addresses with this scheme to a function of this process (PROTOCOL 5).

        A message was delivered when the function returned; one that raised gets it again, after a pause that grows. The function is called
        with one message at a time, at least once, and should return soon. Whatever it raises in the thread is logged, even what ends a thread
        (SystemExit). When the program ends, the thread is given a second to return from it.

        Args:
            scheme: What stands before the colon of the addresses, in lower case.
            handler: Is given a `Message`.
            background: Whether a thread calls it as soon as a message is queued; else `deliver` does. By default that depends on the clock:
                a system clock's store delivers by itself, a manual clock's when it is told to, so that runs repeat.

        Returns:
            A Subscription, whose `close` ends it. It ends with the store too.

        Raises:
            Invalid: No scheme, or one that has a handler.
            TypeError: `handler` cannot be called.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> subscription = store.on_message("local", lambda message: print(message.kind, message.id))
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "local://here"})
            >>> store.deliver()
            execute job
            1
        """
    def outbox_counts(self) -> dict[str, int]:
        """
        How many messages wait, and how many unblocks were dropped since the store began, because nobody took them within its
        `unblock_retention`.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.outbox_counts()
            {'waiting': 1, 'dropped': 0}
        """
    def problems(self) -> list[Violation]:
        """
        What the store works around and somebody should mend, by name. The state is sound, and everything else goes on.

        - `schedule_set_aside`: a schedule that cannot be fired: its time zone is missing, say. It is looked at again every minute, and goes on by
          itself; `catchup` decides about the occurrences that it missed. `check` also names one that could not be fired if it were due now.

        - `clock_ahead`: an instant was stored that the system's clock reaches in more than a minute: that clock was wrong then, or is now.
          `reset_clock` mends it.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).problems()
            []
        """
    def purge(self, *, settled_before: int) -> int:
        """
        Deletes promises that were settled before an instant, with their tasks. An id that comes back later is a new promise.

        A promise stays while an undelivered message, a callback or a task that has not been told yet refers to it, and while the root of its
        workflow (`resonate:origin`) is pending, since the workflow's next run reads what it has settled. What is due is fired first. It goes
        in transactions of a few hundred rows, so that other callers are not kept waiting, and can be interrupted (Ctrl-C) between them. A
        file keeps the room for what comes next; `vacuum()` gives it back.

        Args:
            settled_before: In Unix ms; not later than now.

        Returns:
            How many promises were deleted.

        Raises:
            Invalid: The instant has not passed.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.promises.create("a", timeout=60_000)
            >>> _ = store.promises.resolve("a")
            >>> _ = clock.advance(1000)
            >>> store.purge(settled_before=1000)
            1
        """
    def record(self, target: str | os.PathLike[str] | typing.IO[str] | typing.IO[bytes]) -> Recording:
        """
        Writes everything that changes the store from now on, one JSON line a request or internal step, for `replay`.

        Args:
            target: The path of a file, which is made anew, or an object with `write`. That is called while the store is locked: it must
                not wait for a thread that uses the store, and what it calls of the store itself raises Invalid and ends the recording.

        Returns:
            The recording, a context manager; it ends with `close()`, or with the store.

        Raises:
            StoreError: The file cannot be opened.
            Invalid: The store is being recorded already.

        Example:
            >>> import io
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> trace = io.StringIO()
            >>> with store.record(trace):
            ...     _ = store.promises.create("a", timeout=1000)
            >>> rc.replay(trace.getvalue().splitlines()).ok
            True
        """
    def reset_clock(self, *, dry_run: bool = False) -> dict[str, typing.Any]:
        """
        Sets the last instant that the store has seen back to the system's clock, with all that was stored ahead of it, after that clock had been
        wrong. `docs/time.md` says what becomes of deadlines, leases, retries and schedules. It reads the whole state into memory, and writes it
        in one transaction; other processes that use the file go on with the new instant.

        Args:
            dry_run: Change nothing, and say what would change.

        Returns:
            "from" and "to", the instants; how many "promises" (with their tasks and jobs), "schedules", "queues" and "messages" hold other
            instants afterwards; how many occurrences of schedules ahead of the clock, which nobody had begun, were "removed".

        Raises:
            Invalid: The clock is a `ManualClock`.
            InvariantViolation: A property of the state would hold no longer; nothing was changed.

        Example:
            >>> done = rc.Store().reset_clock(dry_run=True)
            >>> done["from"] == done["to"], done["promises"]
            (True, 0)
        """
    def restore(self, snapshot: dict[str, typing.Any], check: bool = True) -> None:
        """
        Replaces the whole state by that of a full snapshot, in one step. A manual clock moves forward to the snapshot's instant.

        Args:
            snapshot: What `snapshot()` gave.
            check: Look at every property of PROTOCOL 6 first.

        Raises:
            Invalid: No full snapshot; the message names the member. Nothing was replaced then.
            InvariantViolation: A property does not hold. Nothing was replaced then.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> other = rc.Store(clock=rc.ManualClock())
            >>> other.restore(store.snapshot())
            >>> other.digest() == store.digest()
            True
        """
    def run(self, envelopes: list[Envelope]) -> list[tuple[int, bytes]]:
        """
        Runs envelopes in one transaction, in order, each with its own answer (PROTOCOL 8). For servers.

        Args:
            envelopes: Each is run once. A debug operation is answered with 400 unless it comes alone.

        Returns:
            Of each its status and its answer as JSON in ASCII.

        Raises:
            Closed: The store was closed.
            StoreError: The commit failed, and nothing of it was done.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> rc.Store(clock=rc.ManualClock()).run([Envelope(b"{", RequestLimits())])[0][0]
            400
        """
    def snapshot(self, format: typing.Literal["full", "debug"] = "full") -> dict[str, typing.Any]:
        """
        The whole state as a JSON-able dict: stored rows, not projected (PROTOCOL 8).

        Args:
            format: `full` is what `restore` takes; `debug` is the shape of debug.snap (WIRE 5), without schedules.

        Raises:
            Invalid: Another format.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> [promise["id"] for promise in store.snapshot()["promises"]]
            ['a']
        """
    def take_messages(
        self, limit: int | None = None, *, addresses: collections.abc.Iterable[str] | None = None
    ) -> list[dict[str, typing.Any]]:
        """
        Takes messages out of the outbox, in order of queueing: their delivery is acknowledged with that (PROTOCOL 5).

        Args:
            limit: How many at most.
            addresses: Only those to one of these addresses; one that ends in `*` stands for all that begin so. The others stay queued.

        Returns:
            Dicts of `key`, `address` and `message`, the last as it goes over the wire.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.take_messages(addresses=["http*"])
            []
            >>> store.take_messages()[0]["message"]
            {'kind': 'execute', 'head': {}, 'data': {'task': {'id': 'job', 'version': 0}}}
            >>> store.messages()
            []
        """
    def tick(self, now: int | None = None, *, limit: int | None = None) -> list[Fired]:
        """
        Fires everything that is due, to the last step, with one instant for all of it (PROTOCOL 4).

        Other threads use the store between the transactions of a long tick, and Ctrl-C stops it there.

        Args:
            now: On a manual clock: the instant to which the clock is moved, in Unix ms; None for the clock's own.
            limit: How many steps at most, 1 or more; the rest stays due. With `limit` steps fired there may be more.

        Returns:
            What fired, in order.

        Raises:
            Invalid: An instant that has passed, or any instant where the clock is the system's; a limit below 1.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
            >>> store.tick(2000)
            [Fired(kind='promise_timeout', id='a', at=500, now=2000)]
        """
    def vacuum(self) -> None:
        """
        Gives the room of deleted promises back to the file system. It writes the whole file anew, and others wait for it. Without effect in
        memory.

        Raises:
            StoreBusy: Another process uses the file.
            StoreError: The disk has no room for the copy; the file is as it was.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).vacuum()
        """
    def watch(self, descriptor: typing.SupportsInt | typing.SupportsIndex) -> Watch:
        """
        Makes this store write a byte to a descriptor as soon as a message was queued, or something became due sooner than was known.

        Commits of this store ring, from whatever thread they come; those of other processes on the same file do not.

        Args:
            descriptor: Of a pipe or a socket that does not block; -1: the watch only counts.

        Returns:
            A Watch. The ringing ends with it.

        Raises:
            Closed: The store was closed.

        Example:
            >>> import os
            >>> reader, writer = os.pipe()
            >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
            >>> watch.close(); os.close(reader); os.close(writer)
        """
    @property
    def catchup(self) -> str:
        """
        Which missed occurrences of a schedule are made up: `all`, `latest` or `none`.
        """
    @property
    def clock(self) -> Clock:
        """
        The clock that it was made with, or its system clock.
        """
    @property
    def clock_ahead(self) -> int:
        """
        By how many ms the last instant that the store has seen is ahead of the system's clock; 0 where it is not, or where the clock is a `ManualClock`.
        """
    @property
    def closed(self) -> bool:
        """
        Whether it was closed.
        """
    @property
    def debug(self) -> bool:
        """
        Whether it serves debug operations.
        """
    @property
    def jobs(self) -> Jobs:
        """
        Its jobs.
        """
    @property
    def now(self) -> int:
        """
        The present instant of its clock, in Unix ms.
        """
    @property
    def path(self) -> str | None:
        """
        The absolute path of its file; None where it lives in memory.
        """
    @property
    def paused(self) -> bool:
        """
        Between debug.start and debug.stop: whoever ticks this store in the background should hold still.
        """
    @property
    def promises(self) -> Promises:
        """
        Its promises.
        """
    @property
    def queues(self) -> Queues:
        """
        Its queues of jobs.
        """
    @property
    def retry_timeout(self) -> int | typing.Literal["ttl"]:
        """
        From one message of a pending task to the next, in ms, or `ttl`.
        """
    @property
    def rules(self) -> str:
        """
        The rule set: `compatible` or `strict`.
        """
    @property
    def schedules(self) -> Schedules:
        """
        Its schedules.
        """
    @property
    def tasks(self) -> Tasks:
        """
        Its tasks.
        """

def check_file(path: str | os.PathLike[str]) -> list[str]:
    """
    Looks for damage in a store's file: commits in its log that cannot be read any more, damaged pages, indexes that disagree with their
    tables, a schema that is not ours, rows that cannot be read. The properties of the state are `Store.check`'s; `python -m resonate_core
    check FILE` looks at both. Damage that makes another valid value cannot be seen; the page on storage says what that means.

    Returns:
        A line for each problem, beginning with `log`, `integrity`, `schema` or `rows`; empty for a sound file.

    Raises:
        StoreError: The file cannot be opened as a store at all.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "app.db"
        ...     rc.Store(path).close()
        ...     rc.check_file(path)
        []
    """

def cron_next(text: str, after: int, count: int = 1) -> list[int]:
    """
    The next occurrences of a cron expression, as a schedule takes them (PROTOCOL 4, 8).

    Args:
        text: Five fields (minute hour day-of-month month day-of-week), six with leading seconds, or a word such as `@hourly`; in UTC,
            unless it begins with `CRON_TZ=Area/City`.
        after: Unix ms; occurrences are later than this.
        count: How many.

    Returns:
        Unix ms in order; fewer than `count` where the calendar (up to the year 9999) holds no more.

    Raises:
        Invalid: An expression that is none or can never fire, or a negative count.

    Example:
        >>> rc.cron_next("*/15 * * * *", after=0, count=3)
        [900000, 1800000, 2700000]
    """

def replay(trace: str | os.PathLike[str] | collections.abc.Iterable[str | bytes]) -> Replay:
    """
    Runs a recorded trace again, on a new store in memory, and compares what happens with what was recorded.

    Args:
        trace: The path of a file, or the lines: a list, or an open file.

    Returns:
        Whether all came out the same, and where it first differs.

    Raises:
        Invalid: A line that is none of a trace, by its number.
        OSError: The file cannot be read.

    Example:
        >>> import io
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> trace = io.StringIO()
        >>> with store.record(trace):
        ...     _ = store.promises.create("a", timeout=1000)
        >>> forged = trace.getvalue().replace('"timeoutAt":1000', '"timeoutAt":2000', 1).splitlines()
        >>> rc.replay(forged).line
        2
    """

__version__: str = "0.1.0"
