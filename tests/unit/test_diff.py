"""`rc.diff`: the differences between two states."""

from __future__ import annotations

import json
from typing import Any

import pytest

import resonate_core as rc


@pytest.fixture
def store() -> Any:
    made = rc.Store(clock=rc.ManualClock(0))
    made.tasks.create("order:1", pid="ann", ttl=1000, timeout=60_000, target="poll://any@shop")
    made.jobs.enqueue("mail", {"to": "ada"}, id="j1")
    made.schedules.create("nightly", "0 3 * * *", promise_timeout=1000)
    return made


def texts(found: rc.Diff) -> list[str]:
    return [change.text for change in found]


def test_equal_states_have_no_difference(store):
    same = rc.diff(store, store.fork(rc.ManualClock(0)))
    assert not same and len(same) == 0 and str(same) == "no difference"


def test_each_kind_of_record(store):
    fork = store.fork(rc.ManualClock(0))
    fork.promises.resolve("order:1", 1)
    fork.jobs.cancel("j1")
    fork.queues.pause("default")
    fork.schedules.delete("nightly")
    fork.promises.create("new", timeout=5, tags={"resonate:target": "poll://any@shop"})
    found = rc.diff(store, fork)
    assert {"promise order:1: pending → resolved", "task order:1: acquired → fulfilled; pid ann → none"} <= set(texts(found))
    assert {"job j1: pending → cancelled", "queue default: paused false → true", "schedule nightly: removed"} <= set(texts(found))
    assert "promise new: added, pending" in texts(found) and "task new: added, pending" in texts(found)
    assert [change.kind for change in found if change.change == "added" and change.kind == "message"] == ["message"]
    back = rc.diff(fork, store)
    assert back.counts == {"added": found.counts["removed"], "removed": found.counts["added"], "changed": found.counts["changed"]}


def test_two_instants_of_one_store(store):
    before = store.snapshot()
    store.clock.advance(1000)
    found = rc.diff(before, store, labels=("then", "now"))
    assert "task order:1: acquired → pending; pid ann → none" in texts(found)
    assert found.to_dict()["a"] == {"label": "then", "now": 0} and found.to_dict()["b"] == {"label": "now", "now": 1000}


def test_the_json_has_all(store):
    fork = store.fork(rc.ManualClock(0))
    fork.jobs.delete("j1")
    made = json.loads(json.dumps(rc.diff(store, fork).to_dict()))
    removed = next(item for item in made["items"] if item["kind"] == "job")
    assert removed["before"]["type"] == "mail" and removed["after"] is None and removed["text"] == "job j1: removed"
    assert made["format"] == "resonate-diff/1" and sum(made["counts"].values()) == len(made["items"])


def test_changes_beyond_the_most_are_counted(store):
    fork = store.fork(rc.ManualClock(0))
    fork.promises.create_many([f"p{n}" for n in range(20)], 1000)
    found = rc.diff(store, fork, most=5)
    assert len(found) == 5 and found.left_out == 15 and found.counts["added"] == 20 and "and 15 more" in str(found)


@pytest.mark.parametrize("bad", [None, "store.db", {}, {"promises": []}])
def test_what_is_no_state_is_refused(store, bad):
    with pytest.raises(TypeError, match="b must be a Store or a full snapshot"):
        rc.diff(store, bad)
    with pytest.raises(ValueError, match="most must be at least 1, got 0"):
        rc.diff(store, store, most=0)
