"""The threads of synchronous handlers."""

from __future__ import annotations

import threading

import pytest
from waiting import until

from resonate_core.worker.threads import Threads


def test_each_item_is_run_once():
    done: list[int] = []
    threads: Threads[int] = Threads(4, done.append, "t")
    for first in range(0, 10_000, 10):
        threads.submit(range(first, first + 10))
    until(lambda: len(done) == 10_000, len(done))
    assert sorted(done) == list(range(10_000))
    threads.close()


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_items_that_wait_are_waited_for_together(limit):
    """All that may run at once do: none passes the barrier before."""
    barrier = threading.Barrier(limit + 1)
    done: list[int] = []

    def run(item: int) -> None:
        barrier.wait(60)
        done.append(item)

    threads: Threads[int] = Threads(limit, run, "t")
    threads.submit(range(limit * 3))
    for _ in range(3):
        barrier.wait(60)
    until(lambda: len(done) == limit * 3)
    threads.close()


def test_never_more_than_the_limit():
    lock = threading.Lock()
    now = most = 0
    left = threading.Semaphore(0)

    def run(item: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.001)
        with lock:
            now -= 1
        left.release()

    threads: Threads[int] = Threads(3, run, "t")
    for item in range(60):
        threads.submit([item])
    for _ in range(60):
        assert left.acquire(timeout=60)
    assert most <= 3
    threads.close()


def test_they_end_when_they_are_closed():
    before = set(threading.enumerate())
    done: list[int] = []
    threads: Threads[int] = Threads(3, done.append, "t")
    threads.submit(range(30))
    until(lambda: len(done) == 30)
    threads.close()
    until(lambda: set(threading.enumerate()) <= before)


def test_one_that_cannot_report_does_not_end_its_thread(caplog: pytest.LogCaptureFixture):
    done: list[int] = []

    def run(item: int) -> None:
        if item == 0:
            raise MemoryError
        done.append(item)

    threads: Threads[int] = Threads(1, run, "t")
    threads.submit(range(3))
    until(lambda: done == [1, 2])
    threads.close()
    assert "has lost the outcome of its job" in caplog.text
