"""Runs jobs for a while and draws the dash: writes `dash.svg` beside this file."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

import resonate_core as rc
from resonate_core.cli.dash_frame import Frame, FrameReader, QueueFrame
from resonate_core.cli.dash_view import drawn
from resonate_core.cli.target import Access, FileTarget

START = 1_798_796_000_000  # 2027-01-01 09:33:20 UTC
SECOND, HOUR = 1000, 3_600_000
WIDTH = 124
# What is worked off in each second; without it there would be no trend.
LOAD = {"mail": (6, 7, 9, 8, 7, 5, 6, 8, 11, 13, 12, 9), "reports": (1, 0, 1, 1, 2, 1, 0, 1, 1, 1, 2, 1)}
# Rich's own names a font of a server: a picture needs none.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix, .{unique_id}-title {{
  font-family: ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
{styles}
.{unique_id}-title {{ font-size: 18px; font-weight: bold }}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def work(store: rc.Store, queue: str, count: int, number: int) -> None:
    """Completes some jobs of a queue, and lets every ninth fail."""
    kind = {"mail": "email:send", "reports": "report:make"}[queue]
    for index in range(count):
        which = number * 20 + index
        store.jobs.enqueue(kind, queue=queue, id=f"{queue}-{which:03}", max_retries=which % 2 * 5)
        (job,) = store.jobs.claim(queue, worker=f"{queue}-{which % 2 + 1}", lease=30 * SECOND)
        store.jobs.start(job.id, job.version)
        if which % 9 == 4:
            code, message = [("Timeout", "mx.example.org did not answer"), ("Rejected", "550 no such mailbox")][which % 2]
            store.jobs.fail(job.id, job.version, code, message)
        else:
            store.jobs.complete(job.id, job.version)


def play(store: rc.Store, clock: rc.ManualClock, reader: FrameReader) -> Frame:
    """Some seconds of work; the last frame, as of the clock, with rates by its seconds."""
    trends: dict[str, list[float]] = {queue: [] for queue in LOAD}
    for number in range(len(LOAD["mail"])):
        for queue, loads in LOAD.items():
            work(store, queue, loads[number], number)
            trends[queue].append(float(loads[number]))
        clock.advance(SECOND)
    for number in range(3):
        store.jobs.enqueue("email:send", queue="mail", id=f"mail-7{number}")
    for number in range(2):
        store.jobs.enqueue("report:make", queue="reports", id=f"reports-monthly-{number}", process_in=14 * HOUR)
        store.jobs.enqueue("photo:resize", queue="photos", id=f"photo-{number}")
    (job,) = store.jobs.claim("mail", worker="mail-1", lease=30 * SECOND)
    store.jobs.start(job.id, job.version)
    store.queues.set("mail", concurrency=10)
    store.queues.pause("photos")
    clock.advance(4200)
    frame = reader.frame()

    def timed(queue: QueueFrame) -> QueueFrame:
        trend = trends.get(queue.name, [0.0])
        return replace(queue, per_second=trend[-1], failed_per_second=0.0, trend=tuple(trend))

    return replace(frame, at=clock.now, queues=[timed(queue) for queue in frame.queues])


def main() -> None:
    """Writes the picture."""
    clock = rc.ManualClock(start=START)
    with TemporaryDirectory() as folder:
        path = Path(folder, "shop.db")
        with rc.Store(path, clock=clock) as store, FileTarget(path, Access.READ, clock=rc.ManualClock(start=START)) as target:
            frame = play(store, clock, FrameReader(target, []))
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(drawn(frame, "shop.db", WIDTH, None))
    drawing = console.export_svg(title="resonate-core dash", code_format=SVG, unique_id="dash")
    Path(__file__).with_name("dash.svg").write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
