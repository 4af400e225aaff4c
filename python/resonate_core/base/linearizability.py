"""The search for an order of concurrent operations in which a model gives every answer (Wing and Gong)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

__all__ = ["Model", "Operation", "order_of"]

_M = TypeVar("_M", bound="Model")


class Model(Protocol):
    """A model of one object: its answer to each request."""

    def fork(self: _M) -> _M:
        """Return an independent copy."""
        raise NotImplementedError

    def apply(self, request: Any) -> Any:
        """Execute a request; return the answer, in the form in which operations have it."""

    def state(self) -> Hashable:
        """Return what later answers depend on."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request of a client.

    Attributes:
        client: Who made it.
        begin: When it was made, in any unit that grows.
        end: When its answer arrived; None: it never did, and the request was executed later, or never.
        request: The request.
        answer: The answer.
    """

    client: Hashable
    begin: int
    end: int | None
    request: Any
    answer: Any = None


def order_of(operations: Sequence[Operation], model: Model) -> list[Operation] | None:
    """Return an order of the operations in which the model gives every answer, or None if there is none.

    An operation may be the next one if none of the others has ended before it began. Of one client, an operation that ended at the
    instant at which the next one began was before it. Operations without an answer may be left out.

    Args:
        operations: The history.
        model: As it is before the first one. It is not changed.
    """
    seen: set[tuple[frozenset[int], Hashable]] = set()
    # Each entry: the operations that are left, the model, and the order so far. A stack: a history may be longer than Python's
    # recursion.
    stack: list[tuple[frozenset[int], Model, tuple[int, ...]]] = [(frozenset(range(len(operations))), model.fork(), ())]
    while stack:
        left, before, order = stack.pop()
        if all(operations[each].end is None for each in left):
            return [operations[each] for each in order]
        mark = (left, before.state())
        if mark in seen:
            continue
        seen.add(mark)
        first_end = min(end for each in left if (end := operations[each].end) is not None)
        for each in sorted(left, reverse=True):
            operation = operations[each]
            if operation.begin > first_end or (operation.begin == first_end and _follows(operation, operations, left - {each})):
                continue
            after = before.fork()
            answer = after.apply(operation.request)
            if operation.end is None or answer == operation.answer:
                stack.append((left - {each}, after, (*order, each)))
    return None


def _follows(operation: Operation, operations: Sequence[Operation], left: frozenset[int]) -> bool:
    """Whether an operation of the same client ended when this one began."""
    return any(operations[each].client == operation.client and operations[each].end == operation.begin for each in left)
