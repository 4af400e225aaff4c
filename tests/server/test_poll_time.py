"""Poll streams over time: comments, lifetimes, grace, acknowledgement, and readers that disconnect or do not read."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import DeliverySettings, StreamSettings
from resonate_core.server import driver
from server.poll_scene import run, scene

Play = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    return lambda main: run(main, monkeypatch)


def test_a_comment_comes_at_once_and_after_each_silence(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(keepalive=15)) as on:
            stream = await on.open()
            assert stream.start is not None and stream.start["status"] == 200
            assert stream.comments == 1
            await on.pass_time(14)
            assert stream.comments == 1
            await on.pass_time(2)
            assert stream.comments == 2
            await on.pass_time(60)
            assert stream.comments == 6
            on.execute("t")
            await on.pass_time(14)
            assert stream.comments in (6, 7) and stream.ids == ["t"]
            assert set(stream.chunks) - {b":\n\n"} == {chunk for chunk in stream.chunks if chunk.startswith(b"data: ")}

    play(main())


def test_a_stream_ends_cleanly_when_its_time_is_over(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(lifetime=240, keepalive=15)) as on:
            stream = await on.open()
            on.unblock("a")
            await on.pass_time(239)
            assert not stream.ended
            await on.pass_time(2)
            await on.until(stream.task.done)
            assert stream.ended and stream.chunks[-1] == b"" and stream.ids == ["a"]
            on.unblock("b")
            await on.pass_time(1)
            assert on.waiting() == ["b"]
            again = await on.open()
            await on.pass_time(1)
            assert again.ids == ["b"]
            await on.until(lambda: on.waiting() == [])

    play(main())


def test_what_waits_when_the_time_is_over_is_still_written(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(lifetime=240)) as on:
            stream = await on.open()
            stream.read.clear()
            for i in range(20):
                on.unblock(f"u{i:02}")
            await on.pass_time(239)
            assert stream.ids == []
            stream.read.set()
            await on.pass_time(2)
            assert stream.ids == [f"u{i:02}" for i in range(20)] and stream.ended
            await on.pass_time(1)
            await on.until(lambda: on.waiting() == [])  # a thread takes them out

    play(main())


def test_a_preferred_id_that_left_is_waited_for_and_no_longer_than_the_grace(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(grace=5)) as on:
            other = await on.open("workers/w2")
            await (await on.open("workers/me")).leave()
            on.execute("comes back", "poll://any@workers/me")
            on.execute("anybody's", "poll://any@workers")
            await on.pass_time(4)
            assert other.ids == ["anybody's"]
            back = await on.open("workers/me")
            await on.quiet()
            assert back.ids == ["comes back"] and other.ids == ["anybody's"]
            await on.pass_time(1)
            await back.leave()
            on.execute("stays away", "poll://any@workers/me")
            await on.pass_time(4)
            assert other.ids == ["anybody's"]
            await on.pass_time(2)
            assert other.ids == ["anybody's", "stays away"]

    play(main())


def test_the_grace_is_for_that_id_alone(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(grace=5)) as on:
            await (await on.open("workers/me")).leave()
            other = await on.open("workers/w2")
            on.execute("t", "poll://any@workers/me2")
            on.execute("u", "poll://any@elsewhere/me")
            await on.quiet()
            assert other.ids == ["t"] and on.waiting() == ["u"]

    play(main())


def test_an_unblock_is_taken_out_once_its_stream_was_open_a_moment_later(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(acknowledge_after=0.25)) as on:
            stream = await on.open()
            on.unblock("a")
            await on.quiet()
            assert stream.ids == ["a"] and on.waiting() == ["a"]
            asyncio.get_running_loop().seconds += 0.24  # type: ignore[attr-defined]
            await on.quiet()
            assert on.waiting() == ["a"]
            asyncio.get_running_loop().seconds += 0.02  # type: ignore[attr-defined]
            await on.quiet()
            await on.until(lambda: on.waiting() == [])
            assert stream.ids == ["a"]

    play(main())


def test_each_event_has_its_own_moment(play: Play) -> None:
    """An event that was written just before another one was confirmed is not confirmed with it."""

    async def main() -> None:
        async with scene(streams=StreamSettings(acknowledge_after=0.25)) as on:
            stream = await on.open()
            on.unblock("a")
            await on.quiet()
            asyncio.get_running_loop().seconds += 0.249  # type: ignore[attr-defined]
            on.unblock("b")
            await on.quiet()
            asyncio.get_running_loop().seconds += 0.002  # type: ignore[attr-defined]
            await on.until(lambda: on.waiting() == ["b"])
            await stream.leave()
            await on.quiet()
            assert on.waiting() == ["b"]
            again = await on.open()
            await on.pass_time(1)
            assert again.ids == ["b"]
            await on.until(lambda: on.waiting() == [])

    play(main())


@pytest.mark.parametrize("to", ["poll://uni@workers/w1", "poll://any@workers/w1", "poll://any@workers"])
def test_a_vanished_reader_s_unconfirmed_messages_go_to_the_next_stream(play: Play, to: str) -> None:
    async def main() -> None:
        async with scene() as on:
            stream = await on.open()
            on.unblock("confirmed", to)
            await on.pass_time(1)
            for i in range(5):
                on.unblock(f"u{i}", to)
            on.execute("e", to)
            await on.quiet()
            await stream.leave()
            assert stream.ids[1:] == ["u0", "u1", "u2", "u3", "u4", "e"]
            again = await on.open()
            await on.pass_time(1)
            assert sorted(again.ids) == [
                "e",
                "u0",
                "u1",
                "u2",
                "u3",
                "u4",
            ]  # an execute is kept for a while, though it left the store
            await on.until(lambda: on.waiting() == [])

    play(main())


def test_an_execute_that_a_reader_took_along_is_not_sent_again_once_its_task_has_another_version(play: Play) -> None:
    """The reader had begun: the task was acquired and released meanwhile, and has an execute of its new version."""

    async def main() -> None:
        async with scene() as on:
            stream = await on.open()
            on.execute("e")
            await on.quiet()
            assert stream.ids == ["e"]
            claim = on.store.tasks.acquire("e", 0, pid="w", ttl=10**9)
            on.store.tasks.release("e", claim.task.version)
            await stream.leave()
            again = await on.open()
            await on.pass_time(1)
            assert [message["data"]["task"]["version"] for message in again.messages] == [1]

    play(main())


@pytest.mark.parametrize("end", ["left", "lifetime"])
def test_a_message_that_is_being_taken_while_its_stream_ends_goes_to_the_next(
    play: Play, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """A place in a stream is reserved and a thread takes the message out of the store; then the stream ends."""

    async def main() -> None:
        taken, may_go_on = threading.Event(), threading.Event()
        store = Store(clock=ManualClock(1000))
        acknowledge = Store.acknowledge

        def slowly(self: Store, numbers: Any) -> Any:
            done = acknowledge(self, numbers)
            taken.set()
            assert may_go_on.wait(60)
            return done

        async with scene(store, streams=StreamSettings(lifetime=100, keepalive=3600)) as on:
            first = await on.open("workers/w1")
            await on.quiet()
            with monkeypatch.context() as meanwhile:
                meanwhile.setattr(Store, "acknowledge", slowly)
                on.execute("t")
                await on.until(taken.is_set)
            if end == "left":
                await first.leave()
            else:
                loop = asyncio.get_running_loop()
                loop.seconds += 101  # type: ignore[attr-defined]
                await on.until(first.task.done)
            second = await on.open("workers/w2")
            may_go_on.set()
            await on.until(lambda: second.ids == ["t"])
            assert first.ids == []

    play(main())


def test_an_execute_that_nobody_took_in_time_comes_again_by_its_timer(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(grace=5)) as on:
            stream = await on.open()
            on.execute("e", "poll://any@workers")
            await on.quiet()
            await stream.leave()
            await on.pass_time(6)
            again = await on.open()
            await on.pass_time(1)
            assert again.ids == []
            on.store.clock.advance(5000)
            await on.quiet()
            assert again.ids == ["e"]

    play(main())


def test_a_reader_that_does_not_read_stops_nobody_and_loses_nothing(play: Play) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(buffer=10, lifetime=1000)) as on:
            slow, fast = await on.open("workers/slow"), await on.open("workers/fast")
            slow.read.clear()
            for i in range(60):
                on.unblock(f"s{i:02}", "poll://uni@workers/slow")
                on.unblock(f"f{i:02}", "poll://uni@workers/fast")
                on.execute(f"e{i:02}", "poll://any@workers")
            await on.until(lambda: sum(id[0] == "f" for id in fast.ids) == 60)
            await on.until(lambda: sum(id[0] == "e" for id in fast.ids) >= 50)  # the fast stream gets what the slow one cannot take
            assert slow.ids == []
            slow.read.set()
            await on.until(lambda: sum(id[0] == "s" for id in slow.ids) == 60)
            await on.until(lambda: sum(id[0] == "e" for id in slow.ids + fast.ids) == 60)
            assert {id for id in fast.ids if id[0] == "f"} == {f"f{i:02}" for i in range(60)}
            assert {id for id in slow.ids if id[0] == "s"} == {f"s{i:02}" for i in range(60)}
            assert {id for id in slow.ids + fast.ids if id[0] == "e"} == {f"e{i:02}" for i in range(60)}
            await on.pass_time(1)
            await on.until(lambda: on.waiting() == [])  # a thread takes them out

    play(main())


def test_a_reader_that_never_reads_loses_its_messages_to_its_next_stream(play: Play) -> None:
    """A peer that stops answering without closing: its connection stays open for hours, its stream does not."""

    async def main() -> None:
        async with scene(streams=StreamSettings(lifetime=240, buffer=10)) as on:
            dead = await on.open("workers/w1")
            dead.read.clear()
            for i in range(5):
                on.unblock(f"u{i}")
            await on.pass_time(239)
            again = await on.open("workers/w1")
            await on.pass_time(30, step=1)
            await on.until(lambda: again.ids == [f"u{i}" for i in range(5)])
            await on.pass_time(1)
            await on.until(lambda: on.waiting() == [])
            assert dead.ids == []

    play(main())


def test_streams_end_when_the_server_is_about_to_stop_and_what_waits_is_written(play: Play) -> None:
    async def main() -> None:
        async with scene() as on:
            streams = [await on.open(f"workers/w{i}") for i in range(3)]
            on.unblock("a", "poll://uni@workers/w0")
            await on.quiet()
            on.app.end_streams()
            await on.until(lambda: all(stream.ended for stream in streams))
            assert streams[0].ids == ["a"]
            late = await on.open("workers/w9")
            assert late.start is not None and late.start["status"] == 503

    play(main())


def test_a_store_that_is_busy_when_a_stream_opens_delivers_to_it_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is due cannot be written; the other work of that tick is done later."""
    monkeypatch.setattr(driver, "_PAUSE", 0.01)

    async def main() -> None:
        with Store(tmp_path / "a.db", busy_timeout=1) as store:
            async with scene(store, delivery=DeliverySettings(foreign_interval_ms=60_000)) as on:
                on.unblock("a")
                await on.quiet()
                with contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
                    store.promises.create("due", store.now + 30, tags={"resonate:external": "true"})
                    other.execute("BEGIN IMMEDIATE")
                    failures = on.app.metrics.tick_failures._value.get
                    await on.until(lambda: failures() > 0)
                    stream = await on.open()
                    seen = failures()
                    await on.until(lambda: failures() > seen + 1)
                    other.execute("ROLLBACK")
                await on.until(lambda: stream.ids == ["a"])

    asyncio.run(main())


