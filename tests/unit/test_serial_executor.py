"""The thread that a worker and a server call their store in."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from resonate_core.calls.serial_executor import SerialExecutor


def fail() -> None:
    raise ValueError("no")


def exit_in_the_thread() -> None:
    sys.exit(3)


def test_the_thread_goes_on_after_a_function_that_raises() -> None:
    async def run() -> None:
        thread = SerialExecutor("t")
        with pytest.raises(ValueError, match="no"):
            await thread.call(fail)
        ended = thread.call(exit_in_the_thread)
        await asyncio.wait({ended})
        assert isinstance(ended.exception(), SystemExit)
        assert await thread.call(lambda: threading.current_thread().name) == "t"
        thread.close()

    asyncio.run(run())


def test_a_caller_that_is_cancelled() -> None:
    async def run() -> None:
        thread, gate = SerialExecutor("t"), threading.Event()
        waiting = asyncio.ensure_future(thread.call(gate.wait))
        await asyncio.sleep(0)
        waiting.cancel()
        gate.set()
        assert await thread.call(lambda: 1) == 1
        thread.close()

    asyncio.run(run())


def test_an_end_that_waits_for_nothing() -> None:
    """The thread ends when the function under way returns."""

    async def run() -> None:
        thread, gate = SerialExecutor("an end"), threading.Event()
        thread.call(gate.wait)
        thread.close(wait=False)
        (left,) = (one for one in threading.enumerate() if one.name == "an end")
        gate.set()
        left.join(60)
        assert not left.is_alive()

    asyncio.run(run())
