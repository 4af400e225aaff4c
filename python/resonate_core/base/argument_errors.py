"""The TypeError of a call whose arguments a compiled function refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

__all__ = ["explained", "unexpected"]

#: Annotations that a conversion of pybind11 refuses, and what they accept.
_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "str": (str,), "bytes": (bytes,), "dict": (dict,), "list": (list,)}


def unexpected(function: str, keyword: str, names: Iterable[str]) -> str:
    """The message for a keyword that a function does not take.

    Example:
        >>> from resonate_core.base.argument_errors import unexpected
        >>> unexpected("Store", "durabilty", ["clock", "durability"])
        "Store() got an unexpected keyword argument 'durabilty'; did you mean 'durability'?"
        >>> unexpected("fork", "timeout", ["clock"])
        "fork() got an unexpected keyword argument 'timeout'; it takes 'clock'"
    """
    known = list(names)
    message = f"{function}() got an unexpected keyword argument {keyword!r}"
    if near := get_close_matches(keyword, known, n=1):
        return f"{message}; did you mean {near[0]!r}?"
    return f"{message}; it takes {', '.join(map(repr, known))}" if known else f"{message}; it takes none"


def explained(signature: str, given: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The message for a call that does not fit a signature.

    Args:
        signature: As pybind11 writes it, `name(self: Class, argument: type = default) -> type`.
        given: The positional arguments, without `self`.
        named: The keyword arguments.

    Example:
        >>> from resonate_core.base.argument_errors import explained
        >>> explained("fork(self: Store, clock: Clock | None = None) -> Store", (), {"clok": 1})
        "fork() got an unexpected keyword argument 'clok'; did you mean 'clock'?"
        >>> explained("tick(self: Store, now: int | None = None) -> list", (1, 2), {})
        'tick() takes 1 positional argument but 2 were given'
        >>> explained("get(self: Promises, id: str) -> Promise", (), {})
        "get() needs the argument 'id'"
    """
    (function,) = ast.parse(f"def {signature}: ...").body
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    required = len(places) - len(arguments.defaults)
    name = function.name
    if places and places[0].arg == "self":
        its_class = ast.unparse(places[0].annotation).rpartition(".")[2] if places[0].annotation else "self"
        name = its_class if name == "__init__" else name
        places, required = places[1:], required - 1
    names = [place.arg for place in places]
    known = names + [keyword.arg for keyword in arguments.kwonlyargs]
    needed = names[:required] + [
        keyword.arg for keyword, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    if arguments.kwarg is None:
        for keyword in named:
            if keyword not in known:
                return unexpected(name, keyword, known)
    if len(given) > len(names) and arguments.vararg is None:
        most = f"{len(names)} positional argument{'' if len(names) == 1 else 's'}"
        return f"{name}() takes {most} but {len(given)} {'was' if len(given) == 1 else 'were'} given"
    for taken in names[: len(given)]:
        if taken in named:
            return f"{name}() got multiple values for argument {taken!r}"
    for missing in needed:
        if missing not in named and missing not in names[: len(given)]:
            return f"{name}() needs the argument {missing!r}"
    return _wrong_type(name, signature, [*places, *arguments.kwonlyargs], dict(zip(names, given, strict=False)) | dict(named))


def _wrong_type(name: str, signature: str, parameters: list[ast.arg], values: dict[str, Any]) -> str:
    """Return the argument whose type is wrong, as far as the annotations show it."""
    for parameter in parameters:
        if parameter.arg not in values or parameter.annotation is None:
            continue
        kind = ast.unparse(parameter.annotation)
        value = values[parameter.arg]
        expected = _KINDS.get(kind.partition("[")[0])
        if expected is not None and not isinstance(value, expected):
            return f"{parameter.arg} must be {kind}, got {type(value).__name__}"
    got = ", ".join(f"{argument}: {type(value).__name__}" for argument, value in values.items())
    return f"{name}() takes no such arguments, got {got}; it is {signature}"
