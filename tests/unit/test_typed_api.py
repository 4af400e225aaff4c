"""The typed calls: each has the effect of the same request in an envelope."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

import resonate_core as rc

TARGET = "poll://any@workers"


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(), check=True)


def data_of(value: Any) -> str | None:
    return rc.Store(clock=rc.ManualClock()).promises.create("a", 1, param=value).param.data


class TestValues:
    @pytest.mark.parametrize(
        "value",
        [
            "",
            "text",
            'quo"te\\',
            "\n\r\t\b\f\x00\x1f\x7f",
            "ünï € 🎉",
            0,
            -5,
            2**63,
            10**30,
            True,
            False,
            1.5,
            1e300,
            [],
            [1, None],
            {},
            {"ä": [1.5, {"b": None}]},
        ],
    )
    def test_json_as_python_writes_it(self, value: Any) -> None:
        expected = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        data = data_of(value)
        assert data is not None and base64.b64decode(data, validate=True) == expected
        assert rc.Value(data=data).json() == value

    @pytest.mark.parametrize("size", range(8))
    def test_bytes_go_in_as_they_are(self, size: int) -> None:
        raw = bytes(range(250, 250 + min(size, 6))) + b"\x00" * max(0, size - 6)
        for given in (raw, bytearray(raw), memoryview(raw)):
            assert data_of(given) == base64.b64encode(raw).decode()
        assert rc.Value(data=data_of(raw)).bytes() == raw

    def test_a_value_goes_in_raw(self, store: rc.Store) -> None:
        given = rc.Value({"h": "1"}, "no base64!")
        assert store.promises.create("a", 1000, param=given).param == given
        assert store.promises.resolve("a", rc.Value(data="x"), headers={"k": "v"}).value == rc.Value({"k": "v"}, "x")

    def test_nothing(self, store: rc.Store) -> None:
        promise = store.promises.create("a", 1000)
        assert promise.param == rc.Value() and promise.to_dict()["param"] == {}
        assert store.promises.create("b", 1000, headers={}).to_dict()["param"] == {"headers": {}}

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", ["\ud800"]])
    def test_what_json_cannot_say(self, value: Any) -> None:
        with pytest.raises(rc.Invalid):
            data_of(value)

    def test_a_cycle(self) -> None:
        cyclic: list[Any] = []
        cyclic.append(cyclic)
        with pytest.raises(rc.Invalid):
            data_of(cyclic)

    def test_subclasses(self) -> None:
        class Text(str):
            pass

        class Number(int):
            pass

        assert data_of(Text("a")) == data_of("a") and data_of(Number(5)) == data_of(5)


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType])
def test_any_mapping_of_strings(store: rc.Store, kind: Any) -> None:
    tags = kind({"b": "2", "a": "1"})
    assert store.promises.create("a", 1000, tags=tags, headers=tags).tags == {"a": "1", "b": "2"}


class OneTag(Mapping[str, str]):
    """A mapping that is not a dict."""

    def __iter__(self) -> Iterator[str]:
        return iter(["k"])

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: str) -> str:
        return "v"


class BrokenTag(OneTag):
    def __getitem__(self, key: str) -> str:
        raise RuntimeError("broken")


def test_a_mapping_of_ones_own(store: rc.Store) -> None:
    assert store.promises.create("a", 1000, tags=OneTag()).tags == {"k": "v"}
    with pytest.raises(RuntimeError, match="broken"):
        store.promises.create("b", 1000, tags=BrokenTag())
    assert store.promises.count() == 1


class TestPromises:
    def test_create_is_idempotent(self, store: rc.Store) -> None:
        first = store.promises.create("a", 1000, param=1, idempotency_key="k")
        assert store.promises.create("a", 5, param=2, idempotency_key="k") == first
        assert store.promises.create("a", 5) == first
        with pytest.raises(rc.Conflict):
            store.promises.create("a", 5, idempotency_key="other")

    @pytest.mark.parametrize("verb, state", [("resolve", "resolved"), ("reject", "rejected"), ("cancel", "rejected_canceled")])
    def test_settle(self, store: rc.Store, verb: str, state: str) -> None:
        store.promises.create("a", 1000)
        settle = getattr(store.promises, verb)
        first = settle("a", "v", headers={"h": "1"}, idempotency_key="k")
        assert (first.state, first.value.json(), first.value.headers, first.settled_at) == (state, "v", {"h": "1"}, 0)
        assert settle("a", "w", idempotency_key="k") == first == settle("a")
        with pytest.raises(rc.Conflict):
            settle("a", idempotency_key="other")

    def test_ids_of_any_text(self, store: rc.Store) -> None:
        ids = ["a.b:c/d", "ünï 🎉", " ", "x" * 10_000, "\n"]
        for one in ids:
            store.promises.create(one, 1000)
        assert [p.id for p in store.promises.search()] == sorted(ids, key=str.encode)

    def test_search(self, store: rc.Store) -> None:
        store.promises.create_many([f"a{i}" for i in range(5)], 10)
        store.promises.create("b", 1000, tags={"k": "v"})
        store.clock.advance(10)  # type: ignore[attr-defined]
        assert len(store.promises.search(state="rejected_timedout")) == 5
        assert [p.id for p in store.promises.search(tags={"k": "v"})] == ["b"]
        page = store.promises.search("a*", limit=3)
        assert page.cursor is not None
        assert [p.id for p in store.promises.search("a*", limit=3, cursor=page.cursor)] == ["a3", "a4"]


class TestTasks:
    def test_a_life(self, store: rc.Store) -> None:
        store.promises.create("job", 100_000, tags={"resonate:target": TARGET}, param="in")
        claim = store.tasks.acquire("job", 0, pid="w1", ttl=timedelta(seconds=1))
        assert (claim.task.version, claim.task.ttl, claim.task.pid, claim.promise.param.json()) == (1, 1000, "w1", "in")
        store.promises.create("child", 100_000)
        assert store.tasks.suspend("job", 1, ["child"]).suspended
        store.promises.resolve("child", 1)
        assert store.tasks.get("job").resumes == 1
        claim = store.tasks.acquire("job", 1, pid="w2", ttl=1000)
        going_on = store.tasks.suspend("job", 2, ["child"])
        assert (going_on.suspended, going_on.status, going_on.preload) == (False, 300, [])
        store.tasks.release("job", 2)
        claim = store.tasks.acquire("job", 2, pid="w3", ttl=1000)
        assert store.tasks.fulfill("job", 3, "out").value.json() == "out"
        assert store.tasks.get("job").state == "fulfilled"

    def test_create(self, store: rc.Store) -> None:
        claim = store.tasks.create("job", 1000, pid="w", ttl=10, target=TARGET, param=b"x", headers={"h": "1"}, tags={"k": "v"})
        assert claim.promise.tags == {"k": "v", "resonate:target": TARGET} and claim.promise.param == rc.Value({"h": "1"}, "eA==")
        assert store.messages() == []
        assert store.tasks.create("other", 1000, pid="w", ttl=10, tags={"resonate:target": TARGET}, target=TARGET).task.version == 1

    def test_fences(self, store: rc.Store) -> None:
        tags = {"resonate:branch": "b"}
        store.tasks.create("job", 1000, pid="w", ttl=10, target=TARGET, tags=tags)
        fenced = store.tasks.fence_create("job", 1, "job.1", 500, tags=tags, param=1)
        assert fenced.promise == store.promises.get("job.1") == fenced.preload[0]
        assert store.tasks.fence_settle("job", 1, "job.1", 2, state="rejected").promise.state == "rejected"

    def test_heartbeat(self, store: rc.Store) -> None:
        clock = store.clock
        assert isinstance(clock, rc.ManualClock)
        store.tasks.create("a", 10_000, pid="w", ttl=100, target=TARGET)
        store.tasks.create("b", 10_000, pid="w", ttl=100, target=TARGET)
        clock.advance(90)
        store.tasks.heartbeat("w", [("a", 1), ("nobody", 1)])
        clock.advance(50)
        assert (store.tasks.get("a").state, store.tasks.get("b").state) == ("acquired", "pending")
        store.tasks.heartbeat("w")
        assert store.next_due() == 240

    def test_halt_and_resume(self, store: rc.Store) -> None:
        store.tasks.create("a", 10_000, pid="w", ttl=100, target=TARGET)
        store.tasks.halt("a")
        assert store.next_due() == 10_000
        store.tasks.resume("a")
        assert [t.id for t in store.tasks.search("*", state="pending", target=TARGET)] == ["a"]


class TestSchedules:
    def test_a_life(self, store: rc.Store) -> None:
        made = store.schedules.create(
            "s", "*/5 * * * *", promise_id="{{.id}}@{{.timestamp}}", promise_timeout=timedelta(minutes=1), param=1, tags={"k": "v"}
        )
        assert made == store.schedules.create("s", "@daily", promise_timeout=1) == store.schedules.get("s")
        assert (made.promise_timeout, made.promise_param.json(), made.promise_tags, made.last_run_at) == (
            60_000,
            1,
            {"k": "v"},
            None,
        )
        store.clock.advance(600_000)  # type: ignore[attr-defined]
        assert [p.id for p in store.promises.search()] == ["s@300000", "s@600000"]
        assert store.schedules.get("s").last_run_at == 600_000
        store.schedules.delete("s")
        assert len(store.schedules.search()) == 0


class TestState:
    def test_fork_is_independent(self, store: rc.Store) -> None:
        store.promises.create("a", 1000)
        copy = store.fork()
        assert copy.digest() == store.digest() and copy.clock is not store.clock
        copy.promises.create("b", 1000)
        store.promises.resolve("a")
        assert (store.promises.count(), copy.promises.get("a").state) == (1, "pending")
        assert copy.check() == store.check() == []
        clock = rc.ManualClock(500)
        assert store.fork(clock).clock is clock

    def test_snapshot_and_restore(self, store: rc.Store) -> None:
        store.tasks.create("job", 1000, pid="w", ttl=10, target=TARGET)
        store.promises.register_listener("job", TARGET)
        store.schedules.create("s", "@hourly", promise_timeout=5)
        store.clock.advance(700)  # type: ignore[attr-defined]
        snapshot = store.snapshot()
        assert json.loads(json.dumps(snapshot)) == snapshot and snapshot["format"] == "resonate_core/1"
        clock = rc.ManualClock()
        other = rc.Store(clock=clock)
        other.restore(snapshot)
        assert (other.digest(), other.snapshot(), clock.now) == (store.digest(), snapshot, 700)
        assert set(store.snapshot("debug")) >= {"promises", "tasks", "messages"}
        for broken in ({}, {"format": "other"}, {**snapshot, "promises": 5}, {"format": float("nan")}):
            with pytest.raises(rc.Invalid):
                other.restore(broken)
        with pytest.raises(rc.Invalid, match="'full', 'debug'"):
            store.snapshot("short")  # type: ignore[arg-type]
        assert other.snapshot() == snapshot

    def test_counts(self, store: rc.Store) -> None:
        store.promises.create_many([f"p{i}" for i in range(3000)], 1000)
        store.promises.create("job", 10, tags={"resonate:target": TARGET})
        store.schedules.create("s", "@hourly", promise_timeout=5)
        assert store.counts() == {"promises": {"pending": 3001}, "tasks": {"pending": 1}, "schedules": 1, "messages": 1}
        assert store.promises.count() == 3001

    def test_debug_is_for_manual_clocks(self) -> None:
        start = {"kind": "debug.start", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {}}
        with rc.Store(clock=rc.ManualClock()) as manual:
            assert not manual.paused
            assert manual.apply(start)["head"]["status"] == 200 and manual.paused
        assert rc.Store().apply(start)["head"]["status"] == 403
        assert rc.Store(debug=True).apply(start)["head"]["status"] == 200
        assert rc.Store(clock=rc.ManualClock(), debug=False).apply(start)["head"]["status"] == 403

    def test_the_same_objects_again_and_again(self, store: rc.Store) -> None:
        assert store.promises is store.promises and store.clock is store.clock
        promises = store.promises
        del store
        assert promises.create("a", 1000).id == "a"
        assert repr(promises) == "Promises(count=1)"


class TestKeywords:
    """Methods that parse their keyword arguments themselves accept them as a Python function does."""

    def test_every_way_to_give_them(self, store: rc.Store) -> None:
        assert (
            store.promises.create("a", 5)
            == store.promises.create(id="a", timeout_at=5)
            == store.promises.create(timeout_at=5, id="a")
        )
        made_up = "".join(["time", "out_at"])  # not interned
        assert store.promises.create("a", **{made_up: 5}).id == "a"  # type: ignore[arg-type]
        assert rc.Promises.create(store.promises, "a", timeout=5).id == "a"

    @pytest.mark.parametrize(
        "call, said",
        [
            (lambda p: p.create(), "needs the argument 'id'"),
            (lambda p: p.create("a", 5, 6), "takes 2 positional arguments but 3 were given"),
            (lambda p: p.create("a", 5, id="b"), "multiple values for argument 'id'"),
            (lambda p: p.create("a", 5, tag={}), "unexpected keyword argument 'tag'"),
            (lambda p: p.resolve("a", 1, {}), "takes 2 positional arguments but 3 were given"),
            (lambda p: rc.Promises.create("a", 5), "Promises"),  # type: ignore[arg-type]
            (lambda p: rc.Tasks.acquire(p, "a", 1, pid="w", ttl=1), "Tasks"),
        ],
    )
    def test_wrong_ways(self, store: rc.Store, call: Any, said: str) -> None:
        with pytest.raises(TypeError, match=said):
            call(store.promises)

    def test_an_object_that_was_never_made(self) -> None:
        for call in (lambda: rc.Store.__new__(rc.Store).apply({}), lambda: rc.Promises.__new__(rc.Promises).create("a", 1)):
            with pytest.raises(TypeError):
                call()

    def test_a_subclass(self) -> None:
        class Named(rc.Store):
            name = "mine"

        store = Named(clock=rc.ManualClock())
        assert store.apply({})["head"]["status"] == 400 and store.promises.create("a", 1).id == "a" and store.name == "mine"
