"""The history of promises and tasks, read from a recorded trace or a store; the timeline is drawn from it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core.history import History, Mark, Span

TARGET = {"resonate:target": "poll://any@workers"}
OLD = "2025-01-15"


class Recorded:
    """A store on a manual clock, and its trace."""

    def __init__(self, start: int = 0) -> None:
        self.clock = rc.ManualClock(start=start)
        self.store = rc.Store(clock=self.clock, check=True)
        self.trace = io.StringIO()
        self.store.record(self.trace)

    @property
    def history(self) -> History:
        return History(self.trace)

    def spans(self, promise_id: str) -> list[tuple[str, int, int | None, str | None]]:
        """The spans of a task that are longer than 0 ms."""
        return [(s.state, s.start, s.end, s.pid) for s in self.history.lives[promise_id].spans if s.end != s.start]

    def old(self, kind: str, **data: object) -> None:
        """A request of the older dialect."""
        reply = self.store.apply({"kind": kind, "head": {"corrId": "1", "version": OLD}, "data": data})
        assert reply["head"]["status"] in (200, 300), reply


@pytest.fixture
def recorded() -> Recorded:
    """A store that is being recorded."""
    return Recorded()


def test_a_lease_that_runs_out_and_a_takeover(recorded: Recorded) -> None:
    store, clock = recorded.store, recorded.clock
    store.promises.create("job", timeout=60_000, tags=TARGET)
    clock.advance(1000)
    store.tasks.acquire("job", 0, pid="ann", ttl=4000)
    clock.advance(2000)
    store.tasks.heartbeat("ann", [("job", 1)])
    clock.advance(6000)
    store.tasks.acquire("job", 1, pid="bob", ttl=4000)
    with pytest.raises(rc.errors.Conflict):
        store.tasks.fulfill("job", 1)
    clock.advance(1000)
    store.tasks.fulfill("job", 2, "done")
    assert recorded.spans("job") == [
        ("pending", 0, 1000, None),
        ("acquired", 1000, 7000, "ann"),
        ("pending", 7000, 9000, None),
        ("acquired", 9000, 10_000, "bob"),
    ]
    life = recorded.history.lives["job"]
    assert (life.state, life.created_at, life.settled_at, life.timeout_at) == ("resolved", 0, 10_000, 60_000)
    assert life.marks == [
        Mark(0, "dispatch"),
        Mark(3000, "heartbeat"),
        Mark(7000, "lease_expiry"),
        Mark(7000, "dispatch"),
        Mark(9000, "refused", "409"),
    ]


def test_suspend_wake_halt_resume_release(recorded: Recorded) -> None:
    store, clock = recorded.store, recorded.clock
    store.tasks.create("job", pid="ann", ttl=50_000, timeout=90_000, target=TARGET["resonate:target"])
    store.tasks.fence_create("job", 1, "child", timeout=90_000)
    clock.advance(1000)
    store.tasks.suspend("job", 1, ["child"])
    clock.advance(1000)
    store.promises.resolve("child")
    clock.advance(1000)
    store.tasks.acquire("job", 1, pid="bob", ttl=50_000)
    assert store.tasks.suspend("job", 2, ["child"]).status == 300  # it continues at once, so there is no span
    clock.advance(1000)
    store.tasks.halt("job")
    clock.advance(1000)
    store.tasks.halt("job")
    clock.advance(1000)
    store.tasks.resume("job")
    clock.advance(1000)
    store.tasks.acquire("job", 2, pid="cleo", ttl=50_000)
    clock.advance(1000)
    store.tasks.release("job", 3)
    clock.advance(1000)
    store.promises.cancel("job")
    assert recorded.spans("job") == [
        ("acquired", 0, 1000, "ann"),
        ("suspended", 1000, 2000, None),
        ("pending", 2000, 3000, None),
        ("acquired", 3000, 4000, "bob"),
        ("halted", 4000, 6000, None),
        ("pending", 6000, 7000, None),
        ("acquired", 7000, 8000, "cleo"),
        ("pending", 8000, 9000, None),
    ]
    assert recorded.history.wakes == [(2000, "child", "job")]
    assert recorded.history.lives["job"].state == "rejected_canceled"


def test_deadlines_with_and_without_a_step(recorded: Recorded) -> None:
    store, clock = recorded.store, recorded.clock
    store.promises.create("timer", timeout=1000, tags={"resonate:timer": "true"})
    store.promises.create("task", timeout=2000, tags=TARGET)
    store.promises.create("internal", timeout=3000)
    clock.advance(5000)
    store.promises.create("later", timeout=9000)
    lives = recorded.history.lives
    assert [(life.id, life.state, life.settled_at) for life in lives.values()] == [
        ("timer", "resolved", 1000),
        ("task", "rejected_timedout", 2000),
        ("internal", "rejected_timedout", 3000),
        ("later", "pending", None),
    ]
    assert lives["task"].task is None
    assert Mark(2000, "promise_timeout") in lives["task"].marks
    assert lives["internal"].marks == []


def test_born_settled(recorded: Recorded) -> None:
    recorded.clock.advance(500)
    recorded.store.promises.create("dead", timeout_at=100, tags=TARGET)
    life = recorded.history.lives["dead"]
    assert (life.state, life.created_at, life.settled_at, life.spans) == ("rejected_timedout", 100, 100, [])


def test_both_dialects_are_read(recorded: Recorded) -> None:
    recorded.old("promise.create", id="job", timeoutAt=90_000, tags={"resonate:invoke": "poll://any@workers"})
    recorded.clock.advance(1000)
    recorded.old("task.acquire", id="job", version=0, pid="ann", ttl=50_000)
    recorded.clock.advance(1000)
    recorded.old("task.release", id="job", version=0)
    recorded.old(
        "task.create", pid="bob", ttl=50_000, action={"kind": "promise.create", "head": {}, "data": {"id": "job", "timeoutAt": 5}}
    )
    recorded.old(
        "task.create",
        pid="bob",
        ttl=50_000,
        action={"kind": "promise.create", "head": {}, "data": {"id": "new", "timeoutAt": 90_000}},
    )
    recorded.clock.advance(1000)
    assert recorded.spans("job") == [("pending", 0, 1000, None), ("acquired", 1000, 2000, "ann"), ("pending", 2000, None, None)]
    assert recorded.spans("new") == [("acquired", 2000, None, "bob")]


def test_schedules_and_what_they_make() -> None:
    recorded = Recorded(start=1_767_225_600_000)
    store, clock = recorded.store, recorded.clock
    store.schedules.create("hourly", "@hourly", promise_timeout=1000, tags={"resonate:timer": "true"})
    store.schedules.create("work", "30 * * * *", promise_timeout=90_000_000, tags=TARGET)
    clock.advance(3_600_000)
    store.schedules.delete("hourly")
    clock.advance(60_000)
    history = recorded.history
    hour, half = 1_767_229_200_000, 1_767_227_400_000
    made = history.lives[f"hourly.{hour}"]
    assert (made.schedule, made.created_at, made.state, made.settled_at) == ("hourly", hour, "resolved", hour + 1000)
    assert history.lives[f"work.{half}"].spans == [Span("pending", half)]
    assert (history.lives["hourly"].timeout_at, history.lives["hourly"].settled_at) == (None, hour)
    assert history.lives["work"].settled_at is None


def test_a_recording_that_begins_in_the_middle(recorded: Recorded) -> None:
    store, clock = recorded.store, recorded.clock
    store.tasks.create("job", pid="ann", ttl=10_000, timeout=90_000, target=TARGET["resonate:target"])
    store.promises.create("free", timeout=90_000, tags=TARGET)
    clock.advance(2000)
    elsewhere = rc.ManualClock(start=2000)
    other = store.fork(clock=elsewhere)
    trace = io.StringIO()
    other.record(trace)
    elsewhere.advance(9000)
    history = History(trace)
    assert history.lives["job"].spans == [Span("acquired", 0, 10_000, "ann"), Span("pending", 10_000)]
    assert history.lives["free"].spans == [Span("pending", 0)]


def test_a_restored_state_ends_what_it_does_not_hold(recorded: Recorded) -> None:
    empty = recorded.store.snapshot()
    recorded.store.promises.create("gone", timeout=90_000, tags=TARGET)
    recorded.clock.advance(1000)
    recorded.store.restore(empty)
    recorded.store.promises.create("new", timeout=90_000)
    history = recorded.history
    assert history.lives["gone"].spans[-1].end is not None
    assert history.lives["new"].created_at == 1000


def test_a_store_without_a_past(recorded: Recorded) -> None:
    store, clock = recorded.store, recorded.clock
    store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    store.promises.create("a", timeout=90_000, tags=TARGET)
    clock.advance(1000)
    store.tasks.acquire("a", 0, pid="ann", ttl=10_000)
    store.promises.create("b", timeout=500)
    clock.advance(1000)
    history = History(store)
    assert history.lives["a"].spans == [Span("acquired", 1000, None, "ann")]
    assert (history.lives["b"].state, history.lives["b"].settled_at) == ("rejected_timedout", 1500)
    assert history.lives["hourly"].timeout_at is None
    assert (history.start, history.end) == (0, 2000)


def test_a_trace_from_a_file_or_lines(recorded: Recorded, tmp_path: Path) -> None:
    recorded.store.promises.create("a", timeout=1000)
    text = recorded.trace.getvalue()
    (tmp_path / "trace.jsonl").write_text(text)
    with open(tmp_path / "trace.jsonl", "rb") as file:
        for source in (tmp_path / "trace.jsonl", str(tmp_path / "trace.jsonl"), text.splitlines(), file):
            assert list(History(source).lives) == ["a"]


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", json.dumps({"kind": "open", "now": 0, "req": {}, "res": {}})])
def test_what_is_no_trace_names_the_line(recorded: Recorded, line: str) -> None:
    recorded.store.promises.create("a", timeout=1000)
    good = recorded.trace.getvalue().splitlines()
    with pytest.raises(rc.errors.Invalid, match=f"line {len(good) + 1}"):
        History([*good, line])
