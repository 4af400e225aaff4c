"""Every request and every step from every state of a job, from the table in job_transitions.py (JOBS 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from backends import BACK_ENDS, BackEnd
from conformance.job_wire import JOB, JobClient, assert_states_agree
from conformance.model_store import MODEL
from conformance.wire import V25, V26, rows_of
from resonate_core.conformance.reply_form import status_in
from resonate_core.conformance.scenes.jobs import INSTANTS, NOW, REQUESTS, STALE, prepare
from resonate_core.conformance.tables.job_transitions import CELLS, EVENTS, PROJECTED, STATES, Cell

READS = {"job.get", "job.search", "job.stats", "job.history", "promise.get", "task.get"}
"""These requests store nothing, and no steps follow them."""
IDLE = READS | {"enqueue the same", "promise.create", "job.heartbeat stale"}
"""These requests change nothing although their status is 200: they only return what exists."""


MEMORY = BACK_ENDS[0]


def judge(make_store: Callable[..., Any], machine: BackEnd, version: str, cell: Cell, cycles: int) -> None:
    """Checks one cell: status, state after, versions, states that agree, and rows that must not have changed.

    Args:
        make_store: Makes the store that is judged.
        machine: The engine in memory or the model, whichever runs in that store.
        version: The dialect of the requests.
        cell: The cell of the table.
        cycles: How often the job was claimed and failed before.
    """
    client = JobClient(make_store(), version)
    presented = prepare(client, cell.event, cell.state, cycles, client.store.tick)
    now = INSTANTS.get(cell.event, NOW)
    reply = None
    if cell.status is None:
        client.store.tick(now)
    elif cell.event in STALE:
        reply = REQUESTS[STALE[cell.event]](client, presented + 1, now)
    else:
        reply = REQUESTS[cell.event](client, presented, now)
    assert (reply.status if reply else None) == status_in(version, cell.status), reply
    if reply is not None and (cell.refused or (cell.event in IDLE and cell.state in (cell.after, *PROJECTED))):
        # The twin is in memory: a digest is the same in each storage, and in the others a second store takes longer.
        twin = JobClient(machine.open(clock=machine.clock_type(0), check=True), version)
        prepare(twin, cell.event, cell.state, cycles, twin.store.tick)
        if cell.event not in READS:
            twin.store.tick(now)
        assert rows_of(client.store) == rows_of(twin.store), "a request that was refused, or only reads, changes nothing"
        assert client.store.digest() == twin.store.digest()
    after = cell.after
    if after in ("absent", "plain", "workflow"):
        client.send("job.get", {"id": JOB}, now).must(404)
        return
    record = client.job(now=now)
    assert record["state"] == after
    claimed = cell.event == "job.claim" and after == "claimed" and cell.state == "pending"
    assert record["version"] == presented + claimed
    assert_states_agree(client)
    assert client.store.check() == []


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: c.name)
def test_transition(make_store: Callable[..., Any], back_end: BackEnd, cell: Cell) -> None:
    judge(make_store, MODEL if back_end is MODEL else MEMORY, V26, cell, 0)


# The tests below are about the state machine, not about storages, so they run on the engine in memory and on the model only.
@pytest.fixture(params=[MEMORY, MODEL], ids=lambda end: end.name)
def machine(request: pytest.FixtureRequest) -> BackEnd:
    """The engine in memory, and the model."""
    end: BackEnd = request.param
    return end


@pytest.fixture
def make_any(machine: BackEnd) -> Iterator[Callable[..., Any]]:
    """Makes stores of the machine."""
    with ExitStack() as opened:

        def make() -> Any:
            store = machine.open(clock=machine.clock_type(0), check=True)
            opened.callback(getattr(store, "close", lambda: None))
            return store

        yield make


@pytest.mark.parametrize("event", EVENTS)
def test_transitions_of_a_job_that_was_claimed_before(make_any: Callable[..., Any], machine: BackEnd, event: str) -> None:
    for cell in CELLS:
        if cell.event == event:
            judge(make_any, machine, V26, cell, 2)


@pytest.mark.parametrize("event", [e for e in EVENTS if not e.startswith("task.")])
def test_transitions_in_2025_01_15(make_any: Callable[..., Any], machine: BackEnd, event: str) -> None:
    """The older dialect has the same kinds, and 400 in place of 422."""
    for cell in CELLS:
        if cell.event == event:
            judge(make_any, machine, V25, cell, 1)


def test_the_table_has_every_state_and_request() -> None:
    assert set(EVENTS) == set(REQUESTS) | set(STALE) | {e for e in EVENTS if e.startswith("step:")}
    assert set(INSTANTS) == {e for e in EVENTS if e.startswith("step:")}
    named = {(c.event, c.state) for c in CELLS}
    for event in (e for e in EVENTS if e.startswith("job.")):
        assert {state for e, state in named if e == event} == set(STATES), event
