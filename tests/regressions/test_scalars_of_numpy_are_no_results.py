"""With the extra `typed`, a job whose result had a scalar of numpy in it failed for good; without the extra, its floats were stored."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Worker

np = pytest.importorskip("numpy")


@dataclasses.dataclass
class Measured:
    mean: Any


NOON = dt.datetime(2026, 2, 1, 12, tzinfo=dt.timezone.utc)
RESULTS: list[tuple[Any, Any]] = [
    (np.float64(1.5), 1.5),
    (np.float32(1.5), 1.5),
    ({"mean": np.mean([1, 2])}, {"mean": 1.5}),
    (np.str_("x"), "x"),
    (np.int64(3), 3),
    ({"ok": np.bool_(True), "n": [np.int8(1)]}, {"ok": True, "n": [1]}),
    ({True: NOON, "n": np.float64(1.5)}, {"true": "2026-02-01T12:00:00Z", "n": 1.5}),
    (Measured(np.float64(1.5)), {"mean": 1.5}),
]


@pytest.mark.parametrize(("value", "json"), RESULTS, ids=repr)
def test_they_are_stored(value: Any, json: Any):
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    job = worker.task("t", max_retries=0, retention="kept")(lambda: value).enqueue()
    worker.run_until_idle()
    assert worker.client.store.result(job.id, timeout=30) == json
    assert worker.task("p")(lambda payload: None).enqueue(value).payload.json() == json


@pytest.mark.parametrize("value", [np.array([1, 2]), np.longdouble(1.5)], ids=repr)
def test_arrays_are_refused(value: Any):
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    job = worker.task("t", max_retries=0)(lambda: value).enqueue()
    worker.run_until_idle()
    assert (worker.client.store.jobs.get(job.id).error or {})["code"] == "InvalidResult"
