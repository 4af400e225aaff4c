"""The call of a handler: which parts of a job its parameters get."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._core import Value
from ..errors import Invalid
from .context import BatchContext, JobContext
from .conversion import Conversion, Unfit, at_member, conversion, encoded, holds_members, kinds_of, read_hints
from .outcomes import JobError

__all__ = ["BatchCall", "Call", "Invoke", "InvokeBatch", "Read", "Upcast", "is_async"]

Invoke = Callable[[JobContext], Any]
#: How the payload of a job is read.
Read = Callable[[JobContext], Any]
InvokeBatch = Callable[[BatchContext], Any]
#: Makes the present payload of an older one.
Upcast = Callable[[Any], Any]
_Context = TypeVar("_Context")

_log = logging.getLogger("resonate_core.worker")

#: The code of a payload that does not fit its handler.
INVALID_PAYLOAD = "InvalidPayload"
#: The name of the parameter that gets the whole payload.
WHOLE = "payload"
#: What a parameter gets at each call, in place of a default.
_CONTEXT, _PAYLOAD = object(), object()
#: The payload of a job that has none.
_EMPTY: Any = object()
#: JSON's null: the payload None is no payload at all.
_NULL = Value(data="bnVsbA==")
_FIRST = inspect.Parameter(WHOLE, inspect.Parameter.POSITIONAL_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: a function, or an object that is called as one."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _hints(function: Callable[..., Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations; where a name in one of them cannot be found, its text."""
    while isinstance(function, functools.partial):
        function = function.func
    return read_hints(function if inspect.isroutine(function) else type(function).__call__, names)


def _is(hint: Any, kind: type) -> bool:
    """Return whether an annotation is this class, or a union with it: a function that is also called directly has `JobContext | None`."""
    if isinstance(hint, str):
        return kind.__name__ in re.split(r"[^\w]+", hint)
    return any(each is kind for each in kinds_of(hint))


class _Signature:
    """The parameters of a handler: those that get the context, and those that the payload is for.

    Attributes:
        first: The parameter that gets a single argument; None: it takes none by position.
        takes_one: Whether it can be called with one argument, beside the contexts.
        accepts: Whether there is a parameter for the payload.
    """

    def __init__(self, function: Callable[..., Any], context: type, names: Mapping[str, Any]) -> None:
        self.function = function
        self.hints = _hints(function, names)
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

    def hint(self, parameter: inspect.Parameter) -> Any:
        return self.hints.get(parameter.name, parameter.empty)

    def declares_whole(self) -> bool:
        """Whether its first parameter is declared to take the whole payload, and the others can do without."""
        first = self.first
        if first is None or not self.takes_one:
            return False
        hint = self.hint(first)
        raw = _is(hint, Value) or _is(hint, bytes)
        return first.name == WHOLE or first.kind in _NAMELESS or raw or holds_members(hint)

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
            if many and not (isinstance(context, JobContext) and context.job.payload.data is None):
                given.append(read(context))
            return function(*given, **dict.fromkeys(by_name, context))

        return call


def _converter(hint: Any, named: str) -> Conversion | None:
    if isinstance(hint, str):
        _log.warning("%s is not converted: a name in its annotation %r cannot be found where the task is registered", named, hint)
        return None
    return conversion(hint, named)


def _data(payload: Value) -> Any:
    """What JSON the payload has. Raises `Unfit`."""
    if payload.data is None:
        return _EMPTY
    try:
        return payload.json()
    except Invalid as error:
        raise Unfit(str(error)) from error


# -- how arguments are made of a payload -------------------------------------------------------------------------------------------


class _Ignored:
    """A handler without a parameter for the payload."""

    def __init__(self, signature: _Signature) -> None:
        self.invoke: Invoke = signature.whole(lambda context: None)

    def decode(self, data: Any) -> None:
        """Every payload fits."""

    def payload_of(self, bound: dict[str, Any]) -> Any:
        """It has none."""
        return None

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {}


