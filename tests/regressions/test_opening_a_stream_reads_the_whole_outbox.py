"""Opening a poll stream read all waiting messages, once those for more than 1,000 groups, or addresses of a group, waited.

8,000 streams of one tenant over another's 20,000 waiting messages delayed every request by 1.2 s after each new stream. A stream now
reads the messages of its own addresses; `cpp/tests/outbox_test.cpp` counts how many rows that reads.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import StreamSettings
from server.poll_scene import Scene, run, scene

FAR = 10**15


class Counting:
    """A store that counts the messages that are read again for addresses."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read = 0

    def messages(self, *arguments: Any, **keywords: Any) -> Any:
        page = self._store.messages(*arguments, **keywords)
        if "addresses" in keywords:
            self.read += len(page)
        return page

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def counted(on: Scene) -> Counting:
    assert on.app._runtime is not None
    counting = Counting(on.store)
    on.app._runtime.driver._store = counting  # type: ignore[assignment]
    return counting


def _last_seen(on: Scene) -> int:
    assert on.app._runtime is not None
    return on.app._runtime.driver._last


def create(id: str, address: str) -> dict[str, Any]:
    data = {"id": id, "timeoutAt": FAR, "tags": {"resonate:target": address}}
    return {"kind": "promise.create", "head": {"corrId": "c", "version": "2026-04-01"}, "data": data}


Play = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    return lambda main: run(main, monkeypatch)


@pytest.mark.parametrize(
    "address",
    ["poll://any@g{}", "poll://uni@theirs/{}", "poll://any@theirs/{}", "poll://any@theirs"],
    ids=["groups", "uni", "any", "one"],
)
def test_what_waits_for_others_is_not_read(play: Play, address: str) -> None:
    async def main() -> None:
        async with scene() as on:
            on.store.apply([create(f"t{i}", address.format(i)) for i in range(3_000)])
            on.execute("ours", "poll://any@ours")
            await on.quiet()
            counting = counted(on)
            for i in range(20):
                stream = await on.open(f"mine/w{i}")
                await on.quiet()
                assert stream.ids == []
            assert counting.read == 0
            ours = await on.open("ours/w1")
            await on.until(lambda: ours.ids == ["ours"])
            assert counting.read == 1

    play(main())


@pytest.mark.parametrize("address", ["poll://any@workers", "poll://any@workers/{}"], ids=["one", "many"])
def test_a_backlog_goes_through_a_small_stream_and_is_read_a_few_times_at_most(play: Play, address: str) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(buffer=100)) as on:
            on.store.apply([create(f"t{i:04}", address.format(i)) for i in range(2_000)])
            await on.quiet()
            counting = counted(on)
            stream = await on.open("workers/w1")
            await on.until(lambda: len(stream.ids) == 2_000)
            assert sorted(stream.ids) == [f"t{i:04}" for i in range(2_000)]
            assert counting.read < 2_000 * 5
            await on.pass_time(1)
            await on.until(lambda: on.waiting() == [])

    play(main())


def test_a_stream_that_is_full_gets_the_rest_when_its_client_reads(play: Play) -> None:
    """No other event makes the server read them: a waiting message is not sent again."""

    async def main() -> None:
        async with scene(streams=StreamSettings(buffer=10)) as on:
            slow, other = await on.open("workers/slow"), await on.open("workers/other")
            slow.read.clear()
            for i in range(100):
                on.execute(f"own{i:03}", "poll://uni@workers/slow")
            for i in range(100):
                on.execute(f"any{i:03}", "poll://any@workers")
            await on.until(lambda: len(other.ids) >= 80)
            slow.read.set()
            await on.until(lambda: len(slow.ids) + len(other.ids) == 200)
            assert {f"own{i:03}" for i in range(100)} <= set(slow.ids)

    play(main())


def test_what_a_full_stream_could_not_take_goes_to_the_others_when_it_ends(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(buffer=5)) as on:
            older = await on.open("workers/w1")
            newer = await on.open("workers/w1")  # of one id the newest is written to
            newer.read.clear()
            for i in range(50):
                on.unblock(f"u{i:02}", "poll://uni@workers/w1")
            await on.quiet()
            assert older.ids == [] == newer.ids
            await newer.leave()
            await on.until(lambda: len(older.ids) == 50)

    play(main())


@pytest.mark.parametrize("address", ["POLL://ANY@workers/w1", "poll://uni:secret@workers:80/w1?q#f", "poll://any@work%65rs"])
def test_addresses_that_are_written_in_another_way_are_found(play: Play, address: str) -> None:
    async def main() -> None:
        async with scene() as on:
            on.unblock("odd", address)
            await on.quiet()
            stream = await on.open("workers/w1")
            await on.until(lambda: stream.ids == ["odd"])

    play(main())


def test_more_such_addresses_than_are_remembered_are_found_too(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    import resonate_core.server.poll as poll

    monkeypatch.setattr(poll, "_MOST_OTHER_FORMS", 3)

    async def main() -> None:
        async with scene() as on:
            for i in range(10):
                on.unblock(f"odd{i}", f"poll://uni:p{i}@workers/w{i}")
            await on.quiet()
            stream = await on.open("workers/w9")
            await on.pass_time(poll._READ_ALL_PAUSE + 1, step=1)
            await on.until(lambda: stream.ids == ["odd9"])

    play(main())


def test_messages_that_a_handler_left_are_looked_at(play: Play) -> None:
    """A function of this process received the scheme; when it is removed, the streams receive it again."""

    async def main() -> None:
        async with scene() as on:
            stream = await on.open("workers/w1")
            with on.store.on_message("poll", print):
                on.unblock("left", "poll://uni@workers/w1")
                (number,) = [one.number for one in on.store.messages() if one.id == "left"]
                await on.until(lambda: _last_seen(on) >= number)
                assert stream.ids == []
            await on.until(lambda: stream.ids == ["left"])

    play(main())


def test_the_store_answers_for_addresses_in_order_of_queueing() -> None:
    store = Store(clock=ManualClock(0))
    store.apply([create(f"t{i}", f"poll://any@g{i % 3}/{i % 2}") for i in range(30)])
    assert [one.id for one in store.messages(addresses=["poll://any@g1/*"])] == [f"t{i}" for i in range(30) if i % 3 == 1]
    both = store.messages(4, after=store.messages()[10].number, addresses=["poll://any@g1/*", "poll://any@g2/1"])
    assert [one.id for one in both] == ["t11", "t13", "t16", "t17"]
    taken = store.take_messages(2, addresses=["poll://any@g2/*"])
    assert [one["key"] for one in taken] == ["execute:t2", "execute:t5"]
