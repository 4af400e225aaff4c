"""Calls, made by the methods of a store's nouns: one place checks their arguments, for all faces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from .._core import Jobs, Promises, Queues, Schedules, Tasks, requests
from .call import AnyCall, Call, Data, Repeated, Together
from .replies import batch_of_jobs, batch_of_promises, may_repeat, reader_of

__all__ = ["call", "data_of", "data_of_enqueue", "made", "noun_of", "together"]

P = ParamSpec("P")
T = TypeVar("T")

#: Methods whose requests run in one transaction, even if there is only one of them.
_TOGETHER = frozenset(("create_many", "settle_many", "enqueue_many"))


def _function(method: Any) -> Any:
    """Return what a class of the core has as a method, in a form that has a hash."""
    return getattr(method, "__func__", method)


#: The noun and the name of each method.
_METHODS: dict[Any, tuple[type, str]] = {
    _function(getattr(noun, name)): (noun, name)
    for noun in (Promises, Tasks, Schedules, Jobs, Queues)
    for name in vars(noun)
    if not name.startswith("_")
}


def noun_of(method: Callable[..., Any]) -> type:
    """Return the class of the core that has a method."""
    return _METHODS[_function(method)][0]


def _call(kind: str, data: Data, relative: bool = False) -> Call[Any]:
    deadline = None
    if relative:
        place = data if kind == "promise.create" else data["action"]["data"]
        deadline = (place, place.pop("timeoutAt"))
    return Call(kind, data, reader_of(kind, data), may_repeat(kind, data), deadline)


def made(method: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> AnyCall[Any]:
    """Return the call of a method of a noun of the core.

    Args:
        method: The method, of the class.
        args: Its arguments.
        kwargs: Its keywords.

    Raises:
        Invalid: As the method raises it for its arguments.
        TypeError: As the method raises it for its arguments.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.calls.made import made
        >>> made(rc.Store().jobs.__class__.get, "a").data
        {'id': 'a'}
    """
    noun, name = _METHODS[_function(method)]
    all, relative = requests(noun, name, args, kwargs)
    if name in _TOGETHER:
        return Together([_call(*one) for one in all], batch_of_jobs if noun is Jobs else batch_of_promises)
    if not all:
        return Together((), lambda answers: [])
    ((kind, data),) = all
    if name.endswith("_all"):
        return Repeated(lambda: _call(kind, dict(data)))
    return _call(kind, data, relative)


def call(method: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> Call[T]:
    """Return the call of a method that makes one request; see `made`."""
    return cast("Call[T]", made(method, *args, **kwargs))


def together(method: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> Together[T]:
    """Return the calls of a method that makes several requests for one transaction; see `made`."""
    return cast("Together[T]", made(method, *args, **kwargs))


def data_of(method: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs) -> Data:
    """Return the data of the one request of a method; see `made`.

    Example:
        >>> from resonate_core._core import Jobs
        >>> from resonate_core.calls.made import data_of
        >>> data_of(Jobs.enqueue, "mail", process_in=5, retention="kept")
        {'queue': 'default', 'type': 'mail', 'processIn': 5, 'retention': None}
    """
    noun, name = _METHODS[_function(method)]
    all, relative = requests(noun, name, args, kwargs)
    if relative or len(all) != 1:
        return call(method, *args, **kwargs).data
    data: Data = all[0][1]
    return data


def data_of_enqueue(type: str, payload: Any, **options: Any) -> Data:
    """Return what `data_of` returns of `Jobs.enqueue`, in less time: a graph calls it for each node.

    Example:
        >>> from resonate_core.calls.made import data_of_enqueue
        >>> data_of_enqueue("mail", None, queue="fast")
        {'queue': 'fast', 'type': 'mail'}
    """
    data: Data = requests(Jobs, "enqueue", (type, payload), options)[0][0][1]
    return data
