"""The engine of resonate_core, in C++. Import resonate_core instead."""

from __future__ import annotations

import builtins
import collections.abc
import datetime
import os
import types
import typing

import typing_extensions

import resonate_core.aio
import resonate_core.calls.delivery
import resonate_core.calls.graph
import resonate_core.calls.workflows
from resonate_core.base.queue_options import QueueOptions

class Value:
    """The param or the value of a promise: headers and data, each only if it was given (PROTOCOL 2).

    The typed calls take `bytes`, JSON-able objects or a `Value`. A `Value` is stored as it is; its data is base64 by convention and
    the engine never decodes it (PROTOCOL 3).

    Args:
        headers: Strings by name, or None for no headers.
        data: The raw text, base64 by convention, or None for no data.

    Raises:
        TypeError: The headers are not a mapping of strings, or the data is not a string.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> promise = store.promises.create("order:1", timeout=1000, param={"amount": 3})
        >>> promise.param
        Value(data='eyJhbW91bnQiOjN9')
        >>> promise.param.json()
        {'amount': 3}
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Value:
        """Return the value with these members: the inverse of `to_dict`.

        Args:
            members: `headers` and `data`, each only if it was given. Unknown members are ignored.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> rc.Value.from_dict({"data": "aGk="}).text()
            'hi'
        """
    def __bool__(self) -> bool:
        """Whether headers or data were given."""
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __init__(self, headers: collections.abc.Mapping[str, str] | None = None, data: str | None = None) -> None: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def bytes(self) -> builtins.bytes:
        """Return the decoded data as bytes; empty without data.

        Raises:
            Invalid: The data is not base64; read `data` instead.

        Example:
            >>> rc.Value(data="aGk=").bytes()
            b'hi'
        """
    def json(self) -> typing.Any:
        """Return the decoded data as JSON; None without data.

        Raises:
            Invalid: The data is not base64, or the bytes are not JSON in UTF-8, or are nested too deeply for Python.

        Example:
            >>> rc.Value(data="WzEsMl0=").json()
            [1, 2]
        """
    def text(self) -> str:
        """Return the decoded data as UTF-8 text; empty without data.

        Raises:
            Invalid: The data is not base64, or the bytes are not UTF-8.

        Example:
            >>> rc.Value(data="aGk=").text()
            'hi'
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """Return the value as in an envelope of 2026-04-01: only the members that were given.

        Example:
            >>> rc.Value(data="aGk=").to_dict()
            {'data': 'aGk='}
        """
    @property
    def data(self) -> str | None:
        """The raw text as it is stored, base64 by convention; None without data.

        Example:
            >>> rc.Value(data="aGk=").data
            'aGk='
        """
    @property
    def headers(self) -> dict[str, str] | None:
        """Strings by name, a new dict each time; None without headers.

        Example:
            >>> rc.Value({"trace": "7"}).headers
            {'trace': '7'}
        """

class Promise:
    """A promise as it was at the instant of the call (PROTOCOL 1).

    Immutable. Its state is projected: a promise past its deadline is shown as settled, even if no step has written that yet
    (PROTOCOL 1.2). Instants are Unix milliseconds. Equal to another record if all members are equal.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.promises.create("order:1", timeout=1000, tags={"kind": "order"})
        Promise(id='order:1', state='pending', tags={'kind': 'order'}, timeout_at=1000, created_at=0)
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Promise:
        """Return the promise with these members: the inverse of `to_dict`, for replies of `Store.apply` and of a server.

        Args:
            members: A promise as in an envelope of 2026-04-01. Unknown members are ignored; `param`, `value` and `tags` may be absent.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> data = {"id": "a", "timeoutAt": 1000}
            >>> head = {"corrId": "1", "version": "2026-04-01"}
            >>> reply = rc.Store(clock=rc.ManualClock()).apply({"kind": "promise.create", "head": head, "data": data})
            >>> rc.Promise.from_dict(reply["data"]["promise"])
            Promise(id='a', state='pending', timeout_at=1000, created_at=0)
            >>> rc.Promise.from_dict({"id": "a", "state": "done"})
            Traceback (most recent call last):
            ...
            resonate_core.errors.Invalid: timeoutAt is missing
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def _tag(self, name: str) -> str | None:
        """One tag; None if there is none. It is faster than `tags`, for a workflow that is replayed.

        Args:
            name: Of the tag.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.promises.create("a", timeout=1, tags={"colour": "red"})._tag("colour")
            'red'
        """
    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record as in an envelope of 2026-04-01.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.promises.create("a", timeout=1000).to_dict()["timeoutAt"]
            1000
        """
    @property
    def created_at(self) -> int:
        """When it was created, in Unix ms."""
    @property
    def id(self) -> str:
        """The id of the promise."""
    @property
    def param(self) -> Value:
        """The input that the creator passed."""
    @property
    def settled_at(self) -> int | None:
        """When it was settled, in Unix ms; None while pending."""
    @property
    def state(self) -> PromiseState:
        """`pending`, `resolved`, `rejected`, `rejected_canceled` or `rejected_timedout`."""
    @property
    def tags(self) -> dict[str, str]:
        """The tags, a new dict each time."""
    @property
    def timeout_at(self) -> int:
        """The deadline, in Unix ms."""
    @property
    def value(self) -> Value:
        """The result; empty while pending."""

class Task:
    """A task as it was at the instant of the call (PROTOCOL 1): the work behind the promise of the same id.

    Immutable. A task whose promise is past its deadline is fulfilled (PROTOCOL 1.2). Equal to another record if all members are equal.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.tasks.create("job", pid="worker-1", ttl=60_000, timeout=1000, target="poll://any@workers").task
        Task(id='job', state='acquired', version=1, resumes=0, ttl=60000, pid='worker-1')
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Task:
        """Return the task with these members: the inverse of `to_dict`, for replies of `Store.apply` and of a server.

        Args:
            members: A task as in an envelope of 2026-04-01. Unknown members are ignored; `ttl` and `pid` are read only of an acquired task.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> rc.Task.from_dict({"id": "a", "state": "acquired", "version": 1, "resumes": 0, "ttl": 5000, "pid": "w"})
            Task(id='a', state='acquired', version=1, resumes=0, ttl=5000, pid='w')
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record as in an envelope of 2026-04-01.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers")
            >>> claim.task.to_dict()["version"]
            1
        """
    @property
    def id(self) -> str:
        """The id of the task and its promise."""
    @property
    def pid(self) -> str | None:
        """The name of the worker that holds the lease; None unless acquired."""
    @property
    def resumes(self) -> int:
        """The number of settled promises that woke it and are not yet seen."""
    @property
    def state(self) -> TaskState:
        """`pending`, `acquired`, `suspended`, `halted` or `fulfilled`."""
    @property
    def ttl(self) -> int | None:
        """The duration of the lease in ms; None unless acquired."""
    @property
    def version(self) -> int:
        """The number of acquisitions; requests of its worker must name it (PROTOCOL 2)."""

class Schedule:
    """A schedule as it was at the instant of the call (PROTOCOL 1): it creates a promise at every occurrence of a cron expression.

    Immutable. Instants are Unix milliseconds. Equal to another record if all members are equal.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.schedules.create("nightly", "0 3 * * *", promise_timeout=3_600_000).next_run_at
        10800000
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Schedule:
        """Return the schedule with these members: the inverse of `to_dict`, for replies of `Store.apply` and of a server.

        Args:
            members: A schedule as in an envelope of 2026-04-01. Unknown members are ignored; `promiseParam` and `promiseTags` may be absent.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> nightly = store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000)
            >>> rc.Schedule.from_dict(nightly.to_dict()) == nightly
            True
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record as in an envelope of 2026-04-01.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000).to_dict()["cron"]
            '0 3 * * *'
        """
    @property
    def created_at(self) -> int:
        """When it was created, in Unix ms."""
    @property
    def cron(self) -> str:
        """The cron expression as it was given."""
    @property
    def id(self) -> str:
        """The id of the schedule."""
    @property
    def job(self) -> dict[str, typing.Any] | None:
        """The members of its jobs, as on the wire; None if it creates promises."""
    @property
    def last_run_at(self) -> int | None:
        """The occurrence that created the last promise, in Unix ms; None before the first."""
    @property
    def next_run_at(self) -> int:
        """The next occurrence, in Unix ms; 2**63 - 1 if there is none. Of a paused schedule, the one at which it was paused."""
    @property
    def paused(self) -> bool:
        """Whether it is paused, and does not fire."""
    @property
    def problem(self) -> str | None:
        """Why the schedule is set aside, for example a missing time zone; None if it is not."""
    @property
    def promise_id(self) -> str:
        """The template of its promises' ids."""
    @property
    def promise_param(self) -> Value:
        """The param of its promises."""
    @property
    def promise_tags(self) -> dict[str, str]:
        """The tags of its promises, a new dict each time."""
    @property
    def promise_timeout(self) -> int:
        """The time from an occurrence to its promise's deadline, in ms."""
    @property
    def retry_at(self) -> int | None:
        """When a schedule that is set aside is examined again, in Unix ms; otherwise None."""

class Message:
    """A message in the outbox (PROTOCOL 5). Immutable.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
        >>> store.messages()
        [Message(kind='execute', id='job', version=0, address='poll://any@workers', attempts=0, queued_at=0)]
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Message:
        """Return the message with these members: the inverse of `to_dict`, also for the shorter dicts of `Store.take_messages`.

        Those have no `attempts`, `queuedAt`, `number`, `stale` and lease: the record then shows 0, 0, 0, False and None.

        Args:
            members: At least `address` and `message`. Unknown members are ignored.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> rc.Message.from_dict(store.take_messages()[0])
            Message(kind='execute', id='job', version=0, address='poll://any@workers', attempts=0, queued_at=0)
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """Return the message like `Store.take_messages`: its key, its address, and the message as on the wire; further `attempts`, `queuedAt`,
        `number`, `stale`, and, if a process leased it, `holder` and `leasedUntil`.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.messages()[0].to_dict()["key"]
            'execute:job'
        """
    def to_json(self, server_url: str | None = None) -> bytes:
        """Return the message as on the wire: JSON in ASCII on one line.

        Args:
            server_url: The URL for the receiver's requests, in the head of an execute.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.messages()[0].to_json("http://localhost:8001")
            b'{"kind":"execute","head":{"serverUrl":"http://localhost:8001"},"data":{"task":{"id":"job","version":0}}}'
        """
    @property
    def address(self) -> str:
        """Where it goes."""
    @property
    def attempts(self) -> int:
        """The number of attempts to deliver it."""
    @property
    def holder(self) -> str | None:
        """The process that leased it last (`Store.lease_messages`), or None."""
    @property
    def id(self) -> str:
        """The id of the pending task or of the settled promise."""
    @property
    def key(self) -> str:
        """Its key: a new message replaces one of the same key."""
    @property
    def kind(self) -> str:
        """`execute` or `unblock`; in 2025-01-15 `invoke`, `resume` or `notify`."""
    @property
    def leased_until(self) -> int | None:
        """The end of that lease in Unix ms, or None."""
    @property
    def message(self) -> dict[str, typing.Any]:
        """The message as on the wire, a new dict each time."""
    @property
    def number(self) -> int:
        """Its number in the order of queueing, unique in the store; `Store.acknowledge` takes it."""
    @property
    def queued_at(self) -> int:
        """When it was queued, in Unix ms."""
    @property
    def stale(self) -> bool:
        """Whether it was stale when it was read: its task was already acquired or fulfilled."""
    @property
    def version(self) -> int | None:
        """The version with which to acquire the task; None for a settled promise."""

class Fired:
    """An internal step that has run (PROTOCOL 4). Immutable.

    Example:
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
        >>> clock.advance(5000)
        [Fired(kind='promise_timeout', id='a', at=1000, now=1000)]
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Fired:
        """Return the step with these members: the inverse of `to_dict`.

        Args:
            members: As `to_dict` returns them. Unknown members are ignored.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> rc.Fired.from_dict({"kind": "promise_timeout", "id": "a", "at": 1000, "now": 1000, "detail": {}})
            Fired(kind='promise_timeout', id='a', at=1000, now=1000)
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """Return all members in a dict.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:external": "true"})
            >>> clock.advance_to_next()[0].to_dict()
            {'kind': 'promise_timeout', 'id': 'a', 'at': 1000, 'now': 1000, 'detail': {}}
        """
    @property
    def at(self) -> int:
        """When it was due, in Unix ms; for a drain, when the promise was settled."""
    @property
    def detail(self) -> dict[str, typing.Any]:
        """`address` of a listener_drain or dispatch, `awaiter` of a callback_drain, `job` and `cancelled` of a cancel_drain, `promise_id` and `created` of a schedule; a new dict each time."""
    @property
    def id(self) -> str:
        """The id of the promise, task or schedule; for a drain, of the settled promise."""
    @property
    def kind(self) -> str:
        """`promise_timeout`, `listener_drain`, `callback_drain`, `cancel_drain`, `lease_expiry`, `dispatch`, `schedule`, or a step of jobs."""
    @property
    def now(self) -> int:
        """When it ran, in Unix ms."""

class Violation:
    """A violated invariant of PROTOCOL 6. Immutable.

    Example:
        >>> rc.Store(clock=rc.ManualClock()).check()
        []
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Violation:
        """Return the violation with these members: the inverse of `to_dict`.

        Args:
            members: As `to_dict` returns them. Unknown members are ignored.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> rc.Violation.from_dict({"name": "orphan_tasks", "id": "a", "detail": "no promise"})
            Violation(name='orphan_tasks', id='a', detail='no promise')
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """All members in a dict."""
    @property
    def detail(self) -> str:
        """The finding, with the values."""
    @property
    def id(self) -> str:
        """The id of the promise, task, schedule or message."""
    @property
    def name(self) -> str:
        """The name of the invariant, such as `orphan_tasks`."""

class Page:
    """One page of a search: a sequence of records, ordered by id (PROTOCOL 3.7).

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
        """The cursor of the next page, to be passed unchanged; None on the last page."""

class PromisePage(Page):
    """A page of promises; see `Page`."""
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> PromisePage:
        """Return the records in the `data` of a reply of `Store.apply` or of a server: its `promises`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.PromisePage.from_dict({"promises": []})
            PromisePage of 0 records
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Promise: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Promise]: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> collections.abc.Iterator[Promise]: ...
    def __len__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...

class TaskPage(Page):
    """A page of tasks; see `Page`."""
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> TaskPage:
        """Return the records in the `data` of a reply of `Store.apply` or of a server: its `tasks`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.TaskPage.from_dict({"tasks": []})
            TaskPage of 0 records
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Task: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> collections.abc.Iterator[Task]: ...
    def __len__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...

class SchedulePage(Page):
    """A page of schedules; see `Page`."""
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> SchedulePage:
        """Return the records in the `data` of a reply of `Store.apply` or of a server: its `schedules`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.SchedulePage.from_dict({"schedules": []})
            SchedulePage of 0 records
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Schedule: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Schedule]: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> collections.abc.Iterator[Schedule]: ...
    def __len__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...

class PromiseBatch:
    """The promises of `Promises.create_many` or `Promises.settle_many`, in order of the given ids.

    A sequence that creates each record on access.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> batch = store.promises.create_many(["a", "b"], 1000)
        >>> batch.ids, batch.states, batch[-1].id
        (['a', 'b'], ['pending', 'pending'], 'b')
    """
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> PromiseBatch:
        """Return the records in the `data` of a reply of `Store.apply` or of a server: its `promises`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.PromiseBatch.from_dict({"promises": []})
            PromiseBatch of 0 records
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Promise: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Promise]: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> collections.abc.Iterator[Promise]: ...
    def __len__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def ids(self) -> list[str]:
        """All ids."""
    @property
    def states(self) -> builtins.list[PromiseState]:
        """All states."""

class Claim:
    """A task that was created or acquired, with its promise (PROTOCOL 3.9, 3.10). Immutable.

    If `Tasks.create` found a fulfilled task, `task.state` is `fulfilled`.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers", param=[1, 2])
        >>> claim.task.version, claim.promise.param.json(), claim.preload
        (1, [1, 2], [])
    """
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> Claim:
        """Return the claim in the `data` of a reply to task.acquire, or to a task.create that acquired its task: `task`, `promise`, and perhaps
        `preload` and `preloadCut`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=1000, target="poll://any@workers")
            >>> rc.Claim.from_dict({"task": claim.task.to_dict(), "promise": claim.promise.to_dict()}) == claim
            True
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def preload(self) -> list[Promise]:
        """The other promises of the same `resonate:branch`, ordered by id (PROTOCOL 3, preload)."""
    @property
    def preload_cut(self) -> bool:
        """Whether `preload` is incomplete: it is cut at 1 MiB."""
    @property
    def promise(self) -> Promise:
        """Its promise."""
    @property
    def task(self) -> Task:
        """The task."""

