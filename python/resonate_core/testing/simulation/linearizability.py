"""Judges histories of concurrent requests: one order of them must explain every answer, each request between its begin and its end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..._core import ManualClock, Promise, Store
from ...base.linearizability import Model, Operation, order_of
from .errors import HistoryBroken

__all__ = ["Histories", "Model", "Operation", "PromiseModel", "judge"]

#: Requests that concern one promise, and nothing else.
_JUDGED = ("promise.create", "promise.get", "promise.settle")
#: Members of an answer that say when something happened, which the order alone does not decide.
_INSTANTS = ("createdAt", "settledAt")


def judge(operations: Sequence[Operation], model: Model) -> list[Operation]:
    """Return an order of the operations in which the model gives every answer (the search of Wing and Gong).

    An operation may be the next one if none of the others has ended before it began.

    Args:
        operations: The history.
        model: As it is before the first one. It is not changed.

    Raises:
        HistoryBroken: There is no such order.

    Example:
        >>> from resonate_core.testing.simulation.linearizability import Operation, judge
        >>> class Register:
        ...     def __init__(self, value=0): self.value = value
        ...     def fork(self): return Register(self.value)
        ...     def state(self): return self.value
        ...     def apply(self, request):
        ...         if request[0] == "write": self.value = request[1]
        ...         return self.value
        >>> late = Operation("a", 0, 9, ("write", 1), 1)
        >>> len(judge([late, Operation("b", 1, 2, ("read",), 0), Operation("b", 3, 4, ("read",), 1)], Register()))
        3
        >>> judge([late, Operation("b", 1, 2, ("read",), 1), Operation("b", 3, 4, ("read",), 0)], Register())
        Traceback (most recent call last):
        resonate_core.testing.simulation.errors.HistoryBroken: no order of these 3 requests explains their answers:
        ...
    """
    everything = sorted(operations, key=lambda each: each.begin)
    order = order_of(everything, model)
    if order is not None:
        return order
    shown = "\n".join(
        f"  {each.client}, from {each.begin} to {'(no answer)' if each.end is None else each.end}: {each.request} -> {each.answer}"
        for each in everything
    )
    raise HistoryBroken(f"no order of these {len(everything)} requests explains their answers:\n{shown}")


def _plain(status: int, answer: Any) -> Any:
    """An answer without instants, in a form that can be compared."""
    if isinstance(answer, Promise):
        answer = answer.to_dict()
    if isinstance(answer, dict):
        inner = answer.get("promise", answer)
        answer = {name: value for name, value in inner.items() if name not in _INSTANTS}
    return (status, answer) if status < 400 else (status, None)


class PromiseModel:
    """One promise of a store, as a model: the engine itself, one request at a time.

    Args:
        now: The instant of all requests, in Unix ms.
    """

    def __init__(self, now: int = 0, store: Store[ManualClock] | None = None) -> None:
        self._store = Store(clock=ManualClock(now)) if store is None else store

    def fork(self) -> PromiseModel:
        """See `Model.fork`."""
        return PromiseModel(0, self._store.fork())

    def apply(self, request: Any) -> Any:
        """See `Model.apply`. A request is the envelope of a typed call."""
        return _plain(*self._store._run_calls([request])[0])

    def state(self) -> Hashable:
        """See `Model.state`."""
        return self._store.digest()


class Histories:
    """Records the requests of a simulation about single promises, and judges them.

    Args:
        time: Returns a number that grows with each step.
    """

    def __init__(self, time: Callable[[], int]) -> None:
        self._time = time
        self._operations: dict[str, list[Operation]] = {}
        self._others: set[str] = set()
        self.judged = 0

    def begin(self, client: str, envelope: dict[str, Any]) -> Callable[[tuple[int, Any] | None], None]:
        """Record that a request is made. Returns what takes its answer, or None if there is none."""
        id = str(envelope["data"].get("id", ""))
        if envelope["kind"] not in _JUDGED:
            self._others.add(id)
            return lambda answer: None
        began = self._time()
        operations = self._operations.setdefault(id, [])
        place = len(operations)
        operations.append(Operation(client, began, None, envelope))

        def end(answer: tuple[int, Any] | None) -> None:
            if answer is not None:
                operations[place] = Operation(client, began, self._time(), envelope, _plain(*answer))

        return end

    def judge(self, overdue: Callable[[str], bool]) -> None:
        """Judge each promise.

        Args:
            overdue: Says whether the deadline of a promise has passed, so that time has changed it too: such a one is not judged.

        Raises:
            HistoryBroken: No order of its requests explains their answers.
        """
        for id, operations in self._operations.items():
            if id not in self._others and not overdue(id):
                judge(operations, PromiseModel())
                self.judged += 1
