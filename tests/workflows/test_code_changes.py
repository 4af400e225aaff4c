"""Rule (b): code that does not do what is recorded ends the run; the job is archived, and continues once the code is corrected."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import drained, error_of, records

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, first, gather, receive, run, sleep, step

THIS = Path(__file__).name


@step
async def charge(order: str = "7") -> str:
    return f"receipt of {order}"


@step
async def pack(order: str = "7") -> str:
    return f"parcel of {order}"


@step
async def mail(text: str = "") -> None: ...


async def before() -> str:
    receipt = await charge()
    await sleep(1000)
    return receipt


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of a function that has a text."""
    lines, start = inspect.getsourcelines(function)
    return next(start + at for at, line in enumerate(lines) if text in line)


def begun(store: rc.Store, code: Callable[..., Any], id: str = "w") -> None:
    """A workflow that an earlier version of the code has run until it waits."""
    worker = Worker(store, name="old")
    worker.workflow("w")(code).using(id=id).delay()
    assert [each.outcome for each in worker.run_until_idle().runs][-1:] == ["suspended"]


def deployed(store: rc.Store, code: Callable[..., Any]) -> Worker:
    """A worker with another version of the code."""
    worker = Worker(store, name="new")
    worker.workflow("w")(code)
    return worker


def diverged(store: rc.Store, code: Callable[..., Any], id: str = "w") -> str:
    """What a worker with another version of the code says of the workflow, whose job is archived by it."""
    known = records(store, id)
    (ended,) = drained(deployed(store, code))
    assert ended.outcome == "failed" and ended.error is not None, ended
    assert ended.error.code == "NonDeterministic"
    job = store.jobs.get(id)
    assert (job.state, error_of(store, id)["code"]) == ("archived", "NonDeterministic")
    assert records(store, id) == known, "it wrote something"
    return ended.error.message


def mended(store: rc.Store, code: Callable[..., Any], id: str = "w") -> Any:
    """The result of the archived workflow, once the code is corrected and the job is run again."""
    store.jobs.run(id)
    ended = drained(deployed(store, code))[-1]
    assert ended.outcome == "completed", ended
    return ended.result


def test_another_name_is_an_error_with_both_names_and_the_place(store: rc.Store) -> None:
    async def after() -> str:
        await pack()  # instead of charge
        await sleep(1000)
        return "packed"

    begun(store, before)
    said = diverged(store, after)
    assert "w:1 is pack" in said and "charge is recorded" in said
    assert f"{THIS}:{line_of(after, 'instead of charge')}" in said
    assert mended(store, before) == "receipt of 7"


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_inserted_call_is_found_wherever_it_is(store: rc.Store, at: int) -> None:
    async def older() -> str:
        await charge("1")
        await pack()
        await sleep(1000)
        return "older"

    async def newer() -> str:
        for turn, each in enumerate((lambda: charge("1"), lambda: pack(), lambda: sleep(1000))):
            if turn == at:
                await mail()
            await each()
        return "newer"

    begun(store, older)
    assert f"w:{at + 1} is mail" in diverged(store, newer)
    assert mended(store, older) == "older"


def test_an_early_return_is_an_error_that_names_what_is_recorded(store: rc.Store) -> None:
    async def after() -> str:
        return "nothing to do"

    begun(store, before)
    said = diverged(store, after)
    assert "has ended after 0 calls" in said and "charge is recorded as w:1" in said
    assert f"after, {Path(__file__)}:{line_of(after, 'async def after')}" in said
    assert mended(store, before) == "receipt of 7"


def test_an_early_exception_is_an_error_too(store: rc.Store) -> None:
    """A bug in the new code must not end the workflows of the old code for good."""

    async def after() -> str:
        receipts: dict[str, str] = {}
        return receipts["7"]

    begun(store, before)
    said = diverged(store, after)
    assert "has raised KeyError: '7' after 0 calls, and charge is recorded as w:1" in said
    assert mended(store, before) == "receipt of 7"


def test_a_branch_that_returns_early_is_an_error(store: rc.Store) -> None:
    async def branch(count: int) -> int:
        for _ in range(count):
            await charge()
        return count

    async def older() -> Any:
        found = await gather(branch(2), branch(1))
        await sleep(1000)
        return found

    async def newer() -> Any:
        found = await gather(branch(1), branch(1))
        await sleep(1000)
        return found

    begun(store, older)
    assert "the code of w:1:0 (branch" in diverged(store, newer)
    assert mended(store, older) == [2, 1]


