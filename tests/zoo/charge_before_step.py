"""A workflow charges a card, and records the charge as a durable step afterwards: a crash between the two charges twice.

Fixed: the bank is given the id of the step as an idempotency key.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import DAY, SECOND, Program, new_store


def buggy(choices: Choices) -> None:
    order(choices, with_key=False)


def fixed(choices: Choices) -> None:
    order(choices, with_key=True)


def order(choices: Choices, *, with_key: bool) -> None:
    store = new_store()
    charges: list[str] = []
    orders = [f"order-{number}" for number in range(1, choices.integer(1, 3, "orders") + 1)]

    def charge(key: str) -> None:
        if with_key and key in charges:
            return
        assert key not in charges, "charged twice"
        charges.append(key)

    def worker(name: str) -> Program:
        while True:
            for message in store.messages():
                try:
                    task = store.tasks.acquire(message.id, message.version, pid=name, ttl=10 * SECOND).task
                except rc.Conflict:
                    continue
                yield
                step = store.promises.create(f"{task.id}.charge", timeout=DAY)
                yield
                if step.state == "pending":
                    charge(step.id)
                    yield "charges the card"
                    store.promises.resolve(step.id)
                    yield
                try:
                    store.tasks.fulfill(task.id, task.version, "shipped")
                except rc.Conflict:
                    yield "has lost its task"
            yield IDLE

    for id in orders:
        store.promises.create(id, timeout=DAY, tags={"resonate:target": "poll://any@shop"})
    done = lambda: all(store.promises.get(id).state != "pending" for id in orders)  # noqa: E731
    interleave(choices, store, {"a": worker, "b": worker}, crash=0.1, until=done, within=DAY)
    assert len(charges) == len(orders)