class _Raw:
    """The whole payload, undecoded: `bytes`, or a `Value`."""

    def __init__(self, signature: _Signature, first: inspect.Parameter) -> None:
        self._first = first
        default, as_value = first.default, _is(signature.hint(first), Value)

        def read(context: JobContext) -> Any:
            payload = context.job.payload
            if as_value:
                return payload
            if payload.data is None and default is not first.empty:
                return default
            try:
                return payload.bytes()
            except Invalid as error:
                raise JobError(INVALID_PAYLOAD, str(error), retryable=False) from error

        self.invoke: Invoke = signature.whole(read)

    def decode(self, data: Any) -> None:
        """Every payload fits."""

    def payload_of(self, bound: dict[str, Any]) -> Any:
        return _only(bound, self._first)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {}


class _Whole:
    """The whole payload is the first argument, and the others keep their defaults."""

    def __init__(self, signature: _Signature, first: inspect.Parameter, upcast: Upcast | None) -> None:
        self._first = first
        self._conversion = _converter(signature.hint(first), f"parameter {first.name!r} of {signature.function!r}")
        self._upcast = upcast
        self.invoke: Invoke = signature.whole(self._read)

    def _read(self, context: JobContext) -> Any:
        return _reading(lambda: self.decode(_upcasted(self._upcast, _data(context.job.payload))))

    def decode(self, data: Any) -> Any:
        """The argument. An empty payload leaves the default of its parameter, or is None without one."""
        if data is _EMPTY:
            if self._first.default is not self._first.empty:
                return self._first.default
            data = None
        return data if self._conversion is None else _converted(self._conversion, data, "")

    def payload_of(self, bound: dict[str, Any]) -> Any:
        return _only(bound, self._first)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {} if self._conversion is None else self._conversion.schema(definitions)


