"""Transactions that run beside those of other processes (decision 51)."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

import libpq
import resonate_core as rc
from integration.storage.interleaving import Interleaving
from postgres_proxy import Proxy, check_cut_commit
from postgres_urls import plain, schema_of

FAR = 10**15
ADDRESS = "poll://any@w"


def shared(url: str, writers: str = "shared") -> str:
    return f"{url}&writers={writers}"


def counted(name: str) -> int:
    return rc.database_counts()[name]


def data_of(value: str) -> str:
    """The data of a value that was given as a Python object."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def test_creates_and_settlements_share(postgres_url: str) -> None:
    with rc.Store(shared(postgres_url)) as store:
        before = counted("shared_commits")
        assert store.promises.create("p", FAR).state == "pending"
        assert store.promises.create("p", FAR).state == "pending"
        assert store.promises.resolve("p", "1").state == "resolved"
        assert store.promises.resolve("p", "2").value.data == data_of("1")
        assert counted("shared_commits") - before == 2  # the other two have changed nothing
        with pytest.raises(rc.NotFound):
            store.promises.resolve("missing")
        assert counted("shared_commits") - before == 2
        assert store.check() == []


def test_what_needs_more_than_its_rows_runs_alone(postgres_url: str) -> None:
    with rc.Store(shared(postgres_url)) as store:
        store.promises.create("awaited", FAR)
        store.promises.create("task", FAR, tags={"resonate:target": ADDRESS})
        store.promises.register_callback("awaited", "task")
        store.promises.create("listened", FAR)
        store.promises.register_listener("listened", ADDRESS)
        store.jobs.enqueue("t", id="job")
        store.promises.create("plain", FAR)
        before = counted("shared_commits")
        for id in ("awaited", "listened", "job"):
            assert store.promises.resolve(id).state == "resolved"
        assert store.promises.cancel("plain").state == "rejected_canceled"
        assert counted("shared_commits") == before
        assert {message.kind for message in store.messages()} == {"execute", "unblock"}
        assert store.jobs.get("job").state == "completed"
        assert store.check() == []


def test_who_is_alone_runs_alone(postgres_url: str) -> None:
    before = counted("shared_commits")
    with rc.Store(postgres_url) as store:
        for number in range(40):
            store.promises.create(f"p{number}", FAR)
        assert counted("shared_commits") == before
        with rc.Store(postgres_url) as other:
            for number in range(10):
                store.promises.create(f"q{number}", FAR)
                other.promises.create(f"r{number}", FAR)
        assert counted("shared_commits") - before >= 16
    with rc.Store(shared(postgres_url, "alone")) as store, rc.Store(shared(postgres_url, "alone")) as other:
        before = counted("shared_commits")
        for number in range(10):
            store.promises.resolve(f"q{number}")
            other.promises.resolve(f"r{number}")
        assert counted("shared_commits") == before


def test_an_unknown_value_is_refused(postgres_url: str) -> None:
    with pytest.raises(ValueError, match='writers must be auto, shared, alone or optimistic, got "many"'):
        rc.Store(shared(postgres_url, "many"))


