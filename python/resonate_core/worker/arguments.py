"""Conversion between the payload of a job and the arguments of its handler."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable
from typing import Any

from .._core import Value
from ..errors import Invalid
from .context import JobContext
from .conversion import Conversion, Unfit, at_member, conversion
from .encoding import payload_encoded
from .outcomes import JobError
from .signature import MANY, NAMELESS, WHOLE, Signature, is_a

__all__ = ["EMPTY", "ByName", "Ignored", "Invoke", "Raw", "Upcast", "Whole", "data_of"]

Invoke = Callable[[JobContext], Any]
#: Makes the present payload of an older one.
Upcast = Callable[[Any], Any]

_log = logging.getLogger("resonate_core.worker")

#: The code of a payload that does not fit its handler.
INVALID_PAYLOAD = "InvalidPayload"
#: The payload of a job that has none.
EMPTY: Any = object()
#: JSON's null: the payload None is no payload at all.
_NULL = Value(data="bnVsbA==")


def _converter(hint: Any, named: str) -> Conversion | None:
    if isinstance(hint, str):
        _log.warning("%s is not converted: a name in its annotation %r cannot be found where the task is registered", named, hint)
        return None
    return conversion(hint, named)


def data_of(payload: Value) -> Any:
    """Decode the JSON of a payload. Raises `Unfit`."""
    try:
        data = payload.json()
    except Invalid as error:
        raise Unfit(str(error)) from error
    except RecursionError as error:
        raise Unfit("the payload must not be nested so deeply that it cannot be read") from error
    return EMPTY if data is None and payload.data is None else data


class Ignored:
    """A handler without a parameter for the payload."""

    def __init__(self, signature: Signature) -> None:
        self.invoke: Invoke = signature.whole(lambda context: None)

    def decode(self, data: Any) -> None:
        """Every payload fits."""

    def payload_of(self, bound: dict[str, Any]) -> Any:
        """None: there is no payload."""
        return None

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema of the payload; definitions that it refers to are added to the dict."""
        return {}