class Suspension:
    """The reply to `Tasks.suspend` (PROTOCOL 3.12): the task is suspended, or an awaited promise is settled and it continues. Immutable.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
        >>> _ = store.promises.create("child", timeout=9000)
        >>> store.tasks.suspend("job", claim.task.version, ["child"]).suspended
        True
    """
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> Suspension:
        """Return the reply to task.suspend with these members: its `status`, and perhaps `preload` and `preloadCut` of its `data`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.Suspension.from_dict({"status": 300, "preload": []}).suspended
            False
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def preload(self) -> list[Promise]:
        """If it continues: the other promises of the same `resonate:branch`, ordered by id."""
    @property
    def preload_cut(self) -> bool:
        """Whether `preload` is incomplete: it is cut at 1 MiB."""
    @property
    def status(self) -> int:
        """200 if it is suspended, 300 if it continues."""
    @property
    def suspended(self) -> bool:
        """Whether the task is suspended; False: it stays acquired and continues."""

class Fenced:
    """The reply to a fenced action (PROTOCOL 3.14). Immutable.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> claim = store.tasks.create("job", pid="w", ttl=60_000, timeout=9000, target="poll://any@workers")
        >>> store.tasks.fence_create("job", claim.task.version, "child", timeout=500).promise.id
        'child'
    """
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> Fenced:
        """Return the reply to a fenced action with these members: its `promise`, and perhaps `preload` and `preloadCut`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> promise = rc.Store(clock=rc.ManualClock()).promises.create("a", timeout=1000)
            >>> rc.Fenced.from_dict({"promise": promise.to_dict()}).promise == promise
            True
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def preload(self) -> list[Promise]:
        """The other promises of the task's `resonate:branch`, ordered by id."""
    @property
    def preload_cut(self) -> bool:
        """Whether `preload` is incomplete: it is cut at 1 MiB."""
    @property
    def promise(self) -> Promise:
        """The promise that was created or settled."""

class Clock:
    """The source of a store's instants: a `ManualClock`, the `SystemClock` or a `DatabaseClock`. One clock can drive several stores.

    Example:
        >>> isinstance(rc.ManualClock(), rc.Clock)
        True
    """
    @property
    def now(self) -> int:
        """The current instant, in Unix ms. It never goes back."""

class ManualClock(Clock):
    """A clock that moves only when you move it, and runs the due steps of its stores on the way (PROTOCOL 4).

    It drives every store that was created with it, in the order of their creation. Thread-safe; one move at a time.

    Args:
        start: The first instant, in Unix ms or as an aware datetime, 1970 or later.

    Raises:
        Invalid: The start is negative or beyond 64 bits, or a datetime without a time zone.
        TypeError: The start is neither an int (a float and a bool are not) nor a datetime.

    Example:
        >>> clock = rc.ManualClock(start=1000)
        >>> store = rc.Store(clock=clock)
        >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
        >>> clock.advance(2000)
        [Fired(kind='promise_timeout', id='a', at=1500, now=1500)]
        >>> clock.now
        3000
    """
    def __init__(self, start: int | datetime.datetime = 0) -> None: ...
    def __repr__(self) -> str: ...
    def advance(self, by: int | datetime.timedelta) -> list[Fired]:
        """Move the clock by a duration and run every due step on the way, each at its own instant.

        Args:
            by: Milliseconds, 0 or more, or a `datetime.timedelta` of whole milliseconds.

        Returns:
            The steps that fired, in order.

        Raises:
            Invalid: The duration is negative, or not a whole number of milliseconds.
            TypeError: The duration is neither an int nor a timedelta.

        Example:
            >>> from datetime import timedelta
            >>> clock = rc.ManualClock()
            >>> clock.advance(timedelta(days=1)), clock.now
            ([], 86400000)
        """
    def advance_to(self, at: int | datetime.datetime) -> list[Fired]:
        """Move the clock to an instant and run every due step on the way, each at its own instant.

        The current instant is allowed: it runs the steps that are due now.

        Args:
            at: Unix ms, or an aware datetime.

        Returns:
            The steps that fired, in order.

        Raises:
            Invalid: The instant has passed, or is a datetime without a time zone.
            TypeError: The instant is neither an int nor a datetime.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> [(step.kind, step.at) for step in clock.advance_to(7_200_000) if step.kind == "schedule"]
            [('schedule', 3600000), ('schedule', 7200000)]
        """
    def advance_to_next(self) -> list[Fired]:
        """Move the clock to the next instant at which a step of any of its stores is due, and run it.

        Returns:
            The steps that fired, in order. If no step will ever be due, it is empty and the clock does not move.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
            >>> clock.advance_to_next(), clock.now, store.promises.get("a").state
            ([Fired(kind='promise_timeout', id='a', at=500, now=500)], 500, 'resolved')
        """

class SystemClock(Clock):
    """The system's time in ms, made monotonic: if the system's clock is set back, this clock stops until the system's has caught up.

    A store runs due steps after requests that may write, and in `Store.tick`.

    Example:
        >>> rc.SystemClock().now > 1_700_000_000_000
        True
    """
    def __init__(self) -> None: ...
    def __repr__(self) -> str: ...

class DatabaseClock(Clock):
    """The time of a PostgreSQL server in ms, one for all machines that share a store there. A store in a database has one unless it was
    given another clock.

    Each transaction reads the server's time; between two transactions this machine's steady clock continues it. Like the `SystemClock`, it
    never goes back.

    Example:
        >>> issubclass(rc.DatabaseClock, rc.Clock)
        True
    """
    def __repr__(self) -> str: ...

class Promises:
    """The promises of a store: `store.promises`.

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
        """Cancel a promise: settle it as rejected_canceled (PROTOCOL 3.3); otherwise like `resolve`.

        Args:
            id: The id of the promise.
            value: The reason: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the value.
            idempotency_key: A key of the settlement.

        Returns:
            The settled promise.

        Raises:
            NotFound: The promise does not exist.
            Conflict: The promise was settled with another idempotency key, without one, or by its deadline.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.cancel("a").state
            'rejected_canceled'
        """
    def count(self) -> int:
        """Return the number of promises, including settled ones.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.count()
            1
        """
    def create(
        self,
        id: str,
        timeout_at: int | datetime.datetime | None = None,
        *,
        timeout: int | datetime.timedelta | None = None,
        param: typing.Any = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """Create a promise, or return the existing promise with this id (PROTOCOL 3.2).

        A promise with a target (tag `resonate:target`) gets a task, which is dispatched at once, or at the instant in the tag
        `resonate:delay`. A promise whose deadline has passed is created settled (PROTOCOL 1.2).

        Args:
            id: Any text that is not empty and contains no NUL.
            timeout_at: The deadline, in Unix ms or as an aware datetime. Exactly one of `timeout_at` and `timeout` is required.
            timeout: The deadline from now on, in ms or as a timedelta.
            param: The input of the promise: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the param.
            tags: Strings by name; the protocol interprets names that begin with `resonate:`.
            idempotency_key: A key of the creation. An existing promise is returned only if it was created with the same key.

        Returns:
            The promise, new or existing.

        Raises:
            Invalid: The id is empty, the deadline is negative, or tags contradict each other (PROTOCOL 3, shape rules).
            Conflict: The promise exists and was created with another idempotency key, or without one.
            TypeError: An argument has a wrong type, or both or neither of `timeout_at` and `timeout` are given.

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
        timeout_at: int | datetime.datetime | collections.abc.Iterable[int | datetime.datetime],
        *,
        params: collections.abc.Iterable[typing.Any] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
    ) -> PromiseBatch:
        """Create many promises in one transaction, all or none; like `create` for each, in order.

        Args:
            ids: The ids.
            timeout_at: One deadline for all, in Unix ms or as an aware datetime, or one for each.
            params: One param for each, or None.
            tags: The tags of each promise.

        Returns:
            The promises, new or existing, in order of the ids.

        Raises:
            Invalid: As for `create`, or the lists have different lengths. Nothing was created.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> batch = store.promises.create_many(["a", "b"], [1000, 2000], params=[1, 2])
            >>> [(promise.id, promise.param.json()) for promise in batch]
            [('a', 1), ('b', 2)]
        """
    def get(self, id: str) -> Promise:
        """Return the promise as it is now (PROTOCOL 3.1). A read: it stores nothing and runs no step.

        Args:
            id: The id of the promise.

        Returns:
            The promise; settled if its deadline has passed.

        Raises:
            NotFound: The promise does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.promises.get("a").timeout_at
            1000
        """
    def register_callback(self, awaited: str, awaiter: str) -> Promise:
        """Register a callback: wake a task when a promise is settled (PROTOCOL 3.4). It has no effect if one of the two is settled.

        Args:
            awaited: The id of the awaited promise.
            awaiter: The id of the waiting task; its promise must have a target.

        Returns:
            The awaited promise.

        Raises:
            Invalid: Both ids are the same.
            NotFound: The awaited promise does not exist.
            Unprocessable: The awaiter does not exist or has no target, or, under strict rules, the awaited promise is internal.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("child", timeout=1000)
            >>> _ = store.promises.create("parent", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.promises.register_callback("child", "parent").id
            'child'
        """
    def register_listener(self, awaited: str, address: str) -> Promise:
        """Register a listener: send a message to an address when a promise is settled (PROTOCOL 3.6). It has no effect if it is settled.

        Args:
            awaited: The id of the awaited promise.
            address: `scheme:rest`; strict rules accept only `http://`, `https://` and `poll://` with an `@` (PROTOCOL 2.1).

        Returns:
            The awaited promise.

        Raises:
            Invalid: The address is malformed.
            NotFound: The promise does not exist.
            Unprocessable: Under strict rules, the promise is internal.

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
        """Reject a promise (PROTOCOL 3.3); otherwise like `resolve`.

        Args:
            id: The id of the promise.
            value: The error: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the value.
            idempotency_key: A key of the settlement.

        Returns:
            The settled promise.

        Raises:
            NotFound: The promise does not exist.
            Conflict: The promise was settled with another idempotency key, without one, or by its deadline.

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
        """Resolve a promise and fulfil its task (PROTOCOL 3.3). A promise that is already settled is returned unchanged.

        Args:
            id: The id of the promise.
            value: The result: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the value.
            idempotency_key: A key of the settlement. A settled promise is returned only if it was settled with the same key.

        Returns:
            The settled promise.

        Raises:
            NotFound: The promise does not exist.
            Conflict: The promise was settled with another idempotency key, without one, or by its deadline.

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
        state: PromiseState | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> PromisePage:
        """Return a page of the matching promises, ordered by id (PROTOCOL 3.7). A read: it stores nothing and runs no step.

        Args:
            id: A pattern in which `*` stands for any characters; None: any id.
            state: The current state, with deadlines considered; None: any state.
            tags: Tags that a promise must have, with these values.
            limit: The size of the page, 1 to 1000.
            cursor: The `cursor` of the previous page.

        Returns:
            A page; its `cursor` is None on the last page.

        Raises:
            Invalid: The limit is out of range, or the state is unknown.

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
        state: typing.Literal["resolved", "rejected", "rejected_canceled"] = "resolved",
    ) -> PromiseBatch:
        """Settle many promises in one transaction, all or none; like `resolve` for each, in order.

        Args:
            ids: The ids.
            values: One value for each, or None.
            state: `resolved`, `rejected` or `rejected_canceled`, for all promises.

        Returns:
            The settled promises, in order of the ids.

        Raises:
            NotFound: A promise does not exist. Nothing was settled.
            Invalid: The state is another one, or the lists have different lengths.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create_many(["a", "b"], 1000)
            >>> store.promises.settle_many(["a", "b"], [1, 2]).states
            ['resolved', 'resolved']
        """

