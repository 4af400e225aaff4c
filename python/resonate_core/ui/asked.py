"""`why` of the store of a server: its dashboard answers, since no request of the protocol shows which task awaits a promise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._calls.call import refusal
from ..errors import Unsupported
from .verdict import Why

if TYPE_CHECKING:
    import httpx

    from ..client import AsyncClient, Client

__all__ = ["PAGE", "answered", "why_of_server", "why_of_server_async"]

#: Below the server's address.
PAGE = "ui/api/why"


def why_of_server(client: Client, id: str) -> Why:
    """Ask the server of a client."""
    server = client._remote.server
    return answered(server.get(PAGE, {"id": id}), server.name)


async def why_of_server_async(client: AsyncClient, id: str) -> Why:
    """Ask the server of an asynchronous client."""
    server = client._remote.server
    return answered(await server.get(PAGE, {"id": id}), server.name)


def answered(response: httpx.Response, server: str) -> Why:
    """Return the answer of a dashboard.

    Args:
        response: The response to `PAGE`.
        server: The address of the server, for errors.

    Raises:
        Unsupported: The server has no dashboard.
        ResonateError: It has refused the request.
    """
    if response.status_code == 404 or "content-security-policy" not in response.headers:
        raise Unsupported(f"{server} has no dashboard: start it with --ui")
    found: dict[str, Any] = json.loads(response.text)
    if response.status_code != 200:
        raise refusal(response.status_code, str(found.get("error", response.text)))
    return Why.from_dict(found)
