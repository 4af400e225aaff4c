"""A commit wakes a waiting thread or event loop, once until it is rearmed."""

from __future__ import annotations

import asyncio
import gc
import os
import threading

import pytest

import resonate_core as rc
from resonate_core.calls.wakeup import Wakeup

FAR = 10**15
TAGS = {"resonate:target": "poll://any@g"}


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(0))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


def woken(wakeup: Wakeup) -> bool:
    """Whether the wakeup is set now."""
    called = []
    loop = asyncio.new_event_loop()
    try:
        wakeup.listen(loop, lambda: called.append(True))
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
        loop.remove_reader(wakeup._reader)
    finally:
        loop.close()
    return bool(called)


def test_a_message_wakes_once_until_it_is_rearmed(store: rc.Store) -> None:
    with Wakeup(store.watch) as wakeup:
        assert not woken(wakeup)
        store.promises.create("a", timeout_at=FAR, tags=TAGS)
        assert woken(wakeup)
        store.promises.create("b", timeout_at=FAR, tags=TAGS)
        assert not woken(wakeup)
        wakeup.rearm(None)
        store.promises.create("c", timeout_at=FAR, tags=TAGS)
        assert woken(wakeup)


def test_a_step_that_is_due_earlier_wakes(store: rc.Store) -> None:
    timer = {"resonate:timer": "true"}
    with Wakeup(store.watch) as wakeup:
        wakeup.rearm(500)
        store.promises.create("later", timeout_at=600, tags=timer)
        assert not woken(wakeup)
        store.promises.create("sooner", timeout_at=400, tags=timer)
        assert woken(wakeup)


def test_a_thread_waits_for_it(store: rc.Store) -> None:
    with Wakeup(store.watch) as wakeup:
        wakeup.wait(0)  # no commit: it returns
        waiting = threading.Thread(target=wakeup.wait, args=(3600,))
        waiting.start()
        store.promises.create("a", timeout_at=FAR, tags=TAGS)
        waiting.join(60)
        assert not waiting.is_alive()


def test_it_is_woken_by_hand(store: rc.Store) -> None:
    with Wakeup(store.watch) as wakeup:
        for _ in range(100_000):  # more bytes than a pipe holds
            wakeup.wake()
        assert woken(wakeup)


def test_where_there_is_nothing_to_watch_it_waits() -> None:
    with Wakeup(lambda descriptor: None) as wakeup:
        wakeup.rearm(5)
        assert not woken(wakeup)


def test_its_descriptors_are_closed(store: rc.Store) -> None:
    gc.collect()
    before = descriptors()
    wakeup = Wakeup(store.watch)
    assert descriptors() == before + 2
    wakeup.close()
    wakeup.close()
    assert descriptors() == before
    Wakeup(store.watch).rearm(None)
    gc.collect()
    assert descriptors() == before
    store.close()
    with pytest.raises(rc.Closed):
        Wakeup(store.watch)
    gc.collect()
    assert descriptors() == before