class Tasks:
    """The tasks of a store: `store.tasks`. A task is the work behind the promise of the same id.

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
        """Acquire a pending task under a lease (PROTOCOL 3.10). Its version rises by one.

        Args:
            id: The id of the task.
            version: The version in its message.
            pid: The name of the worker that holds the lease.
            ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.

        Returns:
            The task with its new version, and its promise.

        Raises:
            NotFound: The task does not exist.
            Conflict: The task is not pending, or has another version; a version cannot be acquired twice.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.tasks.acquire("job", 0, pid="w1", ttl=60_000).task.version
            1
        """
    def create(
        self,
        id: str,
        timeout_at: int | datetime.datetime | None = None,
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
        """Create a promise and acquire its task at once, without a message (PROTOCOL 3.9).

        If the promise exists, a pending task is acquired, and a fulfilled task is returned unchanged.

        Args:
            id: The id of the promise and the task.
            timeout_at: The promise's deadline, in Unix ms or as an aware datetime. Exactly one of `timeout_at` and `timeout` is required.
            pid: The name of the worker that holds the lease.
            ttl: The length of the lease, in ms or as a timedelta, 1 ms or more.
            timeout: The promise's deadline from now on, in ms or as a timedelta.
            target: The address to which the task is dispatched after its lease has expired; the tag `resonate:target`.
            param: The input of the promise: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the param.
            tags: Strings by name.
            idempotency_key: A key of the creation, as in `Promises.create`.

        Returns:
            The task and its promise.

        Raises:
            Invalid: The target is missing, there is a tag `resonate:delay`, or the ttl is below 1 (PROTOCOL 3, shape rules).
            Conflict: The task is acquired, suspended or halted, or the idempotency key differs.
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
        timeout_at: int | datetime.datetime | None = None,
        *,
        timeout: int | datetime.timedelta | None = None,
        param: typing.Any = None,
        headers: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Fenced:
        """Create another promise if the caller still holds the task (PROTOCOL 3.14).

        Args:
            id: The id of the task.
            version: Its version.
            promise_id: The id of the promise to create, not the task's own.
            timeout_at: Its deadline, in Unix ms or as an aware datetime. Exactly one of `timeout_at` and `timeout` is required.
            timeout: Its deadline from now on, in ms or as a timedelta.
            param: The input of the promise: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the param.
            tags: Strings by name.
            idempotency_key: A key of the creation, as in `Promises.create`.

        Returns:
            The promise, new or existing.

        Raises:
            Invalid: The promise has the task's id, or `Promises.create` would refuse it.
            NotFound: The task does not exist.
            Conflict: The task is not acquired or has another version, or the idempotency key differs.

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
        state: typing.Literal["resolved", "rejected", "rejected_canceled"] = "resolved",
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Fenced:
        """Settle another promise if the caller still holds the task (PROTOCOL 3.14).

        Args:
            id: The id of the task.
            version: Its version.
            promise_id: The id of the promise to settle, not the task's own.
            value: The result: bytes, a `Value`, or any JSON-able object.
            state: `resolved`, `rejected` or `rejected_canceled`.
            headers: Headers of the value.
            idempotency_key: A key of the settlement, as in `Promises.resolve`.

        Returns:
            The settled promise.

        Raises:
            Invalid: The promise has the task's id, or the state is another one.
            NotFound: The task or the promise does not exist.
            Conflict: The task is not acquired or has another version, or the idempotency key differs.

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
        state: typing.Literal["resolved", "rejected", "rejected_canceled"] = "resolved",
        headers: collections.abc.Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Promise:
        """Settle the promise of an acquired task, and fulfil the task (PROTOCOL 3.13).

        Args:
            id: The id of the task.
            version: Its version.
            value: The result: bytes, a `Value`, or any JSON-able object.
            state: `resolved`, `rejected` or `rejected_canceled`.
            headers: Headers of the value.
            idempotency_key: A key of the settlement, as in `Promises.resolve`.

        Returns:
            The settled promise.

        Raises:
            Invalid: The state is another one.
            NotFound: The task does not exist.
            Conflict: The task is not acquired, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.fulfill("job", 1, {"total": 3}).value.json()
            {'total': 3}
        """
    def get(self, id: str) -> Task:
        """Return the task as it is now (PROTOCOL 3.8). A read: it stores nothing and runs no step.

        Args:
            id: The id of the task and of its promise.

        Returns:
            The task; fulfilled if its promise's deadline has passed.

        Raises:
            NotFound: The promise does not exist or has no task.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.tasks.get("job")
            Task(id='job', state='pending', version=0, resumes=0)
        """
    def halt(self, id: str) -> None:
        """Halt a task until `resume` (PROTOCOL 3.16): it loses its lease and is not dispatched. It has no effect on a halted task.

        Args:
            id: The id of the task.

        Raises:
            NotFound: The task does not exist.
            Conflict: The task is fulfilled.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.halt("job")
            >>> store.tasks.get("job").state
            'halted'
        """
    def heartbeat(self, pid: str, tasks: collections.abc.Iterable[tuple[str, int]] = ()) -> None:
        """Renew leases (PROTOCOL 3.15): each ends at now + ttl. Tasks that the pid no longer holds are skipped.

        Args:
            pid: The name of the worker that holds the leases.
            tasks: Pairs of id and version. Without pairs, every lease of the pid (under strict rules: none).

        Raises:
            Invalid: The pid is empty, or a version is negative.

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
        """Release an acquired task: it is pending, and is dispatched at once (PROTOCOL 3.11).

        Args:
            id: The id of the task.
            version: Its version.

        Raises:
            NotFound: The task does not exist.
            Conflict: The task is not acquired, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.tasks.create("job", pid="w1", ttl=60_000, timeout=90_000, target="poll://any@workers")
            >>> store.tasks.release("job", 1)
            >>> [message.key for message in store.messages()]
            ['execute:job']
        """
    def resume(self, id: str) -> None:
        """Resume a halted task (PROTOCOL 3.17, `task.continue`): it is pending, and is dispatched at once.

        Args:
            id: The id of the task.

        Raises:
            NotFound: The task does not exist.
            Conflict: The task is not halted.

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
        state: TaskState | None = None,
        target: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TaskPage:
        """Return a page of the matching tasks, ordered by id (PROTOCOL 3.7). A read: it stores nothing and runs no step.

        Args:
            id: A pattern in which `*` stands for any characters; None: any id.
            state: The current state, with deadlines considered; None: any state.
            target: The address to which tasks are dispatched.
            tags: Tags that the promise must have, with these values.
            limit: The size of the page, 1 to 1000.
            cursor: The `cursor` of the previous page.

        Returns:
            A page; its `cursor` is None on the last page.

        Raises:
            Invalid: The limit is out of range, or the state is unknown.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> [task.id for task in store.tasks.search(state="pending", target="poll://any@workers")]
            ['job']
        """
    def suspend(self, id: str, version: int, awaiting: collections.abc.Iterable[str]) -> Suspension:
        """Suspend an acquired task until one of the awaited promises is settled (PROTOCOL 3.12).

        Args:
            id: The id of the task.
            version: Its version.
            awaiting: The ids of the awaited promises, at least one.

        Returns:
            Whether the task is suspended. If an awaited promise is already settled, the task stays acquired.

        Raises:
            Invalid: No promise is awaited, or the task itself is, or, under strict rules, one promise is named twice.
            NotFound: The task does not exist.
            Conflict: The task is not acquired, or has another version.
            Unprocessable: An awaited promise does not exist or, under strict rules, is internal. No callback was registered.

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
    """The schedules of a store: `store.schedules`. Each creates a promise at every occurrence of a cron expression.

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
        """Create a schedule, or return the existing schedule with this id (PROTOCOL 3.18, 4).

        Args:
            id: The id of the schedule.
            cron: Five fields (minute hour day-of-month month day-of-week), six with seconds first, or a word such as `@hourly`; in UTC,
                unless it begins with `CRON_TZ=Area/City`.
            promise_id: The ids of its promises; `{{.id}}` stands for the schedule's id and `{{.timestamp}}` for the occurrence in Unix ms.
            promise_timeout: The time from an occurrence to its promise's deadline, in ms or as a timedelta.
            param: The input of each promise: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the param.
            tags: Tags of each promise; under compatible rules lineage tags are added (PROTOCOL 2.1).
            job: Makes each of its promises a job (JOBS 5) with `param` as payload and the promise's deadline: {"type"} and, as on the wire,
                optionally "queue", "priority", "processIn", "goodFor", "timeout", "retention", "maxRetries", "retryPolicy", "onExhausted",
                "lifecycle", "uniqueKey", "uniqueFor", "group" and "cancelWithAwaiters". An occurrence whose unique key is held enqueues nothing.

        Returns:
            The schedule, new or existing.

        Raises:
            Invalid: The expression is invalid or never fires, there is a tag `resonate:delay`, or `job` breaks a rule of jobs.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.schedules.create("weekly", "CRON_TZ=Europe/Berlin 30 9 * * MON", promise_timeout=1000).next_run_at
            376200000
        """
    def delete(self, id: str) -> None:
        """Delete a schedule. The promises that it created stay.

        Args:
            id: The id of the schedule.

        Raises:
            NotFound: The schedule does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> store.schedules.delete("hourly")
            >>> len(store.schedules.search())
            0
        """
    def get(self, id: str) -> Schedule:
        """Return the schedule. A read: it stores nothing and runs no step.

        Args:
            id: The id of the schedule.

        Raises:
            NotFound: The schedule does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> store.schedules.get("hourly").cron
            '@hourly'
        """
    def pause(self, id: str) -> Schedule:
        """Pause a schedule: it does not fire until it is resumed (PROTOCOL 3.20). It has no effect on a paused schedule.

        Args:
            id: The id of the schedule.

        Returns:
            The schedule.

        Raises:
            NotFound: The schedule does not exist.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> store.schedules.pause("hourly").paused
            True
            >>> clock.advance(86_400_000)
            []
        """
    def resume(self, id: str) -> Schedule:
        """Resume a paused schedule from now on (PROTOCOL 3.20): occurrences in the pause are not made up for, whatever `catchup` is.

        It has no effect on a schedule that is not paused.

        Args:
            id: The id of the schedule.

        Returns:
            The schedule.

        Raises:
            Invalid: Its cron expression names a time zone that this system does not have.
            NotFound: The schedule does not exist.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> _ = store.schedules.pause("hourly")
            >>> _ = clock.advance(5_400_000)
            >>> store.schedules.resume("hourly").next_run_at
            7200000
        """
    def search(
        self,
        id: str | None = None,
        *,
        tags: collections.abc.Mapping[str, str] | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> SchedulePage:
        """Return a page of the matching schedules, ordered by id (PROTOCOL 3.7). A read: it stores nothing and runs no step.

        Args:
            id: A pattern in which `*` stands for any characters; None: any id.
            tags: Tags that its promises must have, with these values.
            limit: The size of the page, 1 to 1000.
            cursor: The `cursor` of the previous page.

        Returns:
            A page; its `cursor` is None on the last page.

        Raises:
            Invalid: The limit is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
            >>> [schedule.id for schedule in store.schedules.search()]
            ['hourly']
        """

class Job:
    """A job as it was at the instant of the call (JOBS 2): a promise with a task and a policy, under one id.

    Immutable. A job past its deadline or its `good_until` is shown as final, even if no step has written that yet. Instants are Unix
    milliseconds. Equal to another record if all members are equal.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
        Job(id='mail:1', type='email:send', queue='default', state='pending', version=0)
    """
    @staticmethod
    def from_dict(members: collections.abc.Mapping[str, typing.Any]) -> Job:
        """Return the job with these members: the inverse of `to_dict`, for replies of `Store.apply` and of a server.

        Args:
            members: A job as in an envelope. Unknown members are ignored; `claimedBy` and `leaseUntil` are read only of a held job, `result`
                only of a final one.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The members are not a mapping.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> job = store.jobs.enqueue("email:send", {"to": "a@example.com"}, id="mail:1")
            >>> rc.Job.from_dict(job.to_dict()) == job
            True
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> dict[str, typing.Any]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: dict[str, typing.Any]) -> None: ...
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, typing.Any]:
        """Return the record as in an envelope.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.jobs.enqueue("t", id="a").to_dict()["enqueuedAt"]
            0
        """
    @property
    def after(self) -> tuple[str, ...]:
        """The ids of what must be settled before its first start; empty if it was enqueued without `after`."""
    @property
    def after_failed(self) -> str | None:
        """What happens if one of these is settled and not resolved: `cancel` or `run`; None without `after`."""
    @property
    def args(self) -> Value | None:
        """The arguments of the present run, if `start_over` began it; else None."""
    @property
    def asynq_state(self) -> str:
        """The state under asynq's name (JOBS 1)."""
    @property
    def attempts(self) -> list[dict[str, typing.Any]]:
        """The newest 100 attempts, oldest first: `number`, `worker`, `startedAt`, and once they are over `finishedAt`, `outcome` and perhaps `error`."""
    @property
    def awaits(self) -> dict[str, typing.Any] | None:
        """The ids that the job still lacks while it is `waiting`, else None. Members: `ids`, the first 100, and `count`, how many there are."""
    @property
    def batch(self) -> str | None:
        """The batch in which it gathered; the jobs of a batch are claimed together. None without a batch."""
    @property
    def cancelled_at(self) -> int | None:
        """When it was cancelled, in Unix ms."""
    @property
    def claimed_at(self) -> int | None:
        """When it was claimed, in Unix ms."""
    @property
    def claimed_by(self) -> str | None:
        """The name of the worker that holds it; None if it is unheld."""
    @property
    def completed_at(self) -> int | None:
        """When it was completed, in Unix ms."""
    @property
    def created_at(self) -> int | None:
        """When its promise was created, in Unix ms; None if a server of an earlier release does not say it."""
    @property
    def deadline(self) -> int | None:
        """The deadline of its promise, in Unix ms; None: no deadline."""
    @property
    def enqueued_at(self) -> int | None:
        """When it became pending, in Unix ms; set again by every retry."""
    @property
    def error(self) -> dict[str, str] | None:
        """The last error: `code`, `message` and perhaps `data`; None without an error."""
    @property
    def expired_at(self) -> int | None:
        """When it expired, in Unix ms."""
    @property
    def failed_at(self) -> int | None:
        """When it failed for good, in Unix ms."""
    @property
    def gathering(self) -> bool:
        """Whether it gathers: it is scheduled until its batch is ready."""
    @property
    def good_until(self) -> int | None:
        """The instant by which it must have started, in Unix ms; None: no limit."""
    @property
    def group(self) -> str | None:
        """The group with which it is batched; None without a group."""
    @property
    def horsies_state(self) -> str:
        """The state under horsies' name (JOBS 1)."""
    @property
    def id(self) -> str:
        """The id of the job, its promise and its task."""
    @property
    def lease_until(self) -> int | None:
        """When its lease expires, in Unix ms; None if it is unheld."""
    @property
    def max_retries(self) -> int:
        """The maximum of retries."""
    @property
    def next_retry_at(self) -> int | None:
        """When it is pending again, in Unix ms; None unless its state is `retry`."""
    @property
    def on_exhausted(self) -> str:
        """The state after the last retry failed: `archived` or `failed`."""
    @property
    def payload(self) -> Value:
        """The input of the function; the param of its promise."""
    @property
    def priority(self) -> int:
        """1 (first) to 100 (last)."""
    @property
    def process_at(self) -> int | None:
        """The earliest start, in Unix ms; None if it was not delayed."""
    @property
    def queue(self) -> str:
        """The name of its queue."""
    @property
    def report(self) -> dict[str, typing.Any] | None:
        """The report of its attempts (`Jobs.report`), None without one. Members: `at`, the instant of the last report in Unix ms;
        `progress`, the part that is done, from 0 to 1, absent if it was not reported; `lines`, the newest 100, oldest first, each
        with `at`, `attempt` and `text`.
        """
    @property
    def restarts(self) -> int:
        """How many of its runs have ended with `start_over`."""
    @property
    def result(self) -> Value:
        """The value of its promise once it is final: the result or the error; empty before."""
    @property
    def retention(self) -> int | None:
        """How long it is kept after it completed, in ms; None: until it is deleted."""
    @property
    def retry_count(self) -> int:
        """The number of retries used."""
    @property
    def retry_policy(self) -> dict[str, typing.Any]:
        """The delays between attempts, as on the wire."""
    @property
    def sent_at(self) -> int:
        """When the caller sent it, in Unix ms."""
    @property
    def started_at(self) -> int | None:
        """When its last attempt began, in Unix ms."""
    @property
    def steps(self) -> int:
        """The number of its children: its records, its receives and its child jobs (JOBS 9)."""
    @property
    def state(self) -> JobState:
        """`scheduled`, `waiting`, `pending`, `claimed`, `running`, `retry`, `archived`, `completed`, `failed`, `cancelled` or
        `expired`.
        """
    @property
    def tags(self) -> dict[str, str]:
        """The tags of its promise, a new dict each time."""
    @property
    def timeout(self) -> int | None:
        """The longest duration of an attempt, in ms; None: no limit."""
    @property
    def type(self) -> str:
        """The name by which a worker finds the function."""
    @property
    def unique_for(self) -> int | None:
        """The longest time after `sent_at` for which it holds its key, in ms; None: until it is final."""
    @property
    def unique_key(self) -> str | None:
        """The key that no other job of its queue can hold at the same time."""
    @property
    def version(self) -> int:
        """The number of claims; requests of its worker must name it."""

class JobBatch(Page):
    """Jobs that were enqueued, claimed or found: a sequence that creates each record on access.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> batch = store.jobs.enqueue_many("t", [1, 2, 3], ids=["a", "b", "c"])
        >>> len(batch), batch[-1].payload.json()
        (3, 3)
    """
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> JobBatch:
        """Return the records in the `data` of a reply of `Store.apply` or of a server: its `jobs`.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.JobBatch.from_dict({"jobs": []})
            JobBatch of 0 records
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Job: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> collections.abc.Iterator[Job]: ...
    def __len__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def next_at(self) -> int | None:
        """Of a claim that got fewer jobs than it asked for: when a queue that only lacked a token of its rate has one, in Unix ms; None where there is no such queue."""

class JobHeartbeat:
    """The reply to `Jobs.heartbeat`: the jobs that the worker should stop.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.jobs.heartbeat("w", [("a", 1)]).lost
        ['a']
    """
    @staticmethod
    def from_dict(data: collections.abc.Mapping[str, typing.Any]) -> JobHeartbeat:
        """Return the heartbeat in the `data` of a reply of `Store.apply` or of a server.

        Raises:
            Invalid: A member is missing or malformed; the error names it and the rule.
            TypeError: The data are not a mapping.

        Example:
            >>> rc.JobHeartbeat.from_dict({"cancelled": [], "lost": ["a"]})
            JobHeartbeat(cancelled=[], lost=['a'])
        """
    def __copy__(self) -> typing_extensions.Self: ...
    def __deepcopy__(self, memo: object, /) -> typing_extensions.Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __getstate__(self, /) -> tuple[typing.Any, ...]: ...
    def __hash__(self) -> int: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __setstate__(self, arg0: tuple[typing.Any, ...]) -> None: ...
    def _repr_html_(self) -> str: ...
    @property
    def cancelled(self) -> list[str]:
        """Ids of jobs that were cancelled."""
    @property
    def lost(self) -> list[str]:
        """Ids of other jobs that the worker does not hold under that version."""

class Jobs:
    """The jobs of a store: `store.jobs` (JOBS). `resonate_core.worker.Worker` runs them with Python functions.

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
    def _exchange(
        self,
        completed: collections.abc.Iterable[tuple[str, int, typing.Any]],
        started: collections.abc.Iterable[tuple[str, int]],
        queues: str | collections.abc.Iterable[str] | collections.abc.Mapping[str, int],
        count: int | None,
        worker: str,
        lease: int | datetime.timedelta,
        run_lease: int | datetime.timedelta | None,
        strict: bool | None,
        start: int | None,
    ) -> tuple[list[int] | None, list[int] | None, JobBatch | None]:
        """Complete jobs, start claimed ones and claim more, in one transaction: `complete_many`, `start_many` and `claim`.

        Args:
            completed: As of `complete_many`; none: complete nothing.
            started: As of `start_many`; none: start nothing.
            count: As of `claim`; 0: claim nothing.

        Returns:
            The results of the three requests. A result is None if its request was empty, or was refused as a whole; to see why, make it alone.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> completed, started, claimed = store.jobs._exchange([], [("b", 1)], "default", 1, "w", 60_000, 60_000, False, 1)
            >>> completed, started, [job.state for job in claimed]
            (None, [404], ['running'])
        """
    def _record_request(
        self, id: str, version: int, steps: collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]]
    ) -> RecordRequest:
        """Return a request as of `record`, which `Store._run_calls` runs, as often as it is given.

        Args:
            id: As of `record`.
            version: As of `record`.
            steps: As of `record`.

        Raises:
            Invalid: As of `record`, for an argument of a wrong type; the other rules are checked when it runs.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> type(store.jobs._record_request("a", 1, [{"id": "a:1", "state": "resolved", "value": 7}])).__name__
            'RecordRequest'
        """
    def _run_calls(self, envelopes: list[dict[str, typing.Any]]) -> list[tuple[int, typing.Any]]:
        """As `Store._run_calls`, for a graph of jobs.

        Args:
            envelopes: As there.

        Example:
            >>> envelope = {"kind": "job.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}}
            >>> rc.Store().jobs._run_calls([envelope])
            [(404, 'job "a" does not exist')]
        """
    def archive(self, id: str) -> Job:
        """Archive a pending, scheduled, waiting or retrying job until a person runs it.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is in another state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.archive("a").state
            'archived'
        """
    def archive_all(
        self,
        state: typing.Literal["pending", "scheduled", "waiting", "retry"],
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """Archive all matching jobs of a state ("pending", "scheduled", "waiting" or "retry"), 1000 per transaction, and return their number.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3))
            >>> store.jobs.archive_all("pending", type="t")
            3
        """
    def cancel(self, id: str) -> Job:
        """Cancel a job that is not final, and its promise. Its worker is notified by the next heartbeat.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is final.

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
        """Cancel all matching jobs that are not final, 1000 per transaction, and return their number. At least one filter is required.

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
        """Claim pending jobs, each under a lease (JOBS 3). The version of each rises by one; later requests of the worker must name it.

        A job whose lifecycle claims in one step runs at once; other jobs are `claimed` until `start`. The pending jobs of a batch are claimed
        together, even beyond `count`.

        Args:
            queues: A name, a list of names, or weights (1..1000) by name. Queues share by weight.
            count: The maximum of jobs, 1..10000.
            worker: The name of the worker that holds the leases.
            lease: The duration of the lease of a claimed job, in ms or as a timedelta.
            run_lease: The duration of the lease of a job that runs at once; default: `lease`.
            strict: Take jobs of a queue only if the queues before it have none.
            start: This many of the jobs, the first ones, run at once, in any lifecycle.

        Returns:
            The jobs in order of claiming: within a queue by priority, then `enqueued_at`, then id.

        Raises:
            Invalid: No queue is named, a queue is named twice, or the count or a lease is out of bounds.

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
        """Complete a running job and resolve its promise with the result (JOBS 3). The job is kept for its retention.

        Args:
            id: The id of the job.
            version: The version of the claim.
            result: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the result.

        Returns:
            The job.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retention="kept")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.complete("a", job.version, {"sent": True}).result.json()
            {'sent': True}
        """
    def complete_many(self, jobs: collections.abc.Iterable[tuple[str, int, typing.Any]]) -> list[int]:
        """Complete several running jobs in one transaction, independently of each other.

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
        """Delete an unheld job and its promise; a final job is deleted as soon as nothing undelivered refers to it.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is claimed or running, or it is not final and has an awaiter.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.delete("a")
            >>> len(store.jobs.search())
            0
        """
    def delete_all(
        self,
        state: JobState,
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """Delete all matching jobs of a state (not "claimed" or "running"), 1000 per transaction, and return their number.

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
        headers: collections.abc.Mapping[str, str] | None = None,
        queue: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        priority: int | None = None,
        process_at: int | datetime.datetime | None = None,
        process_in: int | datetime.timedelta | None = None,
        good_until: int | datetime.datetime | None = None,
        good_for: int | datetime.timedelta | None = None,
        timeout: int | datetime.timedelta | None = None,
        deadline: int | datetime.datetime | None = None,
        retention: int | datetime.timedelta | typing.Literal["kept"] | None = None,
        max_retries: int | None = None,
        retry_policy: collections.abc.Mapping[str, typing.Any] | None = None,
        on_exhausted: str | None = None,
        lifecycle: str | None = None,
        unique_key: str | None = None,
        unique_for: int | datetime.timedelta | None = None,
        group: str | None = None,
        cancel_with_awaiters: bool | None = None,
        sent_at: int | datetime.datetime | None = None,
        after: str | Job | collections.abc.Iterable[str | Job] | None = None,
        after_failed: str | None = None,
        parent: Job | collections.abc.Mapping[str, typing.Any] | None = None,
    ) -> Job:
        """Enqueue a job, or return the same existing job (JOBS 3). Missing arguments come from the queue's defaults, then the lifecycle.

        Args:
            type: The name by which a worker finds the function.
            payload: The input of the function: bytes, a `Value`, or any JSON-able object.
            id: The id of the job and its promise; default: generated. A pending promise without a task becomes the job.
            headers: Headers of the payload.
            queue: The name of the queue; default: "default".
            tags: Tags of the promise.
            priority: 1 (first) to 100 (last); default: 50.
            process_at: The earliest start, in Unix ms.
            process_in: The delay until the earliest start, in ms or as a timedelta.
            good_until: The job expires if its first attempt has not started by this instant, in Unix ms.
            good_for: The job expires if its first attempt has not started this long after it first becomes runnable, in ms or as a
                timedelta.
            timeout: The longest duration of one attempt, in ms or as a timedelta.
            deadline: The deadline of the promise, in Unix ms; default: none.
            retention: How long the job is kept after it completed, in ms or as a timedelta; "kept": until it is deleted.
            max_retries: The number of retries.
            retry_policy: {"kind": "fixed", "intervals": [ms, ...]}, {"kind": "exponential", "base": ms, "factor", "cap": ms, "jitter"} or
                {"kind": "asynq"}; with "codes": [...] only errors with these codes are retried.
            on_exhausted: "archived" or "failed": the state after the last retry failed.
            lifecycle: "asynq", "horsies" or "workflow": the preset of missing arguments (JOBS 4).
            unique_key: A key that at most one job of the queue holds.
            unique_for: The longest time after `sent_at` for which the job holds its key, in ms or as a timedelta; none: until it is
                final.
            group: The job gathers with the jobs of its queue, type and group until there are enough, none has joined for some time, or
                the first has waited long enough (`Queues.set`); then they are claimed together.
            cancel_with_awaiters: Whether it is cancelled when a workflow that awaits it is cancelled and no other one awaits it; default:
                by the lifecycle.
            sent_at: When the caller sent it, in Unix ms; default: now.
            after: What must be settled before the job can be claimed: ids of promises or jobs, or the jobs themselves; 1 to 10,000
                (JOBS 8).
            after_failed: What happens if one of these is settled and not resolved: `cancel` (default) cancels the job, `run` runs it.
            parent: A running job whose child it is: the job as its worker claimed it, or {"id", "version"}. It is kept and cancelled with
                its parent (JOBS 9).

        Returns:
            The job.

        Raises:
            Invalid: A value breaks a rule.
            Conflict: The id belongs to another job, a task or a settled promise, or another job holds the unique key.

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
        headers: collections.abc.Mapping[str, str] | None = None,
        queue: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        priority: int | None = None,
        process_at: int | datetime.datetime | None = None,
        process_in: int | datetime.timedelta | None = None,
        good_until: int | datetime.datetime | None = None,
        good_for: int | datetime.timedelta | None = None,
        timeout: int | datetime.timedelta | None = None,
        deadline: int | datetime.datetime | None = None,
        retention: int | datetime.timedelta | typing.Literal["kept"] | None = None,
        max_retries: int | None = None,
        retry_policy: collections.abc.Mapping[str, typing.Any] | None = None,
        on_exhausted: str | None = None,
        lifecycle: str | None = None,
        group: str | None = None,
        cancel_with_awaiters: bool | None = None,
        sent_at: int | datetime.datetime | None = None,
        after: str | Job | collections.abc.Iterable[str | Job] | None = None,
        after_failed: str | None = None,
        parent: Job | collections.abc.Mapping[str, typing.Any] | None = None,
        then: resonate_core.calls.graph.ToRun | None = None,
    ) -> JobBatch:
        """Enqueue one job for each payload in one transaction, all or none; like `enqueue` for each, in order.

        Args:
            type: The type of the jobs.
            payloads: The payload of each job.
            ids: The id of each job; default: generated.
            headers: See `enqueue`.
            queue: See `enqueue`.
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
            cancel_with_awaiters: See `enqueue`.
            sent_at: See `enqueue`.
            after: See `enqueue`; each job waits for all of these.
            after_failed: See `enqueue`.
            parent: See `enqueue`.
            then: A job that runs when all of these have ended, also if some have failed: its type, or a `Node` with payload and
                options. A type alone gets the queue of the jobs. The handler reads the outcomes by `JobContext.dependencies`.

        Returns:
            The jobs, in order of the payloads; with `then`, its job is the last.

        Raises:
            Invalid: As for `enqueue`, or `ids` and `payloads` have different lengths. Nothing was enqueued.
            Conflict: As for `enqueue`.

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
        archive: bool | None = None,
    ) -> Job:
        """Fail an attempt: the job is retried, archived or failed for good (JOBS 3).

        Args:
            id: The id of the job.
            version: The version of the claim.
            code: The code of the error; a policy may restrict retries to certain codes.
            message: A text for people.
            data: More about the error, base64 by convention.
            retryable: False: do not retry the job.
            retry_after: The delay of the next attempt, in ms or as a timedelta, instead of the policy's delay.
            archive: True: archive the job, whatever its policy says; a person looks at it, and runs it again.

        Returns:
            The job.

        Raises:
            Invalid: The code is empty, or the delay is negative.
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq", retry_policy={"kind": "fixed", "intervals": [5000]})
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.fail("a", job.version, "SmtpError", "no such host").next_retry_at
            5000
        """
    def get(self, id: str) -> Job:
        """Return the job. A read: it stores nothing and runs no step.

        Raises:
            NotFound: The promise does not exist, or is not a job.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> store.jobs.get("a").state
            'pending'
        """
    def graph(self, id: str | None = None) -> resonate_core.calls.graph.Graph:
        """Return an empty graph of jobs. Its nodes wait for each other by their names; `Graph.enqueue` enqueues all of them, or none.

        Args:
            id: Of the graph; None: a random one. The job of a node has the id of the graph, a colon and the name of the node.

        Raises:
            Invalid: The id is empty.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> graph = store.jobs.graph("order-7")
            >>> _ = graph.add("pick", "order:pick", {"order": 7})
            >>> _ = graph.add("pack", "order:pack", after=["pick"])
            >>> [(job.id, job.state) for job in graph.enqueue().values()]
            [('order-7:pick', 'pending'), ('order-7:pack', 'waiting')]
        """
    def heartbeat(self, worker: str, jobs: collections.abc.Iterable[tuple[str, int]]) -> JobHeartbeat:
        """Renew the leases of claimed or running jobs, each by its own duration.

        Args:
            worker: The name of the worker that holds the leases.
            jobs: Pairs of id and version.

        Returns:
            The jobs that were cancelled, and the jobs that the worker no longer holds.

        Raises:
            Invalid: A name or an id is empty, or a version is negative.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> _ = store.jobs.cancel("a")
            >>> store.jobs.heartbeat("w", [("a", job.version)])
            JobHeartbeat(cancelled=['a'], lost=[])
        """
    def release(self, id: str, version: int) -> Job:
        """Release a claimed job that was not started; no retry is used.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is not claimed, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.release("a", job.version).state
            'pending'
        """
    def report(
        self, id: str, version: int, *, progress: float | None = None, lines: str | collections.abc.Iterable[str] | None = None
    ) -> Job:
        """Report on a running job: how far its attempt is, and lines for its log. `Job.report` shows them. The lease is not renewed.

        Args:
            id: The id of the job.
            version: The version of the claim.
            progress: The part that is done, 0 to 1. None: unchanged. Each attempt begins without progress.
            lines: A line, or up to 100 lines, of at most 1000 bytes each. The job keeps its newest 100 lines.

        Returns:
            The job.

        Raises:
            Invalid: Neither is given, the progress is out of bounds, a line is empty or too long, or there are too many lines.
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.report("a", job.version, progress=0.5, lines="page 3 of 6").report
            {'at': 0, 'progress': 0.5, 'lines': [{'at': 0, 'attempt': 1, 'text': 'page 3 of 6'}]}
        """
    def run(self, id: str) -> Job:
        """Make a scheduled, waiting, retrying or archived job pending now, even if it waits for others. Its awaiters keep waiting.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is in another state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
            >>> store.jobs.run("a").enqueued_at
            0
        """
    def run_all(
        self,
        state: typing.Literal["archived", "retry", "scheduled", "waiting"],
        *,
        queue: str | None = None,
        type: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
    ) -> int:
        """Run all matching jobs of a state ("archived", "retry", "scheduled" or "waiting"), 1000 per transaction, and return their number.

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
        state: JobState | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        group: str | None = None,
        unique_key: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> JobBatch:
        """Return a page of the matching jobs, ordered by id.

        Args:
            id: A pattern in which `*` stands for any characters.
            queue: The name of the queue.
            type: The type of the jobs.
            state: The current state.
            tags: Tags that a job must have, with these values.
            group: The name of the group.
            unique_key: The unique key.
            limit: The size of the page, 1..1000; default: 100.
            cursor: The `cursor` of the previous page.

        Returns:
            A page; its `cursor` is None on the last page.

        Raises:
            Invalid: The state is unknown, or the limit is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", range(3), ids=["a", "b", "c"])
            >>> [job.id for job in store.jobs.search(state="pending", limit=2)]
            ['a', 'b']
        """
    def snooze(self, id: str, version: int, delay: int | datetime.timedelta) -> Job:
        """Snooze a running job: end its attempt and schedule it again; no retry is used.

        Args:
            id: The id of the job.
            version: The version of the claim.
            delay: The time until the job is pending again, in ms or as a timedelta.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", lifecycle="asynq")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.snooze("a", job.version, 5000).process_at
            5000
        """
    def suspend(
        self, id: str, version: int, awaits: str | Job | collections.abc.Iterable[str | Job], *, until: str | None = None
    ) -> Job:
        """Suspend a running job until promises are settled: end its attempt and let it wait; no retry is used (JOBS 8).

        Args:
            id: The id of the job.
            version: The version of the claim.
            awaits: What the job waits for: ids of promises or jobs, or the jobs themselves; 1 to 10,000.
            until: `any` (default): one of these is settled; `all`: the last one is, or one that is not resolved.

        Returns:
            The job. It is `waiting`, or still `running` if it need not wait.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version.
            Invalid: `awaits` has the job's own id, or the job is of a batch.
            Unprocessable: One of `awaits` does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> part = store.jobs.enqueue("part", id="part", queue="parts")
            >>> _ = store.jobs.enqueue("whole", id="whole", lifecycle="asynq")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.suspend("whole", job.version, part).awaits
            {'ids': ['part'], 'count': 1}
        """
    def record(
        self, id: str, version: int, steps: collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]]
    ) -> PromiseBatch:
        """Record steps of a running job: create promises, pending or settled, and settle pending ones; all or none (JOBS 9).

        Args:
            id: The id of the job.
            version: The version of the claim.
            steps: Up to 1,000 mappings with the members `id`, which begins with the job's id and a colon; `state`: "pending" (default),
                "resolved", "rejected" or "rejected_canceled"; `value` of a settled one, and `param`: bytes, a `Value`, or any JSON-able
                object; `tags`; `timeout_in`, the time until its deadline, in ms or as a timedelta.

        Returns:
            The promises, in this order. A promise that is settled already is returned as it is.

        Raises:
            Invalid: A member breaks a rule.
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version, or a promise with an id of a step is no child of the job.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("fulfil", id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.record("order-7", job.version, [{"id": "order-7:1", "state": "resolved", "value": 1200}]).states
            ['resolved']
            >>> store.jobs.get("order-7").steps
            1
        """
    def receive(
        self, id: str, version: int, step: str, topic: str, *, timeout_in: int | datetime.timedelta | None = None
    ) -> Promise:
        """Record a step of a running job that the next message of a topic resolves (JOBS 9).

        Args:
            id: The id of the job.
            version: The version of the claim.
            step: The id of the step; it begins with the job's id and a colon.
            topic: The topic, without a colon.
            timeout_in: The time until the deadline of the step, in ms or as a timedelta; default: none.

        Returns:
            The promise: resolved with the oldest unread message, or pending. A child of this id is returned as it is.

        Raises:
            Invalid: A member breaks a rule.
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version, or a promise of this id is no child of the job.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("fulfil", id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> store.jobs.receive("order-7", job.version, "order-7:1", "approval").state
            'pending'
            >>> _ = store.jobs.send("order-7", "approval", "yes")
            >>> store.promises.get("order-7:1").value.json()
            'yes'
        """
    def send(
        self,
        id: str,
        topic: str,
        value: typing.Any = None,
        *,
        headers: collections.abc.Mapping[str, str] | None = None,
        key: str | None = None,
    ) -> Promise:
        """Send a message to a job that is not final: its oldest pending receive of the topic takes it, or it stays unread (JOBS 9).

        Args:
            id: The id of the job.
            topic: The topic, without a colon.
            value: The message: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the message.
            key: What makes it safe to send again: the same key answers the same message. Default: a new message each time.

        Returns:
            The message, a promise with the id `ID:@TOPIC:KEY`.

        Raises:
            Invalid: The topic has a colon, or the key begins with #.
            NotFound: The job does not exist.
            Conflict: The job is final, or a promise of that id is no message of the job.
            Unprocessable: 1,000 messages of the job are unread.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("fulfil", id="order-7", lifecycle="workflow")
            >>> store.jobs.send("order-7", "approval", "yes", key="mail-31").id
            'order-7:@approval:mail-31'
            >>> store.jobs.send("order-7", "approval", "no", key="mail-31").value.json()
            'yes'
        """
    def history(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> PromisePage:
        """Return the children of a job, by their creation and then by id (JOBS 9). A read: it stores nothing and runs no step.

        Args:
            id: The id of the job.
            limit: The size of a page, 1 to 1,000; default: 100. A page ends before 4 MiB.
            cursor: The `cursor` of the page before.

        Raises:
            Invalid: The limit is out of range, or the cursor is none of a page.
            NotFound: The job does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("fulfil", id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> _ = store.jobs.record("order-7", job.version, [{"id": "order-7:1"}, {"id": "order-7:2"}])
            >>> [step.id for step in store.jobs.history("order-7")]
            ['order-7:1', 'order-7:2']
        """
    def start_over(
        self, id: str, version: int, args: typing.Any = None, *, headers: collections.abc.Mapping[str, str] | None = None
    ) -> Job:
        """End a run of a job without end: remove its children, and make it pending again with other arguments (JOBS 9).

        Args:
            id: The id of the job.
            version: The version of the claim.
            args: What the next run gets: bytes, a `Value`, or any JSON-able object. The payload stays as it is.
            headers: Headers of the arguments.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is not running, or has another version, or a child job of it is not final, or something else awaits a
                child. Nothing was removed.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("poll", id="poller", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> job = store.jobs.start_over("poller", job.version, {"since": 7})
            >>> job.state, job.args.json(), job.restarts
            ('pending', {'since': 7}, 1)
        """
    def fork(self, id: str, from_step: str, new_id: str) -> Job:
        """Enqueue a job like this one, with copies of what it recorded before a step (JOBS 9).

        Args:
            id: The id of the job.
            from_step: The id of a child of it; the new job runs from there.
            new_id: The id of the new job.

        Returns:
            The new job.

        Raises:
            NotFound: The job does not exist.
            Conflict: `new_id`, or the id of a copy, exists.
            Unprocessable: `from_step` is no child of the job, or a child before it is pending, or there are more than 10,000.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("fulfil", {"order": 7}, id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> steps = [{"id": "order-7:1", "state": "resolved", "value": "paid"}, {"id": "order-7:2", "state": "rejected"}]
            >>> _ = store.jobs.record("order-7", job.version, steps)
            >>> _ = store.jobs.fork("order-7", "order-7:2", "order-7-again")
            >>> [(step.id, step.value.json()) for step in store.jobs.history("order-7-again")]
            [('order-7-again:1', 'paid')]
        """
    def start(self, id: str, version: int, *, lease: int | datetime.timedelta | None = None) -> Job:
        """Start the attempt of a claimed job.

        Args:
            id: The id of the job.
            version: The version of the claim.
            lease: The duration of the lease from now on, in ms or as a timedelta; default: unchanged.

        Returns:
            The job.

        Raises:
            NotFound: The job does not exist.
            Conflict: The job is not claimed, has another version, or has expired.

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
        """Start the attempts of several claimed jobs in one transaction, independently of each other.

        Args:
            jobs: Pairs of id and version.
            lease: As in `start`, for all jobs.

        Returns:
            The status of each: 200, 404 or 409.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.jobs.start_many([("a", 1)])
            [404]
        """

class Queues:
    """The queues of a store: `store.queues`. The first job of a queue, or `set`, creates it.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.queues.set("mail", concurrency=10, rate={"limit": 100, "per": 60_000})["concurrency"]
        10
        >>> [queue["name"] for queue in store.queues.list()]
        ['mail']
    """
    def get(self, name: str) -> dict[str, typing.Any]:
        """Return the queue, as on the wire.

        Raises:
            NotFound: The queue does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", queue="mail")
            >>> store.queues.get("mail")
            {'name': 'mail', 'paused': False, 'weight': 1, 'active': 0}
        """
    def list(self) -> builtins.list[dict[str, typing.Any]]:
        """Return all queues by name, as on the wire.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).queues.list()
            []
        """
    def pause(self, name: str) -> dict[str, typing.Any]:
        """Stop claims from a queue; claimed and running jobs continue. It has no effect on a paused queue.

        Raises:
            NotFound: The queue does not exist; `set(name)` creates it. The queue `default` always exists.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.queues.set("mail")
            >>> store.queues.pause("mail")["paused"]
            True
        """
    def resume(self, name: str) -> dict[str, typing.Any]:
        """Allow claims from a paused queue again.

        Raises:
            NotFound: The queue does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.queues.set("mail")
            >>> store.queues.resume("mail")["paused"]
            False
        """
    def set(self, name: str, **kwargs: typing_extensions.Unpack[QueueOptions]) -> dict[str, typing.Any]:
        """Set members of a queue, and create it if it does not exist (JOBS 4, 5). Other members stay as they are; None clears a member.

        Args:
            name: The name of the queue.
            **given: `lifecycle`: "asynq", "horsies" or None; for jobs that set none. `weight`: 1..1000, its share
                of claims that name several queues. `concurrency`: the maximum of its claimed and running jobs, or None.
                `rate`: {"limit": tokens, "per": ms, "burst": tokens} or None; how often its jobs may be claimed.
                `groups`: {"size": 1..1000, "grace": ms, "maxDelay": ms} or None; a batch is ready when it has `size` jobs, `grace` after
                the last one joined (default: a minute), or `maxDelay` after the first. `defaults`: members of jobs that do not set them,
                before the lifecycle: {"maxRetries", "retryPolicy", "onExhausted", "retention", "timeout", "priority",
                "cancelWithAwaiters"}, or None.

        Returns:
            The queue, as on the wire.

        Raises:
            Invalid: A value breaks a rule.
            TypeError: The member is unknown.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.queues.set("mail", lifecycle="asynq", weight=6)["weight"]
            6
        """
    def stats(self, name: str | None = None) -> builtins.list[dict[str, typing.Any]]:
        """Return for each queue its jobs by state, the wait of the oldest pending job, and the attempts per UTC day.

        Args:
            name: One queue; None: all.

        Returns:
            For each queue `counts` by state, `oldestPendingAt` (Unix ms), `latency` (ms), `active`, and `days`, at most 90, each with the
            number of attempts that ended (`processed`) and that did not complete (`failed`).

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

