"""Rule (b) for branches and retries: calls under way have no record of their own, but something inside of them has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from code_versions import begun, charge, diverged, mail, mended, pack

import resonate_core as rc
from resonate_core.workflow import first, gather, receive, run, sleep, step


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
