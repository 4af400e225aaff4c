"""The tasks of Celery, for `celery_program`; only Celery's own environment can import it. BENCH_REDIS is the address of Redis."""

from __future__ import annotations

import os

import redis  # type: ignore[import-not-found, unused-ignore]
from celery import Celery  # type: ignore[import-not-found, unused-ignore]

_REDIS = f"redis://{os.environ['BENCH_REDIS']}"
app = Celery("bench", broker=f"{_REDIS}/0", backend=f"{_REDIS}/1")
app.conf.update(
    task_serializer="json",
    worker_prefetch_multiplier=64,  # its guide's advice for many short tasks; the default is 4
    worker_disable_rate_limits=True,
    broker_connection_retry_on_startup=True,
)
#: A list that gets an item when a chain or a fan has ended.
ended = redis.Redis.from_url(f"{_REDIS}/2?socket_timeout=600")


@app.task(ignore_result=True)  # type: ignore[untyped-decorator, unused-ignore]
def step(_: str) -> None:
    """A job of a chain: nothing reads its result, so none is written."""


@app.task  # type: ignore[untyped-decorator, unused-ignore]
def part(_: str) -> None:
    """A job of a fan: a chord counts the results of its parts in the backend."""


@app.task(ignore_result=True)  # type: ignore[untyped-decorator, unused-ignore]
def last(_: str) -> None:
    """The last job of a chain or a fan."""
    ended.lpush("ended", 1)
