"""Hypothesis strategies: ids, tags, values, cron expressions, durations, instants, requests, orders of jobs, whole programs.

They draw from small pools, so that requests meet: the same ids, queues and keys come again. `instants` and `requests` look at a store:
an instant is often one at which something is due, or 1 ms before or after it.

Example:
    >>> import resonate_core as rc
    >>> from hypothesis import given, settings
    >>> from resonate_core.testing import strategies
    >>> @settings(max_examples=20, database=None, deadline=None)
    ... @given(program=strategies.programs())
    ... def test_no_program_breaks_an_invariant(program):
    ...     store = rc.Store(clock=rc.ManualClock())
    ...     program.run(store)
    ...     assert store.check() == []
    >>> test_no_program_breaks_an_invariant()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import ManualClock, Store, cron_next
from ..base.extras import how_to_install
from ..errors import Invalid
from .operations import job_pools, pools
from .operations.job_resolver import FAR_AHEAD, JobResolver
from .operations.resolver import NEW, OLD, corrupt
from .operations.rows import RowsOfStore

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy

    from .operations.cron_drawing import cron_texts
    from .operations.drawing import GROUPED, corruption, pick
    from .operations.job_drawing import GROUP_STRATEGIES
except ModuleNotFoundError as error:
    message = f"strategies need {error.name}, which is not installed: {how_to_install('testing')}"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["Program", "Request", "crons", "durations", "ids", "instants", "job_orders", "programs", "requests", "tags", "values"]

DIALECTS = (NEW, OLD)
"""The versions of the protocol."""

LONGEST = 100 * 365 * 86_400_000
"""A century, in ms: the longest duration by default."""

# -- values ---------------------------------------------------------------------------------------------------------------


def ids(pool: Sequence[str] = (*pools.IDS, *job_pools.JOB_IDS)) -> SearchStrategy[str]:
    """Return a strategy of ids: mostly of a small pool, so that requests meet, else any text that an id may be.

    Args:
        pool: The pool; the first id is the simplest.

    Raises:
        Invalid: The pool is empty.

    Example:
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> find(strategies.ids(), lambda id: True)
        'a'
    """
    if not pool:
        raise Invalid("pool must have at least one id, got none")
    others = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20)
    return _mostly(st.sampled_from(pool), others)


def _mostly(usual: SearchStrategy[Any], other: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Return a strategy that draws from the first three times in four. `one_of` would draw from equal strategies once."""
    return st.integers(0, 3).flatmap(lambda number: other if number == 3 else usual)


def values() -> SearchStrategy[Any]:
    """Return a strategy of JSON-able values, for params, payloads and results.

    Example:
        >>> import json
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> find(strategies.values(), lambda value: isinstance(value, list))
        []
    """
    plain = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=10))

    def nested(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
        return st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3))

    return st.recursive(plain, nested, max_leaves=5)


def tags(*, targets: Sequence[str] = pools.TARGETS) -> SearchStrategy[dict[str, str]]:
    """Return a strategy of tags as on the wire: a target, a timer, a branch, external, and tags of the program.

    Args:
        targets: The addresses of workers.

    Example:
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> find(strategies.tags(), lambda tags: "resonate:target" in tags)
        {'resonate:target': 'poll://any@g'}
    """
    optional = {
        "resonate:target": st.sampled_from(targets),
        "resonate:timer": pick("true", "true", "false"),
        "resonate:external": pick("true", "true", "false"),
        "resonate:branch": st.sampled_from(pools.BRANCHES),
        "own": pick("1", "2"),
    }
    return st.fixed_dictionaries({}, optional=optional)


def crons(*, seconds: bool = True, zones: bool = True) -> SearchStrategy[str]:
    """Return a strategy of cron expressions that have an occurrence.

    Args:
        seconds: Whether some have a field of seconds.
        zones: Whether some name a time zone.

    Example:
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> find(strategies.crons(), lambda cron: True)
        '* * * * *'
    """
    return cron_texts(seconds, zones).filter(_occurs)


def _occurs(cron: str) -> bool:
    try:
        return bool(cron_next(cron, 0, 1))
    except Invalid:
        return False


