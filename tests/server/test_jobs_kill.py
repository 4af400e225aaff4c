"""kill -9 of the server under workers over HTTP: a job whose enqueue was answered runs, and a completed job stays completed."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

import resonate_core as rc
from homes import Home
from server.asking import envelope
from server.load_and_kill import Server

WORKERS, PRODUCERS = 8, 2
LEASE = 2_000
POLICY = {"kind": "fixed", "intervals": [0]}


class Peer:
    """Sends a request; returns None if no response came, so that the server may have run it or not."""

    def __init__(self, port: int) -> None:
        self._client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30)

    async def ask(self, kind: str, data: dict[str, Any]) -> tuple[int, Any] | None:
        try:
            answer = (await self._client.post("/", json=envelope(kind, data))).json()
        except httpx.TransportError:
            await asyncio.sleep(0.02)
            return None
        return answer["head"]["status"], answer["data"]

    async def close(self) -> None:
        await self._client.aclose()


async def produce(peer: Peer, name: str, stop: asyncio.Event, answered: list[str]) -> None:
    """Enqueues one job after the other, and repeats each request until it is answered; the id makes it the same job."""
    number = 0
    while not stop.is_set():
        job = {"id": f"{name}.{number}", "queue": "q", "type": "t", "maxRetries": 1000, "retryPolicy": POLICY}
        while (seen := await peer.ask("job.enqueue", job)) is None:
            pass
        assert seen[0] == 200, seen
        answered.append(job["id"])
        number += 1
        await asyncio.sleep(0.004)


async def work(peer: Peer, name: str, done: asyncio.Event, completed: Counter[str]) -> None:
    """Claims, starts and completes jobs; if a job was taken from it meanwhile, its request is refused, and it drops the job."""
    claim = {"queues": ["q"], "count": 2, "worker": name, "lease": LEASE}
    while not done.is_set():
        seen = await peer.ask("job.claim", claim)
        jobs = seen[1]["jobs"] if seen else []
        for job in jobs:
            held = {"id": job["id"], "version": job["version"]}
            started = await peer.ask("job.start", held)
            if started is None or started[0] != 200:
                continue
            ended = await peer.ask("job.complete", held)
            assert ended is None or ended[0] in (200, 409), ended
            if ended and ended[0] == 200:
                completed[job["id"]] += 1
        if not jobs:
            await asyncio.sleep(0.01)


async def finished(peer: Peer, count: int) -> bool:
    seen = await peer.ask("job.stats", {"queue": "q"})
    return seen is not None and seen[1]["queues"][0]["counts"]["completed"] == count


async def scene(server: Server, chance: random.Random, kills: int) -> tuple[list[str], Counter[str]]:
    answered: list[str] = []
    completed: Counter[str] = Counter()
    stop, done = asyncio.Event(), asyncio.Event()
    server.start()
    await server.ready()
    peers = [Peer(server.port) for _ in range(PRODUCERS + WORKERS + 1)]
    producers = [asyncio.create_task(produce(peers[n], f"p{n}", stop, answered)) for n in range(PRODUCERS)]
    workers = [asyncio.create_task(work(peers[PRODUCERS + n], f"w{n}", done, completed)) for n in range(WORKERS)]
    for kill in range(1, kills + 1):
        await asyncio.sleep(chance.uniform(0.5, 1.5))
        while len(answered) < 30 * kill:  # a slow machine takes longer
            await asyncio.sleep(0.05)
        await asyncio.to_thread(server.end, signal.SIGKILL)
        server.start()
        await server.ready()
    stop.set()
    await asyncio.gather(*producers)
    while not await finished(peers[-1], len(answered)):
        for task in workers:
            assert not task.done(), task
        await asyncio.sleep(0.05)
    done.set()
    await asyncio.gather(*workers)
    for peer in peers:
        await peer.close()
    assert await asyncio.to_thread(server.end, signal.SIGTERM) == 0
    return answered, completed


@pytest.mark.parametrize("kills", [2, pytest.param(4, marks=pytest.mark.full)])
def test_jobs_survive_kills_of_the_server(home: Home, tmp_path: Path, kills: int) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    place = home.new_place()
    server = Server(str(place), tmp_path / "log")
    try:
        answered, completed = asyncio.run(scene(server, random.Random(seed), kills))
    finally:
        if server.process is not None and server.process.poll() is None:
            server.end(signal.SIGKILL)
    assert len(answered) >= 30 * kills
    assert max(completed.values()) == 1, "a completion was answered twice"
    attempts = 0
    with rc.Store(place, read_only=True) as store:
        for id in answered:
            job = store.jobs.get(id)
            outcomes = [attempt["outcome"] for attempt in job.attempts]
            attempts += len(outcomes)
            assert job.state == "completed" and outcomes.count("completed") == 1 and outcomes[-1] == "completed", job
        assert len(store.jobs.search(limit=1000)) == min(1000, len(answered))
        assert store.check() == []
    assert not isinstance(place, Path) or rc.check_file(place) == []
    print(
        f"jobs {len(answered)}, attempts {attempts}, completions answered {len(completed)}, kills {kills}; lost 0, completed twice 0"
    )