class JobsFound:
    """The jobs that `Views.jobs` found, the newest first.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("t", id="a")
        >>> store.views.jobs()
        JobsFound of 1 jobs, 1 rows examined
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Job: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Job]: ...
    def __iter__(self) -> collections.abc.Iterator[Job]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    @property
    def cursor(self) -> str | None:
        """Where the next page begins; None if no row is left. A page without records may have one."""
    @property
    def reached_at(self) -> int | None:
        """When the last examined row was created, in Unix ms; None if none was examined."""
    @property
    def scanned(self) -> int:
        """The number of rows that were examined."""

class PromisesFound:
    """The promises that `Views.promises` found, the newest first.

    Example:
        >>> rc.Store(clock=rc.ManualClock()).views.promises()
        PromisesFound of 0 promises, 0 rows examined
    """
    @typing.overload
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> Promise: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[Promise]: ...
    def __iter__(self) -> collections.abc.Iterator[Promise]: ...
    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...
    @property
    def cursor(self) -> str | None:
        """Where the next page begins; None if no row is left. A page without records may have one."""
    @property
    def reached_at(self) -> int | None:
        """When the last examined row was created, in Unix ms; None if none was examined."""
    @property
    def scanned(self) -> int:
        """The number of rows that were examined."""

class Views:
    """Reads for people: `store.views`. They are no requests: no recording contains them, and they change nothing. Each reads a snapshot, so
    that it holds no other call up, and examines a limited number of rows.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("t", id="a"), store.clock.advance(1000), store.jobs.enqueue("t", id="b")
        >>> [job.id for job in store.views.jobs()]
        ['b', 'a']
    """
    def awaited_of(self, awaiter: str, among: collections.abc.Iterable[str]) -> list[str]:
        """Return those of several promises that name a task or job as an awaiter, in the order given.

        Args:
            awaiter: The id of the task or job.
            among: The ids of the promises, 1000 at most.

        Raises:
            Invalid: There are too many ids.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> for id in "abc":
            ...     _ = store.promises.create(id, timeout=1000)
            >>> _ = store.jobs.enqueue("t", id="x", after=["a", "c"])
            >>> store.views.awaited_of("x", ["c", "b"])
            ['c']
        """
    def due(self, limit: int = 50, *, prefix: str | None = None) -> list[dict[str, typing.Any]]:
        """Return the next timers, the earliest first.

        Args:
            limit: The most timers, 1..1000.
            prefix: If it is not empty, only the first 10,000 promises and schedules whose ids begin with it are examined.

        Returns:
            For each its instant `at` (Unix ms; None: at once), its `kind` ("drain", "timeout", "lease", "dispatch", "retention" or "schedule") and
            the `id` of its promise or schedule.

        Raises:
            Invalid: The limit is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
            >>> store.views.due()
            [{'at': 60000, 'kind': 'dispatch', 'id': 'a'}]
        """
    def hours(self, queue: str | None = None, *, since: int | datetime.datetime | None = None) -> list[dict[str, typing.Any]]:
        """Return the events of the jobs of each queue, by hour (UTC); the last 168 hours are kept.

        Args:
            queue: One queue; None: all. A queue that does not exist has no hours.
            since: The first hour contains this instant; None: all hours that are kept.

        Returns:
            For each queue, by name, `queue` and `hours`, in order, each with `at` (its begin, Unix ms) and the numbers of jobs or attempts:
            `enqueued` (jobs that were created), `started` (attempts), `completed` (jobs), `failed` (attempts that failed or timed out, and
            jobs that failed without one), `retried`, `archived`, `crashed` (attempts whose lease ended), `expired`, `cancelled`; `latency`,
            the sum of the times from pending to started, and `runTime`, that of the times from started to ended, both in ms. An hour without
            an event is absent.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t")
            >>> [(hour["at"], hour["enqueued"]) for hour in store.views.hours("default")[0]["hours"]]
            [(0, 1)]
        """
    def index(self) -> None:
        """Make the indexes that `jobs` and `promises` read, unless the store has them.

        A store in a file or a database begins without them: they cost each write 10 to 20 %, and only these two views read them. Without them,
        both views sort all rows in each call. The dashboard makes them. While they are made, writers of a file wait: about a second for a
        million rows. A store in memory always has them.

        Raises:
            ReadOnly: The store is open for reading only.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).views.index()
        """
    def jobs(
        self,
        *,
        states: collections.abc.Iterable[JobState] | None = None,
        queue: str | None = None,
        type: str | None = None,
        id: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        error: str | None = None,
        payload: str | None = None,
        created_since: int | datetime.datetime | None = None,
        created_until: int | datetime.datetime | None = None,
        settled_since: int | datetime.datetime | None = None,
        settled_until: int | datetime.datetime | None = None,
        limit: int | None = None,
        scan: int | None = None,
        cursor: str | None = None,
        prefix: str | None = None,
    ) -> JobsFound:
        """Return the newest matching jobs.

        Args:
            states: Their current states; None or none: all.
            queue: The name of the queue.
            type: The type of the jobs.
            id: A pattern in which `*` stands for any characters.
            tags: Tags that a job must have, with these values.
            error: A part of the code or message of its last error. ASCII letters of both cases are equal.
            payload: A part of its payload, likewise; base64 is decoded.
            created_since: The earliest creation, in Unix ms or as an aware datetime.
            created_until: The latest creation.
            settled_since: The earliest end.
            settled_until: The latest end.
            limit: The most jobs, 1..1000; default: 50.
            scan: The most rows that are examined, 1..100000; default: 10000.
            cursor: The `cursor` of the previous page.
            prefix: If it is not empty, only rows whose ids begin with it are read and counted: in slices of 10,000 by id, each the newest
                first.

        Returns:
            A page. Its `cursor` is None if no row is left; otherwise the search continues there, also if the page is empty.

        Raises:
            Invalid: A state is unknown, a number is out of range, or the cursor is of no page of this search.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue_many("t", [{"to": "ann"}, {"to": "bob"}], ids=["a", "b"])
            >>> [job.id for job in store.views.jobs(states=["pending"], payload="ANN")]
            ['a']
        """
    def late_schedules(self, limit: int = 100) -> list[dict[str, typing.Any]]:
        """Return the schedules whose next occurrence is due and has not fired, the earliest first, and then those that are set aside.

        Args:
            limit: The most schedules, 1..1000.

        Returns:
            For each `id`, `cron`, `dueAt` (its next occurrence, Unix ms), and if it is set aside its `problem`.

        Raises:
            Invalid: The limit is out of range.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).views.late_schedules()
            []
        """
    def leases(self, limit: int = 1000, *, prefix: str | None = None) -> dict[str, typing.Any]:
        """Return the tasks and jobs that processes hold, by process and id.

        Args:
            limit: The most leases, 1..10000.
            prefix: If it is not empty, only the first 10,000 promises whose ids begin with it are examined.

        Returns:
            `items`, each with `pid`, `kind` ("task" or "job"), `id`, `version`, `expiresAt`, `ttl`, `heartbeatAt` (when it was last renewed:
            `expiresAt` - `ttl`), and for jobs `queue`, `type`, `state` and `startedAt`; and `complete`: False if more are held than are listed.

        Raises:
            Invalid: The limit is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a"), store.jobs.claim("default", worker="w", lease=1000)
            >>> [(one["pid"], one["id"], one["expiresAt"]) for one in store.views.leases()["items"]]
            [('w', 'a', 1000)]
        """
    def promises(
        self,
        *,
        states: collections.abc.Iterable[PromiseState] | None = None,
        id: str | None = None,
        tags: collections.abc.Mapping[str, str] | None = None,
        created_since: int | datetime.datetime | None = None,
        created_until: int | datetime.datetime | None = None,
        settled_since: int | datetime.datetime | None = None,
        settled_until: int | datetime.datetime | None = None,
        limit: int | None = None,
        scan: int | None = None,
        cursor: str | None = None,
        prefix: str | None = None,
    ) -> PromisesFound:
        """Return the newest matching promises that are no jobs and that are their own origin: the roots of workflows.

        Args:
            states: Their current states; None or none: all.
            id: A pattern in which `*` stands for any characters.
            tags: Tags that a promise must have, with these values.
            created_since: The earliest creation, in Unix ms or as an aware datetime.
            created_until: The latest creation.
            settled_since: The earliest settlement.
            settled_until: The latest settlement.
            limit: The most promises, 1..1000; default: 50.
            scan: The most rows that are examined, 1..100000; default: 10000.
            cursor: The `cursor` of the previous page.
            prefix: If it is not empty, only rows whose ids begin with it are read and counted: in slices of 10,000 by id, each the newest
                first.

        Returns:
            A page. Its `cursor` is None if no row is left; otherwise the search continues there, also if the page is empty.

        Raises:
            Invalid: A state is unknown, a number is out of range, or the cursor is of no page of this search.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("order", timeout=1000)
            >>> _ = store.promises.create("order.1", timeout=1000, tags={"resonate:origin": "order"})
            >>> [promise.id for promise in store.views.promises()]
            ['order']
        """
    def queue_totals(
        self, limit: int = 100, *, keep: collections.abc.Iterable[str] = (), aged: int = 1000
    ) -> dict[str, typing.Any]:
        """Return the jobs of the queues by state, for a scrape: of some queues by name, of all others added up.

        Args:
            limit: The most queues by name, 0..10000.
            keep: Queues that come first, if they exist; then those with the most pending jobs.
            aged: In how many queues the oldest pending job is looked up, 0..10000: the first in this order.

        Returns:
            `queues`, each with `name`, `counts` by state and `latency` (how long the oldest pending job has waited, ms; 0 if it was not looked up); `others`, with their number
            (`queues`), `counts` and `latency`; and `paused`, the number of paused queues.

        Raises:
            Invalid: A number is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = [store.jobs.enqueue("t", queue=name) for name in ("mail", "mail", "video")]
            >>> totals = store.views.queue_totals(1)
            >>> [(one["name"], one["counts"]["pending"]) for one in totals["queues"]], totals["others"]["counts"]["pending"]
            ([('mail', 2)], 1)
        """
    def rows(self, ids: collections.abc.Iterable[str], *, edges: int | None = None) -> dict[str, typing.Any]:
        """Return a part of the state: these promises, with their tasks and jobs, and schedules.

        Args:
            ids: The ids, 1000 at most. Ids that do not exist are left out.
            edges: The most `callbacks`, `listeners` and `keptBy` of one promise, each, 0..10,000; None: all of them.

        Returns:
            As `Store.snapshot`, without the other promises and schedules, and without the ended hours of the queues. `messages` are those about
            these promises; an execute is left out if 1000 messages to its address are before it. With `edges`, `cut` has the promises of which
            edges were left out: by id, how many `callbacks` and `listeners` there are, and of a job how many `keptBy`.

        Raises:
            Invalid: There are too many ids, or `edges` is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000), store.promises.create("b", timeout=1000)
            >>> [promise["id"] for promise in store.views.rows(["b", "c"])["promises"]]
            ['b']
            >>> _ = store.jobs.enqueue_many("t", range(3), ids=["x", "y", "z"], after=["b"])
            >>> part = store.views.rows(["b"], edges=2)
            >>> part["promises"][0]["callbacks"], part["cut"]
            (['x', 'y'], {'b': {'callbacks': 3, 'listeners': 0}})
        """

class Glob:
    """A pattern in which `*` stands for any run of bytes, as in the searches of ids. A match takes time linear in the text.

    Example:
        >>> from resonate_core._core import Glob
        >>> Glob(b"a*c").matches(b"abc"), Glob(b"a*c").matches(b"ab")
        (True, False)
    """
    def __init__(self, pattern: bytes) -> None: ...
    def matches(self, text: bytes) -> bool:
        """Return whether the whole text matches."""

class Needles:
    """Texts, all occurrences of which are found in another text in one pass.

    Args:
        needles: The texts. Of a long one, only the beginning is compared, and the rest of the text counts as its occurrence.

    Example:
        >>> from resonate_core._core import Needles
        >>> Needles([b"abc", b"bcd"]).replaced(b"xabcdx abx", b"-")
        b'x-x abx'
    """
    def __init__(self, needles: collections.abc.Sequence[bytes]) -> None: ...
    def replaced(self, text: bytes, to: bytes, cut: bool = False) -> bytes:
        """Return a text with each stretch of occurrences, which may overlap, replaced.

        Args:
            text: The text.
            to: The text in their place.
            cut: Whether the text is the beginning of a longer one: the beginning of a needle at its end, of 4 bytes or more, is replaced, too.
        """

class RecordRequest:
    """A request of `Jobs.record` whose arguments were read; see `Jobs._record_request`."""

class Recording:
    """A recording of a store, made by `Store.record`. A context manager that closes it.

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
        """End the recording and close the file; a file object is flushed and stays open. It has no effect on an ended recording.

        Raises:
            StoreError: A line could not be written. The request itself was not affected.

        Example:
            >>> import io
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> recording = store.record(io.StringIO())
            >>> recording.close()
        """
    @property
    def closed(self) -> bool:
        """Whether it has ended."""
    @property
    def lines(self) -> int:
        """The number of lines written."""

