"""Judges histories of several clients: an order of their requests must exist in which one model gives every answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from property.judge import plain_reply
from reference import Model


def explanation(histories, id, plain: Callable[[Any], Any] = plain_reply):
    """An order of all requests on one id that explains every answer, or None (Wing and Gong's search).

    A history is the requests of one client, each with the instants of its begin and end, and its answer. `plain` makes answers of the
    model and of the store comparable.

    A request may be the next in the order if no other remaining request had ended before it began. The requests of a process
    are in their order, so only the first remaining request of each process is a candidate.
    """
    queues = [[one for one in history if one[2]["data"]["id"] == id] for history in histories]
    seen = set()

    def search(model, places, order):
        if all(place == len(queue) for place, queue in zip(places, queues)):
            return order
        state = (places, repr(model.snapshot()))
        if state in seen:
            return None
        seen.add(state)
        heads = [(queue[place], number) for number, (queue, place) in enumerate(zip(queues, places)) if place < len(queue)]
        first_end = min(one[1] for one, _ in heads)
        for (begin, _, asked, told), number in heads:
            if begin > first_end:
                continue
            next_model = model.fork()
            if plain(next_model.apply(asked, None)) != plain(told):
                continue
            found = search(next_model, tuple(place + (i == number) for i, place in enumerate(places)), [*order, asked])
            if found is not None:
                return found
        return None

    return search(Model(rules="compatible"), (0,) * len(queues), [])
