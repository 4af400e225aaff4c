"""Server-sent events: what every stream of the server is written with (WIRE 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import Receive, Send

__all__ = ["COMMENT", "begin", "end", "until_disconnect", "write"]

_HEADERS = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
#: Some servers send no headers before there is a body, and a quiet stream must not look dead.
COMMENT = b":\n\n"


async def begin(send: Send) -> None:
    """Send the headers and a comment."""
    await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
    await write(send, COMMENT)


async def write(send: Send, event: bytes) -> None:
    """Send an event or a comment."""
    await send({"type": "http.response.body", "body": event, "more_body": True})


async def end(send: Send) -> None:
    """End the stream."""
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def until_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    message: Any = None
    while message is None or message["type"] != "http.disconnect":
        message = await receive()
