"""The dashboard of a server, served from here: its page from this package, its JSON from the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Coroutine
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from ..base.loopback import is_loopback
from ..base.payloads import parse_json
from ..base.per_process import PerProcess
from ..http.client import async_client
from ..http.host_names import is_own_name
from ..http.judged_headers import is_foreign_site, is_same_origin, judged
from ..http.server_client import ServerAddress
from .access import Refused
from .app import ACTS, HEADERS, READS, relative_path
from .files import Assets
from .local import local_role
from .options import ROLES, Role, UiOptions
from .principal import Principal
from .proxy_senders import Sender, Senders
from .receiving import MOST_UPLOADS, read_body, until_disconnect
from .rooms import Room, RoomPlaces

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
#: The connections to the server that are kept for later requests.
_KEPT = 20
#: The most bytes of a session, and the seconds until it is there.
_MOST_SESSION, _SESSION_TIMEOUT = 65_536, 30.0


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
        self._asking: dict[tuple[bytes | None, bytes | None], asyncio.Future[dict[str, Any] | None]] = {}
        self._senders = Senders(role, token is not None)
        most = UiOptions()
        self._requests = RoomPlaces(most.requests, "of one sender", "requests to the dashboard", 429)
        self._streams = RoomPlaces(most.streams, "of one sender", "streams of events", 503)
        self._arriving = RoomPlaces(MOST_UPLOADS, "of one sender", "recordings on their way", 429)
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
        headers = judged(scope["headers"])
        if isinstance(headers, str):
            await _refuse(send, 400, headers)
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
        # Places limit its connections: with a number of its own, the streams of one sender would keep those of all others.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT)
        return async_client(timeout=httpx.Timeout(30, read=300), transport=self._transport, limits=limits)

    def _is_own(self, scope: Scope) -> bool:
        """Whether the name of a request on a loopback address is one that no foreign web page has."""
        server = scope.get("server")
        if "*" in self._hosts or (server is not None and not is_loopback(str(server[0]))):
            return True
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        return not hosts or is_own_name(hosts[0], self._hosts)

    async def _view(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request for a known view on, and refuse every other."""
        method = scope["method"]
        if name not in READS and name not in ACTS:
            await _refuse(send, 404, "there is no such view")
        elif not (method in ("GET", "HEAD") and name in READS) and not (method == "POST" and name in ACTS):
            await _refuse(send, 405, "this view does not take this method")
        else:
            try:
                await self._pass_on(name, scope, receive, send)
            except Refused as error:
                await _refuse(send, error.status, str(error))

    async def _pass_on(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope["headers"])
        _check_page(given, scope)
        authorization = given.get(b"authorization")
        sender = self._senders.of(scope, "operate" if name == "do" else "read", authorization)
        url = f"{self._base}api/{name}{_query(scope.get('query_string', b''))}"
        has_body = scope["method"] == "POST"
        headers = self._headers(given, scope, sender, has_body)
        if sender.is_unknown or (has_body and not sender.by_token):
            # The server alone knows the role. It is asked before the body is read: a stranger causes no work that grows with it.
            session = await self._session(headers, sender.room)
            if authorization is not None:
                self._senders.learn(authorization, session)
                sender = self._senders.of(scope, "operate" if name == "do" else "read", authorization)
            has_body = has_body and _may_post(session, name)  # without its body, the server refuses the request, and says why
        is_stream = name == "events" and scope["method"] == "GET"
        with (self._streams if is_stream else self._requests).taken(sender.room):
            body = b""
            if has_body:
                with self._arriving.taken(sender.room) if name == "travel" else nullcontext():
                    body = await read_body(name, receive)
            request = self._client.get().build_request(scope["method"], url, headers=list(headers.items()), content=body)
            await _while_there(receive, self._exchange(request, send, sender if name == "session" else None))

    def _headers(self, given: dict[bytes, bytes], scope: Scope, sender: Sender, has_body: bool) -> dict[bytes, bytes]:
        """Return the headers that are sent to the server."""
        passed = _PASSED + _OF_A_BODY if has_body else _PASSED
        headers = {header: given[header] for header in passed if header in given}
        headers[b"accept-encoding"] = b"identity"  # the bytes are passed on
        if local_role(scope) != "operate":
            headers[_FORWARDED[0]] = _FORWARDED[1]
        if sender.by_token:
            headers[b"authorization"] = f"Bearer {self._token}".encode()
        return headers

    async def _session(self, headers: dict[bytes, bytes], room: Room) -> dict[str, Any] | None:
        """Return what the server says of the sender of a request with these headers; None if it does not accept its token.

        It is asked once for all requests of a token that begin meanwhile: a page sends several at once.
        """
        key = headers.get(b"authorization"), headers.get(_FORWARDED[0])
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.ensure_future(self._asked(headers, room))
            asking.add_done_callback(lambda _: self._asking.pop(key))
        return await asyncio.shield(asking)

    async def _asked(self, headers: dict[bytes, bytes], room: Room) -> dict[str, Any] | None:
        kept = [(header, value) for header, value in headers.items() if header not in _OF_A_BODY]
        with self._requests.taken(room):
            answer = await self._sent(self._client.get().build_request("GET", f"{self._base}api/session", headers=kept))
            try:
                return await _session_in(answer) if answer.status_code == 200 else None
            finally:
                await answer.aclose()

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return the answer, of which only the head is read.

        Raises:
            Refused: There is none, or it is not one of a dashboard.
        """
        import httpx

        try:
            answer = await asyncio.wait_for(self._client.get().send(request, stream=True), _LONGEST_BEGIN)
        except (httpx.HTTPError, asyncio.TimeoutError) as error:
            raise Refused(502, f"the server does not answer: {type(error).__name__}") from error
        why = None
        if answer.status_code == 404 and answer.headers.get("content-security-policy") is None:
            why = "the server has no dashboard: start it with --ui"
        elif not _is_passed_back(answer):
            why = "the server does not answer as a dashboard does"
        if why is not None:
            await answer.aclose()
            raise Refused(502, why)
        return answer

    async def _exchange(self, request: httpx.Request, send: Send, capped: Sender | None) -> None:
        """Send a request, and pass the answer back; a session with no more than the role of `capped`, if it is sent by the token."""
        import httpx

        answer = await self._sent(request)
        try:
            kept = [(name.encode(), answer.headers[name].encode("ascii")) for name in _RETURNED if name in answer.headers]
            start = {"type": "http.response.start", "status": answer.status_code, "headers": [*HEADERS, *kept]}
            if capped is not None and capped.by_token and answer.status_code == 200 and request.method == "GET":
                session = _capped(await _session_in(answer), capped.principal.role)
                await send(start)
                await send({"type": "http.response.body", "body": json.dumps(session).encode()})
                return
            await send(start)
            try:
                async for part in answer.aiter_raw():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            except httpx.HTTPError:
                pass  # the page asks again
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await answer.aclose()


async def _while_there(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do some work, and end it when the client is gone: no server tells an app by `send`."""
    both = working, gone = asyncio.ensure_future(work), asyncio.ensure_future(until_disconnect(receive))
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in both:
            if one.done():
                one.result()
                break
    finally:
        gone.cancel()
        working.cancel()
        await asyncio.gather(*both, return_exceptions=True)


