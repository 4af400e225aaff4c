"""job.history: the children of a job, page by page (JOBS 9)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_steps import J, ids, running, state_of, step
from conformance.job_wire import JobClient
from conformance.wire import V25, V26, rows_of
from resonate_core.conformance.reply_form import status_in

MIB = 2**20


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def pages(client: JobClient, **data: Any) -> list[list[str]]:
    """The ids of all pages."""
    found, cursor = [], {}
    while True:
        reply = client.history(J, **data, **cursor).must()
        found.append([one["id"].removeprefix("j:") for one in reply["promises"]])
        if "cursor" not in reply.data:
            return found
        assert reply["cursor"] == f"{reply['promises'][-1]['createdAt']}:{reply['promises'][-1]['id']}"
        cursor = {"cursor": reply["cursor"]}


def test_by_creation_then_by_id(client: JobClient) -> None:
    running(client)
    client.record("c", "a", id=J, now=5).must()
    client.record("b", id=J, now=7).must()
    client.receive("0", "t", J, now=8).must()
    client.child("other", J, now=8).must()
    assert ids(client) == ["a", "c", "b", "0", "other"]


def test_bytes_decide_the_order_of_ids(client: JobClient) -> None:
    running(client)
    client.record("\uff5e", "\U0001f600", "b", id=J, now=5).must()
    assert ids(client) == ["b", "\uff5e", "\U0001f600"]


def test_what_is_in_it(client: JobClient) -> None:
    """Children in every state, child jobs too, as promise.get shows them; neither messages nor what only has the tag."""
    running(client)
    step(client, "a", "resolved", {"data": "eA=="})
    step(client, "b")
    client.child("j:c", J, now=3).must()
    client.record("x", id=J, now=3).must()
    client.message("t", J, 4).must()
    client.create("j:plain", tags={"resonate:parent": J}, now=4).must()
    found = client.history(J).must()["promises"]
    assert [one["id"] for one in found] == ["j:a", "j:b", "j:c", "j:x"]
    assert found == [client.get(one["id"]).must()["promise"] for one in found]


def test_deadlines_that_no_step_has_written_yet(client: JobClient) -> None:
    running(client)
    step(client, "a", timeoutIn=10)
    before = rows_of(client.store)
    assert client.history(J, 500).must()["promises"][0]["state"] == "rejected_timedout"
    assert rows_of(client.store) == before, "a read"


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 1000])
def test_pages_by_limit(client: JobClient, limit: int) -> None:
    running(client)
    for n in range(5):
        client.record(f"{n}", id=J, now=5 + n // 2).must()
    expected = [[str(n) for n in range(at, min(at + limit, 5))] for at in range(0, 5, limit)]
    assert pages(client, limit=limit) == expected


def test_a_hundred_by_default(client: JobClient) -> None:
    running(client)
    client.record(*(f"{n:03}" for n in range(150)), id=J, now=5).must()
    assert [len(page) for page in pages(client)] == [100, 50]


def test_pages_by_size(client: JobClient) -> None:
    """A page ends before 4 MiB, but a step that is larger has a page of its own."""
    running(client)
    for name, size in (("a", 3), ("b", 0.5), ("c", 1), ("d", 5), ("e", 0)):
        client.record({"id": name, "state": "resolved", "value": {"data": "x" * int(size * MIB)}}, id=J, now=5).must()
    assert pages(client) == [["a", "b"], ["c"], ["d"], ["e"]]


def test_params_and_tags_count(client: JobClient) -> None:
    running(client)
    large = "x" * (2 * MIB)
    client.record({"id": "a", "param": {"data": large}}, {"id": "b", "tags": {"large": large}}, "c", id=J, now=5).must()
    assert pages(client) == [["a"], ["b", "c"]]


def test_a_cursor_is_a_place(client: JobClient) -> None:
    """The child that a cursor names may be gone; a later child is found."""
    running(client)
    client.record("b", "d", id=J, now=5).must()
    assert ids(client, cursor="5:j:a") == ["b", "d"]
    assert ids(client, cursor="5:j:c") == ["d"]
    assert ids(client, cursor="") == ["b", "d"]
    assert ids(client, cursor="4:z") == ["b", "d"]
    assert ids(client, cursor="5:z") == [] and ids(client, cursor="9:a:b") == []


@pytest.mark.parametrize("cursor", ["j:a", "5", "5:", ":j:a", "-1:j:a", "+5:j:a", " 5:j:a", "5.0:j:a", f"{2**63}:j:a", 5])
def test_what_is_no_cursor(client: JobClient, cursor: Any) -> None:
    running(client)
    client.history(J, cursor=cursor).must(400)


@pytest.mark.parametrize("id", ["nobody", "plain", "j:a", "j:@t:#1"])
def test_what_is_no_job(client: JobClient, id: str) -> None:
    client.create("plain", now=0).must()
    running(client)
    step(client, "a")
    client.message("t", J, 2).must()
    client.history(id).must(404)


def test_an_empty_history(client: JobClient) -> None:
    client.enqueue(J, now=0).must()
    assert client.history(J).must().data == {"promises": []}


@pytest.mark.parametrize("end", ["completed", "cancelled", "archived"])
def test_after_the_end(client: JobClient, end: str) -> None:
    running(client)
    client.record({"id": "a", "state": "resolved"}, "b", id=J, now=2).must()
    if end == "completed":
        client.complete(J, now=3).must()
    elif end == "archived":
        client.fail(J, now=3, archive=True).must()
    else:
        client.administer("cancel", J, now=3).must()
    assert ids(client) == ["a", "b"] and state_of(client, "j:b") == "pending" and client.job(J)["steps"] == 2


@pytest.mark.parametrize("limit", [0, 1001, -1, "5", 1.0])
def test_limits(client: JobClient, limit: Any) -> None:
    running(client)
    assert client.history(J, limit=limit).status == status_in(client.version, 400)
