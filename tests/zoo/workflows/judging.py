"""The parts that the workflows of the zoo have in common: the world outside of them, and three ways to judge one.

- `drained`: as a test with the fixtures `resonate_store` and `resonate_worker` does, without a crash. A drain replays after each wait.
- `certified`: `crash_everywhere`.
- `explored`: a scenario of `explore`, in which workers crash, answers are lost, and people act when they like.
"""

from __future__ import annotations

import asyncio
import json
import random
import warnings
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import resonate_core as rc
from resonate_core.testing import crash_everywhere
from resonate_core.worker import Worker
from resonate_core.workflow import NonDeterministicWarning

__all__ = ["Outside", "Play", "certified", "drained", "explored"]

_FINAL = ("completed", "failed", "archived", "cancelled", "expired")


@dataclass
class Outside:
    """The world outside of a workflow: a bank, a mail server, a customer.

    Attributes:
        effects: The effects so far, in order.
        keys: Idempotency keys that it has seen.
        values: Anything else that a program remembers.
        may_fail: How likely an answer of the outside is lost; None: exactly the first one is.
    """

    effects: list[Any] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    may_fail: float | None = None

    def does(self, effect: Any, key: str | None = None) -> None:
        """Have an effect, unless one with this key has happened."""
        if key is None or key not in self.keys:
            self.effects.append(effect)
        if key is not None:
            self.keys.add(key)

    def answers(self) -> None:
        """Answer a request.

        Raises:
            ConnectionError: The answer is lost.
        """
        first = not self.values.setdefault("answered", False)
        self.values["answered"] = True
        lost = (
            first if self.may_fail is None else random.random() < self.may_fail
        )  # in a simulation, drawn from the choices of the run
        if lost:
            raise ConnectionError("no answer")

    def forget(self) -> None:
        """Begin anew."""
        self.effects.clear()
        self.keys.clear()
        self.values.clear()


@dataclass(frozen=True)
class Play:
    """A program, with its planted bug or without it.

    Attributes:
        declare: Declares the workflow of a worker; the last argument says whether the bug is corrected.
        holds: Raises an AssertionError if the end is wrong. It gets the outside, the state of the job and its result.
        people: What people do when they see the store; None: nothing. It gets the store, the outside, and whether the bug is corrected, and has
            no effect if it is called again. In a scenario it is called each minute.
        customer: What a person does in a scenario instead, who also acts in between: it gets the world, the outside, and whether the bug is
            corrected.
        orders: How many of these workflows run.
        within: How long they may take.
        faults: What goes wrong in a scenario.
    """

    declare: Callable[[Worker, Outside, bool], Any]
    holds: Callable[[Outside, str, Any], None]
    people: Callable[[Any, Outside, bool], None] | None = None
    customer: Callable[[Any, Outside, bool], Coroutine[Any, Any, None]] | None = None
    orders: int = 1
    within: str = "30 days"
    faults: dict[str, Any] = field(default_factory=lambda: {"crash": 0.03, "lose_reply": 0.03, "processes": ["a", "b"]})

    def ids(self) -> list[str]:
        """The ids of the workflows."""
        return [f"workflow-{number}" for number in range(1, self.orders + 1)]


def _declared(play: Play, worker: Worker, outside: Outside, mended: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonDeterministicWarning)  # a test of its own is about it
        return play.declare(worker, outside, mended)


def _result(promise: rc.Promise) -> Any:
    return None if promise.value.data is None else json.loads(promise.value.text())


def drained(play: Play, store: Any, worker: Worker, mended: bool) -> None:
    """Judge a play as a test with the fixtures does."""
    outside = Outside()
    random.seed(7)
    workflow = _declared(play, worker, outside, mended)
    for id in play.ids():
        workflow.using(id=id).delay("7")
    for _ in range(9):
        worker.run_until_idle(advance=play.people is None)
        if play.people is None:
            break
        play.people(store, outside, mended)
    worker.run_until_idle(advance=True)
    _judge(play, outside, store)


def certified(play: Play, mended: bool) -> None:
    """Judge a play by `crash_everywhere`."""
    outside = Outside()
    worker = Worker()
    workflow, people = _declared(play, worker, outside, mended), play.people
    crash_everywhere(
        workflow,
        "7",
        effects=outside.effects,
        reset=outside.forget,
        meanwhile=None if people is None else lambda store: people(store, outside, mended),
        within=play.within,
    )


async def explored(play: Play, world: Any, mended: bool) -> None:
    """Judge a play in one run of a scenario."""
    outside = Outside(may_fail=0.2)
    worker = Worker()
    workflow = _declared(play, worker, outside, mended)
    world.worker("a", worker)
    world.worker("b", worker)
    world.faults(**play.faults)
    for id in play.ids():
        await world.call(id, workflow, "7")
    if play.customer is not None:
        world.process("customer", play.customer, world, outside, mended, restarts=False)
    elif play.people is not None:
        world.process("customer", _each_minute, play.people, world, outside, mended, restarts=False)
    for id in play.ids():
        await world.settled(id, within=play.within)
    _judge(play, outside, world.store)


async def _each_minute(people: Callable[[Any, Outside, bool], None], world: Any, outside: Outside, mended: bool) -> None:
    while True:
        people(world.store, outside, mended)
        await asyncio.sleep(60)


def _judge(play: Play, outside: Outside, store: Any) -> None:
    for id in play.ids():
        job = store.jobs.get(id)
        assert job.state in _FINAL and job.state != "archived", f"{id} is {job.state}: {job.error}"
        play.holds(outside, job.state, _result(store.promises.get(id)))
