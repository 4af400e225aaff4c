"""Creates beside other processes without a look at PostgreSQL (decision 58): when they are tried, and what makes them run again."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import libpq
import resonate_core as rc
from integration.storage.interleaving import Interleaving
from postgres_urls import plain, schema_of

FAR = 10**15
TARGET = {"resonate:target": "poll://any@w"}
TIMER = {"resonate:timer": "true"}
LOOKS_AFTER_FAILURE = 8


def shared(url: str) -> str:
    return f"{url}&writers=shared"


@contextlib.contextmanager
def counts(**expected: int) -> Iterator[None]:
    """Checks how much the block adds to these counts of the process."""
    before = rc.database_counts()
    yield
    after = rc.database_counts()
    assert {name: after[name] - before[name] for name in expected} == expected


def at_once(commits: int, again: int = 0) -> contextlib.AbstractContextManager[None]:
    """Checks how many commits of the block had no look, and how many transactions ran again."""
    return counts(optimistic_commits=commits, run_again=again)


def judge_in_time(seconds: float, scene: Callable[[int], None]) -> None:
    """Plays a scene that fails if it takes longer than this on a slow machine, up to five times; it gets the number of the turn."""
    for turn in range(5):
        began = time.monotonic()
        try:
            scene(turn)
        except AssertionError:
            if turn == 4 or time.monotonic() - began < seconds:
                raise
        else:
            return


def create(id: str, timeout_at: int = FAR) -> dict[str, Any]:
    data = {"id": id, "timeoutAt": timeout_at, "param": {}, "tags": {}}
    return {"kind": "promise.create", "head": {"corrId": id, "version": "2026-04-01"}, "data": data}


def settle(id: str) -> dict[str, Any]:
    data = {"id": id, "state": "resolved", "value": {}}
    return {"kind": "promise.settle", "head": {"corrId": id, "version": "2026-04-01"}, "data": data}


def get(id: str) -> dict[str, Any]:
    return {"kind": "promise.get", "head": {"corrId": id, "version": "2026-04-01"}, "data": {"id": id}}


def stored_states(url: str) -> dict[str, int]:
    """The states of all promises as the tables have them. A read of the store shows what is due as if it had run. 0: pending."""
    with libpq.Connection(plain(url)) as server:
        rows = server.execute(f"SELECT id, state FROM {schema_of(url)}.promises")
    return {str(id): int(str(state)) for id, state in rows}


def add_schedule(store: rc.Store) -> None:
    """Commits alone: schedules do not run beside others."""
    store.schedules.create("s", cron="* * * * *", promise_id="{{.id}}.{{.timestamp}}", promise_timeout=10**6)


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock(0)


@pytest.fixture
def store(postgres_url: str, clock: rc.ManualClock) -> Iterator[rc.Store]:
    """A store that shares. It has looked."""
    with rc.Store(shared(postgres_url), clock=clock) as opened:
        opened.promises.create("first", FAR)
        yield opened
        assert opened.check() == []


@pytest.fixture
def other(postgres_url: str) -> Iterator[rc.Store]:
    """Another one, for another process: only the database is common to both."""
    with rc.Store(shared(postgres_url), clock=rc.ManualClock(0)) as opened:
        yield opened


def test_a_create_takes_one_round_trip(store: rc.Store) -> None:
    with counts(round_trips=1, optimistic_commits=1, shared_commits=1, run_again=0):
        assert store.promises.create("p", FAR, param="mine").param.json() == "mine"
    with counts(round_trips=1, optimistic_commits=1, shared_commits=1, run_again=0):
        answers = store.apply([create(f"q{number}", FAR + number) for number in (3, 1, 2, *range(10, 60))])
    assert {answer["head"]["status"] for answer in answers} == {200}
    assert store.promises.count() == 2 + 53


def test_an_id_that_comes_twice_in_a_batch(store: rc.Store) -> None:
    with at_once(1):
        answers = store.apply([create("p", FAR), create("p", FAR + 1)])
    assert [answer["data"]["promise"]["timeoutAt"] for answer in answers] == [FAR, FAR]


def test_a_process_that_is_no_longer_beside_others_runs_alone(postgres_url: str) -> None:
    """Creates without a look count as transactions that have seen no other process: after 32 of them this one is alone again."""
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        with rc.Store(postgres_url, clock=rc.ManualClock(0)) as other:
            for number in range(40):  # until each has noticed the other one, and has looked after its wrong guesses
                store.promises.create(f"a{number}", FAR)
                other.promises.create(f"b{number}", FAR)
        with counts(round_trips=20), at_once(20):
            for number in range(20):
                store.promises.create(f"p{number}", FAR)
        for number in range(20):
            store.promises.create(f"q{number}", FAR)
        with counts(shared_commits=0, optimistic_commits=1, run_again=0):
            store.promises.create("alone again", FAR)
        assert store.check() == []


@pytest.mark.parametrize("writers", ["auto", "shared"])
def test_others_that_create_do_not_disturb(postgres_url: str, store: rc.Store, writers: str) -> None:
    """Commits of others beside this process do not make its creates run again."""
    with rc.Store(f"{postgres_url}&writers={writers}", clock=rc.ManualClock(0)) as other:
        for number in range(40):  # until `other` has noticed this process, and has looked after its wrong guesses
            store.promises.create(f"a{number}", FAR)
            other.promises.create(f"b{number}", FAR)
        with at_once(20), counts(round_trips=20):
            for number in range(10):
                store.promises.create(f"p{number}", FAR)
                other.promises.create(f"q{number}", FAR)


def test_an_id_that_exists(store: rc.Store, other: rc.Store) -> None:
    """The create runs again with a look, and gets the promise of the other process. It is the first of 8 that look."""
    other.promises.create("old", FAR, param="other")
    with at_once(0, again=1):
        assert store.promises.create("old", FAR, param="mine").param.json() == "other"
    with at_once(0):
        for number in range(LOOKS_AFTER_FAILURE - 1):
            store.promises.create(f"p{number}", FAR)
    with at_once(1):
        store.promises.create("ninth", FAR)


def test_one_id_of_a_batch_exists(store: rc.Store, other: rc.Store) -> None:
    other.promises.create("p5", FAR + 5)
    with at_once(0, again=1):
        answers = store.apply([create(f"p{number}") for number in range(9)])
    assert [answer["data"]["promise"]["timeoutAt"] - FAR for answer in answers] == [0] * 5 + [5] + [0] * 3
    assert {answer["head"]["status"] for answer in answers} == {200}


def test_all_or_none(store: rc.Store) -> None:
    with at_once(1):
        answers = store.apply([create("a"), create("b")], atomic=True)
    assert [answer["head"]["status"] for answer in answers] == [200, 200]


@pytest.mark.parametrize("alone", ["store", "other"])
def test_the_mark_of_what_is_due_has_risen(postgres_url: str, store: rc.Store, other: rc.Store, alone: str) -> None:
    """A commit alone raises the mark at which scans for due promises begin. A create with an earlier timeout must lower it."""
    store.promises.create("late", 1000, tags=TIMER)
    add_schedule(store if alone == "store" else other)  # due at 60,000
    with at_once(0, again=1 if alone == "store" else 2):  # a look finds the mark, and only a commit alone lowers it
        store.promises.create("early", 500, tags=TIMER)
    with rc.Store(postgres_url, clock=rc.ManualClock(600)) as late:
        assert [step.id for step in late.tick()] == ["early"]
        assert late.check() == []


def test_after_a_commit_alone_the_process_looks(store: rc.Store) -> None:
    store.promises.create("task", FAR, tags=TARGET)
    with at_once(0):
        store.promises.create("p", FAR)
    with at_once(1):
        store.promises.create("q", FAR)


def test_a_submission_runs_before_the_request(postgres_url: str, store: rc.Store) -> None:
    with psycopg.connect(plain(postgres_url)) as connection:
        request = {"id": "p", "timeoutAt": FAR, "param": {"data": base64.b64encode(b'"submitted"').decode()}, "tags": {}}
        rc.submit(connection, "promise.create", request, schema=schema_of(postgres_url))
    with at_once(0, again=1):
        store.promises.create("q", FAR)
    assert store.promises.get("p").param.json() == "submitted"
    assert stored_states(postgres_url).keys() == {"first", "p", "q"}


def test_a_timer_that_is_not_due_costs_no_look(store: rc.Store, other: rc.Store) -> None:
    other.promises.create("looks", FAR)
    store.promises.create("looks too", FAR)
    with at_once(2):
        other.promises.create("timer", timeout=300, tags=TIMER)
        store.promises.create("before", FAR)


def test_a_step_that_is_due_runs_before_the_request(postgres_url: str) -> None:
    """The process does not know of the timer: another one has created the promise since its look."""
    with rc.Store(shared(postgres_url)) as store, rc.Store(shared(postgres_url)) as other:

        def scene(turn: int) -> None:
            other.promises.create(f"looks {turn}", FAR)
            store.promises.create(f"looks too {turn}", FAR)
            due = other.promises.create(f"timer {turn}", timeout=300, tags=TIMER).timeout_at
            while store.now <= due:
                time.sleep(0.01)
            assert stored_states(postgres_url)[f"timer {turn}"] == 0
            with at_once(0, again=1):
                store.promises.create(f"after {turn}", FAR)
            assert stored_states(postgres_url)[f"timer {turn}"] != 0

        judge_in_time(0.9, scene)  # a look is of use for 1 s
        assert store.check() == []


def test_a_step_that_is_known_to_be_due_costs_no_guess(postgres_url: str) -> None:
    with rc.Store(shared(postgres_url)) as store:

        def scene(turn: int) -> None:
            store.promises.create(f"timer {turn}", timeout=200, tags=TIMER)
            store.promises.create(f"task {turn}", FAR, tags=TARGET)
            store.promises.create(f"looks {turn}", FAR)  # since it was alone: it learns of the timer
            time.sleep(0.3)
            with at_once(0):
                store.promises.create(f"after {turn}", FAR)
            assert stored_states(postgres_url)[f"timer {turn}"] != 0

        judge_in_time(0.45, scene)  # the timer is due 0.2 s after its creation


def test_a_schedule_that_is_due_runs_before_the_request(
    postgres_url: str, store: rc.Store, other: rc.Store, clock: rc.ManualClock
) -> None:
    add_schedule(other)
    with at_once(0, again=1):
        store.promises.create("looks", FAR)
    for number in range(LOOKS_AFTER_FAILURE):
        store.promises.create(f"p{number}", FAR)
    clock.advance_to(50_000)
    store.promises.create("looks again", FAR)
    with at_once(1):
        store.promises.create("before", FAR)
    schema = schema_of(postgres_url)
    with libpq.Connection(plain(postgres_url)) as server:  # what the process knows does not tell
        server.execute(
            f"UPDATE {schema}.schedules SET due_at = 40000, next_run_at = 40000; UPDATE {schema}.counters SET due_mark = 0"
        )
    with at_once(0, again=1):
        store.promises.create("after", FAR)
    assert "s.40000" in stored_states(postgres_url)


def test_instants_of_a_timeout_that_has_passed(store: rc.Store, clock: rc.ManualClock) -> None:
    """Such a promise is settled when it is created."""
    clock.advance_to(1000)
    store.promises.create("looks", FAR)
    with at_once(1):
        assert store.promises.create("p", 900).state == "rejected_timedout"
        assert clock.now == 1000


def test_a_later_instant_of_another_process(postgres_url: str, store: rc.Store) -> None:
    """The instants of promises follow each other, whichever process creates them. No process is alone here: that would be seen."""
    with rc.Store(shared(postgres_url), clock=rc.ManualClock(7000)) as ahead:
        ahead.promises.create("looks", FAR)
        with at_once(1):
            assert ahead.promises.create("ahead", FAR).created_at == 7000
        with libpq.Connection(plain(postgres_url)) as server:  # of the last commit of `ahead`: it has replaced that of its look
            assert server.execute(f"SELECT max(seen) FROM {schema_of(postgres_url)}.writers") == [("7000",)]
    with at_once(0, again=1):
        assert store.promises.create("behind", FAR).created_at == 7000


def test_with_the_databases_clock_a_process_looks_again_after_a_second(postgres_url: str) -> None:
    with rc.Store(shared(postgres_url)) as store:
        store.promises.create("a", FAR)
        with at_once(1):
            store.promises.create("b", FAR)
        time.sleep(1.1)
        with at_once(0):
            store.promises.create("c", FAR)
        with at_once(1):
            store.promises.create("d", FAR)
        assert store.check() == []


def test_an_instant_is_at_most_a_second_old(postgres_url: str) -> None:
    """The network delays the commit: the database's clock is by then more than 1 s after the instant."""
    between = Interleaving(shared(postgres_url), "A", clocks=False)
    actor = between.actors["A"]
    try:
        actor.store.promises.create("looks", FAR)
        with at_once(0, again=1):
            actor.gate.shut()
            actor.start(lambda store: store.promises.create("p", FAR))
            with actor.gate.changed:
                assert actor.gate.changed.wait_for(lambda: actor.gate.waiting > 0, 30)
            time.sleep(1.2)
            now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
            sent_at = int(str(actor.server.execute(f"SELECT {now}")[0][0]))
            assert actor.end().created_at >= sent_at
        assert actor.store.check() == []
    finally:
        between.close()


