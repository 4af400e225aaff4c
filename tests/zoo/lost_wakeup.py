"""A consumer looks for jobs, then clears its event and waits: an event that was set between the two is lost.

Fixed: it clears the event before it looks.
"""

from __future__ import annotations

from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import SECOND, Program, new_store


def buggy(choices: Choices) -> None:
    consume(choices, clear_first=False)


def fixed(choices: Choices) -> None:
    consume(choices, clear_first=True)


def consume(choices: Choices, *, clear_first: bool) -> None:
    store = new_store()
    event = {"set": False}
    count = choices.integer(1, 3, "jobs")
    done: list[str] = []

    def produce(name: str) -> Program:
        for number in range(count):
            store.jobs.enqueue("pack", id=f"parcel-{number}")
            yield
            event["set"] = True
            yield "sets the event"

    def consumer(name: str) -> Program:
        while True:
            if clear_first:
                event["set"] = False
            jobs = store.jobs.claim("default", 10, worker=name, lease=10 * SECOND, start=10)
            yield
            for job in jobs:
                store.jobs.complete(job.id, job.version)
                done.append(job.id)
                yield
            if not clear_first:
                event["set"] = False
                yield "clears the event"
            while not event["set"]:
                yield IDLE

    interleave(choices, store, {"producer": produce, "consumer": consumer}, until=lambda: len(done) == count)
