"""The call of a handler: which parts of a job its parameters get."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from .._core import Value
from ..errors import Invalid
from .context import BatchContext, JobContext
from .outcomes import JobError

__all__ = ["Invoke", "InvokeBatch", "Read", "batch_caller", "caller", "is_async"]

Invoke = Callable[[JobContext], Any]
#: How the payload of a job is read.
Read = Callable[[JobContext], Any]
InvokeBatch = Callable[[BatchContext], Any]
_Context = TypeVar("_Context")

#: What a parameter gets at each call, in place of a default.
_CONTEXT, _PAYLOAD = object(), object()
_FIRST = inspect.Parameter("payload", inspect.Parameter.POSITIONAL_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: a function, or an object that is called as one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations; where a name in one of them cannot be found, their texts."""
    while isinstance(function, functools.partial):
        function = function.func
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target)
    except (NameError, TypeError, AttributeError):
        return dict(getattr(target, "__annotations__", {}))


def _is(hint: Any, kind: type) -> bool:
    """Return whether an annotation is this class, or a union with it: a function that is also called directly has `JobContext | None`."""
    if isinstance(hint, str):
        return kind.__name__ in re.split(r"[^\w]+", hint)
    return hint is kind or kind in typing.get_args(hint)


class _Signature:
    """The parameters of a handler: those that get the context, and those that the payload is for.

    Attributes:
        first: The parameter that gets a single argument; None: it takes none by position.
        takes_one: Whether it can be called with one argument, beside the contexts.
    """

    def __init__(self, function: Callable[..., Any], context: type) -> None:
        self.function = function
        self.hints = _hints(function)
        try:
            self.parameters = list(inspect.signature(function).parameters.values())
        except ValueError:  # a C function without a signature
            self.parameters = [_FIRST]
        self.contexts = [p for p in self.parameters if p.kind not in _MANY and _is(self.hints.get(p.name), context)]
        self.rest = [p for p in self.parameters if p not in self.contexts]
        self.required = [p for p in self.rest if p.default is p.empty and p.kind not in _MANY]
        places = (*_POSITIONAL, inspect.Parameter.VAR_POSITIONAL)
        self.first = next((p for p in self.rest if p.kind in places), None)
        self.takes_one = self.first is not None and all(p is self.first for p in self.required)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))})"

    def whole(self, read: Callable[[_Context], Any]) -> Callable[[_Context], Any]:
        """Its call with one argument, or with none beside the contexts where there is no parameter for it."""
        function, first = self.function, self.first
        if not self.contexts:
            if first is None:
                return lambda context: function()
            if first.kind in _POSITIONAL:
                return lambda context: function(read(context))
        filled = [p for p in self.parameters if p.kind in _POSITIONAL]
        while filled and filled[-1] is not first and filled[-1] not in self.contexts:
            filled.pop()  # parameters after the last one that gets a value keep their defaults
        values = [_CONTEXT if p in self.contexts else _PAYLOAD if p is first else p.default for p in filled]
        by_name = [p.name for p in self.contexts if p.kind is p.KEYWORD_ONLY]
        many = first is not None and first.kind is first.VAR_POSITIONAL

        def call(context: _Context) -> Any:
            given = [context if value is _CONTEXT else read(context) if value is _PAYLOAD else value for value in values]
            if many and not (isinstance(context, JobContext) and _is_empty(context)):
                given.append(read(context))
            return function(*given, **dict.fromkeys(by_name, context))

        return call

    def by_name(self) -> Invoke:
        """Its call with the members of the payload.

        Raises:
            TypeError: A parameter that needs a value has no name.
        """
        if any(p.kind in _NAMELESS for p in self.required):
            raise TypeError(
                f"each parameter of a handler of several must have a name, since it gets the payload's member of that name, "
                f"got {self.function!r} with {self}"
            )
        function, contexts = self.function, [p.name for p in self.contexts]
        required = [p.name for p in self.required]
        known = [p.name for p in self.rest if p.kind not in (*_MANY, *_NAMELESS)]
        any_name = any(p.kind is p.VAR_KEYWORD for p in self.rest)

        def call(context: JobContext) -> Any:
            members = _members(context, known)
            missing = [name for name in required if name not in members]
            unknown = [name for name in members if name in contexts or not (any_name or name in known)]
            if missing or unknown:
                lacks = f"lacks {', '.join(missing)}" if missing else ""
                has = f"has {', '.join(unknown)}" if unknown else ""
                problem = " and ".join(filter(None, (lacks, has)))
                raise JobError("InvalidPayload", f"members of the payload must be the handler's arguments {self}; it {problem}")
            return function(**members, **dict.fromkeys(contexts, context))

        return call


