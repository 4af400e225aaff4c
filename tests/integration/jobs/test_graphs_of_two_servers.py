"""Two servers on one database, whose processes are killed while graphs and families of jobs run on both.

Each node and each job of a family completes once, after what it waits for, and none is left behind. RESONATE_KILL_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import resonate_core as rc
import tiers
from integration.clients.server_process import ServerProcess
from integration.jobs import family_process

ROUNDS = 5 if tiers.runs(tiers.FULL) else 3
NODES, FAMILIES = 12, 4
QUEUES = ("graphs", "families")
POLICY = {"kind": "fixed", "intervals": [0]}


class Scene:
    """The servers, and two workers of graphs and of families at each.

    Args:
        place: The URL of the store.
        folder: Where the servers write their logs.
        chance: Chooses who is killed.
    """

    def __init__(self, place: str, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.servers = [ServerProcess(folder / f"server{n}.log", place) for n in range(2)]
        here, there = (server.url for server in self.servers)
        self.commands = [
            ["graph_process.py", here],
            ["graph_process.py", there],
            ["family_process.py", here, there],
            ["family_process.py", there, here],
        ]
        self.workers: list[subprocess.Popen[bytes]] = []
        self.kills: Counter[str] = Counter()

    def start(self) -> None:
        for server in self.servers:
            server.start()
        self.workers = [self._worker(number) for number in range(len(self.commands))]

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        script, *urls = self.commands[number]
        return subprocess.Popen([sys.executable, str(Path(__file__).with_name(script)), *urls])

    def kill_a_server(self) -> None:
        """Kills a server at any point of its work, and starts it again."""
        server = self.chance.choice(self.servers)
        server.kill()
        self.kills["server"] += 1
        server.start()

    def kill_a_worker(self) -> None:
        number = self.chance.randrange(len(self.workers))
        self.workers[number].send_signal(signal.SIGKILL)
        self.workers[number].wait(60)
        self.kills[self.commands[number][0]] += 1
        self.workers[number] = self._worker(number)

    def all_run(self) -> None:
        ended = [worker.args for worker in self.workers if worker.poll() is not None]
        assert not ended, f"a worker ended by itself: {ended}"

    def end(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait(60)
        for server in self.servers:
            server.stop()


def while_one_is_killed(kill: Callable[[], None], delay: float, work: Callable[[], None]) -> None:
    """Does some work while a process is killed and started again, after a delay in seconds."""
    errors: list[BaseException] = []

    def later() -> None:
        time.sleep(delay)
        try:
            kill()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=later)
    thread.start()
    try:
        work()
    finally:
        thread.join()
    if errors:
        raise errors[0]


def enqueue_parent(client: rc.Client | rc.Store, id: str, number: int) -> None:
    client.jobs.enqueue("parent", number, id=id, queue="families", lifecycle="workflow", retry_policy=POLICY)


def enqueue(client: rc.Client, number: int, chance: random.Random, depth: dict[str, int]) -> None:
    """Enqueues a graph, some of whose nodes wait for nodes of the graph before, and some families."""
    graph = client.jobs.graph(f"g{number}")
    for node in range(NODES):
        after = sorted({f"n{chance.randrange(node)}" for _ in range(chance.randrange(3))} if node else ())
        if number and chance.random() < 0.2:
            after.append(f"g{number - 1}:n{chance.randrange(NODES)}")
        id = graph.add(f"n{node}", "node", after=after, queue="graphs", max_retries=10_000, retry_policy=POLICY)
        depth[id] = 1 + max((depth[one if ":" in one else graph.id_of(one)] for one in after), default=0)
    graph.enqueue()
    for member in range(FAMILIES):
        enqueue_parent(client, f"f{number}-{member}", 10 * number + member)


def left(store: rc.Store) -> dict[str, int]:
    """How many jobs have not completed, by state."""
    counts: Counter[str] = Counter()
    for queue in QUEUES:
        for stats in store.queues.stats(queue):
            counts.update({state: n for state, n in stats["counts"].items() if n and state != "completed"})
    return dict(counts)


def judge_completed_once(jobs: dict[str, rc.Job]) -> int:
    """Returns how many attempts crashed."""
    crashed = 0
    for job in jobs.values():
        outcomes = [attempt["outcome"] for attempt in job.attempts]
        crashed += outcomes.count("crashed")
        assert job.state == "completed" and outcomes.count("completed") == 1 and outcomes[-1] == "completed", (job.id, outcomes)
    return crashed


def judge_family(store: rc.Store, job: rc.Job, number: int) -> None:
    """One child, one message and one record: what the first attempt recorded is what the last one returned."""
    id = job.id
    first, child, mail = (store.promises.get(f"{id}:{name}") for name in ("first", "child", "mail"))
    assert {one.id for one in store.jobs.history(id)} == {first.id, child.id, mail.id}
    [message] = store.promises.search(f"{id}:@*")
    assert (message.id, message.value.json(), mail.value.json()) == (f"{id}:@done:from-child", number, number)
    assert job.result is not None and job.result.json() == [first.value.json(), number, number]
    assert first.value.json() <= job.version
    settled_at = max(child.settled_at or 0, mail.settled_at or 0)
    # An attempt that was not suspended may find its child completed, and takes a message that is there already.
    resumed = [attempt for before, attempt in pairwise(job.attempts) if before["outcome"] == "suspended"]
    assert all(attempt["startedAt"] >= settled_at for attempt in resumed), id
    assert (job.completed_at or 0) >= settled_at, id
    assert child.tags["resonate:parent"] == mail.tags["resonate:parent"] == id


def run_family(clock: rc.ManualClock, store: rc.Store) -> None:
    """Runs each job of a family whenever it can be claimed, one second after the other."""
    for _ in range(10):
        clock.advance(1000)
        for job in store.jobs.claim("families", worker="w", lease=1000):
            clock.advance(1)
            if job.type == "parent":
                family_process.parent(store, job)
            else:
                family_process.child(store, store, job)


@pytest.mark.parametrize(
    ("lost_after", "outcomes"),
    [
        ("first", ["crashed", "suspended", "completed"]),
        ("child", ["crashed", "completed"]),
        (None, ["suspended", "completed"]),
    ],
)
def test_a_parent_may_take_a_message_that_came_before_its_attempt(lost_after: str | None, outcomes: list[str]) -> None:
    """A parent that is lost once its child runs takes the message without being suspended: after its attempt began."""
    clock = rc.ManualClock()
    with rc.Store(clock=clock) as store:
        enqueue_parent(store, "f", 7)
        if lost_after:
            [job] = store.jobs.claim("families", worker="w", lease=1000)
            store.jobs.record("f", job.version, [{"id": "f:first", "state": "resolved", "value": job.version}])
            if lost_after == "child":
                store.jobs.enqueue("child", 7, id="f:child", queue="families", lifecycle="workflow", parent=job)
        run_family(clock, store)
        family = store.jobs.get("f")
        assert [attempt["outcome"] for attempt in family.attempts] == outcomes
        judge_family(store, family, 7)


def test_the_judge_of_families_refuses_an_attempt_that_began_too_early() -> None:
    clock = rc.ManualClock()
    with rc.Store(clock=clock) as store:
        enqueue_parent(store, "f", 7)
        run_family(clock, store)
        family = store.jobs.get("f")
        settled_at = store.promises.get("f:child").settled_at or 0
        first, last = family.attempts
        early: Any = SimpleNamespace(
            id=family.id,
            version=family.version,
            result=family.result,
            completed_at=family.completed_at,
            attempts=[first, last | {"startedAt": settled_at - 1}],
        )
        with pytest.raises(AssertionError, match="f"):
            judge_family(store, early, 7)
        early.attempts = family.attempts
        judge_family(store, early, 7)


@pytest.mark.all
def test_graphs_and_families_outlive_the_servers_and_the_workers_of_both(postgres_url: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("RESONATE_KILL_SEED") or random.SystemRandom().randrange(10**6))
    print(f"seed {seed}")
    chance = random.Random(seed)
    depth: dict[str, int] = {}
    scene = Scene(postgres_url, tmp_path, random.Random(chance.random()))
    try:
        scene.start()
        clients = [rc.connect(server.url, retry_for=120) for server in scene.servers]
        for number in range(ROUNDS):
            kill, delay = scene.kill_a_server, chance.uniform(0, 0.3)
            while_one_is_killed(kill, delay, lambda n=number: enqueue(clients[n % 2], n, chance, depth))  # type: ignore[misc]
            scene.all_run()
            scene.kill_a_worker()
        for client in clients:
            client.close()
        with rc.Store(postgres_url) as store:
            end = time.monotonic() + 240
            while remaining := left(store):
                assert time.monotonic() < end, remaining
                scene.all_run()
                time.sleep(0.05)
            found = [store.jobs.search(queue=queue, limit=1000) for queue in QUEUES]
            jobs = {job.id: job for page in found for job in page}
            crashed = judge_completed_once(jobs)
            assert {id: jobs[id].result.json() for id in depth} == depth  # type: ignore[union-attr]
            for id in depth:
                ends = [jobs[one].completed_at or 0 for one in jobs[id].after]
                assert all(attempt["startedAt"] >= max(ends, default=0) for attempt in jobs[id].attempts), id
            for number in range(ROUNDS):
                for member in range(FAMILIES):
                    judge_family(store, jobs[f"f{number}-{member}"], 10 * number + member)
            suspended = sum(attempt["outcome"] == "suspended" for job in jobs.values() for attempt in job.attempts)
            assert len(jobs) == ROUNDS * (NODES + 2 * FAMILIES)
            assert store.check() == []
    finally:
        scene.end()
    print(f"jobs {len(jobs)}, kills {dict(scene.kills)}, crashed attempts {crashed}, suspended attempts {suspended}")
    assert scene.kills["server"] == ROUNDS and suspended
