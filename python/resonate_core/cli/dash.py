"""``resonate-core dash``: queues, running jobs and failures, live in a terminal."""

from __future__ import annotations

import sys
from time import sleep
from typing import Annotated, Any

import typer

import resonate_core as rc
from resonate_core.base.states import JOB_STATES
from resonate_core.base.stopwatch import seconds
from resonate_core.cli.command import Session
from resonate_core.cli.completion import queues
from resonate_core.cli.dash_frame import Frame, FrameReader, failed_at
from resonate_core.cli.dash_screen import KEYS, Screen
from resonate_core.cli.ending import ended_by_signals
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.keys import Keys
from resonate_core.cli.show import Output
from resonate_core.cli.show_jobs import error_text
from resonate_core.cli.values import duration

__all__ = ["dash"]

_SHORTEST = 50
_JOB = ("id", "type", "queue", "state")


def _lines(out: Output, frame: Frame) -> None:
    """Return the frame for a pipe: each line begins with the word queue, running or failure."""
    queues = []
    for queue in frame.queues:
        rates = [None if rate is None else round(rate, 3) for rate in (queue.per_second, queue.failed_per_second)]
        paused = "paused" if queue.stats["paused"] else None
        counts = [queue.count(state) for state in JOB_STATES]
        queues.append(["queue", queue.name, paused, *counts, queue.stats.get("oldestPendingAt"), *queue.today(frame.at), *rates])
    names = ("kind", "queue", "paused", *JOB_STATES, "oldestPendingAt", "processed", "failed", "perSecond", "failedPerSecond")
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

        session.out.draw(drawn(frame, session.target.name, session.out.console.width, None))
    else:
        _lines(session.out, frame)
    sys.stdout.flush()


def _rest(reader: FrameReader, pause: float) -> float:
    """Return how long (s) to wait for the next frame, so that the dash uses the store for a quarter of the time at most."""
    return max(pause, 3 * reader.took)


def _last_seen(why: str) -> str:
    return f"{why}: this is what was seen last"


class _Live:
    """Shows one frame after the other in the same place, and reads keys meanwhile."""

    def __init__(self, session: Session, reader: FrameReader, frame: Frame, pause: float) -> None:
        self._session, self._reader, self._pause = session, reader, pause
        self._frame, self._remark = frame, ""
        self._job: dict[str, Any] | None = None
        self._screen = Screen()

    def run(self) -> None:
        """Run until the person quits, or until it is interrupted."""
        from rich.live import Live

        with Keys() as keys, Live(console=self._session.out.console, screen=True, auto_refresh=False) as live:
            next_at = seconds() + _rest(self._reader, self._pause)
            while True:
                live.update(self._drawn(keys.are_read), refresh=True)
                pressed = keys.wait(max(next_at - seconds(), 0.01))
                for key in pressed:
                    self._screen.press(key, self._screen.lines(self._screen.narrowed(self._frame)))
                    if self._screen.has_ended:
                        return
                    if self._screen.wants_frame:
                        self._read()
                if not pressed and seconds() >= next_at and not self._screen.is_paused:
                    self._read()
                if seconds() >= next_at:
                    next_at = seconds() + _rest(self._reader, self._pause)

    def _read(self) -> None:
        self._screen.wants_frame = False
        shown = self._screen.shown
        try:
            self._frame, self._remark = self._reader.frame(), ""
            self._job = self._reader.job(shown.name) if shown.kind == "job" else None
        except rc.StoreBusy as busy:
            self._remark = _last_seen(str(busy))
        except CommandFailed as failure:
            # A server that is started again is there again; everything else is the last word.
            if failure.code is not Exit.UNREACHABLE:
                raise
            self._remark = _last_seen(failure.message)

    def _drawn(self, has_keys: bool) -> Any:
        from rich.console import Group

        from resonate_core.cli.dash_view import drawn, footer, job_drawn
        from resonate_core.cli.drawing import Foreign

        screen, console, name = self._screen, self._session.out.console, self._session.target.name
        width, height = console.width, console.height - (1 if has_keys else 0)
        frame = screen.narrowed(self._frame)
        screen.selected = min(screen.selected, max(len(screen.lines(frame)) - 1, 0))
        set_ = [f"queue {screen.shown.name}"] if screen.shown.kind == "queue" else []
        set_ += [f"filter {screen.filter!r}"] if screen.filter else []
        note = ", ".join([*set_, *(["paused"] if screen.is_paused else [])])
        if screen.shown.kind == "job":
            view = job_drawn(self._job, screen.shown.name, frame.at, name, width, height, self._remark, note)
        else:
            # The opened queue is no line to be opened.
            selected = screen.selected + (len(frame.queues) if screen.shown.kind == "queue" else 0)
            view = drawn(frame, name, width, height, self._remark, selected if has_keys else -1, note)
        if not has_keys:
            return Foreign(view)
        free = height - len(console.render_lines(view, pad=False))
        return Foreign(Group(view, *[""] * max(free, 0), footer(KEYS, screen.filter if screen.is_typing else None, width)))


def dash(
    session: Session,
    queue: Annotated[
        list[str] | None,
        typer.Option(
            "--queue", "-q", metavar="NAME", help="only this queue; may be repeated", show_default=False, autocompletion=queues
        ),
    ] = None,
    interval: Annotated[str, typer.Option("--interval", metavar="LENGTH", help="time between frames: 1s, 500ms")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="print one frame and end", show_default=False)] = False,
) -> None:
    """Watch queues, running jobs and the last failures, until q or Ctrl-C.

    In a terminal, keys work: q quits, p pauses, / filters, the arrows select a line, Enter opens the queue or the job, Esc goes back.

    To a pipe: a frame of bare lines each time; with --json a document each time, on a line of its own.
    """
    pause = duration(interval, "--interval")
    if pause < _SHORTEST:
        raise CommandFailed(f"--interval: {interval!r} is shorter than {_SHORTEST}ms", Exit.USAGE)
    reader = FrameReader(session.target, list(dict.fromkeys(queue or [])))
    frame = reader.frame()
    if once:
        _print(session, frame)
        return
    with ended_by_signals():
        if session.out.is_rich:
            _Live(session, reader, frame, pause / 1000).run()
            return
        while True:
            _print(session, frame)
            sleep(_rest(reader, pause / 1000))
            frame = reader.frame()
