"""Tests the generator: on the model alone it must reach every case that the judge can compare."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from property.alone import Alone
from property.machine import StoreAndModel

NEW, OLD = "2026-04-01", "2025-01-15"
STEPS = ["promise_timeout", "listener_drain", "callback_drain", "lease_expiry", "dispatch", "schedule"]
EDGES = {
    "pending": ["acquired", "halted", "fulfilled"],
    "acquired": ["pending", "suspended", "halted", "fulfilled"],
    "suspended": ["pending", "halted", "fulfilled"],
    "halted": ["pending", "fulfilled"],
}
# The statuses of each kind other than 200, and 400 for a bad shape.
OUTCOMES = {
    NEW: {
        "promise.get": [404],
        "promise.create": [409],
        "promise.settle": [404, 409],
        "promise.register_callback": [404, 422],
        "promise.register_listener": [404],
        "promise.search": [],
        "task.get": [404],
        "task.create": [409],
        "task.acquire": [404, 409],
        "task.suspend": [300, 404, 409, 422],
        "task.fulfill": [404, 409],
        "task.release": [404, 409],
        "task.fence": [404, 409],
        "task.heartbeat": [],
        "task.halt": [404, 409],
        "task.continue": [404, 409],
        "task.search": [],
        "schedule.get": [404],
        "schedule.create": [],
        "schedule.delete": [404],
        "schedule.pause": [404],
        "schedule.resume": [404],
        "schedule.search": [],
        "debug.start": [],
        "debug.stop": [],
        "debug.reset": [],
        "debug.snap": [],
        "debug.tick": [],
    },
    OLD: {
        "promise.get": [404],
        "promise.create": [409],
        "promise.settle": [404, 409],
        "promise.register": [404],
        "promise.subscribe": [404],
        "task.get": [404],
        "task.create": [409],
        "task.acquire": [404, 409],
        "task.suspend": [300, 404, 409],
        "task.fulfill": [404, 409],
        "task.release": [404, 409],
        "task.fence": [404, 409],
        "task.heartbeat": [404],
        "schedule.get": [404],
        "schedule.create": [],
        "schedule.delete": [404],
        "schedule.pause": [404],
        "schedule.resume": [404],
    },
}


def wanted():
    """Every case that all runs together must reach."""
    for version, kinds in OUTCOMES.items():
        for kind, more in kinds.items():
            # A request without data is hard to corrupt.
            shape = [] if kind.startswith("debug") or kind in ("schedule.delete", "schedule.pause", "schedule.resume") else [400]
            for status in [200, *shape, *more]:
                yield kind, version, status
    # The first in the compatible rule set, the second in the strict one.
    yield "task.create", NEW, 422
    yield "promise.register_listener", NEW, 422
    for kind in STEPS:
        yield "fired", kind
    for before, afters in EDGES.items():
        for after in afters:
            yield "edge", before, after


def run(rules, number, counter):
    """Runs random operations on the model alone and counts the cases that they reach."""

    class Machine(StoreAndModel):
        rule_set = rules

        def make_judge(self, model, chosen):
            return Alone(model, chosen, counter)

    chosen = settings(
        max_examples=120,
        stateful_step_count=40,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(Machine), settings=chosen)


# It runs the model alone, so it shows something new only if the generator or the model has changed.
@pytest.mark.full
def test_the_generator_reaches_everything():
    """Repeats until all cases are reached, normally after a few rounds; if many are needed, the generator got worse."""
    counter = Counter()
    for number in range(20):
        run("compatible", 2 * number, counter)
        run("strict", 2 * number + 1, counter)
        missing = [one for one in wanted() if not counter[one]]
        if not missing:
            return
    assert missing == []
