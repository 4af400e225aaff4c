"""`crash_everywhere`: crashes the worker of a workflow before and after each request, and counts what happened outside."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import Invalid
from ..worker.tasks import WorkerTask
from ..worker.worker import Worker
from .choices import Choices, TapeDraws
from .simulation.logged import LoggedAttempts
from .simulation.runs import run_scenario
from .simulation.spans import Span, span

if TYPE_CHECKING:
    from .._core import ManualClock, Promise, Store
    from .simulation.outcome import Run
    from .simulation.world import World

__all__ = ["CrashCertificate", "EffectDefect", "EffectsBroken", "crash_everywhere"]

_NAME = "worker"
_LABEL = f"crash:{_NAME}"
_FINAL = ("completed", "failed", "archived", "cancelled", "expired")
_CRASH = re.compile(rf"\s(?:{_NAME}): crashes (.*)$")
#: How many defects a message shows.
_SHOWN = 20


@dataclass(frozen=True)
class EffectDefect:
    """What a crash did to an effect, or to the workflow itself.

    Attributes:
        effect: The effect; None: the workflow did not end as it does without a crash.
        times: How often it happened.
        expected: How often it happens without a crash.
        crashes: The crashes after which that was so, such as ``before request 3, job.record (charge)``.
        said: The defect in words.
        story: The story of the first of these runs.
    """

    effect: Any
    times: int
    expected: int
    crashes: tuple[str, ...]
    said: str
    story: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class CrashCertificate:
    """What `crash_everywhere` did.

    Attributes:
        crashes: Each crash that was tried.
        effects: The effects without a crash, with their numbers.
        state: The state in which the workflow ends.
        result: Its result without a crash, as in JSON; None if it did not complete.
    """

    crashes: tuple[str, ...]
    effects: Counter[Any]
    state: str
    result: Any


class EffectsBroken(AssertionError):
    """A crash changes how often an effect happens, or how the workflow ends.

    Attributes:
        defects: Each of them.
    """

    def __init__(self, workflow: str, defects: Sequence[EffectDefect], crashes: int) -> None:
        self.defects = tuple(defects)
        lines = [f"{each.said}, after a crash {each.crashes[0]}{_others(each.crashes)}" for each in defects[:_SHOWN]]
        if len(defects) > _SHOWN:
            lines.append(f"… and {len(defects) - _SHOWN} more")
        story = "\n".join(defects[0].story)
        super().__init__(
            f"workflow {workflow!r}, {crashes} crashes:\n  " + "\n  ".join(lines) + f"\nthe first of these runs:\n{story}"
        )


def _others(crashes: Sequence[str]) -> str:
    left = len(crashes) - 1
    return f" and {left} other{'s' if left > 1 else ''}" if left else ""


class _OneCrash:
    """Draws the simplest answer to each question, and one crash: before or after the n-th request of the worker.

    Args:
        point: Which request, from 1; 0: none.
        after: Whether it is executed before the crash.
    """

    def __init__(self, point: int, after: bool) -> None:
        self._left = point
        self._after = after
        others = TapeDraws(())
        self._number, self.option = others.number, others.option

    def number(self, label: str, size: int) -> int:
        return 1 if label == "crash:when" and self._after else self._number(label, size)

    def chance(self, label: str, probability: float) -> bool:
        if label != _LABEL:
            return False
        self._left -= 1
        return self._left == 0


class _Trial:
    """Runs the workflow with one crash.

    Args:
        task: The workflow.
        payload: Its payload.
        effects: Returns what has happened outside.
        reset: Called before each run.
        messages: Topics and values that are sent to the workflow once it is enqueued.
        meanwhile: Called after each change of the store.
        workers: Further workers.
        within: How long the workflow may take, in ms.
        id: Of its job.
    """

    def __init__(
        self,
        task: WorkerTask[Any, Any],
        payload: Any,
        effects: Callable[[], Iterable[Hashable]],
        reset: Callable[[], object],
        messages: Sequence[tuple[str, Any]],
        meanwhile: Callable[[Store[ManualClock]], object] | None,
        workers: Sequence[Worker],
        within: int,
        id: str,
    ) -> None:
        self.task = task
        self.payload = payload
        self.effects = effects
        self.reset = reset
        self.messages = messages
        self.meanwhile = meanwhile
        self.workers = workers
        self.within = within
        self.id = id
        self._logged = LoggedAttempts(each=False)

    def run(self, point: int, after: bool) -> tuple[Counter[Any], str, Any, Run, int]:
        """Run it; return the effects, the state and the result in the end, the run, and the number of requests."""
        self.reset()
        before = Counter(self.effects())
        choices = Choices(_OneCrash(point, after))
        try:
            run = run_scenario(self._scenario, choices, logged=self._logged)
        finally:
            choices.end()
        state, result = run.value
        requests = sum(choice.label == _LABEL for choice in choices.drawn)
        made = Counter(self.effects())
        made.subtract(before)
        return +made, state, result, run, requests

    async def _scenario(self, world: World) -> tuple[str, Any]:
        """Run the workflow to its end; return its state and its result."""
        worker = self.task._clients
        if not isinstance(worker, Worker):
            raise Invalid(f"workflow must be one of a worker, got {self.task!r}")
        world.worker(_NAME, worker)
        for number, other in enumerate(self.workers, 1):
            world.worker(f"{_NAME}-{number}", other)
        world.faults(crash=0.5, restart=1, processes=[_NAME])
        store, id = world.store, self.id
        store.jobs.enqueue(self.task.type, self.payload, **self.task._merged({"id": id}))
        for number, (topic, value) in enumerate(self.messages, 1):
            store.jobs.send(id, topic, value, key=f"message-{number}")
        if self.meanwhile is not None:
            world._loop.create_task(self._others(world))
        promise = await world.settled(id, within=self.within)
        while any(job.state not in _FINAL for job in store.jobs.search(limit=1000)) and world.now < self.within:
            await world._change_after(world._changes, min(86_400, (self.within - world.now) / 1000))  # child jobs that still run
        state = _state_of(world, id, promise)
        return state, promise.value.json() if state == "completed" else None

    async def _others(self, world: World) -> None:
        assert self.meanwhile is not None
        trace, before = world._loop.trace, None
        while True:
            begun = len(trace)
            self.meanwhile(world.store)
            asked = trace[begun:]
            seen = world._changes + (world._touched and asked == before)  # what it asks again has no effect, so it is no change
            before = asked
            await asyncio.sleep(0)
            await world._change_after(seen, None)


def _state_of(world: World, id: str, promise: Promise) -> str:
    if promise.state == "resolved":
        return "completed"
    state: str = world.store.jobs.get(id).state
    return state


def crash_everywhere(
    workflow: WorkerTask[Any, Any],
    payload: Any = None,
    *,
    effects: Callable[[], Iterable[Hashable]] | MutableSequence[Any],
    reset: Callable[[], object] | None = None,
    messages: Sequence[tuple[str, Any]] = (),
    meanwhile: Callable[[Store[ManualClock]], object] | None = None,
    workers: Sequence[Worker] = (),
    within: Span = "400 days",
    id: str = "workflow-1",
) -> CrashCertificate:
    """Certify that crashes do not change what a workflow does: crash its worker before and after each of its requests, once in each run.

    Each step makes a request that records its result, so that there is a crash before and after each step. All runs are simulated, as by
    `simulate`: weeks take milliseconds, and code after a crash does not run. In each run the effects are counted, and compared with
    those of a run without a crash.

    Args:
        workflow: The workflow, as `Worker.workflow` returns it. A copy of its worker runs it; its child jobs as well.
        payload: Its payload, as of `WorkerTask.enqueue`.
        effects: The effects outside: a list to which fakes of a bank or of a mail server append, which is cleared before each run;
            or a function that returns what has happened so far. An effect must be equal in each run: leave recorded keys out.
        reset: Called before each run, to empty what remembers the effects of the run before.
        messages: Topics and values that are sent to the workflow, at once; it receives them when it asks for them.
        meanwhile: Called with the store after each change: does what people and other programs do, such as settle a promise. It must
            have no effect if called again.
        workers: Further workers that run its child jobs; they do not crash.
        within: How long the workflow may take, in simulated time.
        id: Of its job.

    Returns:
        Which crashes were tried, and the effects.

    Raises:
        EffectsBroken: An effect happened twice or never after a crash, or the workflow ended in another state. Its message and its
            ``defects`` list all of them.
        AssertionError: Without a crash, the workflow does not end.
        NotSimulated: A step uses a thread, a socket or a program: replace it by a fake in the test.

    Example:
        >>> from resonate_core.testing import EffectsBroken, crash_everywhere
        >>> from resonate_core.worker import Worker
        >>> from resonate_core.workflow import sleep, step
        >>> worker, sent = Worker(), []
        >>> @step
        ... async def mail(text: str) -> None:
        ...     sent.append(text)
        >>> @worker.workflow("welcome")
        ... async def welcome(name: str) -> None:
        ...     sent.append("seen")            # not in a step: each replay does it again
        ...     await mail(f"hello {name}")    # without a key: a crash before its record does it again
        ...     await sleep(86_400_000)
        >>> try:
        ...     crash_everywhere(welcome, "ada", effects=sent)
        ... except EffectsBroken as error:
        ...     for defect in error.defects:
        ...         print(defect.said)
        'seen' happened 2 times, and once without a crash
        'hello ada' happened 2 times, and once without a crash

        With an idempotency key that is recorded before it is used, and without the effect outside of a step:

        >>> from resonate_core.workflow import uuid4
        >>> keys = set()
        >>> @step
        ... async def mail_once(text: str, key: str) -> None:
        ...     if key not in keys:
        ...         keys.add(key)
        ...         sent.append(text)
        >>> @worker.workflow("welcome-once")
        ... async def welcome_once(name: str) -> str:
        ...     await mail_once(f"hello {name}", str(await uuid4()))
        ...     await sleep(86_400_000)
        ...     return "sent"
        >>> certificate = crash_everywhere(welcome_once, "ada", effects=sent, reset=keys.clear)
        >>> certificate.effects, certificate.result
        (Counter({'hello ada': 1}), 'sent')
    """
    __tracebackhide__ = True
    length = span("within", within)
    read, clear = _reader(effects, reset)
    trial = _Trial(workflow, payload, read, clear, list(messages), meanwhile, list(workers), length, id)
    expected, state, result, _, requests = trial.run(0, after=False)
    crashes: list[str] = []
    found: dict[Any, _Found] = {}
    for point in range(1, requests + 1):
        for after in (False, True):
            crash = f"{'after' if after else 'before'} request {point}"
            try:
                made, ended, _, run, _ = trial.run(point, after)
            except AssertionError as error:
                its: Any = getattr(error, "__resonate_run__", None)
                if its is None:
                    raise
                crash = _named(crash, its.story)
                crashes.append(crash)
                _add(found, (None, 0), None, 0, 1, f"it does not end: {error}", crash, its.story)
                continue
            crash = _named(crash, run.story)
            crashes.append(crash)
            if ended != state:
                _add(found, (None, ended), None, 0, 1, f"it ends as {ended}, and as {state} without a crash", crash, run.story)
            for effect in [*expected, *(each for each in made if each not in expected)]:
                times, usual = made[effect], expected[effect]
                if times != usual:
                    said = f"{effect!r} {_happened(times)}, and {_times(usual)} without a crash"
                    _add(found, (effect, times), effect, times, usual, said, crash, run.story)
    if found:
        raise EffectsBroken(workflow.type, [each.defect() for each in found.values()], len(crashes))
    return CrashCertificate(tuple(crashes), expected, state, result)


@dataclass
class _Found:
    effect: Any
    times: int
    expected: int
    said: str
    story: tuple[str, ...]
    crashes: list[str]

    def defect(self) -> EffectDefect:
        return EffectDefect(self.effect, self.times, self.expected, tuple(self.crashes), self.said, self.story)


def _add(
    found: dict[Any, _Found], key: Any, effect: Any, times: int, expected: int, said: str, crash: str, story: Sequence[str]
) -> None:
    known = found.setdefault(key, _Found(effect, times, expected, said, tuple(story), []))
    known.crashes.append(crash)


def _happened(times: int) -> str:
    return f"happened {_times(times)}" if times else "never happened"


def _times(times: int) -> str:
    return "never" if not times else "once" if times == 1 else f"{times} times"


def _named(crash: str, story: Sequence[str]) -> str:
    """Name the request of a crash, by the story."""
    for line in story:
        said = _CRASH.search(line)
        if said is not None:
            return f"{crash}, {said[1].partition(' ')[2]}"
    return crash


def _reader(
    effects: Callable[[], Iterable[Hashable]] | MutableSequence[Any], reset: Callable[[], object] | None
) -> tuple[Callable[[], Iterable[Hashable]], Callable[[], object]]:
    """Return what reads the effects, and what is called before each run."""
    if callable(effects):
        return effects, reset or (lambda: None)
    if not isinstance(effects, MutableSequence):
        raise Invalid(f"effects must be a list, or a function that returns what has happened, got {effects!r}")

    def clear() -> None:
        effects.clear()
        if reset is not None:
            reset()

    return (lambda: effects), clear
