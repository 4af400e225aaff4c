"""Database connections and caches of a thread that runs jobs, treated as Django does between two requests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from django.core.cache import caches, close_caches
from django.db import connections

__all__ = ["between_requests"]


@contextlib.contextmanager
def between_requests() -> Iterator[None]:
    """Run a block of this thread with caches of its own; before and after, treat its database connections as between two requests."""
    _tidy_connections()
    with _own_caches():
        try:
            yield
        finally:
            _tidy_connections()


def _tidy_connections() -> None:
    """Close the database connections of this thread that are broken or old, and forget their log of queries, as between two requests.

    A connection in a transaction stays as it is: it is the one of a test that runs tasks in its own thread.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.queries_log.clear()
            connection.close_if_unusable_or_obsolete()


@contextlib.contextmanager
def _own_caches() -> Iterator[None]:
    """Give an attempt in a thread caches of its own, and close them.

    Django keeps them in context variables, of which an attempt has a copy, and they are not safe for several threads.
    """
    if threading.current_thread() is threading.main_thread():  # a test that runs tasks in its own thread
        yield
        return
    for alias in caches:
        with contextlib.suppress(AttributeError):  # it was not used before the worker started
            del caches[alias]
    try:
        yield
    finally:
        close_caches()
