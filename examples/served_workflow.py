"""Workers in separate processes, a server that is killed, and a workflow that still ends exactly once.

The server runs on a SQLite file; a worker with the published SDK (PyPI `resonate-sdk`) connects to it. In the middle of the
workflow first the worker is killed, then the server. Both are restarted, and the workflow continues from its last step.

Run it with Python 3.12 or newer: ``python examples/served_workflow.py``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import resonate_core as rc

CITIES = ["Lisbon", "Oslo", "Accra"]


# -- the worker: a program of the SDK, which knows a URL and nothing else ---------------------------------------------------


async def work(url: str, journal: str) -> None:
    """Runs durable functions until it is killed."""
    from resonate.context import Context
    from resonate.resonate import Resonate

    async def journey(ctx: Context, cities: list[str]) -> str:
        """Books one city after the other, and rests in between."""
        booked = []
        for city in cities:
            booked.append(await ctx.run(book, city))
            await ctx.sleep(timedelta(seconds=1))
        return ", ".join(booked)

    async def book(ctx: Context, city: str) -> str:
        """A step with an effect, which is seen in the journal."""
        with open(journal, "a", encoding="utf-8") as lines:
            lines.write(city + "\n")
        return f"{city} booked"

    resonate = Resonate(url=url, group="travel", ttl=timedelta(seconds=2))
    resonate.register(journey)
    resonate.register(book)
    await asyncio.Event().wait()


# -- what stands around it --------------------------------------------------------------------------------------------------


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(path: Path, port: int) -> subprocess.Popen[bytes]:
    """Starts the server on a file, and waits until it answers."""
    command = [sys.executable, "-m", "resonate_core", "serve", "--db", str(path), "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command)
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready"):
                return server
        except OSError:
            if server.poll() is not None:
                raise SystemExit(f"the server ended with {server.returncode}") from None


def start_worker(url: str, journal: Path) -> subprocess.Popen[bytes]:
    """Starts a worker."""
    return subprocess.Popen([sys.executable, __file__, "worker", url, str(journal)], stderr=subprocess.DEVNULL)


def kill(process: subprocess.Popen[bytes]) -> None:
    """As the kernel does when memory is short."""
    process.send_signal(signal.SIGKILL)
    process.wait()


async def until(condition: Callable[[], bool], why: str) -> None:
    """Waits until a condition holds."""
    for _ in range(1200):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise SystemExit(f"waited a minute for {why}")


async def tell(folder: Path) -> None:
    """The story."""
    from resonate.resonate import Resonate

    logging.getLogger("resonate").setLevel(logging.ERROR)  # the SDK would tell that its server went away
    path, journal, port = folder / "travel.db", folder / "journal", free_port()
    url = f"http://127.0.0.1:{port}"
    journal.touch()
    server, worker = start_server(path, port), start_worker(url, journal)
    processes = [server, worker]
    client = Resonate(url=url, group="office")
    try:
        handle = client.options(target="travel").rpc("journey-1", "journey", CITIES)
        await until(lambda: CITIES[0] in journal.read_text(), "the first booking")
        print(f"{CITIES[0]} is booked; the worker is killed", flush=True)
        kill(worker)
        processes.append(start_worker(url, journal))
        await until(lambda: CITIES[1] in journal.read_text(), "the second booking")
        print(f"{CITIES[1]} is booked, by another worker; the server is killed", flush=True)
        kill(server)
        server = start_server(path, port)
        processes.append(server)
        result: Awaitable[str] = handle.result()
        print("the workflow ends:", await asyncio.wait_for(result, 120))
        await client.stop()
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
                process.wait()
    with rc.Store(path, read_only=True) as store:
        steps = [promise for promise in store.promises.search(tags={"resonate:origin": "journey-1"}) if promise.state == "resolved"]
        print(f"{len(steps)} durable steps, each settled once; {len(store.check())} violations")


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        asyncio.run(work(sys.argv[2], sys.argv[3]))
    else:
        os.environ.pop("RESONATE_URL", None)
        with tempfile.TemporaryDirectory() as made:
            asyncio.run(tell(Path(made)))