def hold_lock(url: str, holder: libpq.Connection) -> None:
    """Keeps out all that write, as a process that writes alone does."""
    holder.execute(f"SELECT pg_advisory_lock(hashtextextended('resonate_core writers {schema_of(url)}', 0))")


def test_who_finds_a_process_that_is_alone_waits_in_a_look(postgres_url: str) -> None:
    """A look can be interrupted, and its wait ends with the busy timeout; a commit can not."""
    with (
        rc.Store(shared(postgres_url), clock=rc.ManualClock(0), busy_timeout=120_000) as store,
        contextlib.closing(libpq.Connection(plain(postgres_url))) as holder,
    ):
        store.promises.create("a", FAR)
        hold_lock(postgres_url, holder)
        before = rc.database_counts()["run_again"]
        waiting = threading.Thread(target=store.promises.create, args=("b", FAR))
        waiting.start()
        deadline = time.monotonic() + 30
        while rc.database_counts()["run_again"] == before:
            assert time.monotonic() < deadline, "it waits in its commit"
            time.sleep(0.01)
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND NOT granted"
        while holder.execute(waits)[0][0] == "0":
            assert time.monotonic() < deadline and waiting.is_alive(), "it does not wait in a look"
            time.sleep(0.01)
        assert "b" not in stored_states(postgres_url)
        holder.execute("SELECT pg_advisory_unlock_all()")
        waiting.join(60)
        assert store.promises.get("b").state == "pending"
        assert store.check() == []


