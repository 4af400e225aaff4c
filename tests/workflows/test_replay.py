"""`replay`: code against a recorded history, without a step or a write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import drained

import resonate_core as rc
from resonate_core.errors import Invalid, NotFound
from resonate_core.worker import JobContext, Worker, current_job
from resonate_core.workflow import (
    History,
    HistoryTooLong,
    NonDeterministic,
    StepFailed,
    blocking,
    first,
    gather,
    now,
    patched,
    promise,
    receive,
    replay,
    result,
    run,
    sleep,
    start_over,
    step,
)


@step(retries=3, backoff=60_000)
async def charge(order: str) -> str:
    if order == "broken":
        raise ValueError("broken")
    return f"receipt of {order}"


@step
async def forbidden() -> None:
    raise AssertionError("a rehearsal runs no step")


async def fulfil(order: str) -> str:
    receipt = await charge(order)
    answer = await receive("approval", type=str)
    await sleep(1000)
    return f"{receipt}, {answer}"


def workflow(code: Callable[..., Any]) -> Any:
    """Code as a workflow of a worker without a store."""
    return Worker().workflow("w")(code)


def recorded(store: rc.Store, code: Callable[..., Any], *args: Any, until: int | None = None, id: str = "w") -> None:
    worker = Worker(store)
    worker.workflow("w")(code).using(id=id).delay(*args)
    worker.run_until_idle() if until is None else worker.run_until_idle(until=until)


def dump(store: rc.Store) -> Any:
    return [job.to_dict() for job in store.jobs.search()], [each.to_dict() for each in store.promises.search("*")]


@pytest.fixture
def untouched(store: rc.Store) -> Any:
    """Checks that a replay changes nothing in the store."""

    def check(call: Callable[[], Any]) -> Any:
        before = dump(store)
        try:
            return call()
        finally:
            assert dump(store) == before

    return check


def test_it_says_what_the_code_waits_for(store: rc.Store, untouched: Any) -> None:
    recorded(store, fulfil, "7")
    found = untouched(lambda: replay(workflow(fulfil), History.of(store, "w")))
    assert (found.outcome, found.calls) == ("waits", 2)
    (call,) = found.next
    assert (call.id, call.name, call.begun) == ("w:2", "receive approval", True)
    assert Path(call.place.rpartition(":")[0]).name == Path(__file__).name
    assert "receive(" in Path(__file__).read_text().splitlines()[int(call.place.rpartition(":")[2]) - 1]
    assert str(found) == "waits for receive approval (w:2)"


def test_it_says_which_step_comes_next(store: rc.Store, untouched: Any) -> None:
    async def old(order: str) -> str:
        return await charge(order)

    async def new(order: str) -> list[Any]:
        return [await charge(order), await forbidden()]

    recorded(store, old, "7")
    found = untouched(lambda: replay(workflow(new), store.workflows.history("w"), "7"))
    assert str(found) == "continues with forbidden (w:2)"
    assert not found.next[0].begun


def test_it_says_how_the_code_ends(store: rc.Store, untouched: Any) -> None:
    async def returns(order: str) -> str:
        return await charge(order)

    async def raises(order: str) -> None:
        raise KeyError(await charge(order))

    async def over(order: str) -> None:
        start_over(await charge(order))

    recorded(store, returns, "7")
    ended = [untouched(lambda code=code: replay(workflow(code), History.of(store, "w"))) for code in (returns, raises, over)]
    assert [each.outcome for each in ended] == ["returns", "raises", "starts over"]
    assert ended[0].result == "receipt of 7" and repr(ended[1].error) == "KeyError('receipt of 7')"
    assert str(ended[1]) == "raises KeyError: 'receipt of 7'"


def test_it_raises_with_both_names_and_the_place(store: rc.Store, untouched: Any) -> None:
    async def changed(order: str) -> None:
        await forbidden()  # the place

    recorded(store, fulfil, "7")
    with pytest.raises(NonDeterministic, match=r"w:1 is forbidden at .*test_replay.py:(\d+), and charge is recorded") as diverged:
        untouched(lambda: replay(workflow(changed), History.of(store, "w")))
    line = int(str(diverged.value).partition("test_replay.py:")[2].partition(",")[0])
    assert "the place" in Path(__file__).read_text().splitlines()[line - 1]


def test_an_early_end_a_wrong_type_and_too_many_calls_raise_too(store: rc.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    @step(name="charge")
    async def numbered(order: str) -> int:
        return 5

    async def ends(order: str) -> None: ...

    async def typed(order: str) -> int:
        return await numbered(order)

    async def endless(order: str) -> None:
        await gather(charge(order), marks())

    async def marks() -> None:
        while True:
            patched("p")

    recorded(store, fulfil, "7")
    for code, said in ((ends, "ended after 0 calls"), (typed, "does not fit its type any more")):
        with pytest.raises(NonDeterministic, match=said):
            replay(workflow(code), History.of(store, "w"))
    monkeypatch.setattr("resonate_core.worker.workflows.scope.MOST_CALLS", 50)
    with pytest.raises(HistoryTooLong):
        replay(workflow(endless), [], "7")


def test_branches_are_replayed_each_to_where_it_stands(store: rc.Store, untouched: Any) -> None:
    async def branch(name: str) -> str:
        await charge(name)
        if name == "a":
            await receive("a")
        return await charge(f"{name} again")

    async def code() -> Any:
        return await gather(branch("a"), branch("b"), first(receive("x"), sleep(10**6)), run(str.upper, "c"))

    recorded(store, code)
    found = untouched(lambda: replay(workflow(code), History.of(store, "w")))
    assert found.outcome == "waits"
    assert [(each.id, each.name) for each in found.next] == [("w:1", "receive x"), ("w:2", "sleep"), ("w:5:0:2", "receive a")]


def test_what_has_lost_is_not_what_it_stands_at(store: rc.Store) -> None:
    async def code() -> str:
        await first(receive("never"), sleep(100))
        try:
            await gather(receive("never"), run(int, "x"))
        except StepFailed:
            await receive("last")
        return "done"

    recorded(store, code, until=500)
    found = replay(workflow(code), History.of(store, "w"))
    assert str(found) == "waits for receive last (w:7)"


def test_the_decision_of_a_race_that_is_settled_and_not_recorded(store: rc.Store) -> None:
    async def code() -> Any:
        return await first(promise(), promise())

    recorded(store, code)
    store.promises.resolve("w:2", "second")
    found = replay(workflow(code), History.of(store, "w"))
    assert (found.outcome, found.result) == ("returns", (1, "second"))


def test_a_step_that_waits_for_its_retry_has_begun(store: rc.Store) -> None:
    recorded(store, fulfil, "broken")
    found = replay(workflow(fulfil), History.of(store, "w"))
    assert str(found) == "waits for charge (w:1)"


def test_values_that_are_drawn_child_jobs_and_results(store: rc.Store, untouched: Any) -> None:
    worker = Worker(store)
    task = worker.task("t", queue="other")(lambda: None)

    @worker.workflow("w")
    async def w() -> None:
        await now()
        task.start()
        patched("p")
        handle = task.start()
        await gather(handle, result("other"))

    assert str(replay(w, [])) == "continues with now (replay:1)"
    store.promises.create("other", timeout=10**9)
    w.using(id="w").delay()
    worker.run_until_idle()
    found = untouched(lambda: replay(w, History.of(store, "w")))
    assert str(found) == "waits for job t (w:4), result other (w:5)"


def test_a_new_mark_is_taken_for_recorded(store: rc.Store) -> None:
    async def old() -> None:
        await receive("a")

    async def new() -> None:
        await receive("a")
        if patched("p"):
            await forbidden()

    recorded(store, old)
    store.workflows.send("w", "a")
    assert str(replay(workflow(new), History.of(store, "w"))) == "continues with forbidden (w:3)"


def test_a_def(store: rc.Store, untouched: Any) -> None:
    def old(order: str) -> None:
        blocking.run(str.upper, order)
        blocking.receive("a")

    def next_one(order: str) -> None:
        blocking.run(str.upper, order)
        handle = blocking.start(str.lower, order)
        handle.result()

    def raced(order: str) -> None:
        blocking.run(str.upper, order)
        blocking.gather(blocking.start(str.lower, order), blocking.promise())

    def other(order: str) -> None:
        blocking.run(str.lower, order)

    recorded(store, old, "a")
    assert str(untouched(lambda: replay(workflow(old), History.of(store, "w")))) == "waits for receive a (w:2)"
    fresh = [record for record in History.of(store, "w").records if record.id == "w:1"]
    assert str(replay(workflow(next_one), fresh, "a")) == "continues with lower (w:2)"
    assert str(replay(workflow(raced), fresh, "a")) == "continues with lower (w:2), promise (w:3)"
    assert replay(workflow(lambda order: blocking.run(str.upper, order)), fresh, "a").result == "A"
    with pytest.raises(NonDeterministic, match="w:1 is lower"):
        replay(workflow(other), fresh, "a")


def test_it_runs_inside_of_an_event_loop_too(store: rc.Store) -> None:
    recorded(store, fulfil, "7")

    async def main() -> str:
        return str(replay(workflow(fulfil), History.of(store, "w")))

    assert asyncio.run(main()) == "waits for receive approval (w:2)"


def test_a_history_in_a_file(store: rc.Store, tmp_path: Path) -> None:
    recorded(store, fulfil, "7")
    path = tmp_path / "w.json"
    History.of(store, "w").save(path)
    assert str(replay(workflow(fulfil), History.load(path))) == "waits for receive approval (w:2)"
    for wrong in ("[]", "{}", "nothing", '{"job": {}, "records": 5}'):
        path.write_text(wrong)
        with pytest.raises(Invalid):
            History.load(path)
    with pytest.raises(NotFound):
        History.of(store, "other")


def test_misuse_is_refused(store: rc.Store) -> None:
    recorded(store, fulfil, "7")
    with pytest.raises(TypeError, match=r"Worker\.workflow"):
        replay(fulfil, History.of(store, "w"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="arguments"):
        replay(workflow(fulfil), History.of(store, "w"), "7")
    with pytest.raises(TypeError):
        replay(workflow(fulfil), store.workflows.history("w"))


def test_the_payload_that_new_code_cannot_read_is_how_it_ends(store: rc.Store) -> None:
    async def changed(order: int) -> None: ...

    recorded(store, fulfil, "seven")
    found = replay(workflow(changed), History.of(store, "w"))
    assert found.outcome == "raises" and "order" in str(found)


def test_the_arguments_of_a_run_that_was_started_over(store: rc.Store) -> None:
    async def code(round: int) -> None:
        await sleep(10)
        if round == 0:
            start_over(5)
        await receive(f"round {round}")

    recorded(store, code, 0, until=100)
    assert str(replay(workflow(code), History.of(store, "w"))) == "waits for receive round 5 (w:2)"


def test_the_code_sees_its_job_and_its_cleanup_runs(store: rc.Store) -> None:
    log: list[Any] = []

    async def code(job: JobContext) -> None:
        try:
            log.append((job.id, current_job().id))
            await receive("a")
        finally:
            log.append("finally")

    recorded(store, code)
    log.clear()
    replay(workflow(code), History.of(store, "w"))
    assert log == [("w", "w"), "finally"]


@pytest.mark.filterwarnings("ignore::resonate_core.workflow.NonDeterministicWarning")
def test_awaiting_something_else_for_long_is_an_error_with_the_place(store: rc.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def code() -> None:
        await asyncio.sleep(60)  # the place

    monkeypatch.setattr("resonate_core.worker.replays._LIMIT", 0.05)
    monkeypatch.setattr("resonate_core.worker.replays.rehearse.__defaults__", (None, 0.05))
    with pytest.raises(TimeoutError, match=r"test_replay.py:\d+") as late:
        replay(workflow(code), [])
    line = int(str(late.value).rpartition(":")[2])
    assert "the place" in Path(__file__).read_text().splitlines()[line - 1]


def test_a_long_history(store: rc.Store) -> None:
    async def code() -> int:
        total = 0
        for number in range(1500):
            total += len(await run(str, number))
        await receive("a")
        return total

    recorded(store, code)
    found = replay(workflow(code), History.of(store, "w"))
    assert str(found) == "waits for receive a (w:1501)" and found.calls == 1501


def test_two_versions_of_code_on_one_store(store: rc.Store) -> None:
    """The planted divergence is found, and the corrected code passes: before anything runs."""

    @step
    async def insure(order: str) -> str:
        return f"insurance of {order}"

    async def planted(order: str) -> str:
        receipt = await charge(order)
        await insure(order)
        answer = await receive("approval", type=str)
        await sleep(1000)
        return f"{receipt}, {answer}"

    async def mended(order: str) -> str:
        receipt = await charge(order)
        if patched("insurance"):
            await insure(order)
        answer = await receive("approval", type=str)
        await sleep(1000)
        return f"{receipt}, {answer}"

    recorded(store, fulfil, "7", id="old")
    with pytest.raises(NonDeterministic, match=r"old:2 is insure at .*, and receive approval is recorded"):
        replay(workflow(planted), History.of(store, "old"))
    assert str(replay(workflow(mended), History.of(store, "old"))) == "waits for receive approval (old:2)"
    recorded(store, mended, "8", id="new")
    assert str(replay(workflow(mended), History.of(store, "new"))) == "waits for receive approval (new:4)"
    for id in ("old", "new"):
        store.workflows.send(id, "approval", "yes")
    worker = Worker(store)
    worker.workflow("w")(mended)
    drained(worker)
    assert [store.result(id) for id in ("old", "new")] == ["receipt of 7, yes", "receipt of 8, yes"]
    assert [each.name for each in store.workflows.history("old")].count("insure") == 0
    assert [each.name for each in store.workflows.history("new")].count("insure") == 1


def test_it_knows_whether_the_outcome_of_others_is_awaited_already(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> None:
        await result("report")

    store.promises.create("report", timeout=1000)
    w.using(id="w").delay()
    assert str(replay(w, History.of(store, "w"))) == "continues with result report (w:1)"
    worker.run_until_idle()
    assert str(replay(w, History.of(store, "w"))) == "waits for result report (w:1)"


def test_it_does_not_stand_at_what_has_lost(store: rc.Store, clock: rc.ManualClock, worker: Worker) -> None:
    """The timer of one branch has ended, and no run has recorded yet that it has decided."""

    @worker.workflow("w")
    async def w() -> str:
        await first(receive("never"), sleep(1000))
        return await run(str.upper, "a")

    w.using(id="w").delay()
    worker.run_until_idle()
    clock.advance(1000)
    found = replay(w, History.of(store, "w"))
    assert [each.id for each in found.next] == ["w:4"]
    assert str(found) == "continues with upper (w:4)"
