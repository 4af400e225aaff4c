"""Judges histories of several clients: one order of their requests must exist in which a model gives every answer.

Example:
    >>> from resonate_core.conformance.linearizable import Asked, explanation
    >>> head = {"corrId": "1", "version": "2026-04-01"}
    >>> get = {"kind": "promise.get", "head": head, "data": {"id": "p"}}
    >>> create = {"kind": "promise.create", "head": head, "data": {"id": "p", "timeoutAt": 10**12}}
    >>> from resonate_core.conformance.reference import Model
    >>> made, missing = Model().apply(create), Model().apply(get)
    >>> [one["kind"] for one in explanation([[Asked(0, 5, create, made)], [Asked(1, 2, get, missing)]], "p")]
    ['promise.get', 'promise.create']
    >>> explanation([[Asked(0, 1, create, made)], [Asked(2, 3, get, missing)]], "p") is None
    True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .compare import plain_reply
from .reference import Model

__all__ = ["Asked", "Envelope", "explanation", "id_of"]

Envelope = dict[str, Any]


class Asked(NamedTuple):
    """A request of a history.

    Attributes:
        begin: The instant before it was sent, on a clock that all clients share.
        end: The instant after its answer arrived.
        request: Its envelope.
        answer: The envelope of the answer.
    """

    begin: int
    end: int
    request: Envelope
    answer: Envelope


def id_of(request: Envelope) -> str:
    """The id in the data of a request; of a `task.create`, that in its action."""
    data = request["data"]
    return str(data["id"] if "id" in data else data["action"]["data"]["id"])


def explanation(
    histories: Sequence[Sequence[Asked]],
    id: str,
    plain: Callable[[Envelope], Any] = plain_reply,
    model: Model | None = None,
) -> list[Envelope] | None:
    """Find an order of all requests on one id that explains every answer (the search of Wing and Gong).

    A request may be the next in the order if no other remaining request had ended before it began. The requests of a client are
    in their order, so only the first remaining request of each client is a candidate.

    Args:
        histories: For each client, its requests in their order.
        id: The id; requests on other ids are left out.
        plain: Makes answers of the model and of the store comparable.
        model: The model before the first request; an empty one by default.

    Returns:
        The requests in such an order, or None if there is none.
    """
    queues = [[Asked(*one) for one in history if id_of(one[2]) == id] for history in histories]
    seen: set[tuple[tuple[int, ...], str]] = set()

    def search(model: Model, places: tuple[int, ...], order: list[Envelope]) -> list[Envelope] | None:
        if all(place == len(queue) for place, queue in zip(places, queues, strict=True)):
            return order
        state = (places, repr(model.snapshot()))
        if state in seen:
            return None
        seen.add(state)
        heads = [(queue[place], at) for at, (queue, place) in enumerate(zip(queues, places, strict=True)) if place < len(queue)]
        first_end = min(one.end for one, _ in heads)
        for one, number in heads:
            if one.begin > first_end:
                continue
            following = model.fork()
            if plain(following.apply(one.request, None)) != plain(one.answer):
                continue
            found = search(following, tuple(place + (i == number) for i, place in enumerate(places)), [*order, one.request])
            if found is not None:
                return found
        return None

    return search(model or Model(), (0,) * len(queues), [])
