"""A failing function of the SDK is retried for decades of simulated time: driving the clock looked like a hang."""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc

if sys.version_info < (3, 12):
    pytest.skip("the SDK needs Python 3.12", allow_module_level=True)

from resonate.retry import Never

from resonate_core.connection import Connection, Stalled, timekeeper

DAYS = timedelta(days=1)


async def root(ctx: Any) -> Any:
    return await ctx.run(always_fails)


def always_fails(ctx: Any) -> None:
    raise ValueError("no")


def drive(how: str, **options: Any) -> tuple[str, int]:
    """Starts the program and drives the clock; returns its outcome and the instant."""

    async def main() -> tuple[str, int]:
        store = rc.Store(clock=rc.ManualClock(start=0))
        connection = Connection(store)
        resonate = connection.resonate(**options)
        resonate.register(root)
        handle = resonate.options(timeout=DAYS).run("order-1", root)
        try:
            if how == "advance":
                await connection.advance(timedelta(hours=2))
            else:
                await connection.run_until(handle, limit=timedelta(hours=2) if how == "limit" else None)
        except Exception as error:
            return f"{type(error).__name__}: {error}", store.now
        finally:
            await resonate.stop()
        return "done", store.now

    return asyncio.run(main())


@pytest.mark.parametrize("how", ["advance", "run_until"])
def test_a_long_call_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str):
    monkeypatch.setattr(timekeeper, "_WARN_SECONDS", 0.0)
    with caplog.at_level(logging.WARNING, logger="resonate_core.connection.timekeeper"):
        drive(how)
    seen = [record.getMessage() for record in caplog.records if "has failed 11 times" in record.getMessage()]
    assert seen, caplog.text
    assert "task 'order-1' on 'default-1' has failed 11 times and waits 2048 s for its next attempt at t=4094000" in seen[0]
    assert "its promise ends at t=86400000" in seen[0] and "retry_policy=" in seen[0]
    assert ("until t=7200000" if how == "advance" else "without a limit (see limit=)") in seen[0]


def test_it_says_nothing_before_its_time(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timekeeper, "_WARN_SECONDS", 10.0**6)
    with caplog.at_level(logging.WARNING, logger="resonate_core.connection.timekeeper"):
        drive("run_until")
    assert not [record for record in caplog.records if record.name == "resonate_core.connection.timekeeper"]


def test_a_limit_ends_it_and_names_what_is_tried_again():
    said, now = drive("limit")
    assert said.startswith("Stalled: not done by t=7200000, the limit; the next thing happens at t=")
    assert "task 'order-1' on 'default-1' has failed 12 times and waits 4096 s for its next attempt at t=8190000" in said
    assert now <= 7_200_000 and issubclass(Stalled, RuntimeError)


def test_without_retries_it_ends_at_once():
    said, now = drive("run_until", retry_policy=Never())
    assert "no" in said and now == 0


@pytest.mark.parametrize("clock", ["manual", "system"])
def test_a_stop_does_not_wait_for_the_next_attempt(clock: str):
    """The SDK joins running functions: with a retry years ahead, or on a clock that does not move, a stop waited for ever."""

    async def main() -> None:
        store = rc.Store(clock=rc.ManualClock(start=0)) if clock == "manual" else rc.Store()
        connection = Connection(store)
        resonate = connection.resonate()
        resonate.register(root)
        resonate.options(timeout=DAYS).run("order-1", root)
        if clock == "manual":
            await connection.advance(timedelta(hours=2))
        else:
            while store.tasks.search(state="acquired") == []:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)  # the first attempt has failed, and the next is two seconds ahead
        await resonate.stop()
        assert store.promises.get("order-1").state == "pending"

    asyncio.run(asyncio.wait_for(main(), 60))
