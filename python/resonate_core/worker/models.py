"""Models of pydantic: how one becomes JSON that the same model accepts, and what of it would be lost."""

from __future__ import annotations

import functools
import sys
import typing
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

__all__ = [
    "Unwritable",
    "accepts_its_aliases",
    "dump",
    "dump_for_handler",
    "is_model",
    "is_secret",
    "models_in",
    "place_of",
    "refuse_secret",
]

#: The text that pydantic writes in place of a secret.
_MASK = "**********"
#: The first version of pydantic that validates by names and aliases.
_VALIDATES_BY_NAME = (2, 11)
_HOW_TO_WRITE_BYTES = (
    "must be UTF-8 text, got other bytes: set ser_json_bytes and val_json_bytes of the model to 'base64', or give the handler a str"
)
_HOW_TO_WRITE_A_SECRET = (
    "must not be a secret that its JSON hides: the handler would get asterisks. Pass a reference to the secret, or have the model "
    "serialize it (field_serializer), which stores it readable for everybody who reads the store"
)


class Unwritable(ValueError):
    """A value that has no JSON from which it can be made again.

    Args:
        path: Where it is, from the object.
        rule: Which form the value must have.
        holder: The object.
    """

    def __init__(self, path: str, rule: str, holder: Any) -> None:
        super().__init__(f"{path.lstrip('.') or 'payload'} {rule}")
        self.path, self.rule, self.holder = path, rule, holder


def is_model(kind: Any) -> bool:
    """Whether it is a class of pydantic models. A program that has one has imported pydantic."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def is_secret(value: Any) -> bool:
    """Whether it is a `SecretStr`, `SecretBytes` or `Secret` of pydantic that is not empty."""
    reveal = getattr(value, "get_secret_value", None)
    return callable(reveal) and type(value).__module__.startswith("pydantic") and reveal() not in ("", b"")


def models_in(hint: Any) -> list[Any]:
    """Return the classes of models that an annotation names.

    Example:
        >>> from resonate_core.worker.models import models_in
        >>> models_in(dict[str, int])
        []
    """
    if is_model(hint):
        return [hint]
    return [model for each in typing.get_args(hint) for model in models_in(each)]


@functools.lru_cache(maxsize=1024)
def accepts_its_aliases(model: Any) -> bool:
    """Whether a model, and each model in it, accepts the names that it writes.

    A model with a `validation_alias` and another `serialization_alias` does not: it is written and read by the names of its fields.
    """
    return _version() < _VALIDATES_BY_NAME or all(map(_accepts, _with_nested(model)))


def _version() -> tuple[int, ...]:
    import pydantic

    return tuple(int(part) for part in pydantic.VERSION.split(".")[:2])


def _with_nested(model: Any) -> list[Any]:
    found: dict[Any, None] = {}
    waiting = deque([model])
    while waiting:
        one = waiting.popleft()
        if one not in found:
            found[one] = None
            waiting.extend(nested for field in one.model_fields.values() for nested in models_in(field.annotation))
    return list(found)


def _accepts(model: Any) -> bool:
    config = model.model_config
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    for name, field in model.model_fields.items():
        given = field.validation_alias
        choices = getattr(given, "choices", [given])
        accepted = {one if isinstance(one, str) else None for one in choices} if given is not None else {name}
        if config.get("validate_by_alias") is False:
            accepted = {name}
        elif by_name:
            accepted.add(name)
        if not field.exclude and (field.serialization_alias or name) not in accepted:
            return False
    return True


def dump(model: Any) -> Any:
    """Return the JSON of a model for people and other programs: by its aliases, with computed fields.

    Raises:
        Unwritable: A field holds a secret, or bytes that are no text.
    """
    return _dump(model, by_alias=True)


def dump_for_handler(model: Any) -> Any:
    """Return the JSON of a model from which a handler's annotation makes it again.

    Raises:
        Unwritable: A field holds a secret, or bytes that are no text.
    """
    kind: Any = type(model)
    return _dump(model, by_alias=accepts_its_aliases(kind), round_trip=True)


def _dump(model: Any, **options: Any) -> Any:
    try:
        written = model.model_dump(mode="json", **options)
    except ValueError as error:  # a UnicodeDecodeError, or pydantic's own error that has its text
        path = _find(model, _is_binary)
        if path is None:
            raise
        raise Unwritable(path, _HOW_TO_WRITE_BYTES, model) from error
    if _MASK in repr(written):
        hidden = _hidden(model.model_dump(**options), written, "")
        if hidden is not None:
            raise Unwritable(hidden, _HOW_TO_WRITE_A_SECRET, model)
    return written


def refuse_secret(secret: Any) -> typing.NoReturn:
    """Refuse a secret outside of a model.

    Raises:
        Unwritable: Always.
    """
    raise Unwritable("", _HOW_TO_WRITE_A_SECRET, secret)


def _is_binary(value: Any) -> bool:
    if not isinstance(value, (bytes, bytearray)):
        return False
    try:
        value.decode()
    except UnicodeDecodeError:
        return True
    return False


def _hidden(value: Any, written: Any, path: str) -> str | None:
    """Return the path of the first secret whose JSON is asterisks; None: there is none."""
    if is_secret(value):
        return path if isinstance(written, str) and _MASK in written else None
    if isinstance(value, Mapping) and isinstance(written, dict):
        steps = [f".{name}" for name in written]
        pairs: list[tuple[Any, Any]] = list(zip(value.values(), written.values(), strict=False))
    elif isinstance(value, Collection) and isinstance(written, list) and not isinstance(value, (str, bytes)):
        steps = [f"[{number}]" for number in range(len(written))]
        pairs = list(zip(value, written, strict=False))
    else:
        return None
    found = (_hidden(one, as_json, path + step) for step, (one, as_json) in zip(steps, pairs, strict=False))
    return next((hidden for hidden in found if hidden is not None), None)


def place_of(holder: Any, value: Any) -> str:
    """Return the path of an object inside of a value; empty if it is the value, or was not found."""
    return _find(value, lambda one: one is holder) or ""


def _find(value: Any, wanted: Callable[[Any], bool], path: str = "", depth: int = 0) -> str | None:
    if wanted(value):
        return path
    if depth > 100:
        return None
    found = (_find(member, wanted, path + step, depth + 1) for step, member in _members(value))
    return next((one for one in found if one is not None), None)


def _members(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(f".{name}", member) for name, member in value.items()]
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return [(f"[{number}]", member) for number, member in enumerate(value)]
    kind = type(value)
    if is_model(kind):
        return [(f".{name}", getattr(value, name, None)) for name in kind.model_fields]
    for fields in ("__dataclass_fields__", "__struct_fields__"):
        if hasattr(kind, fields):
            return [(f".{name}", getattr(value, name, None)) for name in getattr(kind, fields)]
    return [(f".{each.name}", getattr(value, each.name, None)) for each in getattr(kind, "__attrs_attrs__", ())]