async def _session_in(answer: httpx.Response) -> dict[str, Any]:
    """Return the session that a server has answered.

    Raises:
        Refused: It is none.
    """
    import httpx

    async def read() -> bytes:
        made = bytearray()
        async for part in answer.aiter_raw():
            made += part
            if len(made) > _MOST_SESSION:
                raise ValueError("too long")
        return bytes(made)

    try:
        session = parse_json(await asyncio.wait_for(read(), _SESSION_TIMEOUT))
        if not isinstance(session, dict) or session.get("role") not in ROLES:
            raise ValueError("no session")
    except (httpx.HTTPError, asyncio.TimeoutError, ValueError) as error:
        raise Refused(502, "the server does not answer as a dashboard does") from error
    return session


def _may_post(session: dict[str, Any] | None, name: str) -> bool:
    return session is not None and Principal(session["role"]).may("operate" if name == "do" else "read")


def _capped(session: dict[str, Any], role: Role) -> dict[str, Any]:
    """Return a session with a role of at most another one: the page then offers what will be done."""
    if not Principal(session["role"]).may(role) or session["role"] == role:
        return session
    features = session.get("features")
    preview = {"preview": role == "operate"}
    return {**session, "role": role, "features": {**features, **preview} if isinstance(features, dict) else preview}


def _check_page(given: dict[bytes, bytes], scope: Scope) -> None:
    """Refuse what a page of another origin sends.

    Raises:
        Refused: It is one.
    """
    origin, host = (None if one is None else one.decode("latin-1") for one in (given.get(b"origin"), given.get(b"host")))
    if is_foreign_site(given.get(b"sec-fetch-site", b"")) or (
        origin is not None and not is_same_origin(origin, host, scope.get("scheme", "http"))
    ):
        raise Refused(403, "a page of another origin must not use this dashboard")


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
        Refused: It is none.
    """
    try:
        pairs = parse_qsl(given.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError as error:
        raise Refused(400, "the query must be at most 200 parameters in UTF-8") from error
    return f"?{urlencode(pairs)}" if pairs else ""


async def _refuse(send: Send, status: int, why: str) -> None:
    more = [(b"retry-after", b"1")] if status in (429, 503) else []
    body = json.dumps({"error": why, "status": status}).encode()
    await _answer(send, status, body, [(b"content-type", b"application/json"), *more])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*HEADERS, *headers]})
    await send({"type": "http.response.body", "body": body})
