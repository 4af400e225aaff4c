"""Two servers on one database: one of them delivers, answers and runs what the other one stored."""

from __future__ import annotations

import http.client
import json

import pytest

import postgres_server
import resonate_core as rc
from server.live_server import serving

FAR = 10**15


def send(port: int, kind: str, **data: object) -> dict[str, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data})
    connection.request("POST", "/", body, {"content-type": "application/json"})
    answer: dict[str, object] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


@pytest.mark.timeout(120)
def test_the_worker_is_at_one_server_and_the_client_at_the_other(postgres_url: str) -> None:
    with rc.Store(postgres_url) as first, rc.Store(postgres_url) as second, serving(first) as here, serving(second) as there:
        stream = http.client.HTTPConnection("127.0.0.1", there.port, timeout=60)
        stream.request("GET", "/poll/workers/w1")
        events = stream.getresponse()
        for number in range(20):
            made = send(
                here.port,
                "promise.create",
                id=f"t{number}",
                timeoutAt=FAR,
                param={},
                tags={"resonate:target": "poll://any@workers"},
            )
            assert made["head"]["status"] == 200, made  # type: ignore[index]
            line = b""
            while not line.startswith(b"data: "):
                line = events.readline()
                assert line, "the stream ended"
            task = json.loads(line.removeprefix(b"data: "))["data"]["task"]
            assert task["id"] == f"t{number}"
            send(there.port, "task.acquire", id=task["id"], version=task["version"], pid="w1", ttl=60_000)
            settle = {"kind": "promise.settle", "head": {"corrId": "1", "version": "2026-04-01"}}
            settle["data"] = {"id": task["id"], "state": "resolved", "value": {"data": "IjEi"}}  # type: ignore[assignment]
            done = send(there.port, "task.fulfill", id=task["id"], version=task["version"] + 1, action=settle)
            assert done["head"]["status"] == 200, done  # type: ignore[index]
            assert first.promises.get(task["id"]).state == "resolved"
        stream.close()
        assert first.check() == []


def test_a_failure_does_not_say_that_nothing_was_done() -> None:
    """The connection may have been lost after the commit, so the error says that the request may have run."""
    with postgres_server.running() as database, rc.Store(database.url(schema="app")) as store, serving(store) as server:
        database.stop("immediate")
        answer = send(server.port, "promise.create", id="a", timeoutAt=FAR, param={}, tags={})
        assert answer["head"]["status"] == 500  # type: ignore[index]
        assert answer["data"] == "the store failed; the server's log says why, and whether anything was done"


@pytest.mark.timeout(120)
def test_both_tick_and_each_timeout_happens_once(postgres_url: str) -> None:
    with rc.Store(postgres_url) as first, rc.Store(postgres_url) as second, serving(first), serving(second):
        waiting = []  # a slow machine may register a listener too late
        for number in range(50):
            first.promises.create(f"p{number}", timeout=500, tags={"resonate:timer": "true"})
            if second.promises.register_listener(f"p{number}", "poll://uni@listeners/1").state == "pending":
                waiting.append(f"p{number}")
        while any(second.promises.get(f"p{number}").state == "pending" for number in range(50)) or second.next_due() is not None:
            pass
        unblocks = [message.id for message in first.messages() if message.kind == "unblock"]
        assert sorted(unblocks) == sorted(waiting)
        assert first.check() == []
