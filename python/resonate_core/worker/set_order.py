"""Sets as JSON: lists in one order, since a set of texts has another order in every process."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Set as AbstractSet
from typing import Any

__all__ = ["ordered"]

#: Values without a set in them; the test of a container stops at its first element that is none of these.
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})


def ordered(value: Any, made: Any) -> Any:
    """Return the JSON that was made of a value, with each list that was a set in order.

    Args:
        value: The value; a place in it that has no counterpart in the JSON is left as it is.
        made: Its JSON.

    Example:
        >>> from resonate_core.worker.set_order import ordered
        >>> ordered({"tags": {"b", "a"}}, {"tags": ["b", "a"]})
        {'tags': ['a', 'b']}
        >>> ordered({2, "b", 10}, [2, "b", 10])
        ['b', 10, 2]
    """
    if made is value or type(value) in _SCALARS:
        return made
    if isinstance(value, AbstractSet):
        if not isinstance(made, (list, tuple)) or len(made) != len(value):
            return made
        return _sorted([ordered(*pair) for pair in zip(value, made, strict=True)])
    if isinstance(made, dict):
        return _members(_parts(value, made), made)
    if isinstance(made, (list, tuple)):
        elements = value if isinstance(value, (list, tuple)) else [part for _, part in _parts(value, None)]
        if len(elements) != len(made) or _SCALARS.issuperset(map(type, elements)):
            return made
        found = [ordered(*pair) for pair in zip(elements, made, strict=True)]
        return made if all(one is other for one, other in zip(found, made, strict=True)) else found
    return made


def _members(parts: Iterable[tuple[str, Any]], made: dict[str, Any]) -> dict[str, Any]:
    changed = {name: ordered(part, made[name]) for name, part in parts if type(part) not in _SCALARS and name in made}
    return {**made, **changed} if changed else made


def _parts(value: Any, made: dict[str, Any] | None) -> list[tuple[str, Any]]:
    """The parts of a value, each with the name that it has in the JSON."""
    kind = type(value)
    if isinstance(value, Mapping):
        names = list(made or ())
        return list(zip(names, value.values(), strict=True)) if len(names) == len(value) else []
    if hasattr(kind, "__struct_fields__"):
        return [
            (name, getattr(value, each)) for each, name in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        ]
    if dataclasses.is_dataclass(kind):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(kind) if hasattr(value, field.name)]
    if hasattr(kind, "__attrs_attrs__"):
        return [(field.name, getattr(value, field.name)) for field in kind.__attrs_attrs__]
    fields = getattr(kind, "model_fields", None)
    if not isinstance(fields, dict):
        return []
    return [(_name_in(made or {}, each, fields[each]), getattr(value, each, None)) for each in fields]


def _name_in(made: Mapping[str, Any], name: str, field: Any) -> str:
    """The name of a field of a pydantic model in its JSON."""
    for each in (getattr(field, kind, None) for kind in ("serialization_alias", "alias", "validation_alias")):
        if isinstance(each, str) and each in made:
            return each
    return name


def _sorted(made: list[Any]) -> list[Any]:
    try:
        return sorted(made)
    except TypeError:  # of several kinds, or objects
        return sorted(made, key=lambda each: json.dumps(each, sort_keys=True))
