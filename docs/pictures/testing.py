"""Plays the two failures of the page `testing_tutorial.md`: writes `testing_retries.svg` and `testing_race.svg` beside this file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

import resonate_core as rc
import resonate_core.display
from resonate_core.testing import IDLE, Choices, Failure, explore, interleave, trace_of
from resonate_core.worker import JobError, Worker


def charged_twice(choices: Choices) -> None:
    """Two workers on one queue; either may crash after it has charged the card."""
    store = rc.Store(clock=rc.ManualClock(start=0))
    charges: list[str] = []

    def worker(name: str) -> Iterator[object]:
        while True:
            for job in store.jobs.claim("orders", worker=name, lease=10_000, start=1):
                charges.append(name)
                yield "charges the card"
                store.jobs.complete(job.id, job.version, "paid")
            yield IDLE

    def settled() -> bool:
        return store.promises.get("order-1").state != "pending"

    store.jobs.enqueue("charge", id="order-1", queue="orders", retry_policy={"kind": "fixed", "intervals": [60_000]})
    interleave(choices, store, {"ann": worker, "bob": worker}, crash=0.05, until=settled)
    assert len(charges) == 1, f"charged {len(charges)} times"


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
