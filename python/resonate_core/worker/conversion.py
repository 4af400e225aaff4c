"""Annotated types: JSON becomes their values (`encoding` does the reverse).

Plain types are msgspec's work, pydantic models are pydantic's; both are imported only if an annotation or a value needs them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union

from ..base import extras
from .models import accepts_its_aliases, is_model, models_in

__all__ = ["Conversion", "Unfit", "at_member", "conversion", "holds_members", "kinds_of", "read_hints"]

#: The types that JSON has.
_PLAIN = frozenset({Any, object, None, type(None), str, int, float, bool, list, dict, inspect.Parameter.empty})
_UNIONS = (Union, types.UnionType)
_REFERENCE = "#/$defs/{name}"


class Unfit(ValueError):
    """A payload that does not fit its handler.

    Args:
        problem: The reason, for people.
    """


def kinds_of(hint: Any) -> list[Any]:
    """The annotation, or the members of a union, without `Annotated`.

    Example:
        >>> from resonate_core.worker.conversion import kinds_of
        >>> kinds_of(int | None)
        [<class 'int'>, <class 'NoneType'>]
    """
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return kinds_of(typing.get_args(hint)[0])
    if origin in _UNIONS:
        return [kind for each in typing.get_args(hint) for kind in kinds_of(each)]
    return [hint]


def holds_members(hint: Any) -> bool:
    """Return whether the JSON of this annotation is an object: of a dict, dataclass, TypedDict, msgspec Struct or pydantic model.

    Example:
        >>> from resonate_core.worker.conversion import holds_members
        >>> holds_members(dict[str, int] | None), holds_members(list[dict])
        (True, False)
    """
    return any(_holds_members(kind) for kind in kinds_of(hint))


def _holds_members(kind: Any) -> bool:
    kind = typing.get_origin(kind) or kind
    if not isinstance(kind, type):
        return False
    named = hasattr(kind, "__struct_fields__") and not getattr(getattr(kind, "__struct_config__", None), "array_like", False)
    return (
        named or dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__") or is_model(kind) or issubclass(kind, Mapping)
    )


def _is_plain(hint: Any) -> bool:
    """Whether values of this annotation are JSON's own types."""
    origin = typing.get_origin(hint)
    if origin is None:
        return isinstance(hint, typing.Hashable) and hint in _PLAIN
    return origin in (list, dict, *_UNIONS) and all(_is_plain(each) for each in typing.get_args(hint))


class Conversion(NamedTuple):
    """Converts JSON to the values of an annotation.

    Attributes:
        convert: Takes what JSON was decoded to. Raises `Unfit`.
        schema: Returns the JSON Schema; definitions that it refers to are added to the dict that it is given.
    """

    convert: Callable[[Any], Any]
    schema: Callable[[dict[str, Any]], dict[str, Any]]


def conversion(hint: Any, named: str) -> Conversion | None:
    """The conversion of an annotation; None if anything fits it, or if it has only JSON's own types and msgspec is not installed.

    Args:
        hint: The annotation.
        named: Whose it is, for errors.

    Raises:
        ImportError: It needs a library that is not installed.
        TypeError: Its values have no JSON.

    Example:
        >>> import datetime
        >>> from resonate_core.worker.conversion import conversion
        >>> found = conversion(list[datetime.date], "parameter days")
        >>> found.convert(["2026-02-01"]), found.schema({})
        ([datetime.date(2026, 2, 1)], {'type': 'array', 'items': {'type': 'string', 'format': 'date'}})
    """
    if hint is Any or hint is object or hint is inspect.Parameter.empty:
        return None
    if models_in(hint):
        return _by_pydantic(hint)
    try:
        import msgspec
    except ImportError as error:
        if _is_plain(hint):
            return None
        raise ImportError(f"{named} is annotated {_shown(hint)}, which needs msgspec: {extras.how_to_install('typed')}") from error
    made = _by_msgspec(msgspec, hint)
    if not _is_plain(hint):
        try:
            made.schema({})
        except Exception as error:
            raise TypeError(f"{named} must be annotated with types that JSON can hold, got {_shown(hint)}: {error}") from error
    return made


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) and typing.get_origin(hint) is None else str(hint)


