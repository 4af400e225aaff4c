"""A crash at every request in turn: of programs of the SDK, and of any scenario with crashes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..connection import Connection
from ..connection.sdk import sdk_module
from .choices import Choices, Draws
from .exploration import explore
from .failures import Report
from .scenario_runs import run_of
from .scenarios import failure_of
from .searches import CrashSearch

__all__ = ["CrashingConnection", "crash_at_every_request"]


def crash_at_every_request(
    scenario: Callable[..., Any], *, label: str = "crash", rounds: int = 1, seed: int = 0, **options: Any
) -> Report:
    """Run a scenario once without a crash, and then once for each point at which it may crash.

    A point is each chance whose label begins with `label`: each ``yield`` of the programs of `interleave` with ``crash=``, and for a
    `CrashingConnection` two for each request, before it and after it. All other choices are the simplest ones.

    Args:
        scenario: The scenario.
        label: What the labels of the points begin with: ``"crash:a"`` crashes only the worker a.
        rounds: How often each point is tried: from the second round on, with other random choices.
        seed: Of these choices.
        options: Further arguments of `explore`, for example ``executor``.

    Returns:
        The report. ``report.runs`` is one more than the number of points, for each round.

    Raises:
        Failure: A run failed.
        ValueError: The scenario has no point at which it may crash.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import Choices, crash_at_every_request, interleave
        >>> def scenario(choices: Choices) -> None:
        ...     store = rc.Store(clock=rc.ManualClock(start=0))
        ...     def program(name: str):
        ...         store.promises.create("p", timeout=60_000)
        ...         yield
        ...         store.promises.resolve("p")
        ...         yield
        ...     interleave(choices, store, {"a": program}, crash=0.5)
        ...     assert store.promises.get("p").state == "resolved"
        >>> crash_at_every_request(scenario).runs
        3
    """
    __tracebackhide__ = True
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    run = run_of(scenario)

    def trial(draws: Draws) -> Choices:
        choices = Choices(draws)
        failure_of(run, choices)
        return choices

    search = CrashSearch(label).prepared(seed, trial)
    if not search.points:
        raise ValueError(
            f"scenario must have a chance whose label begins with {label!r}, got none: is the probability of a crash 0?"
        )
    return explore(scenario, search=search, seed=seed, runs=rounds * (search.points + 1), **options)


class CrashingConnection(Connection):
    """A connection of an SDK worker that may crash at each request: before it, or after it and before its reply.

    Each point is a chance with the label ``"crash:<pid>"``, so that `explore` draws it, `crash_at_every_request` takes each in turn, and
    the token of a failure replays it. A worker crashes once: its connection does not return. The scenario needs another worker, which
    takes over when the lease has expired.

    Args:
        choices: Those of the run.
        store: The store; it is followed in the story.
        pid: The name of the worker.
        crash: The probability at each point, for random searches.
        options: Further arguments of `Connection`.

    Attributes:
        requests: How many requests the worker has sent.
    """

    def __init__(self, choices: Choices, store: Any, *, pid: str, crash: float = 0.02, **options: Any) -> None:
        super().__init__(store, pid=pid, **options)
        self._choices = choices
        self._label = f"crash:{pid}"
        self._chance = crash
        self.requests = 0
        choices.follow(store)

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the SDK's client. After the crash, its events are not logged: a crashed process reports nothing."""
        log: Callable[[object], None] = sdk_module("resonate.observability").logging_observer

        def observer(event: object) -> None:
            if not self._crashed:
                log(event)

        return {**super().settings(), "observer": observer}

    async def send(self, req: str, headers: dict[str, str] | None = None) -> str:
        """Answer one request from the store, or crash.

        Args:
            req: The envelope, JSON.
            headers: Ignored.

        Raises:
            resonate_base.ConnectorError: The store failed, or this worker crashed.
        """
        if self._crashed:
            return await super().send(req, headers)
        self.requests += 1
        if self._crashes("before", req):
            self.crash()
        reply = await super().send(req, headers)
        if not self._crashed and self._crashes("after", req):
            self.crash()
            await self._die()
        return reply

    def _crashes(self, when: str, req: str) -> bool:
        if not self._choices.chance(self._chance, self._label):
            return False
        self._choices.note(f"{self.pid} crashes {when} its request {self.requests}, {json.loads(req)['kind']}")
        return True
