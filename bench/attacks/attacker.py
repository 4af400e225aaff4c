"""The attacker, a process of its own: `python -m bench.attacks.attacker ATTACK PORT TOKEN`, until it is ended; TOKEN may be empty.

It prints a line when it has begun, and at its end how many answers it got, by status.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections import Counter
from typing import Any

import httpx

from .scenes import Attack, Request, attacks


async def _send(client: httpx.AsyncClient, request: Request, statuses: Counter[int]) -> None:
    if request.stream:
        async with client.stream(request.method, request.path, headers=request.headers) as answer:
            statuses[answer.status_code] += 1
            async for _ in answer.aiter_raw():
                pass
        return
    answer = await client.request(request.method, request.path, content=request.body, headers=request.headers)
    statuses[answer.status_code] += 1
    if request.then is not None and answer.status_code == 200:
        statuses[(await client.get(request.then(answer.json()))).status_code] += 1


async def _connection(client: httpx.AsyncClient, attack: Attack, statuses: Counter[int]) -> None:
    while True:
        for request in attack.requests:
            try:
                await _send(client, request, statuses)
            except httpx.HTTPError:
                statuses[0] += 1  # the server has closed the connection
        await asyncio.sleep(0.001)


async def _attack(attack: Attack, port: int, token: str) -> Counter[int]:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    statuses: Counter[int] = Counter()
    headers = {"authorization": f"Bearer {token}"} if token else {}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/", headers=headers, limits=limits, timeout=None) as client:
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(_connection(client, attack, statuses)) for _ in range(attack.connections)
        ]
        print("begun", flush=True)
        await ended.wait()
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
    return statuses


def main() -> None:
    name, port, token = sys.argv[1:]
    statuses = asyncio.run(_attack(attacks()[name], int(port), token))
    print(json.dumps({str(status): count for status, count in sorted(statuses.items())}))


if __name__ == "__main__":
    main()