class Replay:
    """The result of `replay`. It is true in a condition if every line gave the recorded result.

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
        """The first difference in words; None if no line differs."""
    @property
    def expected(self) -> str | None:
        """That line as it was recorded; None if no line differs."""
    @property
    def got(self) -> str | None:
        """That line as the replay wrote it; None if it wrote none."""
    @property
    def line(self) -> int | None:
        """The first line that differs, counted from 1; None if no line differs."""
    @property
    def ok(self) -> bool:
        """Whether every line gave the recorded result."""
    @property
    def steps(self) -> int:
        """The number of lines that gave the recorded result."""

class RequestLimits:
    """Limits of a request's size and of the durations in it. A request beyond a limit is refused with status 400.

    Args:
        id_bytes: Bytes of an id, a pid, an address or the name of a tag.
        tags: Number of tags of a promise, and of headers of a value.
        list_length: Number of tasks of a heartbeat, and of actions of a suspend.
        nesting: Depth of the JSON.
        lease: Longest lease of a job, in ms or as a timedelta.
        ttl: Longest lease of a task, in ms or as a timedelta.
        delay: Longest delay of a job, a message or a retry, in ms or as a timedelta.
        clock: The clock that `delay` counts from. Without a clock, instants are not limited.

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
        lease: int | datetime.timedelta = 9223372036854775807,
        ttl: int | datetime.timedelta = 9223372036854775807,
        delay: int | datetime.timedelta = 9223372036854775807,
        clock: Clock | None = None,
    ) -> None: ...

