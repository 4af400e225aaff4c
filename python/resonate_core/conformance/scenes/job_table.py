"""Each cell of the table of jobs (JOBS 3) as a scene on a server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..expectation import Expectation
from ..job_requests import JOB
from ..player import Scene, SceneClient
from ..requests import V25
from ..rules import section
from ..tables.job_transitions import CELLS, Cell
from .jobs import INSTANTS, NOW, REQUESTS, STALE, prepare

__all__ = ["scenes"]

_OF_THE_WHOLE_SERVER = ("job.search", "job.stats")
_WORDS = {"enqueue": "job.enqueue", "settle": "promise.settle", "gate": "promise.settle"}


def scenes(dialect: str) -> Iterator[Scene]:
    """The scenes of all cells that are about one job."""
    for cell in CELLS:
        if cell.event in _OF_THE_WHOLE_SERVER or (dialect == V25 and cell.event.startswith("task.")):
            continue  # the table has the versions of 2026-04-01
        step = cell.event.startswith("step:")
        dead = cell.state in ("expired", "lapsed", "overdue")
        waits = INSTANTS[cell.event] + _GRACE if step else NOW if dead else 0
        yield Scene(_rule(cell, dialect), f"job: {cell.event}, from {cell.state}", dialect, partial(_play, cell, waits), waits)


_GRACE = 200  # ms after a step is due


def _rule(cell: Cell, dialect: str) -> str:
    if cell.event.startswith("step:"):
        return f"JOBS 3 {cell.event}"
    word = cell.event.split()[0]
    kind = _WORDS.get(word, word)
    if kind == "register_callback":
        kind = "promise.register_callback" if dialect != V25 else "promise.register"
    elif kind == "register_listener":
        kind = "promise.register_listener" if dialect != V25 else "promise.subscribe"
    return section(kind)


def _play(cell: Cell, waits: int, client: SceneClient) -> Iterator[int]:
    version = prepare(client, cell.event, cell.state, 0, lambda instant: None)
    if waits:
        yield waits
    expect = Expectation(client, f"the table of JOBS 3, {cell.event} from {cell.state}", client.twin.rules, timed=waits > 0)
    if cell.event.startswith("step:"):
        client.twin.steps_are_due(["settledAt"] if cell.event != "step: deadline" else [])
    elif cell.event in STALE:
        expect.status(REQUESTS[STALE[cell.event]](client, version + 1, 0), cell.status)
    else:
        expect.status(REQUESTS[cell.event](client, version, 0), cell.status)
    shown = client.send("job.get", {"id": client.id(JOB)})
    if cell.after not in ("absent", "plain", "workflow"):
        expect.job(shown, cell.after)
    client.get(JOB)
    client.task(JOB)
