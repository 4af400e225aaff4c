"""The dashboard of a server, served from here: its page from this package, its JSON from the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .._http import async_client
from .._per_process import PerProcess
from .app import HEADERS, relative_path
from .files import Assets

if TYPE_CHECKING:
    import httpx
    from starlette.types import Receive, Scope, Send

__all__ = ["ServerUi"]

#: Headers of a request that are passed on.
_PASSED = (b"accept", b"authorization", b"content-type", b"x-resonate-ui", b"x-resonate-name")
#: Headers of a response that are passed back.
_RETURNED = ("content-type", "content-disposition", "cache-control", "retry-after")
_MOST_BODY = 33_554_432


class ServerUi:
    """An ASGI app that shows a server's store by the server's own dashboard.

    Args:
        url: That of the server, without `/ui`.
        token: Sent with each request; None: what the page sends.
        prefix: The path below which it serves, if nothing mounts it.
        transport: Of httpx, for tests.

    Raises:
        ValueError: The URL is none.
    """

    def __init__(self, url: str, token: str | None = None, prefix: str = "", transport: Any = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.username is not None or parts.query:
            shown = parts._replace(netloc=parts.hostname or "", query="").geturl()
            raise ValueError(f"store must be a URL http(s)://host without a password and a query, got {shown!r}")
        self._base = url.rstrip("/").removesuffix("/ui") + "/ui/"
        self._token, self._prefix, self._transport = token, prefix, transport
        self._assets = Assets()
        self._client = PerProcess(self._connect)

    def matches(self, scope: Scope) -> bool:
        """Return whether a request is one for this app: an HTTP request below its prefix."""
        return bool(scope["type"] == "http" and (scope["path"] + "/").startswith(f"{self._prefix}/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self.aclose()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["type"] != "http":
            raise NotImplementedError(f"ASGI scope {scope['type']!r} is not served")
        if self._prefix:
            scope = {**scope, "root_path": scope.get("root_path", "") + self._prefix}
        path = relative_path(scope)
        if path is None:
            name = scope.get("root_path", "").rstrip("/").rsplit("/", 1)[-1]
            await _answer(send, 307, b"", [(b"location", f"{name}/".encode())])
        elif path == "api" or path.startswith("api/"):
            await self._pass_on(path, scope, receive, send)
        else:
            found = self._assets.response(path, scope["method"], scope["headers"])
            if found is None:
                await _refuse(send, 404, "there is nothing at this path")
            else:
                await _answer(send, *found)

    def end_streams(self) -> None:
        """The server ends its streams."""

    async def aclose(self) -> None:
        """Close the connections to the server."""
        client, self._client = self._client.made, PerProcess(self._connect)
        if client is not None:
            await client.aclose()

    def _connect(self) -> httpx.AsyncClient:
        import httpx

        return async_client(timeout=httpx.Timeout(30, read=300), transport=self._transport)

    async def _pass_on(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        import httpx

        given = dict(scope["headers"])
        foreign = given.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
        origin = given.get(b"origin", b"").decode("latin-1")
        if foreign or (origin and urlsplit(origin).netloc.lower() != given.get(b"host", b"").decode("latin-1").lower()):
            await _refuse(send, 403, "a page of another origin must not use this dashboard")
            return
        headers = [(name, value) for name, value in scope["headers"] if name in _PASSED]
        if self._token is not None:
            headers = [(name, value) for name, value in headers if name != b"authorization"]
            headers.append((b"authorization", f"Bearer {self._token}".encode()))
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > _MOST_BODY:
                await _refuse(send, 413, f"the body must have at most {_MOST_BODY} bytes, got more")
                return
            if not message.get("more_body", False):
                break
        query = scope.get("query_string", b"")
        url = self._base + path + ("?" + query.decode("latin-1") if query else "")
        request = self._client.get().build_request(scope["method"], url, headers=headers, content=body)
        try:
            answer = await self._client.get().send(request, stream=True)
        except httpx.HTTPError as error:
            await _refuse(send, 502, f"the server does not answer: {type(error).__name__}")
            return
        try:
            if answer.status_code == 404 and answer.headers.get("content-security-policy") is None:
                await _refuse(send, 502, "the server has no dashboard: start it with --ui")
                return
            kept = [(name.encode(), answer.headers[name].encode("latin-1")) for name in _RETURNED if name in answer.headers]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": [*HEADERS, *kept]})
            try:
                async for part in answer.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            except httpx.HTTPError:
                pass  # the page asks again
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()


async def _refuse(send: Send, status: int, why: str) -> None:
    await _answer(send, status, json.dumps({"error": why, "status": status}).encode(), [(b"content-type", b"application/json")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*HEADERS, *headers]})
    await send({"type": "http.response.body", "body": body})
