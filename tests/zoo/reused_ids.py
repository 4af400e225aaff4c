"""Ids of orders come from a counter in the memory of the shop: after a restart it begins again, and a new order is taken for an old one.

Fixed: the id is the one that the customer's request carries.
"""

from __future__ import annotations

from resonate_core.testing import Choices, interleave
from zoo.working import Program, new_store


def buggy(choices: Choices) -> None:
    shop(choices, from_request=False)


def fixed(choices: Choices) -> None:
    shop(choices, from_request=True)


def shop(choices: Choices, *, from_request: bool) -> None:
    store = new_store()
    requests = [f"request-{number}" for number in range(1, choices.integer(1, 5, "orders") + 1)]
    inbox = list(requests)

    def serve(name: str) -> Program:
        counter = 0
        while inbox:
            request = inbox[0]
            counter += 1
            store.jobs.enqueue("order", {}, id=request if from_request else f"order-{counter}")
            yield
            inbox.remove(request)
            yield f"has taken {request}"

    interleave(choices, store, {"shop": serve}, crash=0.1)
    orders = len(list(store.jobs.search()))
    assert orders == len(requests), f"{len(requests)} requests made {orders} orders"
