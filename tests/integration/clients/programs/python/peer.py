"""A process with the Python SDK that runs the commands on its standard input, one JSON object per line.

A command is `{"n": 1, "do": "run", "id": …, "func": …, "args": […]}`; its result is a line of standard output that begins
with `@@ `: `{"n": 1, "value": …}` or `{"n": 1, "error": …}`. Commands run in parallel. The process is also a worker for the
functions of functions.py, unless PEER_FUNCTIONS is empty. It ends at the end of its standard input.

`do` is one of: run, rpc (with `target`), get, schedule (with `cron`), unschedule.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import traceback
from datetime import timedelta
from typing import Any

import aiohttp
import functions
from resonate.resonate import Resonate


def say(**what: Any) -> None:
    """Prints a line for the process that started this one."""
    print("@@ " + json.dumps(what), flush=True)


class Peer:
    """The SDK's client, and the schedules that it created."""

    def __init__(self) -> None:
        self.resonate = Resonate(
            url=os.environ["RESONATE_URL"],
            group=os.environ["PEER_GROUP"],
            pid=os.environ["PEER_NAME"],
            ttl=timedelta(milliseconds=int(os.environ["PEER_TTL_MS"])),
        )
        self.schedules: dict[str, Any] = {}
        if os.environ.get("PEER_FUNCTIONS"):
            for function in functions.FUNCTIONS:
                self.resonate.register(function)

    async def do(self, command: dict[str, Any]) -> Any:
        """Runs one command; returns its value."""
        what, id, args = command["do"], command["id"], command.get("args", [])
        client = self.resonate.options(target=command["target"]) if "target" in command else self.resonate
        if what in ("run", "rpc"):
            handle = getattr(client, what)(id, command["func"], *args)
            await handle.id()  # `result` of a promise that could not be created would wait forever
            say(n=command["n"], created=True)
            return await handle.result()
        if what == "get":
            return await (await client.get(id)).result()
        if what == "schedule":
            self.schedules[id] = await client.schedule(id, command["cron"], command["func"], args=tuple(args))
            return id
        if what == "unschedule":
            await self.schedules.pop(id).delete()
            return id
        raise ValueError(f"there is no command {what!r}")

    async def answer(self, command: dict[str, Any]) -> None:
        """Runs one command and prints its result."""
        try:
            say(n=command["n"], value=await self.do(command))
        except Exception as error:
            traceback.print_exc()
            say(n=command["n"], error=f"{type(error).__name__}: {error}")


async def main() -> None:
    """Reads commands until the end of the input."""
    limit = os.environ.get("PEER_STREAM_LIMIT")
    if limit:
        # The SDK does not set this timeout, so it is 300 s, aiohttp's default; the test sets a shorter one.
        aiohttp.client.DEFAULT_TIMEOUT = aiohttp.ClientTimeout(total=float(limit), sock_connect=30)
    peer = Peer()
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    say(ready=True)
    commands = set()
    while line := await lines.readline():
        commands.add(asyncio.create_task(peer.answer(json.loads(line))))
    os._exit(0)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    asyncio.run(main())