def durations(shortest: int = 0, longest: int = LONGEST) -> SearchStrategy[int]:
    """Return a strategy of durations in ms: round ones, the ends of the range, 1 ms beside them, and any.

    Args:
        shortest: The shortest one.
        longest: The longest one; by default a century.

    Raises:
        Invalid: The range is empty or negative.

    Example:
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> find(strategies.durations(), lambda ms: True)
        1000
    """
    if not 0 <= shortest <= longest:
        raise Invalid(f"longest must be at least shortest, and shortest at least 0, got {shortest} and {longest}")
    round_ones = [1000, 10_000, 60_000, 100, 10, 1, 0, 3_600_000, 86_400_000]
    near = [one + by for one in (shortest, longest, *round_ones) for by in (0, 1, -1)]
    usual = [ms for ms in (*round_ones, *near) if shortest <= ms <= longest]
    return st.one_of(st.sampled_from(usual), st.integers(shortest, longest))


def instants(store: Store[Any] | Callable[[], Store[Any]], *, furthest: int = FAR_AHEAD) -> SearchStrategy[int]:
    """Return a strategy of instants from the store's present one on, biased to those at which something is due, and 1 ms beside them.

    The store is read when an instant is drawn. An instant is not so far ahead that a schedule would have more than five occurrences.

    Args:
        store: The store, or a function that returns it.
        furthest: How far ahead an instant may be, in ms.

    Example:
        >>> import resonate_core as rc
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=777)
        >>> find(strategies.instants(store), lambda at: at > 700)
        777
    """

    @st.composite
    def drawn(draw: Callable[..., Any]) -> int:
        present = store() if callable(store) else store
        resolver = JobResolver(RowsOfStore(present))
        due = [at + by for at in resolver.timers() for by in (0, -1, 1)]
        others = durations(longest=furthest).map(lambda ms: present.now + ms)
        at = draw(_mostly(st.sampled_from(due), others) if due else others)
        return resolver.not_too_far(min(int(at), present.now + furthest))

    return drawn()


