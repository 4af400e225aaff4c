"""`StoreMachine`: a Hypothesis state machine of promises, tasks, schedules and jobs on one store, to subclass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar

from .._core import ManualClock, Store
from ..base.extras import how_to_install
from ..errors import Conflict, NotFound, Unprocessable
from .differences import cut
from .operations.job_resolver import FAR_AHEAD, JobResolver
from .operations.rows import Row, RowsOfStore, is_pending

try:
    import hypothesis
    from hypothesis import strategies as st
    from hypothesis.stateful import (
        INITIALIZE_RULE_MARKER,
        RULE_MARKER,
        Bundle,
        RuleBasedStateMachine,
        initialize,
        invariant,
        multiple,
        rule,
    )

    from .operations.drawing import moving, pick
    from .operations.job_drawing import any_job_operation
    from .strategies import ids, job_orders, values
except ModuleNotFoundError as error:
    message = f"StoreMachine needs {error.name}, which is not installed: {how_to_install('testing')}"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["BrokenInvariant", "StoreMachine", "broken_invariant"]

REFUSED = (Conflict, NotFound, Unprocessable)
"""What a correct request may raise in some states."""

TARGET = "poll://any@machine"
WORKERS = ("ann", "bob")

timeouts = pick(60_000, 60_000, 3_600_000, 5000, 100, 1)
leases = pick(1000, 1000, 100, 60_000)


class BrokenInvariant(AssertionError):
    """An invariant of the store does not hold. Each invariant has a subclass of its name, so that Hypothesis reports each.

    Attributes:
        name: The name of the invariant, as of `Violation.name`.
    """

    name: ClassVar[str] = ""


_classes: dict[str, type[BrokenInvariant]] = {}


def broken_invariant(name: str) -> type[BrokenInvariant]:
    """Return the class of the error of one invariant.

    Args:
        name: Its name.

    Example:
        >>> from resonate_core.testing.machine import broken_invariant
        >>> broken_invariant("settled_at").__name__
        'BrokenInvariant_settled_at'
    """
    if name not in _classes:
        _classes[name] = type(f"BrokenInvariant_{name}", (BrokenInvariant,), {"name": name})
    return _classes[name]


class StoreMachine(RuleBasedStateMachine):
    """Random calls on one store, from the calls of clients and workers to the passing of time; after each, the invariants hold.

    Subclass it to test a program: add rules that run your code on `store`, and invariants of your own with `hypothesis.stateful.invariant`.
    The bundles hold ids: `promises` all, `tasks` and `jobs` those that are one too. The rules of a subclass may take from them and add.

    A request that is refused (`Conflict`, `NotFound`, `Unprocessable`) is an ordinary event. At the end of each example the depth of awaits
    and the number of retries are a `hypothesis.target`: Hypothesis searches for longer chains and more retries.

    Attributes:
        rules_off: Names of rules that the subclass switches off.
        invariants_off: Names of invariants of `Store.check` that are not judged.
        furthest: How far time moves at most in one step, in ms.
        store: The store, on a `ManualClock`.

    Example:
        >>> from hypothesis import settings
        >>> from hypothesis.stateful import invariant, rule, run_state_machine_as_test
        >>> from resonate_core.testing import StoreMachine
        >>> from resonate_core.worker import Worker
        >>> class Mails(StoreMachine):
        ...     rules_off = {"any_request", "administer_job"}     # which delete jobs
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.sent = []
        ...         self.worker = Worker(self.store, queues="mail")
        ...         self.worker.task("email", queue="mail")(self.sent.append)
        ...     @rule(targets=(StoreMachine.jobs, StoreMachine.promises))
        ...     def order(self):
        ...         return self.store.jobs.enqueue("email", len(self.sent), queue="mail").id
        ...     @rule()
        ...     def work(self):
        ...         self.worker.run_until_idle(limit=1)
        ...     @invariant()
        ...     def no_mail_without_an_order(self):
        ...         assert len(self.sent) <= len(self.store.jobs.search(queue="mail"))
        >>> run_state_machine_as_test(Mails, settings=settings(max_examples=5, stateful_step_count=10, database=None, deadline=None))
    """

    rules_off: ClassVar[Collection[str]] = frozenset()
    invariants_off: ClassVar[Collection[str]] = frozenset()
    furthest: ClassVar[int] = FAR_AHEAD

    promises: ClassVar[Bundle[str]] = Bundle("promises")
    tasks: ClassVar[Bundle[str]] = Bundle("tasks")
    jobs: ClassVar[Bundle[str]] = Bundle("jobs")

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        known = rule_names(cls)
        unknown = sorted(set(cls.rules_off) - known)
        if unknown:
            names = f"{', '.join(unknown)}; the rules are {', '.join(sorted(known))}"
            raise TypeError(f"rules_off of {cls.__name__} must be names of rules, got {names}")
        for name in cls.rules_off:
            setattr(cls, name, None)

    def __init__(self) -> None:
        super().__init__()
        self.store = self.make_store()
        self._depth = self._retries = 0
        self._rows = RowsOfStore(self.store)

    def make_store(self) -> Store[ManualClock]:
        """Return an empty store on a manual clock, for one example. Override it for other options or another storage.

        Example:
            >>> from resonate_core.testing import StoreMachine
            >>> StoreMachine().store.now
            0
        """
        return Store(clock=ManualClock())

    @property
    def resolver(self) -> JobResolver:
        """What turns operations into requests on the present rows."""
        self._rows.refresh(self.store)
        return JobResolver(self._rows)

    def attempt(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Make a call that the store may refuse. Returns its result, or None if it was refused.

        Args:
            call: A method of the store.
            arguments: Its arguments.
            named: Its arguments by name.

        Example:
            >>> from resonate_core.testing import StoreMachine
            >>> machine = StoreMachine()
            >>> print(machine.attempt(machine.store.promises.resolve, "nothing"))
            None
        """
        try:
            return call(*arguments, **named)
        except REFUSED:
            return None

    def version_of(self, id: str) -> int:
        """Return the version that the next call on a task or job must have; 0 if it does not exist."""
        row = self.resolver.world.promises.get(id, {})
        return int(row.get("task", {}).get("acquisitions", 0))

    def fitting(self, id: str, *states: str) -> str:
        """Return a task or job in one of these states: the given one if it fits, else another one, else the given one nevertheless.

        Args:
            id: The id that was drawn.
            states: States of the job, or of the task if it is no job.
        """
        found = [row["id"] for row in self.resolver.world.promises.values() if self._state(row) in states]
        return id if id in found or not found else found[len(id) % len(found)]

    def _state(self, row: Row) -> str:
        place: Row = row.get("job") or row.get("task", {})
        return str(place.get("state")) if is_pending(row, self.store.now) else "settled"

    # -- the beginning ----------------------------------------------------------------------------------------------------

    # From an empty store, random calls seldom lead to a suspended task or a running job, and even less often to the states after it.
    @initialize(targets=(tasks, promises), busy=st.booleans())
    def begin_tasks(self, busy: bool) -> Any:
        """Begin many examples with an acquired task and one that awaits it."""
        if not busy:
            return multiple()
        for id in ("a", "b"):
            self.store.tasks.create(id, pid="ann", ttl=1000, timeout=60_000, target=TARGET)
        self.store.tasks.suspend("b", self.version_of("b"), ["a"])
        return multiple("a", "b")

    @initialize(targets=(jobs, promises), busy=st.booleans())
    def begin_jobs(self, busy: bool) -> Any:
        """Begin many examples with a running job and a pending one, which are retried soon."""
        if not busy:
            return multiple()
        for id in ("j1", "j2"):
            self.store.jobs.enqueue("t", id=id, max_retries=2, retry_policy={"kind": "fixed", "intervals": [50]})
        self.store.jobs.claim("default", worker="ann", lease=1000, start=1)
        return multiple("j1", "j2")

    # -- promises ---------------------------------------------------------------------------------------------------------

    @rule(target=promises, id=ids(), timeout=timeouts, timer=st.booleans(), param=values())
    def create_promise(self, id: str, timeout: int, timer: bool, param: Any) -> Any:
        """Create a promise that a program settles, or a timer."""
        tags = {"resonate:timer" if timer else "resonate:external": "true"}
        made = self.attempt(self.store.promises.create, id, timeout=timeout, tags=tags, param=param)
        return multiple() if made is None else id

    @rule(id=promises, how=pick("resolve", "reject", "cancel"), value=values())
    def settle_promise(self, id: str, how: str, value: Any) -> None:
        """Settle a promise from outside, also one that has a task or is a job."""
        self.attempt(getattr(self.store.promises, how), id, value)

    @rule(id=promises)
    def listen(self, id: str) -> None:
        """Register a listener of a promise."""
        self.attempt(self.store.promises.register_listener, id, "poll://any@listener")

    # -- tasks ------------------------------------------------------------------------------------------------------------

    @rule(targets=(tasks, promises), id=ids(), timeout=timeouts, ttl=leases, held=st.booleans(), pid=st.sampled_from(WORKERS))
    def create_task(self, id: str, timeout: int, ttl: int, held: bool, pid: str) -> Any:
        """Create a task: acquired by its creator, or pending."""
        if held:
            made = self.attempt(self.store.tasks.create, id, pid=pid, ttl=ttl, timeout=timeout, target=TARGET)
        else:
            made = self.attempt(self.store.promises.create, id, timeout=timeout, tags={"resonate:target": TARGET})
        return multiple() if made is None else id

    @rule(id=tasks, ttl=leases, pid=st.sampled_from(WORKERS))
    def acquire_task(self, id: str, ttl: int, pid: str) -> None:
        """Acquire a task."""
        id = self.fitting(id, "pending")
        self.attempt(self.store.tasks.acquire, id, self.version_of(id), pid=pid, ttl=ttl)

    @rule(id=tasks, awaited=promises, other=promises)
    def suspend_task(self, id: str, awaited: str, other: str) -> None:
        """Suspend a task until one of two promises is settled."""
        id = self.fitting(id, "acquired")
        ids = {one for one in (awaited, other) if one != id}
        if ids:
            self.attempt(self.store.tasks.suspend, id, self.version_of(id), sorted(ids))

    @rule(id=tasks, value=values(), stale=pick(False, False, False, True))
    def fulfill_task(self, id: str, value: Any, stale: bool) -> None:
        """Fulfil a task, sometimes with the version of an earlier holder."""
        id = self.fitting(id, "acquired")
        self.attempt(self.store.tasks.fulfill, id, max(0, self.version_of(id) - stale), value)

    @rule(id=tasks, how=pick("release", "halt", "resume", "heartbeat"), pid=st.sampled_from(WORKERS))
    def administer_task(self, id: str, how: str, pid: str) -> None:
        """Release, halt, resume a task, or renew its lease."""
        id = self.fitting(id, "halted" if how == "resume" else "acquired")
        if how == "release":
            self.attempt(self.store.tasks.release, id, self.version_of(id))
        elif how == "heartbeat":
            self.attempt(self.store.tasks.heartbeat, pid, [(id, self.version_of(id))])
        else:
            self.attempt(getattr(self.store.tasks, how), id)

    # -- jobs -------------------------------------------------------------------------------------------------------------

    @rule(targets=(jobs, promises), order=job_orders())
    def enqueue_job(self, order: dict[str, Any]) -> Any:
        """Enqueue a job."""
        job = self.attempt(self.store.jobs.enqueue, **order)
        return multiple() if job is None else job.id

    @rule(count=pick(1, 2, 3), worker=st.sampled_from(WORKERS), lease=leases, start=pick(1, 0, 3))
    def claim_jobs(self, count: int, worker: str, lease: int, start: int) -> None:
        """Claim jobs of all queues, and start some."""
        queues = [queue["name"] for queue in self.store.queues.list()]
        if queues:
            self.store.jobs.claim(queues, count, worker=worker, lease=lease, start=start)

    @rule(id=jobs, how=pick("complete", "fail", "start", "release", "snooze"), value=values(), retryable=pick(None, True, False))
    def work_on_job(self, id: str, how: str, value: Any, retryable: bool | None) -> None:
        """Do what the holder of a job does: start, complete, fail, release or snooze it."""
        id = self.fitting(id, "claimed" if how in ("start", "release") else "running")
        version, calls = self.version_of(id), self.store.jobs
        if how == "complete":
            self.attempt(calls.complete, id, version, value)
        elif how == "fail":
            self.attempt(calls.fail, id, version, "Failed", "it failed", retryable=retryable)
        elif how == "snooze":
            self.attempt(calls.snooze, id, version, 500)
        else:
            self.attempt(getattr(calls, how), id, version)

    @rule(id=jobs)
    def cancel_job(self, id: str) -> None:
        """Cancel a job."""
        self.attempt(self.store.jobs.cancel, id)

    @rule(id=jobs, how=pick("run", "archive", "delete"))
    def administer_job(self, id: str, how: str) -> None:
        """Run a job now, archive it, or delete it."""
        self.attempt(getattr(self.store.jobs, how), id)

    @rule(queue=pick("q1", "q2", "default"), how=pick("resume", "resume", "pause"))
    def administer_queue(self, queue: str, how: str) -> None:
        """Pause or resume a queue."""
        self.attempt(getattr(self.store.queues, how), queue)

    # -- everything -------------------------------------------------------------------------------------------------------

    @rule(operation=any_job_operation)
    def any_request(self, operation: dict[str, Any]) -> None:
        """Send any request of the protocol, in either version, that fits the rows; promises of this rule are in no bundle."""
        resolver = self.resolver
        now = None if operation["name"] == "debug_tick" else resolver.instant_of(operation)
        request = resolver.request(operation, now)
        if request["kind"] not in ("debug.reset", "debug.start"):  # they would stop what the other rules rely on
            self.store.apply(request, now=now)

    # -- time -------------------------------------------------------------------------------------------------------------

    @rule(at=moving)
    def advance(self, at: tuple[Any, ...]) -> None:
        """Move the clock: often to an instant at which something is due, or 1 ms before or after it."""
        instant = self.resolver.instant(at)
        if instant is not None and instant <= self.store.now + self.furthest:
            self.store.clock.advance_to(max(instant, self.store.clock.now))

    @rule(steps=pick(1, 2, 5))
    def advance_to_next(self, steps: int) -> None:
        """Move the clock to the next instants at which a step is due."""
        for _ in range(steps):
            due = self.store.next_due()
            if due is not None and due <= self.store.now + self.furthest:
                self.store.clock.advance_to_next()

    @rule(limit=pick(None, 1))
    def take_messages(self, limit: int | None) -> None:
        """Deliver messages."""
        self.store.take_messages(limit)

    # -- judged -----------------------------------------------------------------------------------------------------------

    @invariant()
    def invariants_of_the_store(self) -> None:
        """Check the invariants of `Store.check`; the error has the name of the first that is broken.

        Raises:
            BrokenInvariant: One does not hold.
        """
        problems = {problem.name for problem in self.store.problems()}
        broken = [one for one in self.store.check() if one.name not in self.invariants_off and one.name not in problems]
        if broken:
            lines = [f"{one.name}: {one.id!r}: {one.detail}" for one in broken]
            raise broken_invariant(broken[0].name)("\n".join(cut(lines)))
        self._measure()

    def _measure(self) -> None:
        self._rows.refresh(self.store)
        rows = self._rows.promises.values()
        self._depth = max(self._depth, depth_of_awaits(rows))
        self._retries = max(self._retries, sum(row["job"]["retryCount"] for row in rows if "job" in row))

    def teardown(self) -> None:
        """Report the targets, and close the store. An override must call it."""
        if hypothesis.currently_in_test_context():  # and not in a replay by hand
            hypothesis.target(float(self._depth), label="depth of awaits")
            hypothesis.target(float(self._retries), label="retries")
        self.store.close()


