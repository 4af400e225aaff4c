"""64 connections that create and settle, while the server is killed and started again: no answered change is lost.

    python tests/server/load_and_kill.py --seconds 120 --kills 10                       on a new SQLite file
    python tests/server/load_and_kill.py --store postgresql://127.0.0.1/test --faults   on an empty store, whose database may fail

Prints how many answers there were, and how many of them the store does not hold; exit status 1 where that is not 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import resonate_core as rc
from free_ports import free_port

FAR = 4_000_000_000_000
VERSION = "2026-04-01"
LISTENER = "poll://uni@listeners/1"
"""No worker listens there, so that the unblocks stay in the outbox."""


class Unavailable(OSError):
    """The server could not use its database; whether the request ran is not known."""


class Server:
    """The command, on one store and one port.

    Args:
        place: The path or URL of the store.
        log: The file of its log.
        faults: Whether the database may fail, so that the command may end by itself; it is then started again.
    """

    def __init__(self, place: str, log: Path, *, faults: bool = False) -> None:
        self.place = place
        self.log = log
        self.faults = faults
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
        command = [sys.executable, "-m", "resonate_core", "serve", "--db", self.place, "--port", str(self.port)]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    async def ready(self) -> None:
        """Waits until the server reports that it is ready."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(b"GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                answer = await reader.read()
                writer.close()
                if answer.startswith(b"HTTP/1.1 200"):
                    return
            except OSError:
                pass
            assert self.process is not None
            if self.process.poll() is not None:
                assert self.faults, self.log.read_text()
                self.start()
            await asyncio.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)


class Client:
    """One connection that creates a promise and settles it, again and again, and records the acknowledged changes."""

    def __init__(self, name: str, server: Server, answered: list[tuple[str, str]]) -> None:
        self.name = name
        self.port = server.port
        self.faults = server.faults
        self.answered = answered
        self.count = 0
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def ask(self, kind: str, **data: object) -> dict:
        if self.writer is None or self.reader is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = json.dumps({"kind": kind, "head": {"corrId": self.name, "version": VERSION}, "data": data}).encode()
        head = f"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        reply: dict = json.loads(await self.reader.readexactly(length))
        if self.faults and reply["head"]["status"] in (429, 500, 503):
            raise Unavailable(str(reply))
        assert reply["head"]["status"] == 200, reply
        return reply

    async def step(self, id: str) -> None:
        await self.ask("promise.create", id=id, timeoutAt=FAR, tags={"resonate:target": "poll://any@nobody"})
        self.answered.append(("pending", id))
        listens = self.count % 4 == 0
        if listens:
            await self.ask("promise.register_listener", awaited=id, address=LISTENER)
        await self.ask("promise.settle", id=id, state="resolved", value={"data": id})
        self.answered.append(("resolved", id))
        if listens:
            self.answered.append(("unblocked", id))

    async def run(self) -> None:
        while True:
            self.count += 1
            try:
                await self.step(f"{self.name}.{self.count}")
            except (OSError, asyncio.IncompleteReadError):  # killed: nothing is known of the request under way
                self.close()
                await asyncio.sleep(0.02)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def load(server: Server, seconds: float, kills: int, connections: int, chance: random.Random) -> list[tuple[str, str]]:
    """Runs the load; returns the acknowledged changes, in order."""
    answered: list[tuple[str, str]] = []
    server.start()
    clients = [Client(f"c{number}", server, answered) for number in range(connections)]
    running = [asyncio.create_task(client.run()) for client in clients]
    await server.ready()
    for _ in range(kills):
        before = len(answered)
        await asyncio.sleep(seconds / (kills + 1) * chance.uniform(0.8, 1.2))
        await asyncio.to_thread(server.end, signal.SIGKILL)
        server.start()
        await server.ready()
        assert server.faults or len(answered) > before, "nothing was answered between two kills"
    await asyncio.sleep(seconds / (kills + 1))
    status = await asyncio.to_thread(server.end, signal.SIGTERM)
    for task in running:
        task.cancel()
    ended = await asyncio.gather(*running, return_exceptions=True)
    for client in clients:
        client.close()
    wrong = [error for error in ended if not isinstance(error, asyncio.CancelledError)]
    assert not wrong, wrong
    assert status == 0, f"SIGTERM ended the server with {status}"
    return answered


def lost(place: str, answered: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the acknowledged changes that the store does not have."""
    missing = []
    with rc.Store(place, read_only=True) as store:
        unblocks = {message.id for message in store.messages() if message.kind == "unblock"}
        for state, id in answered:
            if state == "unblocked":
                missing += [(state, id)] if id not in unblocks else []
                continue
            try:
                promise = store.promises.get(id)
            except rc.NotFound:
                missing.append((state, id))
                continue
            if state == "resolved" and (promise.state != "resolved" or promise.value.data != id):
                missing.append((state, id))
        broken = store.check()
    assert not broken, broken
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--store", help="path or URL of an empty store; without, a new SQLite file")
    parser.add_argument(
        "--faults", action="store_true", help="the database may fail: replies of status 429, 500 and 503 are no errors"
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(given.store or str(Path(folder) / "app.db"), Path(folder) / "log", faults=given.faults)
        try:
            answered = asyncio.run(load(server, given.seconds, given.kills, given.connections, random.Random(given.seed)))
            missing = lost(server.place, answered)
        finally:
            if server.process is not None and server.process.poll() is None:
                server.end(signal.SIGKILL)
            tracebacks = server.log.read_text().count("Traceback") if server.log.exists() else 0
            if tracebacks and not given.faults:
                print(server.log.read_text(), file=sys.stderr)
    messages = sum(state == "unblocked" for state, _ in answered)
    messages_lost = sum(state == "unblocked" for state, _ in missing)
    print(
        f"connections {given.connections}, seconds {given.seconds:g}, kills {given.kills}, seed {given.seed}: "
        f"acknowledged {len(answered)}, acknowledged and lost {len(missing)}, messages {messages}, messages lost {messages_lost}, "
        f"tracebacks {tracebacks}"
    )
    for state, id in missing[:20]:
        print(f"lost: {id} was answered as {state}")
    return 1 if missing or (tracebacks and not given.faults) else 0


if __name__ == "__main__":
    sys.exit(main())
