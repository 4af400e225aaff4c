"""The calls of the Python module, beside a pybind11 function that only fills a map."""

from __future__ import annotations

import itertools
import json
from typing import Any

import resonate_bench_probe

import resonate_core as rc

from .stopwatch import Body, rates

FAR = 4_000_000_000_000
COUNT = 50_000
PARAM = b'{"sku":"tea","count":2}'
_files = itertools.count()
TAGS = {"resonate:external": "true"}


def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock())


def envelope(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": "5b0f2f5e-7a4d-4f65", "version": "2026-04-01"}, "data": data}


def create_envelope(name: str) -> dict[str, Any]:
    param = {"headers": {"content-type": "application/json"}, "data": "eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0="}
    return envelope("promise.create", {"id": name, "timeoutAt": FAR, "param": param, "tags": TAGS})


def ids(count: int = COUNT) -> list[str]:
    return [f"promise-{i}" for i in range(count)]


def probe_create() -> Body:
    names, fill = ids(), resonate_bench_probe.Map()

    def body() -> int:
        create = fill.create
        for name in names:
            create(name, timeout_at=FAR, param="eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0=", tags=TAGS)
        return len(names)

    return body


def typed_create() -> Body:
    names, subject = ids(), store()

    def body() -> int:
        create = subject.promises.create
        for name in names:
            create(name, timeout_at=FAR, param=PARAM, tags=TAGS)
        return len(names)

    return body


def gets(subject: rc.Store, count: int) -> Body:
    names = ids(count)
    subject.promises.create_many(names, FAR)

    def body() -> int:
        get = subject.promises.get
        for name in names:
            get(name)
        return len(names)

    return body


def typed_get() -> Body:
    return gets(store(), COUNT)


def typed_settle() -> Body:
    names, subject = ids(), store()
    subject.promises.create_many(names, FAR)

    def body() -> int:
        resolve = subject.promises.resolve
        for name in names:
            resolve(name, b"ok")
        return len(names)

    return body


def apply_dict() -> Body:
    requests, subject = [create_envelope(name) for name in ids()], store()

    def body() -> int:
        for request in requests:
            subject.apply(request)
        return len(requests)

    return body


def apply_batches(size: int = 1000) -> Body:
    requests, subject = [create_envelope(name) for name in ids()], store()
    batches = [requests[i : i + size] for i in range(0, len(requests), size)]

    def body() -> int:
        for batch in batches:
            subject.apply(batch)
        return len(requests)

    return body


def apply_json() -> Body:
    requests, subject = [json.dumps(create_envelope(name)).encode() for name in ids()], store()

    def body() -> int:
        for request in requests:
            subject.apply_json(request)
        return len(requests)

    return body


def create_columns(size: int = 10_000) -> Body:
    names, subject = ids(200_000), store()
    columns = [(names[i : i + size], [FAR] * size, [PARAM] * size) for i in range(0, len(names), size)]

    def body() -> int:
        for some, deadlines, params in columns:
            subject.promises.create_many(some, deadlines, params=params)
        return len(names)

    return body


def settle_columns(size: int = 10_000) -> Body:
    names, subject = ids(200_000), store()
    subject.promises.create_many(names, FAR)
    columns = [(names[i : i + size], [b"ok"] * size) for i in range(0, len(names), size)]

    def body() -> int:
        for some, values in columns:
            subject.promises.settle_many(some, values)
        return len(names)

    return body


def file_get(folder: str) -> Body:
    return gets(rc.Store(f"{folder}/get-{next(_files)}.db", clock=rc.ManualClock(), durability="normal"), 5_000)


def measure_file(folder: str, rounds: int) -> dict[str, float]:
    """Operations per second of a store in a SQLite file."""
    return rates({"SQLite typed get": lambda: file_get(folder)}, rounds)


def measure(rounds: int) -> dict[str, float]:
    """Operations per second of every call."""
    return rates(
        {
            "pybind11 probe create": probe_create,
            "typed create": typed_create,
            "typed get": typed_get,
            "typed settle": typed_settle,
            "apply(dict) create": apply_dict,
            "apply(list of 1000 dicts) create": apply_batches,
            "apply_json create": apply_json,
            "create_many columns": create_columns,
            "settle_many columns": settle_columns,
        },
        rounds,
    )