class Raw:
    """The whole payload, undecoded: `bytes`, or a `Value`."""

    def __init__(self, signature: Signature, first: inspect.Parameter) -> None:
        self._first = first
        default, as_value = first.default, is_a(signature.hint(first), Value)

        def read(context: JobContext) -> Any:
            payload = context.payload
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
        """The one argument."""
        return _only(bound, self._first)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema of the payload; definitions that it refers to are added to the dict."""
        return {}


class Whole:
    """The whole payload is the first argument; the other parameters have their defaults."""

    def __init__(self, signature: Signature, first: inspect.Parameter, upcast: Upcast | None) -> None:
        self._first = first
        self._conversion = _converter(signature.hint(first), f"parameter {first.name!r} of {signature.function!r}")
        self._upcast = upcast
        self.invoke: Invoke = signature.whole(self._read)

    def _read(self, context: JobContext) -> Any:
        return _read(context, self._upcast, self.decode)

    def decode(self, data: Any) -> Any:
        """Return the argument. An empty payload gives the default of the parameter, or None without one."""
        if data is EMPTY:
            if self._first.default is not self._first.empty:
                return self._first.default
            data = None
        return data if self._conversion is None else _converted(self._conversion, data, "")

    def payload_of(self, bound: dict[str, Any]) -> Any:
        """The one argument."""
        return _only(bound, self._first)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        """The JSON Schema of the payload; definitions that it refers to are added to the dict."""
        return {} if self._conversion is None else self._conversion.schema(definitions)


class ByName:
    """The members of the payload are the arguments of their names.

    Args:
        signature: Of the handler.
        upcast: Of its task.
        first_alone: Whether a payload that is no object is the first argument.

    Raises:
        TypeError: A parameter that needs a value has no name.
    """

    def __init__(self, signature: Signature, upcast: Upcast | None, first_alone: bool) -> None:
        if any(p.kind in NAMELESS for p in signature.required):
            raise TypeError(
                f"each parameter of a handler of several must have a name, since it gets the payload's member of that name, "
                f"got {signature.function!r} with {signature}"
            )
        self._signature = signature
        self._upcast = upcast
        self._alone = signature.first.name if first_alone and signature.first is not None else None
        self._contexts = [p.name for p in signature.contexts]
        self._givers = signature.givers
        self._required = [p.name for p in signature.required]
        self._known = {p.name: p for p in signature.rest if p.kind not in (*MANY, *NAMELESS)}
        self._alone_fits = self._alone in self._known and all(name == self._alone for name in self._required)
        self._any_name = any(p.kind is p.VAR_KEYWORD for p in signature.rest)
        found = {
            name: _converter(signature.hint(p), f"parameter {name!r} of {signature.function!r}") for name, p in self._known.items()
        }
        self._conversions = {name: each for name, each in found.items() if each is not None}

    def invoke(self, context: JobContext) -> Any:
        """Call the handler with the members."""
        members = _read(context, self._upcast, self.decode)
        if not self._contexts:  # no second dictionary, which is faster
            return self._signature.function(**members)
        return self._signature.function(**members, **{name: give(context) for name, give in self._givers.items()})

    def decode(self, data: Any) -> dict[str, Any]:
        """The arguments by name."""
        if isinstance(data, dict):
            members = data
            self._check(members)
        else:
            members = self._members(data)
            if not self._alone_fits:
                self._check(members)
        if not self._conversions:
            return members
        return {
            name: _converted(self._conversions[name], given, name) if name in self._conversions else given
            for name, given in members.items()
        }

    def _check(self, members: dict[str, Any]) -> None:
        missing = [name for name in self._required if name not in members]
        unknown = [name for name in members if name in self._contexts or not (self._any_name or name in self._known)]
        if missing or unknown:
            lacks = f"lacks {', '.join(missing)}" if missing else ""
            has = f"has {', '.join(unknown)}" if unknown else ""
            hint = f"; {_HOW_WHOLE}" if self._alone is not None else ""
            raise Unfit(
                f"members of the payload must be the handler's arguments {self._signature}; "
                f"it {' and '.join(filter(None, (lacks, has)))}{hint}"
            )

    def _members(self, data: Any) -> dict[str, Any]:
        """The members of a payload that is no object."""
        if self._alone is not None:
            if data is EMPTY:
                return {self._alone: None} if self._required else {}
            return {self._alone: data}
        if data is EMPTY or data is None:
            return {}
        raise Unfit(f"the payload must be an object with the members {', '.join(self._known)}, got {type(data).__name__}")

    def payload_of(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name."""
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
        """The JSON Schema of the payload; definitions that it refers to are added to the dict."""
        properties = {}
        for name, parameter in self._known.items():
            found = self._conversions[name].schema(definitions) if name in self._conversions else {}
            if parameter.default is not parameter.empty:
                with contextlib.suppress(Invalid):  # a schema does not show a secret
                    found["default"] = payload_encoded(parameter.default)
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


def _upcasted(upcast: Upcast, data: Any) -> Any:
    try:
        return payload_encoded(upcast(data))
    except Exception as error:
        raise Unfit(f"upcast raised {type(error).__name__}: {error}") from error


def _converted(conversion: Conversion, data: Any, member: str) -> Any:
    try:
        return conversion.convert(data)
    except Unfit as error:
        raise Unfit(at_member(str(error), member)) from error


def _read(context: JobContext, upcast: Upcast | None, decode: Callable[[Any], Any]) -> Any:
    """Read the payload of a job for a handler.

    Raises:
        JobError: The payload does not fit the handler; the job is not retried.
    """
    try:
        data = data_of(context.payload)
        return decode(data if upcast is None or data is EMPTY else _upcasted(upcast, data))
    except Unfit as error:
        raise JobError(INVALID_PAYLOAD, str(error), retryable=False) from error
