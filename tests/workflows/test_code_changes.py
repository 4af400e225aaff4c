"""Rule (b): code that does not do what is recorded ends the run; the job is archived, and continues once the code is corrected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from code_versions import before, begun, charge, deployed, diverged, line_of, mail, mended, pack
from workflow_runs import drained

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, receive, sleep, step

THIS = Path(__file__).name


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
