"""Measures procrastinate, alone: run by the Python that has it, which need not have this package.

    python procrastinate_program.py URL JOBS AT_ONCE PAYLOAD

So many no-op jobs are deferred in batches of 1,000, then its own worker runs them all. Prints a line of JSON: jobs a second, both parts
together.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found, unused-ignore]


async def main(url: str, jobs: int, at_once: int, payload: str) -> float:
    logging.disable()
    app = App(connector=PsycopgConnector(conninfo=url))
    ran = 0

    @app.task(name="noop")
    async def noop(text: str) -> None:
        nonlocal ran
        ran += 1

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        began = time.perf_counter()
        for begin in range(0, jobs, 1000):
            await noop.batch_defer_async(*[{"text": payload}] * min(1000, jobs - begin))
        await app.run_worker_async(wait=False, concurrency=at_once, install_signal_handlers=False, delete_jobs="always")
        elapsed = time.perf_counter() - began
    if ran != jobs:
        raise RuntimeError(f"{ran} of {jobs} jobs ran")
    return jobs / elapsed


if __name__ == "__main__":
    rate = asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
    print(json.dumps({"rate": rate}))
