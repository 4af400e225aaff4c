"""Which stream a message goes to (WIRE 3)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from resonate_core.asgi import AuthSettings, LimitSettings, StreamSettings
from server.poll_scene import run, scene
from server.security_table import SECRET, token

Play = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    return lambda main: run(main, monkeypatch)


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("workers/w1", "poll://uni@workers/w1"),
        ("workers/w1", "POLL://UNI@workers/w1"),
        ("workers/w1", "poll://uni:secret@workers:8001/w1?query#fragment"),
        ("my%20group/w%201", "poll://uni@my%20group/w%201"),
        ("my%20group/w1", "poll://uni@my group/w1"),
        ("workers/w%2F2", "poll://uni@workers/w/2"),
        ("workers/w%2F2", "poll://uni@workers/w%2F2"),
        ("workers/w%3F2", "poll://uni@workers/w%3F2"),
        ("workers/100%25", "poll://uni@workers/100%25"),
        ("W%C3%B6rker/%F0%9D%84%9E", "poll://uni@Wörker/𝄞"),
        ("W%C3%B6rker/%F0%9D%84%9E", "poll://uni@W%C3%B6rker/%f0%9d%84%9e"),
        ("a%3Ab/c:d", "poll://uni@a%3Ab/c:d"),
        ("workers/w1?token=x", "poll://uni@workers/w1"),
        ("workers/a+b", "poll://uni@workers/a+b"),
    ],
)
def test_a_stream_gets_what_is_for_its_group_and_id(play: Play, target: str, address: str) -> None:
    async def main() -> None:
        async with scene() as on:
            stream, other = await on.open(target), await on.open("workers/other")
            on.unblock("a", address)
            on.execute("b", address)
            await on.quiet()
            assert (stream.ids, other.ids) == (["a", "b"], [])

    play(main())


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("workers/w1", "poll://uni@Workers/w1"),
        ("workers/w1", "poll://uni@workers/W1"),
        ("workers/w1", "poll://uni@workers/w12"),
        ("workers/w1", "poll://uni@workers/w1/"),
        ("workers/w1", "poll://uni@workers"),
        ("workers/w1", "poll://uni@workers/"),
        ("workers/w1", "poll://someone@workers/w1"),
        ("workers/w1", "poll://workers/w1"),
        ("workers/w1", "poll:any@workers"),
        ("workers/w1", "pol://any@workers"),
        ("workers/w1", "poll://any@workers2"),
        ("workers/w1", "local://any@workers"),
        ("workers/w%252F2", "poll://uni@workers/w%2F2"),
    ],
)
def test_what_is_for_others_waits_in_the_store(play: Play, target: str, address: str) -> None:
    async def main() -> None:
        async with scene() as on:
            stream = await on.open(target)
            on.unblock("a", address)
            await on.quiet()
            await on.pass_time(10)
            assert stream.ids == [] and on.waiting() == ["a"]

    play(main())


def test_anybody_of_a_group_takes_turns(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            streams = [await on.open(f"workers/w{i}") for i in range(4)]
            for i in range(40):
                on.execute(f"t{i:02}")
            await on.quiet()
            assert [len(stream.ids) for stream in streams] == [10] * 4
            assert sorted(itertools.chain(*(stream.ids for stream in streams))) == [f"t{i:02}" for i in range(40)]

    play(main())


def test_a_preferred_id_that_is_there_gets_everything(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            others = [await on.open(f"workers/w{i}") for i in range(3)]
            preferred = await on.open("workers/me")
            for i in range(10):
                on.execute(f"t{i}", "poll://any@workers/me")
            await on.quiet()
            assert preferred.ids == [f"t{i}" for i in range(10)] and all(other.ids == [] for other in others)

    play(main())


def test_a_preferred_id_that_was_never_there_is_not_waited_for(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            other = await on.open("workers/w1")
            on.execute("t", "poll://any@workers/nobody")
            await on.quiet()
            assert other.ids == ["t"]

    play(main())


def test_a_preferred_id_that_is_full_lets_others_take_it(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(buffer=2)) as on:
            preferred, other = await on.open("workers/me"), await on.open("workers/w1")
            preferred.read.clear()
            for i in range(9):
                on.execute(f"t{i}", "poll://any@workers/me")
                await on.quiet()
            assert preferred.ids == [] and len(other.ids) >= 6
            preferred.read.set()
            await on.quiet()
            assert sorted(preferred.ids + other.ids) == [f"t{i}" for i in range(9)]

    play(main())


@pytest.mark.parametrize("address", ["poll://uni@workers/w1", "poll://any@workers/w1", "poll://any@workers"])
def test_of_several_streams_of_one_id_the_newest_gets_it(play: Play, address: str) -> None:
    async def main() -> None:
        async with scene() as on:
            streams = [await on.open("workers/w1") for _ in range(3)]
            on.execute("a", address)
            await on.pass_time(1)
            assert [stream.ids for stream in streams] == [[], [], ["a"]]
            await streams[2].leave()
            on.execute("b", address)
            await on.pass_time(1)
            assert [stream.ids for stream in streams] == [[], ["b"], ["a"]]
            await streams[0].leave()
            on.unblock("c", address)
            await on.quiet()
            assert [stream.ids for stream in streams] == [[], ["b", "c"], ["a"]]

    play(main())


def test_nothing_is_lost_while_nobody_is_there(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            await (await on.open("workers/w1")).leave()
            for i in range(250):
                (on.unblock if i % 2 else on.execute)(f"m{i:03}", "poll://uni@workers/w1")
            on.execute("anybody's")
            await on.quiet()
            assert len(on.waiting()) == 251
            stream = await on.open("workers/w1")
            await on.until(lambda: len(stream.ids) == 251)
            assert sorted(stream.ids) == ["anybody's", *(f"m{i:03}" for i in range(250))]
            await on.pass_time(1)
            await on.until(lambda: on.waiting() == [])  # a thread takes them out

    play(main())


def test_the_parked_of_many_addresses_are_found_again(play: Play) -> None:
    """The messages are for more addresses than a server stores one by one."""

    async def main() -> None:
        async with scene(streams=StreamSettings(buffer=5000)) as on:
            on.store.apply([_listened(i) for i in range(1500)])
            on.store.apply([_registered(i) for i in range(1500)])
            on.store.apply([_resolved(i) for i in range(1500)])
            await on.quiet()
            for i in (0, 777, 1499):
                stream = await on.open(f"crowd/c{i}")
                await on.until(lambda stream=stream: bool(stream.ids))  # type: ignore[misc]
                assert stream.ids == [f"p{i}"]

    play(main())


def _request(kind: str, data: Any) -> Any:
    return {"kind": kind, "head": {"corrId": "c", "version": "2026-04-01"}, "data": data}


def _listened(i: int) -> Any:
    return _request("promise.create", {"id": f"p{i}", "timeoutAt": 10**15, "tags": {"resonate:external": "true"}})


def _registered(i: int) -> Any:
    return _request("promise.register_listener", {"awaited": f"p{i}", "address": f"poll://uni@crowd/c{i}"})


def _resolved(i: int) -> Any:
    return _request("promise.settle", {"id": f"p{i}", "state": "resolved"})


def test_the_parked_of_many_groups_are_found_again(play: Play) -> None:
    """The messages are for more groups than the server stores; those for one of them are still found."""

    async def main() -> None:
        async with scene() as on:
            for i in range(1200):
                on.unblock(f"m{i:04}", f"poll://uni@g{i:04}/w1")
            await on.quiet()
            for i in (0, 999, 1000, 1199, 1):
                stream = await on.open(f"g{i:04}/w1")
                await on.until(lambda stream=stream, i=i: stream.ids == [f"m{i:04}"])
            await on.pass_time(1)
            await on.until(lambda: len(on.waiting()) == 1195)

    play(main())


def test_an_execute_of_a_task_that_was_acquired_is_not_delivered(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            for id in ("acquired", "halted", "settled", "replaced", "wanted"):
                on.execute(id, "poll://uni@workers/w1")
            on.store.tasks.acquire("acquired", 0, pid="w", ttl=10**9)
            on.store.tasks.halt("halted")
            on.store.promises.resolve("settled")
            claim = on.store.tasks.acquire("replaced", 0, pid="w", ttl=10**9)
            on.store.tasks.release("replaced", claim.task.version)
            await on.quiet()
            stream = await on.open("workers/w1")
            await on.quiet()
            assert [(message["data"]["task"]["id"], message["data"]["task"]["version"]) for message in stream.messages] in (
                [("wanted", 0), ("replaced", 1)],
                [("replaced", 1), ("wanted", 0)],
            )
            await on.until(lambda: on.waiting() == [])  # a thread takes them out

    play(main())


def test_an_execute_that_nobody_acquired_comes_again_and_is_taken_out_each_time(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            stream = await on.open("workers/w1")
            on.execute("t")
            await on.quiet()
            for _ in range(3):
                await on.until(lambda: on.waiting() == [])  # a thread takes them out
                on.store.clock.advance(5000)
                await on.quiet()
            assert stream.ids == ["t"] * 4

    play(main())


def test_a_prefix_gets_messages_about_its_own_ids_alone(play: Play) -> None:
    """Messages about other ids wait for a stream that may receive them, whatever their address is."""

    def bearer(**claims: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {token(claims)}"}

    async def main() -> None:
        # The markers' stream is an administrator's.
        async with scene_with_tokens() as on:
            narrow = await on.open("workers/w1", bearer(prefix="tenant1."))
            for id in ("tenant1.a", "tenant2.a", "tenant1", "tenant1.b"):
                on.execute(id, "poll://any@workers/w1")
                on.unblock(f"{id}u", "poll://uni@workers/w1")
            await on.pass_time(6)
            assert narrow.ids == ["tenant1.a", "tenant1.au", "tenant1.b", "tenant1.bu"]
            await on.until(lambda: on.waiting() == ["tenant2.a", "tenant2.au", "tenant1", "tenant1u"])
            wide = await on.open("workers/w2", bearer(role="admin"))
            await on.quiet()
            assert wide.ids == ["tenant2.a", "tenant1"]
            older = await on.open("workers/w1", bearer(prefix="tenant2."))
            await on.quiet()
            assert older.ids == ["tenant2.au"] and narrow.ids[4:] == []

    def scene_with_tokens() -> Any:
        return scene(auth=AuthSettings(secret=SECRET), markers=bearer(role="admin"))

    play(main())


def test_streams_beyond_the_limit_are_sent_away(play: Play) -> None:
    async def main() -> None:
        async with scene(limits=LimitSettings(streams=4)) as on:
            first, *_ = [await on.open(f"workers/w{i}") for i in range(3)]
            one_too_many = await on.open("workers/w4")
            assert one_too_many.start is not None and one_too_many.start["status"] == 503
            assert dict(one_too_many.start["headers"])[b"retry-after"] == b"1"
            assert dict(one_too_many.start["headers"])[b"content-type"] == b"application/json"
            await first.leave()
            again = await on.open("workers/w4")
            assert again.start is not None and again.start["status"] == 200

    play(main())


def test_a_hundred_streams_that_come_and_go_lose_and_double_nothing(play: Play) -> None:
    """Every unblock arrives, and a confirmed one arrives once."""

    async def main() -> None:
        async with scene() as on:
            seen: list[str] = []
            for turn in range(25):
                streams = [await on.open(f"workers/w{i}") for i in range(4)]
                for i in range(8):
                    on.unblock(f"u{turn}.{i}", f"poll://{'uni' if i % 2 else 'any'}@workers/w{i % 4}")
                if turn % 3:
                    await on.pass_time(0.3)
                for stream in streams:
                    await stream.leave()
                    seen += stream.ids
            last = [await on.open(f"workers/w{i}") for i in range(4)]
            await on.pass_time(6)
            seen += itertools.chain(*(stream.ids for stream in last))
            expected = {f"u{turn}.{i}" for turn in range(25) for i in range(8)}
            assert set(seen) == expected
            await on.until(lambda: on.waiting() == [])
            confirmed = [id for id in seen if int(id[1:].split(".")[0]) % 3]
            assert len(confirmed) == len(set(confirmed))

    play(main())
