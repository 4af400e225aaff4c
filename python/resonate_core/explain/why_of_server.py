"""`why` of the store of a server: its dashboard answers, since no request of the protocol shows which task awaits a promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..calls.call import refusal
from ..errors import Unsupported
from ..http.answers import bounded, integer, parsed, text, used
from .reasons import Why

if TYPE_CHECKING:
    from ..client import AsyncClient, Client
    from ..http.bodies import Answer

__all__ = ["PAGE", "answered", "read_page", "why_of_server", "why_of_server_async"]

T = TypeVar("T")

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


def answered(response: Answer, server: str) -> Why:
    """Return the answer of a dashboard.

    Args:
        response: The response to `PAGE`.
        server: The address of the server, for errors.

    Raises:
        Unsupported: The server has no dashboard.
        NoEnvelope: The answer is none of a dashboard.
        ResonateError: It has refused the request.
    """
    return read_page(response, server, "why", _read)


def read_page(response: Answer, server: str, what: str, read: Callable[[bytes], T]) -> T:
    """Return what a function makes of the answer of a dashboard.

    Args:
        response: The response to the path of a view.
        server: The address of the server, for errors.
        what: The question, for errors.
        read: Makes the result.

    Raises:
        Unsupported: The server has no dashboard, or none with this view.
        NoEnvelope: The answer is none of a dashboard.
        ResonateError: It has refused the request.
    """
    if response.status_code == 404 or "content-security-policy" not in response.headers:
        raise Unsupported(f"{server} has no dashboard: start it with --ui")
    status = response.status_code
    if status >= 400:
        raise refusal(status, used(server, what, lambda content: text("error", parsed(content)["error"]), response.content))
    return used(server, what, read, response.content)


def _read(content: bytes) -> Why:
    found = bounded(parsed(content))
    for name in ("kind", "sentence"):
        text(name, found[name])
    for link in found["chain"]:
        text("id", link["id"])
        text("sentence", link["sentence"])
    for advice in found["advice"]:
        text("text", advice["text"])
    if found["next"] is not None:
        text("what", found["next"]["what"])
        if found["next"]["at"] is not None:
            integer("at", found["next"]["at"])
    integer("now", found["now"])
    return Why.from_dict(found)
