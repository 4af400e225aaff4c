"""The calls of promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._core import Promise, PromiseBatch, PromisePage, value_members
from ..errors import Invalid
from .call import Call, Data, Together
from .values import Duration, Instant, duration, given, instant, integer, items, string_map, text, texts

__all__ = [
    "cancel",
    "create",
    "create_many",
    "creation",
    "get",
    "register_callback",
    "register_listener",
    "reject",
    "resolve",
    "search",
    "settle_many",
    "settlement",
]


def _read(answer: Data | Promise) -> Promise:
    return answer if isinstance(answer, Promise) else Promise.from_dict(answer["promise"])


def _batch(answers: list[Data]) -> PromiseBatch:
    return PromiseBatch.from_dict({"promises": [answer["promise"] for answer in answers]})


def creation(
    id: str,
    timeout_at: Instant | None,
    timeout: Duration | None,
    param: Any,
    headers: Mapping[str, str] | None,
    tags: Mapping[str, str] | None,
    idempotency_key: str | None,
    name: str = "id",
) -> tuple[Data, tuple[Data, int] | None]:
    """The data of promise.create, and its relative deadline."""
    data: Data = {"id": text(name, id)}
    deadline = None
    if timeout_at is not None:
        if timeout is not None:
            raise TypeError("timeout_at and timeout must not both be given")
        data["timeoutAt"] = instant("timeout_at", timeout_at)
    elif timeout is None:
        raise TypeError("timeout_at or timeout must be given")
    else:
        length = duration("timeout", timeout)
        if length < 0:
            raise Invalid(f"timeout must be at least 0 ms, got {length}")
        deadline = (data, length)
    if param is not None or headers is not None:
        data["param"] = value_members(param, headers, "param")
    if tags is not None:
        data["tags"] = string_map("tags", tags)
    if idempotency_key is not None:
        data["ikc"] = text("idempotency_key", idempotency_key)
    return data, deadline


def settlement(
    id: str, state: str, value: Any, headers: Mapping[str, str] | None, idempotency_key: str | None, name: str = "id"
) -> Data:
    """The data of promise.settle."""
    data: Data = {"id": text(name, id), "state": text("state", state)}
    if value is not None or headers is not None:
        data["value"] = value_members(value, headers, "value")
    if idempotency_key is not None:
        data["iku"] = text("idempotency_key", idempotency_key)
    return data


def create(
    id: str,
    timeout_at: Instant | None = None,
    *,
    timeout: Duration | None = None,
    param: Any = None,
    headers: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Call[Promise]:
    """promise.create."""
    data, deadline = creation(id, timeout_at, timeout, param, headers, tags, idempotency_key)
    return Call("promise.create", data, _read, True, deadline)


def get(id: str) -> Call[Promise]:
    """promise.get."""
    return Call("promise.get", {"id": text("id", id)}, _read, True)


def resolve(
    id: str, value: Any = None, *, headers: Mapping[str, str] | None = None, idempotency_key: str | None = None
) -> Call[Promise]:
    """promise.settle to resolved."""
    return Call("promise.settle", settlement(id, "resolved", value, headers, idempotency_key), _read, True)


def reject(
    id: str, value: Any = None, *, headers: Mapping[str, str] | None = None, idempotency_key: str | None = None
) -> Call[Promise]:
    """promise.settle to rejected."""
    return Call("promise.settle", settlement(id, "rejected", value, headers, idempotency_key), _read, True)


def cancel(
    id: str, value: Any = None, *, headers: Mapping[str, str] | None = None, idempotency_key: str | None = None
) -> Call[Promise]:
    """promise.settle to rejected_canceled."""
    return Call("promise.settle", settlement(id, "rejected_canceled", value, headers, idempotency_key), _read, True)


def register_callback(awaited: str, awaiter: str) -> Call[Promise]:
    """promise.register_callback."""
    data = {"awaited": text("awaited", awaited), "awaiter": text("awaiter", awaiter)}
    return Call("promise.register_callback", data, _read, True)


def register_listener(awaited: str, address: str) -> Call[Promise]:
    """promise.register_listener."""
    data = {"awaited": text("awaited", awaited), "address": text("address", address)}
    return Call("promise.register_listener", data, _read, True)


def search(
    id: str | None = None,
    *,
    state: str | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Call[PromisePage]:
    """promise.search."""
    data = given(
        id=None if id is None else text("id", id),
        state=None if state is None else text("state", state),
        tags=None if tags is None else string_map("tags", tags),
        limit=integer("limit", limit),
        cursor=None if cursor is None else text("cursor", cursor),
    )
    return Call("promise.search", data, PromisePage.from_dict, True)


def _as_many(name: str, given: Any, expected: str, count: int) -> Any:
    found = items(name, given, expected)
    if len(found) != count:
        raise Invalid(f"{name} holds {len(found)} items for {count} ids")
    return found


def create_many(
    ids: Iterable[str],
    timeout_at: Instant | Iterable[Instant],
    *,
    params: Iterable[Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Together[PromiseBatch]:
    """One promise.create for each id."""
    named = texts("ids", ids)
    many = isinstance(timeout_at, Iterable)
    expected = "an int or an iterable of int"
    instants = _as_many("timeout_at", timeout_at, expected, len(named)) if many else [timeout_at] * len(named)
    values = [None] * len(named) if params is None else _as_many("params", params, "an iterable", len(named))
    shared = None if tags is None else string_map("tags", tags)
    calls = [create(id, at, param=param, tags=shared) for id, at, param in zip(named, instants, values, strict=True)]
    return Together(calls, _batch)


def settle_many(ids: Iterable[str], values: Iterable[Any] | None = None, *, state: str = "resolved") -> Together[PromiseBatch]:
    """One promise.settle for each id."""
    named = texts("ids", ids)
    given = [None] * len(named) if values is None else _as_many("values", values, "an iterable", len(named))
    pairs = zip(named, given, strict=True)
    calls = [Call("promise.settle", settlement(id, state, value, None, None), _read, True) for id, value in pairs]
    return Together(calls, _batch)
