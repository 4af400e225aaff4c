"""Waiting for a promise: asking again, ever less often, since a shell command has no address that a message could go to."""

from __future__ import annotations

from time import sleep

from resonate_core.cli.command import Session
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.show import length
from resonate_core.cli.values import duration, now

__all__ = ["wait_for"]

_FIRST, _LONGEST = 20, 1000


def wait_for(session: Session, id: str, limit: str | None) -> None:
    """Shows a promise once it is settled.

    Args:
        session: Where it is.
        id: Which.
        limit: For how long, as people write it; None: until its deadline, which every promise has.

    Raises:
        Failure: It is not resolved, or was not settled in time (FAILED).
    """
    patience = None if limit is None else duration(limit, "--limit")
    began = now()
    pause = _FIRST
    while True:
        data = session.target.send("promise.get", {"id": id})
        state = data["promise"]["state"]
        if state != "pending":
            break
        waited = now() - began
        if patience is not None and waited >= patience:
            raise Failure(f"promise {id!r} is still pending after {length(waited)}", Exit.FAILED)
        sleep((pause if patience is None else min(pause, patience - waited)) / 1000)
        pause = min(pause * 2, _LONGEST)
    session.out.answer(data)
    if state != "resolved":
        raise Failure(f"promise {id!r} is {state}", Exit.FAILED)