def test_a_due_step_and_a_submission_run_before_the_request(postgres_url: str) -> None:
    with rc.Store(shared(postgres_url)) as store:
        store.promises.create("listened", store.now + 100, tags={"resonate:external": "true"})
        store.promises.register_listener("listened", ADDRESS)
        while store.now < store.promises.get("listened").timeout_at:
            time.sleep(0.01)
        store.promises.create("p", FAR)
        assert [message.id for message in store.messages()] == ["listened"]
    with libpq.Connection(plain(postgres_url)) as server:
        request = {"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}}
        request["data"] = {"id": "submitted", "timeoutAt": FAR, "param": {}, "tags": {}}
        server.execute(f"SELECT {schema_of(postgres_url)}.submit('{json.dumps(request)}')")
    with rc.Store(shared(postgres_url)) as store:
        store.promises.create("q", FAR)
        assert store.promises.get("submitted").state == "pending"


def test_a_process_that_was_alone_sees_what_others_shared(postgres_url: str) -> None:
    """It drops the rows that it knows, although `counters.version` has not changed."""
    with rc.Store(shared(postgres_url, "alone")) as alone, rc.Store(shared(postgres_url)) as sharing:
        alone.promises.create("p", FAR)
        alone.promises.create("q", FAR)
        before = counted("shared_commits")
        sharing.promises.resolve("p", "1")
        assert counted("shared_commits") - before == 1
        assert alone.promises.reject("p", "2").state == "resolved"
        sharing.promises.resolve("q", "1")
        assert alone.promises.get("q").state == "resolved"
        assert alone.promises.reject("q", "2").state == "resolved"


def test_a_read_keeps_nothing_while_a_commit_is_under_way(postgres_url: str) -> None:
    """It may see the number of a commit whose rows it does not see yet: later, nothing would tell it that they are outdated."""
    between = Interleaving(shared(postgres_url), "A", clocks=False)
    with rc.Store(shared(postgres_url, "alone")) as other, libpq.Connection(plain(postgres_url)) as server:
        other.promises.create("p", FAR)
        other.promises.create("q", FAR)
        schema = schema_of(postgres_url)
        # The commit takes its number, and then waits for a lock of the test.
        server.execute(
            f"CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$; "
            f"CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON {schema}.writers DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.wait()"
        )
        server.execute("SELECT pg_advisory_lock(4711)")
        actor = between.actors["A"]
        actor.start(lambda store: store.promises.resolve("p", "1"))
        end = time.monotonic() + 30
        while (
            server.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted")[0][0]
            == "0"
        ):
            assert time.monotonic() < end, "the commit does not wait"
            time.sleep(0.01)
        assert other.promises.get("p").state == "pending"
        server.execute("SELECT pg_advisory_unlock(4711)")
        assert actor.end().state == "resolved"
        server.execute(f"DROP TRIGGER wait ON {schema}.writers")
        for _ in range(40):  # until it uses what it knows again, since no other process has written lately
            assert other.promises.get("q").state == "pending"
        assert other.promises.get("p").state == "resolved"
        assert other.promises.reject("p", "2").state == "resolved"
    between.close()


def test_instants_follow_those_of_writers_that_shared(postgres_url: str) -> None:
    """The server's clock may have gone back since: to that of a standby, for example."""
    ahead = 10**12 * 4
    with libpq.Connection(plain(postgres_url)) as server:
        stores = {name: rc.Store(shared(postgres_url, name)) for name in ("shared", "alone")}
        for name, store in stores.items():
            store.promises.create(name, FAR)
        server.execute(f"UPDATE {schema_of(postgres_url)}.writers SET seen = {ahead}")
        for name, store in stores.items():
            assert store.promises.create(name + "2", FAR).created_at == ahead
            assert store.promises.resolve(name).settled_at == ahead
            assert {violation.name for violation in store.check()} == {"clock_ahead"}
            store.close()


def test_the_clock_can_be_set_back_after_commits_that_shared(postgres_url: str) -> None:
    ahead = 10**12 * 4
    with (
        libpq.Connection(plain(postgres_url)) as server,
        rc.Store(shared(postgres_url)) as store,
        rc.Store(shared(postgres_url)) as other,
    ):
        other.promises.create("p", FAR)
        server.execute(f"UPDATE {schema_of(postgres_url)}.writers SET seen = {ahead}")
        store.promises.create("q", FAR)
        assert store.problems() != []
        store.reset_clock()
        assert store.problems() == []
        assert store.promises.create("r", FAR).created_at < ahead
        assert store.check() == []


def test_a_writer_that_waits_longer_has_the_later_instant(postgres_url: str) -> None:
    """Its clock is read after the locks: the writer before it in the queue for the row has changed the row meanwhile."""
    between = Interleaving(shared(postgres_url), "ABC", clocks=False)
    with rc.Store(postgres_url) as first:
        first.promises.create("p", FAR)
        first.promises.create("q", FAR)

        def apply(by: str, *ids: str) -> Callable[[rc.Store], list[dict[str, Any]]]:
            def run(store: rc.Store) -> list[dict[str, Any]]:
                data = {"state": "resolved", "value": {"data": by}}
                head = {"corrId": by, "version": "2026-04-01"}
                return store.apply([{"kind": "promise.settle", "head": head, "data": {"id": id, **data}} for id in ids])

            return run

        actors = between.actors
        for actor in actors.values():
            actor.gate.shut()
        actors["A"].start(apply("A", "q"))
        actors["A"].step()  # A has the lock of q
        actors["B"].start(apply("B", "p", "q"))
        actors["B"].step()  # B has the lock of p, and waits for that of q
        actors["C"].start(apply("C", "p"))
        actors["C"].step()  # C waits for that of p
        time.sleep(0.05)
        answers = {name: actors[name].end() for name in "ABC"}
        p = answers["B"][0]["data"]["promise"]
        assert answers["C"][0]["data"]["promise"] == p, "B has settled p, before C"
        assert p["settledAt"] - answers["A"][0]["data"]["promise"]["settledAt"] >= 50
        assert first.check() == []
    between.close()


def test_an_id_that_was_free_before_the_wait(postgres_url: str) -> None:
    """B finds y free, and waits for the lock of x; A creates y and settles x. B must not say that y does not exist, but x is settled."""
    between = Interleaving(shared(postgres_url))
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as first:
        first.promises.create("x", FAR)

        def apply(*asked: tuple[str, dict[str, Any]]) -> Callable[[rc.Store], list[dict[str, Any]]]:
            head = {"corrId": "1", "version": "2026-04-01"}
            return lambda store: store.apply([{"kind": kind, "head": head, "data": data} for kind, data in asked])

        settle = {"state": "resolved", "value": {}}
        seen = between.run(
            {
                "A": apply(
                    ("promise.settle", {"id": "x", **settle}),
                    ("promise.create", {"id": "y", "timeoutAt": FAR, "param": {}, "tags": {}}),
                ),
                "B": apply(("promise.settle", {"id": "x", **settle}), ("promise.settle", {"id": "y", **settle})),
            },
            "ABAAB",
        )
        assert [one["head"]["status"] for one in seen["A"] + seen["B"]] == [200, 200, 200, 200]
    between.close()


@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("cut", [None, 0, 1])
def test_the_outcome_of_a_commit_whose_answer_was_lost(postgres_url: str, cut: int | None, looks: bool) -> None:
    """The transaction has looked, or it creates a promise without a look (decision 58)."""
    proxy = Proxy(shared(postgres_url), cut)
    check_cut_commit(proxy, proxy.url, looks=looks, alone_before=looks)


def passed_while_one_waits(url: str, turn: int) -> tuple[int, bool]:
    """How many creates passed a store that waited to be alone, and whether the machine was too slow for a verdict."""
    between = Interleaving(shared(url), "A", clocks=False)
    with (
        rc.Store(shared(url), busy_timeout=60_000) as other,
        rc.Store(shared(url, "alone"), busy_timeout=1000) as alone,
    ):
        id = f"p{turn}"
        other.promises.create(id, FAR)
        actor = between.actors["A"]
        actor.gate.shut()
        actor.start(lambda store: store.promises.resolve(id))
        actor.step()
        before = counted("shared_commits")
        for number in range(5):
            other.promises.create(f"q{turn}.{number}", FAR)
        assert counted("shared_commits") - before == 5
        with ThreadPoolExecutor(1) as pool, libpq.Connection(plain(url)) as server:
            waiting = pool.submit(alone.promises.create, f"alone{turn}", FAR)
            waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted"
            while server.execute(waits)[0][0] == "0" and not waiting.done():
                time.sleep(0.001)
            instants = [time.monotonic()]
            while not waiting.done():
                other.promises.create(f"r{turn}.{len(instants)}", FAR)
                instants.append(time.monotonic())
            # The server ends the transaction of one that stands still for 2 s: on a slow machine, before the other one gives up.
            assert isinstance(waiting.exception(), rc.StoreBusy | None)
        ended = actor.end()
        assert isinstance(ended, rc.StoreError) or ended.state == "resolved"
        alone.promises.create(f"alone{turn}", FAR)
        assert other.check() == []
    between.close()
    stood_still = any(later - earlier > 0.3 for earlier, later in pairwise(instants))
    return len(instants) - 1, stood_still or instants[-1] - instants[0] < 0.5


def test_who_stands_still_stops_nobody_who_needs_other_rows(postgres_url: str) -> None:
    """Neither those that share, nor one that wants to be alone: it lets them pass while it waits."""
    for turn in range(5):
        passed, too_slow = passed_while_one_waits(postgres_url, turn)
        if passed > 3 or not too_slow:
            break
    assert passed > 3


def test_many_processes_create_the_same_promises(postgres_url: str) -> None:
    """In batches with the same ids in other orders: no deadlock, and each promise has one creator."""
    stores = [rc.Store(shared(postgres_url)) for _ in range(4)]
    barrier = threading.Barrier(len(stores))
    before = counted("run_again")

    def create(at: int) -> list[str]:
        made = []
        for turn in range(25):
            ids = [f"p{turn}.{number}" for number in range(6)]
            head = {"corrId": str(at), "version": "2026-04-01"}
            data = {"timeoutAt": FAR, "param": {"data": str(at)}, "tags": {}}
            barrier.wait(60)
            order = ids if at % 2 else ids[::-1]
            answers = stores[at].apply([{"kind": "promise.create", "head": head, "data": {"id": id, **data}} for id in order])
            made += [one["data"]["promise"]["param"]["data"] + " " + one["data"]["promise"]["id"] for one in answers]
        return made

    with ThreadPoolExecutor(len(stores)) as pool:
        seen = list(pool.map(create, range(len(stores))))
    assert all(set(one) == set(seen[0]) for one in seen)
    assert len(set(seen[0])) == 25 * 6
    assert counted("run_again") > before, "no two creates have met"
    assert stores[0].check() == []
    for store in stores:
        store.close()


def test_a_role_without_the_sequence_writes_alone(postgres_url: str) -> None:
    rc.Store(postgres_url).close()
    schema, role = schema_of(postgres_url), "without_sequence"
    with libpq.Connection(plain(postgres_url)) as server:
        server.execute(
            f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role}; "
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}; "
            f"GRANT USAGE ON SEQUENCE {schema}.writer_ids TO {role}"
        )
        try:
            of_role = shared(postgres_url).replace("resonate@", f"{role}@", 1)
            before = counted("shared_commits")
            with rc.Store(of_role) as store, rc.Store(shared(postgres_url)) as other:
                store.promises.create("p", FAR)
                assert counted("shared_commits") == before
                assert other.promises.resolve("p").state == "resolved"
                assert counted("shared_commits") == before + 1
                assert store.promises.reject("p").state == "resolved"
        finally:
            server.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_process_of_an_earlier_release_fails(postgres_url: str) -> None:
    """It would write beside those that share, without the locks of their rows."""
    statement = "SELECT version, sequence, now, dropped, jobs, messages FROM {}.counters"
    with libpq.Connection(plain(postgres_url)) as server, pytest.raises(libpq.SqlError, match='column "now" does not exist'):
        server.execute(statement.format(schema_of(postgres_url)))
