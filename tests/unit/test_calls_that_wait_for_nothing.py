"""Calls that an event loop may make while a store's file is locked: they do not wait behind a call that waits for the lock."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc

FAR = 10**15


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


@contextmanager
def locked(file: Path) -> Iterator[sqlite3.Connection]:
    """Another connection's transaction on the file of a store, until it is committed."""
    with closing(sqlite3.connect(file, isolation_level=None)) as app:
        app.execute("BEGIN IMMEDIATE")
        yield app


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.path,
        lambda store: store.url,
        lambda store: store.shared,
        lambda store: store.now,
        lambda store: store.paused,
        repr,
        lambda store: store.watch(-1).close(),
    ],
    ids=["path", "url", "shared", "now", "paused", "repr", "watch"],
)
def test_the_answer_comes_while_another_thread_waits_for_the_file(file: Path, ask: Callable[[rc.Store], Any]) -> None:
    with rc.Store(file, busy_timeout=30_000) as store, ThreadPoolExecutor(1) as threads, locked(file) as app:
        waits = threads.submit(store.promises.create, "a", FAR)
        time.sleep(0.1)
        ask(store)
        assert not waits.done()
        app.execute("COMMIT")
        assert waits.result().state == "pending"


def test_a_wait_begins_while_a_thread_waits_for_a_transaction_of_the_loop(file: Path) -> None:
    async def main() -> None:
        with rc.Store(file) as store:
            store.promises.create("a", FAR)
            with locked(file) as app:
                creating = asyncio.ensure_future(store.aio.promises.create("b", FAR))
                await asyncio.sleep(0.1)  # a thread waits for the lock
                waiting = asyncio.ensure_future(store.aio.wait("a", timeout=60))
                await asyncio.sleep(0.1)
                app.execute("COMMIT")
            assert (await creating).state == "pending"
            await store.aio.promises.resolve("a", os.getpid())
            assert (await waiting).value.json() == os.getpid()

    asyncio.run(main())
