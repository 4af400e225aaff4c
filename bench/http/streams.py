"""Poll streams: how soon a message arrives, and what a thousand idle ones cost.

The client is two raw sockets on one event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import statistics
import time
from dataclasses import dataclass

from .servers import FAR, Server, envelope

_ids = itertools.count()
_SETTLE = 0.003  # s between two messages: each finds a server that waits, as a lone message does
_SLOW = 30.0


@dataclass(frozen=True)
class Arrival:
    """How many ms after a promise.create was sent its message had arrived.

    Attributes:
        p50: Of half of the messages, at most.
        p99: Of 99 in 100.
        answer: Half of the answers to the promise.create itself were there by then.
    """

    p50: float
    p99: float
    answer: float


async def _open(port: int, group: str, id: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /poll/{group}/{id} HTTP/1.1\r\nhost: bench\r\n\r\n".encode())
    await asyncio.wait_for(reader.readuntil(b":\n\n"), _SLOW)
    return reader, writer


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 200), hard))


async def _arrivals(port: int, messages: int) -> Arrival:
    name = f"lone-{next(_ids)}"
    reader, writer = await _open(port, "bench-latency", name)
    asked, asking = await asyncio.open_connection("127.0.0.1", port)
    arrived, answered = [], []
    for n in range(messages):
        tags = {"resonate:target": f"poll://uni@bench-latency/{name}"}
        body = envelope("promise.create", id=f"{name}-{n}", timeoutAt=FAR, tags=tags)
        await asyncio.sleep(_SETTLE)
        answer = asyncio.ensure_future(_answer(asked))
        event = asyncio.ensure_future(_event(reader))
        started = time.perf_counter()
        asking.write(b"POST / HTTP/1.1\r\nhost: bench\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        at_answer, at_event = await asyncio.wait_for(asyncio.gather(answer, event), _SLOW)
        answered.append(at_answer - started)
        arrived.append(at_event - started)
    for one in (writer, asking):
        one.close()
        await one.wait_closed()
    arrived.sort()
    return Arrival(
        1e3 * statistics.median(arrived), 1e3 * arrived[min(messages - 1, int(messages * 0.99))], 1e3 * statistics.median(answered)
    )


async def _answer(reader: asyncio.StreamReader) -> float:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(f"promise.create was answered by {head!r}")
    await reader.readexactly(int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]))
    return time.perf_counter()


async def _event(reader: asyncio.StreamReader) -> float:
    while not (await reader.readuntil(b"\n\n")).rpartition(b"\r\n")[2].startswith(b"data: "):
        pass  # a comment that keeps the stream alive
    return time.perf_counter()


@dataclass(frozen=True)
class Idle:
    """What open streams cost that nothing is sent on.

    Attributes:
        bytes: Memory of the server, for each.
        cpu: Share of a core, for all of them.
        cpu_without: The same before they were opened.
    """

    bytes: float
    cpu: float
    cpu_without: float


def measure(server: Server, count: int, messages: int, seconds: float) -> tuple[Arrival, Arrival, Idle]:
    """Arrivals with one stream, and with `count` idle ones open beside it; and the cost of the idle ones.

    `seconds` is how long the idle server is measured; from 15 s on it contains a keepalive.
    """

    async def cpu_share() -> float:
        before, started = server.cpu_seconds(), time.perf_counter()
        await asyncio.sleep(seconds)
        return (server.cpu_seconds() - before) / (time.perf_counter() - started)

    async def main() -> tuple[Arrival, Arrival, Idle]:
        alone = await _arrivals(server.port, messages)
        without = await cpu_share()
        memory = server.resident_bytes()
        idle = [await _open(server.port, "bench-idle", f"{server.port}-{n}") for n in range(count)]
        each = (server.resident_bytes() - memory) / count
        cpu = await cpu_share()
        among = await _arrivals(server.port, messages)
        for _, writer in idle:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for _, writer in idle), return_exceptions=True)
        return alone, among, Idle(each, cpu, without)

    _allow_files(count)
    return asyncio.run(main())
