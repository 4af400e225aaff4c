"""One interface to the sessions and connections of all libraries.

Methods are coroutines. Those of a synchronous library never suspend, so that `driven` runs them without an event loop.
"""

from __future__ import annotations

import contextlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, TypeVar

from ...errors import Invalid
from .statements import Dialect, Statement

__all__ = ["LEFT", "Refused", "Session", "awaited", "driven", "in_transaction", "refuse_coroutine"]

_T = TypeVar("_T")

#: The rule that a function has broken if its transaction is not open after it.
LEFT = "the function of a step must leave its transaction open: it may neither commit nor roll back, nor go on after a failed statement"


class Refused(Exception):
    """A session as it is cannot be used: nothing was done."""


def in_transaction(hint: str = "commit or roll back first") -> Refused:
    """The refusal of a session in a transaction, whose commit would be another's."""
    return Refused(f"the session must not be in a transaction, since a step begins and commits its own: {hint}")


class Session(ABC):
    """A session or connection of a library, and at most one transaction of it.

    Attributes:
        asynchronous: Whether its library is for asyncio.
        dialect: Of its database.
        given: What the function of a step gets.
    """

    asynchronous: bool
    dialect: Dialect
    given: Any

    @abstractmethod
    async def begin(self) -> None:
        """Begin a transaction.

        Raises:
            Refused: It is in one.
        """

    @abstractmethod
    async def change(self, statement: Statement) -> int:
        """Run a statement; return the number of changed rows."""

    @abstractmethod
    async def read(self, statement: Statement) -> tuple[Any, ...] | None:
        """Run a query; return its first row."""

    @abstractmethod
    async def end_function(self) -> None:
        """Send what the function has left unsent, and check that its transaction is still open.

        Raises:
            Invalid: It is not.
        """

    @abstractmethod
    async def commit(self) -> None:
        """Commit the transaction."""

    @abstractmethod
    async def undo(self) -> None:
        """Roll the transaction back; may raise if the connection is lost, since the database has rolled it back then."""

    async def rollback(self) -> None:
        """Roll the transaction back. An error of it does not hide the one that led here."""
        with contextlib.suppress(Exception):
            await self.undo()


async def awaited(value: Any) -> Any:
    """What a call of a library returns, of its synchronous or its asynchronous face."""
    return await value if inspect.isawaitable(value) else value


def refuse_coroutine(returned: Any) -> Any:
    """What a function has returned on a synchronous session.

    Raises:
        Invalid: It is a coroutine.
    """
    if inspect.iscoroutine(returned):
        returned.close()
        raise Invalid("function must return its result, got a coroutine: it needs an asynchronous session, and to be awaited")
    return returned


def driven(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never suspends, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a session of a synchronous library has suspended")
