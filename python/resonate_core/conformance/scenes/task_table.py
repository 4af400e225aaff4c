"""Each cell of the table of 2026-04-01 as a scene on a server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..expectation import Expectation
from ..player import Scene, SceneClient
from ..requests import ADDRESS, V26
from ..rules import CALLBACKS, LEASES, TIMEOUT, section
from ..tables.transitions_2026_04_01 import CELLS, Cell
from .tasks_2026_04_01 import DEADLINE, TASK, TTL, prepare, send

__all__ = ["scenes"]

_RULES = {
    "step: awaited settles": CALLBACKS,
    "step: retry or lease is due": LEASES,
    "step: deadline": TIMEOUT,
}


def scenes(soon: int) -> Iterator[Scene]:
    """The scenes of all cells.

    Args:
        soon: How long after the begin of a scene its deadlines are, if it waits for them, in ms.
    """
    for cell in CELLS:
        waits = cell.event in ("step: retry or lease is due", "step: deadline")
        rule = _RULES.get(cell.event) or section(cell.event.split()[0])
        yield Scene(rule, f"{cell.event}, from {cell.state}", V26, partial(_play, cell, soon), 2 * soon if waits else 0)


def _play(cell: Cell, soon: int, client: SceneClient) -> Iterator[int]:
    step = cell.event.startswith("step:")
    if cell.event == "promise.register_callback on":
        client.create("awaiter", target=ADDRESS).must()
    short = cell.event == "step: retry or lease is due"
    version = prepare(client, cell.state, 0, soon if cell.event == "step: deadline" else DEADLINE, soon if short else TTL)
    source = f"the table of 2026-04-01, {cell.event} from {cell.state}"
    expect = Expectation(client, source, timed=short or cell.event == "step: deadline")
    if not step:
        expect.status(send(client, cell.event, version, 0), cell.status)
    elif cell.event == "step: awaited settles":
        client.settle("awaited").must()
        if cell.state == "suspended":
            client.settle("gate").must()
    else:
        yield 2 * soon
    if step:
        client.twin.steps_are_due()
    expect.task(TASK, None if cell.after in ("absent", "plain") else cell.after)
    client.get(TASK)
