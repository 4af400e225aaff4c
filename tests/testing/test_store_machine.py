"""`StoreMachine`: it passes on our stores, finds planted bugs, names violated invariants, and can be reduced to fewer rules."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

import resonate_core as rc
from backends import BackEnd
from property import profiles
from resonate_core.testing import StoreMachine
from resonate_core.testing.machine import BrokenInvariant, broken_invariant, depth_of_awaits, rule_names

#: Enough to find the planted bugs, whatever the seed.
SEARCH = settings(
    max_examples=300,
    stateful_step_count=25,
    database=None,
    deadline=None,
    derandomize=False,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)
SHORT = settings(SEARCH, max_examples=25, stateful_step_count=30)


def run(machine: type[StoreMachine], chosen: settings = SEARCH, number: int = 1) -> None:
    """Runs a machine with a seed."""
    run_state_machine_as_test(seed(number)(machine), settings=chosen)


def test_every_storage_is_sound(back_end: BackEnd) -> None:
    """The random calls of the machine violate no invariant in any storage. The seed is that of the session, which its summary prints."""

    class Here(StoreMachine):
        def make_store(self) -> Any:
            return back_end.open(clock=rc.ManualClock(0))

    examples = 25 if back_end.name == "memory" else 4
    run(Here, settings(SHORT, max_examples=examples), profiles.SEED)


def test_the_machine_does_much() -> None:
    """A few examples settle promises, wake tasks and retry jobs."""
    reached: set[str] = set()

    class Watched(StoreMachine):
        @invariant()
        def watch(self) -> None:
            for row in self.store.snapshot()["promises"]:
                reached.add(row["state"])
                if "job" in row:
                    reached.add(f"job {row['job']['state']}")
                elif "task" in row:
                    reached.add(f"task {row['task']['state']}")

    run(Watched, settings(SHORT, max_examples=200))
    assert {"pending", "resolved", "rejected", "rejected_timedout"} <= reached
    assert {"task pending", "task acquired", "task suspended", "task fulfilled"} <= reached
    assert {"job pending", "job running", "job completed"} <= reached


class Payments(StoreMachine):
    """A worker that charges when it claims a job; its lease may be shorter than its work."""

    rules_off = frozenset(rule_names(StoreMachine)) - {"advance", "advance_to_next"}
    lease = 1000

    def __init__(self) -> None:
        super().__init__()
        self.charged: list[str] = []
        self.held: list[rc.Job] = []

    @initialize()
    def order(self) -> None:
        self.store.jobs.enqueue("charge", id="order-1", max_retries=3, retry_policy={"kind": "fixed", "intervals": [0]})

    @rule()
    def claim(self) -> None:
        if not self.held:
            self.held = list(self.store.jobs.claim("default", worker="ann", lease=self.lease, start=1))
            self.charged += [job.id for job in self.held]

    @rule()
    def crash(self) -> None:
        self.held = []

    @rule()
    def complete(self) -> None:
        for job in self.held:
            self.attempt(self.store.jobs.complete, job.id, job.version)
        self.held = []

    @invariant()
    def charged_once(self) -> None:
        assert len(self.charged) <= 1, "charged twice"


def test_a_planted_double_charge_is_found() -> None:
    with pytest.raises(AssertionError, match="charged twice"):
        run(Payments)


def test_the_mended_program_passes() -> None:
    class Mended(Payments):
        def __init__(self) -> None:
            super().__init__()
            self.once: set[str] = set()

        @rule()
        def claim(self) -> None:
            if not self.held:
                self.held = list(self.store.jobs.claim("default", worker="ann", lease=self.lease, start=1))
                self.charged += [job.id for job in self.held if job.id not in self.once]
                self.once |= {job.id for job in self.held}

    run(Mended, SHORT)


def test_a_broken_invariant_has_its_name() -> None:
    class Broken(StoreMachine):
        rules_off = frozenset(rule_names(StoreMachine))

        @initialize()
        def break_it(self) -> None:
            self.store.promises.create("a", timeout=1000)
            snapshot = self.store.snapshot()
            snapshot["promises"][0]["state"] = "resolved"
            self.store.restore(snapshot, check=False)

        @rule()
        def nothing(self) -> None: ...

    with pytest.raises(BrokenInvariant) as raised:
        run(Broken, SHORT)
    name = type(raised.value).name
    assert type(raised.value) is broken_invariant(name)
    assert str(raised.value).startswith(f"{name}: 'a':")

    class Allowed(Broken):
        rules_off = frozenset()
        invariants_off = frozenset({name})

    with rc.Store(clock=rc.ManualClock()) as store:
        store.promises.create("a", timeout=1000)
        snapshot = store.snapshot()
        snapshot["promises"][0]["state"] = "resolved"
        store.restore(snapshot, check=False)
        names = {one.name for one in store.check()}
    assert name in names
    if names == {name}:
        run(Allowed, SHORT)


def test_rules_are_switched_off_by_name() -> None:
    class Few(StoreMachine):
        rules_off = frozenset({"any_request", "cancel_job"})

    class Fewer(Few):
        rules_off = frozenset({"any_request", "cancel_job", "advance"})

    def active(machine: type[StoreMachine]) -> set[str]:
        return {name for name in rule_names(machine) if getattr(machine, name) is not None}

    assert active(StoreMachine) - active(Few) == {"any_request", "cancel_job"}
    assert active(Few) - active(Fewer) == {"advance"}
    with pytest.raises(TypeError, match="rules_off of Wrong must be names of rules, got advanse; the rules are acquire_task"):
        type("Wrong", (StoreMachine,), {"rules_off": frozenset({"advanse"})})


def test_depth_and_retries_are_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: dict[str, float] = {}
    monkeypatch.setattr(hypothesis, "target", lambda value, label: reported.update({label: max(value, reported.get(label, 0))}))

    class Chain(StoreMachine):
        rules_off = frozenset(rule_names(StoreMachine))

        @initialize()
        def chain(self) -> None:
            for id in ("a", "b"):
                self.store.tasks.create(id, pid="ann", ttl=5000, timeout=60_000, target="poll://any@x")
            self.store.promises.create("c", timeout=60_000)
            self.store.tasks.suspend("a", 1, ["b"])
            self.store.tasks.suspend("b", 1, ["c"])
            self.store.jobs.enqueue("t", id="j", max_retries=2, retry_policy={"kind": "fixed", "intervals": [0]})
            self.store.jobs.claim("default", worker="ann", lease=100, start=1)
            self.store.jobs.fail("j", 1, "E", "no")

        @rule()
        def nothing(self) -> None: ...

    run(Chain, settings(SHORT, max_examples=2, stateful_step_count=2))
    assert reported == {"depth of awaits": 2.0, "retries": 1.0}


def test_tasks_that_await_each_other_in_a_circle_have_a_depth() -> None:
    assert depth_of_awaits([{"id": "a", "callbacks": ["b"]}, {"id": "b", "callbacks": ["a"]}]) == 2
    assert depth_of_awaits([]) == 0


def test_a_call_may_be_refused_but_not_malformed() -> None:
    machine = StoreMachine()
    assert machine.attempt(machine.store.promises.resolve, "nothing") is None
    with pytest.raises(rc.Invalid):
        machine.attempt(machine.store.promises.create, "a", timeout=-1)
    machine.teardown()
    assert machine.store.closed
