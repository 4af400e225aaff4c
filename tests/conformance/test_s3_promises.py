"""PROTOCOL 3.1 to 3.6: requests on promises."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, LISTENER, V25, V26, DialectClient, executes, stored, stored_task, unblocks

STATES = ["resolved", "rejected", "rejected_canceled"]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_1_get(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    assert "nobody" in client.get("nobody").must(404).data
    created = client.create("p").must()
    assert client.get("p").must().data == created.data


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_2_create_is_idempotent_by_id_alone(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    first = client.create("p", timeout=500, tags={"a": "1"}, now=1).must()
    again = client.create("p", timeout=900, tags={"b": "2"}, target=ADDRESS, now=2).must()
    assert again.data == first.data
    assert stored_task(store, "p") is None and executes(store) == []
    client.settle("p", now=3).must()
    assert client.create("p", now=4).must()["promise"]["state"] == "resolved"
    assert client.create("p", timeout=1, now=5).must()["promise"]["createdAt"] == 1


def test_s3_2_create_answers_the_projected_record(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, now=0).must()
    assert client.create("p", now=100).must()["promise"]["state"] == "rejected_timedout"


def test_s3_2_param_and_tags_may_be_left_out(store: Any) -> None:
    record = DialectClient(store).send("promise.create", {"id": "p", "timeoutAt": FAR}).must()["promise"]
    assert (record["param"], record["value"], record["tags"]) == ({}, {}, {})


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_2_create_with_target_makes_a_pending_task_and_a_message(store: Any, version: str) -> None:
    DialectClient(store, version).create("p", target=ADDRESS, now=10).must()
    assert stored_task(store, "p") == {"state": "pending", "acquisitions": 0, "retryAt": 5_010, "resumes": []}
    kind = "execute" if version == V26 else "invoke"
    assert store.snapshot()["messages"] == [
        {"kind": kind, "id": "p", "version": 0, "address": ADDRESS, "attempts": 0, "queuedAt": 10}
    ]


@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize(("delay", "first"), [(0, 10), (10, 10), (11, 11), (999, 999)])
def test_s3_2_a_delay_holds_the_first_message_back(store: Any, version: str, delay: int, first: int) -> None:
    DialectClient(store, version).create("p", timeout=1_000, target=ADDRESS, tags={"resonate:delay": str(delay)}, now=10).must()
    if first > 10:
        assert executes(store) == [] and stored_task(store, "p")["retryAt"] == first
        store.tick(now=first - 1)
        assert executes(store) == []
        store.tick(now=first)
    assert len(executes(store)) == 1
    assert stored_task(store, "p")["retryAt"] == first + 5_000


def test_s3_2_a_delayed_task_may_be_acquired_before(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", target=ADDRESS, tags={"resonate:delay": "900"}, now=0).must()
    client.acquire("p", 0, now=5).must()
    client.release("p", 1, now=6).must()
    assert executes(store) == [("execute", "p", 1)], "a release sends at once"


# fmt: off
DELAYS = [
    ("5", ADDRESS, 6, 200), ("5", ADDRESS, 5, 400), ("6", ADDRESS, 5, 400), ("5", None, 9, 400), ("-1", ADDRESS, 9, 400),
    ("", ADDRESS, 9, 400), ("x", ADDRESS, 9, 400), ("1.5", ADDRESS, 9, 400), (" 5", ADDRESS, 9, 400), ("+5", ADDRESS, 9, 400),
    ("5e0", ADDRESS, 9, 400), ("0x5", ADDRESS, 9, 400), ("٥", ADDRESS, 9, 400), ("005", ADDRESS, 9, 200),
    (str(2**63), ADDRESS, 2**63 - 1, 400), (str(2**63 - 2), ADDRESS, 2**63 - 1, 200), ("9" * 40, ADDRESS, 2**63 - 1, 400),
]
# fmt: on


@pytest.mark.parametrize(("delay", "target", "timeout", "status"), DELAYS)
@pytest.mark.parametrize("version", [V26, V25])
def test_s3_2_a_delay_is_a_number_below_the_deadline_of_something_with_a_target(
    store: Any, version: str, delay: str, target: str | None, timeout: int, status: int
) -> None:
    client = DialectClient(store, version)
    client.create("p", timeout=timeout, target=target, tags={"resonate:delay": delay}, now=0).must(status)
    assert len(store.snapshot()["promises"]) == (1 if status == 200 else 0)


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_2_an_empty_target_is_refused(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("p", tags={"resonate:target": ""}).must(400)
    client.create("p", tags={"resonate:invoke": ""}).must(400 if version == V25 else 200)


def test_s3_2_ikc(store: Any) -> None:
    client = DialectClient(store)
    client.create("keyed", ikc="k").must()
    client.create("open").must()
    client.create("keyed", ikc="k").must()
    client.create("keyed").must(200)
    client.create("keyed", ikc="other").must(409)
    client.create("keyed", ikc="").must(409)
    client.create("keyed", ikc=None).must(200)
    client.create("open", ikc="k").must(409)
    assert stored(store, "keyed")["ikc"] == "k" and "ikc" not in stored(store, "open")
    client.settle("keyed").must()
    client.create("keyed", ikc="k").must(200)
    client.create("keyed", ikc="other").must(409)


@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("state", STATES)
def test_s3_3_settle(store: Any, version: str, state: str) -> None:
    client = DialectClient(store, version)
    client.create("p", target=ADDRESS, now=1).must()
    record = client.settle("p", state, {"headers": {}, "data": "eA=="}, now=9).must()["promise"]
    assert (record["state"], record["settledAt"], record["value"]["data"]) == (state, 9, "eA==")
    assert stored_task(store, "p") == {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    for other in STATES:
        assert client.settle("p", other, {"data": "eQ=="}, now=10).must()["promise"] == record


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_3_settle_states(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("p").must()
    for state in ("rejected_timedout", "pending", "", "Resolved", "canceled", "resolved "):
        client.settle("p", state).must(400)
        client.settle("missing", state).must(400)
    client.settle("missing").must(404)
    assert stored(store, "p")["state"] == "pending"


def test_s3_3_iku(store: Any) -> None:
    client = DialectClient(store)
    for id in ("keyed", "open", "late", "fresh"):
        client.create(id, timeout=100 if id == "late" else FAR, now=0).must()
    client.settle("keyed", iku="k").must()
    client.settle("open").must()
    client.settle("keyed", iku="k").must(200)
    client.settle("keyed").must(200)
    client.settle("keyed", "rejected", iku="k").must(200)
    client.settle("keyed", iku="other").must(409)
    client.settle("open", iku="k").must(409)
    assert stored(store, "keyed")["iku"] == "k" and "iku" not in stored(store, "open")
    client.settle("late", iku="k", now=100).must(409)
    assert "iku" not in stored(store, "late")
    client.settle("fresh", iku=None).must(200)
    assert "iku" not in stored(store, "fresh")


def test_s3_3_ikc_and_iku_are_unrelated(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", ikc="k").must()
    client.settle("p", iku="other").must()
    client.settle("p", iku="k").must(409)
    client.create("p", ikc="other").must(409)


def test_s3_4_register_callback_checks_in_order(store: Any) -> None:
    client = DialectClient(store)
    for id in ("p", "plain"):
        client.create(id).must()
    client.create("t", target=ADDRESS).must()
    client.register("p", "p").must(400)
    client.register("missing", "missing").must(400)
    client.register("missing", "nobody").must(404)
    client.register("missing", "t").must(404)
    client.register("p", "nobody").must(422)
    client.register("p", "plain").must(422)
    assert stored(store, "p")["callbacks"] == []
    assert client.register("p", "t").must()["promise"]["id"] == "p"
    assert stored(store, "p")["callbacks"] == ["t"]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_4_register_on_a_settled_promise_has_no_effect(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("p").must()
    client.settle("p").must()
    client.create("gate").must()
    client.task_create("t").must()
    client.suspend("t", 1 if version == V26 else 0, "gate").must()
    before = stored_task(store, "t")
    assert client.register("p", "t").must()["promise"]["state"] == "resolved"
    assert stored(store, "p")["callbacks"] == [] and stored_task(store, "t") == before


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_4_register_by_a_settled_awaiter_has_no_effect(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("p").must()
    client.create("t", target=ADDRESS).must()
    client.settle("t").must()
    assert client.register("p", "t").must()["promise"]["state"] == "pending"
    assert stored(store, "p")["callbacks"] == []


def test_s3_5_register_of_2025(store: Any) -> None:
    old = DialectClient(store, V25)
    for id in ("p", "plain"):
        old.create(id).must()
    old.register("p", "p").must(400)
    old.register("missing", "plain").must(404)
    old.register("p", "nobody").must(404)
    old.register("p", "plain").must(200)
    assert stored(store, "p")["callbacks"] == ["plain"]
    old.settle("p").must()
    assert stored(store, "p")["callbacks"] == []
    assert stored_task(store, "plain") is None and executes(store) == []


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_6_listener(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.listen("missing").must(404)
    client.create("p").must()
    assert client.listen("p").must()["promise"]["state"] == "pending"
    assert stored(store, "p")["listeners"] == [{"address": LISTENER, "dialect": version}]
    assert unblocks(store) == []
    client.settle("p").must()
    assert stored(store, "p")["listeners"] == []
    assert unblocks(store) == [("unblock" if version == V26 else "notify", "p", LISTENER)]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_6_listener_on_a_settled_promise_gets_the_record_and_no_message(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("p").must()
    client.settle("p").must()
    assert client.listen("p").must()["promise"]["state"] == "resolved"
    assert stored(store, "p")["listeners"] == [] and unblocks(store) == []


def test_s3_6_one_address_in_two_dialects_is_one_listener(store: Any) -> None:
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    new.create("p").must()
    old.listen("p").must()
    new.listen("p").must()
    assert stored(store, "p")["listeners"] == [{"address": LISTENER, "dialect": V25}]


def test_s3_ids_are_any_text(store: Any) -> None:
    client = DialectClient(store)
    for id in (
        ".",
        ":",
        "/",
        "a.b:c/d",
        "é",
        "𝄞",
        "\u2028",
        " ",
        "\n",
        "{{.id}}",
        "*",
        "%00",
        "a" * 2_000,
        '"',
        "\\",
        "\x7f",
        "\x01",
    ):
        assert client.create(id, target=ADDRESS).must()["promise"]["id"] == id
        assert client.get(id).must()["promise"]["id"] == id
        assert client.acquire(id, 0).must()["task"]["id"] == id
        assert client.fulfill(id, 1).must()["promise"]["id"] == id


def test_s3_lineage_tags_are_opaque(store: Any) -> None:
    tags = {f"resonate:{t}": f"x.{t}:y" for t in ("origin", "branch", "parent", "prefix", "scope")}
    assert DialectClient(store).create("unrelated", tags=tags).must()["promise"]["tags"] == tags
    assert DialectClient(store).task_create("u2", tags=tags).must()["promise"]["tags"] == {**tags, "resonate:target": ADDRESS}


@pytest.mark.parametrize("address", ["nats://x", "bare", "local://", "x", "poll://", " "])
def test_s3_a_target_that_no_transport_serves_waits_in_the_outbox(store: Any, address: str) -> None:
    DialectClient(store).create("p", target=address).must()
    store.tick(now=10**9)
    assert [m["address"] for m in store.snapshot()["messages"]] == [address]
