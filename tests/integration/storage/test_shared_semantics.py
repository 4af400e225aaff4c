"""Calls while other processes use the same store: the rows of the table "Calls and the other processes" in docs/postgresql.md.

Two stores in this process stand for two processes where the order of their calls is given: they share nothing but the file or the
database. Where calls are to overlap, the other process is a real one.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import resonate_core as rc
from homes import Home

FAR = 10**15
PREAMBLE = """
import json, sys, resonate_core as rc
store = rc.Store(sys.argv[1], clock=rc.ManualClock(0), busy_timeout=60_000)
"""


@pytest.fixture
def pair(home: Home, place: Any) -> Iterator[tuple[Any, Any]]:
    """The stores of two processes."""
    one, other = (home.open(place, clock=rc.ManualClock(0), busy_timeout=60_000) for _ in range(2))
    with one, other:
        yield one, other


@contextmanager
def elsewhere(place: Any, program: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program on the store in another process, which has begun; `store` is open there, and `json` and `sys` are imported."""
    body = PREAMBLE + "print('ready', flush=True)\n" + program
    with subprocess.Popen(
        [sys.executable, "-c", body, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def shown(process: subprocess.Popen[str]) -> Any:
    """Returns the value that the program printed at its end."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    printed = process.stdout.read()  # `communicate` loses what came together with the line that it has begun
    assert process.wait(timeout=120) == 0
    return json.loads(printed)


def test_check_and_snapshot_see_one_instant(home: Home, place: Any) -> None:
    """Each transaction of the other process creates a pair; no snapshot has half of one."""
    with home.open(place, clock=rc.ManualClock(0)) as store:
        program = """
for number in range(150):
    pair = [{"kind": "promise.create", "head": {"corrId": "0", "version": "2026-04-01"},
             "data": {"id": f"{side}{number}", "timeoutAt": 10**15}} for side in "ab"]
    store.apply(pair, atomic=True)
print(json.dumps("done"))
"""
        with elsewhere(place, program) as process:
            ended = False
            while not ended:
                ended = process.poll() is not None
                ids = [promise["id"] for promise in store.snapshot()["promises"]]
                assert Counter(id[0] for id in ids) in ({}, {"a": len(ids) // 2, "b": len(ids) // 2})
                assert store.check() == []
            assert shown(process) == "done"
        assert len(ids) == 300


def test_a_page_of_a_search_sees_one_instant_and_the_next_page_a_later_one(pair: tuple[Any, Any]) -> None:
    one, other = pair
    one.promises.create_many(["b", "d", "f"], FAR)
    page = one.promises.search(limit=2)
    assert [promise.id for promise in page] == ["b", "d"]
    other.promises.create_many(["a", "c", "e"], FAR)
    other.promises.resolve("f")
    rest = one.promises.search(limit=2, cursor=page.cursor)
    assert [(promise.id, promise.state) for promise in rest] == [("e", "pending"), ("f", "resolved")], (
        "what lies behind is not read again"
    )


def test_two_purges_at_once_delete_each_promise_once(home: Home, place: Any) -> None:
    with home.open(place, clock=rc.ManualClock(0)) as store:
        ids = [f"p{number}" for number in range(3000)]
        store.promises.create_many(ids, FAR)
        for id in ids:
            store.promises.resolve(id)
        store.promises.create("kept", FAR)
        store.clock.advance(1000)
        program = "sys.stdin.readline(); store.tick(1000); print(json.dumps(store.purge(settled_before=1000)))"
        with elsewhere(place, program) as process:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            purged = store.purge(settled_before=1000)
            assert purged + shown(process) == 3000
        assert [promise.id for promise in store.promises.search()] == ["kept"]
        assert store.check() == []


def test_a_purge_keeps_what_another_process_still_needs(pair: tuple[Any, Any]) -> None:
    """The workflow continues in another process, whose next run reads the settled step again."""
    one, other = pair
    other.promises.create("root", FAR, tags={"resonate:target": "poll://any@w"})
    other.promises.create("root.1", FAR, tags={"resonate:origin": "root"})
    other.promises.resolve("root.1")
    one.clock.advance(1000)
    assert one.purge(settled_before=1000) == 0
    other.tick(1000)
    other.promises.resolve("root")
    one.take_messages()
    one.clock.advance(1000)
    assert one.purge(settled_before=2000) == 2


def test_a_fork_goes_its_own_way(pair: tuple[Any, Any]) -> None:
    one, other = pair
    one.promises.create("a", FAR)
    fork = one.fork()
    other.promises.resolve("a")
    fork.promises.reject("a")
    assert (one.promises.get("a").state, fork.promises.get("a").state) == ("resolved", "rejected")


def test_a_recording_contains_what_other_processes_did(pair: tuple[Any, Any]) -> None:
    """The recording contains the state after their commits, so that it can be replayed."""
    one, other = pair
    trace = io.StringIO()
    with one.record(trace):
        one.promises.create("a", FAR)
        other.promises.create("b", FAR, tags={"resonate:target": "poll://any@w"})
        other.promises.resolve("a")
        assert one.promises.get("a").state == "resolved"
        assert one.tasks.acquire("b", version=0, pid="w", ttl=1000).task.state == "acquired"
        other.promises.create("c", 5000, tags={"resonate:timer": "true"})
        one.clock.advance(9000)
        one.promises.create("d", FAR)
    lines = trace.getvalue().splitlines()
    replayed = rc.replay(lines)
    assert replayed.ok, replayed
    states = [line for line in lines if '"snapshot":' in line]
    # At the begin, and after each time that the other process committed. A read that shared commits may have passed cannot tell whether
    # they are all in its snapshot, so the next transaction adds the state again.
    assert 3 <= len(states) <= 7, len(states)


def test_restore_and_reset_are_for_all_processes(pair: tuple[Any, Any]) -> None:
    one, other = pair
    one.promises.create("a", FAR)
    before = one.snapshot()
    other.promises.create("b", FAR)
    one.restore(before)
    assert [promise.id for promise in other.promises.search()] == ["a"]
    other.promises.create("c", FAR)
    assert [promise.id for promise in one.promises.search()] == ["a", "c"]
    one.apply({"kind": "debug.reset", "head": {"corrId": "0", "version": "2026-04-01"}, "data": {}})
    assert list(other.promises.search()) == []
    assert other.check() == []


def test_next_due_and_messages_count_what_others_did(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert one.next_due() is None
    other.promises.create("timer", 5000, tags={"resonate:timer": "true"})
    assert one.next_due() == 5000
    other.promises.create("task", FAR, tags={"resonate:target": "poll://any@w"})
    assert one.outbox_counts()["waiting"] == 1
    assert [message.id for message in one.messages()] == ["task"]
    one.take_messages()
    assert list(other.messages()) == []


def test_each_step_fires_in_one_of_two_ticks(home: Home, place: Any) -> None:
    """Two processes tick at once: together they report each step once, and no settlement changes."""
    count = 1000
    with home.open(place, clock=rc.ManualClock(0)) as store:
        ids = [f"t{number:04}" for number in range(count)]
        store.promises.create_many(ids, 1000, tags={"resonate:timer": "true"})
        program = "sys.stdin.readline(); print(json.dumps([step.id for step in store.tick(1000)]))"
        with elsewhere(place, program) as process:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            fired = [step.id for step in store.tick(1000)]
            assert sorted(fired + shown(process)) == ids
        assert {promise.state for promise in store.promises.search(limit=count)} == {"resolved"}


def test_the_round_robin_of_weights_goes_on_across_processes(pair: tuple[Any, Any]) -> None:
    for store, name, weight in ((pair[0], "a", 3), (pair[1], "b", 1)):
        store.queues.set(name, weight=weight)
        store.jobs.enqueue_many("t", [None] * 20, queue=name)
    queues = []
    for number in range(8):
        (job,) = pair[number % 2].jobs.claim(["a", "b"], 1, worker=f"w{number % 2}", lease=1000)
        queues.append(job.queue)
    assert queues == ["a", "a", "b", "a"] * 2


def test_limits_of_a_queue_hold_for_all_processes_together(pair: tuple[Any, Any]) -> None:
    one, other = pair
    one.queues.set("q", concurrency=3)
    one.jobs.enqueue_many("t", [None] * 10, queue="q")
    held = [len(store.jobs.claim("q", 2, worker="w", lease=1000)) for store in (one, other, one)]
    assert held == [2, 1, 0]
    other.queues.set("r", rate={"limit": 2, "per": 1000})
    other.jobs.enqueue_many("t", [None] * 10, queue="r")
    assert [len(store.jobs.claim("r", 5, worker="w", lease=1000)) for store in (one, other, one)] == [2, 0, 0]


def test_one_process_holds_a_unique_key_and_one_batch_gathers(pair: tuple[Any, Any]) -> None:
    one, other = pair
    one.jobs.enqueue("t", None, unique_key="k")
    with pytest.raises(rc.Conflict, match='uniqueKey "k" of queue "default" is held by job'):
        other.jobs.enqueue("t", None, unique_key="k")
    one.queues.set("g", groups={"size": 4, "grace": 10_000})
    for number in range(4):
        (one, other)[number % 2].jobs.enqueue("t", number, queue="g", group="mails")
    claimed = other.jobs.claim("g", 10, worker="w", lease=1000)
    assert sorted(job.payload.json() for job in claimed) == [0, 1, 2, 3]
    assert len({job.batch for job in claimed}) == 1


def test_statistics_count_the_jobs_of_all_processes(pair: tuple[Any, Any]) -> None:
    for store in pair:
        store.jobs.enqueue_many("t", [None] * 3)
        for job in store.jobs.claim("default", 3, worker="w", lease=1000, start=3):
            store.jobs.complete(job.id, job.version)
    for store in pair:
        (queue,) = store.queues.stats()
        assert queue["counts"]["completed"] == 6
        assert queue["days"][0]["processed"] == 6
