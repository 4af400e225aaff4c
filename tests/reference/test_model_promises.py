"""Compares the model's promises with PROTOCOL; the expected numbers were computed by hand."""

from __future__ import annotations

import pytest

from reference.client import OLD, TARGET, Client


def test_a_created_promise_is_pending_and_shows_what_was_given(send):
    status, data = send("promise.create", 5, id="p", timeoutAt=9, param={"data": "", "headers": {}}, tags={"a": "b"})
    assert (status, data["promise"]) == (
        200,
        {
            "id": "p",
            "state": "pending",
            "param": {"data": "", "headers": {}},
            "value": {},
            "tags": {"a": "b"},
            "timeoutAt": 9,
            "createdAt": 5,
        },
    )


def test_the_older_dialect_shows_headers_and_data_always(send):
    send.promise("p")
    _, data = send("promise.get", dialect=OLD, id="p")
    assert data["promise"]["param"] == {"headers": {}, "data": ""}


@pytest.mark.parametrize(
    ("tags", "state"), [({}, "rejected_timedout"), ({"timer": "true"}, "resolved"), ({"timer": "True"}, "rejected_timedout")]
)
def test_the_deadline_settles_by_projection(send, tags, state):
    send.promise("p", 10, **tags)
    _, data = send("promise.get", 10, id="p")
    assert (data["promise"]["state"], data["promise"]["settledAt"]) == (state, 10)


def test_a_promise_created_past_its_deadline_is_born_settled(send):
    _, data = send("promise.create", 50, id="p", timeoutAt=20, tags=TARGET)
    assert (data["promise"]["createdAt"], data["promise"]["settledAt"]) == (20, 20)
    assert send.task("p") == {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    assert send.sent() == []


def test_a_settlement_cannot_come_after_the_deadline(send):
    send.promise("p", 10)
    status, data = send.settle("p", 10)
    assert (status, data["promise"]["state"]) == (200, "rejected_timedout")
    assert send.row("p")["state"] == "pending", "an internal promise times out by projection alone"


def test_idempotency_keys(send):
    send("promise.create", id="p", timeoutAt=10, ikc="a")
    assert send("promise.create", id="p", timeoutAt=10, ikc="a")[0] == 200
    assert send("promise.create", id="p", timeoutAt=10)[0] == 200
    assert send("promise.create", id="p", timeoutAt=10, ikc="b")[0] == 409
    assert send.settle("p", iku="x")[0] == 200
    assert send.settle("p", iku="x")[0] == 200
    assert send.settle("p", iku="y")[0] == 409
    assert send.settle("p")[0] == 200


def test_a_settlement_key_conflicts_with_the_deadline(send):
    send.promise("p", 10)
    assert send.settle("p", 10, iku="x")[0] == 409


def test_a_delay_moves_the_first_message(send):
    send("promise.create", 3, id="p", timeoutAt=100, tags={**TARGET, "resonate:delay": "40"})
    assert send.sent() == []
    assert send.task("p")["retryAt"] == 40
    [fired] = send.model.tick(40)
    assert fired == {"kind": "dispatch", "id": "p", "at": 40, "now": 40, "detail": {"address": "poll://any@g"}}
    assert send.task("p")["retryAt"] == 5040


def test_listeners_then_callbacks_are_drained_in_order(send):
    send.promise("p", external="true")
    send.acquired("t", 5000)
    send("promise.register_listener", awaited="p", address="x://1")
    send("promise.subscribe", dialect=OLD, awaited="p", address="x://2")
    send("promise.register_listener", awaited="p", address="x://2")
    send.suspend("t", 1, "p")
    send.settle("p", 7, value={"data": "v"})
    assert [(key, kind) for key, kind, _ in send.sent()] == [
        ("unblock:p:x://1", "unblock"),
        ("unblock:p:x://2", "notify"),
        ("execute:t", "execute"),
    ]
    assert (send.task("t")["state"], send.task("t")["current"], send.task("t")["resumes"]) == ("pending", "p", ["p"])


def test_strict_refuses_edges_on_internal_promises():
    send = Client(rules="strict")
    send.promise("p")
    send.acquired("t")
    assert send("promise.register_callback", awaited="p", awaiter="t")[0] == 422
    assert send("promise.register_listener", awaited="p", address="http://x")[0] == 422
    assert send.suspend("t", 1, "p")[0] == 422
    assert send("promise.subscribe", dialect=OLD, awaited="p", address="http://x")[0] == 200
    assert send.row("p")["external"] is True
    assert send("promise.register_callback", awaited="p", awaiter="t")[0] == 200


def test_compatible_makes_an_awaited_promise_external(send):
    send.promise("p", 10)
    send("promise.register_listener", awaited="p", address="x://1")
    [timeout, drain] = send.model.tick(30)
    assert (timeout["kind"], timeout["at"], drain["kind"], drain["at"]) == ("promise_timeout", 10, "listener_drain", 10)


def test_search_pages_by_id_and_filters_the_projection(send):
    for one, deadline in (("b", 10), ("a", 99), ("c", 10), ("\N{LATIN SMALL LETTER E WITH ACUTE}", 10)):
        send.promise(one, deadline)
    status, data = send("promise.search", 10, state="rejected_timedout", limit=2)
    assert [one["id"] for one in data["promises"]] == ["b", "c"]
    assert data["cursor"] == "c"
    _, data = send("promise.search", state="rejected_timedout", limit=2, cursor="c")
    assert [one["id"] for one in data["promises"]] == ["\N{LATIN SMALL LETTER E WITH ACUTE}"]
    assert "cursor" not in data
    assert [one["id"] for one in send("promise.search", id="*")[1]["promises"]] == ["a", "b", "c", "\xe9"]