class Envelope:
    """A request in a server: decoded once, checked, then run by `Store.run`.

    Args:
        text: JSON in UTF-8. Any text makes an envelope; a malformed one is `refused` and gets status 400.
        limits: The limits of the request.

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
        """Ignore its `resonate:debug_time`: it runs at the store's instant.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> Envelope(b"{}", RequestLimits()).forget_debug_time()
        """
    def refusal(self, status: typing.SupportsInt | typing.SupportsIndex, message: str) -> bytes:
        """Return the envelope of a reply with this status and text, as JSON.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> Envelope(b"{}", RequestLimits()).refusal(429, "later")
            b'{"kind":"unknown","head":{"corrId":"0","status":429,"version":"2026-04-01"},"data":"later"}'
        """
    def restrict(self, prefix: str) -> None:
        """Restrict the results of the request (searches, preloads, all leases of a pid) to ids that begin with `prefix`.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> text = b'{"kind":"promise.search","head":{"corrId":"1","version":"2026-04-01"},"data":{}}'
            >>> Envelope(text, RequestLimits()).restrict("mine.")
        """
    @property
    def advice(self) -> list[str]:
        """A sentence for each tag that looks like a tag of the protocol but is not, for a log."""
    @property
    def auth(self) -> str | None:
        """head.auth; None if it is missing or empty."""
    @property
    def corr_id(self) -> str:
        """The correlation id, which the reply repeats."""
    @property
    def debug(self) -> bool:
        """Whether it is a debug operation, which runs alone."""
    @property
    def ids(self) -> list[str]:
        """Every id that it names, including those of its inner actions; for a schedule also the constant beginning of the ids of its promises."""
    @property
    def kind(self) -> str:
        """The kind of the request; any text if it is refused."""
    @property
    def queues(self) -> list[str]:
        """Every queue that it enqueues into, claims from or searches. The name of a queue that it sets, pauses or reads is an id."""
    @property
    def read(self) -> bool:
        """Whether it changes nothing. On a file, a batch of such requests does not wait for a commit."""
    @property
    def records(self) -> int:
        """How many records it names or asks for, such as the jobs that it enqueues: a measure of its work."""
    @property
    def refused(self) -> bool:
        """Whether it is malformed or too large, and gets status 400."""
    @property
    def search(self) -> bool:
        """Whether it may read every row: a search, or a change of all jobs that match a filter. Run alone, it does not block other requests."""
    @property
    def version(self) -> str:
        """The dialect of the reply."""

class Watch:
    """Wakes the code that ticks a store and delivers its messages when there is work; `Store.watch` creates it.

    It wakes by writing one byte to a descriptor, once until `rearm`.

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

    buckets: typing.ClassVar[tuple[int, ...]]
    """The upper bounds of the buckets of `queue_counts`, in ms; one more bucket counts what is above."""
    def close(self) -> None:
        """End the watch. It does not write to the descriptor afterwards, and does not close it.

        Example:
            >>> import os
            >>> reader, writer = os.pipe()
            >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
            >>> watch.close(); os.close(reader); os.close(writer)
            >>> watch.closed
            True
        """
    def queue_counts(self, limit: int = 100) -> list[dict[str, typing.Any]]:
        """Return the events of the jobs of each queue, in commits of this store since the watch was created.

        Args:
            limit: The most queues that are shown apart: those that counted first. One more dict, whose `queue` is None, sums the others. At most
                1000 queues are kept apart.

        Returns:
            For each queue, by name, `queue` and the numbers of jobs or attempts: `enqueued` (jobs that were created), `started` (attempts),
            `completed` (jobs), `failed` (attempts that failed or timed out, and jobs that failed without one), `retried`, `archived`,
            `crashed` (attempts whose lease ended), `expired`, `cancelled`; `latency`, from pending to started, and `runTime`, from started to
            ended, each with `sum` (ms) and `counts`, by `buckets`, not cumulative.

        Raises:
            Invalid: The limit is negative.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> watch = store.watch(-1)
            >>> _ = store.jobs.enqueue("email", queue="mail"), store.clock.advance(20)
            >>> _ = store.jobs.claim("mail", worker="w", lease=1000, start=1)
            >>> [(one["queue"], one["started"], one["latency"]["sum"]) for one in watch.queue_counts()]
            [('mail', 1, 20)]
        """
    def rearm(self, until: int | datetime.datetime | None = None) -> None:
        """Arm the watch again, for the next message and the next change that makes a step due before `until`.

        Changes since it last woke the caller did not wake it again, so check the store once after this call.

        Args:
            until: The instant, in Unix ms or as an aware datetime, at which the caller checks the store anyway; None: never.

        Example:
            >>> import os
            >>> reader, writer = os.pipe()
            >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
            >>> watch.rearm(until=5000)
            >>> watch.close(); os.close(reader); os.close(writer)
        """
    @property
    def closed(self) -> bool:
        """Whether it is closed."""
    @property
    def job_attempts(self) -> dict[str, int]:
        """The number of job attempts that ended, by outcome, in commits of this store since the watch was created.

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
        """The number of jobs that entered a state, by state, in commits of this store since the watch was created.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> watch = store.watch(-1)
            >>> _ = store.jobs.enqueue("email", id="j"), store.jobs.cancel("j")
            >>> watch.job_states["cancelled"]
            1
        """

_ClockOfStore = typing_extensions.TypeVar("_ClockOfStore", bound=Clock, covariant=True, default=Clock)
_GivenClock = typing.TypeVar("_GivenClock", bound=Clock)

class Store(typing.Generic[_ClockOfStore]):
    """A store of durable promises, tasks, schedules and jobs: one engine, its rows and its clock.

    Thread-safe; calls release the GIL. A context manager that closes it. A child of `os.fork` may continue with its copy.

    Args:
        path_or_url: The path of a SQLite file, which is created if it does not exist; the URL of a PostgreSQL database, in which the
            tables are made (``postgresql://user@host/database?schema=resonate``); None: memory.
        clock: A `ManualClock` for simulation; None: the system's, or that of the database, which is one for all machines.
        rules: `compatible` accepts every request of a published client, `strict` follows the formal model (PROTOCOL 2.1).
        retry_timeout: The time until a pending task is dispatched again, in ms or as a timedelta; `ttl`: that of its last lease.
        catchup: Which missed occurrences of a schedule are made up: `all`, `latest`, or `none` (if they are more than a minute late).
        check: Check the invariants of PROTOCOL 6 after every request and step, and raise InvariantViolation. Slow: for tests.
        debug: Serve `debug.*` envelopes; None: on a manual clock only.
        unblock_retention: How long an undelivered unblock message is kept, in ms or as a timedelta.
        durability: For a file or a database. `full`: every answered request survives a loss of power (fsync at each commit).
            `normal`: it survives a crash of the process; a loss of power may undo the last commits, each as a whole.
        busy_timeout: How long a call waits while another process writes, in ms or as a timedelta.
        read_only: Open a file or a database only for reading: a change raises ReadOnly.

    Raises:
        StoreError: The file cannot be opened, is no database, or is damaged; it is left unchanged. Or the database cannot be reached.
        StoreBusy: Another process held the store for longer than `busy_timeout`.
        Unsupported: This version does not support the URL's database, or libpq is not installed.
        Invalid: An option has another value than those above.

    Example:
        >>> with rc.Store(clock=rc.ManualClock()) as store:
        ...     _ = store.promises.create("order:1", timeout=60_000)
        ...     store.promises.resolve("order:1", "shipped").state
        'resolved'
    """
    def __class_getitem__(cls, clock: typing.Any, /) -> types.GenericAlias: ...
    def __enter__(self) -> Store[_ClockOfStore]: ...
    def __exit__(self, exc_type: typing.Any, exc: typing.Any, traceback: typing.Any) -> None: ...
    @typing.overload
    def __init__(
        self: Store[_GivenClock],
        path_or_url: str | os.PathLike[str] | None = None,
        *,
        clock: _GivenClock,
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
    @typing.overload
    def __init__(
        self: Store[SystemClock],
        path_or_url: os.PathLike[str] | None = None,
        *,
        clock: None = None,
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
    @typing.overload
    def __init__(
        self: Store[SystemClock | DatabaseClock],
        path_or_url: str,
        *,
        clock: None = None,
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
    @typing.overload
    def __init__(
        self: Store[Clock],
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
    def _limit_submissions(self, limits: RequestLimits, body_bytes: typing.SupportsInt | typing.SupportsIndex) -> None:
        """Refuse submitted requests beyond these limits when they would run. For servers, which apply the limits of their settings.

        Without this call the limits are the defaults of a server, and durations are not limited.

        Args:
            limits: As of the server's own requests; `process_at` and the like are limited without a clock, too.
            body_bytes: Bytes of the text of a request.

        Raises:
            Closed: The store is closed.

        Example:
            >>> rc.Store(clock=rc.ManualClock())._limit_submissions(rc.RequestLimits(tags=8), 100_000)
        """
    def _purge_by_kind(self, *, settled_before: int | datetime.datetime) -> tuple[int, dict[str, int]]:
        """`purge`, which returns the number of promises that belong to no job, and the numbers of jobs by state."""
    def _repr_html_(self) -> str: ...
    def _run_calls(
        self, envelopes: collections.abc.Sequence[dict[str, typing.Any] | RecordRequest]
    ) -> list[tuple[int, typing.Any]]:
        """Run the requests of typed calls in one transaction, each with its own reply. For `Store.aio`.

        Args:
            envelopes: As of `apply`, or of `Jobs._record_request`.

        Returns:
            For each its status, and the data of its reply: a `Promise` or a `Job` where the reply is that record and nothing else.

        Raises:
            Closed: The store is closed.
            StoreError: The commit failed; nothing was changed.
        """
    def acknowledge(self, numbers: collections.abc.Iterable[int]) -> list[int]:
        """Acknowledge delivered messages: take those with these numbers out of the outbox (PROTOCOL 5).

        Args:
            numbers: `Message.number` of each. Numbers that are no longer in the outbox are skipped.

        Returns:
            The numbers that were removed, in order. If several callers acknowledge one message, only one of them gets its number.

        Raises:
            Closed: The store is closed.
            StoreError: The commit failed; no message was removed.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.acknowledge([message.number for message in store.messages()])
            [1]
        """
    @typing.overload
    def apply(self, envelope: dict[str, typing.Any], now: int | None = None, atomic: bool = False) -> dict[str, typing.Any]:
        """Run a request in its envelope, of either dialect, or a list of them in one transaction (PROTOCOL 2, 8).

        A refused request gets a reply, a malformed envelope one with status 400. No request of a client raises.

        Args:
            envelope: `{"kind", "head", "data"}`, or a list of such.
            now: On a manual clock: the instant of the request, in Unix ms or as an aware datetime, to which the clock is moved. `head["resonate:debug_time"]` does
                the same. An instant that has passed is refused with status 400.
            atomic: The first refusal undoes the whole list.

        Returns:
            The envelope of the reply, or a list of them in the same order.

        Raises:
            Closed: The store is closed.
            TypeError: `now` is not an int.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> head = {"corrId": "1", "version": "2026-04-01"}
            >>> store.apply({"kind": "promise.get", "head": head, "data": {"id": "none"}})["head"]["status"]
            404
            >>> store.apply(["no envelope"])[0]["head"]
            {'corrId': '0', 'status': 400, 'version': '2026-04-01'}
        """
    @typing.overload
    def apply(
        self, envelope: list[dict[str, typing.Any]], now: int | None = None, atomic: bool = False
    ) -> list[dict[str, typing.Any]]:
        """Run a list of them in one transaction."""
    def apply_async(
        self,
        envelope: dict[str, typing.Any] | list[dict[str, typing.Any]],
        now: int | datetime.datetime | None = None,
        atomic: bool = False,
    ) -> collections.abc.Awaitable[typing.Any]:
        """Run a request like `apply`, for asyncio: outside the loop's thread, and with commits shared by the tasks of one loop.

        Requests of one iteration of the loop, or that arrive while a commit is under way, run in one transaction, in their order of arrival.
        Each gets its own reply. A commit that fails raises in all of them and changes nothing.

        Args:
            envelope: An envelope, or a list of such.
            now: On a manual clock: the instant of the request, in Unix ms or as an aware datetime.
            atomic: The first refusal undoes the whole list, which then runs in a separate transaction.

        Returns:
            An awaitable of the reply's envelope, or of a list of them.

        Raises:
            Closed: The store is closed.

        Example:
            >>> import asyncio
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> async def main():
            ...     head = {"corrId": "1", "version": "2026-04-01"}
            ...     return await store.apply_async({"kind": "promise.get", "head": head, "data": {"id": "none"}})
            >>> asyncio.run(main())["head"]["status"]
            404
        """
    @typing.overload
    def apply_json(self, envelope: bytes | str, now: int | None = None, atomic: bool = False) -> bytes:
        """Run a request like `apply`, from JSON to JSON. A batch is a Python list of texts; a JSON array in one text gets status 400.

        Args:
            envelope: JSON in UTF-8, or a list of such texts, which run in one transaction.
            now: The instant of the request on a manual clock, in Unix ms or as an aware datetime.
            atomic: The first refusal undoes the whole list.

        Returns:
            The reply as JSON in ASCII, or a list of them in the same order.

        Raises:
            Closed: The store is closed.
            TypeError: The envelope is not bytes, str or a list of them, or `now` is not an int.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.apply_json(b"{")[:42]
            b'{"kind":"unknown","head":{"corrId":"0","st'
        """
    @typing.overload
    def apply_json(self, envelope: list[bytes] | list[str], now: int | None = None, atomic: bool = False) -> list[bytes]:
        """Run a list of them in one transaction."""
    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state, as of one instant, into a new SQLite file for `Store(path)`. Other callers read and write meanwhile.

        Args:
            path: The path of the new file. It appears when it is complete and synced.

        Raises:
            StoreError: The file exists or cannot be written; no partial file remains.

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
        """Return every violated invariant of PROTOCOL 6 by name, and every problem that the store works around (`problems`). It reads the
        whole state.

        A store created with `check=True` checks the changes of each request and step, and raises InvariantViolation.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).check()
            []
        """
    def close(self) -> None:
        """Close the store: a state in memory is lost, a state in a file remains. Every later call
        raises Closed. It has no effect on a closed store.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> store.close()
            >>> store.closed
            True
        """
    def counts(self) -> dict[str, typing.Any]:
        """Return the numbers of promises and tasks by state, of schedules and of messages. It reads the whole state.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> store.counts()
            {'promises': {'pending': 1}, 'tasks': {}, 'schedules': 0, 'messages': 0}
        """
    def deliver(self) -> int:
        """Deliver the waiting messages to the functions of `on_message`, in the order of queueing, and return their number.

        An exception of a function is logged and does not affect the others.

        Raises:
            Invalid: A function that it calls calls `deliver` again.
            Closed: The store is closed.
            StoreError: Delivered messages could not be removed from the outbox, and will be delivered again.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).deliver()
            0
        """
    def digest(self) -> str:
        """Return a hash of the whole state in hex: equal states have equal digests, in every process and storage.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).digest() == rc.Store(clock=rc.ManualClock()).digest()
            True
        """
    @typing.overload
    def fork(self, clock: _GivenClock) -> Store[_GivenClock]: ...
    @typing.overload
    def fork(self, clock: None = None) -> Store[_ClockOfStore]:
        """Return an independent copy of the store in memory. A copy of a store in memory is cheap for any size: rows are shared until one of
        the two changes them. For a file, all rows are read once, and changes of the copy never affect the file.

        Args:
            clock: The clock of the copy. None: a new manual clock at the same instant, or the same clock.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
            >>> what_if = store.fork()
            >>> _ = what_if.clock.advance(5000)
            >>> what_if.promises.get("a").state, store.promises.get("a").state
            ('resolved', 'pending')
        """
    def lease_messages(self, numbers: collections.abc.Iterable[int], *, holder: str, lease: int | datetime.timedelta) -> list[int]:
        """Reserve messages for one of several processes that deliver messages of this store (PROTOCOL 5).

        Until the lease ends, no other holder gets these messages, so that a message is delivered by one process; if that process stops,
        another one gets them once the lease has ended. The messages stay in the outbox until they are acknowledged.

        Args:
            numbers: `Message.number` of each. Numbers that are no longer in the outbox are skipped.
            holder: A name of the process, unique among those that deliver. It may renew its own leases.
            lease: The length of the lease, from now, in ms or as a timedelta. 0 ends the holder's lease.

        Returns:
            The numbers that this holder has now, or has given up, in order. The others are leased by another holder, or gone.

        Raises:
            Invalid: The holder is empty, or the lease is negative.
            Closed: The store is closed.
            StoreError: The commit failed; no lease has changed.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.lease_messages([1], holder="first", lease=10_000)
            [1]
            >>> store.lease_messages([1], holder="second", lease=10_000)
            []
            >>> store.messages()[0].leased_until
            10000
        """
    def messages(
        self,
        limit: int | None = None,
        *,
        after: typing.SupportsInt | typing.SupportsIndex = 0,
        addresses: collections.abc.Iterable[str] | None = None,
    ) -> list[Message]:
        """Return the undelivered messages in the order of queueing, without taking them (PROTOCOL 5).

        Args:
            limit: The maximum of messages.
            after: Only messages with a greater `number`.
            addresses: Only messages to these addresses; an address that ends in `*` is a prefix.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> [(message.kind, message.address) for message in store.messages()]
            [('execute', 'poll://any@workers')]
        """
    def next_due(self) -> int | None:
        """Return the next instant at which a step is due, in Unix ms, never in the past; None if no step will ever be due.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
            >>> store.next_due()
            500
        """
    def on_message(
        self, scheme: str, handler: collections.abc.Callable[[Message], typing.Any], *, background: bool | None = None
    ) -> resonate_core.calls.delivery.Subscription:
        """Pass the messages of all addresses with this scheme to a function of this process (PROTOCOL 5).

        A message is delivered when the function returns; if it raises, it gets the message again after a growing delay. The function is called
        with one message at a time, at least once, and should return soon. Every exception in the thread is logged, even SystemExit.
        When the program ends, the function gets 1 s to return.

        Args:
            scheme: The text before the colon of the addresses, in lower case.
            handler: The function; it gets a `Message`.
            background: Whether a thread calls it as soon as a message is queued; otherwise `deliver` calls it. Default: a thread
                with a system clock, `deliver` with a manual clock, so that runs are repeatable.

        Returns:
            A Subscription, whose `close` ends it. It ends with the store too: keep the store or the Subscription for as long as the function
            is to be called, because a function that refers to the store does not keep it.

        Raises:
            Invalid: The scheme is empty or has a handler already.
            TypeError: `handler` is not callable.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> subscription = store.on_message("local", lambda message: print(message.kind, message.id))
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "local://here"})
            >>> store.deliver()
            execute job
            1
        """
    def outbox_counts(self) -> dict[str, int]:
        """Return the number of undelivered messages, and of unblocks that were dropped after `unblock_retention` since the store was
        created.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
            >>> store.outbox_counts()
            {'waiting': 1, 'dropped': 0}
        """
    def problems(self) -> list[Violation]:
        """Return the problems that the store works around and a person should solve, by name. No invariant is violated.

        - `schedule_set_aside`: a schedule cannot be fired, for example because its time zone is missing. It is examined again every minute, and
          fires again once it can; `catchup` decides about the missed occurrences. `check` also lists schedules that could not be fired now.

        - `clock_ahead`: the last stored instant is more than a minute ahead of the store's clock: that clock was wrong then, or is now.
          `reset_clock` corrects it.

        - `submission_refused`: a request that a program wrote with `submit` was refused when it ran. Its row in the table `inbox` (of a file:
          `resonate_inbox`) keeps it until a person deletes the row. The first 100 are listed.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).problems()
            []
        """
    def purge(self, *, settled_before: int | datetime.datetime) -> int:
        """Delete promises that were settled before an instant, with their tasks. A later create with such an id creates a new promise.

        A promise stays while an undelivered message, a callback or a task that was never dispatched refers to it, and while the root of its
        workflow (`resonate:origin`) is pending, since the workflow's next run reads its settled promises. Due steps run first. The deletion
        uses transactions of a few hundred rows, so that other callers wait only briefly, and Ctrl-C stops it between them. A
        file keeps the freed space for later rows; `vacuum()` returns it to the file system.

        Args:
            settled_before: An instant, in Unix ms or as an aware datetime, not later than now.

        Returns:
            The number of deleted promises.

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
        """Record every following change of the store, one JSON line per request or internal step, for `replay`. If another process has changed
        the store, a line with the whole state precedes the next request of this store.

        Args:
            target: The path of a file, which is overwritten, or an object with `write`. It is called while the store is locked: it must
                not wait for a thread that uses the store; if it calls the store, the call raises Invalid and the recording ends.

        Returns:
            The recording, a context manager; it ends with `close()`, or with the store.

        Raises:
            StoreError: The file cannot be opened.
            Invalid: The store has a recording already.

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
        """Set the last instant of the store, and all later stored instants, back to its clock, the system's or the database's, after that
        clock was wrong. `docs/time.md` describes the effect on deadlines, leases, retries and schedules. It reads the whole state into memory and writes
        it in one transaction; other processes that use the file continue with the new instant.

        Args:
            dry_run: Change nothing, and return what would change.

        Returns:
            "from" and "to", the instants; the number of changed "promises" (with their tasks and jobs), "schedules", "queues" and
            "messages"; and the number of unused occurrences of schedules ahead of the clock that were "removed".

        Raises:
            Invalid: The clock is a `ManualClock`.
            InvariantViolation: The corrected state would violate an invariant; nothing was changed.

        Example:
            >>> done = rc.Store().reset_clock(dry_run=True)
            >>> done["from"] == done["to"], done["promises"]
            (True, 0)
        """
    def restore(self, snapshot: dict[str, typing.Any], check: bool = True) -> None:
        """Replace the whole state by that of a full snapshot, in one transaction. A manual clock moves forward to the snapshot's instant.

        Args:
            snapshot: The result of `snapshot()`.
            check: Check every invariant of PROTOCOL 6 first.

        Raises:
            Invalid: It is not a full snapshot; the message names the member. Nothing was replaced.
            InvariantViolation: An invariant is violated. Nothing was replaced.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> other = rc.Store(clock=rc.ManualClock())
            >>> other.restore(store.snapshot())
            >>> other.digest() == store.digest()
            True
        """
    def result(self, id: str, *, timeout: float | datetime.timedelta | None = None) -> typing.Any:
        """Block the thread until a promise or a job is settled, and return its decoded value; otherwise like `wait`.

        Args:
            id: The id of the promise or job.
            timeout: Seconds of real time, or a timedelta; None: no limit but the deadline of the promise.

        Raises:
            Rejected: It was rejected or cancelled, or its deadline has passed.
            NotFound: It does not exist, or was deleted meanwhile.
            TimeoutError: It is still pending after the timeout.
            Invalid: The value is not JSON; `wait(id)` returns the promise with it.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> _ = store.promises.resolve("a", {"total": 3})
            >>> store.result("a")
            {'total': 3}
        """
    def run(self, envelopes: list[Envelope]) -> list[tuple[int, bytes]]:
        """Run envelopes in one transaction, in order, each with its own reply (PROTOCOL 8). For servers.

        Args:
            envelopes: Each may run only once. A debug operation among others gets status 400.

        Returns:
            For each envelope its status and its reply as JSON in ASCII.

        Raises:
            Closed: The store is closed.
            StoreError: The commit failed; nothing was changed.

        Example:
            >>> from resonate_core import Envelope, RequestLimits
            >>> rc.Store(clock=rc.ManualClock()).run([Envelope(b"{", RequestLimits())])[0][0]
            400
        """
    def snapshot(self, format: typing.Literal["full", "debug"] = "full") -> dict[str, typing.Any]:
        """Return the whole state as a JSON-able dict: stored rows, not projected (PROTOCOL 8).

        Args:
            format: `full` for `restore`; `debug` has the form of debug.snap (WIRE 5), without schedules.

        Raises:
            Invalid: The format is another one.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=1000)
            >>> [promise["id"] for promise in store.snapshot()["promises"]]
            ['a']
        """
    def take_messages(
        self, limit: int | None = None, *, addresses: collections.abc.Iterable[str] | None = None
    ) -> list[dict[str, typing.Any]]:
        """Take messages out of the outbox in the order of queueing, which acknowledges their delivery (PROTOCOL 5).

        Args:
            limit: The maximum of messages.
            addresses: Only messages to these addresses; an address that ends in `*` is a prefix. The others stay queued.

        Returns:
            Dicts of `key`, `address` and `message`, the last as on the wire.

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
    def tick(self, now: int | datetime.datetime | None = None, *, limit: int | None = None) -> list[Fired]:
        """Run all due steps at one instant (PROTOCOL 4).

        Other threads use the store between the transactions of a long tick, and Ctrl-C stops it there.

        Args:
            now: On a manual clock: the instant to which the clock is moved, in Unix ms or as an aware datetime; None: the clock's instant.
            limit: The maximum of steps, at least 1; further steps stay due. A clock that is centuries ahead makes a schedule miss millions of
                occurrences: with a limit, neither the tick nor its result is as long as that.

        Returns:
            The steps that fired, in order.

        Raises:
            Invalid: The instant has passed, an instant is given with the system's clock, or the limit is below 1.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
            >>> store.tick(2000)
            [Fired(kind='promise_timeout', id='a', at=500, now=2000)]
        """
    def vacuum(self) -> None:
        """Return the space of deleted promises to the file system. It rewrites the whole file and blocks other callers. It has no effect in
        memory.

        Raises:
            StoreBusy: Another process uses the file.
            StoreError: The disk has no space for the copy; the file is unchanged.

        Example:
            >>> rc.Store(clock=rc.ManualClock()).vacuum()
        """
    def wait(self, id: str, *, timeout: float | datetime.timedelta | None = None) -> Promise:
        """Block the thread until a promise is settled, and return it. A job is waited for by its id, too.

        A commit of this process ends the wait at once, a commit of another process 50 ms later at most. With a `ManualClock` a wait ends when
        another thread moves the clock to the deadline.

        Args:
            id: The id of the promise.
            timeout: Seconds of real time, or a timedelta; None: no limit but the deadline of the promise.

        Returns:
            The promise: resolved, rejected, cancelled, or past its deadline.

        Raises:
            NotFound: It does not exist, or was deleted meanwhile.
            TimeoutError: It is still pending after the timeout.
            Closed: The store is closed.

        Example:
            >>> import threading
            >>> store = rc.Store()
            >>> _ = store.promises.create("a", timeout=60_000)
            >>> threading.Timer(0.01, store.promises.resolve, ["a", 42]).start()
            >>> store.wait("a", timeout=10).value.json()
            42
        """
    def watch(
        self,
        descriptor: typing.SupportsInt | typing.SupportsIndex,
        *,
        settled: bool = False,
        queues: collections.abc.Sequence[str] = [],
    ) -> Watch:
        """Write a byte to a descriptor as soon as a message is queued, or a step becomes due earlier than was known.

        Commits of this store from any thread wake the descriptor. On PostgreSQL a message or job that another process commits wakes it
        soon after the commit; on a file, commits of other processes do not.

        Args:
            descriptor: A pipe or a socket that does not block; -1: the watch only counts.
            settled: Write it also when a commit of this process settles or deletes a pending promise.
            queues: The queues that the caller claims jobs from. Commits of other processes that make no job of these queues claimable then
                write nothing, and of many processes that claim from a queue a job wakes a few at once, and the others one after the
                other. Empty: the caller is woken at once by all commits that bring work.

        Returns:
            A Watch. When it is closed, nothing is written any more.

        Raises:
            Closed: The store is closed.

        Example:
            >>> import os
            >>> reader, writer = os.pipe()
            >>> watch = rc.Store(clock=rc.ManualClock()).watch(writer)
            >>> watch.close(); os.close(reader); os.close(writer)
        """
    @property
    def _attached(self) -> dict[str, typing.Any]:
        """Objects that the package keeps for as long as this store lives, by name."""
    @property
    def aio(self) -> resonate_core.aio.AsyncStore:
        """The same calls for asyncio: they do not block the event loop, and tasks share commits.

        Example:
            >>> import asyncio
            >>> async def main():
            ...     store = rc.Store(clock=rc.ManualClock())
            ...     await store.aio.promises.create("a", timeout=1000)
            ...     return await store.aio.promises.resolve("a", 42)
            >>> asyncio.run(main()).value.json()
            42
        """
    @property
    def catchup(self) -> str:
        """Which missed occurrences of a schedule are made up: `all`, `latest` or `none`."""
    @property
    def clock(self) -> _ClockOfStore:
        """The clock that it was created with, or the system's, or that of its database."""
    @property
    def clock_ahead(self) -> int:
        """By how many ms the last instant of the store is ahead of its clock; 0 if it is not, or if the clock is a `ManualClock`."""
    @property
    def closed(self) -> bool:
        """Whether it is closed."""
    @property
    def debug(self) -> bool:
        """Whether it serves debug operations."""
    @property
    def jobs(self) -> Jobs:
        """Its jobs."""
    @property
    def now(self) -> int:
        """The current instant of its clock, in Unix ms."""
    @property
    def path(self) -> str | None:
        """The absolute path of its file; None in memory and in a database."""
    @property
    def paused(self) -> bool:
        """Whether it is between debug.start and debug.stop; background ticks must pause."""
    @property
    def promises(self) -> Promises:
        """Its promises."""
    @property
    def queues(self) -> Queues:
        """The queues of its jobs."""
    @property
    def retry_timeout(self) -> int | typing.Literal["ttl"]:
        """The time until a pending task is dispatched again, in ms, or `ttl`."""
    @property
    def rules(self) -> str:
        """The rule set: `compatible` or `strict`."""
    @property
    def schedules(self) -> Schedules:
        """Its schedules."""
    @property
    def shared(self) -> bool:
        """Whether other processes can use it: it is in a file or in a database."""
    @property
    def submissions_waiting(self) -> int:
        """The number of requests that programs wrote with `submit` and that have not run yet, at most 1000."""
    @property
    def tasks(self) -> Tasks:
        """Its tasks."""
    @property
    def url(self) -> str | None:
        """The URL of its database, without passwords; None in memory and in a file."""
    @property
    def views(self) -> Views:
        """Reads for people: the newest jobs and promises, what is due, leases, hours."""
    @property
    def workflows(self) -> resonate_core.calls.workflows.Workflows:
        """Its workflows: send them messages, read their steps, fork and cancel them."""

