"""Programs of generator functions on one store: at each ``yield`` another one may continue, or this one may crash."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from .. import ManualClock, Store
from ..calls.values import rounded_milliseconds
from .choices import Choices
from .recording_story import step_sentence

__all__ = ["IDLE", "Programs", "interleave"]


class _Idle:
    __slots__ = ()

    def __repr__(self) -> str:
        return "IDLE"


#: What a program yields that has nothing to do until another one did something, or until time moves.
IDLE: Final = _Idle()

#: What a program may yield.
Point = str | int | timedelta | _Idle | None

#: Returns the program of a name. It is called at the start, and again after each crash.
Program = Callable[[str], Iterator[Any]]

_DAY = 86_400_000
_MOST_STEPS = 20_000


class _Running:
    """A program under way."""

    __slots__ = ("crash", "generator", "idle_since", "label", "name", "program", "started", "wakes_at")

    def __init__(self, name: str, program: Program, crash: float) -> None:
        self.name = name
        self.label = f"crash:{name}"
        self.program = program
        self.crash = crash
        self.generator = program(name)
        if not isinstance(self.generator, Iterator):
            raise TypeError(
                f"program {name!r} must be a generator function, with a yield, got a function that returns {self.generator!r}"
            )
        self.idle_since: int | None = None
        self.wakes_at: int | None = None
        self.started = False


class Programs:
    r"""Runs several programs on one store, in one thread: the choices say which one continues at each ``yield``, and which one crashes.

    A program is a generator function of its name. What stands between two ``yield`` happens at once; so put one after each request of the
    store, and around each effect on the world. It may yield

    ========================= ==============================================================
    ``None``                  others may continue here, and it may crash here
    a text                    the same; the text is a line of the story
    an int (ms), `timedelta`  it sleeps on the store's clock
    `IDLE`                    it waits until another program did something, or time has moved; it does not crash here
    ========================= ==============================================================

    A crash drops a program: no ``finally`` and no ``except`` of it runs before the scenario has ended. If no program is ready, the clock
    moves to what is due next in the store or ends a sleep.

    Args:
        choices: Those of the run.
        store: Has a `ManualClock`, which no one else moves.
        crash: The probability of a crash at each ``yield``. Its label is ``"crash:<name>"``.
        restart: The time after which a crashed program starts again from its beginning, in ms or a `timedelta`; None for never.

    Raises:
        TypeError: The store has no `ManualClock`.

    Example:
        Two workers, one crashes. Each charges before it completes the job, so a crash between the two charges twice:

        >>> import resonate_core as rc
        >>> from resonate_core.testing import IDLE, Choices, Failure, explore, interleave
        >>> def scenario(choices: Choices) -> None:
        ...     store = rc.Store(clock=rc.ManualClock(start=0))
        ...     store.jobs.enqueue("charge", id="order-1")
        ...     charges: list[str] = []
        ...     def worker(name: str):
        ...         while True:
        ...             for job in store.jobs.claim("default", worker=name, lease=10_000, start=1):
        ...                 charges.append(job.id)
        ...                 yield "charges"
        ...                 store.jobs.complete(job.id, job.version)
        ...             yield IDLE
        ...     done = lambda: store.jobs.get("order-1").state == "completed"
        ...     interleave(choices, store, {"a": worker, "b": worker}, crash=0.1, until=done)
        ...     assert charges == ["order-1"], "charged twice"
        >>> try:
        ...     explore(scenario, seed=1)
        ... except Failure as failure:
        ...     print(*failure.story, sep="\n")
            0 ms  a: job.claim order-1 (running, version 1)
            0 ms  a: charges
            0 ms  a crashes
        10000 ms  the lease of job order-1 expires
        46000 ms  job order-1 becomes runnable
        46000 ms  a: job.claim order-1 (running, version 2)
        46000 ms  a: charges
        46000 ms  a: job.complete order-1 (completed, version 2)
    """

    def __init__(self, choices: Choices, store: Store[Any], *, crash: float = 0.0, restart: int | timedelta | None = 1_000) -> None:
        if not isinstance(store.clock, ManualClock):
            raise TypeError(f"store must have a ManualClock, got {store.clock!r}")
        self._choices = choices
        self._store = store
        self._clock: ManualClock = store.clock
        self._crash = crash
        self._restart = None if restart is None else rounded_milliseconds("restart", restart)
        self._programs: list[_Running] = []
        self._last: _Running | None = None
        self._steps = 0
        choices.follow(store)

    def add(self, name: str, program: Program, *, crash: float | None = None) -> None:
        """Add a program.

        Args:
            name: Its name in the story; each name once.
            program: Is called with the name, and returns a generator.
            crash: The probability of a crash at each ``yield``. Default: that of all programs.

        Raises:
            ValueError: The name is in use.
        """
        if any(each.name == name for each in self._programs):
            raise ValueError(f"name must be new, got {name!r} again")
        self._programs.append(_Running(name, program, self._crash if crash is None else crash))

    def run(self, until: Callable[[], object] | None = None, *, within: int | timedelta = 10 * _DAY) -> None:
        """Run the programs until a condition holds; without one, until all of them have ended or nothing is left to happen.

        Args:
            until: The condition. It is checked after each step.
            within: The longest time on the store's clock, in ms or a `timedelta`.

        Raises:
            AssertionError: The condition does not hold within the time, or nothing is left to happen that could make it hold.
        """
        last = self._clock.now + rounded_milliseconds("within", within)
        while until is None or not until():
            ready = self._ready()
            if ready:
                self._step(ready)
            elif not self._pass_time(last, until is not None):
                return

    def _ready(self) -> list[_Running]:
        """The programs that can continue. The one that ran last is the first: then the simplest choice is to let it run on."""
        now, steps, last = self._clock.now, self._steps, self._last
        ready: list[_Running] = []
        for each in self._programs:
            if each.wakes_at is not None:
                if each.wakes_at > now:
                    continue
            elif each.idle_since is not None and each.idle_since == steps:
                continue
            if each is last:
                ready.insert(0, each)
            else:
                ready.append(each)
        return ready

    def _step(self, ready: list[_Running]) -> None:
        choices = self._choices
        chosen = ready[0]
        if len(ready) > 1:
            chosen = choices.pick(ready, "schedule", [each.name for each in ready])
        self._last = chosen
        # A program that looks for work and finds none changes nothing, and does not wake the other idle ones. A digest shows it.
        was_idle = chosen.idle_since is not None
        judged = was_idle and any(each.idle_since is not None for each in self._programs if each is not chosen)
        before = self._store.digest() if judged else ""
        chosen.idle_since = chosen.wakes_at = None
        outer, choices.actor = choices.actor, chosen.name
        try:
            if not chosen.started:
                chosen.started = True
            point = next(chosen.generator)
        except StopIteration:
            self._programs.remove(chosen)
            self._steps += 1
            return
        finally:
            choices.actor = outer
        if point is IDLE:
            self._steps += self._store.digest() != before if judged else not was_idle
            chosen.idle_since = self._steps
            return  # it holds nothing: its crash would change nothing
        self._steps += 1
        if isinstance(point, str):
            choices.note(f"{chosen.name}: {point}")
        elif point is not None:
            chosen.wakes_at = self._clock.now + rounded_milliseconds(f"what {chosen.name} yields", point)
        if self._steps > _MOST_STEPS:
            raise AssertionError(
                f"the programs made {_MOST_STEPS} steps: do they yield IDLE or a time when they have nothing to do?"
            )
        if chosen.crash and choices.chance(chosen.crash, chosen.label):
            self.crash(chosen.name)

    def crash(self, name: str) -> None:
        """Crash a program now.

        Raises:
            ValueError: No program of this name is running.
        """
        found = [each for each in self._programs if each.name == name]
        if not found:
            raise ValueError(f"name must be that of a running program, got {name!r}")
        self._choices.note(f"{name} crashes")
        self._choices.at_end(_Buried(found[0].generator))
        again = _Running(name, found[0].program, found[0].crash)
        at = self._programs.index(found[0])
        if self._restart is None:
            del self._programs[at]
        else:
            self._programs[at] = again
            again.wakes_at = self._clock.now + self._restart
        self._steps += 1

    def _pass_time(self, last: int, wanted: bool) -> bool:
        """Move the clock to the next instant at which something happens. Returns false if there is none and none is wanted."""
        instants = [each.wakes_at for each in self._programs if each.wakes_at is not None]
        due = self._store.next_due()
        if due is not None and self._programs:
            instants.append(due)
        at = min(instants, default=None)
        if at is None or at > last:
            if not wanted:
                return False
            waiting = ", ".join(each.name for each in self._programs) or "none is left"
            if at is None:
                raise AssertionError(
                    f"not done at {self._clock.now} ms, and nothing is left to happen; idle programs: {waiting}{self._waiting_jobs()}"
                )
            raise AssertionError(f"not done at {last} ms, the limit; programs: {waiting}")
        follows = self._choices.follows(self._store)
        for fired in self._clock.advance_to(max(at, self._clock.now)):
            if not follows:
                self._choices.note(step_sentence(fired.kind, fired.id))
        self._steps += 1
        return True

    def _waiting_jobs(self) -> str:
        """The jobs that no program claims, for a message."""
        jobs = self._store.jobs.search(state="pending", limit=3)
        shown = [f"{job.id!r} in queue {job.queue!r}" for job in jobs]
        more = ", ..." if jobs.cursor else ""
        return f"; pending jobs: {', '.join(shown)}{more}" if shown else ""


class _Buried:
    """Ends a crashed program after the scenario. Until then it is kept: the collection of a generator runs its ``finally``."""

    __slots__ = ("_generator",)

    def __init__(self, generator: Iterator[Any]) -> None:
        self._generator = generator

    def __call__(self) -> None:
        # Its blocks act on a run that is over, and their errors are of no program that exists.
        with contextlib.suppress(BaseException):
            if isinstance(self._generator, Generator):
                self._generator.close()


def interleave(
    choices: Choices,
    store: Store[Any],
    programs: Mapping[str, Program],
    *,
    crash: float = 0.0,
    restart: int | timedelta | None = 1_000,
    until: Callable[[], object] | None = None,
    within: int | timedelta = 10 * _DAY,
) -> None:
    """Run programs on one store: `Programs` in one call.

    Args:
        choices: Those of the run.
        store: Has a `ManualClock`.
        programs: Each name with its generator function, which is called with the name.
        crash: The probability of a crash at each ``yield``.
        restart: The time after which a crashed program starts again, in ms or a `timedelta`; None for never.
        until: The condition at which the programs stop. Default: until nothing is left to happen.
        within: The longest time on the store's clock, in ms or a `timedelta`.

    Raises:
        AssertionError: The condition does not hold within the time, or nothing is left to happen that could make it hold.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import Choices, interleave
        >>> def napping(name: str):
        ...     yield 5_000
        ...     seen.append(name)
        >>> seen: list[str] = []
        >>> store = rc.Store(clock=rc.ManualClock(start=0))
        >>> interleave(Choices.from_tape([]), store, {"a": napping, "b": napping})
        >>> sorted(seen), store.now
        (['a', 'b'], 5000)
    """
    made = Programs(choices, store, crash=crash, restart=restart)
    for name, program in programs.items():
        made.add(name, program)
    made.run(until, within=within)
