"""A process with the Python SDK that does what its standard input says, a JSON command a line.

A command is `{"n": 1, "do": "run", "id": …, "func": …, "args": […]}`; what it comes to is a line of standard output that
begins with `@@ `: `{"n": 1, "value": …}` or `{"n": 1, "error": …}`. Commands run side by side, and the process is a worker
meanwhile, for all of functions.py unless PEER_FUNCTIONS is empty. It ends when its standard input does.

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
    """Tells whoever started this process."""
    print("@@ " + json.dumps(what), flush=True)


class Peer:
    """The SDK's client, and the schedules that it made."""

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
        """Carries out one command; returns its value."""
        what, id, args = command["do"], command["id"], command.get("args", [])
        client = self.resonate.options(target=command["target"]) if "target" in command else self.resonate
        if what in ("run", "rpc"):
            handle = getattr(client, what)(id, command["func"], *args)
            await handle.id()  # `result` of a promise that could not be created would wait for ever
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
        """Carries out one command and tells what it came to."""
        try:
            say(n=command["n"], value=await self.do(command))
        except Exception as error:
            traceback.print_exc()
            say(n=command["n"], error=f"{type(error).__name__}: {error}")


async def main() -> None:
    """Reads commands until there are no more."""
    limit = os.environ.get("PEER_STREAM_LIMIT")
    if limit:
        # What is 300 s in aiohttp and therefore in the SDK, which does not set it, is shorter here.
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