def check_file(path: str | os.PathLike[str]) -> list[str]:
    """Check a store's file for damage: unreadable commits in its log, damaged pages, indexes that disagree with their
    tables, an unknown schema, unreadable rows. `Store.check` checks the invariants of the state; `python -m resonate_core
    check FILE` does both. Damage that makes another valid value is not detected; see the page on storage.

    Returns:
        A line for each problem, beginning with `names`, `log`, `integrity`, `schema`, `numbers` or `rows`; empty for a sound file.

    Raises:
        StoreError: The file cannot be opened as a store.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "app.db"
        ...     rc.Store(path).close()
        ...     rc.check_file(path)
        []
    """

def cron_next(text: str, after: int | datetime.datetime, count: int = 1) -> list[int]:
    """Return the next occurrences of a cron expression, as a schedule computes them (PROTOCOL 4, 8).

    Args:
        text: Five fields (minute hour day-of-month month day-of-week), six with seconds first, or a word such as `@hourly`; in UTC,
            unless it begins with `CRON_TZ=Area/City`. A time of day that the zone skips or repeats fires once; an interval (its second,
            minute or hour begins with `*`) continues in a repeated hour.
        after: Unix ms, or an aware datetime; occurrences are later than this.
        count: The number of occurrences.

    Returns:
        Unix ms in order; fewer than `count` if there are no more up to the year 9999.

    Raises:
        Invalid: The expression is invalid or never fires, or the count is negative.

    Example:
        >>> rc.cron_next("*/15 * * * *", after=0, count=3)
        [900000, 1800000, 2700000]
    """