# -- requests -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One request and its instant.

    Attributes:
        envelope: As `Store.apply` takes it.
        now: The instant in ms; None: that of the store's clock.
    """

    envelope: Any
    now: int | None = None

    def run(self, store: Store[Any]) -> dict[str, Any]:
        """Apply it to a store, and return the reply. A refusal is a reply.

        Example:
            >>> import resonate_core as rc
            >>> from resonate_core.testing.strategies import Request
            >>> head = {"corrId": "1", "version": "2026-04-01"}
            >>> request = Request({"kind": "promise.get", "head": head, "data": {"id": "a"}})
            >>> request.run(rc.Store(clock=rc.ManualClock()))["head"]["status"]
            404
        """
        reply: dict[str, Any] = store.apply(self.envelope, now=self.now)
        return reply


@dataclass(frozen=True)
class Program:
    """Requests in order, each made for the state after those before it.

    Attributes:
        requests: The requests.
    """

    requests: tuple[Request, ...] = ()

    def run(self, store: Store[Any]) -> list[dict[str, Any]]:
        """Apply the requests to a store, and return the replies.

        Example:
            >>> import resonate_core as rc
            >>> from resonate_core.testing.strategies import Program
            >>> Program().run(rc.Store(clock=rc.ManualClock()))
            []
        """
        return [request.run(store) for request in self.requests]


def requests(
    store: Store[Any] | Callable[[], Store[Any]] | None = None,
    *,
    dialects: Iterable[str] = DIALECTS,
    jobs: bool = True,
    malformed: bool = False,
) -> SearchStrategy[Request]:
    """Return a strategy of requests that fit the rows of a store: most have an effect, some are refused.

    Args:
        store: The store, which is read when a request is drawn; a function that returns it; None: an empty one.
        dialects: The versions of the protocol.
        jobs: Whether some are about jobs and queues.
        malformed: Whether one member is wrong, missing or misspelt.

    Raises:
        Invalid: A dialect is unknown.

    Example:
        >>> import resonate_core as rc
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> sorted(find(strategies.requests(store), lambda request: True).run(store))
        ['data', 'head', 'kind']
    """
    operation = _operations(dialects, jobs)

    @st.composite
    def drawn(draw: Callable[..., Any]) -> Request:
        present = store() if callable(store) else store
        rows = RowsOfStore(Store(clock=ManualClock()) if present is None else present)
        request = _resolved(JobResolver(rows), draw(operation))
        return Request(corrupt(request.envelope, draw(corruption)), request.now) if malformed else request

    return drawn()


def programs(
    *, max_size: int = 30, dialects: Iterable[str] = DIALECTS, jobs: bool = True, rules: Any = "compatible"
) -> SearchStrategy[Program]:
    """Return a strategy of whole programs: each request fits the state that those before it have made of an empty store.

    Args:
        max_size: The most requests.
        dialects: As of `requests`.
        jobs: As of `requests`.
        rules: The rule set of the store on which the program runs.

    Raises:
        Invalid: A dialect is unknown.

    Example:
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> find(strategies.programs(max_size=4), lambda program: True).requests
        ()
    """
    operation = _operations(dialects, jobs)

    # A list has five elements on average; three lists shrink as well as one, and a drawn length shrinks badly.
    size, rest = divmod(max_size, 3)
    parts = [st.lists(operation, max_size=size + (part < rest)) for part in range(3)]
    return st.tuples(*parts).map(lambda drawn: _program([one for part in drawn for one in part], rules))


def _program(operations: list[Any], rules: Any) -> Program:
    made = []
    with Store(clock=ManualClock(), rules=rules) as scratch:
        rows = RowsOfStore(scratch)
        for operation in operations:
            if (operation["name"], operation.get("kind")) == ("debug", "debug.reset"):
                continue
            rows.refresh(scratch)
            made.append(_resolved(JobResolver(rows), operation))
            made[-1].run(scratch)
    return Program(tuple(made))


def _operations(dialects: Iterable[str], jobs: bool) -> SearchStrategy[Any]:
    known = tuple(dialects)
    if not known or set(known) - set(DIALECTS):
        raise Invalid(f"dialects must be some of {', '.join(DIALECTS)}, got {known!r}")

    # Each group is as likely as the others, as is each rule of a state machine.
    groups = [*GROUPED.values(), *(GROUP_STRATEGIES.values() if jobs else ())]

    # A strategy of its own, whose description is short: that of all operations fills pages.
    @st.composite
    def operations(draw: Callable[..., Any]) -> Any:
        operation = draw(groups[draw(st.integers(0, len(groups) - 1))])
        return operation if operation["dialect"] in known else {**operation, "dialect": known[0]}

    return operations()


def _resolved(resolver: JobResolver, operation: Any) -> Request:
    now = None if operation["name"] == "debug_tick" else resolver.instant_of(operation)
    return Request(resolver.request(operation, now), now)


def job_orders(
    *, types: Sequence[str] = ("t", "u"), queues: Sequence[str] = job_pools.QUEUES, payloads: SearchStrategy[Any] | None = None
) -> SearchStrategy[dict[str, Any]]:
    """Return a strategy of orders of jobs: the arguments of ``store.jobs.enqueue(**order)``. All are valid.

    An order may be refused nonetheless, with `Conflict`: its unique key is held.

    Args:
        types: The types of the jobs.
        queues: The names of the queues.
        payloads: The payloads; by default any JSON.

    Raises:
        Invalid: There is no type or no queue.

    Example:
        >>> import resonate_core as rc
        >>> from hypothesis import find
        >>> from resonate_core.testing import strategies
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> order = find(strategies.job_orders(types=["email"]), lambda order: "process_in" in order)
        >>> store.jobs.enqueue(**order).state in ("scheduled", "pending")
        True
    """
    for name, given in (("types", types), ("queues", queues)):
        if not given:
            raise Invalid(f"{name} must have at least one name, got none")
    always = {
        "type": st.sampled_from(types),
        "queue": st.sampled_from(queues),
        "payload": values() if payloads is None else payloads,
    }
    optional: dict[str, SearchStrategy[Any]] = {
        "priority": pick(50, 1, 100),
        "process_in": durations(longest=86_400_000),
        "good_for": durations(1, 86_400_000),
        "timeout": durations(1, 86_400_000),
        "max_retries": st.integers(0, 3),
        "retry_policy": st.sampled_from(job_pools.POLICIES),
        "on_exhausted": pick("archived", "failed"),
        "lifecycle": pick("asynq", "horsies"),
        "retention": st.one_of(durations(longest=86_400_000), st.just("kept")),
        "unique_key": st.sampled_from(job_pools.UNIQUE_KEYS),
        "tags": pick({}, {"own": "1"}),
    }
    return st.fixed_dictionaries(always, optional=optional).map(_valid_order)


def _valid_order(order: dict[str, Any]) -> dict[str, Any]:
    """Under `horsies`, retries need a policy (JOBS 4)."""
    if order.get("lifecycle") == "horsies" and "retry_policy" not in order:
        return {name: value for name, value in order.items() if name != "max_retries"}
    return order
