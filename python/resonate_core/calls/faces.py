"""Faces: the calls as methods, made from the functions that build them, so that each has one signature and one text."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

from ..errors import NoEnvelope
from .call import Call, Repeated, Together

__all__ = [
    "AsyncFace",
    "AsyncRunner",
    "Method",
    "Runner",
    "SyncFace",
    "awaited",
    "awaited_count",
    "awaited_in_parts",
    "sent",
    "sent_count",
    "sent_in_parts",
]

_P = ParamSpec("_P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


#: The most requests of one repeated call. Each changes up to 1000 jobs.
_MOST_REPEATS = 1_000_000


def _no_end(total: int) -> NoEnvelope:
    return NoEnvelope(f"{total} jobs were changed by {_MOST_REPEATS} requests, and the server says that there are more")


class Runner(Protocol):
    """Runs calls."""

    def run(self, call: Call[T]) -> T:
        """Run one call."""

    def together(self, calls: Together[T]) -> T:
        """Run several calls in one transaction."""

    def repeated(self, calls: Repeated) -> int:
        """Repeat a call as long as there is more; return the sum of what the calls counted."""
        total = 0
        for _ in range(_MOST_REPEATS):
            count, more = self.run(calls.make())
            total += count
            if not more:
                return total
        raise _no_end(total)

    def in_parts(self, calls: Together[T]) -> T:
        """Run several calls, in requests of a limited size."""


class AsyncRunner(Protocol):
    """Runs calls for asyncio."""

    def run(self, call: Call[T]) -> Awaitable[T]:
        """Run one call."""

    async def together(self, calls: Together[T]) -> T:
        """Run several calls in one transaction."""

    async def repeated(self, calls: Repeated) -> int:
        """Repeat a call as long as there is more; return the sum of what the calls counted."""
        total = 0
        for _ in range(_MOST_REPEATS):
            count, more = await self.run(calls.make())
            total += count
            if not more:
                return total
        raise _no_end(total)

    async def in_parts(self, calls: Together[T]) -> T:
        """Run several calls, in requests of a limited size."""


class SyncFace:
    """An object whose methods send calls."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self._runner!r}"


class AsyncFace:
    """An object whose methods send calls and are awaited."""

    __slots__ = ("_runner",)

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self._runner!r}"


class Method(Generic[_P, T_co]):
    """For type checkers: what a method of a face is, seen on an object. At run time it is a plain function."""

    def __get__(self, instance: object, owner: type | None = None) -> Callable[_P, T_co]:
        raise NotImplementedError


def _dressed(method: Callable[..., Any], build: Callable[..., Any], model: Any) -> Callable[..., Any]:
    """Give a method the name, signature and text of the call that it sends."""
    name = build.__name__
    method.__name__, method.__qualname__ = name, f"{model.__name__}.{name}"
    text = (inspect.getdoc(getattr(model, name, None)) or build.__doc__ or "").strip()
    method.__doc__ = (
        text.partition("\n\n")[2].strip() if text.startswith(f"{name}(") else text
    )  # pybind11 begins with the signature
    signature = inspect.signature(build)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()], return_annotation=inspect.Signature.empty
    )
    return method


def sent(model: type, build: Callable[_P, Call[T] | Together[T]]) -> Method[_P, T]:
    """A method that runs the call of a builder.

    Args:
        model: The class of the core whose method of the same name has the text.
        build: The builder.
    """

    def method(self: SyncFace, *args: _P.args, **kwargs: _P.kwargs) -> T:
        call = build(*args, **kwargs)
        return self._runner.together(call) if isinstance(call, Together) else self._runner.run(call)

    return cast("Method[_P, T]", _dressed(method, build, model))


def sent_count(model: type, build: Callable[_P, Repeated]) -> Method[_P, int]:
    """A method that repeats the call of a builder, and returns the sum of its counts."""

    def method(self: SyncFace, *args: _P.args, **kwargs: _P.kwargs) -> int:
        return self._runner.repeated(build(*args, **kwargs))

    return cast("Method[_P, int]", _dressed(method, build, model))


def awaited(model: type, build: Callable[_P, Call[T] | Together[T]]) -> Method[_P, Coroutine[Any, Any, T]]:
    """A coroutine function that runs the call of a builder; see `sent`."""

    async def method(self: AsyncFace, *args: _P.args, **kwargs: _P.kwargs) -> T:
        call = build(*args, **kwargs)
        if isinstance(call, Together):
            return await self._runner.together(call)
        return await self._runner.run(call)

    return cast("Method[_P, Coroutine[Any, Any, T]]", _dressed(method, build, model))


def awaited_count(model: type, build: Callable[_P, Repeated]) -> Method[_P, Coroutine[Any, Any, int]]:
    """A coroutine function that repeats the call of a builder; see `sent_count`."""

    async def method(self: AsyncFace, *args: _P.args, **kwargs: _P.kwargs) -> int:
        return await self._runner.repeated(build(*args, **kwargs))

    return cast("Method[_P, Coroutine[Any, Any, int]]", _dressed(method, build, model))


def sent_in_parts(model: type, build: Callable[_P, Together[T]], text: str) -> Method[_P, T]:
    """A method that sends many calls in a few requests; `text` describes it."""

    def method(self: SyncFace, *args: _P.args, **kwargs: _P.kwargs) -> T:
        return self._runner.in_parts(build(*args, **kwargs))

    made = _dressed(method, build, model)
    made.__doc__ = text
    return cast("Method[_P, T]", made)


def awaited_in_parts(model: type, build: Callable[_P, Together[T]], text: str) -> Method[_P, Coroutine[Any, Any, T]]:
    """A coroutine function that sends many calls in a few requests; see `sent_in_parts`."""

    async def method(self: AsyncFace, *args: _P.args, **kwargs: _P.kwargs) -> T:
        return await self._runner.in_parts(build(*args, **kwargs))

    made = _dressed(method, build, model)
    made.__doc__ = text
    return cast("Method[_P, Coroutine[Any, Any, T]]", made)
