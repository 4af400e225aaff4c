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

    def charge(key: str) -> None:
        if not (with_key and key in charges):
            charges.append(key)

    def worker(name: str) -> Program:
        while True:
            for message in store.messages():
                try:
                    task = store.tasks.acquire(message.id, message.version, pid=name, ttl=10 * SECOND).task
                except rc.Conflict:
                    continue
                yield
                step = store.promises.create("order-1.charge", timeout=DAY)
                yield
                if step.state == "pending":
                    charge("order-1.charge")
                    yield "charges the card"
                    store.promises.resolve("order-1.charge")
                    yield
                try:
                    store.tasks.fulfill("order-1", task.version, "shipped")
                except rc.Conflict:
                    yield "has lost its task"
            yield IDLE

    store.promises.create("order-1", timeout=DAY, tags={"resonate:target": "poll://any@shop"})
    done = lambda: store.promises.get("order-1").state != "pending"  # noqa: E731
    interleave(choices, store, {"a": worker, "b": worker}, crash=0.1, until=done, within=DAY)
    assert len(charges) == 1, f"charged {len(charges)} times"
