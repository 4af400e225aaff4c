"""In a strict store, requests of 2025-01-15 departed from the text of their version in two places.

An empty heartbeat renewed all leases of its pid, and the promises of a schedule got tags besides its `promiseTags`. Both exist for
published clients, so they belong to the compatible rules alone (PROTOCOL 2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import V25, V26, DialectClient, stored, stored_task
from resonate_core.conformance.reference import Model

Make = Callable[..., Any]
VERSIONS = (V25, V26)


@pytest.fixture(params=["engine", "reference model"])
def strict(request: pytest.FixtureRequest, make_store: Make) -> Any:
    return make_store(rules="strict") if request.param == "engine" else Model(rules="strict")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_heartbeat_renews_nothing(strict: Any, version: str) -> None:
    client = DialectClient(strict, version)
    client.task_create("t", ttl=1_000, now=0).must()
    client.heartbeat("w1", now=500).must()
    assert stored_task(strict, "t")["expiresAt"] == 1_000
    strict.tick(now=1_000)
    assert stored_task(strict, "t")["state"] == "pending"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_heartbeat_that_names_its_task_still_renews(strict: Any, version: str) -> None:
    client = DialectClient(strict, version)
    client.task_create("t", ttl=1_000, now=0).must()
    client.heartbeat("w1", ("t", 1 if version == V26 else 0), now=500).must()
    assert stored_task(strict, "t")["expiresAt"] == 1_500


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("job", [None, {"type": "report"}])
def test_what_a_schedule_makes_has_its_tags_alone(strict: Any, version: str, job: Any) -> None:
    more = {} if job is None else {"job": job}
    data = {
        "id": "s",
        "cron": "* * * * *",
        "promiseId": "{{.id}}.{{.timestamp}}",
        "promiseTimeout": 1_000,
        "promiseTags": {"a": "b"},
    }
    DialectClient(strict, version).send("schedule.create", data | more, now=0).must()
    strict.tick(now=60_000)
    assert stored(strict, "s.60000")["tags"] == {"a": "b"}


def test_the_tags_of_a_schedule_from_a_snapshot(make_store: Make) -> None:
    """A schedule that another store made follows the rules of the store that fires it."""
    compatible = make_store()
    DialectClient(compatible, V25).schedule("s", tags={"a": "b"}, now=0).must()
    strict = make_store(rules="strict")
    strict.restore(compatible.snapshot())
    strict.tick(now=60_000)
    assert stored(strict, "s.60000")["tags"] == {"a": "b"}
    assert strict.check() == []