def rule_names(machine: type[RuleBasedStateMachine]) -> set[str]:
    """Return the names of the rules of a class and its bases, also of those that are switched off.

    Example:
        >>> from resonate_core.testing.machine import StoreMachine, rule_names
        >>> {"create_promise", "claim_jobs", "advance"} <= rule_names(StoreMachine)
        True
    """
    members = {name: value for base in reversed(machine.__mro__) for name, value in vars(base).items() if value is not None}
    return {name for name, value in members.items() if hasattr(value, RULE_MARKER) or hasattr(value, INITIALIZE_RULE_MARKER)}


def depth_of_awaits(rows: Iterable[Row]) -> int:
    """Return the number of awaits on the longest chain of tasks that await each other.

    Args:
        rows: Rows of a snapshot.

    Example:
        >>> from resonate_core.testing.machine import depth_of_awaits
        >>> depth_of_awaits([{"id": "a", "callbacks": ["b"]}, {"id": "b", "callbacks": ["c"]}, {"id": "c", "callbacks": []}])
        2
    """
    awaiters = {row["id"]: row["callbacks"] for row in rows if row["callbacks"]}
    depths: dict[str, int] = {}

    def depth(id: str) -> int:
        if id not in depths:
            depths[id] = 0  # of a task that awaits itself through others
            depths[id] = max((1 + depth(one) for one in awaiters.get(id, ())), default=0)
        return depths[id]

    return max(map(depth, awaiters), default=0)
