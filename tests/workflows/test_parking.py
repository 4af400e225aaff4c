"""Rule (f): a coroutine that waits stays in its worker, continues there at the very next version, and is dropped otherwise."""

from __future__ import annotations

import gc
import io
import threading
import time
import weakref
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from waiting import until
from workflow_runs import records

import resonate_core as rc
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.workflows.support import WorkflowSupport
from resonate_core.workflow import first, gather, promise, receive, result, run, sleep, step


@pytest.fixture
def parked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of runs, each time that one of them is parked. A job that is woken before that is replayed."""
    found: list[str] = []
    park = WorkflowSupport.park

    def counted(support: WorkflowSupport, run: Any) -> None:
        park(support, run)
        found.append(run.job.id)

    monkeypatch.setattr(WorkflowSupport, "park", counted)
    return found


def state(store: rc.Store, id: str = "w") -> str:
    return store.jobs.get(id).state


def test_it_goes_on_in_the_same_worker_without_a_replay(end: tuple[rc.Store, Worker], parked: list[str]) -> None:
    store, worker = end
    begun: list[int] = []

    @worker.workflow("w")
    async def w() -> list[Any]:
        begun.append(1)
        found = [await receive("a", type=str) for _ in range(3)]
        return [*found, len(begun)]

    w.using(id="w").delay()
    with worker:
        for turn in range(3):
            until(lambda turn=turn: len(parked) == turn + 1)
            store.workflows.send("w", "a", str(turn))
        assert store.result("w", timeout=60) == ["0", "1", "2", 1]
    assert store.jobs.get("w").version == 4


def test_what_it_has_waited_for_is_read_before_it_goes_on(parked: list[str]) -> None:
    """Otherwise it would ask once more to be suspended, only to hear that it need not wait."""
    recording = io.StringIO()
    with rc.Store() as store:
        store.record(recording)
        worker = Worker(store)

        @worker.workflow("w")
        async def w() -> list[str]:
            return [await receive("a", type=str) for _ in range(3)]

        w.using(id="w").delay()
        with worker:
            for turn in range(3):
                until(lambda turn=turn: len(parked) == turn + 1)
                store.workflows.send("w", "a", str(turn))
            assert store.result("w", timeout=60) == ["0", "1", "2"]
    asked = [line for line in recording.getvalue().splitlines() if line.startswith('{"kind":"job.suspend"')]
    assert len(asked) == 3


def test_branches_go_on_each_where_it_was(end: tuple[rc.Store, Worker], parked: list[str]) -> None:
    store, worker = end
    begun: list[str] = []

    async def branch(topic: str) -> list[str]:
        begun.append(topic)
        return [await receive(topic, type=str), await run(str.upper, topic), await receive(topic, type=str)]

    @worker.workflow("w")
    async def w() -> list[Any]:
        return list(await gather(branch("a"), branch("b"), receive("c", type=str)))

    w.using(id="w").delay()
    with worker:
        for turn, (topic, value) in enumerate((("b", "1"), ("c", "2"), ("a", "3"), ("b", "4"), ("a", "5"))):
            until(lambda turn=turn: len(parked) == turn + 1)
            store.workflows.send("w", topic, value)
        assert store.result("w", timeout=60) == [["3", "A", "5"], ["1", "B", "4"], "2"]
    assert begun == ["a", "b"]


def test_it_is_dropped_when_another_worker_has_run_the_job_meanwhile(live_store: rc.Store) -> None:
    ran: list[str] = []
    dropped = threading.Event()

    def code(name: str) -> Any:
        async def w() -> list[str]:
            ran.append(name)
            try:
                found = [await receive("a", type=str) for _ in range(3)]
            except BaseException:
                dropped.set()
                raise
            return [*found, name]

        return w

    one, other = (Worker(live_store, name=name, poll_interval=20) for name in ("one", "other"))
    task = one.workflow("w")(code("one"))
    other.workflow("w")(code("other"))
    task.using(id="w").delay()
    with one:
        until(lambda: state(live_store) == "waiting")
    live_store.workflows.send("w", "a", "0")
    with other:
        until(lambda: state(live_store) == "waiting" and live_store.jobs.get("w").steps == 2)
        live_store.workflows.send("w", "a", "1")
        until(lambda: state(live_store) == "waiting" and live_store.jobs.get("w").steps == 3)
        live_store.workflows.send("w", "a", "2")
        assert live_store.result("w", timeout=60) == ["0", "1", "2", "other"]
    # Under load, a heartbeat overtakes the answer of a suspension now and then, and the run begins again.
    assert ran[0] == "one" and set(ran[1:]) == {"other"}
    assert dropped.is_set()


def test_the_very_next_version_goes_on_also_when_a_person_runs_the_job(live_store: rc.Store, parked: list[str]) -> None:
    begun: list[int] = []
    worker = Worker(live_store, name="one", poll_interval=20)

    @worker.workflow("w")
    async def w(job: JobContext) -> list[Any]:
        begun.append(job.job.version)
        return [await receive("a", type=str), await run(len, "abc"), begun[-1]]

    w.using(id="w").delay()
    with worker:
        until(lambda: len(parked) == 1)
        live_store.jobs.run("w")
        until(lambda: len(parked) == 2)
        live_store.workflows.send("w", "a", "hello")
        assert live_store.result("w", timeout=60) == ["hello", 3, 1]
    assert begun == [1]


def test_only_so_many_are_kept_and_the_longest_unused_goes(
    live_store: rc.Store, monkeypatch: pytest.MonkeyPatch, parked: list[str]
) -> None:
    monkeypatch.setattr("resonate_core.worker.workflows.support.MOST_PARKED", 3)
    begun: list[str] = []
    dropped: list[str] = []
    worker = Worker(live_store, name="one", poll_interval=20)

    @worker.workflow("w")
    async def w(name: str) -> str:
        begun.append(name)
        try:
            return await receive("a", type=str) + await receive("a", type=str)
        except BaseException:
            dropped.append(name)
            raise

    with worker:
        for name in "abc":
            w.using(id=name).delay(name)
            until(lambda name=name: name in parked)
        live_store.workflows.send("a", "a", "1")  # it is used, so b is the one that was not used for longest
        until(lambda: parked.count("a") == 2)
        w.using(id="d").delay("d")
        until(lambda: dropped == ["b"])
        live_store.queues.pause("default")  # so that each finds both messages, and is not suspended between them
        for name in "abcd":
            live_store.workflows.send(name, "a", "2")
            if name != "a":  # which has two by now
                live_store.workflows.send(name, "a", "3")
        live_store.queues.resume("default")
        assert [live_store.result(name, timeout=60) for name in "abcd"] == ["12", "23", "23", "23"]
    assert begun == ["a", "b", "c", "d", "b"]


def test_a_worker_that_stops_lets_go_of_all(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    gone: list[str] = []
    kept: list[weakref.ref[Any]] = []

    class Held:
        pass

    @worker.workflow("w")
    async def w(name: str) -> None:
        held = Held()
        kept.append(weakref.ref(held))
        try:
            await gather(receive("never"), sleep(timedelta(days=1)))
        finally:
            gone.append(name)

    with worker:
        for name in "ab":
            w.using(id=name).delay(name)
        until(lambda: state(store, "a") == state(store, "b") == "waiting")
    assert sorted(gone) == ["a", "b"]
    gc.collect()
    assert [each() for each in kept] == [None, None]
    assert state(store, "a") == state(store, "b") == "waiting"


def test_a_branch_that_works_keeps_the_job_running(end: tuple[rc.Store, Worker]) -> None:
    """While one branch runs a step, others wait: a message is taken while the step runs."""
    store, worker = end
    let_go = threading.Event()
    got: list[str] = []

    def slow() -> str:
        let_go.wait(60)
        return "slow"

    async def listens() -> str:
        got.append(await receive("a", type=str))
        await run(let_go.set)
        return got[0]

    @worker.workflow("w")
    async def w() -> list[str]:
        return list(await gather(run(slow), listens()))

    w.using(id="w").delay()
    try:
        with worker:
            until(lambda: len(records(store, "w")) > 0)
            assert state(store) == "running"
            store.workflows.send("w", "a", "hello")
            assert store.result("w", timeout=60) == ["slow", "hello"]
    finally:
        let_go.set()


def test_a_foreign_await_keeps_the_job_running(end: tuple[rc.Store, Worker]) -> None:
    import asyncio

    store, worker = end
    let_go = threading.Event()

    async def foreign() -> str:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, let_go.wait, 60)
        return "foreign"

    @worker.workflow("w")
    async def w() -> list[str]:
        return list(await gather(foreign(), receive("a", type=str)))

    w.using(id="w").delay()
    try:
        with worker:
            until(lambda: len(records(store, "w")) == 1)
            time.sleep(0.1)
            assert state(store) == "running"
            let_go.set()
            until(lambda: state(store) == "waiting")
            store.workflows.send("w", "a", "hello")
            assert store.result("w", timeout=60) == ["foreign", "hello"]
    finally:
        let_go.set()


def test_what_was_settled_before_the_wait_needs_no_wait(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end

    def settle(id: str) -> None:
        store.promises.resolve(id, "settled")

    @worker.workflow("w")
    async def w() -> list[Any]:
        made = promise(type=str)
        await run(settle, made.id)
        return [await made, await receive("a", type=str), await result("other", type=int)]

    store.promises.create("other", timeout=10**15)
    store.promises.resolve("other", 5)
    w.using(id="w").delay()
    store.workflows.send("w", "a", "before")
    with worker:
        assert store.result("w", timeout=60) == ["settled", "before", 5]
    assert store.jobs.get("w").version <= 2


def test_the_context_of_the_attempt_is_the_present_one(end: tuple[rc.Store, Worker]) -> None:
    from resonate_core.worker import current_job

    store, worker = end
    seen: list[int] = []

    @step
    async def noted() -> int:
        return current_job().job.version

    @worker.workflow("w")
    async def w() -> list[int]:
        seen.append(current_job().job.version)
        first_version = await noted()
        await receive("a")
        return [first_version, current_job().job.version, await noted()]

    w.using(id="w").delay()
    with worker:
        until(lambda: state(store) == "waiting")
        store.workflows.send("w", "a", 1)
        assert store.result("w", timeout=60) == [1, 2, 2]


def test_a_workflow_that_waits_takes_no_slot(live_store: rc.Store) -> None:
    store = live_store
    one = Worker(store, name="w1", poll_interval=20, concurrency=1)

    @one.workflow("waits")
    async def waits() -> str:
        return await receive("a", type=str)

    @one.task("plain")
    async def plain() -> str:
        return "plain"

    ids = [waits.using(id=f"w{each}").delay().id for each in range(5)]
    with one:
        until(lambda: all(state(store, id) == "waiting" for id in ids))
        assert store.result(plain.delay().id, timeout=60) == "plain"
        for id in ids:
            store.workflows.send(id, "a", id)
        assert [store.result(id, timeout=60) for id in ids] == ids


def test_thousands_of_wakes_of_one_workflow(live_store: rc.Store) -> None:
    worker = Worker(live_store, name="one", poll_interval=20)

    @worker.workflow("w")
    async def w() -> int:
        total = 0
        for _ in range(300):
            index, value = await first(receive("a", type=int), sleep(timedelta(days=1)))
            assert index == 0
            total += value
        return total

    w.using(id="w").delay()
    with worker:
        for turn in range(300):
            live_store.workflows.send("w", "a", turn)
        assert live_store.result("w", timeout=60) == sum(range(300))


@pytest.mark.parametrize(
    ("changed", "continues"),
    [({}, True), ({"version": 3}, False), ({"created_at": 8}, False), ({"restarts": 1}, False)],
    ids=["the next version", "a later version", "another job of this id", "started over"],
)
def test_a_parked_run_continues_only_in_its_own_job_at_the_very_next_version(changed: dict[str, int], continues: bool) -> None:
    class Parked:
        job: Any = SimpleNamespace(id="w", created_at=7, restarts=0)
        version = 1
        dropped = False

        def drop(self) -> None:
            self.dropped = True

    support = WorkflowSupport(cast("Any", None), steps=1, live=True, beside=False, name="w1")
    run = Parked()
    support.park(run)
    claimed: Any = SimpleNamespace(**{"id": "w", "created_at": 7, "restarts": 0, "version": 2, **changed})
    assert (support.take(claimed) is run) == continues
    assert run.dropped != continues
    assert support.parked_runs() == []
