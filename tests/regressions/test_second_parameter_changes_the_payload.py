"""A handler with a second parameter, even one with a default, got members of the payload instead of the payload.

Since decision 24 a parameter named `payload` gets the whole payload; before, the number of parameters decided.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker


def one(payload: Any) -> Any:
    return payload


def with_a_default(payload: Any, dry_run: bool = False) -> Any:
    return payload


def with_a_keyword(payload: Any, *, dry_run: bool = False, **more: Any) -> Any:
    return payload


def with_a_context(payload: Any, job: JobContext) -> Any:
    return payload


def with_both(payload: Any, dry_run: bool = False, *, job: JobContext) -> Any:
    return payload


@pytest.mark.parametrize("payload", [{"order": 7}, {"id": 1, "dry_run": True}, {}, [1, 2], "text", 5, None], ids=repr)
@pytest.mark.parametrize("handler", [one, with_a_default, with_a_keyword, with_a_context, with_both], ids=lambda f: f.__name__)
def test_every_one_gets_the_same(handler: Callable[..., Any], payload: Any):
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    worker.task("t")(handler).enqueue(payload)
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.result) == ("completed", payload)


def test_a_partial_knows_the_context_of_its_function():
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    worker.task("t")(functools.partial(with_both, dry_run=True)).enqueue({"order": 7})
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.result) == ("completed", {"order": 7})
