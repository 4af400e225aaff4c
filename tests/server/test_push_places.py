"""Which delivery gets the next place of push."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from resonate_core.server import push_places
from resonate_core.server.push_client import PushAttempt
from resonate_core.server.push_places import GivenBack, PushPlaces, Receiver


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_places, "PATIENCE", 0.001)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_places, "PATIENCE", 600)  # no delivery gives way


def host(name: str, tenant: str = "") -> Receiver:
    return Receiver(tenant, b"http", name.encode(), 80)


class Deliveries:
    """Deliveries that end by `end`, or give way."""

    def __init__(self, most: int) -> None:
        self.places = PushPlaces(most)
        self.began: list[str] = []
        self.ended: dict[str, asyncio.Event] = {}
        self.outcomes: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def submit(self, receiver: Receiver, name: str | None = None) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._run(receiver, name or receiver.host.decode())))

    async def _run(self, receiver: Receiver, name: str) -> None:
        attempt = PushAttempt()
        ended = self.ended[name] = asyncio.Event()
        try:
            async with self.places.taken(receiver, attempt):
                self.began.append(name)
                with anyio.move_on_after(60) as limit:
                    attempt.begin(limit)
                    await ended.wait()
                self.outcomes[name] = "gave way" if attempt.gave_way else "ended"
        except GivenBack:
            self.outcomes[name] = "given back"

    async def end(self, name: str) -> None:
        self.ended[name].set()
        while name not in self.outcomes:
            await asyncio.sleep(0)
        await settled()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.places.close()


async def settled() -> None:
    """Each task has run as far as it can without time."""
    for _ in range(20):
        await asyncio.sleep(0)


def run(most: int, test: Callable[[Deliveries], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        deliveries = Deliveries(most)
        try:
            await asyncio.wait_for(test(deliveries), 60)
        finally:
            await deliveries.close()

    asyncio.run(main())


def test_a_new_host_has_four_places_and_a_known_one_a_quarter() -> None:
    async def test(of: Deliveries) -> None:
        for number in range(20):
            of.submit(host("new"), f"new {number}")
            of.submit(host("known"), f"known {number}")
        of.places.answered(host("known"))
        await settled()
        assert sum(name.startswith("new") for name in of.began) == 4
        assert sum(name.startswith("known") for name in of.began) == 8

    run(32, test)


def test_hosts_that_have_not_answered_leave_a_quarter_to_the_others() -> None:
    async def test(of: Deliveries) -> None:
        for number in range(40):
            of.submit(host(f"new {number}"))
        await settled()
        assert len(of.began) == 12
        of.places.answered(host("known"))
        of.submit(host("known"))
        await settled()
        assert of.began[-1] == "known"

    run(16, test)


def test_of_the_new_hosts_the_last_and_the_first_are_served_in_turn() -> None:
    async def test(of: Deliveries) -> None:
        of.submit(host("a"))
        await settled()
        for name in "bcdefg":
            of.submit(host(name))
        await settled()
        for name in "agbfce":
            assert of.began[-1] == name, of.began
            await of.end(name)

    run(1, test)


def test_a_host_that_waits_with_another_message_keeps_its_turn() -> None:
    async def test(of: Deliveries) -> None:
        of.submit(host("a"))
        await settled()
        for name in ("b", "c"):
            of.places.answered(host(name))
            of.submit(host(name), f"{name} 1")
        for number in (2, 3):
            of.submit(host("b"), f"b {number}")
        await settled()
        for name in ("a", "b 1", "c 1", "b 2", "b 3"):
            assert of.began[-1] == name
            await of.end(name)

    run(1, test)


def test_tenants_have_half_of_the_places_and_their_turns() -> None:
    async def test(of: Deliveries) -> None:
        for number in range(20):
            of.submit(host(f"shop {number}", "shop."))
        await settled()
        assert len(of.began) == 8
        for number in range(20):
            of.submit(host(f"bank {number}", "bank."))
        await settled()
        assert [name.partition(" ")[0] for name in of.began[8:]] == ["bank"] * 4, "strangers have three quarters"

    run(16, test)


def test_what_waits_for_a_host_that_failed_is_given_back_and_one_place_is_left() -> None:
    async def test(of: Deliveries) -> None:
        for number in range(10):
            of.submit(host("a"), f"a {number}")
        await settled()
        assert len(of.began) == 4
        of.places.failed(host("a"))
        await settled()
        assert [of.outcomes.get(f"a {number}") for number in range(10)] == [None] * 4 + ["given back"] * 6
        for number in range(4):
            await of.end(f"a {number}")
        for name in ("again", "and again"):
            of.submit(host("a"), name)
        await settled()
        assert of.began[4:] == ["again"]
        of.places.answered(host("a"))
        await settled()
        assert of.began[4:] == ["again", "and again"]

    run(32, test)


@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize(("most", "kept"), [(1, 0), (4, 2), (16, 8)])
def test_deliveries_without_an_answer_give_way_down_to_half_of_the_places(most: int, kept: int) -> None:
    """Those that began last give way, and none without a host that has nothing under way."""

    async def test(of: Deliveries) -> None:
        for number in range(most):
            of.places.answered(host(f"known {number}"))
            of.submit(host(f"known {number}"))
        await settled()
        assert len(of.began) == most
        of.submit(host("known 0"), "another of it")
        await asyncio.sleep(0.05)
        assert not of.outcomes
        for number in range(most):
            of.places.answered(host(f"other {number}"))
            of.submit(host(f"other {number}"))
        while len(of.outcomes) < most - kept:
            await asyncio.sleep(0.001)
        gave_way = [name for name in of.outcomes if name.startswith("known")]
        assert gave_way and not {f"known {number}" for number in range(kept)} & set(gave_way)

    run(most, test)


@pytest.mark.usefixtures("no_patience")
def test_hosts_that_have_not_answered_give_way_first() -> None:
    async def test(of: Deliveries) -> None:
        of.submit(host("new 1"))
        of.submit(host("new 2"))
        for number in range(2):
            of.places.answered(host(f"known {number}"))
            of.submit(host(f"known {number}"))
        await settled()
        assert len(of.began) == 4
        of.places.answered(host("starving"))
        of.submit(host("starving"))
        while not of.outcomes:
            await asyncio.sleep(0.001)
        await settled()
        assert of.outcomes == {"new 2": "gave way"} and of.began[-1] == "starving"

    run(4, test)


@pytest.mark.usefixtures("no_patience")
def test_a_delivery_with_an_answer_does_not_give_way() -> None:
    async def test(of: Deliveries) -> None:
        attempt = PushAttempt()
        async with of.places.taken(host("a"), attempt):
            with anyio.move_on_after(60) as limit:
                attempt.begin(limit)
                limit.deadline = float("inf")
                of.submit(host("b"))
                await asyncio.sleep(0.05)
                attempt.give_way()
                await asyncio.sleep(0.01)
            assert not limit.cancelled_caught and not attempt.gave_way and not of.began
        await settled()
        assert of.began == ["b"]

    run(1, test)


def test_a_delivery_that_is_cancelled_leaves_its_place_and_its_turn() -> None:
    async def test(of: Deliveries) -> None:
        for name in "abc":
            of.submit(host("known"), name)
        await settled()
        assert of.began == ["a"]
        for task in of._tasks[:2]:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await of._tasks[0]
        await settled()
        assert of.began == ["a", "c"]
        await of.end("c")
        assert not of.places._tenants and not of.places._waiting and not of.places._under_way and not of.places._taken

    run(1, test)
