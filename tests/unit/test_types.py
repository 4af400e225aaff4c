"""The types of a store's clock and of the names of states.

`scripts/check` runs mypy on this file: each `assert_type` must hold, and strict mypy warns of a `type: ignore` that is not needed.
"""

from __future__ import annotations

import pathlib
import typing
from typing import TYPE_CHECKING, Literal

import pytest

import resonate_core as rc
from resonate_core import _core

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: object, _: object) -> object:
        return value


def test_a_store_knows_its_clock(tmp_path: pathlib.Path) -> None:
    manual = rc.Store(clock=rc.ManualClock())
    assert_type(manual, "rc.Store[rc.ManualClock]")
    assert manual.clock.advance(5) == [] and manual.clock.now == 5
    with manual as entered, entered.fork() as copy:
        assert_type(copy, "rc.Store[rc.ManualClock]")
        copy.clock.advance(1)
        assert (manual.clock.now, copy.clock.now) == (5, 6)
    system = rc.Store()
    assert_type(system.clock, rc.SystemClock)
    assert_type(system.fork(rc.ManualClock()).clock, rc.ManualClock)
    assert_type(rc.Store(tmp_path / "app.db").clock, rc.SystemClock)
    assert_type(rc.Store(str(tmp_path / "app.db")).clock, "rc.SystemClock | rc.DatabaseClock")


def test_a_bare_store_is_one_with_any_clock() -> None:
    def now(store: rc.Store) -> int:
        assert_type(store.clock, rc.Clock)
        return store.clock.now

    assert now(rc.Store(clock=rc.ManualClock(7))) == 7
    clock: rc.Clock | None = None
    assert_type(rc.Store(clock=clock), "rc.Store[rc.Clock]")


def test_the_parameter_exists_at_run_time() -> None:
    alias = rc.Store[rc.ManualClock]
    assert typing.get_origin(alias) is rc.Store and typing.get_args(alias) == (rc.ManualClock,)
    assert alias(clock=rc.ManualClock(3)).now == 3


def test_states_are_literals() -> None:
    store = rc.Store(clock=rc.ManualClock())
    promise = store.promises.create("a", 1000)
    assert_type(promise.state, "Literal['pending', 'resolved', 'rejected', 'rejected_canceled', 'rejected_timedout']")
    assert promise.state in typing.get_args(rc.PromiseState)
    assert len(typing.get_args(rc.PromiseState)) == 5
    assert typing.get_args(rc.TaskState) == ("pending", "acquired", "suspended", "halted", "fulfilled")
    assert len(typing.get_args(rc.JobState)) == 11
    assert rc.PromiseState is _core.PromiseState
    state: rc.PromiseState = "pending"
    assert [found.id for found in store.promises.search(state=state)] == ["a"]
    for state in typing.get_args(rc.PromiseState):
        store.promises.search(state=state)
    settled: Literal["resolved"] = "resolved"
    assert store.promises.settle_many(["a"], state=settled).states == ["resolved"]


def test_a_misspelt_state_is_an_error_of_types_and_at_run_time() -> None:
    store = rc.Store(clock=rc.ManualClock())
    with pytest.raises(rc.errors.Invalid, match="state"):
        store.promises.search(state="finished")  # type: ignore[arg-type]
    with pytest.raises(rc.errors.Invalid, match="state"):
        store.jobs.search(state="done")  # type: ignore[arg-type]