def _by_msgspec(msgspec: Any, hint: Any) -> Conversion:
    unchanged = hint if hint in (str, int, bool) else None  # such a value is its own conversion, which is faster

    def convert(data: Any) -> Any:
        if type(data) is unchanged:
            return data
        try:
            return msgspec.convert(data, hint, str_keys=True, dec_hook=_decode_model)
        except msgspec.ValidationError as error:
            raise Unfit(str(error)) from error

    def schema(definitions: dict[str, Any]) -> dict[str, Any]:
        (found,), more = msgspec.json.schema_components([hint], schema_hook=_model_schema, ref_template=_REFERENCE)
        definitions.update(more)
        return dict(found)

    return Conversion(convert, schema)


def _decode_model(kind: type, data: Any) -> Any:
    """A pydantic model inside of a type that msgspec converts."""
    if is_model(kind):
        return _by_pydantic(kind).convert(data)
    raise NotImplementedError(f"{kind.__qualname__} has no conversion")


def _model_schema(kind: type) -> dict[str, Any]:
    if is_model(kind):
        schema: dict[str, Any] = kind.model_json_schema()  # type: ignore[attr-defined]
        return schema
    raise NotImplementedError(f"{kind.__qualname__} has no JSON Schema")


def _by_pydantic(hint: Any) -> Conversion:
    import pydantic

    adapter = pydantic.TypeAdapter(hint)
    names: dict[str, Any] = {} if all(map(accepts_its_aliases, models_in(hint))) else {"by_alias": True, "by_name": True}

    def convert(data: Any) -> Any:
        # As JSON: it has no dates, bytes or tuples, so that a strict model would refuse its own, and bytes in base64 stay a text.
        try:
            return adapter.validate_json(json.dumps(data), **names)
        except pydantic.ValidationError as error:
            problems = [f"{each['msg']}{_path(each['loc'])}" for each in error.errors(include_url=False)]
            raise Unfit("; ".join(problems)) from error

    def schema(definitions: dict[str, Any]) -> dict[str, Any]:
        found = adapter.json_schema(ref_template="#/$defs/{model}")
        definitions.update(found.pop("$defs", {}))
        return found

    return Conversion(convert, schema)


def _path(places: tuple[Any, ...]) -> str:
    """Return the path of the error in the value, as msgspec writes it."""
    steps = "".join(f"[{place}]" if isinstance(place, int) else f".{place}" for place in places)
    return f" - at `${steps}`" if steps else ""


# -- annotations -------------------------------------------------------------------------------------------------------------------


def read_hints(target: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations of a function, each read by itself; the text of one where a name in it cannot be found.

    Args:
        target: The function.
        names: The names of the scope in which it is defined, beside its module's.
    """
    given = dict(getattr(target, "__annotations__", {}))
    scope = {**getattr(inspect.unwrap(target), "__globals__", {}), **names}
    try:
        return typing.get_type_hints(target, scope, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {name: _read_hint(hint, scope) for name, hint in given.items()}


def _read_hint(hint: Any, scope: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"hint": hint})
    try:
        return typing.get_type_hints(holder, scope, include_extras=True)["hint"]
    except (NameError, TypeError, AttributeError):
        return hint


@functools.cache
def _member_path() -> re.Pattern[str]:
    return re.compile(r" - at `(key in )?\$(?P<path>[^`]*)`")


def at_member(problem: str, member: str) -> str:
    """Return the problem of a value, with the path of the value before it.

    Example:
        >>> from resonate_core.worker.conversion import at_member
        >>> at_member("Expected `int`, got `str` - at `$.x`", "point")
        'point.x: Expected `int`, got `str`'
    """
    parts = []
    for each in problem.split("; "):
        inwards = reversed([found["path"] for found in _member_path().finditer(each)])  # the place in a model is before its own
        path = member + "".join(inwards)
        parts.append(f"{path.lstrip('.') or 'payload'}: {_member_path().sub('', each)}")
    return "; ".join(parts)
