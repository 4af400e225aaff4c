"""An exception with a message of megabytes was stored with each attempt; it displaced the stack, and over a URL the error itself."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobError, Worker
from server.live_server import serving
from worker.waiting import until

LONG = 5_000_000
ASTRAL = "\U0001f600"  # 12 bytes in JSON without other characters than those of ASCII


def place_of_the_error(text: str) -> None:
    raise ValueError(text)


def chained(text: str) -> None:
    try:
        place_of_the_error(text)
    except ValueError as error:
        raise LookupError("not found: " + text) from error


def deep(text: str, depth: int = 500) -> None:
    if depth:
        deep(text, depth - 1)
    place_of_the_error(text)


def noted(text: str) -> None:
    error = ValueError("short")
    error.__notes__ = [text]  # type: ignore[attr-defined]
    raise error


@pytest.fixture(params=["store", "url"])
def fail(request: pytest.FixtureRequest) -> Iterator[Callable[[Callable[[], Any]], dict[str, str]]]:
    """Runs a handler that fails, and returns the error of its job."""
    if request.param == "store":

        def drained(body: Callable[[], Any]) -> dict[str, str]:
            store = rc.Store(clock=rc.ManualClock())
            worker = Worker(store)
            job = worker.task("t", max_retries=0)(body).enqueue()
            worker.run_until_idle()
            return store.jobs.get(job.id).error or {}

        yield drained
        return
    with rc.Store() as store, serving(store) as live:

        def ran(body: Callable[[], Any]) -> dict[str, str]:
            worker = Worker(f"http://127.0.0.1:{live.port}", poll_interval=50)
            job = worker.task("t", max_retries=0)(body).enqueue()
            with worker:
                until(lambda: store.jobs.get(job.id).state == "archived")
            worker.close()
            return store.jobs.get(job.id).error or {}

        yield ran


@pytest.mark.parametrize("length", [17_000, LONG])
@pytest.mark.parametrize("character", ["x", "\0", ASTRAL, "\ud800"])
def test_the_beginning_of_the_message_and_the_last_frames_stay(fail: Any, character: str, length: int):
    error = fail(lambda: place_of_the_error("because: " + character * (length // 5)))
    assert error["code"] == "UnhandledError"
    assert error["message"].startswith("ValueError: because: ") and len(error["message"]) <= 4000 * 6
    assert "in place_of_the_error" in error["data"] and "because: " in error["data"]


def test_short_ones_stay_whole(fail: Any):
    error = fail(lambda: place_of_the_error("no\nnumber"))
    assert error["message"] == "ValueError: no\nnumber"
    assert error["data"].startswith("Traceback (most recent call last):\n") and error["data"].endswith("ValueError: no\nnumber\n")


def test_causes(fail: Any):
    error = fail(lambda: chained("y" * LONG))
    assert error["message"].startswith("LookupError: not found: yyy")
    assert "in chained" in error["data"] and "in place_of_the_error" in error["data"]
    assert "direct cause of the following exception" in error["data"]
    assert len(error["data"]) <= 8000


def test_deep_stacks(fail: Any):
    error = fail(lambda: deep("z" * LONG))
    assert "in place_of_the_error" in error["data"] and "earlier frames are left out" in error["data"]
    assert len(error["data"]) <= 8000


def test_notes(fail: Any):
    error = fail(lambda: noted("n" * LONG))
    assert error["message"].startswith("ValueError: short") and len(error["message"]) <= 4000
    assert "in noted" in error["data"] and len(error["data"]) <= 8000


@pytest.mark.skipif(not hasattr(builtins, "ExceptionGroup"), reason="needs Python 3.11")
def test_groups(fail: Any):
    def body() -> None:
        parts: list[Exception] = []
        for _ in range(30):
            try:
                chained("g" * (LONG // 30))
            except LookupError as error:
                parts.append(error)
        raise builtins.ExceptionGroup("many " + "h" * LONG, parts)  # type: ignore[attr-defined]

    error = fail(body)
    assert error["message"].startswith("ExceptionGroup: many hhh") and len(error["message"]) <= 4000
    assert "in body" in error["data"] and "LookupError" in error["data"] and "more exceptions are left out" in error["data"]
    assert len(error["data"]) <= 8000


def test_a_chain_without_end(fail: Any):
    def body() -> None:
        error: BaseException = ValueError("first")
        for number in range(1000):
            after = ValueError(f"number {number}")
            after.__cause__ = error
            error = after
        raise error

    assert "earlier exceptions are left out" in fail(body)["data"]


def test_errors_of_the_program(fail: Any):
    def body() -> None:
        raise JobError("c" * LONG, "m" * LONG, {"d": ASTRAL * LONG})

    error = fail(body)
    assert error["code"].startswith("ccc") and len(error["code"]) == 200
    assert error["message"].startswith("mmm") and len(error["message"]) == 4000
    assert json.loads(error["data"])["beginning"].startswith('{"d":"' + ASTRAL) and len(error["data"]) < 100_000


def test_a_file_stays_small(tmp_path: Path):
    path = tmp_path / "a.db"
    with rc.Store(path, clock=rc.ManualClock(start=0), durability="normal") as store:
        worker = Worker(store)
        worker.task("t", max_retries=20)(lambda: place_of_the_error("x" * LONG)).enqueue(id="j")
        worker.run_until_idle(advance=True)
        assert len(store.jobs.get("j").attempts) == 21
    assert os.path.getsize(path) < 2_000_000
