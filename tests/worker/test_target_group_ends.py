"""The last rules of a target group; see `test_target_group`."""

from __future__ import annotations

import threading
from collections.abc import Callable

from waiting import until

import resonate_core as rc
import test_target_group
from resonate_core.worker import Worker

call, end = test_target_group.call, test_target_group.end
MINUTE, HOUR = 60_000, 3_600_000
TARGET = {"resonate:target": "poll://any@shop"}


def test_a_worker_that_stops_gives_back_what_it_held(end: tuple[rc.Store, Callable[..., Worker]]) -> None:
    store, make = end
    with make(name="w1"):
        call(store, "c", "elsewhere")
        until(lambda: store.tasks.get("c").version >= 3)
    assert store.tasks.get("c").state == "pending"


def test_a_lost_worker(end: tuple[rc.Store, Callable[..., Worker]]) -> None:
    """A process acquired the task and was lost: after the lease another one serves the call."""
    store, make = end
    call(store, "c", "double", 4)
    store.tasks.acquire("c", 0, pid="lost", ttl=500)
    worker = make()
    worker.task("double")(lambda n: 2 * n)
    stop = threading.Event()
    ticking = threading.Thread(target=lambda: [store.tick() for _ in iter(lambda: stop.wait(0.05), True)])
    ticking.start()  # in a program, the claims of any worker do this
    try:
        with worker:
            assert store.result("c", timeout=60) == 8
    finally:
        stop.set()
        ticking.join()
