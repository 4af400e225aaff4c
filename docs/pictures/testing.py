"""Plays the two failures of the page `testing.md`: writes `testing_retries.svg` and `testing_race.svg` beside this file."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl

import resonate_core as rc
import resonate_core.display
from resonate_core.testing import Failure, World, explore, trace_of
from resonate_core.worker import JobError, Worker


async def charged_twice(world: World) -> None:
    """Two workers on one queue; either may crash after it has charged the card."""
    charges: list[str] = []

    def make_worker() -> Worker:
        worker = Worker(queues="orders")

        @worker.task("charge", queue="orders", max_retries=3, retry_policy={"kind": "fixed", "intervals": [60_000]})
        def charge(order: str, cents: int) -> None:
            world.note(f"the bank is asked for {cents} cents for {order}")
            charges.append(order)

        return worker

    world.worker("ann", make_worker)
    world.worker("bob", make_worker)
    world.faults(crash=0.05)
    world.always("charged once", lambda: len(charges) <= 1)
    await world.call("order-1", "charge", "order-1", 8400)
    await world.settled("order-1", within="1 day")


def find() -> Failure:
    """Returns the failure with the shortest story."""
    try:
        explore(charged_twice, runs=1000, seed=0, progress=False)
    except Failure as failure:
        return failure
    raise AssertionError("the race must be found, was not")


def bank_is_down() -> io.StringIO:
    """A job that fails until the bank answers again after two minutes. Returns the trace."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    store.record(trace)
    worker = Worker(store, queues="orders", name="worker")

    @worker.task("charge", queue="orders", max_retries=3, retry_policy={"kind": "fixed", "intervals": [60_000]})
    def charge(order: str) -> str:
        if clock.now < 120_000:
            raise JobError("Unreachable", "the bank does not answer")
        return "receipt 1"

    charge.enqueue("order-1", id="order-1")
    worker.run_until_idle(advance=True)
    return trace


def draw(trace: io.StringIO | list[str], title: str, to: Path) -> None:
    """Draws a recording, with texts as texts, and the same bytes every time."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.family": ["DejaVu Sans", "sans-serif"]}):
        figure = resonate_core.display.timeline(trace, title=title)
        figure.savefig(to, bbox_inches="tight", metadata={"Date": None})


def draw_all(folder: Path) -> None:
    """Draws both pictures."""
    draw(bank_is_down(), "the bank is down for two minutes", folder / "testing_retries.svg")
    story = trace_of(charged_twice, find().token).splitlines()
    draw(story, "charged twice: the worker crashes after the charge", folder / "testing_race.svg")


if __name__ == "__main__":
    draw_all(Path(__file__).parent)
