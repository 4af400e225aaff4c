"""Plays an order and draws it: writes `order.svg` beside this file."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl

import resonate_core as rc
import resonate_core.display

SECOND = 1000
ANY = "poll://any@workers"


def play() -> io.StringIO:
    """Fan-out, a lost worker, a takeover, a timer. Returns the trace."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    trace = io.StringIO()
    store.record(trace)
    tasks = store.tasks
    target = {"resonate:target": ANY}

    order = tasks.create("order", pid="ann", ttl=30 * SECOND, timeout=200 * SECOND, target=ANY).task.version
    tasks.fence_create("order", order, "order.charge", timeout=100 * SECOND, tags=target)
    tasks.fence_create("order", order, "order.pack", timeout=100 * SECOND, tags=target)
    clock.advance(4 * SECOND)
    tasks.suspend("order", order, ["order.charge", "order.pack"])
    charge = tasks.acquire("order.charge", 0, pid="bob", ttl=20 * SECOND).task.version
    clock.advance(2 * SECOND)
    lost = tasks.acquire("order.pack", 0, pid="cleo", ttl=20 * SECOND).task.version

    clock.advance(9 * SECOND)
    tasks.heartbeat("cleo", [("order.pack", lost)])
    tasks.fulfill("order.charge", charge, "84.00 EUR")
    clock.advance(2 * SECOND)
    order = tasks.acquire("order", order, pid="ann", ttl=30 * SECOND).task.version
    clock.advance(4 * SECOND)
    tasks.suspend("order", order, ["order.pack"])

    clock.advance(26 * SECOND)
    pack = tasks.acquire("order.pack", lost, pid="dan", ttl=20 * SECOND).task.version
    clock.advance(4 * SECOND)
    try:
        tasks.fulfill("order.pack", lost, "too late")
    except rc.Conflict:
        clock.advance(7 * SECOND)
    tasks.fulfill("order.pack", pack, "parcel-1")

    clock.advance(1 * SECOND)
    order = tasks.acquire("order", order, pid="ann", ttl=30 * SECOND).task.version
    tasks.fence_create("order", order, "order.cooling-off", timeout=25 * SECOND, tags={"resonate:timer": "true"})
    clock.advance(3 * SECOND)
    tasks.suspend("order", order, ["order.cooling-off"])
    store.promises.register_listener("order", "mail://customer")
    clock.advance(24 * SECOND)
    order = tasks.acquire("order", order, pid="ann", ttl=30 * SECOND).task.version
    clock.advance(5 * SECOND)
    tasks.fulfill("order", order, "shipped")
    return trace


def draw(to: Path) -> None:
    """Draws it, with texts as texts, and the same bytes every time."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "order", "font.family": ["DejaVu Sans", "sans-serif"]}):
        figure = resonate_core.display.timeline(play())
        figure.savefig(to, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(__file__).parent / "order.svg")
