"""The properties that tests check on states of the model: an edited state is reported under the name of what it breaks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import JobClient
from conformance.model_store import Store
from reference import properties

Rows = dict[str, dict[str, Any]]
Snapshot = dict[str, Any]


@pytest.fixture
def client() -> JobClient:
    """A model in which "a" and "b" gather, and "r" runs."""
    client = JobClient(Store())
    client.queue("set", groups={"size": 3, "grace": 10, "maxDelay": 25})
    client.enqueue("a", group="g", uniqueKey="k").must()
    client.enqueue("b", group="g").must()
    client.enqueue("r", priority=1).must()
    client.run_one("r")
    return client


def broken(before: Snapshot, edit: Callable[[Rows], object]) -> set[str]:
    """The names of the properties that are broken after an edit of the rows, by the state or by the change."""
    after = copy.deepcopy(before)
    edit({row["id"]: row for row in after["promises"]})
    return {name for name, _ in properties.of_a_state(after) + properties.of_a_change(before, after)}


def test_a_whole_state_breaks_nothing(client: JobClient) -> None:
    assert broken(client.store.snapshot(), lambda rows: None) == set()


def test_a_gathering_group_and_its_keys(client: JobClient) -> None:
    before = client.store.snapshot()
    assert broken(before, lambda rows: rows["a"]["job"]["flight"].update(count=3)) == {"job_flight_count"}
    assert broken(before, lambda rows: rows["a"]["job"].pop("flight")) >= {"job_flight_count", "job_group_mismatch"}
    assert broken(before, lambda rows: rows["b"]["task"].update(retryAt=7)) == {"job_group_mismatch"}
    assert broken(before, lambda rows: rows["b"]["job"].update(uniqueKey="k")) == {"job_unique_twice"}


def test_a_lease_that_was_not_renewed(client: JobClient) -> None:
    assert broken(client.store.snapshot(), lambda rows: rows["r"]["task"].update(expiresAt=7)) == {"job_lease_mismatch"}


def test_the_end_of_a_job_is_that_of_its_promise(client: JobClient) -> None:
    client.complete("r", now=3).must()
    assert broken(client.store.snapshot(), lambda rows: rows["r"]["job"].update(completedAt=2)) >= {"job_end_mismatch"}


def test_a_batch_is_for_life(client: JobClient) -> None:
    client.administer("run", "b").must()
    assert broken(client.store.snapshot(), lambda rows: rows["b"]["job"].update(batch="x")) == set(), "it had none"
    for id in ("c", "d"):
        client.enqueue(id, group="g").must()
    assert broken(client.store.snapshot(), lambda rows: rows["a"]["job"].update(batch="x")) == {"job_batch_changed"}
