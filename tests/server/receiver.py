"""A real HTTP server on 127.0.0.1 that receives messages, and answers as a test says."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def answer(status: int, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@dataclass
class Request:
    """A received request; the names of its headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


# Answers one request; the connection is closed when it gives False.
Answerer = Callable[[Request, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


def says(*parts: bytes) -> Answerer:
    """Answers with these bytes, then closes the connection, unless they are a whole response."""

    async def answer_so(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return parts == (OK,)

    return answer_so


async def waits_forever(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Does not answer until the client has disconnected."""
    await reader.read()
    return False


@dataclass
class Receiver:
    """A running server, and the requests that it received."""

    answerer: Answerer
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    gone: asyncio.Queue[int] = field(default_factory=asyncio.Queue)  # the number of each connection that has ended
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.connections += 1
        number = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
                request = Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))
                self.requests.append(request)
                if not await self.answerer(request, reader, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass  # the other side has gone
        finally:
            self.tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self.gone.put_nowait(number)

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@contextlib.asynccontextmanager
async def receiving(
    answerer: Answerer | None = None, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """A receiver that runs while the block does."""
    receiver = Receiver(answerer or says(OK))
    server = await asyncio.start_server(receiver.serve, host, port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in list(receiver.tasks):
            task.cancel()
        await asyncio.gather(*receiver.tasks, return_exceptions=True)
        await server.wait_closed()
