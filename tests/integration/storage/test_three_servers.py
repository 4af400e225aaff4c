"""Three servers on one database, and 24 clients that use the same few ids.

RESONATE_SERVERS_SEEDS sets the number of rounds, RESONATE_SERVERS_SEED the seed of the first one, and RESONATE_SERVERS_REQUESTS how many
requests each client makes in a round.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import libpq
import resonate_core as rc
from integration.clients.server_process import ServerProcess
from integration.storage.process import request
from postgres_urls import plain, schema_of
from resonate_core.conformance.compare import plain_reply
from resonate_core.conformance.linearizable import Asked, explanation

SERVERS, CLIENTS = 3, 24
REQUESTS = int(os.environ.get("RESONATE_SERVERS_REQUESTS", "150"))
SEEDS = int(os.environ.get("RESONATE_SERVERS_SEEDS", "40"))


class Client(threading.Thread):
    """Sends random requests to one server on one connection, and keeps them with their answers and the instants of both.

    Args:
        name: The name of the client, which is in its requests.
        port: The port of its server.
        seed: The seed of its random requests.
        prefix: The beginning of all ids in its requests.
        shares: Whether to send only requests that run beside those of other servers.
    """

    def __init__(self, name: str, port: int, seed: int, prefix: str, shares: bool) -> None:
        super().__init__(name=name)
        self.port = port
        self.chance = random.Random(seed)
        self.prefix = prefix
        self.shares = shares
        self.history: list[Asked] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        for number in range(REQUESTS):
            asked = request(self.chance, self.name, number)
            while self.shares and (asked["kind"].startswith("task.") or asked["data"].get("tags")):
                asked = request(self.chance, self.name, number)
            asked = with_prefix(asked, self.prefix)
            body = json.dumps(asked)
            begin = time.monotonic_ns()
            connection.request("POST", "/", body, {"content-type": "application/json"})
            seen = json.loads(connection.getresponse().read())
            self.history.append(Asked(begin, time.monotonic_ns(), asked, seen))
        connection.close()


def with_prefix(asked: dict[str, Any], prefix: str) -> dict[str, Any]:
    asked["data"]["id"] = prefix + asked["data"]["id"]
    if "action" in asked["data"]:
        asked["data"]["action"]["data"]["id"] = asked["data"]["id"]
    return asked


def without_instants(reply: Any) -> Any:
    """Returns an answer in which each instant that the server chose is 0."""
    reply = plain_reply(reply)
    promise = reply["data"].get("promise") if isinstance(reply["data"], dict) else None
    for name in ("createdAt", "settledAt"):
        if promise and promise.get(name) is not None:
            promise[name] = 0
    return reply


def recount(store: rc.Store) -> dict[str, Any]:
    """Returns the numbers of `Store.counts`, counted from the results of searches."""

    def all_of(search: Any) -> list[Any]:
        page = search(limit=1000)
        found = list(page)
        while page.cursor is not None:
            page = search(limit=1000, cursor=page.cursor)
            found += page
        return found

    return {
        "promises": dict(Counter(promise.state for promise in all_of(store.promises.search))),
        "tasks": dict(Counter(task.state for task in all_of(store.tasks.search))),
        "messages": len(store.messages()),
    }


def round_of(seed: int, servers: list[ServerProcess], shares: bool) -> tuple[int, int, list[str]]:
    """Runs the clients; returns the numbers of requests and ids, and the ids whose histories have no explanation."""
    prefix = f"s{seed}."
    clients = [Client(f"c{n}", servers[n % SERVERS].port, 1000 * seed + n, prefix, shares) for n in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    histories = [client.history for client in clients]
    assert [len(history) for history in histories] == [REQUESTS] * CLIENTS, "a client ended early"
    ids = sorted({one[2]["data"]["id"] for history in histories for one in history})
    return CLIENTS * REQUESTS, len(ids), [id for id in ids if explanation(histories, id, without_instants) is None]


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("writers", ["auto", "shared"])
def test_a_sequential_run_explains_what_clients_of_three_servers_were_told(postgres_url: str, tmp_path: Path, writers: str) -> None:
    seed = int(os.environ.get("RESONATE_SERVERS_SEED", secrets.randbelow(10**6)))
    servers = [ServerProcess(tmp_path / f"server{n}.log", f"{postgres_url}&writers={writers}") for n in range(SERVERS)]
    try:
        for server in servers:
            server.start()
        for one in range(seed, seed + SEEDS):
            begin = time.monotonic()
            requests, ids, unexplained = round_of(one, servers, writers == "shared")
            print(f"seed {one}: {requests} requests, {ids} ids, {len(unexplained)} unexplained, {time.monotonic() - begin:.1f} s")
            assert unexplained == [], f"seed {one}"
    finally:
        for server in servers:
            server.stop()
    with rc.Store(postgres_url) as store:
        counts = store.counts()
        print(counts)
        assert counts == recount(store) | {"schedules": 0}
        assert store.check() == []
    with libpq.Connection(plain(postgres_url)) as server:
        shared = int(str(server.execute(f"SELECT last_value FROM {schema_of(postgres_url)}.shared_commits")[0][0]))
        print(f"{shared} commits beside others")
        assert shared >= SEEDS or writers == "auto"
