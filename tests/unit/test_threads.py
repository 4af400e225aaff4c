"""Many threads, one store: every request is atomic, and other Python threads run meanwhile."""

from __future__ import annotations

import contextlib
import io
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import resonate_core as rc

THREADS = 8
EACH = 300


def together(work: Callable[[int], object]) -> None:
    """Runs work(0), work(1), ... in parallel, and raises the error of any of them."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, number) for number in range(THREADS)]:
            done.result(timeout=120)


def test_every_promise_is_settled_once() -> None:
    store = rc.Store(clock=rc.ManualClock(), check=True)
    winners: list[str] = []

    def work(number: int) -> None:
        for i in range(EACH):
            store.promises.create(f"p{i}", 1000)
            settled = store.promises.resolve(f"p{i}", number)
            if settled.value.json() == number:
                winners.append(settled.id)

    together(work)
    assert sorted(winners) == sorted(f"p{i}" for i in range(EACH))
    assert store.counts()["promises"] == {"resolved": EACH} and store.check() == []


def test_every_task_is_acquired_once() -> None:
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create_many([f"t{i}" for i in range(EACH)], 10**9, tags={"resonate:target": "poll://any@w"})
    acquired: list[str] = []

    def work(number: int) -> None:
        order = list(range(EACH))
        random.Random(number).shuffle(order)
        for i in order:
            with contextlib.suppress(rc.Conflict):
                acquired.append(store.tasks.acquire(f"t{i}", 0, pid=str(number), ttl=1000).task.id)

    together(work)
    assert len(acquired) == len(set(acquired)) == EACH and store.check() == []


def test_everything_at_once() -> None:
    """Typed calls, envelopes, a moving clock, forks, snapshots and a recording, all on one store."""
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    recording = store.record(trace)
    jobs: list[Callable[[int], object]] = [
        lambda i: store.promises.create(f"p{i}", timeout=i % 50, tags={"resonate:target": "poll://any@w"}),
        lambda i: store.apply({"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": f"p{i}"}}),
        lambda i: store.apply_json(
            b'{"kind":"promise.create","head":{"corrId":"1","version":"2025-01-15"},"data":{"id":"q%d","timeoutAt":%d,"param":{},"tags":{}}}'
            % (i, i)
        ),
        lambda i: clock.advance(3),
        lambda i: (store.fork().check(), store.digest()) if i % 50 == 0 else store.take_messages(limit=3),
        lambda i: store.promises.search(limit=5),
        lambda i: store.promises.create_many([f"m{i}.{k}" for k in range(3)], 10**6),
        lambda i: (store.now, clock.now, store.next_due(), repr(store)),
    ]

    def work(number: int) -> None:
        for i in range(EACH):
            jobs[number](i)

    together(work)
    recording.close()
    assert store.check() == []
    assert rc.replay(trace.getvalue().splitlines()).ok


def test_one_clock_moved_by_many() -> None:
    clock = rc.ManualClock()
    stores = [rc.Store(clock=clock) for _ in range(3)]
    for store in stores:
        store.promises.create_many([f"p{i}" for i in range(EACH)], range(1, EACH + 1), tags={"resonate:timer": "true"})
    fired: list[rc.Fired] = []
    together(lambda _: fired.extend(step for _ in range(EACH // 10) for step in clock.advance(2)))
    assert clock.now == THREADS * (EACH // 10) * 2
    fired.extend(clock.advance(EACH))
    assert len(fired) == 3 * EACH


def test_python_runs_while_the_engine_works() -> None:
    """The engine releases the GIL: another thread counts during a long tick."""
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create_many([f"p{i}" for i in range(60_000)], 10, tags={"resonate:timer": "true"})
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    before = counted
    assert len(store.tick(20)) == 60_000
    during = counted - before
    done.set()
    counter.join()
    assert during > 0


def test_closed_under_the_hands_of_others() -> None:
    store = rc.Store(clock=rc.ManualClock())

    def work(number: int) -> None:
        for i in range(EACH):
            if number == 0 and i == EACH // 2:
                store.close()
            store.promises.create(f"{number}.{i}", 1000)

    with pytest.raises(rc.Closed):
        together(work)
