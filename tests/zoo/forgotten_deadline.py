"""A workflow awaits the answer of a person. It handles yes and no, and forgets that the deadline may pass: the money is lost.

Fixed: a promise that timed out counts as no.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import DAY, HOUR, Program, new_store


def buggy(choices: Choices) -> None:
    approval(choices, no=("rejected",))


def fixed(choices: Choices) -> None:
    approval(choices, no=("rejected", "rejected_timedout"))


def approval(choices: Choices, *, no: tuple[str, ...]) -> None:
    store = new_store()
    paid: list[str] = []
    store.promises.create("approval", timeout=2 * DAY, tags={"resonate:external": "true"})

    def person(name: str) -> Program:
        yield choices.integer(0, 60, "hours of thought") * HOUR
        try:
            if choices.chance(0.5, "refuses"):
                store.promises.reject("approval", "too expensive")
            else:
                store.promises.resolve("approval", "granted")
        except rc.Conflict:
            yield "is too late"

    def workflow(name: str) -> Program:
        while (state := store.promises.get("approval").state) == "pending":
            yield IDLE
        yield f"sees {state}"
        if state == "resolved":
            paid.append("the shop")
        elif state in no:
            paid.append("the customer")

    interleave(choices, store, {"person": person, "workflow": workflow}, within=10 * DAY)
    assert len(paid) == 1, "nobody gets the money"
