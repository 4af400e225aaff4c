"""The model's interface: requests, time, outbox and snapshots, with the names of the store's methods."""

from __future__ import annotations

import copy
from typing import Any

from . import (
    jobs_admin,
    jobs_claim,
    jobs_enqueue,
    jobs_fork,
    jobs_history,
    jobs_messages,
    jobs_queues,
    jobs_record,
    jobs_start_over,
    jobs_work,
    promises,
    purge,
    schedules,
    snapshot,
    steps,
    tasks,
    validation,
    wire,
)
from .shape import Refused
from .world import World

READS = {
    "promise.get": promises.get,
    "promise.search": promises.search,
    "task.get": tasks.get,
    "task.search": tasks.search,
    "schedule.get": schedules.get,
    "schedule.search": schedules.search,
    "job.get": jobs_admin.get,
    "job.search": jobs_admin.search,
    "job.history": jobs_history.history,
    "job.stats": jobs_queues.stats,
    "queue.get": jobs_queues.get,
    "queue.list": jobs_queues.list_,
    "debug.snap": lambda world, data, dialect: (200, snapshot.debug(world)),
}


def nothing(world, data, dialect):
    return 200, {}


def is_debug(envelope, world):
    """Whether an envelope is a valid ``debug.*`` request."""
    try:
        return validation.read(copy.deepcopy(envelope), world).kind.startswith("debug.")
    except Refused:
        return False


def reset(world, data, dialect):
    world.clear()
    return 200, {}


WRITES = {
    "promise.create": promises.create,
    "promise.settle": promises.settle_request,
    "promise.register_callback": promises.register,
    "promise.register": promises.register,
    "promise.register_listener": promises.listen,
    "promise.subscribe": promises.listen,
    "task.create": tasks.create,
    "task.acquire": tasks.acquire,
    "task.release": tasks.release,
    "task.suspend": tasks.suspend,
    "task.fulfill": tasks.fulfill,
    "task.heartbeat": tasks.heartbeat,
    "task.halt": tasks.halt,
    "task.continue": tasks.continue_,
    "schedule.create": schedules.create,
    "schedule.delete": schedules.delete,
    "schedule.pause": schedules.pause,
    "schedule.resume": schedules.resume,
    "job.enqueue": jobs_enqueue.enqueue,
    "job.enqueue_many": jobs_enqueue.enqueue_many,
    "job.claim": jobs_claim.claim,
    "job.start": jobs_work.start,
    "job.start_many": jobs_work.start_many,
    "job.heartbeat": jobs_work.heartbeat,
    "job.complete": jobs_work.complete,
    "job.complete_many": jobs_work.complete_many,
    "job.fail": jobs_work.fail,
    "job.release": jobs_work.release,
    "job.snooze": jobs_work.snooze,
    "job.report": jobs_work.report,
    "job.suspend": jobs_work.suspend,
    "job.record": jobs_record.record,
    "job.receive": jobs_messages.receive,
    "job.send": jobs_messages.send,
    "job.start_over": jobs_start_over.start_over,
    "job.fork": jobs_fork.fork,
    "job.cancel": jobs_admin.cancel,
    "job.run": jobs_admin.run,
    "job.archive": jobs_admin.archive,
    "job.delete": jobs_admin.delete,
    "queue.set": jobs_queues.set_,
    "queue.pause": jobs_queues.pause,
    "queue.resume": jobs_queues.resume,
    "debug.start": nothing,
    "debug.stop": nothing,
    "debug.reset": reset,
}


