"""The exceptions of the typed calls.

A refusal of the protocol carries its status. Envelopes (`Store.apply`, `Store.apply_json`) do not raise; they return a reply::

    ResonateError
    ├── Invalid              400  the request is invalid (also a ValueError)
    ├── NotFound             404  the promise, task or schedule does not exist
    ├── Conflict             409  the state or version is not the expected one
    ├── Unprocessable        422  a promise or task that the request relates to does not fit
    ├── StoreError           500  the storage failed
    │   ├── Closed                the store is closed
    │   ├── StoreBusy             another process held the file for too long
    │   ├── ReadOnly              the store was opened for reading only
    │   ├── Unreachable           a server did not answer, or was busy
    │   └── NoEnvelope            a server answered, and not in the protocol
    ├── Unsupported          501  this version or storage does not support it
    ├── InvariantViolation   500  an invariant of PROTOCOL 6 is violated
    ├── PartlyEnqueued            of many jobs, a server has enqueued only some
    └── Rejected             200  the awaited promise was rejected, cancelled or timed out
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from resonate_core._core import Job, Promise, Violation

__all__ = [
    "ClockWarning",
    "Closed",
    "Conflict",
    "Invalid",
    "InvariantViolation",
    "NoEnvelope",
    "NotFound",
    "PartlyEnqueued",
    "ReadOnly",
    "Rejected",
    "ResonateError",
    "StoreBusy",
    "StoreError",
    "Unprocessable",
    "Unreachable",
    "Unsupported",
]


class ResonateError(Exception):
    """The base class of the exceptions of a store.

    Attributes:
        status: The protocol's status (PROTOCOL 2), as in an envelope.
        message: The problem, with the value.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> try:
        ...     store.promises.get("none")
        ... except rc.errors.ResonateError as error:
        ...     print(type(error).__name__, error.status)
        NotFound 404
    """

    default_status: ClassVar[int] = 500

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = self.default_status if status is None else status

    def __reduce__(self) -> tuple[type[ResonateError], tuple[object, ...]]:
        return type(self), (self.message, self.status)


class Invalid(ResonateError, ValueError):
    """400: the request is invalid for any state of the store (PROTOCOL 3, shape rules).

    Example:
        >>> rc.ManualClock().advance(-1)
        Traceback (most recent call last):
        ...
        resonate_core.errors.Invalid: ...
    """

    default_status = 400


class NotFound(ResonateError):
    """404: the promise, task or schedule that the request names does not exist.

    Example:
        >>> rc.Store(clock=rc.ManualClock()).tasks.get("nobody")
        Traceback (most recent call last):
        ...
        resonate_core.errors.NotFound: ...
    """

    default_status = 404


class Conflict(ResonateError):
    """409: the state, version or idempotency key is not the one that the request expects.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000, idempotency_key="one")
        >>> store.promises.create("a", timeout=1000, idempotency_key="two")
        Traceback (most recent call last):
        ...
        resonate_core.errors.Conflict: ...
    """

    default_status = 409


class Unprocessable(ResonateError):
    """422: a promise or task that the request relates to does not fit, such as an awaiter without a target.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create_many(["a", "b"], 1000)
        >>> store.promises.register_callback("a", "b")
        Traceback (most recent call last):
        ...
        resonate_core.errors.Unprocessable: ...
    """

    default_status = 422


class StoreError(ResonateError):
    """500: the storage failed, or a file could not be written. No request is half done.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.record("/no/such/directory/trace.jsonl")
        Traceback (most recent call last):
        ...
        resonate_core.errors.StoreError: ...
    """

    default_status = 500


class Closed(StoreError):
    """The store is closed.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> store.close()
        >>> store.digest()
        Traceback (most recent call last):
        ...
        resonate_core.errors.Closed: the store is closed
    """


class StoreBusy(StoreError):
    """Another process held the store's file for longer than `busy_timeout`. Nothing was changed; the call may be repeated.

    Example:
        >>> import sqlite3, tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "app.db"
        ...     store = rc.Store(path, clock=rc.ManualClock(), busy_timeout=10)
        ...     other = sqlite3.connect(path, isolation_level=None)
        ...     _ = other.execute("BEGIN IMMEDIATE")
        ...     try:
        ...         store.promises.create("a", 1000)
        ...     except rc.errors.StoreBusy:
        ...         print("busy")
        ...     other.close()
        ...     store.close()
        busy
    """


class ReadOnly(StoreError):
    """The store was opened with ``read_only=True``, and the call would change it.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "app.db"
        ...     rc.Store(path).close()
        ...     with rc.Store(path, clock=rc.ManualClock(), read_only=True) as store:
        ...         try:
        ...             store.promises.create("a", 1000)
        ...         except rc.errors.ReadOnly:
        ...             print("read-only")
        read-only
    """


class Unreachable(StoreError):
    """A server did not answer, or was busy, also after the retries of the client. The request may have been executed all the same.

    Attributes:
        answered: The HTTP status; None without an answer.
        executed: Whether the request may have been executed; False: it was not.
        retry_after: The seconds after which the server asks to try again, or None.

    Example:
        >>> client = rc.connect("http://127.0.0.1:9", retry_for=0)  # no server is there
        >>> try:
        ...     client.promises.get("a")
        ... except rc.errors.Unreachable as error:
        ...     print(error.answered)
        None
        >>> client.close()
    """

    default_status = 503

    def __init__(self, message: str, answered: int | None = None) -> None:
        super().__init__(message, answered)
        self.answered = answered
        self.executed = True
        self.retry_after: float | None = None

    def __reduce__(self) -> tuple[type[ResonateError], tuple[object, ...]]:
        return type(self), (self.message, self.answered)


class NoEnvelope(StoreError):
    """A server answered, and the answer is none of the protocol, or has more bytes than `answer_bytes` of the client.

    What it says is not used. The request may have been executed, and is not sent again.

    Attributes:
        answered: The HTTP status; None for an event of a stream.
        too_long: Whether it has more bytes than `answer_bytes`.

    Example:
        >>> from resonate_core.errors import NoEnvelope
        >>> NoEnvelope("http://127.0.0.1:80 does not speak the protocol: it answered 404", 404).status
        502
    """

    default_status = 502

    def __init__(self, message: str, answered: int | None = None) -> None:
        super().__init__(message)
        self.answered = answered
        self.too_long = False

    def __reduce__(self) -> tuple[type[ResonateError], tuple[object, ...]]:
        return type(self), (self.message, self.answered)


class Unsupported(ResonateError):
    """501: this version or this storage does not support it.

    Example:
        >>> rc.Store("mysql://localhost/promises")
        Traceback (most recent call last):
        ...
        resonate_core.errors.Unsupported: ...
    """

    default_status = 501


class InvariantViolation(ResonateError):
    """Invariants of PROTOCOL 6 are violated: raised by a store with ``check=True``, and by `Store.restore`.

    Attributes:
        violations: Each violated invariant, with its name, the id and the finding.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", 1000)
        >>> snapshot = store.snapshot()
        >>> snapshot["promises"][0]["createdAt"] = 2000
        >>> try:
        ...     store.restore(snapshot)
        ... except rc.errors.InvariantViolation as error:
        ...     print({violation.id for violation in error.violations})
        {'a'}
    """

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = list(violations)
        super().__init__("; ".join(f"{v.name} ({v.id}): {v.detail}" for v in self.violations))

    def __reduce__(self) -> tuple[type[InvariantViolation], tuple[object, ...]]:
        return type(self), (self.violations,)


class PartlyEnqueued(ResonateError):
    """Of the jobs of one `enqueue_many` of a client, some were enqueued and some were not. Its status is that of `problem`.

    Attributes:
        enqueued: The jobs that were enqueued, in order.
        missing: The indexes of the payloads that were not enqueued, in order; after an `Unreachable`, that may have been.
        problem: Why the first of them was not.
    """

    def __init__(self, problem: ResonateError, enqueued: Sequence[Job], missing: Sequence[int]) -> None:
        self.problem = problem
        self.enqueued = list(enqueued)
        self.missing = list(missing)
        many = len(self.enqueued) + len(self.missing)
        super().__init__(f"{len(self.enqueued)} of {many} jobs were enqueued; payload {self.missing[0]}: {problem}", problem.status)

    def __reduce__(self) -> tuple[type[PartlyEnqueued], tuple[object, ...]]:
        return type(self), (self.problem, self.enqueued, self.missing)


class Rejected(ResonateError):
    """The awaited promise was rejected or cancelled, or its deadline has passed. The wait itself succeeded: its status is 200.

    Attributes:
        promise: The settled promise; `promise.state` says how it was settled, and `promise.value` holds the error.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000)
        >>> _ = store.promises.reject("a", {"code": "NoStock", "message": "sold out"})
        >>> store.result("a")
        Traceback (most recent call last):
        ...
        resonate_core.errors.Rejected: promise "a" is rejected: NoStock: sold out
    """

    default_status = 200

    def __init__(self, promise: Promise) -> None:
        self.promise = promise
        from ._foreign_text import clean  # not above: it imports json and re, which a program without an error does not need

        super().__init__(f'promise "{clean(promise.id)}" is {promise.state}{_reason(promise)}')

    def __reduce__(self) -> tuple[type[Rejected], tuple[object, ...]]:
        return type(self), (self.promise,)


def _reason(promise: Promise) -> str:
    """The error of a rejected promise in words, if its value has one."""
    from ._foreign_text import MOST_OF_A_REFUSAL, excerpt

    try:
        error: Any = promise.value.json()
    except (Invalid, RecursionError):
        return ""
    if isinstance(error, dict):
        parts = [error[part] for part in ("code", "message") if isinstance(error.get(part), str) and error[part]]
        return ": " + excerpt(": ".join(parts), MOST_OF_A_REFUSAL) if parts else ""
    return ": " + excerpt(error, MOST_OF_A_REFUSAL) if isinstance(error, str) and error else ""


class ClockWarning(RuntimeWarning):
    """The last instant of an opened store is more than a minute ahead of its clock.

    One of the two is wrong. `Store.clock_ahead` is the difference; `Store.reset_clock` and ``resonate-core clock reset`` correct the store.

    Example:
        >>> import pathlib, tempfile, warnings
        >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     path = pathlib.Path(folder) / "app.db"
        ...     rc.Store(path, clock=rc.ManualClock(2**42)).close()  # 2109
        ...     rc.Store(path).close()
        >>> [warning.category.__name__ for warning in caught]
        ['ClockWarning']
    """
