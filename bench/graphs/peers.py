"""Celery canvas and BullMQ flows, each a program of its own, with a Redis that is started for it.

A Redis with `no file` keeps nothing on disk. One with `fsync always` loses no more than SQLite with FULL: nothing that it has answered.

Each way to run a peer is tried with a few chains; the fastest then runs all of them, and the fan.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .. import redis_server
from ..jobs.calls import PAYLOAD
from ..jobs.timed import CPU
from .ours import LENGTH

_HERE = Path(__file__).parent
_PATIENCE = 900.0
_TRIED = 100
#: Pools of Celery's worker and their sizes; BullMQ's processes of workers (0: in the process that adds the flows) and `concurrency`.
WAYS = {
    "Celery": (("prefork", "2"), ("prefork", "4"), ("threads", "4"), ("threads", "20"), ("solo", "1")),
    "BullMQ": (("0", "50"), ("0", "100"), ("0", "200"), ("1", "100"), ("2", "50")),
}
#: The measured peers: a key of `WAYS`, and how the peer's Redis keeps its data.
MEASURED = (("Celery", "no file"), ("BullMQ", "no file"), ("BullMQ", "fsync always"))


@dataclass(frozen=True)
class Peer:
    """One that can be measured.

    Attributes:
        name: A key of `WAYS`.
        command: Of its program, before its arguments.
        kept: How the peer's Redis keeps its data: a key of `redis_server.KEPT`.
    """

    name: str
    command: tuple[str, ...]
    kept: str = "no file"

    def __str__(self) -> str:
        return f"{self.name} Redis {self.kept}"


def celery(python: Path | None) -> Peer | str:
    """Celery, or why it is not measured."""
    if python is None:
        return "Celery is not measured: --celery-python names no Python that has it"
    asked = subprocess.run([python, "-c", "import celery, redis"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return f"Celery is not measured: {python} has none: {asked.stderr.strip().splitlines()[-1]}"
    return _needs("Celery", ("redis-server",)) or Peer("Celery", (str(python), str(_HERE / "celery_program.py")))


def bullmq(folder: Path) -> Peer | str:
    """BullMQ, installed in a folder, or why it is not measured."""
    missing = _needs("BullMQ", ("redis-server", "node", "npm"))
    if missing is not None:
        return missing
    for file in (_HERE / "bullmq").iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    made = subprocess.run(["npm", "ci", "--silent"], cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"BullMQ is not measured: it cannot be installed: {(made.stderr.strip() or 'no word').splitlines()[-1]}"
    return Peer("BullMQ", ("node", str((folder / "program.mjs").absolute())))


def _needs(name: str, programs: Sequence[str]) -> str | None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        return f"{name} is not measured: this machine has no {' and no '.join(missing)}"
    return (
        None if Path("/proc/self/stat").exists() else f"{name} is not measured: processor time is read from /proc, which is Linux's"
    )


def fastest(peer: Peer, folder: Path) -> tuple[tuple[str, str], dict[str, float]]:
    """The way with the highest rate of a few chains, and the rates of all ways by name."""
    rates = {way: _run(peer, way, folder / f"{peer}-{'-'.join(way)}", _TRIED, 0)["chains"] for way in WAYS[peer.name]}
    named = {f"{peer}, {_TRIED} chains, {' '.join(way)}": rate for way, rate in rates.items()}
    return max(rates, key=lambda way: rates[way]), named


def measure(peer: Peer, way: tuple[str, str], folder: Path, count: int, width: int) -> dict[str, float]:
    """Jobs a second and processor time; one round."""
    seen = _run(peer, way, folder, count, width)
    found: dict[str, float] = {}
    for what in ("chains", "fan"):
        name = figure(peer.name, peer.kept, what)
        found |= {name: seen[what], name + CPU: seen[f"{what} cpu us"]}
    return found


def figure(peer: str, kept: str, what: str) -> str:
    """The name of a figure."""
    return f"{peer} Redis {kept}, {what}"


def _run(peer: Peer, way: tuple[str, str], folder: Path, count: int, width: int) -> dict[str, float]:
    with redis_server.running(folder, redis_server.KEPT[peer.kept]) as (address, process):
        place = address.rsplit(":", 1)[1] if peer.name == "BullMQ" else address
        command = [*peer.command, place, str(process), *way, str(count), str(LENGTH), str(width), PAYLOAD]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_PATIENCE, env=_clean())
        if done.returncode != 0:
            raise RuntimeError(f"{peer.name} ended with {done.returncode}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _clean() -> dict[str, str]:
    """This environment, without what is meant for our own Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def install(peers: Sequence[Callable[[], Peer | str]]) -> tuple[list[Peer], list[str]]:
    """Those that can be measured, as `MEASURED` says, and why others cannot."""
    every = [make() for make in peers]
    there = {one.name: one for one in every if isinstance(one, Peer)}
    measured = [replace(there[name], kept=kept) for name, kept in MEASURED if name in there]
    return measured, [one for one in every if isinstance(one, str)]
