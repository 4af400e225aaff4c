"""Tests the generator of jobs: on the model alone it must reach every case that the judge can compare."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from property.alone import Alone
from property.children_reached import WANTED as WANTED_CHILDREN
from property.groups_reached import WANTED
from property.job_machine import JobsAndModel
from property.waits_reached import WANTED as WANTED_WAITS

STEPS = [
    "job_ready",
    "job_batch",
    "schedule",
    "job_expiry",
    "job_lease",
    "job_timeout",
    "job_retention",
    "promise_timeout",
    "callback_drain",
    "cancel_drain",
    "listener_drain",
]
EDGES = {
    "scheduled": ["pending", "cancelled", "expired", "failed"],
    "waiting": ["pending", "scheduled", "archived", "cancelled", "failed", "expired"],
    "pending": ["claimed", "running", "archived", "cancelled", "expired", "completed", "failed"],
    "claimed": ["running", "pending", "cancelled", "failed"],
    "running": ["completed", "retry", "archived", "failed", "scheduled", "waiting", "cancelled"],
    "retry": ["pending", "failed"],
    "archived": ["pending", "cancelled", "failed"],
}
# The statuses of each kind other than 200, in either dialect.
OUTCOMES = {
    "job.enqueue": [400, 409, 422],
    "job.enqueue_many": [400],
    "job.get": [404],
    "job.claim": [400],
    "job.start": [404, 409],
    "job.start_many": [400],
    "job.heartbeat": [],
    "job.complete": [404, 409],
    "job.complete_many": [400],
    "job.fail": [400, 404, 409],
    "job.release": [404, 409],
    "job.snooze": [404, 409],
    "job.report": [400, 404, 409],
    "job.suspend": [300, 400, 404, 409, 422],
    "job.record": [400, 404, 409],
    "job.receive": [400, 404, 409],
    "job.send": [400, 404, 409],
    "job.history": [400, 404],
    "job.start_over": [404, 409],
    "job.fork": [400, 404, 409, 422],
    "job.cancel": [400, 404, 409],
    "job.run": [404, 409],
    "job.archive": [404, 409],
    "job.delete": [400, 404, 409],
    "job.search": [400],
    "job.stats": [404],
    "queue.set": [400],
    "queue.get": [404],
    "queue.pause": [404],
    "queue.resume": [404],
    "queue.list": [],
    "schedule.create": [400],
    "schedule.get": [404],
}


def missing(counter):
    """The cases that the runs together did not reach."""
    reached = {(one[0], one[2]) for one in counter if len(one) == 3 and one[0] != "job"} | set(+counter)
    wanted = [("fired", kind) for kind in STEPS]
    wanted += [("job", before, after) for before, afters in EDGES.items() for after in afters]
    wanted += WANTED + WANTED_WAITS + WANTED_CHILDREN
    wanted += [(kind, status) for kind, more in OUTCOMES.items() for status in [200, *more]]
    return [one for one in wanted if one not in reached]


def run(number, counter):
    """Runs random operations on the model alone and counts the cases that they reach."""

    class Machine(JobsAndModel):
        def make_judge(self, model, chosen):
            return Alone(model, chosen, counter)

    chosen = settings(
        max_examples=100,
        stateful_step_count=40,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(Machine), settings=chosen)


# It runs the model alone, so it shows something new only if the generator or the model has changed.
@pytest.mark.full
@pytest.mark.timeout(1800)
def test_the_generator_reaches_everything_of_jobs():
    """Repeats until all cases are reached, normally after a few rounds; if many are needed, the generator got worse."""
    counter = Counter()
    for number in range(20):
        run(number, counter)
        if not missing(counter):
            return
    assert missing(counter) == []
