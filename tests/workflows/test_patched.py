"""`patched`: two versions of code on one store, statement by statement of the contract's row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from workflow_runs import drained, last, names, records

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import Worker
from resonate_core.workflow import blocking, gather, patched, receive, sleep, step


@step
async def by_road() -> str:
    return "road"


@step
async def by_rail() -> str:
    return "rail"


@step
async def insure() -> str:
    return "insured"


async def old() -> list[str]:
    found = [await by_road()]
    await sleep(1000)
    return found


async def new() -> list[str]:
    found = [await (by_rail() if patched("rail") else by_road())]
    await sleep(1000)
    return found


def version(store: rc.Store, code: Callable[..., Any], name: str) -> Worker:
    worker = Worker(store, name=name)
    worker.workflow("w")(code)
    return worker


def begun(store: rc.Store, code: Callable[..., Any], id: str = "w") -> None:
    """A workflow that this code has run until its first wait."""
    worker = version(store, code, "old")
    worker.enqueue("w", id=id)
    assert worker.run_until_idle().runs[-1].outcome == "suspended"


def test_it_needs_no_await_and_is_a_bool(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> bool:
        return patched("a") is True

    w.delay()
    assert last(worker) is True


def test_a_new_run_uses_the_new_code_and_records_the_mark(store: rc.Store) -> None:
    worker = version(store, new, "new")
    worker.enqueue("w", id="w")
    assert last(worker) == ["rail"]
    assert records(store, "w") == {"1": "patched rail", "2": "by_rail", "3": "sleep"}


def test_a_run_that_passed_the_place_before_uses_the_old_code(store: rc.Store) -> None:
    begun(store, old)
    assert last(version(store, new, "new")) == ["road"]
    assert records(store, "w") == {"1": "by_road", "2": "sleep"}


def test_a_run_that_has_not_come_to_the_place_uses_the_new_code(store: rc.Store) -> None:
    async def late_old() -> list[str]:
        await sleep(1000)
        return [await by_road()]

    async def late_new() -> list[str]:
        await sleep(1000)
        return [await (by_rail() if patched("rail") else by_road())]

    begun(store, late_old)
    assert last(version(store, late_new, "new")) == ["rail"]
    assert names(store, "w") == ["sleep", "patched rail", "by_rail"]


def test_the_mark_holds_in_replays(store: rc.Store) -> None:
    begun(store, new)
    assert records(store, "w")["1"] == "patched rail"
    assert last(version(store, new, "other")) == ["rail"]


def test_the_mark_is_recorded_before_anything_that_depends_on_it(store: rc.Store, worker: Worker) -> None:
    """A crash directly after the question must not change the answer's consequences."""
    asked: list[bool] = []

    @step
    async def crashes() -> None:
        if len(asked) == 1:
            raise KeyboardInterrupt

    @worker.workflow("w")
    async def w() -> list[bool]:
        asked.append(patched("a"))
        await crashes()
        return asked

    w.using(id="w").delay()
    with pytest.raises(KeyboardInterrupt):
        drained(worker)
    assert last(worker) == [True, True]
    assert records(store, "w") == {"1": "patched a", "2": "crashes"}


def test_each_pass_of_a_loop_decides_for_itself(store: rc.Store) -> None:
    async def loop_old() -> list[str]:
        found = []
        for _ in range(4):
            found.append(await by_road())
            await sleep(1000)
        return found

    async def loop_new() -> list[str]:
        found = []
        for _ in range(4):
            found.append(await (by_rail() if patched("rail") else by_road()))
            await sleep(1000)
        return found

    worker = version(store, loop_old, "old")
    worker.enqueue("w", id="w")
    worker.run_until_idle(until=1500)
    assert last(version(store, loop_new, "new")) == ["road", "road", "rail", "rail"]


def test_a_mark_that_the_code_no_longer_asks_for_is_passed_over(store: rc.Store) -> None:
    async def only_new() -> list[str]:
        found = [await by_rail()]
        await sleep(1000)
        return found

    begun(store, new)
    assert last(version(store, only_new, "newest")) == ["rail"]
    assert names(store, "w") == ["patched rail", "by_rail", "sleep"]


def test_marks_that_are_passed_over_at_the_end_and_in_loops(store: rc.Store) -> None:
    async def asks() -> str:
        for _ in range(3):
            patched("a")
            patched("b")
            await insure()
        await sleep(1000)
        patched("c")
        await sleep(1000)
        return "asks"

    async def asks_no_more() -> str:
        for _ in range(3):
            await insure()
        await sleep(1000)
        await sleep(1000)
        return "asks no more"

    worker = version(store, asks, "old")
    worker.enqueue("w", id="w")
    worker.run_until_idle(until=1500)
    assert last(version(store, asks_no_more, "new")) == "asks no more"