class _ReadsSlowly:
    """A store whose reads of older messages wait until the test releases them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def messages(self, *arguments: Any, **keywords: Any) -> Any:
        page = self._store.messages(*arguments, **keywords)
        if "addresses" in keywords and page:
            self.read.set()
            self.go_on.wait(60)
        return page

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_what_was_acknowledged_while_older_messages_were_read_is_not_sent_again(play: Play) -> None:
    async def main() -> None:
        store = Store(clock=ManualClock(1000))
        async with scene(store, streams=StreamSettings(acknowledge_after=0.25)) as on:
            stream = await on.open()
            on.unblock("a")
            await on.quiet()
            assert stream.ids == ["a"]
            assert on.app._runtime is not None
            slow = on.app._runtime.driver._store = _ReadsSlowly(store)  # type: ignore[assignment]
            slow.go_on.clear()
            on.app._runtime.deliveries.read_again(["poll://uni@workers/w1"])
            await on.until(slow.read.is_set)
            asyncio.get_running_loop().seconds += 0.3  # type: ignore[attr-defined]
            await on.until(lambda: on.waiting() == [])  # "a" is acknowledged, and is in the page that was read
            for _ in range(10):
                await asyncio.sleep(0)
            slow.go_on.set()
            await on.quiet()
            assert stream.ids == ["a"]

    play(main())
