"""How long a create takes that is sent every 20 ms, whatever became of those before it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..http.servers import free_port
from ..targets import Target
from .scenes import SCENES, create

STORES = ("memory", "SQLite normal")
INTERVAL = 0.02
_PATIENCE = 300.0
_BEFORE = 0.5  # s of creates before the work is set off
_ROOT = Path(__file__).parents[2]
_SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


class _Connections:
    """Connections that stay open, as many as are needed at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, body: bytes) -> int:
        """The status in the answer's head."""
        reader, writer = self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port, limit=2**24)
        head = b"POST / HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        self._free.append((reader, writer))
        return int(answer[9:12])

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()


async def _create(connections: _Connections, name: str, planned: float, into: list[float]) -> None:
    body = json.dumps(create(name, tags={"resonate:external": "true"})).encode()
    status = await connections.post(body)
    if status != 200:
        raise RuntimeError(f"a create was answered with {status}")
    into.append(time.perf_counter() - planned)


async def _trigger(connections: _Connections, bodies: list[bytes], repeats: bool, until: float) -> None:
    while bodies:
        for body in bodies:
            if repeats and time.perf_counter() > until:
                return
            status = await connections.post(body)
            if status != 200:
                raise RuntimeError(f"what sets the work off was answered with {status}")
        if not repeats:
            return


async def _sample(port: int, ready: dict[str, Any], repeats: bool, seconds: float) -> list[float]:
    waits: list[float] = []
    # Encoded before the clock starts: tens of thousands of requests would hold this loop up, and the creates with it.
    bodies = [json.dumps(request).encode() for request in ready["requests"]]
    connections, others = _Connections(port), _Connections(port)
    for i in range(25):  # whatever happens the first time has happened
        await _create(connections, f"warm-{i}", time.perf_counter(), [])
    if ready["at_ms"] is not None:
        await asyncio.sleep(max(0.0, ready["at_ms"] / 1000 - time.time() - _BEFORE))
    start = time.perf_counter()
    triggered: asyncio.Task[None] | None = None
    under_way: set[asyncio.Task[None]] = set()
    failed: list[BaseException] = []

    def done(task: asyncio.Task[None]) -> None:
        under_way.discard(task)
        if not task.cancelled() and task.exception() is not None:
            failed.append(task.exception())  # type: ignore[arg-type]

    for i in range(round(seconds / INTERVAL)):
        planned = start + i * INTERVAL
        await asyncio.sleep(max(0.0, planned - time.perf_counter()))
        if triggered is None and planned - start >= _BEFORE:
            triggered = asyncio.ensure_future(_trigger(others, bodies, repeats, start + seconds))
        task = asyncio.ensure_future(_create(connections, f"new-{i}", planned, waits))
        under_way.add(task)
        task.add_done_callback(done)
    while under_way and not failed:
        await asyncio.wait(under_way, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    if failed:
        raise failed[0]
    if triggered is not None:
        await asyncio.wait_for(triggered, _PATIENCE)
    connections.close()
    others.close()
    return waits


def _beside(scene: str, store: str, folder: Path, seconds: float, size: int | None) -> list[float]:
    """Seconds that each create took beside one scene."""
    port = free_port()
    command = [sys.executable, "-m", "bench.tail.served", scene, str(port)]
    if store != "memory":
        command += ["--db", str(folder.absolute() / f"{scene}.db")]
    if size is not None:
        command += ["--size", str(size)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    server = subprocess.Popen(command, env=clean, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        if not said:
            raise RuntimeError(f"the server of {scene} ended with {server.wait(_PATIENCE)}")
        return asyncio.run(_sample(port, json.loads(said), SCENES[scene].repeats, seconds))
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def figures(
    folder: Path,
    seconds: float = 15.0,
    scenes: Sequence[str] = tuple(SCENES),
    stores: Sequence[str] = STORES,
    size: int | None = None,
) -> dict[str, float]:
    """Milliseconds, under names such as ``memory create beside due p99``. Files are made in a folder below `folder`."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="tail-", dir=folder) as files:
        for store in stores:
            for scene in scenes:
                waits = sorted(_beside(scene, store, Path(files), seconds, size))
                for word, share in _SHARES.items():
                    at = min(len(waits) - 1, int(share * len(waits)))
                    found[f"{store} create beside {scene} {word}"] = 1000 * waits[at]
                for file in Path(files).iterdir():
                    file.unlink()
    return found


def targets(found: dict[str, float]) -> list[Target]:
    """The targets, by figure."""
    every = [
        Target(f"{store} create beside {scene} {word}", reach, at_most=True, unit="ms")
        for store in STORES
        for scene in SCENES
        if scene != "idle"
        for word, reach in (("p99.9", 25), ("max", 100))
    ]
    return [target for target in every if target.figure in found]


def tables(found: dict[str, float]) -> str:
    """The tail under bulk, in ms."""
    lines = []
    for store in STORES:
        rows = [(name, scene) for name, scene in SCENES.items() if f"{store} create beside {name} max" in found]
        if rows:
            lines.append(f"{store + ': ms of a create beside':<48}" + "".join(f"{word:>10}" for word in _SHARES))
        for name, scene in rows:
            lines.append(f"  {scene.what:<46}" + "".join(f"{found[f'{store} create beside {name} {w}']:>10,.1f}" for w in _SHARES))
    return "\n".join(lines)
