"""The calls of an `async def` workflow whose values are drawn once, and recorded."""

from __future__ import annotations

import datetime
import random as random_numbers
import uuid
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ..._core import SystemClock
from .calls import Call, Recorded
from .plain import Plain, async_scope
from .scope import scope_here

__all__ = ["as_ms", "clock_of", "instant_of", "now", "random", "uuid4"]

T = TypeVar("T")
_UTC = datetime.timezone.utc


def drawn(called: str, draw: Callable[[], Any], stored: Callable[[Any], Any], read: Callable[[Any], T]) -> Any:
    """Return the call of a value that is recorded; where no workflow runs, the value itself."""
    scope = async_scope(called)
    if scope is None:
        return Plain(draw)
    return Recorded(scope, called, lambda: stored(draw()), read)


def now() -> Call[datetime.datetime]:
    """Return the present instant of the store, in UTC, recorded.

    Example:
        >>> from resonate_core.workflow import now
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("when")
        ... async def when() -> str:
        ...     return (await now()).isoformat()
        >>> _ = when.delay()
        >>> worker.run_until_idle().runs[0].result
        '1970-01-01T00:00:00+00:00'
    """
    return cast("Call[datetime.datetime]", drawn("now", clock_of(), as_ms, instant_of))


def clock_of() -> Callable[[], datetime.datetime]:
    """Return what reads the clock: of the store in a workflow, otherwise of the machine."""
    scope = scope_here("now")
    if scope is None:
        return lambda: instant_of(SystemClock().now)
    return lambda: instant_of(scope.run.now())


def as_ms(instant: datetime.datetime) -> int:
    """Return an instant in Unix ms."""
    return round(instant.timestamp() * 1000)


def instant_of(ms: int) -> datetime.datetime:
    """Return a datetime in UTC."""
    return datetime.datetime(1970, 1, 1, tzinfo=_UTC) + datetime.timedelta(milliseconds=ms)


def uuid4() -> Call[uuid.UUID]:
    """Return a random UUID, recorded: a key for an effect that must not happen twice, since a step that was interrupted runs again.

    Example:
        >>> from resonate_core.workflow import uuid4
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("pay")
        ... async def pay() -> int:
        ...     return (await uuid4()).version
        >>> _ = pay.delay()
        >>> worker.run_until_idle().runs[0].result
        4
    """
    return cast("Call[uuid.UUID]", drawn("uuid4", uuid.uuid4, str, uuid.UUID))


def random() -> Call[float]:
    """Return a random number from 0 up to 1, recorded.

    Example:
        >>> from resonate_core.workflow import random
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("draw")
        ... async def draw() -> bool:
        ...     return 0 <= await random() < 1
        >>> _ = draw.delay()
        >>> worker.run_until_idle().runs[0].result
        True
    """
    return cast("Call[float]", drawn("random", random_numbers.random, float, float))
