"""A saga undoes its steps in the order of their ids, backwards: ``trip.9`` comes after ``trip.10`` in the alphabet.

Fixed: in the order of their numbers.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import Choices, interleave
from zoo.working import DAY, QUICK, Program, all_final, new_store, worker


def buggy(choices: Choices) -> None:
    trip(choices, by_number=False)


def fixed(choices: Choices) -> None:
    trip(choices, by_number=True)


def trip(choices: Choices, *, by_number: bool) -> None:
    store = new_store()
    booked: list[int] = []
    legs = choices.integer(1, 15, "legs")
    fails_at = choices.integer(1, 20, "the leg that is sold out")

    def number_of(step: rc.Promise) -> int:
        return int(step.id.rpartition(".")[2])

    def book(job: rc.Job, name: str) -> Program:
        for leg in range(1, legs + 1):
            if leg == fails_at:
                yield from undo()
                return
            step = store.promises.create(f"trip.{leg}", timeout=DAY)
            yield
            if step.state == "pending":
                if leg not in booked:
                    booked.append(leg)
                yield f"books leg {leg}"
                store.promises.resolve(step.id)
                yield

    def undo() -> Program:
        steps = list(store.promises.search("trip.*"))
        for step in sorted(steps, key=number_of if by_number else lambda step: step.id, reverse=True):
            leg = number_of(step)
            if leg in booked:
                assert leg == max(booked), f"leg {leg} is given back before leg {max(booked)}"
                booked.remove(leg)
                yield f"gives leg {leg} back"

    store.jobs.enqueue("book", id="booking", retry_policy=QUICK, max_retries=50)
    interleave(choices, store, {"a": worker(store, book)}, crash=0.02, until=all_final(store, "booking"))