def test_a_process_that_is_alone_for_a_moment_costs_no_look(postgres_url: str, store: rc.Store) -> None:
    """The commit waits for it, less than 100 ms, and the create is as good as before if that one has committed nothing."""
    for number in range(100):
        with contextlib.closing(libpq.Connection(plain(postgres_url))) as holder:
            hold_lock(postgres_url, holder)
            before = rc.database_counts()
            waiting = threading.Thread(target=store.promises.create, args=(f"p{number}", FAR))
            waiting.start()
            time.sleep(0.01)
            assert f"p{number}" not in stored_states(postgres_url)
            holder.execute("SELECT pg_advisory_unlock_all()")
            waiting.join(60)
            after = rc.database_counts()
        if after["optimistic_commits"] > before["optimistic_commits"]:
            assert after["run_again"] == before["run_again"]
            return
    pytest.fail("each of 100 creates ran again")


OTHER_REQUESTS: dict[str, Callable[[rc.Store], Any]] = {
    "create and settle": lambda store: store.apply([create("p"), settle("first")]),
    "create and get": lambda store: store.apply([create("p"), get("first")]),
    "create a task": lambda store: store.promises.create("p", FAR, tags=TARGET),
    "settle": lambda store: store.promises.resolve("first"),
}


@pytest.mark.parametrize("name", OTHER_REQUESTS)
def test_other_requests_look(store: rc.Store, name: str) -> None:
    with at_once(0):
        OTHER_REQUESTS[name](store)


