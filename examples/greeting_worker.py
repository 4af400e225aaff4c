"""A program of the published SDK (PyPI `resonate-sdk`) that connects to a server. It uses only the URL, not resonate_core.

It registers the function `greet` in the group `greetings`, calls it once through the server, and ends with its result. A second
run with the same id runs no function: the promise already has its value.

Run it with Python 3.12 or newer beside a server::

    resonate-core serve --db shop.db
    RESONATE_URL=http://127.0.0.1:8001 python examples/greeting_worker.py [ID]
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta

from resonate.context import Context
from resonate.resonate import Resonate


async def greet(ctx: Context, name: str) -> str:
    """Two durable steps: each has its own promise on the server."""
    greeting = await ctx.run(compose, name)
    await ctx.sleep(timedelta(seconds=1))
    return greeting


async def compose(ctx: Context, name: str) -> str:
    """A step. If the process crashes after it, the next worker reads its value from the server."""
    return f"Good morning, {name}."


async def main(id: str) -> None:
    """Runs until the greeting is available."""
    resonate = Resonate(group="greetings")  # the URL comes from RESONATE_URL
    resonate.register(greet)
    resonate.register(compose)
    handle = resonate.run(id, greet, "Ann")
    print(await handle.result())
    await asyncio.sleep(0.5)  # the SDK's worker still reads the answer to its last request, which `stop` would cut short
    await resonate.stop()


if __name__ == "__main__":
    if "RESONATE_URL" not in os.environ:
        raise SystemExit("RESONATE_URL is not set: start `resonate-core serve` and set RESONATE_URL=http://127.0.0.1:8001")
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "greeting-1"))