def test_it_cannot_be_caught(store: rc.Store) -> None:
    ran: list[str] = []

    async def by_exception() -> str:
        try:
            await pack()
        except Exception:
            ran.append("caught")
        return "went on"

    async def by_base_exception() -> str:
        try:
            await pack()
        except BaseException:
            ran.append("seen")
        try:
            await mail()
        except BaseException:
            ran.append("seen again")
        return "went on"

    begun(store, before)
    diverged(store, by_exception)
    assert ran == []
    store.jobs.run("w")
    diverged(store, by_base_exception)
    assert ran == ["seen", "seen again"]
    assert mended(store, before) == "receipt of 7"


@pytest.mark.parametrize("combine", [gather, first])
def test_a_branch_cannot_catch_it_for_the_others(store: rc.Store, combine: Callable[..., Awaitable[Any]]) -> None:
    async def caught() -> str:
        try:
            await pack()
        except BaseException:
            return "went on"
        return "never"

    async def plain() -> str:
        return await charge()

    async def waits() -> Any:
        return await receive("never")

    async def older() -> Any:
        return await combine(plain_and_sleep(), waits())

    async def plain_and_sleep() -> str:
        await plain()
        await sleep(1000)
        return "done"

    async def newer() -> Any:
        return await combine(caught(), waits())

    begun(store, older)
    assert "w:1:0:1 is pack" in diverged(store, newer)


def test_a_value_that_fits_its_type_no_more_is_an_error(store: rc.Store) -> None:
    @step(name="charge")
    async def numbered() -> int:
        return 5

    async def after() -> int:
        receipt = await numbered()  # was a str
        await sleep(1000)
        return receipt

    begun(store, before)
    said = diverged(store, after)
    assert "the value of w:1 (charge) does not fit its type any more" in said and "Expected `int`, got `str`" in said
    assert f"{THIS}:{line_of(after, 'was a str')}" in said
    assert mended(store, before) == "receipt of 7"


@pytest.mark.parametrize("parked", [False, True])
def test_a_message_that_does_not_fit_is_a_failure_and_no_change_of_the_code(store: rc.Store, parked: bool) -> None:
    seen: list[str] = []

    async def code() -> str:
        try:
            await receive("count", type=int)
        except StepFailed as failed:
            seen.append(f"{failed.code}: {failed.message}")
        await sleep(1000)
        return "asked again"

    worker = deployed(store, code)
    worker.enqueue("w", id="w")
    if parked:
        worker.run_until_idle()
    store.workflows.send("w", "count", "five")
    assert drained(worker)[-1].result == "asked again"
    assert set(seen) == {"InvalidValue: the value of w:1 (receive count) does not fit its type: Expected `int`, got `str`"}


def test_the_result_of_a_child_that_fits_no_more_names_the_place_where_it_is_awaited(store: rc.Store) -> None:
    def version(count: Callable[[], Any]) -> tuple[Worker, Callable[..., Any]]:
        worker = Worker(store)
        task = worker.task("count")(count)

        @worker.workflow("w")
        async def w() -> Any:
            found = await task.call()  # the place
            await sleep(1000)
            return found

        return worker, w.function

    def text() -> str:
        return "five"

    def number() -> int:
        return 5

    old, _ = version(text)
    old.enqueue("w", id="w")
    old.run_until_idle()
    new, code = version(number)
    ended = drained(new)[-1]
    assert ended.error is not None and ended.error.code == "NonDeterministic"
    assert "(job count) does not fit its type any more" in ended.error.message
    assert f"{THIS}:{line_of(code, 'the place')}" in ended.error.message


def test_the_place_of_a_child_job_is_that_of_the_program(store: rc.Store) -> None:
    worker = Worker(store, name="new")
    task = worker.task("order:pack")(lambda: "packed")

    @worker.workflow("w")
    async def after() -> str:
        return await task.call()  # instead of charge

    begun(store, before)
    ended = worker.run_until_idle(advance=True).runs[-1]
    assert ended.error is not None and ended.error.code == "NonDeterministic"
    assert "w:1 is job order:pack" in ended.error.message
    assert f"{THIS}:{line_of(after.function, 'instead of charge')}" in ended.error.message


