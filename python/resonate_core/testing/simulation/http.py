"""ASGI apps in a simulation, and clients of them: no sockets, and the faults of the network (extra ``worker``: httpx)."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from resonate_core.base.extras import how_to_install

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"simulated apps need httpx: {how_to_install('worker')}") from error

from .incarnation import Incarnation, current_incarnation
from .network import never

if TYPE_CHECKING:
    from .world_interface import WorldInterface

__all__ = ["AppServer", "SimulatedTransport", "client"]

Message = MutableMapping[str, Any]
App = Callable[..., Awaitable[Any]]


class AppServer:
    """An app that one process serves, with its lifespan.

    Args:
        app: The ASGI app.
        context: Of its process.
    """

    def __init__(self, app: App, context: contextvars.Context) -> None:
        self.app = app
        self.context = context
        self.incarnation: Incarnation = context[current_incarnation]
        self.state: dict[str, Any] = {}
        self.exchanges: set[AppExchange] = set()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Run the lifespan of the app, until the process crashes.

        Raises:
            RuntimeError: The app has refused to start.
        """
        to_app: asyncio.Queue[Message] = asyncio.Queue()
        from_app: asyncio.Queue[Message] = asyncio.Queue()
        to_app.put_nowait({"type": "lifespan.startup"})

        async def run() -> None:
            try:
                await self.app({"type": "lifespan", "asgi": _ASGI, "state": self.state}, to_app.get, from_app.put)
            except Exception as error:  # an app without a lifespan
                from_app.put_nowait({"type": "lifespan.startup.complete", "unsupported": error})

        running = asyncio.create_task(run())
        answer = await from_app.get()
        if answer["type"] == "lifespan.startup.failed":
            raise RuntimeError(f"the app has refused to start: {answer.get('message', '')}")
        ready()
        await asyncio.wait([running])
        await never()

    def end(self) -> None:
        """End open requests: the process has crashed."""
        for exchange in sorted(self.exchanges, key=lambda each: each.number):
            exchange.break_off(httpx.ReadError("the connection was reset (simulated: the server crashed)"))
        self.exchanges.clear()


_ASGI = {"version": "3.0", "spec_version": "2.4"}


class AppExchange(httpx.AsyncByteStream):
    """One request and its response, which is read as it comes."""

    def __init__(self, server: AppServer, scope: Message, body: bytes, number: int) -> None:
        self.server = server
        self.number = number
        self._scope = scope
        self._body: bytes | None = body
        self._loop = asyncio.get_running_loop()
        self.start: asyncio.Future[Message] = self._loop.create_future()
        self._parts: deque[bytes] = deque()
        self._ended = False
        self._error: Exception | None = None
        self._news = asyncio.Event()
        self._gone = asyncio.Event()
        self.timeout: float | None = None

    def __hash__(self) -> int:
        return self.number

    # -- the side of the app, in its process ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Call the app."""
        try:
            await self.server.app(self._scope, self._receive, self._send)
        except Exception as error:
            if self.start.done():
                self.break_off(httpx.RemoteProtocolError(f"the app failed within its response: {error!r}"))
            else:
                self.start.set_result({"status": 500, "headers": [(b"content-type", b"text/plain")]})
                self._part(b"Internal Server Error")
        finally:
            self._end()

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not self.start.done():
                self.start.set_result(message)
        elif message["type"] == "http.response.body":
            if self._gone.is_set():
                raise OSError("the client has disconnected")
            self._part(message.get("body", b""))
            if not message.get("more_body", False):
                self._end()

    def _part(self, data: bytes) -> None:
        if data:
            self._parts.append(data)
            self._news.set()

    def _end(self) -> None:
        self._ended = True
        self.server.exchanges.discard(self)
        self._news.set()
        if not self.start.done():
            self.start.set_exception(httpx.RemoteProtocolError("the app ended without a response"))

    def break_off(self, error: Exception) -> None:
        """End it in the middle."""
        self._error = error
        self._news.set()
        if not self.start.done():
            self.start.set_exception(error)

    # -- the side of the client -----------------------------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._parts:
                yield self._parts.popleft()
            if self._error is not None:
                raise self._error
            if self._ended:
                return
            self._news.clear()
            await _within(self._news.wait(), self.timeout)

    async def aclose(self) -> None:
        """Disconnect."""
        self.disconnect()

    def disconnect(self, answered: asyncio.Future[Message] | None = None) -> None:
        """Disconnect.

        Args:
            answered: The response that nothing reads: its error, if it is one, is of no interest.
        """
        if answered is not None:
            answered.exception()
        self._gone.set()
        self.server.exchanges.discard(self)


async def _within(waiting: Awaitable[Any], timeout: float | None) -> Any:
    try:
        return await asyncio.wait_for(waiting, timeout)
    except asyncio.TimeoutError:
        raise httpx.ReadTimeout("no response in time (simulated)") from None


def client(world: WorldInterface, server: Callable[[], AppServer | None], **options: Any) -> httpx.AsyncClient:
    """Make a client whose requests go through the network of the simulation."""
    return httpx.AsyncClient(transport=SimulatedTransport(world, server), **options)


class SimulatedTransport(httpx.AsyncBaseTransport):
    """Calls an app of the simulation, through the network.

    Args:
        world: The simulation.
        server: Returns the app, or None while its process is down.
    """

    def __init__(self, world: WorldInterface, server: Callable[[], AppServer | None]) -> None:
        self._world = world
        self._server = server

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            httpx.TransportError: The request or its response was lost, or the server is down.
        """
        network, incarnation = self._world._network, current_incarnation.get(self._world._incarnation)
        what = f"{request.method} {request.url.path}"
        timeout = request.extensions.get("timeout", {}).get("read")
        body = await request.aread()
        fate = await network.fate(incarnation, what)
        if fate == "lost":
            raise httpx.ReadTimeout(f"no response to {what} (simulated: the request was lost)")
        if fate == "twice":
            ignored = self._begin(request, body)
            ignored.start.add_done_callback(ignored.disconnect)  # else a stream would stay open, without a reader
        exchange = self._begin(request, body)
        if fate == "unanswered":
            await _within(asyncio.shield(exchange.start), timeout)
            await exchange.aclose()
            await asyncio.sleep(network.patience(incarnation) / 1000)
            raise httpx.ReadTimeout(f"no response to {what} (simulated: it was lost)")
        exchange.timeout = timeout
        try:
            start = await _within(exchange.start, timeout)
        except BaseException:
            await exchange.aclose()
            raise
        late = network.delay(incarnation, f"the response to {what}")
        if late:
            await asyncio.sleep(late / 1000)
        return httpx.Response(start["status"], headers=start.get("headers", []), stream=exchange, request=request)

    def _begin(self, request: httpx.Request, body: bytes) -> AppExchange:
        server = self._server()
        if server is None or server.incarnation.dead or server.incarnation.dying:
            raise httpx.ConnectError("the server is down (simulated)")
        url = request.url
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("127.0.0.1", 50_000),
            "server": (url.host, url.port or 80),
            "state": dict(server.state),
        }
        exchange = AppExchange(server, scope, body, self._world._number())
        server.exchanges.add(exchange)
        server.context.copy().run(self._world._loop.create_task, exchange.run(), name=f"{request.method} {url.path}")
        return exchange
