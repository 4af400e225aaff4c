"""The receivers of messages, and undelivered messages."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

import resonate_core as rc
from programs import add, manual_store, play, worker
from resonate_core.connection import Connection
from resonate_core.connection.delivery import parse


async def listening(store: rc.Store, group: str, pid: str) -> tuple[Connection, list[str]]:
    """Returns a connection without the SDK's client, and the list of messages that it receives, as kind and id."""
    connection, received = Connection(store, group=group, pid=pid), []

    def take(text: str) -> None:
        message = json.loads(text)
        part = message["data"].get("task") or message["data"]["promise"]
        received.append(f"{message['kind']} {part['id']}")

    connection.recv(take)
    await connection.start()
    return connection, received


def create(store: rc.Store, id: str, target: str) -> None:
    store.promises.create(id, 10**9, tags={"resonate:target": target})


def test_a_group_shares_its_work_in_turn():
    async def main():
        store = manual_store()
        (a, to_a), (_, to_b) = await listening(store, "g", "a"), await listening(store, "g", "b")
        for n in range(4):
            create(store, f"p{n}", "poll://any@g")
        await a.settle()
        assert to_a == ["execute p0", "execute p2"]
        assert to_b == ["execute p1", "execute p3"]

    play(main())


def test_addresses_that_name_a_worker():
    async def main():
        store = manual_store()
        (a, to_a), (_, to_b) = await listening(store, "g", "a"), await listening(store, "g", "b")
        create(store, "only-b", "poll://uni@g/b")
        create(store, "rather-b", "poll://any@g/b")
        create(store, "rather-c", "poll://any@g/c")
        create(store, "only-c", "poll://uni@g/c")
        await a.settle()
        assert to_a == ["execute rather-c"]
        assert to_b == ["execute only-b", "execute rather-b"]
        assert [message.address for message in store.messages()] == ["poll://uni@g/c"]

    play(main())


def test_messages_for_others_stay_in_the_outbox():
    async def main():
        store = manual_store()
        a, to_a = await listening(store, "g", "a")
        others = ["poll://any@g2", "https://example.org/worker", "poll://any@G", "poll://any@gg/a"]
        for n, address in enumerate(others):
            create(store, f"p{n}", address)
        await a.settle()
        assert to_a == []
        assert [message.address for message in store.messages()] == others
        _, late = await listening(store, "g2", "x")
        await a.settle()
        assert late == ["execute p0"]

    play(main())


def test_an_unblock_whose_handler_raised_is_handed_out_again():
    async def main():
        store = manual_store()
        connection, calls, errors = Connection(store, group="g", pid="a"), [], []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))

        def take(text: str) -> None:
            calls.append(store.now)
            if len(calls) == 1:
                raise RuntimeError("not now")

        connection.recv(take)
        await connection.start()
        create(store, "p", "poll://any@elsewhere")
        reply = await connection.send(
            json.dumps(
                {
                    "kind": "promise.register_listener",
                    "head": {"corrId": "1", "version": "2026-04-01"},
                    "data": {"awaited": "p", "address": connection.unicast()},
                }
            )
        )
        assert json.loads(reply)["head"]["status"] == 200
        store.promises.resolve("p")
        await connection.settle()
        assert calls == [0]
        assert "not now" in str(errors[0]["exception"])
        await connection.advance(5000)
        assert calls == [0, 1000]
        assert len(errors) == 1

    play(main())


def test_an_older_dialect_is_understood():
    async def main():
        store = manual_store()
        connection, resonate = worker(store, add)
        await connection.settle()
        param = json.dumps({"func": "add", "args": [1, 2], "kwargs": {}, "version": 1})
        import base64

        reply = store.apply(
            {
                "kind": "promise.create",
                "head": {"corrId": "1", "version": "2025-01-15"},
                "data": {
                    "id": "old",
                    "timeoutAt": 10**9,
                    "param": {"headers": {}, "data": base64.b64encode(param.encode()).decode()},
                    "tags": {"resonate:invoke": "poll://any@default"},
                },
            }
        )
        assert reply["head"]["status"] == 200
        assert await connection.run_until(await resonate.get("old")) == 3
        await resonate.stop()

    play(main())


def test_nothing_is_delivered_while_debugging_pauses_the_store():
    def debug(kind: str) -> dict:
        return {"kind": f"debug.{kind}", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {}}

    async def main():
        store = manual_store()
        a, to_a = await listening(store, "g", "a")
        assert store.apply(debug("start"))["head"]["status"] == 200
        create(store, "p", "poll://any@g")
        await a.settle()
        assert to_a == []
        assert store.apply(debug("stop"))["head"]["status"] == 200
        await a.settle()
        assert to_a == ["execute p"]

    play(main())


def test_after_the_last_worker_stopped_nothing_is_taken():
    async def main():
        store = manual_store()
        a, to_a = await listening(store, "g", "a")
        await a.stop()
        create(store, "p", "poll://any@g")
        await a.settle()
        assert to_a == []
        assert len(store.messages()) == 1
        assert len(asyncio.all_tasks()) == 1

    play(main())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("poll://any@g", (True, "g", None)),
        ("poll://any@g/", (True, "g", None)),
        ("poll://uni@my group/a/b", (False, "my group", "a/b")),
    ],
)
def test_addresses(text, parts):
    assert tuple(parse(text)) == parts


@pytest.mark.parametrize("text", ["", "poll://g", "poll://both@g", "http://any@g", "poll://any@"])
def test_other_addresses_are_not_ours(text):
    with pytest.raises(ValueError, match="poll"):
        parse(text)


def test_the_log_of_the_sdk_stays_empty(caplog):
    """Two workers, hundreds of messages: no stale execute, no failed request, no warning."""
    caplog.set_level(logging.WARNING)

    async def main():
        from programs import fibonacci

        store = manual_store()
        first, client1 = worker(store, fibonacci, pid="first")
        _, client2 = worker(store, fibonacci, pid="second")
        assert await first.run_until(client1.run("fib", fibonacci, 8)) == 21
        await client1.stop()
        await client2.stop()

    play(main())
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
