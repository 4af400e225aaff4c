"""How a handler is called: what its parameters say it wants of a job."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from .._core import Value
from ..errors import Invalid
from .batches import BatchContext
from .context import JobContext
from .outcomes import JobError

__all__ = ["Invoke", "InvokeBatch", "Read", "batch_caller", "caller", "is_async"]

Invoke = Callable[[JobContext], Any]
#: How the payload of a job is read.
Read = Callable[[JobContext], Any]
InvokeBatch = Callable[[BatchContext], Any]
_Context = TypeVar("_Context")

_FIRST = inspect.Parameter("payload", inspect.Parameter.POSITIONAL_ONLY)
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: a function, or an object that is called as one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations; where a name in one of them cannot be found, their texts."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        return dict(getattr(target, "__annotations__", {}))


def _is(hint: Any, kind: type) -> bool:
    """Whether an annotation is this class, or may be: `JobContext | None` is asked for by functions that are called by hand too."""
    if isinstance(hint, str):
        return kind.__name__ in re.split(r"[^\w]+", hint)
    return hint is kind or kind in typing.get_args(hint)


def _reader(hint: Any) -> Read:
    """How the payload is read for a parameter with this annotation."""

    def as_json(context: JobContext) -> Any:
        try:
            return context.job.payload.json()
        except Invalid as error:
            raise JobError("InvalidPayload", str(error), retryable=False) from error

    def as_bytes(context: JobContext) -> bytes:
        try:
            return context.job.payload.bytes()
        except Invalid as error:
            raise JobError("InvalidPayload", str(error), retryable=False) from error

    if _is(hint, Value):
        return lambda context: context.job.payload
    return as_bytes if _is(hint, bytes) else as_json


def _members(context: JobContext) -> dict[str, Any]:
    payload = _reader(None)(context)
    if payload is None:
        return {}
    if not isinstance(payload, dict):
        raise JobError(
            "InvalidPayload", f"the payload is {type(payload).__name__}, and the handler takes an object's members", retryable=False
        )
    return payload


def caller(function: Callable[..., Any], unpack: bool | None = None) -> Invoke:
    """Makes the call of a handler from its signature.

    A parameter annotated `JobContext` gets the context. Of what is left: no parameter, and the payload is not read; one, and it
    gets the payload (JSON; `bytes` or `Value` where annotated so); several, and the payload has to be a JSON object, whose members
    they get by name. Where one is by position only (`*args`), the first gets the payload.

    Args:
        function: The handler.
        unpack: True: members by name even for one parameter. False: the payload whole, for the first parameter.

    Raises:
        TypeError: Members by name are asked for, and a parameter has none.

    Example:
        >>> from resonate_core.worker.calling import caller
        >>> _ = caller(lambda payload: payload)
    """
    hints = _hints(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # one of C's that does not say
        return _whole(function, [_FIRST], _reader(None), None)
    context_names = [p.name for p in parameters if _is(hints.get(p.name), JobContext)]
    rest = [p for p in parameters if p.name not in context_names]
    if unpack is None:
        named = all(p.kind in _NAMED for p in rest)
        unpack = named and (len(rest) > 1 or any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in rest))
    if unpack and not all(p.kind in _NAMED for p in rest):
        raise TypeError(
            f"{function!r} takes members of its payload by name; each parameter has to have one, unlike {[str(p) for p in rest]}"
        )
    context_name = context_names[0] if context_names else None
    if unpack:
        if context_name is None:
            return lambda context: function(**_members(context))
        return lambda context: function(**{**_members(context), context_name: context})
    return _whole(function, rest, _reader(hints.get(rest[0].name) if rest else None), context_name)


def _whole(
    function: Callable[..., Any],
    rest: list[inspect.Parameter],
    read: Callable[[_Context], Any],
    context_name: str | None,
) -> Callable[[_Context], Any]:
    """The call of a handler that takes what it works on as one value, or not at all."""
    if not rest:
        if context_name is None:
            return lambda context: function()
        return lambda context: function(**{context_name: context})
    if context_name is None:
        return lambda context: function(read(context))
    name = rest[0].name
    if rest[0].kind is rest[0].POSITIONAL_OR_KEYWORD:
        return lambda context: function(**{name: read(context), context_name: context})
    return lambda context: function(read(context), **{context_name: context})


def _payloads(batch: BatchContext) -> list[Any]:
    return batch.payloads


def batch_caller(function: Callable[..., Any]) -> tuple[Read, InvokeBatch]:
    """How the payload of each job is read for a handler of batches, and the call of that handler.

    A parameter annotated `BatchContext` gets the context. Of the others the first gets the list of payloads, read as JSON, or as
    `bytes` or `Value` where it is annotated as a list of them; what comes after it has to have a default.

    Args:
        function: The handler.

    Raises:
        TypeError: It has other parameters.

    Example:
        >>> from resonate_core.worker.calling import batch_caller
        >>> _ = batch_caller(lambda payloads: payloads)
    """
    hints = _hints(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # one of C's that does not say
        parameters = [_FIRST]
    context_names = [p.name for p in parameters if _is(hints.get(p.name), BatchContext)]
    rest = [p for p in parameters if p.name not in context_names]
    given, others = rest[:1], [p for p in rest[1:] if p.default is p.empty and p.kind not in _MANY]
    by_name = any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in given)
    if len(context_names) > 1 or others or by_name or any(_is(hints.get(p.name), JobContext) for p in rest):
        raise TypeError(f"{function!r} has to take a list of payloads, and a BatchContext where a parameter is annotated so")
    hint = hints.get(given[0].name) if given else None
    elements = typing.get_args(hint)
    call = _whole(function, given, _payloads, context_names[0] if context_names else None)
    return _reader(elements[0] if elements else hint), call
