"""All programs of the zoo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["PLAIN", "WHOLE", "WORKFLOWS", "ZOO", "Specimen"]


@dataclass(frozen=True)
class Specimen:
    """A program with a planted bug, and the same program without it.

    Attributes:
        name: Of the module.
        bug: In a few words.
        whole: Whether it is a whole system, ``async def scenario(world)``.
        by_test: Of a workflow: whether a test with the fixtures, without a crash, finds the bug.
        by_certificate: Of a workflow: whether `crash_everywhere` finds it.
    """

    name: str
    bug: str
    whole: bool = False
    by_test: bool = False
    by_certificate: bool = False

    @property
    def play(self) -> Any:
        """A workflow's program, as `zoo.workflows.judging` takes it."""
        return import_module(f"zoo.{self.name}").PLAY

    @property
    def buggy(self) -> Callable[..., Any]:
        """The scenario that fails."""
        return import_module(f"zoo.{self.name}").buggy

    @property
    def fixed(self) -> Callable[..., Any]:
        """The scenario that passes."""
        return import_module(f"zoo.{self.name}").fixed


#: In the plain form: ``def scenario(choices)``.
PLAIN = (
    Specimen("charge_before_step", "charge before the durable step"),
    Specimen("repeated_mail", "handler that is not idempotent"),
    Specimen("short_lease", "lease shorter than the step"),
    Specimen("lost_wakeup", "lost wake-up"),
    Specimen("wrong_fence", "fence that a claim does not raise"),
    Specimen("retry_storm", "retry storm"),
    Specimen("forgotten_deadline", "forgotten deadline"),
    Specimen("overlapping_schedules", "two schedules that overlap"),
    Specimen("saga_out_of_order", "saga that compensates out of order"),
    Specimen("lost_update", "read, compute, write"),
    Specimen("kept_money", "ignored refusal of a completion"),
    Specimen("reused_ids", "ids from a counter in memory"),
    Specimen("short_uniqueness", "unique key shorter than the retries"),
    Specimen("missed_join", "join that looks before it writes"),
)

#: Whole systems: ``async def scenario(world)``.
WHOLE = (
    Specimen("worker_charges_twice", "worker that charges without a key", whole=True),
    Specimen("client_orders_twice", "client that sends again under a new id", whole=True),
    Specimen("steps_enqueued_twice", "id of the next step made from the attempt", whole=True),
    Specimen("partitioned_writer", "upload that outlives its lease", whole=True),
    Specimen("balance_across_await", "read, await, write", whole=True),
)


def _workflow(name: str, bug: str, *, by_test: bool = False, by_certificate: bool = False) -> Specimen:
    return Specimen(f"workflows.{name}", bug, True, by_test, by_certificate)


#: The same as workflows, and bugs that only workflows have. `explore` finds each of them.
WORKFLOWS = (
    _workflow("charge_without_key", "charge without a key", by_certificate=True),
    _workflow("key_of_the_attempt", "key that each attempt draws anew", by_certificate=True),
    _workflow("mail_again_after_a_lost_answer", "retried step that is not idempotent", by_test=True, by_certificate=True),
    _workflow("effect_outside_of_a_step", "effect outside of a step", by_test=True, by_certificate=True),
    _workflow("carrier_by_chance", "chance outside of a step", by_test=True, by_certificate=True),
    _workflow("numbers_from_memory", "numbers from a counter in memory", by_test=True),
    _workflow("first_quote", "order in which branches end", by_test=True, by_certificate=True),
    _workflow("label_enqueued_in_a_step", "job that a step enqueues without an id", by_certificate=True),
    _workflow("forgotten_deadline", "receive without a timeout", by_test=True, by_certificate=True),
    _workflow("undo_of_what_was_answered", "saga that undoes only what was answered", by_test=True),
    _workflow("cancelled_without_refund", "compensation in a cleanup that a cancel does not run", by_test=True),
    _workflow("lost_click", "promise that is made after its link was sent"),
    _workflow("payment_after_the_timeout", "message between the timeout and the end"),
    _workflow("balance_over_two_steps", "read and write in two steps"),
    _workflow("child_that_is_not_awaited", "child job that is not awaited", by_test=True),
    _workflow("interrupted_is_not_declined", "interrupted step that counts as failed", by_certificate=True),
)

ZOO = (*PLAIN, *WHOLE, *WORKFLOWS)
