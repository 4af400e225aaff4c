"""PROTOCOL 6, properties of steps: `Store(check=True)` checks every request and every internal step, in every call that runs them.

cpp/tests/step_properties_test.cpp tests each property with a step that the engine never takes. A user of the module can violate
them only by an edited snapshot. Here a task has one awaited promise twice among its resumes, so every step on it is a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import FAR, DialectClient, request

pytestmark = pytest.mark.not_of_the_model("it checks no steps")

DEADLINE = 1_000


def edited(make_store: Callable[..., Any], clock_type: Any, check: bool) -> tuple[Any, Any]:
    """A store, and its clock: "job" awaits "step" and already has it twice among its resumes."""
    store = make_store()
    client = DialectClient(store)
    client.task_create("job", ttl=FAR, now=0).must()
    client.create("step", timeout=DEADLINE, tags={"resonate:external": "true"}).must()
    client.register("step", "job").must()
    snapshot = store.snapshot()
    (job,) = (row for row in snapshot["promises"] if row["id"] == "job")
    job["task"]["resumes"] = ["step", "step"]
    clock = clock_type(0)
    other = make_store(clock=clock, check=check)
    other.restore(snapshot, check=False)
    return other, clock


SETTLE = request("promise.settle", {"id": "step", "state": "resolved", "value": {}})
# fmt: off
CALLS: dict[str, Callable[[Any, Any], object]] = {
    "apply": lambda store, clock: store.apply(SETTLE, now=10),
    "batch": lambda store, clock: store.apply([SETTLE, SETTLE], now=10),
    "typed": lambda store, clock: store.promises.resolve("step"),
    "tick": lambda store, clock: store.tick(DEADLINE),
    "advance_to": lambda store, clock: clock.advance_to(DEADLINE),
    "advance_to_next": lambda store, clock: clock.advance_to_next(),
}
# fmt: on


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_s6_a_step_that_breaks_a_property_is_not_taken(
    make_store: Callable[..., Any], clock_type: Any, refused: Any, call: Callable[[Any, Any], object]
) -> None:
    store, clock = edited(make_store, clock_type, check=True)
    before = store.digest()
    with pytest.raises(refused) as raised:
        call(store, clock)
    assert [(found.name, found.id) for found in raised.value.violations] == [("consumed_callback_lost", "step")]
    assert raised.value.violations[0].detail == '"job"'
    assert store.digest() == before


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_s6_nobody_looks_at_steps_unless_told_to(
    make_store: Callable[..., Any], clock_type: Any, call: Callable[[Any, Any], object]
) -> None:
    store, clock = edited(make_store, clock_type, check=False)
    call(store, clock)
    assert store.snapshot()["promises"][1]["callbacks"] == []


def test_s6_a_request_names_all_that_it_breaks(make_store: Callable[..., Any], clock_type: Any, refused: Any) -> None:
    """The error names the violated properties of the step and of the row after it."""
    store, _ = edited(make_store, clock_type, check=True)
    with pytest.raises(refused) as raised:
        DialectClient(store).halt("job")
    assert {found.name for found in raised.value.violations} == {"resume_lost", "duplicate_resume"}
