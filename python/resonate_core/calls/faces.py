"""A face: a class with the methods of a noun of the core (same signatures, texts and checks), each of which sends its call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from .._core import Jobs as CoreJobs
from ..errors import NoEnvelope
from .call import AnyCall, Call, Repeated, Together
from .graph import jobs_then
from .graph_nodes import ToRun
from .made import made, noun_of, together

__all__ = [
    "AsyncFace",
    "AsyncRunner",
    "Method",
    "Runner",
    "SyncFace",
    "awaited",
    "awaited_in_parts",
    "sent",
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

    def run_together(self, calls: Together[T]) -> T:
        """Run several calls in one transaction."""

    def run_repeated(self, calls: Repeated) -> int:
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

    async def run_together(self, calls: Together[T]) -> T:
        """Run several calls in one transaction."""

    async def run_repeated(self, calls: Repeated) -> int:
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


def _parameters(line: str) -> list[inspect.Parameter]:
    """Return the parameters in the first line of a text of the core, which is the signature of the method."""
    (function,) = ast.parse(f"def {line}: ...").body
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    places = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(places) - len(given.defaults)), *given.defaults]
    pairs: list[tuple[Any, ast.arg, ast.expr | None]] = [
        (inspect.Parameter.POSITIONAL_OR_KEYWORD, *pair) for pair in zip(places, defaults, strict=True)
    ]
    pairs += [(inspect.Parameter.KEYWORD_ONLY, *pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        pairs.append((inspect.Parameter.VAR_KEYWORD, given.kwarg, None))
    return [_parameter(kind, one, default) for kind, one, default in pairs[1:]]


def _parameter(kind: Any, one: ast.arg, default: ast.expr | None) -> inspect.Parameter:
    assert one.annotation is not None
    annotation = ast.unparse(one.annotation).replace("resonate_core._core.", "")
    value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
    return inspect.Parameter(one.arg, kind, default=value, annotation=annotation)


class _Signature(inspect.Signature):
    """A signature that is read from the text of the core when it is first looked at: reading all of them takes some ms.

    Args:
        line: The first line of the text of a method.
    """

    __slots__ = ("_line",)

    def __init__(self, line: str) -> None:
        self._line = line

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        """The parameters by name, `self` first."""
        if self._line:
            super().__init__([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *_parameters(self._line)])
            self._line = ""
        return super().parameters

    @property
    def return_annotation(self) -> Any:
        """None is said: a coroutine function has another result than the method of the core."""
        return self.empty

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """Return a plain signature with these changes."""
        return inspect.Signature(list(self.parameters.values())).replace(**changes)


def _dressed(method: Callable[..., Any], of: Callable[..., Any], text: str | None = None) -> Callable[..., Any]:
    """Give a method the name, signature and text of the method of the core whose call it sends."""
    signature, _, own_text = (inspect.getdoc(of) or "").partition("\n")
    method.__name__, method.__qualname__ = of.__name__, f"{noun_of(of).__name__}.{of.__name__}"
    method.__doc__ = own_text.strip() if text is None else text
    method.__signature__ = _Signature(signature)  # type: ignore[attr-defined]
    return method


def _maker(of: Callable[Concatenate[Any, _P], Any]) -> Callable[_P, AnyCall[Any]]:
    """Return what makes the call of a method. An `enqueue_many` with ``then`` is one request, all or none."""
    if noun_of(of) is not CoreJobs or of.__name__ != "enqueue_many":
        return partial(made, of)

    def enqueue_many(*args: Any, then: ToRun | None = None, **kwargs: Any) -> AnyCall[Any]:
        calls = together(of, *args, **kwargs)
        return calls if then is None else jobs_then([call.data for call in calls.calls], then)

    return cast("Callable[_P, AnyCall[Any]]", enqueue_many)


def _run(runner: Runner, call: AnyCall[Any]) -> Any:
    if isinstance(call, Together):
        return runner.run_together(call)
    return runner.run_repeated(call) if isinstance(call, Repeated) else runner.run(call)


async def _run_async(runner: AsyncRunner, call: AnyCall[Any]) -> Any:
    if isinstance(call, Together):
        return await runner.run_together(call)
    return await (runner.run_repeated(call) if isinstance(call, Repeated) else runner.run(call))


def sent(of: Callable[Concatenate[Any, _P], T]) -> Method[_P, T]:
    """A method that sends the call of a method of the core."""
    make = _maker(of)

    def method(self: SyncFace, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        return _run(self._runner, make(*args, **kwargs))

    return cast("Method[_P, T]", _dressed(method, of))


def awaited(of: Callable[Concatenate[Any, _P], T]) -> Method[_P, Coroutine[Any, Any, T]]:
    """A coroutine function that sends the call of a method of the core."""
    make = _maker(of)

    async def method(self: AsyncFace, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        return await _run_async(self._runner, make(*args, **kwargs))

    return cast("Method[_P, Coroutine[Any, Any, T]]", _dressed(method, of))


def sent_in_parts(of: Callable[Concatenate[Any, _P], T], text: str) -> Method[_P, T]:
    """A method that sends the calls of a method of the core in a few requests; `text` describes it."""
    make = _maker(of)

    def method(self: SyncFace, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        call = make(*args, **kwargs)
        return self._runner.in_parts(call) if isinstance(call, Together) else _run(self._runner, call)

    return cast("Method[_P, T]", _dressed(method, of, text))


def awaited_in_parts(of: Callable[Concatenate[Any, _P], T], text: str) -> Method[_P, Coroutine[Any, Any, T]]:
    """A coroutine function that sends the calls of a method of the core in a few requests; see `sent_in_parts`."""
    make = _maker(of)

    async def method(self: AsyncFace, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        call = make(*args, **kwargs)
        return await (self._runner.in_parts(call) if isinstance(call, Together) else _run_async(self._runner, call))

    return cast("Method[_P, Coroutine[Any, Any, T]]", _dressed(method, of, text))