@pytest.mark.parametrize("kind", ["behind a pooler", "checked", "recorded"])
def test_stores_that_look(postgres_url: str, kind: str, tmp_path: Path) -> None:
    url = shared(postgres_url) + ("&prepared=no&listen=no" if kind == "behind a pooler" else "")
    with rc.Store(url, clock=rc.ManualClock(0), check=kind == "checked") as store:
        recording = store.record(tmp_path / "trace") if kind == "recorded" else contextlib.nullcontext()
        with recording, at_once(0):
            for id in ("a", "b", "c"):
                store.promises.create(id, FAR)


def test_a_lost_connection_costs_no_error(store: rc.Store, postgres_url: str) -> None:
    """The server ends the session between two calls: the second one looks, on a new connection."""
    with contextlib.closing(libpq.Connection(plain(postgres_url))) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE application_name = 'resonate_core' AND "
            "datname = current_database()"
        )
    with counts(lost_commits=0, optimistic_commits=0):
        store.promises.create("b", FAR)
    with at_once(1):
        store.promises.create("c", FAR)
    assert {promise.id for promise in store.promises.search()} == {"first", "b", "c"}


def test_many_threads_of_two_processes(postgres_url: str) -> None:
    """Their requests share commits without a look. Each id is created by one of them, which all others see."""
    ids = [f"p{number}" for number in range(150)]
    made: dict[str, dict[str, str]] = {}

    def run(store: rc.Store, name: str) -> None:
        order = ids if name in "ace" else ids[::-1]
        made[name] = {id: str(store.promises.create(id, FAR, param=name).param.json()) for id in order}
        for number in range(20):
            store.promises.create(f"{name}{number}", FAR)

    with rc.Store(shared(postgres_url), durability="normal") as one, rc.Store(shared(postgres_url), durability="normal") as two:
        before = rc.database_counts()
        threads = [threading.Thread(target=run, args=(one if name < "d" else two, name)) for name in "abcdef"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        after = rc.database_counts()
        assert made.keys() == set("abcdef")
        assert all(seen == made["a"] for seen in made.values())
        assert one.promises.count() == 150 + 6 * 20
        assert after["optimistic_commits"] > before["optimistic_commits"]
        assert after["run_again"] > before["run_again"]
        assert one.check() == two.check() == []
