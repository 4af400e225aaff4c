"""Plays some jobs and draws them: writes `work.svg` beside this file."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl

import resonate_core as rc
import resonate_core.display

SECOND = 1000


def play() -> io.StringIO:
    """A retry, a crash, an archived timeout that a person runs again, a group, an expiry. Returns the trace."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    trace = io.StringIO()
    store.record(trace)
    jobs = store.jobs
    store.queues.set("digests", groups={"size": 2})
    once = {"max_retries": 1, "retry_policy": {"kind": "fixed", "intervals": [6 * SECOND]}}

    def claim(worker: str, queue: str = "default", count: int = 1, start: int = 1) -> list[rc.Job]:
        return list(jobs.claim(queue, count, worker=worker, lease=8 * SECOND, start=start))

    def complete(*ids: str) -> None:
        for id in ids:
            jobs.complete(id, jobs.get(id).version)

    jobs.enqueue("email", id="welcome", **once)
    jobs.enqueue("report", id="report", **once)
    jobs.enqueue("import", id="import", timeout=5 * SECOND, max_retries=0)
    jobs.enqueue("email", id="reminder", process_in=12 * SECOND)
    jobs.enqueue("sms", id="code", priority=99, good_until=10 * SECOND)
    jobs.enqueue("digest", id="like-1", queue="digests", group="ann")
    clock.advance(SECOND)
    claim("ann", count=3, start=0)
    clock.advance(SECOND)
    for id in ("welcome", "report", "import"):
        jobs.start(id, 1)
    clock.advance(2 * SECOND)
    jobs.fail("welcome", 1, "SmtpDown")
    jobs.enqueue("digest", id="like-2", queue="digests", group="ann")
    clock.advance(2 * SECOND)
    claim("bob", "digests")
    for job in jobs.search(queue="digests", state="claimed"):
        jobs.start(job.id, job.version)
    clock.advance(2 * SECOND)
    complete("like-1", "like-2")
    clock.advance(3 * SECOND)
    claim("bob")
    clock.advance(2 * SECOND)
    complete("welcome")
    claim("bob")
    clock.advance(2 * SECOND)
    complete("reminder")
    jobs.run("import")
    clock.advance(2 * SECOND)
    claim("bob", count=2, start=2)
    clock.advance(3 * SECOND)
    for job in jobs.search(state="running"):
        complete(job.id)
    clock.advance(SECOND)
    return trace


def draw(to: Path) -> None:
    """Draws it, with texts as texts, and the same bytes every time."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "work", "font.family": ["DejaVu Sans", "sans-serif"]}):
        figure = resonate_core.display.timeline(play())
        figure.savefig(to, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(__file__).parent / "work.svg")
