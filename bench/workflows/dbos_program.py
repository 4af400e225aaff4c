"""Workflows of five steps on DBOS and PostgreSQL, 16 in flight; run by a Python that has `dbos`. Prints steps a second as JSON.

python dbos_program.py URL threads|loop WORKFLOWS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig

STEPS, AT_ONCE = 5, 16


@DBOS.step()
def add(number: int) -> int:
    return number + 1


@DBOS.workflow()
def steps(number: int) -> int:
    for _ in range(STEPS):
        number = add(number)
    return number


@DBOS.step()
async def add_in_the_loop(number: int) -> int:
    return number + 1


@DBOS.workflow()
async def steps_in_the_loop(number: int) -> int:
    for _ in range(STEPS):
        number = await add_in_the_loop(number)
    return number


def in_threads(count: int) -> float:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        began = time.perf_counter()
        list(threads.map(steps, range(count)))
        return time.perf_counter() - began


async def in_the_loop(count: int) -> float:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            await steps_in_the_loop(number)

    began = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(count)))
    return time.perf_counter() - began


def main() -> None:
    url, way, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    config: DBOSConfig = {"name": "bench", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR"}
    DBOS(config=config)
    DBOS.launch()
    steps(0)
    used = time.process_time()
    elapsed = in_threads(count) if way == "threads" else asyncio.run(in_the_loop(count))
    used = time.process_time() - used
    print(json.dumps({"rate": count * STEPS / elapsed, "cpu": 1e6 * used / (count * STEPS)}))
    DBOS.destroy()


if __name__ == "__main__":
    main()
