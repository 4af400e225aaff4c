"""The recording of one run of a scenario, for a picture of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .choices import Choices
from .scenario_runs import run_of
from .tokens import decode

if TYPE_CHECKING:
    from .. import Store

__all__ = ["trace_of"]


class RecordedChoices(Choices):
    """The choices of a tape; the first store that the run follows is recorded in `trace`.

    Attributes:
        trace: The recording.
    """

    __slots__ = ("_recorded", "trace")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.trace = io.StringIO()
        self._recorded = False

    def follow(self, store: Store) -> None:
        """Record a store."""
        self.at(store)
        if not self._recorded:
            self._recorded = True
            self.at_end(store.record(self.trace).close)


def trace_of(scenario: Callable[..., Any], token: str) -> str:
    """Run a scenario once more with the choices of a token, and return the recording of its store, for `display.timeline` and `replay`.

    The store is the first one that the run follows (`Choices.follow`); `interleave` follows its store. Of a simulated system it is that of
    the world.

    Args:
        scenario: As of `explore`.
        token: Of a run of it.

    Returns:
        The lines of the recording as one text; empty, if the run follows no store.

    Raises:
        ValueError: It is no token.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import Failure, explore, trace_of
        >>> def scenario(choices):
        ...     store = rc.Store(clock=rc.ManualClock())
        ...     choices.follow(store)
        ...     store.promises.create("a", timeout=choices.integer(1, 1000, "timeout"))
        ...     store.clock.advance(500)
        ...     assert store.promises.get("a").state == "pending"
        >>> try:
        ...     _ = explore(scenario)
        ... except Failure as failure:
        ...     len(trace_of(scenario, failure.token).splitlines())
        3
    """
    choices = RecordedChoices.from_tape(decode(token)[1])
    assert isinstance(choices, RecordedChoices)
    try:
        run = run_of(scenario)(choices)
    except BaseException as error:  # the failure that the token replays; a simulation leaves its run there
        run = getattr(error, "__resonate_run__", None)
    finally:
        choices.end()
    simulated = getattr(run, "recording", None)
    return choices.trace.getvalue() if simulated is None else "".join(f"{line.rstrip()}\n" for line in simulated)
