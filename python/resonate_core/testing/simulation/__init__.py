"""Simulation of whole systems: workers, programs and apps on one store, in virtual time, with faults, in an order that is drawn.

Example:
    >>> from resonate_core.testing.simulation import simulate
    >>> async def scenario(world):
    ...     await world.store.aio.promises.create("a", timeout=60_000, tags={"resonate:timer": "true"})
    ...     return (await world.settled("a", within="2 min")).state, world.now
    >>> simulate(scenario, seed=1).value
    ('resolved', 60000)
"""

from __future__ import annotations

from .errors import HistoryBroken, NotDeterministic, NotSimulated, PropertyBroken, Stuck
from .faults import Faults
from .process_store import ProcessStore
from .runs import Run, check_determinism, run_scenario, simulate
from .world import World

__all__ = [
    "Faults",
    "HistoryBroken",
    "NotDeterministic",
    "NotSimulated",
    "ProcessStore",
    "PropertyBroken",
    "Run",
    "Stuck",
    "World",
    "check_determinism",
    "run_scenario",
    "simulate",
]
