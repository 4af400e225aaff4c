"""All programs of the zoo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["PLAIN", "WHOLE", "ZOO", "Specimen"]


@dataclass(frozen=True)
class Specimen:
    """A program with a planted bug, and the same program without it.

    Attributes:
        name: Of the module.
        bug: In a few words.
        whole: Whether it is a whole system, ``async def scenario(world)``.
    """

    name: str
    bug: str
    whole: bool = False

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

ZOO = (*PLAIN, *WHOLE)
