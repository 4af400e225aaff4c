"""Programs of generator functions: which one continues, what a crash does, and when time moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, Programs, explore, interleave


def new_store() -> rc.Store[rc.ManualClock]:
    return rc.Store(clock=rc.ManualClock(start=0), check=True)


def simplest() -> Choices:
    return Choices.from_tape([])


def test_the_simplest_run_lets_a_program_run_on():
    seen: list[str] = []

    def program(name: str):
        for step in range(3):
            seen.append(f"{name}{step}")
            yield

    interleave(simplest(), new_store(), {"a": program, "b": program})
    assert seen == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_every_interleaving_is_reached():
    reached: set[str] = set()

    def scenario(choices: Choices) -> None:
        seen: list[str] = []

        def program(name: str):
            for _ in range(2):
                seen.append(name)
                yield

        interleave(choices, new_store(), {"a": program, "b": program})
        reached.add("".join(seen))

    explore(scenario, runs=300)
    assert reached == {"aabb", "abab", "abba", "baab", "baba", "bbaa"}


def test_sleeps_are_on_the_clock_of_the_store():
    store, seen = new_store(), []

    def program(name: str):
        yield timedelta(hours=1)
        seen.append((name, store.now))
        yield 500
        seen.append((name, store.now))

    interleave(simplest(), store, {"a": program})
    assert seen == [("a", 3_600_000), ("a", 3_600_500)]


def test_time_moves_to_what_is_due_in_the_store_when_all_are_idle():
    store, seen = new_store(), []
    store.promises.create("timer", timeout=7_000, tags={"resonate:timer": "true"})

    def program(name: str):
        while store.promises.get("timer").state == "pending":
            yield IDLE
        seen.append(store.now)

    interleave(simplest(), store, {"a": program, "b": program})
    assert seen == [7_000, 7_000]


def test_an_idle_program_wakes_when_another_one_did_something():
    """This holds also if the other one was idle before, and is idle again at once."""
    store, done = new_store(), []

    def first(name: str):
        while not (jobs := store.jobs.claim("one", worker=name, lease=1_000, start=1)):
            yield IDLE
        store.jobs.complete(jobs[0].id, jobs[0].version)
        store.jobs.enqueue("second", queue="two")
        while True:
            yield IDLE

    def second(name: str):
        while not (jobs := store.jobs.claim("two", worker=name, lease=1_000, start=1)):
            yield IDLE
        store.jobs.complete(jobs[0].id, jobs[0].version)
        done.append(name)

    def enqueuer(name: str):
        yield 1_000
        store.jobs.enqueue("first", queue="one")

    interleave(simplest(), store, {"second": second, "first": first, "enqueuer": enqueuer})
    assert done == ["second"]


def test_programs_that_only_idle_end_the_run():
    def program(name: str):
        while True:
            yield IDLE

    store = new_store()
    interleave(simplest(), store, {"a": program, "b": program})
    assert store.now == 0


def test_a_condition_that_nothing_can_make_true_fails():
    def program(name: str):
        while True:
            yield IDLE

    with pytest.raises(AssertionError, match="not done at 0 ms, and nothing is left to happen; idle programs: a, b"):
        interleave(simplest(), new_store(), {"a": program, "b": program}, until=lambda: False)

    def ends(name: str):
        yield

    with pytest.raises(AssertionError, match="idle programs: none is left"):
        interleave(simplest(), new_store(), {"a": ends}, until=lambda: False)


def test_jobs_that_no_program_claims_are_named() -> None:
    store = rc.Store(clock=rc.ManualClock())
    for number in range(4):
        store.jobs.enqueue("charge", id=f"j{number}", queue="orders")

    def nothing(name: str) -> Iterator[object]:
        yield IDLE

    with pytest.raises(
        AssertionError, match=r"idle programs: a; pending jobs: 'j0' in queue 'orders', .*'j2' in queue 'orders', \.{3}$"
    ):
        interleave(Choices.from_tape([]), store, {"a": nothing}, until=lambda: False)


def test_a_program_without_a_yield_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"program 'a' must be a generator function, with a yield, got a function that returns None$"
    ):
        interleave(Choices.from_tape([]), rc.Store(clock=rc.ManualClock()), {"a": lambda name: None})  # type: ignore[arg-type]


def test_a_condition_has_a_time():
    def program(name: str):
        while True:
            yield 1_000

    store = new_store()
    with pytest.raises(AssertionError, match="not done at 60000 ms, the limit; programs: a"):
        interleave(simplest(), store, {"a": program}, until=lambda: False, within=timedelta(minutes=1))
    assert store.now == 60_000


def test_programs_that_never_wait_are_stopped():
    def program(name: str):
        while True:
            yield

    with pytest.raises(AssertionError, match="do they yield IDLE or a time when they have nothing to do"):
        interleave(simplest(), new_store(), {"a": program})


def test_a_crash_runs_no_block_before_the_scenario_has_ended():
    blocks: list[str] = []
    choices = Choices.from_tape([1])
    store = new_store()
    started: list[int] = []

    def program(name: str):
        started.append(store.now)
        try:
            yield "begins"
            blocks.append("went on")
        except BaseException:
            blocks.append("except")
            raise
        finally:
            blocks.append("finally")

    interleave(choices, store, {"a": program}, crash=0.5, restart=2_000)
    assert choices.story == ["   0 ms  a: begins", "   0 ms  a crashes", "2000 ms  a: begins"]
    assert started == [0, 2_000]
    assert blocks == ["went on", "finally"]  # of the second start
    choices.end()
    assert blocks == ["went on", "finally", "except", "finally"]


def test_a_block_that_does_not_end_is_no_error_of_the_run():
    def program(name: str):
        while True:
            try:
                yield
                return
            finally:
                raise ValueError("in a block of a crashed program")

    choices = Choices.from_tape([1])
    interleave(choices, new_store(), {"a": program}, crash=0.5, restart=None)
    choices.end()


def test_without_a_restart_a_crashed_program_is_gone():
    started: list[str] = []

    def program(name: str):
        started.append(name)
        yield

    choices = Choices.from_tape([1])
    interleave(choices, new_store(), {"a": program}, crash=0.5, restart=None)
    assert started == ["a"]
    assert choices.drawn[0].label == "crash:a"


def test_an_idle_program_does_not_crash():
    def program(name: str):
        yield IDLE
        yield IDLE

    choices = Choices.from_tape([1, 1, 1])
    interleave(choices, new_store(), {"a": program}, crash=0.5)
    assert choices.tape == []


def test_a_program_can_be_crashed_by_hand():
    choices, store, started = simplest(), new_store(), []

    def program(name: str):
        started.append(store.now)
        yield 10

    programs = Programs(choices, store, restart=100)
    programs.add("a", program)
    programs.run(until=lambda: started)
    programs.crash("a")
    programs.run()
    assert started == [0, 100]
    with pytest.raises(ValueError, match="name must be that of a running program, got 'b'"):
        programs.crash("b")


def test_an_error_of_a_program_ends_the_run():
    def program(name: str):
        yield
        raise KeyError(name)

    with pytest.raises(KeyError):
        interleave(simplest(), new_store(), {"a": program})


def test_the_steps_of_the_store_are_in_the_story_once():
    def run(telling: bool) -> list[str]:
        choices, store = Choices.from_tape([], telling=telling), new_store()

        def program(name: str):
            store.tasks.create("t", pid=name, ttl=1_000, timeout=60_000, target="poll://any@g")
            yield 2_000

        interleave(choices, store, {"a": program}, within=5_000)
        choices.end()
        return choices.story

    steps = ["1000 ms  the lease of task t expires", "1000 ms  task t is dispatched"]
    assert [line for line in run(False) if not line.startswith("6")][:2] == steps
    shown = run(True)
    assert shown[0] == "   0 ms  a: task.create t (acquired, version 1)"
    assert shown[1:3] == steps


@pytest.mark.parametrize(
    "wrong, error, text",
    [
        (lambda s: Programs(simplest(), rc.Store()), TypeError, "store must have a ManualClock"),
        (lambda s: Programs(simplest(), s, restart=-1), ValueError, "restart must be at least 0 ms, got -1"),
        (lambda s: Programs(simplest(), s).run(within=-1), ValueError, "within must be at least 0 ms, got -1"),
        (
            lambda s: interleave(simplest(), s, {"a": lambda name: iter([-5])}),
            ValueError,
            "what a yields must be at least 0 ms, got -5",
        ),
        (
            lambda s: interleave(simplest(), s, {"a": lambda name: iter([1.5])}),
            TypeError,
            r"what a yields must be an int \(ms\) or a timedelta",
        ),
    ],
)
def test_a_wrong_argument_is_refused(wrong, error, text: str):
    with pytest.raises(error, match=text):
        wrong(new_store())


def test_a_name_is_used_once():
    programs = Programs(simplest(), new_store())
    programs.add("a", lambda name: iter(()))
    with pytest.raises(ValueError, match="name must be new, got 'a' again"):
        programs.add("a", lambda name: iter(()))
