"""Scenarios at the top of a module: executors can pickle them, and generated tests can import them.

Run as a program, it prints a digest of the choices and the story of each run of `charged_twice`: ``scenarios_to_explore.py RUNS``.
"""

from __future__ import annotations

import hashlib
import sys

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave


def passes(choices: Choices) -> None:
    """Draws some choices."""
    for _ in range(choices.integer(0, 5, "steps")):
        choices.pick("abc", "schedule")


def overdrawn(choices: Choices) -> None:
    """Fails if the withdrawals are more than 100."""
    balance = 100
    for _ in range(choices.integer(0, 9, "withdrawals")):
        amount = choices.integer(1, 50, "amount")
        choices.note(f"withdraw {amount}")
        balance -= amount
    assert balance >= 0, "overdrawn"


def rare(choices: Choices) -> None:
    """Fails in about one of 150 runs."""
    word = "".join(choices.pick("abcd", "letter") for _ in range(4))
    if word[:3] == "dbd" or word == "cccc":
        raise ValueError(word[:3])


def charged_twice(choices: Choices) -> None:
    """Two workers, one of which crashes after it has charged."""
    charge(choices, with_key=False)


def charged_once(choices: Choices) -> None:
    """The same without the bug."""
    charge(choices, with_key=True)


def charge(choices: Choices, *, with_key: bool) -> None:
    """Charges two orders."""
    store = rc.Store(clock=rc.ManualClock(start=0))
    orders = {"order-1", "order-2"}
    for order in sorted(orders):
        store.jobs.enqueue("charge", id=order, retry_policy={"kind": "fixed", "intervals": [1_000]})
    charges: list[str] = []

    def worker(name: str):
        while True:
            for job in store.jobs.claim("default", worker=name, lease=10_000, start=1):
                if not (with_key and job.id in charges):
                    charges.append(job.id)
                yield "charges"
                store.jobs.complete(job.id, job.version)
                yield
            yield IDLE

    done = lambda: all(store.jobs.get(order).state == "completed" for order in sorted(orders))  # noqa: E731
    interleave(choices, store, {"a": worker, "b": worker}, crash=0.1, until=done)
    assert len(charges) == 2, "charged twice"


def digest(run: int) -> str:
    """Returns a digest of the choices and the story of a run."""
    choices = Choices.from_seed(3, run, telling=True)
    try:
        charged_twice(choices)
        ended = "passes"
    except AssertionError as error:
        ended = str(error)
    finally:
        choices.end()
    return hashlib.sha256(repr((choices.drawn, choices.story, ended)).encode()).hexdigest()


if __name__ == "__main__":
    print("\n".join(digest(run) for run in range(int(sys.argv[1]))))