def test_a_second_patch_beside_the_first(store: rc.Store) -> None:
    """A run that took the first patch takes the second one only if it had not come to it."""

    async def both() -> list[str]:
        found = [await (by_rail() if patched("rail") else by_road())]
        if patched("insurance"):
            found.append(await insure())
        await sleep(1000)
        return found

    begun(store, old, "old")
    begun(store, new, "new")
    worker = version(store, both, "both")
    worker.enqueue("w", id="both")
    drained(worker)
    assert [store.result(id) for id in ("old", "new", "both")] == [["road"], ["rail"], ["rail", "insured"]]


def test_a_patch_before_another_one_of_an_earlier_version(store: rc.Store) -> None:
    async def two() -> list[str]:
        found = []
        if patched("insurance"):
            found.append(await insure())
        found.append(await (by_rail() if patched("rail") else by_road()))
        await sleep(1000)
        return found

    begun(store, new)
    assert last(version(store, two, "two")) == ["rail"], "this run has passed the place of the first question before"


def test_a_patch_around_a_removed_call(store: rc.Store) -> None:
    async def with_call() -> str:
        await insure()
        await by_road()
        await sleep(1000)
        return "ok"

    async def without_call() -> str:
        if not patched("no-insurance"):
            await insure()
        await by_road()
        await sleep(1000)
        return "ok"

    begun(store, with_call, "old")
    worker = version(store, without_call, "new")
    worker.enqueue("w", id="new")
    drained(worker)
    assert names(store, "old") == ["insure", "by_road", "sleep"]
    assert names(store, "new") == ["patched no-insurance", "by_road", "sleep"]


def test_a_patch_before_a_gather_under_way(store: rc.Store) -> None:
    """The gather has no record of its own, but it was called there."""

    async def branch() -> str:
        await by_road()
        await receive("go")
        return await by_road()

    async def before() -> Any:
        return await gather(branch(), branch())

    async def after() -> Any:
        if patched("insurance"):
            await insure()
        return await gather(branch(), branch())

    begun(store, before)
    for _ in range(2):
        store.workflows.send("w", "go")
    assert last(version(store, after, "new")) == ["road", "road"]
    assert "insure" not in names(store, "w")


def test_a_patch_before_a_step_that_waits_for_its_retry(store: rc.Store) -> None:
    @step(retries=3, backoff=60_000)
    async def flaky() -> str:
        if store.now == 0:
            raise ValueError("not yet")
        return "at last"

    async def before() -> str:
        return await flaky()

    async def after() -> str:
        if patched("insurance"):
            await insure()
        return await flaky()

    begun(store, before)
    assert last(version(store, after, "new")) == "at last"
    assert records(store, "w") == {"1": "flaky", "1:1": "retry flaky"}


def test_it_is_asked_in_branches_each_with_its_own_marks(store: rc.Store) -> None:
    async def branch(asks: bool) -> str:
        if asks and patched("insurance"):
            await insure()
        road = await by_road()
        await sleep(1000)
        return road

    async def before() -> Any:
        return await gather(branch(False), branch(False))

    async def after() -> Any:
        return await gather(branch(True), branch(True), branch(True))

    begun(store, before)
    assert last(version(store, after, "new")) == ["road"] * 3
    assert sorted(id for id, name in records(store, "w").items() if name == "insure") == ["1:2:2"]


def test_the_same_for_a_def(store: rc.Store) -> None:
    def old_def() -> str:
        found = blocking.run(str.upper, "road")
        blocking.sleep(1000)
        return found

    def new_def() -> str:
        found = blocking.run(str.lower, "RAIL") if blocking.patched("rail") else blocking.run(str.upper, "road")
        blocking.sleep(1000)
        return found

    begun(store, old_def, "old")
    worker = version(store, new_def, "new")
    worker.enqueue("w", id="new")
    drained(worker)
    assert [store.result(id) for id in ("old", "new")] == ["ROAD", "rail"]


def test_outside_of_a_workflow_and_in_a_step_it_is_true(store: rc.Store, worker: Worker) -> None:
    assert patched("a") is True

    @step
    async def asks() -> bool:
        return patched("a")

    @worker.workflow("w")
    async def w() -> bool:
        return await asks()

    w.using(id="w").delay()
    assert last(worker) is True
    assert names(store, "w") == ["asks"]


def test_a_name_is_needed() -> None:
    with pytest.raises(Invalid):
        patched("")
    with pytest.raises(TypeError):
        patched(5)  # type: ignore[arg-type]


def test_an_unfinished_call_of_an_older_run_that_is_not_recorded(store: rc.Store) -> None:
    """The older code crashed in its first step: nothing says that it was there, and its step may have had its effect (rule i)."""
    ran: list[str] = []

    @step(name="by_road")
    async def crashes() -> str:
        ran.append("crashed")
        raise KeyboardInterrupt

    async def before() -> list[str]:
        return [await crashes()]

    worker = version(store, before, "old")
    worker.enqueue("w", id="w")
    with pytest.raises(KeyboardInterrupt):
        worker.run_until_idle()
    assert last(version(store, new, "new")) == ["rail"]
