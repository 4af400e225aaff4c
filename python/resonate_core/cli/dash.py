"""``resonate-core dash``: queues, running jobs and failures, live in a terminal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import Annotated

import typer

import resonate_core as rc
from resonate_core.cli.command import Session
from resonate_core.cli.dash_frame import Frame, Reader, failed_at
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.show import Output
from resonate_core.cli.show_jobs import STATES, error_text
from resonate_core.cli.values import duration

__all__ = ["dash"]

_SHORTEST = 50
_JOB = ("id", "type", "queue", "state")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ctrl-C ends what is inside, as SIGTERM does: neither is an error of a view that has no other end."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _lines(out: Output, frame: Frame) -> None:
    """The frame for a pipe: each line begins with the word queue, running or failure."""
    queues = []
    for queue in frame.queues:
        rates = [None if rate is None else round(rate, 3) for rate in (queue.per_second, queue.failed_per_second)]
        paused = "paused" if queue.stats["paused"] else None
        counts = [queue.count(state) for state in STATES]
        queues.append(["queue", queue.name, paused, *counts, queue.stats.get("oldestPendingAt"), *queue.today(frame.at), *rates])
    names = ("kind", "queue", "paused", *STATES, "oldestPendingAt", "processed", "failed", "perSecond", "failedPerSecond")
    out.table(names, queues)
    held = (*_JOB, "claimedBy", "startedAt", "leaseUntil")
    out.table(("kind", *held), [["running", *(job.get(name) for name in held)] for job in frame.running])
    failed = (*_JOB, "retryCount", "maxRetries")
    failures = [
        ["failure", failed_at(job), *(job.get(name) for name in failed), error_text(job.get("error"))] for job in frame.failures
    ]
    out.table(("kind", "failedAt", *failed, "error"), failures)


def _print(session: Session, frame: Frame) -> None:
    if session.out.as_json:
        session.out.json(frame.document(session.target.name))
    elif session.out.is_rich:
        from resonate_core.cli.dash_view import drawn

        session.out.console.print(drawn(frame, session.target.name, session.out.console.width, None))
    else:
        _lines(session.out, frame)
    sys.stdout.flush()


def _rest(reader: Reader, pause: float) -> None:
    """Waits (s) for the next frame; the store is for others at least three quarters of the time."""
    sleep(max(pause, 3 * reader.took))


def _last_seen(why: str) -> str:
    return f"{why}: this is what was seen last"


def _live(session: Session, reader: Reader, frame: Frame, pause: float) -> None:
    """Frames in the place of one another, until it is interrupted."""
    from rich.live import Live

    from resonate_core.cli.dash_view import drawn

    console, remark = session.out.console, ""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(drawn(frame, session.target.name, console.width, console.height, remark), refresh=True)
            _rest(reader, pause)
            try:
                frame, remark = reader.frame(), ""
            except rc.StoreBusy as busy:
                remark = _last_seen(str(busy))
            except Failure as failure:
                # A server that is started again is there again; everything else is the last word.
                if failure.code is not Exit.UNREACHABLE:
                    raise
                remark = _last_seen(failure.message)


def dash(
    session: Session,
    queue: Annotated[
        list[str] | None, typer.Option("--queue", "-q", metavar="NAME", help="only this queue; may be repeated", show_default=False)
    ] = None,
    interval: Annotated[str, typer.Option("--interval", metavar="LENGTH", help="time between frames: 1s, 500ms")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="print one frame and end", show_default=False)] = False,
) -> None:
    """Watch queues, running jobs and the last failures, until Ctrl-C.

    To a pipe: a frame of bare lines each time; with --json a document each time, on a line of its own.
    """
    pause = duration(interval, "--interval")
    if pause < _SHORTEST:
        raise Failure(f"--interval: {interval!r} is shorter than {_SHORTEST}ms", Exit.USAGE)
    reader = Reader(session.target, list(dict.fromkeys(queue or [])))
    frame = reader.frame()
    if once:
        _print(session, frame)
        return
    with _ended_by_signals():
        if session.out.is_rich:
            _live(session, reader, frame, pause / 1000)
        while True:
            _print(session, frame)
            _rest(reader, pause / 1000)
            frame = reader.frame()