def database_counts() -> dict[str, int]:
    """Return how much all stores of this process have used their databases since it started. Files are not counted.

    Returns:
        `open_connections` at present; `connections` that were opened, also in the place of lost ones; `round_trips` to a server;
        `lock_timeouts`: transactions that waited for another writer longer than `busy_timeout`; `lost_commits`: commits whose answer was
        lost, so that the server was asked for their outcome; `listening_workers`: how many processes with workers listen for jobs of the
        queues of a worker of this process, of the queue with the most, as last counted (0: none of this process listens); `shared_commits`:
        commits beside other writers; `optimistic_commits`: commits in one round trip, on what the process knew, some of them beside other
        writers, too; `run_again`: transactions of these two kinds that had to run again, most of them alone or with a look.

    Example:
        >>> rc.Store(clock=rc.ManualClock()).close()
        >>> sorted(rc.database_counts())
        ['connections', 'listening_workers', 'lock_timeouts', 'lost_commits', 'open_connections', 'optimistic_commits', 'round_trips', 'run_again', 'shared_commits']
    """

def job_state_names(state: str, gathering: bool = False) -> tuple[str, str]:
    """Return the names of a job's state in asynq and in horsies (JOBS 1): `Job.asynq_state` and `Job.horsies_state`.

    Args:
        state: The state, as `Job.state` has it.
        gathering: Whether the job gathers with its group.

    Raises:
        Invalid: No job has such a state.

    Example:
        >>> from resonate_core._core import job_state_names
        >>> job_state_names("claimed"), job_state_names("scheduled", gathering=True)
        (('active', 'CLAIMED'), ('aggregating', 'PENDING'))
    """

def job_states_before() -> dict[str, tuple[JobState, ...]]:
    """Return the states in which a request by hand applies to a job, by its kind, and those in which a job can expire (JOBS 3).

    Example:
        >>> from resonate_core._core import job_states_before
        >>> job_states_before()["job.archive"]
        ('scheduled', 'waiting', 'pending', 'retry')
    """

def make_file_like(path: str | os.PathLike[str], source: str) -> bool:
    """Make an empty file for a copy of a store, which at most those may read who may read the store's own file. A file that exists is left
    as it is.

    Args:
        path: Of the new file.
        source: `Store.path` or `Store.url` of the store.

    Returns:
        Whether the file was made.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "copy.db"
        ...     rc._core.make_file_like(path, "postgresql://localhost/app"), oct(path.stat().st_mode & 0o777)
        (True, '0o600')
    """

def path_of_file(text: str, argument: str) -> str:
    """Return the path of a SQLite file that a text names, as `check_file` reads it.

    Args:
        text: The text.
        argument: Its name, for the error.

    Raises:
        Invalid: It is the address of a database or of something else.
        Unsupported: The same, for other URLs.

    Example:
        >>> from resonate_core._core import path_of_file
        >>> path_of_file("sqlite:///app.db", "FILE")
        'app.db'
    """

def place_of_store(text: str, argument: str) -> str:
    """Return the path or the URL of PostgreSQL that a text names, as `Store` reads it.

    Args:
        text: The text.
        argument: Its name, for the error.

    Raises:
        Invalid: It is the address of something else, or one of ours in another form; the error names the nearest form.
        Unsupported: The same, for other URLs.

    Example:
        >>> from resonate_core._core import place_of_store
        >>> place_of_store("sqlite:///app.db", "place")
        'app.db'
        >>> place_of_store("host = db dbname = app", "place")
        Traceback (most recent call last):
        resonate_core.errors.Invalid: place must be the path of a SQLite file or a URL sqlite:/// or postgresql://, got a connection string: write 'postgresql://db/app', or an absolute path for a file of that name
    """

def replay(trace: str | os.PathLike[str] | collections.abc.Iterable[str | bytes]) -> Replay:
    """Run a recorded trace again on a new store in memory, and compare the results with the recorded ones.

    Args:
        trace: The path of a file, or the lines: a list, or an open file.

    Returns:
        Whether all results are equal, and the first difference.

    Raises:
        Invalid: A line is not part of a trace; the message has its number.
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

def request_kinds() -> set[str]:
    """Return the kinds of requests that a store answers, in both versions of the protocol.

    Example:
        >>> from resonate_core._core import request_kinds
        >>> sorted(kind for kind in request_kinds() if kind.startswith("promise.reg"))
        ['promise.register', 'promise.register_callback', 'promise.register_listener']
    """

def requests(
    type: type, name: str, arguments: tuple[typing.Any, ...], keywords: dict[str, typing.Any]
) -> tuple[list[tuple[str, dict[str, typing.Any]]], bool]:
    """Return the requests of a typed call, which is not run: its arguments are checked as by the call.

    Args:
        type: `Promises`, `Tasks`, `Schedules`, `Jobs` or `Queues`.
        name: The name of the method.
        arguments: Its arguments.
        keywords: Its keywords.

    Returns:
        The kind and the data of each request, as on the wire of 2026-04-01, and whether the `timeoutAt` of its promise is the time
        until then.

    Raises:
        Invalid: As the call.
        TypeError: As the call.

    Example:
        >>> from resonate_core import _core
        >>> _core.requests(_core.Promises, "get", ("a",), {})
        ([('promise.get', {'id': 'a'})], False)
        >>> _core.requests(_core.Promises, "create", ("a",), {"timeout": 1000})
        ([('promise.create', {'id': 'a', 'timeoutAt': 1000})], True)
    """

def schema_versions(path_or_url: str) -> tuple[str, int | None, int]:
    """Return the place of a store (of a URL without passwords), the version of its tables (None: there are none), and the version of this
    release. It changes nothing.

    Args:
        path_or_url: As of `Store`.

    Raises:
        Invalid: The URL cannot be parsed.
        StoreError: The file or the database cannot be read, its tables are damaged, or a newer release has made them.
        Unsupported: libpq is missing.

    Example:
        >>> from resonate_core._core import schema_versions
        >>> schema_versions("postgresql://?schema=Mine")
        Traceback (most recent call last):
        resonate_core.errors.Invalid: path_or_url must be a URL that PostgreSQL's client accepts: schema must be 1 to 63 of a-z, 0-9 and _, got "Mine"
    """

def sqlite_library() -> tuple[str, int]:
    """Return the source id of the SQLite library that stores use, and how many files they have open.

    Example:
        >>> from resonate_core._core import sqlite_library
        >>> source_id, open_files = sqlite_library()
        >>> source_id.startswith("20"), open_files >= 0
        (True, True)
    """

def step_kinds() -> set[str]:
    """Return the kinds of internal steps: the values of `Fired.kind`, which follow `step.` in a recording.

    Example:
        >>> from resonate_core._core import step_kinds
        >>> sorted(kind for kind in step_kinds() if kind.endswith("drain"))
        ['callback_drain', 'cancel_drain', 'listener_drain']
    """

def submission_problem(request: str) -> str | None:
    """Return why a request, as the JSON text of its envelope, cannot be submitted; None if it can.

    Example:
        >>> from resonate_core._core import submission_problem
        >>> submission_problem('{"kind": "promise.get", "head": {"corrId": "0", "version": "2026-04-01"}, "data": {"id": "a"}}')
        'a submitted request must change something, since no client gets its reply'
    """

def value_members(value: typing.Any, headers: collections.abc.Mapping[str, str] | None, argument: str) -> dict[str, typing.Any]:
    """Return the members of a `Value` on the wire, from what a typed call takes: bytes, a `Value`, or any JSON-able object.

    Args:
        value: The given object; None: no data.
        headers: Strings by name, or None.
        argument: The name of the value in errors.

    Raises:
        Invalid: It cannot be written as JSON.
        TypeError: Headers are given twice, or are not a mapping of strings.

    Example:
        >>> from resonate_core import _core
        >>> _core.value_members({"ok": True}, None, "param")
        {'data': 'eyJvayI6dHJ1ZX0='}
    """

def wire_fields() -> dict[str, builtins.list[dict[str, typing.Any]]]:
    """Return the members of every request by its kind, and of the parts of requests, as the core knows them: name on the wire, name in
    Python, whether it is required, and its limits.

    Example:
        >>> from resonate_core._core import wire_fields
        >>> [member["name"] for member in wire_fields()["rate"]]
        ['limit', 'per', 'burst']
    """

def without_secrets(url: str) -> str:
    """Return a text that looks like an address without what may be its user and its passwords, for messages.

    Example:
        >>> from resonate_core._core import without_secrets
        >>> without_secrets("ftp://me:secret@shop.test/x?key=secret")
        'ftp://...@shop.test/x?...'
    """

JobState: typing.TypeAlias = typing.Literal[
    "scheduled", "waiting", "pending", "claimed", "running", "retry", "archived", "completed", "failed", "cancelled", "expired"
]
PromiseState: typing.TypeAlias = typing.Literal["pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"]
TaskState: typing.TypeAlias = typing.Literal["pending", "acquired", "suspended", "halted", "fulfilled"]
__version__: str
