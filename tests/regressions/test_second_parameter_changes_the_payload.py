"""A handler with a second parameter, even one with a default, got members of the payload instead of the payload."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker


def one(order: Any) -> Any:
    return order


def with_a_default(order: Any, dry_run: bool = False) -> Any:
    return order


def with_a_keyword(order: Any, *, dry_run: bool = False, **more: Any) -> Any:
    return order


def with_a_context(order: Any, job: JobContext) -> Any:
    return order


def with_both(order: Any, dry_run: bool = False, *, job: JobContext) -> Any:
    return order


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
