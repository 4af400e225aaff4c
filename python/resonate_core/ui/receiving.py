"""What the client of a request to the dashboard sends: the body, within bounds, and that it is gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .access import Refused

if TYPE_CHECKING:
    from starlette.types import Receive

__all__ = ["MOST_UPLOADS", "read_body", "until_disconnect"]

#: The most recordings of a room that arrive at a time.
MOST_UPLOADS = 2
#: The most bytes of a body, and of one that is a recording.
_MOST_BODY, _MOST_RECORDING = 2_097_152, 33_554_432
#: Seconds for which a body is waited for.
_BODY_TIMEOUT = 30


async def read_body(name: str, receive: Receive) -> bytes:
    """Return the body of a POST to the view of a name.

    Raises:
        Refused: It is too long, does not arrive in time, or the client is gone.
    """
    most = _MOST_RECORDING if name == "travel" else _MOST_BODY
    try:
        return await asyncio.wait_for(_body(receive, most), _BODY_TIMEOUT)
    except asyncio.TimeoutError as error:  # in Python 3.10 it is not the built-in TimeoutError
        raise Refused(408, f"the body did not arrive within {_BODY_TIMEOUT} s") from error


async def _body(receive: Receive, most: int) -> bytes:
    made, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the client has disconnected")
        made += message.get("body", b"")
        if len(made) > most:
            raise Refused(413, f"the body must have at most {most} bytes, got more")
        more = message.get("more_body", False)
    return bytes(made)


async def until_disconnect(receive: Receive) -> None:
    """Wait until the client is gone."""
    message: Any = None
    while message is None or message["type"] != "http.disconnect":
        message = await receive()
        await asyncio.sleep(0)  # one that never waits would keep everything else from running
