"""Threads of one process on one store: each job is claimed by one thread and completed once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

import resonate_core as rc

THREADS, JOBS = 16, 2_000


@pytest.mark.parametrize("home", ["memory", "sqlite"])
@pytest.mark.parametrize("lifecycle", ["asynq", "horsies"])
def test_threads_share_the_jobs(tmp_path: Path, home: str, lifecycle: str) -> None:
    store = rc.Store() if home == "memory" else rc.Store(tmp_path / "app.db", durability="normal")
    store.queues.set("a", weight=3, lifecycle=lifecycle, concurrency=40, defaults={"retention": None})
    store.queues.set("b", lifecycle=lifecycle, defaults={"retention": None})
    seen: list[Counter[tuple[str, int]]] = [Counter() for _ in range(THREADS)]
    faults: list[BaseException] = []
    enqueued = threading.Event()

    def enqueue() -> None:
        for n in range(0, JOBS, 100):
            store.jobs.enqueue_many("t", range(100), ids=[f"{n + i}" for i in range(100)], queue="ab"[n // 100 % 2])
        enqueued.set()

    def work(me: int) -> None:
        try:
            while True:
                last = enqueued.is_set()
                jobs = list(store.jobs.claim(["a", "b"], 1 + me % 7, worker=f"w{me}", lease=600_000))
                for job in jobs:
                    seen[me][job.id, job.version] += 1
                    if job.state == "claimed":
                        store.jobs.start(job.id, job.version)
                if me % 2:
                    assert set(store.jobs.complete_many([(job.id, job.version, me) for job in jobs]) if jobs else [200]) == {200}
                else:
                    for job in jobs:
                        store.jobs.complete(job.id, job.version, me)
                if last and not jobs:
                    return
        except BaseException as fault:
            faults.append(fault)
            raise

    threads = [threading.Thread(target=work, args=(me,)) for me in range(THREADS)] + [threading.Thread(target=enqueue)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    # A thread may end early, if it finds no job while others hold as many as the limit allows; the others run the rest.
    together: Counter[tuple[str, int]] = sum(seen, Counter())
    assert together == Counter({(str(n), 1): 1 for n in range(JOBS)})
    counts = [queue["counts"] for queue in store.queues.stats()]
    assert sum(count["completed"] for count in counts) == JOBS == sum(sum(count.values()) for count in counts)
    assert store.check() == []
    store.close()
