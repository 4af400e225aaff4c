"""A unique key protects a job for a minute, and its retries take longer: a second click enqueues the same payment again.

Fixed: the key has no time of its own, so that the job holds it until it has ended.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import Choices, interleave
from zoo.working import MINUTE, SECOND, Program, new_store, worker


def buggy(choices: Choices) -> None:
    payment(choices, unique_for=MINUTE)


def fixed(choices: Choices) -> None:
    payment(choices, unique_for=None)


def payment(choices: Choices, *, unique_for: int | None) -> None:
    store = new_store()
    back_at = choices.integer(0, 180, "seconds of the outage") * SECOND
    paid: list[str] = []

    def pay(job: rc.Job, name: str) -> Program:
        yield "calls the bank"
        if store.now < back_at:
            raise ConnectionError("the bank is down")
        if "invoice-7" in paid and job.id == "click-2" and clicked["while open"]:
            raise AssertionError("paid twice")
        paid.append("invoice-7")
        yield "pays"

    clicked = {"while open": False}

    def customer(name: str) -> Program:
        policy = {"kind": "fixed", "intervals": [90 * SECOND]}
        for click in ("click-1", "click-2"):
            clicked["while open"] = not paid
            try:
                store.jobs.enqueue(
                    "pay",
                    id=click,
                    queue="default",
                    unique_key="invoice-7",
                    unique_for=unique_for,
                    retry_policy=policy,
                    max_retries=9,
                )
            except rc.Conflict:
                yield "clicks without effect"
            yield choices.integer(1, 120, "seconds to the next click") * SECOND

    interleave(choices, store, {"customer": customer, "a": worker(store, pay), "b": worker(store, pay)}, within=60 * MINUTE)
