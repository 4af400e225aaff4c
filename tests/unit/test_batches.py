"""Calls for many promises, and batches of envelopes: one transaction, in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc


def make() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(), check=True)


def request(kind: str, corr_id: str = "1", **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": corr_id, "version": "2026-04-01"}, "data": data}


def statuses(answers: list[dict[str, Any]]) -> list[int]:
    return [answer["head"]["status"] for answer in answers]


REFUSED: list[tuple[type[rc.ResonateError], Callable[[rc.Store], object]]] = [
    (rc.Invalid, lambda s: s.promises.create_many(["x", ""], 1000)),
    (rc.Invalid, lambda s: s.promises.create_many(["", "x"], 1000)),
    (rc.Invalid, lambda s: s.promises.create_many(["x", "y"], [1000, -1])),
    (rc.Invalid, lambda s: s.promises.create_many(["x", "y"], [1000])),
    (rc.Invalid, lambda s: s.promises.create_many(["x"], 1000, params=[1, 2])),
    (rc.NotFound, lambda s: s.promises.settle_many(["a", "nobody"])),
    (rc.NotFound, lambda s: s.promises.settle_many(["nobody", "a"])),
    (rc.Invalid, lambda s: s.promises.settle_many(["a"], state="rejected_timedout")),
    (rc.Invalid, lambda s: s.promises.settle_many(["a"], [1, 2])),
]


class TestColumns:
    def test_create(self) -> None:
        store = make()
        batch = store.promises.create_many(["b", "a"], 1000, params=[{"n": 1}, None], tags={"k": "v"})
        assert isinstance(batch, rc.PromiseBatch) and len(batch) == 2
        assert batch.ids == ["b", "a"] and batch.states == ["pending", "pending"]
        assert batch[0] == store.promises.get("b") and batch[0].tags == {"k": "v"} and batch[0].param.json() == {"n": 1}
        assert not batch[1].param
        assert "PromiseBatch of 2 records" in repr(batch) and "<table>" in batch._repr_html_()

    def test_the_same_as_one_by_one(self) -> None:
        one, many = make(), make()
        for i in range(20):
            one.promises.create(f"p{i}", 1000 + i, param=i, tags={"resonate:external": "true"})
        many.promises.create_many(
            (f"p{i}" for i in range(20)), [1000 + i for i in range(20)], params=range(20), tags={"resonate:external": "true"}
        )
        assert one.digest() == many.digest()
        for i in range(20):
            one.promises.reject(f"p{i}", i)
        assert set(many.promises.settle_many([f"p{i}" for i in range(20)], range(20), state="rejected").states) == {"rejected"}
        assert one.digest() == many.digest()

    def test_existing_ones_are_answered(self) -> None:
        store = make()
        store.promises.create("a", 5)
        assert [p.timeout_at for p in store.promises.create_many(["a", "b", "b"], 1000)] == [5, 1000, 1000]
        store.promises.resolve("a", 1)
        assert [p.value.json() for p in store.promises.settle_many(["a", "b"], [2, 3])] == [1, 3]

    def test_nothing(self) -> None:
        assert len(make().promises.create_many([], 1000)) == 0
        assert make().promises.settle_many([]).ids == []

    @pytest.mark.parametrize("case", range(len(REFUSED)))
    def test_all_or_nothing(self, case: int) -> None:
        error, call = REFUSED[case]
        store = make()
        store.promises.create("a", 1000)
        before = store.digest()
        with pytest.raises(error):
            call(store)
        assert store.digest() == before

    def test_an_iterable_that_raises(self) -> None:
        def ids() -> Any:
            yield "a"
            raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            make().promises.create_many(ids(), 1000)


class TestEnvelopes:
    def test_answers_stand_in_order(self) -> None:
        store = make()
        answers = store.apply(
            [
                request("promise.create", "a", id="a", timeoutAt=10),
                {},
                request("promise.get", "b", id="a"),
                request("promise.get", "c", id="b"),
            ]
        )
        assert statuses(answers) == [200, 400, 200, 404]
        assert [a["head"]["corrId"] for a in answers] == ["a", "0", "b", "c"]

    def test_a_list_of_texts(self) -> None:
        texts = [json.dumps(request("promise.create", id=f"p{i}", timeoutAt=10)).encode() for i in range(3)]
        by_text, by_dict = make(), make()
        answers = [json.loads(answer) for answer in by_text.apply_json(texts)]
        assert answers == by_dict.apply([json.loads(text) for text in texts])
        assert by_text.digest() == by_dict.digest()

    def test_an_array_in_one_text_is_no_batch(self) -> None:
        text = json.dumps([request("promise.create", id="a", timeoutAt=10)])
        assert json.loads(make().apply_json(text))["head"]["status"] == 400

    @pytest.mark.parametrize("bad", [{}, request("promise.get", id="nobody"), request("promise.create", id="", timeoutAt=1)])
    def test_atomic(self, bad: dict[str, Any]) -> None:
        store = make()
        before = store.digest()
        good = request("promise.create", id="a", timeoutAt=10)
        answers = store.apply([good, bad, good], atomic=True)
        assert statuses(answers)[0] == statuses(answers)[2] == 409 and statuses(answers)[1] in (400, 404)
        assert store.digest() == before
        assert statuses(store.apply([good, good], atomic=True)) == [200, 200]

    def test_an_undone_batch_does_not_move_the_clock(self) -> None:
        store = make()
        later = request("promise.create", id="a", timeoutAt=1000)
        later["head"]["resonate:debug_time"] = 500
        assert statuses(store.apply([later, request("promise.get", id="nobody")], atomic=True)) == [409, 404]
        assert store.now == 0
        assert statuses(store.apply([later], atomic=True)) == [200]
        assert store.now == 500

    def test_steps_run_between_requests(self) -> None:
        store = make()
        store.promises.create("a", 10, tags={"resonate:timer": "true"})
        assert statuses(store.apply([request("promise.create", id="b", timeoutAt=99), request("promise.get", id="a")], now=10)) == [
            200,
            200,
        ]
        assert store.promises.get("a").state == "resolved"

    def test_empty(self) -> None:
        assert make().apply([]) == [] and make().apply_json([]) == []


class TestMessages:
    def test_taking(self) -> None:
        store = make()
        for i, address in enumerate(["poll://any@a", "http://one", "poll://any@b", "https://two"]):
            store.promises.create(f"j{i}", 1000, tags={"resonate:target": address})
        assert [m.address for m in store.messages(limit=2)] == ["poll://any@a", "http://one"]
        assert store.take_messages(addresses=[]) == [] == store.take_messages(limit=0)
        assert [m["address"] for m in store.take_messages(addresses=["http*"])] == ["http://one", "https://two"]
        assert [m["key"] for m in store.take_messages(limit=1, addresses=["poll://any@b", "poll://any@a"])] == ["execute:j0"]
        assert [m["message"] for m in store.take_messages()] == [
            {"kind": "execute", "head": {}, "data": {"task": {"id": "j2", "version": 0}}}
        ]
        assert store.messages() == [] == store.take_messages()
        with pytest.raises(rc.Invalid):
            store.take_messages(-1)

    def test_an_unblock_carries_the_record(self) -> None:
        store = make()
        store.promises.create("a", 1000)
        store.promises.register_listener("a", "poll://any@c")
        settled = store.promises.resolve("a", 5)
        [message] = store.take_messages()
        assert message["message"] == {"kind": "unblock", "head": {}, "data": {"promise": settled.to_dict()}}
