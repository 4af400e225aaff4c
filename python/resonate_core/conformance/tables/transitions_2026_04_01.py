"""The formal model of 2026-04-01 as data: the effect of each request and each internal step in each state of a task.

A cell is a status, then the state after if it differs, then "send" if one execute message is queued. Rows without a status
("·") are internal steps. "absent" means no promise, "plain" a promise without a target. "stale" marks a request with a version
that is not the current one. Only task.create and task.acquire raise the version, by one, when the task becomes acquired.
"""

from __future__ import annotations

from dataclasses import dataclass

TABLE = """
event                        | absent           | plain        | pending       | acquired      | suspended      | halted        | fulfilled
promise.get                  | 404              | 200          | 200           | 200           | 200            | 200           | 200
promise.create               | 200 pending send | 200          | 200           | 200           | 200            | 200           | 200
promise.settle               | 404              | 200          | 200 fulfilled | 200 fulfilled | 200 fulfilled  | 200 fulfilled | 200
promise.register_callback by | 422              | 422          | 200           | 200           | 200            | 200           | 200
promise.register_callback on | 404              | 200          | 200           | 200           | 200            | 200           | 200
promise.register_listener    | 404              | 200          | 200           | 200           | 200            | 200           | 200
promise.search               | 200              | 200          | 200           | 200           | 200            | 200           | 200
task.get                     | 404              | 404          | 200           | 200           | 200            | 200           | 200
task.create                  | 200 acquired     | 422          | 200 acquired  | 409           | 409            | 409           | 200
task.acquire                 | 404              | 404          | 200 acquired  | 409           | 409            | 409           | 409
task.acquire stale           | 404              | 404          | 409           | 409           | 409            | 409           | 409
task.release                 | 404              | 404          | 409           | 200 pending send | 409         | 409           | 409
task.release stale           | 404              | 404          | 409           | 409           | 409            | 409           | 409
task.suspend                 | 404              | 404          | 409           | 200 suspended | 409            | 409           | 409
task.suspend on settled      | 404              | 404          | 409           | 300           | 409            | 409           | 409
task.suspend on missing      | 404              | 404          | 409           | 422           | 409            | 409           | 409
task.suspend stale           | 404              | 404          | 409           | 409           | 409            | 409           | 409
task.fulfill                 | 404              | 404          | 409           | 200 fulfilled | 409            | 409           | 409
task.fulfill stale           | 404              | 404          | 409           | 409           | 409            | 409           | 409
task.fence create            | 404              | 404          | 409           | 200           | 409            | 409           | 409
task.fence settle            | 404              | 404          | 409           | 200           | 409            | 409           | 409
task.fence stale             | 404              | 404          | 409           | 409           | 409            | 409           | 409
task.heartbeat               | 200              | 200          | 200           | 200           | 200            | 200           | 200
task.heartbeat stale         | 200              | 200          | 200           | 200           | 200            | 200           | 200
task.halt                    | 404              | 404          | 200 halted    | 200 halted    | 200 halted     | 200           | 409
task.continue                | 404              | 404          | 409           | 409           | 409            | 200 pending send | 409
task.search                  | 200              | 200          | 200           | 200           | 200            | 200           | 200
step: awaited settles        | ·                | ·            | ·             | ·             | · pending send | ·             | ·
step: retry or lease is due  | ·                | ·            | · send        | · pending send | ·             | ·             | ·
step: deadline               | ·                | ·            | · fulfilled   | · fulfilled   | · fulfilled    | · fulfilled   | ·
"""


@dataclass(frozen=True)
class Cell:
    """One state × event.

    Attributes:
        event: The request (sometimes with a word that tells variants apart), or a step.
        state: The state before.
        status: The expected status; None for steps.
        after: The state after.
        sends: Whether an execute message is queued.
    """

    event: str
    state: str
    status: int | None
    after: str
    sends: bool

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.event.replace(' ', '_')}-from-{self.state}"


def _cells() -> list[Cell]:
    head, *lines = [[c.strip() for c in line.split("|")] for line in TABLE.strip().splitlines()]
    cells = []
    for event, *texts in lines:
        for state, text in zip(head[1:], texts, strict=True):
            status, *rest = text.split()
            sends = rest[-1:] == ["send"]
            words = rest[:-1] if sends else rest
            cells.append(Cell(event, state, None if status == "·" else int(status), words[0] if words else state, sends))
    return cells


CELLS = _cells()
STATES = ("absent", "plain", "pending", "acquired", "suspended", "halted", "fulfilled")
