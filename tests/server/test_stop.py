"""A server that stops under load: every answered change is in the file, and no request is half done."""

from __future__ import annotations

import http.client
import json
import threading
from pathlib import Path

import pytest

from resonate_core import ManualClock, Store
from server.live_server import serving

FAR = 10**15


def create(connection: http.client.HTTPConnection, id: str) -> int:
    head = {"corrId": "c", "version": "2026-04-01"}
    action = {"kind": "promise.create", "head": head, "data": {"id": id, "timeoutAt": FAR, "tags": {"resonate:target": "x:y"}}}
    body = {"kind": "task.create", "head": head, "data": {"pid": "w", "ttl": 10**9, "action": action}}
    connection.request("POST", "/", json.dumps(body))
    response = connection.getresponse()
    response.read()
    return response.status


@pytest.mark.parametrize("turn", range(3))
def test_what_was_answered_before_a_stop_is_there(tmp_path: Path, turn: int) -> None:
    answered: list[str] = []
    statuses: set[int] = set()
    enough = threading.Event()

    def client(number: int, port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            for i in range(10_000):
                id = f"c{number}.{i}"
                statuses.add(create(connection, id))
                answered.append(id)
                if len(answered) > 300:
                    enough.set()
        except (OSError, http.client.HTTPException):
            pass  # it has stopped
        finally:
            connection.close()

    path = tmp_path / "a.db"
    with Store(path, clock=ManualClock(1000), durability="normal") as store:
        with serving(store) as live:
            clients = [threading.Thread(target=client, args=(i, live.port)) for i in range(8)]
            for one in clients:
                one.start()
            assert enough.wait(60)
        for one in clients:
            one.join(60)
            assert not one.is_alive()
    assert statuses == {200}
    with Store(path, clock=ManualClock(1000)) as store:
        rows = {row["id"]: row for row in store.snapshot()["promises"]}
        assert set(answered) <= set(rows)
        assert len(rows) - len(answered) <= len(clients), "at most the last of each was done and not heard of"
        assert all(row["task"]["state"] == "acquired" for row in rows.values())
        assert store.check() == []