class _ByName:
    """The members of the payload are the arguments of their names.

    Args:
        signature: Of the handler.
        upcast: Of its task.
        first_alone: Whether a payload that is no object is the first argument.

    Raises:
        TypeError: A parameter that needs a value has no name.
    """

    def __init__(self, signature: _Signature, upcast: Upcast | None, first_alone: bool) -> None:
        if any(p.kind in _NAMELESS for p in signature.required):
            raise TypeError(
                f"each parameter of a handler of several must have a name, since it gets the payload's member of that name, "
                f"got {signature.function!r} with {signature}"
            )
        self._signature = signature
        self._upcast = upcast
        self._alone = signature.first.name if first_alone and signature.first is not None else None
        self._contexts = [p.name for p in signature.contexts]
        self._required = [p.name for p in signature.required]
        self._known = {p.name: p for p in signature.rest if p.kind not in (*_MANY, *_NAMELESS)}
        self._any_name = any(p.kind is p.VAR_KEYWORD for p in signature.rest)
        found = {
            name: _converter(signature.hint(p), f"parameter {name!r} of {signature.function!r}") for name, p in self._known.items()
        }
        self._conversions = {name: each for name, each in found.items() if each is not None}

    def invoke(self, context: JobContext) -> Any:
        members = _reading(lambda: self.decode(_upcasted(self._upcast, _data(context.job.payload))))
        return self._signature.function(**members, **dict.fromkeys(self._contexts, context))

    def decode(self, data: Any) -> dict[str, Any]:
        """The arguments by name."""
        members = self._members(data)
        if any(name not in members for name in self._required) or any(self._is_unknown(name) for name in members):
            missing = [name for name in self._required if name not in members]
            unknown = [name for name in members if self._is_unknown(name)]
            lacks = f"lacks {', '.join(missing)}" if missing else ""
            has = f"has {', '.join(unknown)}" if unknown else ""
            hint = f"; {_HOW_WHOLE}" if self._alone is not None else ""
            raise Unfit(
                f"members of the payload must be the handler's arguments {self._signature}; "
                f"it {' and '.join(filter(None, (lacks, has)))}{hint}"
            )
        if not self._conversions:
            return members
        return {
            name: _converted(self._conversions[name], given, name) if name in self._conversions else given
            for name, given in members.items()
        }

    def _is_unknown(self, name: str) -> bool:
        return name in self._contexts or not (self._any_name or name in self._known)

    def _members(self, data: Any) -> dict[str, Any]:
        if isinstance(data, dict):
            return data
        if self._alone is not None:
            if data is _EMPTY:
                return {self._alone: None} if self._required else {}
            return {self._alone: data}
        if data is _EMPTY or data is None:
            return {}
        raise Unfit(f"the payload must be an object with the members {', '.join(self._known)}, got {type(data).__name__}")

    def payload_of(self, bound: dict[str, Any]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, given in bound.items():
            if name in self._known:
                members[name] = given
            elif isinstance(given, dict):  # of **names
                members.update(given)
            else:
                raise TypeError(f"arguments of a job must have names, got {given!r} for *{name}")
        return members

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        properties = {}
        for name, parameter in self._known.items():
            found = self._conversions[name].schema(definitions) if name in self._conversions else {}
            if parameter.default is not parameter.empty:
                found["default"] = encoded(parameter.default)
            properties[name] = found
        return {
            "type": "object",
            "properties": properties,
            "required": self._required,
            "additionalProperties": self._any_name,
        }


_HOW_WHOLE = (
    f"a handler takes the whole payload if its parameter is named {WHOLE}, is annotated dict or with a dataclass or model, "
    "or its task has unpack=False"
)


def _only(bound: dict[str, Any], first: inspect.Parameter) -> Any:
    """The payload of a call whose first argument is the whole payload."""
    others = [name for name in bound if name != first.name]
    given = bound.get(first.name)
    if first.kind is first.VAR_POSITIONAL:
        given, *more = given or (None,)
        others += map(repr, more)
    if others:
        raise TypeError(
            f"{first.name} takes the whole payload, so no other argument can be passed, got {', '.join(others)}: "
            "with unpack=True on the task each argument is a member of its own"
        )
    return _NULL if given is None and first.name in bound else given


def _upcasted(upcast: Upcast | None, data: Any) -> Any:
    if upcast is None or data is _EMPTY:
        return data
    try:
        return encoded(upcast(data))
    except Exception as error:
        raise Unfit(f"upcast raised {type(error).__name__}: {error}") from error


def _converted(conversion: Conversion, data: Any, member: str) -> Any:
    try:
        return conversion.convert(data)
    except Unfit as error:
        raise Unfit(at_member(str(error), member)) from error


def _reading(read: Callable[[], Any]) -> Any:
    """Read a payload for a handler: one that does not fit fails its job for good."""
    try:
        return read()
    except Unfit as error:
        raise JobError(INVALID_PAYLOAD, str(error), retryable=False) from error


class Call:
    """How a handler is called with the payload of a job, and how a payload is made for it.

    Parameters annotated `JobContext` get the context and do not count. Then one rule holds, whatever the number of parameters:

    - The payload is an object, and each parameter gets the member of its name.
    - A handler declares by its first parameter that it takes the whole payload instead: the parameter is named ``payload``, has no
      name (it is positional-only), or is annotated with a type whose JSON is an object, with `bytes`, or with `Value`. Its other
      parameters then have defaults, which they keep.
    - A payload that is not an object is the first argument.

    Args:
        function: The handler.
        unpack: True: members by name in any case. False: the payload in any case. None: as the handler declares.
        upcast: Makes the present payload of an older one, before it is converted.
        names: The names of the scope in which the handler is defined, for its annotations.

    Attributes:
        invoke: Calls the handler with a context.

    Raises:
        TypeError: The handler cannot be called so, or an annotation has no JSON.
        ImportError: An annotation needs a library that is not installed.

    Example:
        >>> from resonate_core.worker.calling import Call
        >>> Call(lambda to, subject: to).payload_of("ada", subject="hi")
        {'to': 'ada', 'subject': 'hi'}
        >>> Call(lambda to, subject: to, unpack=False)
        Traceback (most recent call last):
        ...
        TypeError: with unpack=False a handler must take the payload as its one argument, got (to, subject)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        names: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> None:
        signature = _Signature(function, JobContext, names)
        if unpack and any(p.kind in _NAMELESS for p in signature.rest):
            raise TypeError(f"with unpack=True a handler must take its parameters by name, got {signature}")
        if unpack is False and signature.rest and not signature.takes_one:
            raise TypeError(f"with unpack=False a handler must take the payload as its one argument, got {signature}")
        if upcast is not None and not callable(upcast):
            raise TypeError(f"upcast must be a function of a payload, got {upcast!r}")
        self._signature = signature
        self._public = inspect.Signature(signature.rest)
        self._way = self._chosen(signature, unpack, upcast)
        self.invoke: Invoke = self._way.invoke

    @staticmethod
    def _chosen(signature: _Signature, unpack: bool | None, upcast: Upcast | None) -> _Ignored | _Raw | _Whole | _ByName:
        first = signature.first
        if not signature.rest:
            return _Ignored(signature)
        whole = signature.declares_whole() if unpack is None else not unpack
        if not whole or first is None:
            return _ByName(signature, upcast, first_alone=unpack is None and signature.takes_one)
        hint = signature.hint(first)
        if not (_is(hint, Value) or _is(hint, bytes)):
            return _Whole(signature, first, upcast)
        if upcast is not None:
            raise TypeError(f"upcast must be None for a payload that is not decoded, got {upcast!r} for {signature}")
        return _Raw(signature, first)

    @property
    def parameters(self) -> list[str]:
        """The parameters that the payload is for, as they are written."""
        return [str(each) for each in self._signature.rest]

    def checked(self, payload: Any) -> Any:
        """A payload as the store takes it, once it is known to fit.

        Args:
            payload: The payload: JSON-able, a value of an annotated type, bytes, or a `Value`.

        Raises:
            Invalid: It does not fit; the error names the member.
            TypeError: It has no JSON.
        """
        given = encoded(payload)
        if isinstance(self._way, (_Ignored, _Raw)):
            return given
        try:
            self._way.decode(_given_data(given))
        except Unfit as error:
            raise Invalid(str(error)) from error
        return given

    def payload_of(self, *args: Any, **kwargs: Any) -> Any:
        """The payload of a call with these arguments.

        Raises:
            TypeError: The handler cannot be called so.
        """
        return self._way.payload_of(self._public.bind(*args, **kwargs).arguments)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the payload."""
        return _with_definitions(self._way.schema)


def _given_data(payload: Any) -> Any:
    """The JSON of a payload that is to be enqueued."""
    if payload is None:
        return _EMPTY
    if isinstance(payload, Value):
        return _data(payload)
    if isinstance(payload, bytes):
        try:
            return json.loads(payload)
        except ValueError as error:
            raise Unfit(f"the payload must be JSON, got bytes that are not: {error}") from error
    return payload


def _with_definitions(schema: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    found = schema(definitions)
    return {**found, "$defs": definitions} if definitions else found


def _payloads(batch: BatchContext) -> list[Any]:
    return batch.payloads


class BatchCall:
    """How the payload of each job is read for a handler of batches, and the call of that handler.

    A parameter annotated `BatchContext` gets the context and does not count. The handler is called with one argument, the list of
    payloads, each read as the annotation of the list's elements says; or with none, if it takes none.

    Args:
        function: The handler.
        upcast: As of `Call`.
        names: As of `Call`.

    Attributes:
        invoke: Calls the handler with a context.
        read: Reads the payload of one job.

    Raises:
        TypeError: It cannot be called so.

    Example:
        >>> from resonate_core.worker.calling import BatchCall
        >>> BatchCall(lambda payloads: payloads).checked({"a": 1})
        {'a': 1}
    """

    def __init__(
        self,
        function: Callable[..., Any],
        upcast: Upcast | None = None,
        names: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> None:
        signature = _Signature(function, BatchContext, names)
        single = any(_is(signature.hints.get(p.name), JobContext) for p in signature.rest)
        if single or len(signature.contexts) > 1 or (signature.rest and not signature.takes_one):
            raise TypeError(
                f"{function!r} must take a list of payloads as its one argument, and a BatchContext where a parameter is annotated "
                f"so, got {signature}"
            )
        self._signature = signature
        self.invoke: InvokeBatch = signature.whole(_payloads)
        hint = signature.hint(signature.first) if signature.first is not None else inspect.Parameter.empty
        elements = typing.get_args(hint)
        element = elements[0] if elements else hint if _is(hint, bytes) or _is(hint, Value) else inspect.Parameter.empty

        def one(payload: Any, /) -> Any:
            return payload

        one.__annotations__ = {"payload": element}
        self._one = Call(one, upcast=upcast)
        self.read: Read = self._one.invoke

    @property
    def parameters(self) -> list[str]:
        """As of `Call`."""
        return [str(each) for each in self._signature.rest]

    def checked(self, payload: Any) -> Any:
        """As of `Call`, of one payload."""
        return self._one.checked(payload)

    def payload_of(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: the arguments of the function are of many jobs.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"a handler of batches takes a list of payloads, {self._signature}: enqueue each payload by itself")

    def schema(self) -> dict[str, Any]:
        """As of `Call`, of one payload."""
        return self._one.schema()
