"""A job of the type "nosuch\\nWARNING …", or an error whose message has lines, began lines of the log of a `Worker` in a program: only the
handlers of the command line escaped them."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Snooze, Worker

FORGED = "x\nWARNING forged\r\x1b]0;OWN\x07\u2028\u202e"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the usual handler of a program writes about what this package logs."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("resonate_core")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield text
    logger.removeHandler(handler)
    logger.setLevel(before)


def _check(text: str) -> None:
    written = text.split("\n")[:-1]
    assert written and all(line.isprintable() and "resonate_core" in line for line in written), written


def test_a_worker_in_a_program(lines: io.StringIO) -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store, name=FORGED)

    @worker.task("raises", max_retries=0)
    def raises(job: JobContext) -> None:
        raise type("E" + FORGED, (Exception,), {})(FORGED)

    @worker.task("code", max_retries=0)
    def code() -> None:
        raise rc.worker.JobError(FORGED, FORGED)

    @worker.task("snooze", max_retries=0)
    def snooze() -> None:
        if store.now == 0:
            raise Snooze(5)

    for type_ in ("nosuch" + FORGED, "raises", "code", "snooze"):
        store.jobs.enqueue(type_, id=type_ + FORGED)
    worker.run_until_idle()
    assert "nosuch" in lines.getvalue()
    _check(lines.getvalue())


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("worker", "worker"),
        ("server", "server.settings"),
        ("delivery", "server.settings"),
        ("ui", "ui.app"),
        ("contrib", "contrib.starlette"),
        ("failed_attempts", "base.failed_attempts"),
    ],
)
def test_every_logger_that_quotes_others(name: str, module: str, lines: io.StringIO) -> None:
    import_module(f"resonate_core.{module}")
    quoted: list[Any] = [FORGED, ValueError(FORGED)]
    for one in quoted:
        logging.getLogger(f"resonate_core.{name}").warning("%s about %s, 100%%", one, 5)
        logging.getLogger(f"resonate_core.{name}").warning(str(one))
    assert "100%" in lines.getvalue() and lines.getvalue().count("forged") == 4
    _check(lines.getvalue())
