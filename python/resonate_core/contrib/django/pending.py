"""Requests in open transactions: callbacks of Django's `transaction.on_commit`.

Django drops the callbacks of a transaction, or of a savepoint, that is rolled back. So the list of the callbacks that wait is also
the list of what this transaction has enqueued so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db import connections, transaction

from .framework import TaskResult

__all__ = ["Pending", "in_transaction", "take", "waiting"]


class Pending:
    """A request in a transaction that is still open.

    Args:
        alias: Of the backend.
        result: Of the task that it enqueues, if it does.
        committed: Called once the transaction has committed.
    """

    def __init__(self, alias: str, result: TaskResult | None, committed: Callable[[], Any]) -> None:
        self.alias = alias
        self.result = result
        self._committed = committed

    def __call__(self) -> None:
        """Continue after the commit."""
        self._committed()

    def register(self, database: str, *, robust: bool) -> None:
        """Wait for the commit of the database's transaction.

        Args:
            database: Its alias.
            robust: Whether an error after the commit is logged instead of raised: the commit cannot be undone.
        """
        transaction.on_commit(self, using=database, robust=robust)


def in_transaction(database: str) -> bool:
    """Whether a transaction is open on Django's connection of this thread, by `atomic` or without autocommit."""
    connection = connections[database]
    if connection.in_atomic_block:
        return True
    if connection.connection is None:  # it begins as the settings say
        return not connection.settings_dict["AUTOCOMMIT"]
    return not connection.get_autocommit()


def waiting(database: str, alias: str) -> Iterator[Pending]:
    """Yield what the open transaction has enqueued in a backend, in order."""
    for _, callback, _ in connections[database].run_on_commit:
        if isinstance(callback, Pending) and callback.alias == alias:
            yield callback


def take(database: str, alias: str) -> list[Pending]:
    """Remove and return what the open transaction has enqueued in a backend, so that its commit does nothing more."""
    taken = list(waiting(database, alias))
    connection = connections[database]
    connection.run_on_commit = [each for each in connection.run_on_commit if each[1] not in taken]
    return taken
