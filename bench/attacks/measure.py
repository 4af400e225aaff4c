"""How long the requests of a second tenant take beside an attack."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt

import resonate_core as rc

from ..http.servers import free_port
from .scenes import FAR, REDACTED_KEYS, attacks, fill

#: Seconds between two requests of the second tenant.
INTERVAL = 0.05
_ROOT = Path(__file__).parents[2]
_PATIENCE = 20.0


@dataclass(frozen=True)
class Figure:
    """The times and statuses of the second tenant's requests beside one attack.

    Attributes:
        p50, p99, longest: Of its requests, in ms, from the moment at which each was due.
        refused: How many of them had another status than 200, or no answer within 20 s.
        grown: Bytes by which the server's memory grew.
        answers: The attacker's answers, by status; 0 is a closed connection.
    """

    p50: float
    p99: float
    longest: float
    refused: int
    grown: int
    answers: dict[str, int]


def _token(secret: str, claims: dict[str, Any]) -> str:
    return jwt.encode({"exp": int(time.time()) + 3600, **claims}, secret, "HS256")


def _resident(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


@contextlib.contextmanager
def _served(folder: Path, secret: str) -> Iterator[tuple[int, int]]:
    """The port and the process of a server with a dashboard and tokens."""
    file = folder / "attacked.db"
    with rc.Store(file) as store:
        fill(store)
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "resonate_core",
        "serve",
        "--port",
        str(port),
        "--db",
        str(file),
        "--ui",
        "--log-level",
        "error",
    ]
    for pattern in REDACTED_KEYS:
        command += ["--ui-redact-keys", pattern]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    with subprocess.Popen(command, env={**clean, "RESONATE_AUTH__SECRET": secret}, cwd=_ROOT, stdin=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + _PATIENCE
            while True:
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"http://127.0.0.1:{port}/ready").status_code == 200:
                        break
                if server.poll() is not None or time.monotonic() > until:
                    raise RuntimeError("the server did not begin")
                time.sleep(0.05)
            yield port, server.pid
        finally:
            server.kill()


@contextlib.contextmanager
def _attacked(name: str, port: int, secret: str, answers: dict[str, int]) -> Iterator[None]:
    attack = attacks()[name]
    if not attack.requests:
        yield
        return
    token = _token(secret, attack.claims) if attack.claims else ""
    command = [sys.executable, "-m", "bench.attacks.attacker", name, str(port), token]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as attacker:
        try:
            assert attacker.stdout is not None
            if attacker.stdout.readline() != "begun\n":
                raise RuntimeError("the attacker did not begin")
            yield
            attacker.send_signal(signal.SIGTERM)
            answers.update(json.loads(attacker.stdout.read()))
        finally:
            attacker.kill()


async def _second_tenant(port: int, token: str, seconds: float) -> tuple[list[float], int]:
    """Seconds of each request, and how many were refused: views of the dashboard and creates in turn."""
    waits: list[float] = []
    refused = 0
    headers = {"authorization": f"Bearer {token}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/", headers=headers, limits=limits, timeout=_PATIENCE) as client:

        async def one(number: int, due: float) -> None:
            nonlocal refused
            try:
                if number % 2:
                    answer = await client.get("ui/api/overview")
                else:
                    data = {"id": f"b.{secrets.token_hex(8)}", "timeoutAt": FAR, "param": {}, "tags": {}}
                    head = {"corrId": "1", "version": "2026-04-01"}
                    answer = await client.post("", json={"kind": "promise.create", "head": head, "data": data})
                refused += answer.status_code != 200
            except httpx.HTTPError:
                refused += 1  # none came within the patience
            waits.append(time.perf_counter() - due)

        begun = time.perf_counter()
        tasks = []
        for number in range(round(seconds / INTERVAL)):
            due = begun + number * INTERVAL
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(number, due)))
        await asyncio.gather(*tasks)
    return waits, refused


def beside(name: str, seconds: float, out: Path) -> Figure:
    """Measures beside one attack, on a server and a file of its own."""
    secret = secrets.token_hex(32)
    answers: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="attacks-", dir=out) as folder, _served(Path(folder), secret) as (port, pid):
        token = _token(secret, {"prefix": "b."})
        asyncio.run(_second_tenant(port, token, 1.0))  # whatever happens the first time has happened
        before = _resident(pid)
        with _attacked(name, port, secret, answers):
            waits, refused = asyncio.run(_second_tenant(port, token, seconds))
        grown = _resident(pid) - before
    waits.sort()

    def share(part: float) -> float:
        return 1000 * waits[min(len(waits) - 1, int(part * len(waits)))]

    return Figure(share(0.5), share(0.99), 1000 * waits[-1], refused, grown, answers)


def table(found: dict[str, Figure]) -> str:
    """A line for each attack."""
    known = attacks()
    width = max(len(known[name].what) for name in found) + 2
    lines = [f"{'beside':<{width}}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}{'refused':>9}{'grown MB':>10}  the attacker's answers"]
    for name, of in found.items():
        answers = ", ".join(f"{count} × {status}" for status, count in of.answers.items())
        row = f"{of.p50:>9,.1f}{of.p99:>9,.1f}{of.longest:>9,.1f}{of.refused:>9}{of.grown / 1e6:>10,.0f}"
        lines.append(f"{known[name].what:<{width}}{row}  {answers}")
    return "\n".join(lines)


def missed(found: dict[str, Figure], names: Sequence[str], p99: float = 100, longest: float = 1000) -> list[str]:
    """The attacks beside which a target was missed, or a request of the second tenant refused."""
    return [name for name in names if found[name].p99 > p99 or found[name].longest > longest or found[name].refused]
