"""The parameters of a handler: those that get the context, and those that the payload is for."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from .._core import Value
from .context import JobContext
from .conversion import conversion, holds_members, kinds_of, read_hints
from .dependencies import Dependencies

__all__ = ["MANY", "NAMELESS", "WHOLE", "Signature", "is_a", "is_async", "is_generator", "wraps_async"]

_Context = TypeVar("_Context")

#: The name of the parameter that gets the whole payload.
WHOLE = "payload"
#: What a parameter gets at each call, in place of a default.
_PAYLOAD = object()
_FIRST = inspect.Parameter(WHOLE, inspect.Parameter.POSITIONAL_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: The kinds of parameters that get any number of arguments, and of those without a name.
MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
NAMELESS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it returns a coroutine: a coroutine function, or an object with such a `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def is_generator(function: Callable[..., Any]) -> bool:
    """Whether calling it returns a generator: a generator function, or an object with such a `__call__`."""
    return any(
        inspect.isasyncgenfunction(each) or (inspect.isgeneratorfunction(each) and not _is_coroutine(each))
        for each in (function, getattr(function, "__call__", None))  # noqa: B004
        if each is not None
    )


def _is_coroutine(function: Any) -> bool:
    """Whether a generator function is a coroutine, by `types.coroutine`."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)


def wraps_async(function: Callable[..., Any]) -> bool:
    """Whether it is a synchronous function around an asynchronous one, as `functools.wraps` shows: it may return a coroutine."""
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    return not is_async(function) and is_async(inspect.unwrap(inner))


def _hints(function: Callable[..., Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations; if a name in one cannot be found, its text."""
    while isinstance(function, functools.partial):
        function = function.func
    return read_hints(function if inspect.isroutine(function) else type(function).__call__, names)


def is_a(hint: Any, kind: type) -> bool:
    """Return whether an annotation is this class, or a union with it: a function that is also called directly has `JobContext | None`."""
    if isinstance(hint, str):
        return kind.__name__ in re.split(r"[^\w]+", hint)
    return any(each is kind or typing.get_origin(each) is kind for each in kinds_of(hint))


class _Given(NamedTuple):
    """A parameter that gets the context, or what it has."""

    by: Callable[[Any], Any]


def _itself(context: Any) -> Any:
    return context


def _giver(hint: Any, named: str) -> Callable[[Any], Any]:
    """Return the function that takes the dependencies from a context, with the type of the annotation."""
    found = [typing.get_args(each) for each in kinds_of(hint) if typing.get_origin(each) is Dependencies]
    made = conversion(found[0][0], named) if found else None
    if made is None:
        return lambda context: context.dependencies
    return lambda context: context.dependencies.typed(made)


class Signature:
    """The parameters of a handler: those that get the context or the dependencies, and those that the payload is for.

    Attributes:
        takes_dependencies: Whether a parameter gets the dependencies of the job.
        givers: What the parameters of the first kind get, by name.
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
        self.contexts = [p for p in self.parameters if p.kind not in MANY and is_a(self.hints.get(p.name), context)]
        self.givers: dict[str, Callable[[Any], Any]] = {p.name: _itself for p in self.contexts}
        self.takes_dependencies = False
        if context is JobContext:
            for p in self.parameters:
                if p.kind not in MANY and is_a(self.hints.get(p.name), Dependencies):
                    self.contexts.append(p)
                    self.takes_dependencies = True
                    self.givers[p.name] = _giver(self.hints[p.name], f"parameter {p.name!r} of {function!r}")
        self.rest = [p for p in self.parameters if p not in self.contexts]
        self.required = [p for p in self.rest if p.default is p.empty and p.kind not in MANY]
        places = (*_POSITIONAL, inspect.Parameter.VAR_POSITIONAL)
        self.first = next((p for p in self.rest if p.kind in places), None)
        self.takes_one = self.first is not None and all(p is self.first for p in self.required)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))})"

    def hint(self, parameter: inspect.Parameter) -> Any:
        """The annotation of a parameter; `inspect.Parameter.empty` without one."""
        return self.hints.get(parameter.name, parameter.empty)

    def declares_whole(self) -> bool:
        """Whether its first parameter is declared to take the whole payload, and the others can do without."""
        first = self.first
        if first is None or not self.takes_one:
            return False
        hint = self.hint(first)
        raw = is_a(hint, Value) or is_a(hint, bytes)
        return first.name == WHOLE or first.kind in NAMELESS or raw or holds_members(hint)

    def whole(self, read: Callable[[_Context], Any]) -> Callable[[_Context], Any]:
        """Return a call of the function with its contexts and, if it has a parameter for it, the payload."""
        function, first = self.function, self.first
        if not self.contexts:
            if first is None:
                return lambda context: function()
            if first.kind in _POSITIONAL:
                return lambda context: function(read(context))
        filled = [p for p in self.parameters if p.kind in _POSITIONAL]
        while filled and filled[-1] is not first and filled[-1] not in self.contexts:
            filled.pop()  # parameters after the last one that gets a value keep their defaults
        values = [_Given(self.givers[p.name]) if p in self.contexts else _PAYLOAD if p is first else p.default for p in filled]
        givers = self.givers
        by_name = [p.name for p in self.contexts if p.kind is p.KEYWORD_ONLY]
        many = first is not None and first.kind is first.VAR_POSITIONAL

        def call(context: _Context) -> Any:
            given = [
                value.by(context) if type(value) is _Given else read(context) if value is _PAYLOAD else value for value in values
            ]
            if many and not (isinstance(context, JobContext) and context.payload.data is None):
                given.append(read(context))
            return function(*given, **{name: givers[name](context) for name in by_name})

        return call
