"""Judges the histories of several clients: a model must give every answer in one order of their requests.

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

from ..base.linearizability import Operation, order_of
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
    """The id in the data of a request; of a `task.create`, that in its action; of a `job.claim`, the name of its first queue."""
    data = request["data"]
    if "queues" in data:
        return str(data["queues"][0]["name"])
    return str(data["id"] if "id" in data else data["action"]["data"]["id"])


def explanation(
    histories: Sequence[Sequence[Asked]],
    id: str,
    plain: Callable[[Envelope], Any] = plain_reply,
    model: Model | None = None,
) -> list[Envelope] | None:
    """Find an order of all requests on one id that explains every answer (the search of Wing and Gong).

    A request may be the next in the order if no other remaining request had ended before it began.

    Args:
        histories: For each client, its requests in their order.
        id: The id; requests on other ids are left out.
        plain: Makes answers of the model and of the store comparable.
        model: The model before the first request; an empty one by default.

    Returns:
        The requests in such an order, or None if there is none.
    """
    operations = [
        Operation(client, one.begin, one.end, one.request, plain(one.answer))
        for client, history in enumerate(histories)
        for one in (Asked(*each) for each in history)
        if id_of(one.request) == id
    ]
    order = order_of(operations, _Judge(model or Model(), plain))
    return None if order is None else [each.request for each in order]


class _Judge:
    """The reference model, with comparable answers."""

    def __init__(self, model: Model, plain: Callable[[Envelope], Any]) -> None:
        self._model = model
        self._plain = plain

    def fork(self) -> _Judge:
        """Return an independent copy."""
        return _Judge(self._model.fork(), self._plain)

    def apply(self, request: Envelope) -> Any:
        """Return the comparable answer to a request."""
        return self._plain(self._model.apply(request, None))

    def state(self) -> str:
        """Return the whole state."""
        return repr(self._model.snapshot())
