"""Measure the cost of a backlog without a worker: `python -m bench.backlog`.

Tasks of a group without a stream wait in a store that a server drives. The output has, beside the figures of an empty store: the share
of a core and the bytes written while no request arrives, the time of a create, and the time until the first worker that connects gets
its first task.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.http.servers import FAR, cores, envelope, free_port, on_core

_BATCH = 1000
_CREATES = 200
_PATIENCE = 600.0
_GROUP = "nobody"
_HOMES = ("memory", "SQLite normal")


@dataclass
class Figures:
    """The figures of one server.

    Attributes:
        settled: Seconds from its start until it was idle.
        cpu: Share of a core while nothing is asked of it.
        written: Bytes a second that it wrote meanwhile, to files and sockets.
        to_disk: Bytes a second that it had the system write to a disk.
        creates: Seconds of each create.
        offered: Seconds from opening a stream until its first event; None with nothing to offer.
        offered_many: The same until the thousandth.
        memory: Bytes.
    """

    settled: float
    cpu: float
    written: float
    to_disk: float
    creates: list[float]
    offered: float | None
    offered_many: float | None
    memory: int


def fill(store: object, waiting: int) -> None:
    """Creates tasks, a thousand a commit."""
    head = {"corrId": "1", "version": "2026-04-01"}
    tags = {"resonate:target": f"poll://any@{_GROUP}"}
    for first in range(0, waiting, _BATCH):
        ids = range(first, min(first + _BATCH, waiting))
        requests = [
            {"kind": "promise.create", "head": head, "data": {"id": f"task-{i:09}", "timeoutAt": FAR, "tags": tags}} for i in ids
        ]
        store.apply(requests)  # type: ignore[attr-defined]


def serve(port: int, waiting: int, path: str | None) -> None:
    """Fills a store and serves it, until it is ended."""
    import uvicorn

    from resonate_core import Store
    from resonate_core.asgi import create_app

    store = Store(path, durability="normal") if path else Store()
    fill(store, waiting)
    uvicorn.run(create_app(store), host="127.0.0.1", port=port, log_level="error")


class Server:
    """One of them, in a process of its own."""

    def __init__(self, home: str, waiting: int, folder: Path, core: int | None) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "bench.backlog", "--serve", str(self.port), "--waiting", str(waiting)]
        if home != "memory":
            command += ["--path", str(folder / f"{waiting}.db")]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
        self.process = subprocess.Popen([*on_core(core), *command], env=clean, cwd=Path(__file__).parents[1])

    def post(self, body: bytes) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", body, timeout=120) as reply:
            answer: bytes = reply.read()
            return answer

    def begin(self) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.post(envelope("promise.get", id="nothing"))
                return
            except urllib.error.HTTPError:
                return
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def io(self) -> dict[str, int]:
        lines = Path(f"/proc/{self.process.pid}/io").read_text().splitlines()
        return {name: int(value) for name, value in (line.split(": ") for line in lines)}

    def memory(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def share(self, seconds: float) -> float:
        began, used = time.monotonic(), self.cpu_seconds()
        time.sleep(seconds)
        return (self.cpu_seconds() - used) / (time.monotonic() - began)

    def settle(self, patience: float) -> float:
        began = time.monotonic()
        while self.share(1.0) > 0.05 and time.monotonic() - began < patience:
            pass
        return time.monotonic() - began


@contextlib.contextmanager
def running(home: str, waiting: int, folder: Path) -> Iterator[Server]:
    usable = cores()
    server = Server(home, waiting, folder, usable[0] if len(usable) > 1 else None)
    try:
        server.begin()
        yield server
    finally:
        server.process.terminate()
        try:
            server.process.wait(30)
        except subprocess.TimeoutExpired:
            server.process.kill()
            server.process.wait()


def first_events(port: int, count: int) -> tuple[float, float]:
    """Seconds until the first event of a new stream, and until the last of so many."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.sendall(b"GET /poll/%s/w1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % _GROUP.encode())
        seen, first, left = 0, 0.0, b""
        while seen < count:
            received = connection.recv(1 << 16)
            if not received:
                raise ConnectionError("the stream ended")
            *lines, left = (left + received).split(b"\n")
            events = sum(line.startswith(b"data: ") for line in lines)
            if events and not seen:
                first = time.monotonic() - began
            seen += events
    return first, time.monotonic() - began


def measure(home: str, waiting: int, seconds: float, folder: Path) -> Figures:
    """Starts a server with so many waiting tasks, and measures it."""
    with running(home, waiting, folder) as server:
        settled = server.settle(60)
        before = server.io()
        cpu = server.share(seconds)
        after = server.io()
        creates = []
        for i in range(_CREATES):
            body = envelope("promise.create", id=f"new-{i}", timeoutAt=FAR, tags={"resonate:target": "poll://any@others"})
            began = time.perf_counter()
            server.post(body)
            creates.append(time.perf_counter() - began)
            time.sleep(0.02)
        memory = server.memory()
        offered, many = first_events(server.port, min(_BATCH, waiting)) if waiting else (None, None)
        return Figures(
            settled,
            cpu,
            (after["wchar"] - before["wchar"]) / seconds,
            (after["write_bytes"] - before["write_bytes"]) / seconds,
            creates,
            offered,
            many,
            memory,
        )


def row(label: str, found: Figures) -> str:
    """A line of the table."""

    def ms(seconds: float | None) -> str:
        return "" if seconds is None else f"{seconds * 1000:.1f} ms"

    times = sorted(found.creates)
    p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
    cells = [
        label,
        f"{found.cpu:.1%}",
        f"{found.written:,.0f} B/s",
        f"{found.to_disk:,.0f} B/s",
        ms(statistics.median(times)),
        ms(p99),
        ms(times[-1]),
        ms(found.offered),
        ms(found.offered_many),
        f"{found.memory / 2**20:,.0f} MiB",
        f"{found.settled:.0f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m bench.backlog", description=__doc__)
    parser.add_argument("--waiting", type=int, default=1_000_000, help="how many tasks wait")
    parser.add_argument("--seconds", type=float, default=30.0, help="for how long the idle server is watched")
    parser.add_argument("--store", choices=_HOMES, action="append", help="one home alone")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve, given.waiting, given.path)
        return
    print(
        "| store | cpu | written | to disk | create, median | p99 | max | first dispatch | 1,000 dispatches | memory | idle after |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for home in given.store or _HOMES:
        for waiting in (0, given.waiting):
            with tempfile.TemporaryDirectory(prefix="resonate-backlog-") as folder:
                found = measure(home, waiting, given.seconds, Path(folder))
                print(row(f"{home}, {waiting:,} waiting", found), flush=True)


if __name__ == "__main__":
    main()
