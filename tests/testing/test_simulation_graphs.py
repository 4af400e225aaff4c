"""Graphs of jobs in a simulated system: workers crash and replies are lost, and each node completes after what it waits for."""

from __future__ import annotations

import random

import pytest

import resonate_core as rc
from resonate_core.testing import ProcessStore, World, simulate
from resonate_core.worker import Dependencies, JobContext, Worker

NODES = 8


@pytest.mark.parametrize("seed", range(40))
def test_every_node_completes_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    waits = [sorted({chance.randrange(node) for _ in range(chance.randrange(3))} if node else ()) for node in range(NODES)]
    began: list[int] = []
    jobs: list[rc.Job] = []

    def make_worker(store: ProcessStore) -> Worker:
        worker = Worker(store)

        @worker.task("start", max_retries=1000)
        async def start(job: JobContext) -> list[str]:
            graph = worker.graph("g")
            for node in reversed(range(NODES)):
                graph.add(f"n{node}", body.node(node), after=[f"n{one}" for one in waits[node]])
            return [made.id for made in (await graph.enqueue_async()).values()]

        @worker.task("node", max_retries=1000)
        async def body(node: int, found: Dependencies[int] | None = None) -> int:
            began.append(node)
            return 1 + max(found.values(), default=0) if found else 1

        return worker

    async def scenario(world: World) -> None:
        world.worker("a", make_worker)
        world.worker("b", make_worker)
        world.faults(lose_reply=0.05, lose_request=0.05, crash=0.02)
        await world.call("start", "start")
        await world.settled("start", within="10 days")
        for node in range(NODES):
            await world.settled(f"g:n{node}", within="10 days")
        jobs.extend(world.store.jobs.get(f"g:n{node}") for node in range(NODES))

    simulate(scenario, seed=seed)
    depth: list[int] = []
    for after in waits:
        depth.append(1 + max((depth[one] for one in after), default=0))
    assert [job.result.json() for job in jobs] == depth
    for node, job in enumerate(jobs):
        assert [attempt["outcome"] for attempt in job.attempts].count("completed") == 1
        ends = [jobs[one].completed_at or 0 for one in waits[node]]
        assert all(attempt["startedAt"] >= max(ends, default=0) for attempt in job.attempts)
        assert all(began.index(one) < began.index(node) for one in waits[node])
