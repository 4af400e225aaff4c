"""A bare ASGI app that answers each request with its own body, on the same server and with the same options as ours.

python -m bench.http.echo PORT
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn

from resonate_core.server.run import _uvicorn_config
from resonate_core.server.settings import Settings

_JSON = (b"content-type", b"application/json")


async def echo(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        for done in ("lifespan.startup.complete", "lifespan.shutdown.complete"):
            await receive()
            await send({"type": done})
        return
    body = (await receive()).get("body", b"")
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [_JSON, length]})
    await send({"type": "http.response.body", "body": body})


def main(port: int) -> None:
    settings = Settings(server={"port": port})  # type: ignore[arg-type]
    uvicorn.Server(_uvicorn_config(settings, echo)).run([socket.create_server(("127.0.0.1", port), backlog=2048)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