class Model:
    """A store that implements ``PROTOCOL`` in the simplest way.

    Args:
        rules: ``"compatible"`` or ``"strict"``.
        retry_timeout: Milliseconds between messages of a pending task, or ``"ttl"``.
        catchup: ``"all"``, ``"latest"`` or ``"none"``.
        unblock_retention: Milliseconds after which an undelivered unblock is dropped.
        start: The first instant.
        debug: Whether ``debug.*`` is allowed.
    """

    def __init__(
        self,
        rules: str = "compatible",
        retry_timeout: int | str = 5000,
        catchup: str = "all",
        unblock_retention: int = 86_400_000,
        start: int = 0,
        debug: bool = True,
    ) -> None:
        self.world = World(rules, retry_timeout, catchup, unblock_retention, start, debug)

    @property
    def now(self) -> int:
        """The last instant that was seen."""
        return int(self.world.now)

    def apply(self, envelope: Any, now: int | None = None) -> dict[str, Any]:
        """Runs one envelope and the internal steps that are due after it."""
        world = self.world
        world.fired = []
        try:
            request = validation.read(copy.deepcopy(envelope), world)
        except Refused as refused:
            return wire.refusal(envelope, refused.status, refused.message)
        instant = request.instant
        if instant is None:
            instant = world.now if now is None else now
        if instant < world.now:
            return wire.refusal(envelope, 400, f"{instant} is before {world.now}")
        world.now = instant
        if request.kind == "debug.tick":
            self.tick(instant)
            return wire.reply(request.kind, request.corr_id, 200, request.dialect, [])
        if request.kind not in READS:
            steps.begin(world)
        try:
            if request.kind == "task.fence":
                status, data = tasks.fence(world, request.data, request.dialect, request.corr_id)
            else:
                run = READS.get(request.kind) or WRITES[request.kind]
                status, data = run(world, request.data, request.dialect)
        except Refused as refused:
            status, data = wire.status(refused.status, request.dialect), refused.message
        # A deep copy, because the steps that follow may change rows in the reply.
        reply = copy.deepcopy(wire.reply(request.kind, request.corr_id, status, request.dialect, data))
        if request.kind not in READS:
            steps.run(world, steps.budget_after(request))
        return reply

    def apply_batch(self, envelopes: list[Any], now: int | None = None, atomic: bool = False) -> list[dict[str, Any]]:
        """Runs envelopes one by one; if atomic, the first refusal undoes all.

        Returns:
            The replies; in a refused atomic batch all except the refused one have status 409.
        """
        before = copy.deepcopy(self.world)
        replies = []
        for envelope in envelopes:
            if len(envelopes) > 1 and is_debug(envelope, self.world):
                replies.append(wire.refusal(envelope, 400, "debug operations have no place in a batch"))
            else:
                replies.append(self.apply(envelope, now))
            if atomic and replies[-1]["head"]["status"] not in (200, 300):
                self.world = before
                undone = [wire.refusal(one, 409, "undone") for one in envelopes]
                undone[len(replies) - 1] = replies[-1]
                return undone
        return replies

    def tick(self, now: int | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Runs every step that is due at one instant, or at most ``limit`` of them.

        Raises:
            ValueError: When ``now`` is before the last instant seen, or ``limit`` below 1.
        """
        world = self.world
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be at least 1, got {limit}")
        now = world.now if now is None else now
        if now < world.now:
            raise ValueError(f"{now} is before {world.now}")
        world.now = now
        world.fired = []
        steps.begin(world)
        steps.run(world, limit)
        return copy.deepcopy(world.fired)

    def purge(self, settled_before: int) -> int:
        """Deletes what was settled before an instant and is not needed any more; returns the number of deleted promises.

        Raises:
            ValueError: The instant has not passed.
        """
        if settled_before > self.now:
            raise ValueError(f"{settled_before} is after {self.now}")
        return purge.run(self.world, settled_before)

    def next_due(self) -> int | None:
        """The instant of the next internal step, or None."""
        return steps.next_due(self.world)

    def advance_to(self, instant: int) -> list[dict[str, Any]]:
        """Visits every due instant up to ``instant`` in order, then ``instant`` itself."""
        if instant < self.now:
            raise ValueError(f"{instant} is before {self.now}")
        fired = []
        due = self.next_due()
        while due is not None and due <= instant:
            fired += self.tick(due)
            due = self.next_due()
        return fired + self.tick(instant)

    def advance_to_next(self) -> list[dict[str, Any]]:
        """Moves to the next due instant and ticks there; does nothing if there is none."""
        due = self.next_due()
        return [] if due is None else self.tick(due)

    def snapshot(self) -> dict[str, Any]:
        """The full snapshot."""
        return snapshot.full(self.world)

    def debug_snapshot(self) -> dict[str, Any]:
        """The reply of ``debug.snap``."""
        return snapshot.debug(self.world)

    def restore(self, taken: dict[str, Any]) -> None:
        """Replaces everything that is stored by a full snapshot."""
        snapshot.load(self.world, taken)

    def fork(self) -> Model:
        """An independent copy."""
        return copy.deepcopy(self)

    def messages(self) -> list[dict[str, Any]]:
        """The outbox in wire form, in the order of queueing."""
        return [wire.message(message, self.world.promises) for message in self.world.messages]

    def take_messages(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Removes messages from the outbox, at most ``limit``, and returns them."""
        taken = self.messages()[:limit]
        if taken:
            steps.see(self.world)
        del self.world.messages[: len(taken)]
        return taken
