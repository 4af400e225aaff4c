"""What `resonate-core purge` deletes, by kind: before it asks, and when it has done it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from resonate_core import Store
from resonate_core.base.instants import counted, moment
from resonate_core.base.states import ENDED_AT, PROMISE_STATES, ended_at
from resonate_core.cli.command import Session
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.show import confirmed, need_terminal
from resonate_core.cli.target import Target

__all__ = ["Purged", "confirm", "delete"]

#: The most records that are read before the question.
_MOST_READ = 20_000
_SETTLED = tuple(state for state in PROMISE_STATES if state != "pending")


@dataclass
class Purged:
    """Numbers of promises and jobs.

    Attributes:
        promises: The promises that belong to no job.
        jobs: The jobs, by their final state.

    Example:
        >>> from resonate_core.cli.purging import Purged
        >>> print(Purged(1, {"completed": 3, "failed": 1})), print(Purged())
        3 completed jobs, 1 failed job and 1 promise
        nothing
        (None, None)
    """

    promises: int = 0
    jobs: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [counted(number, f"{state} job") for state, number in self.jobs.items() if number]
        parts += [counted(self.promises, "promise")] if self.promises else []
        return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else "nothing"

    @property
    def total(self) -> int:
        """The number of all."""
        return self.promises + sum(self.jobs.values())


def confirm(session: Session, until: int) -> None:
    """Ask for confirmation.

    Raises:
        CommandFailed: It cannot ask (USAGE), or the reply is no (FAILED).
    """
    need_terminal(session.out, "purge")
    found, more = _settled(session.target, until)
    most = "at least " if more else "up to "  # what is still referred to stays
    if not confirmed(f"delete {most}{found}, settled before {moment(until)}?"):
        raise CommandFailed("nothing was done", Exit.FAILED)


def _settled(target: Target, until: int) -> tuple[Purged, bool]:
    """Count what was settled before an instant; and return whether there are more than were read."""
    jobs: Counter[str] = Counter()
    promises = read = 0
    for state in ENDED_AT:
        for job in target.pages("job.search", "jobs", {"state": state, "limit": 1000}):
            read += 1
            if read > _MOST_READ:
                return Purged(promises, dict(jobs)), True
            jobs[state] += (ended_at(job) or 0) < until
    read = 0
    for state in _SETTLED:
        for promise in target.pages("promise.search", "promises", {"state": state, "limit": 1000}):
            read += 1
            if read > _MOST_READ:
                return Purged(max(0, promises - sum(jobs.values())), dict(jobs)), True
            promises += promise["settledAt"] < until
    return Purged(max(0, promises - sum(jobs.values())), dict(jobs)), False


def delete(store: Store, until: int) -> Purged:
    """Delete what was settled before an instant, and return how much it was."""
    return Purged(*store._purge_by_kind(settled_before=until))
