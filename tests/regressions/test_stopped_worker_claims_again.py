"""A handler that stopped its worker and then ended at once could still free its slot for another claim.

If the event loop had not yet run the stop, the next job was claimed, and put back as snoozed.
"""

from __future__ import annotations

import asyncio
import threading
import time

import resonate_core as rc
from resonate_core.worker import Worker


def test_a_handler_that_stops_its_worker_is_the_last() -> None:
    store = rc.Store()
    worker = Worker(store, concurrency=1)
    blocked = threading.Event()

    @worker.task("last")
    def last() -> None:
        session = worker._runner.session
        assert session is not None
        running = session

        def hold_the_loop() -> None:
            """Blocks the event loop until the handler has ended: the claim loop, which is ready, sees that before it sees the stop."""
            blocked.set()
            while not running.executor._ended:
                time.sleep(0.001)

        def wake_and_hold() -> None:
            running._pace.claim_now()
            running.loop.call_soon(hold_the_loop)

        running.loop.call_soon_threadsafe(wake_and_hold)
        blocked.wait()
        worker.stop()

    first, second = last.enqueue(), last.enqueue()
    asyncio.run(asyncio.wait_for(worker.serve(), 30))
    assert store.jobs.get(first.id).state == "completed"
    assert store.jobs.get(second.id).state == "pending"
    assert (worker.counts.completed, worker.counts.snoozed) == (1, 0)
