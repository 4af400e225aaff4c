"""One random run of a graph of jobs: workers that work, crash and suspend, operators who cancel, purge and fork (JOBS 8).

The run knows which promise has ended and how, from the replies alone, and judges each start of a job by that.
"""

from __future__ import annotations

import random
from typing import Any

from conformance.job_wire import JobClient, checked_job
from conformance.wire import V25, V26

FINAL = ("completed", "failed", "cancelled", "expired", "absent")
LEASE = 50
CHAOS = 70
"""The number of random calls before a worker that lives ends the run."""


class GraphRun:
    """A graph, its store, and what is known of each node.

    Args:
        store: An empty store with a manual clock.
        seed: Decides everything.
        forks: Whether the run continues with forks, which are in memory.

    Attributes:
        ended: How each promise ended: by id, whether it was resolved.
        held: The version of each running job.
        waits: For a job that is suspended: the ids and whether it waits for all of them.
        free: Jobs that an operator ran: `after` holds them back no longer.
        done: How often each job completed.
    """

    def __init__(self, store: Any, seed: int, forks: bool = True) -> None:
        self.chance = random.Random(seed)
        self.client = JobClient(store, self.chance.choice((V26, V25)))
        self.gates = [f"gate{n}" for n in range(self.chance.randint(0, 3))]
        self.nodes: dict[str, dict[str, Any]] = {}
        self.ended: dict[str, bool] = {}
        self.held: dict[str, int] = {}
        self.waits: dict[str, tuple[list[str], bool]] = {}
        self.free: set[str] = set()
        self.done: dict[str, int] = {}
        self._forks = forks

    # ---- the graph

    def build(self) -> None:
        """Enqueues all nodes, each after earlier ones: in one request, or one by one."""
        for gate in self.gates:
            self.client.create(gate, tags={"resonate:external": "true"}).must()
        for number in range(self.chance.randint(2, 12)):
            earlier = [*self.nodes, *self.gates]
            after = self.chance.sample(earlier, min(len(earlier), self.chance.choice((0, 1, 1, 2, 3))))
            self.nodes[f"n{number:02}"] = self.node(after)
        orders = [{"id": id, **node} for id, node in self.nodes.items()]
        if self.chance.random() < 0.5:
            self.client.send("job.enqueue_many", {"jobs": orders, "atomic": True}).must()
            return
        for order in orders:
            self.client.send("job.enqueue", order).must()

    def node(self, after: list[str]) -> dict[str, Any]:
        chance = self.chance
        members: dict[str, Any] = {
            "type": "t",
            "queue": "q",
            "maxRetries": chance.choice((0, 2, 9)),
            "priority": chance.choice((1, 50)),
        }
        members["retryPolicy"] = {"kind": "fixed", "intervals": [chance.choice((0, 20))]}
        members["onExhausted"] = chance.choice(("archived", "failed"))
        members["retention"] = chance.choice((0, 0, 500, None))
        if after:
            members |= {"after": after, "afterFailed": chance.choice(("cancel", "run"))}
        return members

    # ---- what workers do

    def claim(self) -> None:
        reply = self.client.claim(self.chance.randint(1, 3), ["q"], lease=LEASE, start=3).must()
        for job in reply["jobs"]:
            self.judge(checked_job(job))
            self.held[job["id"]] = job["version"]
            self.waits.pop(job["id"], None)
        self.look()

    def judge(self, job: dict[str, Any]) -> None:
        """Checks that nothing held a job back that starts now, and that what it waited for is there still."""
        id = job["id"]
        assert job["state"] == "running" and self.done.get(id, 0) == 0, (id, "runs again after its success")
        self.look()
        after = self.nodes[id].get("after", [])
        if id not in self.free:
            for awaited in after:
                assert self.client.get(awaited).status == 200, (id, "lost", awaited)
            ends = [self.ended.get(awaited) for awaited in after]
            assert None not in ends, (id, "starts before", after)
            assert self.nodes[id].get("afterFailed") != "cancel" or all(ends), (id, "starts although one failed", after)
        if id in self.waits:
            awaited_ids, every = self.waits[id]
            ends = [self.ended.get(one) for one in awaited_ids]
            assert (None not in ends or False in ends) if every else ends != [None] * len(ends), (id, "wakes early", awaited_ids)

    def work(self) -> None:
        """Ends or suspends one attempt of a worker that lives."""
        if not self.held:
            self.claim()
            return
        id = self.chance.choice(sorted(self.held))
        version = self.held.pop(id)
        how = self.chance.random()
        if how < 0.5:
            self.complete(id, version)
        elif how < 0.7:
            self.client.fail(id, version)
        elif how < 0.75:
            self.client.snooze(id, version, delay=self.chance.choice((0, 30)))
        else:
            self.suspend(id, version)
        self.look()

    def complete(self, id: str, version: int) -> None:
        if self.client.complete(id, version).status == 200:
            self.done[id] = self.done.get(id, 0) + 1
            self.ended[id] = True

    def suspend(self, id: str, version: int) -> None:
        """Waits for earlier nodes or gates, so that there is no circle, mostly for some that have not ended; ids without a promise are refused."""
        earlier = [one for one in [*self.nodes, *self.gates] if one < id or one in self.gates]
        earlier = [one for one in earlier if one not in self.ended or self.chance.random() < 0.2]
        if not earlier:
            self.complete(id, version)
            return
        awaited = self.chance.sample(earlier, min(len(earlier), self.chance.randint(1, 3)))
        every = self.chance.random() < 0.5
        reply = self.client.wait_for(*awaited, id=id, version=version, until="all" if every else "any")
        if reply.status == 200:
            self.waits[id] = awaited, every
        elif reply.status != 409:
            self.held[id] = version

    # ---- what others do

    def crash(self) -> None:
        """The workers do not renew their leases."""
        self.held.clear()
        self.client.store.clock.advance(LEASE + 1)
        self.look()

    def pass_time(self) -> None:
        self.client.store.clock.advance(self.chance.choice((1, 10, 20)))
        self.look()

    def settle(self) -> None:
        open_gates = [gate for gate in self.gates if gate not in self.ended]
        if open_gates:
            gate, state = (
                self.chance.choice(open_gates),
                self.chance.choice(("resolved", "resolved", "rejected", "rejected_canceled")),
            )
            self.client.settle(gate, state).must()
            self.ended[gate] = state == "resolved"
        self.look()

    def administer(self) -> None:
        id = self.chance.choice(list(self.nodes))
        verb = self.chance.choice(("cancel", "run", "run", "archive", "delete"))
        if self.client.administer(verb, id).status == 200:
            self.free |= {id} if verb == "run" else set()
            self.waits.pop(id, None)
        self.look()

    def purge(self) -> None:
        self.look()
        self.client.store.purge(settled_before=max(0, self.client.store.now - self.chance.choice((0, 5, 100))))

    def fork(self) -> None:
        """Continues with a copy; the original is not used again."""
        store = self.client.store.fork()
        self.client.store.close()
        self.client = JobClient(store, self.client.version)

    # ---- the run

    def look(self) -> None:
        """Notes which nodes have ended, by what the store shows."""
        for id in self.nodes:
            state = self.client.state(id)
            if state in FINAL and state != "absent":
                assert self.ended.setdefault(id, state == "completed") == (state == "completed"), (id, state)

    def play(self) -> None:
        """Runs at random, then to the end.

        Raises:
            AssertionError: A rule does not hold.
        """
        self.build()
        calls = [self.claim] * 5 + [self.work] * 8 + [self.pass_time] * 3 + [self.settle, self.settle, self.crash, self.administer]
        calls += [self.purge, self.fork] if self._forks else [self.purge]
        for _ in range(CHAOS):
            self.chance.choice(calls)()
        self.finish()
        assert self.client.store.check() == []
        self.client.store.close()

    def finish(self) -> None:
        """A worker lives, gates are opened, and archived jobs are run: each node ends."""
        for gate in self.gates:
            if gate not in self.ended:
                self.client.settle(gate).must()
                self.ended[gate] = True
        for _ in range(10 * len(self.nodes)):
            for id, version in sorted(self.held.items()):
                self.complete(id, version)
            self.held.clear()
            self.claim()
            self.client.store.clock.advance(LEASE + 1 if not self.held else 1)
            for id in self.nodes:
                if self.client.state(id) == "archived":
                    self.client.administer("run", id).must()
                    self.free.add(id)
            if all(self.client.state(id) in FINAL for id in self.nodes):
                return
        left = {id: self.client.state(id) for id in self.nodes}
        raise AssertionError(f"not every node ends: {left}")
