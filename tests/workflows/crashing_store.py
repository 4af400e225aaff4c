"""A store whose workers crash at their requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resonate_core.worker.store_client import StoreClient

__all__ = ["Crash", "CrashingStore"]


class Crash(KeyboardInterrupt):
    """Ends a drain in the middle of a request, as the end of its process does."""


class _CrashingClient(StoreClient):
    """A client that crashes before or after a request, and answers none after that."""

    def __init__(self, store: Any, crashes: Callable[[], str | None]) -> None:
        super().__init__(store)
        self._crashes = crashes
        self._over = False

    def _around(self, ask: Callable[[], Any]) -> Any:
        if self._over:
            raise Crash
        when = self._crashes()
        if when == "before":
            self._over = True
            raise Crash
        answer = ask()
        if when == "after":
            self._over = True
            raise Crash
        return answer


def _with_crashes(name: str) -> Any:
    plain = getattr(StoreClient, name)
    return lambda self, *args: self._around(lambda: plain(self, *args))


for _name in (
    "exchange",
    "claim",
    "start_many",
    "complete_many",
    "end_many",
    "report",
    "run",
    "send",
    "record",
    "history",
    "promises",
):
    setattr(_CrashingClient, _name, _with_crashes(_name))


class CrashingStore:
    """A store whose workers crash at their requests.

    Args:
        store: The store.
        crashes: Returns whether the worker crashes `before` or `after` the next request; None: neither.
    """

    def __init__(self, store: Any, crashes: Callable[[], str | None]) -> None:
        self._store = store
        self._crashes = crashes

    def worker_client(self) -> StoreClient:
        """Return the client of a worker."""
        return _CrashingClient(self._store, self._crashes)
