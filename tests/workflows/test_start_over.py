"""`start_over`: ends a run; the next one begins with its arguments and an empty history."""

from __future__ import annotations

from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, last, records

import resonate_core as rc
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.workflows.driver import AsyncRun
from resonate_core.worker.workflows.threads import ThreadRun
from resonate_core.workflow import blocking, gather, promise, receive, run, sleep, start_over, step


@step
async def noted(text: str) -> str:
    return text


def test_the_next_run_has_these_arguments_and_an_empty_history(store: rc.Store, worker: Worker) -> None:
    seen: list[object] = []

    @worker.workflow("w")
    async def w(round: int, note: str = "first") -> list[object]:
        seen.append((round, note, store.jobs.get("w").steps))
        await noted(f"round {round}")
        await sleep(1000)
        if round < 3:
            start_over(round + 1, note="again")
        return [round, note]

    w.using(id="w").delay(1)
    assert last(worker) == [3, "again"]
    assert [each for each in seen if each[2] == 0] == [(1, "first", 0), (2, "again", 0), (3, "again", 0)]  # type: ignore[index]
    assert [step.result for step in store.workflows.history("w")] == ["round 3", None]
    job = store.jobs.get("w")
    assert job.payload.json() == {"round": 1}, "the payload stays as it is"
    assert job.restarts == 2


def test_a_hundred_rounds_keep_the_history_short(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w(round: int) -> int:
        await sleep(10)
        if round < 100:
            start_over(round + 1)
        return round

    w.using(id="w").delay(0)
    assert last(worker) == 100
    assert len(records(store, "w")) == 1


def test_it_ends_the_run_and_cannot_be_caught(store: rc.Store, worker: Worker) -> None:
    log: list[str] = []

    @worker.workflow("w")
    async def w(round: int) -> str:
        if round == 0:
            try:
                start_over(1)
            except Exception:
                log.append("caught")
            except BaseException:
                log.append("seen")
            try:
                await noted("no call any more")
            except BaseException:
                log.append("seen again")
            return "ignored"
        return "second"

    w.using(id="w").delay(0)
    assert last(worker) == "second"
    assert log == ["seen", "seen again"]


def test_in_a_branch_it_ends_the_whole_run(store: rc.Store, worker: Worker) -> None:
    async def branch(round: int) -> None:
        await noted("branch")
        if round == 0:
            start_over(1)

    async def waits() -> None:
        await receive("never", timeout=5000, default=None)

    @worker.workflow("w")
    async def w(round: int) -> int:
        await gather(waits(), branch(round), sleep(1000))
        return round

    w.using(id="w").delay(0)
    assert last(worker) == 1


def test_wrong_arguments_are_refused_where_it_is_called(store: rc.Store, worker: Worker) -> None:
    said: list[str] = []

    @worker.workflow("w")
    async def w(round: int) -> str:
        for wrong in (lambda: start_over(), lambda: start_over(1, 2), lambda: start_over("x"), lambda: start_over(other=1)):
            try:
                wrong()
            except (TypeError, rc.Invalid) as error:
                said.append(type(error).__name__)
        return "went on"

    w.using(id="w").delay(0)
    assert last(worker) == "went on"
    assert said == ["TypeError", "TypeError", "Invalid", "TypeError"]


def test_it_is_a_call_of_workflows_alone() -> None:
    with pytest.raises(RuntimeError, match="enqueue another job"):
        start_over(1)


@pytest.mark.timeout(60)  # a run that is never started over is run again and again
def test_it_waits_for_open_child_jobs_and_for_nothing_else(store: rc.Store, worker: Worker) -> None:
    """The store refuses it (409) while a child job is not final. Promises and timers of the run are removed with it."""
    log: list[str] = []

    @worker.task("child")
    def child(round: int, job: JobContext) -> str:
        log.append(f"child of {round}")
        return "done"

    @worker.workflow("w")
    async def w(round: int) -> int:
        log.append(f"round {round}")
        if round < 2:
            promise()
            child.using(process_in=5000).start(round)
            child.using(process_in=9000).start(round)
            await noted("begun")
            start_over(round + 1)
        return round

    w.using(id="w").delay(0)
    runs = drained(worker)
    assert store.result("w") == 2
    assert [each for each in log if "child" in each] == ["child of 0"] * 2 + ["child of 1"] * 2
    assert store.now == 18_000
    assert [run.outcome for run in runs if run.id == "w"] == ["suspended", "restarted"] * 2 + ["completed"]


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_child_that_ends_while_it_is_looked_for_lets_it_go_on(
    store: rc.Store, worker: Worker, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store refused to start over, then the last child ended, and none was found to wait for: the workflow was archived."""
    child = worker.task("child")(lambda: None)
    log: list[int] = []

    if kind == "async":

        @worker.workflow("w")
        async def w(round: int) -> int:
            log.append(round)
            if round == 0:
                child.using(process_in=1000).start()
                start_over(1)
            return round

    else:

        @worker.workflow("w")
        def w(round: int) -> int:
            log.append(round)
            if round == 0:
                child.using(process_in=1000).start()
                blocking.start_over(1)
            return round

    for kind_of_run in (AsyncRun, ThreadRun):

        def history(self: Any, original: Any = kind_of_run.history) -> Any:
            store.jobs.cancel("w:1")
            return original(self)

        monkeypatch.setattr(kind_of_run, "history", history)
    w.using(id="w").delay(0)
    assert last(worker) == 1
    assert (store.jobs.get("w").state, store.jobs.get("w").restarts, log) == ("completed", 1, [0, 1])


def test_a_child_that_fails_or_is_cancelled_lets_it_go_on(store: rc.Store, worker: Worker) -> None:
    @worker.task("child", max_retries=0)
    def child() -> None:
        raise ValueError("broken")

    @worker.workflow("w")
    async def w(round: int) -> int:
        if round == 0:
            child.using(process_in=1000).start()
            child.using(process_in=10**9).start()
            start_over(1)
        return round

    w.using(id="w").delay(0)
    worker.run_until_idle(until=2000)
    assert store.jobs.get("w").state == "waiting"
    store.jobs.cancel("w:2")
    assert last(worker) == 1


def test_messages_that_were_not_read_are_kept(store: rc.Store, worker: Worker) -> None:

    @worker.workflow("w")
    async def w(round: int) -> object:
        found = await receive("a", timeout=1000, default="none")
        if round == 0:
            start_over(1)
        return found

    w.using(id="w").delay(0)
    store.workflows.send("w", "a", "one")
    store.workflows.send("w", "a", "two")
    assert last(worker) == "two"


def test_the_same_for_a_def(store: rc.Store, worker: Worker) -> None:
    child = worker.task("child")(lambda: None)

    @worker.workflow("w")
    def w(round: int) -> int:
        blocking.run(str.upper, "a")
        if round < 2:
            blocking.promise()
            child.using(process_in=1000).start()
            blocking.start_over(round + 1)
        return round

    w.using(id="w").delay(0)
    drained(worker)
    assert store.result("w") == 2
    assert store.jobs.get("w").restarts == 2


def test_live(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end

    @worker.task("child")
    def child() -> None: ...

    @worker.workflow("w")
    async def w(round: int) -> int:
        await run(str.upper, "a")
        child.start()
        await receive("go")
        if round < 3:
            start_over(round + 1)
        return round

    w.using(id="w").delay(0)
    with worker:
        for round in range(4):
            until(lambda round=round: store.jobs.get("w").restarts == round and store.jobs.get("w").state == "waiting")
            store.workflows.send("w", "go")
        assert store.result("w", timeout=60) == 3
