"""Runs a workflow whose worker dies, and draws its runs: writes `replay.svg` beside this file."""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import dataclass
from html import escape
from pathlib import Path

import resonate_core as rc
from resonate_core.calls.workflow_records import Step
from resonate_core.worker import Worker
from resonate_core.workflow import receive, step

__all__ = ["Played", "draw", "play"]

ORDER = "order-7"
LEASE = 30_000
#: Fill and words of what a call does in a run.
LOOK = {
    "runs": ("#cfe0f1", "runs"),
    "recorded": ("#eef1f4", "takes the record"),
    "crash": ("#f6cfcf", "the worker dies"),
    "waits": ("#fbe9c6", "waits: suspended"),
}
ROW, TOP, CODE, COLUMN, STORE, GAP = 44, 66, 340, 146, 230, 10


class _Crash(KeyboardInterrupt):
    """Stands for `kill -9`."""


@dataclass
class Played:
    """What happened.

    Attributes:
        code: The lines of the function.
        runs: What each call did in each run, by its number; calls that it did not reach are missing.
        instants: When each run began, in ms.
        records: Id and value of each record, in order.
    """

    code: list[str]
    runs: list[dict[int, str]]
    instants: list[int]
    records: list[tuple[str, str]]


def play() -> Played:
    """Run the workflow: the worker dies in its second step, another one continues, a message arrives."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    ran: list[int] = []
    is_dying = True

    @step
    async def charge(order: str) -> str:
        ran.append(1)
        return f"receipt of {order}"

    @step
    async def pack(order: str) -> str:
        ran.append(2)
        if is_dying:
            raise _Crash
        return f"parcel of {order}"

    @step
    async def refund(receipt: str) -> str:
        ran.append(4)
        return f"{receipt}, refunded"

    async def fulfil(order: str) -> str:
        receipt = await charge(order)
        await pack(order)
        await receive("cancel")
        return await refund(receipt)

    def begin(name: str) -> Worker:
        worker = Worker(store, name=name, lease=LEASE)
        worker.workflow("fulfil")(fulfil)
        return worker

    found = Played([line[4:] for line in inspect.getsource(fulfil).splitlines()], [], [], [])

    def history() -> list[Step]:
        return [each for each in store.workflows.history(ORDER) if "@" not in each.id]

    def settled() -> set[int]:
        return {int(each.id.rpartition(":")[2]) for each in history() if each.settled_at is not None}

    def one_run(worker: Worker) -> None:
        before = settled()
        ran.clear()
        found.instants.append(clock.now)
        with contextlib.suppress(_Crash):
            worker.run_until_idle(limit=1)
        after = settled()
        calls = dict.fromkeys(sorted(before), "recorded")
        for number in ran:
            calls[number] = "runs" if number in after else "crash"
        if store.jobs.get(ORDER).state == "waiting":
            calls[max(calls) + 1] = "waits"
        found.runs.append(calls)

    first, second = begin("ann"), begin("bob")
    first.tasks["fulfil"].using(id=ORDER).enqueue(ORDER)
    one_run(first)
    is_dying = False
    clock.advance(LEASE)
    one_run(second)
    clock.advance(86_400_000 - LEASE)
    store.workflows.send(ORDER, "cancel", "wrong colour")
    one_run(second)
    found.records = [(each.id, str(each.result)) for each in history()]
    return found


def _cell(x: float, y: float, kind: str) -> list[str]:
    fill, words = LOOK[kind]
    return [
        f'  <rect x="{x:g}" y="{y:g}" width="{COLUMN - GAP}" height="{ROW - GAP}" rx="7" fill="{fill}" stroke="#55606e"/>',
        f'  <text x="{x + (COLUMN - GAP) / 2:g}" y="{y + 23:g}" text-anchor="middle" fill="#1f2937">{words}</text>',
    ]


def draw(path: Path) -> None:
    """Write the picture."""
    played = play()
    later = f"{played.instants[1] // 1000} s later: the lease"
    heads = [
        ("first run", ["worker ann"]),
        ("second run", [later, "has expired; worker bob"]),
        ("third run", ["the next day: a", "message has come"]),
    ]
    width, height = CODE + len(heads) * COLUMN + STORE + 30, TOP + ROW * len(played.code) + 24
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12.5" role="img" '
        'aria-label="Three runs of one workflow: the first one charges and dies while it packs; the second one takes the recorded charge, '
        'packs, and waits; the third one takes all records and refunds">',
        f'  <rect width="{width}" height="{height}" fill="#ffffff" rx="6"/>',
    ]
    for number, (title, below) in enumerate(heads):
        x = CODE + number * COLUMN + (COLUMN - GAP) / 2
        lines.append(f'  <text x="{x:g}" y="28" text-anchor="middle" font-weight="bold" fill="#1f2937">{title}</text>')
        for at, text in enumerate(below):
            lines.append(f'  <text x="{x:g}" y="{46 + 14 * at}" text-anchor="middle" font-size="11" fill="#6b7280">{text}</text>')
    x = CODE + len(heads) * COLUMN + 10
    lines.append(f'  <text x="{x}" y="28" font-weight="bold" fill="#1f2937">the records in the store</text>')
    for row, code in enumerate(played.code):
        y = TOP + row * ROW
        lines.append(
            f'  <text x="20" y="{y + 23}" xml:space="preserve" font-family="DejaVu Sans Mono, Menlo, monospace" fill="#1f2937">'
            f"{escape(code)}</text>"
        )
        for number, calls in enumerate(played.runs):
            if row in calls:
                lines += _cell(CODE + number * COLUMN, y, calls[row])
        if 0 < row <= len(played.records):
            id, value = played.records[row - 1]
            lines.append(f'  <text x="{x}" y="{y + 16}" font-size="11" fill="#6b7280">{id}</text>')
            lines.append(f'  <text x="{x}" y="{y + 31}" fill="#1f2937">{escape(value)}</text>')
    path.write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")


if __name__ == "__main__":
    draw(Path(__file__).parent / "replay.svg")
