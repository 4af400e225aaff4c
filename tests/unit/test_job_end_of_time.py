"""A job without a deadline never times out, not even at the largest instant."""

from __future__ import annotations

import resonate_core as rc

LAST = 2**63 - 1


def test_the_last_instant_ends_no_job():
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    store.jobs.enqueue("t", id="late", process_at=LAST)
    store.jobs.enqueue("t", id="held")
    store.jobs.claim("default", worker="w", lease=1000)
    steps = clock.advance_to(LAST)
    assert [(step.kind, step.id) for step in steps] == [("job_lease", "held"), ("job_ready", "late")]
    assert [job.state for job in store.jobs.search()] == ["pending", "pending"]
    assert store.check() == []