def test_a_call_in_the_place_of_a_gather_under_way_is_found_before_it_takes_effect(store: rc.Store) -> None:
    """A gather has no record until a branch has failed, but its branches have."""

    async def branch() -> str:
        await charge()
        await sleep(1000)
        return await pack()

    async def older() -> Any:
        return await gather(branch(), branch())

    async def newer() -> Any:
        await mail()
        return await gather(branch(), branch())

    begun(store, older)
    assert "w:1 is mail" in diverged(store, newer)
    assert mended(store, older) == ["parcel of 7"] * 2


def test_a_call_in_the_place_of_a_gather_that_has_ended_is_found_before_it_takes_effect(store: rc.Store) -> None:
    async def branch() -> str:
        return await charge()

    async def older() -> Any:
        found = await gather(branch(), branch())
        await sleep(1000)
        return found

    async def newer() -> Any:
        await mail()
        return await older()

    begun(store, older)
    assert "w:1 is mail" in diverged(store, newer)
    assert mended(store, older) == ["receipt of 7"] * 2


def test_a_call_in_the_place_of_a_step_that_waits_for_its_retry_is_found(store: rc.Store) -> None:
    @step(name="flaky", retries=3, backoff=60_000)
    async def flaky() -> str:
        if store.now < 1000:
            raise ValueError("not yet")
        return "at last"

    async def older() -> str:
        return await flaky()

    async def newer() -> str:
        await mail()
        return await flaky()

    begun(store, older)
    assert "w:1 is mail" in diverged(store, newer)
    assert mended(store, older) == "at last"


def test_a_removed_gather_is_found_by_the_records_of_its_branches(store: rc.Store) -> None:
    async def branch() -> str:
        return await charge()

    async def older() -> str:
        await gather(branch(), branch())
        await sleep(1000)
        return "older"

    async def newer() -> str:
        return "newer"

    begun(store, older)
    said = diverged(store, newer)
    assert "has ended after 0 calls" in said


def test_fewer_branches_than_the_one_that_decided(store: rc.Store) -> None:
    async def older() -> Any:
        found = await first(receive("a"), receive("b"), run(str, 5))
        await sleep(1000)
        return found

    async def newer() -> Any:
        found = await first(receive("a"), receive("b"))
        await run(str, 5)
        await sleep(1000)
        return found

    begun(store, older)
    said = diverged(store, newer)
    assert "first" in said


def test_a_failed_branch_that_does_not_fail_any_more(store: rc.Store) -> None:
    async def fails() -> str:
        await charge()
        raise ValueError("broken")

    async def works() -> str:
        return await charge()

    async def older() -> str:
        try:
            await gather(fails(), receive("never"))
        except ValueError:
            await sleep(1000)
        return "older"

    async def newer() -> str:
        try:
            await gather(works(), receive("never"))
        except ValueError:
            await sleep(1000)
        return "newer"

    begun(store, older)
    assert "branch 0 of w:2 has not failed, and its failure is recorded" in diverged(store, newer)
    assert mended(store, older) == "older"


def test_other_branches_that_wait_do_not_keep_a_run_that_has_diverged(store: rc.Store) -> None:
    async def one() -> None:
        await charge()
        await sleep(1000)

    async def other() -> None:
        await pack()

    async def waits() -> None:
        await receive("never")

    async def older() -> Any:
        return await gather(waits(), one(), waits())

    async def newer() -> Any:
        return await gather(waits(), other(), waits())

    begun(store, older)
    assert "w:1:1:1 is pack" in diverged(store, newer)


def test_new_code_behind_what_is_recorded_is_no_change(store: rc.Store) -> None:
    async def after() -> list[Any]:
        receipt = await charge()
        await sleep(1000)
        return [receipt, await pack()]

    begun(store, before)
    assert drained(deployed(store, after))[-1].result == ["receipt of 7", "parcel of 7"]


def test_a_renamed_function_keeps_its_records_by_its_name(store: rc.Store) -> None:
    @step(name="charge")
    async def charge_card() -> str:
        return "never"

    async def after() -> str:
        receipt = await charge_card()
        await sleep(1000)
        return receipt

    begun(store, before)
    assert drained(deployed(store, after))[-1].result == "receipt of 7"
