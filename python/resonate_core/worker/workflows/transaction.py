"""Steps that happen exactly once, in a transaction of the application's own database."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from ..outcomes import JobError
from ..transactions import (
    AnotherStep,
    StepKey,
    StepUnsettled,
    run_in_transaction,
    run_in_transaction_async,
    run_once,
    run_once_async,
)
from .calls import Call
from .failures import StepTimeout
from .plain import Plain, async_scope
from .records import Reader
from .scope import Scope, scope_here
from .steps import Step, StepCall, plain_step

__all__ = ["TransactionCall", "transaction", "transaction_in_thread"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class TransactionCall(StepCall[R]):
    """A call of a function in a transaction of the application."""

    __slots__ = ("_session",)

    def __init__(self, scope: Scope, step: Step, session: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        super().__init__(
            scope, step.under(f"transaction {step.name}", self._once_async if step.is_async else self._once), args, kwargs
        )
        self._session = session

    def _key(self) -> StepKey:
        job = self.run.job
        return StepKey(job.id, job.created_at or 0, job.restarts, self.id.removeprefix(f"{job.id}:"))

    def _codec(self) -> dict[str, Any]:
        reader = self.step.reader()
        return {"encode": lambda result: _encoded(reader, result), "decode": lambda text: reader.of_json(json.loads(text))}

    def _once(self, *args: Any, **kwargs: Any) -> Any:
        function = self.step.original
        return run_once(self._session, self._key(), function, args, kwargs, name=self.step.name, **self._codec())

    async def _once_async(self, *args: Any, **kwargs: Any) -> Any:
        function = self.step.original
        return await run_once_async(self._session, self._key(), function, args, kwargs, name=self.step.name, **self._codec())

    def may_retry(self, error: BaseException, attempt: int) -> bool:
        """Whether to run it again. If it is not known whether a commit took effect, the row tells the next attempt."""
        if isinstance(error, AnotherStep):
            raise self.run.diverged(f"{self.id} ({self.name}): {error}")
        unheard = isinstance(error, StepTimeout) and not self.step.is_async  # its thread may still commit
        return unheard or isinstance(error, StepUnsettled) or super().may_retry(error, attempt)


def _encoded(reader: Reader, result: Any) -> str:
    """Return a result as the row keeps it. Nothing is committed if it has no JSON."""
    try:
        stored, _ = reader.checked(result)
        return json.dumps(stored, allow_nan=False)
    except Exception as error:
        raise JobError("InvalidResult", f"what the function returned cannot be stored: {error}", retryable=False) from error


@overload
def transaction(
    function: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], session: Any, /, *args: P.args, **kwargs: P.kwargs
) -> Call[R]: ...


@overload
def transaction(function: Callable[Concatenate[Any, P], R], session: Any, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]: ...


def transaction(function: Callable[..., Any], session: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function as a step that takes effect exactly once: in a transaction of the application's own database, with any store.

    The transaction first inserts a row of the table `resonate_steps`, then runs the function, and commits its result with its effects.
    If a crash comes between this commit and the record, the next attempt takes the result from the row. See "Exactly once".

    Args:
        function: It gets the session first, and neither commits nor rolls back. A `def` runs in a thread; a `step` has its policy.
        session: To the database: of SQLAlchemy, psycopg, asyncpg, sqlite3, aiosqlite or Django, or a function that opens one. It must
            not be in a transaction. A `def` in an `async def` workflow runs in another thread: pass a function that opens the session.
        args: Further arguments of the function.
        kwargs: Its keywords.

    Raises:
        StepFailed: When awaited: it has failed for good, and was rolled back.

    Example:
        >>> import functools, pathlib, sqlite3, tempfile
        >>> from resonate_core.workflow import transaction
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> def place(shop: sqlite3.Connection, order: str) -> int:
        ...     _ = shop.execute("CREATE TABLE IF NOT EXISTS orders (id TEXT)")
        ...     return shop.execute("INSERT INTO orders VALUES (?)", (order,)).rowcount
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     open_shop = functools.partial(sqlite3.connect, pathlib.Path(folder) / "shop.db")
        ...     @worker.workflow("place")
        ...     async def placed(order: str) -> int:
        ...         return await transaction(place, open_shop, order)
        ...     _ = placed.delay("7")
        ...     worker.run_until_idle().runs[0].result
        1
    """
    made = plain_step(function)
    scope = async_scope(f"transaction({made.name})")
    if scope is None:
        in_one = run_in_transaction_async if made.is_async else run_in_transaction
        return Plain(lambda: in_one(session, made.function, args, kwargs))
    return TransactionCall(scope, made, session, args, kwargs)


def transaction_in_thread(function: Callable[Concatenate[Any, P], R], session: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function as a step that takes effect exactly once; see `resonate_core.workflow.transaction`.

    Args:
        function: It gets the session first.
        session: To the database.
        args: Further arguments.
        kwargs: Its keywords.

    Raises:
        StepFailed: It has failed for good, and was rolled back.
    """
    made = plain_step(function)
    scope = scope_here(f"transaction({made.name})")
    if scope is None:
        plain: R = run_in_transaction(session, function, args, kwargs)
        return plain
    value: R = scope.run.perform(TransactionCall(scope, made, session, args, kwargs))  # type: ignore[attr-defined]
    return value
