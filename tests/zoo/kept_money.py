"""A customer cancels an order while it is charged. The completion is refused, the worker ignores that, and keeps the money.

Fixed: the worker pays the money back if its job was cancelled meanwhile.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import QUICK, SECOND, Program, new_store


def buggy(choices: Choices) -> None:
    order(choices, refunds=False)


def fixed(choices: Choices) -> None:
    order(choices, refunds=True)


def order(choices: Choices, *, refunds: bool) -> None:
    store = new_store()
    account = {"paid": 0}

    def worker(name: str) -> Program:
        while True:
            for job in store.jobs.claim("default", worker=name, lease=60 * SECOND, start=1):
                yield choices.integer(0, 5, "seconds of the bank") * SECOND
                account["paid"] = 30
                yield "charges 30"
                try:
                    store.jobs.complete(job.id, job.version)
                except rc.Conflict:
                    if refunds:
                        account["paid"] = 0
                        yield "pays 30 back"
                yield
            yield IDLE

    def customer(name: str) -> Program:
        yield choices.integer(0, 30, "seconds of regret") * SECOND
        try:
            store.jobs.cancel("order")
        except rc.Conflict:
            yield "is too late"

    store.jobs.enqueue("order", id="order", retry_policy=QUICK, retention="kept")
    interleave(choices, store, {"worker": worker, "customer": customer})
    paid = 30 if store.jobs.get("order").state == "completed" else 0
    assert account["paid"] == paid, f"the order is {store.jobs.get('order').state}, and {account['paid']} is paid"
