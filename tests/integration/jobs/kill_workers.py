"""Sixteen worker loops in four processes on one store; the processes are killed and started again at random.

    python tests/integration/jobs/kill_workers.py --seconds 120 --seed 7                 on a new SQLite file
    python tests/integration/jobs/kill_workers.py --store postgresql://127.0.0.1/test --faults    on an empty store that may fail

Prints the results of all jobs, from the store and from the lines that the workers write before and after each request. The exit
status is 1 if a job was lost, completed twice or held by two workers under one version, or if the store has broken invariants.
"""

from __future__ import annotations

import argparse
import functools
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import resonate_core as rc

T = TypeVar("T")

PROCESSES, THREADS = 4, 4
LEAST_KILLS = 4
"""A run has so many at least."""
ENDED = ("completed", "failed", "cancelled", "expired", "archived")


class Fleet:
    """The processes; each start has a new name."""

    def __init__(self, place: str, folder: Path, chance: random.Random, options: list[str]) -> None:
        self.place, self.folder, self.chance, self.options = place, folder, chance, options
        self.running: list[subprocess.Popen[bytes]] = []
        self.kills = 0
        self._started = 0

    def start(self) -> None:
        name = f"p{self._started}"
        command = [sys.executable, str(Path(__file__).with_name("worker_process.py")), self.place, str(self.folder), name]
        seed = self.chance.randrange(10**6)
        self.running.append(subprocess.Popen([*command, str(seed), str(THREADS), *self.options]))
        self._started += 1

    def kill_one(self) -> None:
        """Kills a process, at any point of its work, and starts another in its place."""
        self.all_run()
        victim = self.running.pop(self.chance.randrange(len(self.running)))
        victim.send_signal(signal.SIGKILL)
        victim.wait(60)
        self.kills += 1
        self.start()

    def all_run(self) -> None:
        ended = [process.args for process in self.running if process.poll() is not None]
        assert not ended, f"a worker ended by itself: {ended}"

    def stop(self) -> list[int]:
        (self.folder / "stop").touch()
        return [process.wait(60) for process in self.running]

    def end(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait(60)


def sure(call: Callable[[], T], faults: bool) -> T:
    """Makes a call that may be repeated, again while the store is unavailable."""
    while True:
        try:
            return call()
        except rc.StoreError:
            if not faults:
                raise
            time.sleep(0.05)


def work(store: rc.Store, fleet: Fleet, seconds: float, faults: bool) -> list[str]:
    """Enqueues jobs while processes are killed, then waits until all jobs have ended; returns their ids."""
    store.queues.set("quick", lifecycle="asynq", defaults={"retention": None})
    store.queues.set("narrow", concurrency=3, rate={"limit": 200, "per": 1_000, "burst": 20})
    ids: list[str] = []
    for _ in range(PROCESSES):
        fleet.start()
    end = time.monotonic() + seconds
    next_kill = time.monotonic() + 1.0
    while time.monotonic() < end or fleet.kills < LEAST_KILLS:
        if sure(lambda: waiting(store), faults) < 150:
            queue = fleet.chance.choice(("steps", "quick", "narrow"))
            new = [f"{queue}.{len(ids) + n}" for n in range(50)]
            policy = {"kind": "fixed", "intervals": [0, 20]}
            more = {"ids": new, "queue": queue, "max_retries": 10_000, "retry_policy": policy, "timeout": 60_000}
            sure(lambda more=more: store.jobs.enqueue_many("t", range(50), **more), faults)
            ids += new
        if time.monotonic() >= next_kill:
            fleet.kill_one()
            next_kill = time.monotonic() + fleet.chance.uniform(0.1, 1.0)
        time.sleep(0.02)
    while sure(lambda: waiting(store), faults):
        fleet.all_run()
        time.sleep(0.05)
    return ids


def waiting(store: rc.Store) -> int:
    """The number of jobs that have not ended."""
    return sum(n for queue in store.queues.stats() for state, n in queue["counts"].items() if state not in ENDED)


@dataclass
class Verdict:
    """The results of the jobs.

    Attributes:
        wrong: Descriptions of everything that must not happen.
    """

    jobs: int = 0
    attempts: int = 0
    completions: int = 0
    lost: int = 0
    completed_twice: int = 0
    claimed_twice: int = 0
    crashed: int = 0
    wrong: list[str] = field(default_factory=list)


def judge(store: rc.Store, ids: list[str], folder: Path, faults: bool = False) -> Verdict:
    """Compares the store with the logs.

    Args:
        faults: Whether the database may still fail.
    """
    verdict = Verdict(jobs=len(ids))
    claims: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    lines: Counter[tuple[str, str, int]] = Counter()
    for path in sorted(folder.glob("p*")):
        for line in path.read_text().splitlines():
            word, id, version, name, *_ = line.split()
            lines[word, id, int(version)] += 1
            if word in ("claimed", "running", "completing", "completed"):
                claims[id, int(version)].add(name)
    for (id, version), names in claims.items():
        if len(names) > 1 or lines["claimed", id, version] > 1 or lines["running", id, version] > 1:
            verdict.claimed_twice += 1
            verdict.wrong.append(f"{id} at version {version} was held by {sorted(names)}")
    acknowledged: defaultdict[str, list[int]] = defaultdict(list)
    for (word, id, version), n in lines.items():
        if word == "completed":
            acknowledged[id] += [version] * n
    for id in ids:
        judge_one(sure(functools.partial(store.jobs.get, id), faults), acknowledged[id], lines, verdict)
    verdict.wrong += [f"{broken.name} ({broken.id}): {broken.detail}" for broken in sure(store.check, faults)]
    return verdict


def judge_one(job: rc.Job, acknowledged: list[int], lines: Counter[tuple[str, str, int]], verdict: Verdict) -> None:
    outcomes = [attempt["outcome"] for attempt in job.attempts]
    verdict.attempts += len(outcomes)
    verdict.crashed += outcomes.count("crashed")
    if job.state != "completed":
        verdict.lost += 1
        verdict.wrong.append(f"{job.id} is {job.state}")
        return
    verdict.completions += 1
    if outcomes.count("completed") != 1 or outcomes[-1] != "completed" or len(acknowledged) > 1:
        verdict.completed_twice += 1
        verdict.wrong.append(f"{job.id} has the outcomes {outcomes}, and was told to be completed at {acknowledged}")
    if acknowledged not in ([], [job.version]):
        verdict.wrong.append(f"{job.id} ended at version {job.version}, and a worker was told so of {acknowledged}")
    if not lines["running", job.id, job.version] or not lines["completing", job.id, job.version]:
        verdict.wrong.append(f"{job.id} completed at version {job.version}, which nobody ran")
    if job.version < len(outcomes):
        verdict.wrong.append(f"{job.id} had {len(outcomes)} attempts and {job.version} claims")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15, help="how long there are kills")
    parser.add_argument("--store", help="path or URL of an empty store; without, a new SQLite file")
    parser.add_argument("--faults", action="store_true", help="the database may fail: its errors are retried")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "logs"
        folder.mkdir()
        place = arguments.store or str(Path(name) / "jobs.db")
        fleet = Fleet(place, folder, random.Random(arguments.seed), ["--faults"] if arguments.faults else [])
        with rc.Store(place, durability="full" if arguments.faults else "normal", busy_timeout=60_000) as store:
            try:
                ids = work(store, fleet, arguments.seconds, arguments.faults)
                statuses = fleet.stop()
            finally:
                fleet.end()
            verdict = judge(store, ids, folder, arguments.faults)
        verdict.wrong += [] if "://" in place else rc.check_file(place)
        if any(statuses):
            verdict.wrong.append(f"workers ended with {statuses}")
    print(
        f"jobs {verdict.jobs}, attempts {verdict.attempts}, of them crashed {verdict.crashed}, completions {verdict.completions}, "
        f"kills {fleet.kills}; lost {verdict.lost}, completed twice {verdict.completed_twice}, claimed twice {verdict.claimed_twice}"
    )
    print(*verdict.wrong[:20], sep="\n")
    return 1 if verdict.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