def _is_empty(context: JobContext) -> bool:
    return context.job.payload.data is None


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


def _with_default(read: Read, parameter: inspect.Parameter, hint: Any) -> Read:
    """An empty payload leaves the default of its parameter; a `Value` is passed as it is, because it may have headers."""
    if parameter.default is parameter.empty or _is(hint, Value):
        return read
    return lambda context: parameter.default if _is_empty(context) else read(context)


def _members(context: JobContext, known: list[str]) -> dict[str, Any]:
    payload = _reader(None)(context)
    if payload is None:
        return {}
    if not isinstance(payload, dict):
        raise JobError(
            "InvalidPayload",
            f"the payload must be an object with the members {', '.join(known)}, got {type(payload).__name__}",
            retryable=False,
        )
    return payload


def caller(function: Callable[..., Any], unpack: bool | None = None) -> Invoke:
    """Make the call of a handler from its signature.

    Parameters annotated `JobContext` get the context and do not count. A handler without any other does not read the payload.
    Otherwise one rule holds, whatever the number of parameters:

    A handler that can be called with one argument is called with the payload (JSON; `bytes` or `Value` where that parameter is
    annotated so). An empty payload leaves the default of that parameter; without a default it is None. A handler that cannot (it
    needs several arguments, or takes them by keyword only) gets the members of the payload by name, and the payload must be an
    object, or empty.

    Args:
        function: The handler.
        unpack: True: members by name in any case. False: the payload in any case.

    Raises:
        TypeError: The handler cannot be called so.

    Example:
        >>> from resonate_core.worker.calling import caller
        >>> _ = caller(lambda payload, retries=3: payload)
        >>> caller(lambda to, subject: to, unpack=False)
        Traceback (most recent call last):
        ...
        TypeError: with unpack=False a handler must take the payload as its one argument, got (to, subject)
    """
    signature = _Signature(function, JobContext)
    if unpack and any(p.kind in _NAMELESS for p in signature.rest):
        raise TypeError(f"with unpack=True a handler must take its parameters by name, got {signature}")
    if unpack is False and signature.rest and not signature.takes_one:
        raise TypeError(f"with unpack=False a handler must take the payload as its one argument, got {signature}")
    if signature.rest and (unpack or not signature.takes_one):
        return signature.by_name()
    if signature.first is None:
        return signature.whole(_reader(None))
    hint = signature.hints.get(signature.first.name)
    return signature.whole(_with_default(_reader(hint), signature.first, hint))


def _payloads(batch: BatchContext) -> list[Any]:
    return batch.payloads


def batch_caller(function: Callable[..., Any]) -> tuple[Read, InvokeBatch]:
    """How the payload of each job is read for a handler of batches, and the call of that handler.

    A parameter annotated `BatchContext` gets the context and does not count. The handler is called with one argument, the list of
    payloads, read as JSON, or as `bytes` or `Value` where it is annotated as a list of them; or with none, if it takes none.

    Args:
        function: The handler.

    Raises:
        TypeError: It cannot be called so.

    Example:
        >>> from resonate_core.worker.calling import batch_caller
        >>> _ = batch_caller(lambda payloads: payloads)
    """
    signature = _Signature(function, BatchContext)
    single = any(_is(signature.hints.get(p.name), JobContext) for p in signature.rest)
    if single or len(signature.contexts) > 1 or (signature.rest and not signature.takes_one):
        raise TypeError(
            f"{function!r} must take a list of payloads as its one argument, and a BatchContext where a parameter is annotated so, "
            f"got {signature}"
        )
    hint = signature.hints.get(signature.first.name) if signature.first is not None else None
    elements = typing.get_args(hint)
    return _reader(elements[0] if elements else hint), signature.whole(_payloads)
