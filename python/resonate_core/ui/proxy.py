"""The dashboard of a server, served from here: its page from this package, its JSON from the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from ..base.loopback import is_loopback
from ..base.per_process import PerProcess
from ..http.client import async_client
from ..http.host_names import is_own_name
from ..http.server_client import ServerAddress
from ..http.single_headers import doubled
from .app import ACTS, HEADERS, READS, relative_path
from .files import Assets
from .local import local_role
from .options import Role
from .principal import Principal

if TYPE_CHECKING:
    import httpx
    from starlette.types import Receive, Scope, Send

__all__ = ["ServerUi"]

#: Headers of a request that are passed on, and those of one with a body.
_PASSED = (b"accept", b"authorization")
_OF_A_BODY = (b"content-type", b"x-resonate-ui", b"x-resonate-name")
#: Tells the server that its peer is not the client, whose address gives no right then.
_FORWARDED = (b"via", b"1.1 resonate-core")
#: Headers of a response that are passed back.
_RETURNED = ("content-type", "content-disposition", "cache-control", "retry-after")
#: Content types of a dashboard's data.
_KINDS = ("application/json", "application/x-ndjson", "text/event-stream", "text/x-python", "text/plain")
#: Seconds until the head of a response is there.
_LONGEST_BEGIN = 300.0
_MOST_BODY = 33_554_432


class ServerUi:
    """An ASGI app that shows a server's store by the server's own dashboard.

    Args:
        url: That of the server, without `/ui`.
        token: Sent with the requests that `role` permits; None, and for the others: what the page sends.
        prefix: The path below which it serves, if nothing mounts it.
        transport: Of httpx, for tests.
        hosts: Names in `Host` that are accepted on a loopback address, beside those of this machine; "*" for all.
        role: Returns what a client may do by the token; by default everything for a client on this machine, and nothing for others.

    Raises:
        ValueError: The URL is none, or the environment names a proxy or certificates that cannot be used.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        prefix: str = "",
        transport: Any = None,
        hosts: Collection[str] = (),
        role: Callable[[Any], Role | Principal] = local_role,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.username is not None or parts.query or parts.fragment:
            shown = parts._replace(netloc=parts.hostname or "", query="", fragment="").geturl()
            raise ValueError(f"store must be a URL http(s)://host without a password and a query, got {shown!r}")
        ServerAddress(url)  # its name and its port are judged by the rule of all clients
        self._base = url.rstrip("/").removesuffix("/ui") + "/ui/"
        self._token, self._prefix, self._transport = token, prefix, transport
        self._role = role
        self._hosts = frozenset(name.lower() for name in hosts)
        self._assets = Assets()
        self._client = PerProcess(self._connect)
        self._client.get()  # what the environment says about proxies is refused now, and not at the first request

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
        twice = doubled(scope["headers"])
        if twice is not None:
            await _refuse(send, 400, twice)
            return
        if not self._is_own(scope):
            await _refuse(send, 421, "Host must be a name of this machine, or one of hosts")
            return
        if self._prefix:
            scope = {**scope, "root_path": scope.get("root_path", "") + self._prefix}
        path = relative_path(scope)
        if path is None:
            name = scope.get("root_path", "").rstrip("/").rsplit("/", 1)[-1]
            await _answer(send, 307, b"", [(b"location", f"{name}/".encode())])
        elif path == "api" or path.startswith("api/"):
            await self._view(path[4:], scope, receive, send)
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

        # It keeps no cookies: a session that the server begins with one client would be every client's.
        return async_client(timeout=httpx.Timeout(30, read=300), transport=self._transport)

    def _is_own(self, scope: Scope) -> bool:
        """Whether the name of a request on a loopback address is one that no foreign web page has."""
        server = scope.get("server")
        if "*" in self._hosts or (server is not None and not is_loopback(str(server[0]))):
            return True
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        return not hosts or is_own_name(hosts[0], self._hosts)

    def _may(self, scope: Scope, role: Role) -> bool:
        """Whether the role of a client, by the token, includes another."""
        found = self._role(scope)
        return (found if isinstance(found, Principal) else Principal(found)).may(role)

    async def _view(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request for a known view on, and refuse every other."""
        method = scope["method"]
        if name not in READS and name not in ACTS:
            await _refuse(send, 404, "there is no such view")
        elif not (method in ("GET", "HEAD") and name in READS) and not (method == "POST" and name in ACTS):
            await _refuse(send, 405, "this view does not take this method")
        else:
            await self._pass_on(name, scope, receive, send)

    async def _pass_on(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        import httpx

        has_body = scope["method"] == "POST"
        given = dict(scope["headers"])
        foreign = given.get(b"sec-fetch-site", b"").lower() in (b"cross-site", b"same-site")
        origin = given.get(b"origin", b"").decode("latin-1")
        if foreign or (origin and urlsplit(origin).netloc.lower() != given.get(b"host", b"").decode("latin-1").lower()):
            await _refuse(send, 403, "a page of another origin must not use this dashboard")
            return
        passed = _PASSED + _OF_A_BODY if has_body else _PASSED
        headers = {header: given[header] for header in passed if header in given}
        headers[b"accept-encoding"] = b"identity"  # the bytes are passed on
        if local_role(scope) != "operate":
            headers[_FORWARDED[0]] = _FORWARDED[1]
        if self._token is not None and self._may(scope, "operate" if name == "do" else "read"):
            headers[b"authorization"] = f"Bearer {self._token}".encode()
        try:
            query = _query(scope.get("query_string", b""))
        except ValueError:
            await _refuse(send, 400, "the query must be at most 200 parameters in UTF-8")
            return
        body = b""
        while has_body:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > _MOST_BODY:
                await _refuse(send, 413, f"the body must have at most {_MOST_BODY} bytes, got more")
                return
            has_body = message.get("more_body", False)
        url = f"{self._base}api/{name}{query}"
        request = self._client.get().build_request(scope["method"], url, headers=list(headers.items()), content=body)
        try:
            answer = await asyncio.wait_for(self._client.get().send(request, stream=True), _LONGEST_BEGIN)
        except (httpx.HTTPError, asyncio.TimeoutError) as error:
            await _refuse(send, 502, f"the server does not answer: {type(error).__name__}")
            return
        try:
            if answer.status_code == 404 and answer.headers.get("content-security-policy") is None:
                await _refuse(send, 502, "the server has no dashboard: start it with --ui")
                return
            if not _is_passed_back(answer):
                await _refuse(send, 502, "the server does not answer as a dashboard does")
                return
            kept = [(name.encode(), answer.headers[name].encode("ascii")) for name in _RETURNED if name in answer.headers]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": [*HEADERS, *kept]})
            try:
                async for part in answer.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            except httpx.HTTPError:
                pass  # the page asks again
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()


def _is_passed_back(answer: httpx.Response) -> bool:
    """Whether a response is one of a dashboard: data of its kinds, which no browser takes for a page or a script."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    headers = [answer.headers.get(name, "") for name in _RETURNED]
    return (
        200 <= answer.status_code < 600
        and (kind in _KINDS or answer.status_code in (204, 304))
        and answer.headers.get("content-encoding", "identity").lower() == "identity"
        and all(one.isascii() and one.isprintable() for one in headers)
    )


def _query(given: bytes) -> str:
    """Return a query that is written anew: only parameters are passed on.

    Raises:
        ValueError: It is none.
    """
    pairs = parse_qsl(given.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=200)
    return f"?{urlencode(pairs)}" if pairs else ""


async def _refuse(send: Send, status: int, why: str) -> None:
    await _answer(send, status, json.dumps({"error": why, "status": status}).encode(), [(b"content-type", b"application/json")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*HEADERS, *headers]})
    await send({"type": "http.response.body", "body": body})
