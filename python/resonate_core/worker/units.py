"""What runs in one slot of a worker: a job, or those of a batch whose type has a handler for batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from .records import JobRecord

__all__ = ["Unit", "runs", "units"]

Unit = Sequence[JobRecord]


def units(jobs: Iterable[JobRecord], batched: Collection[str]) -> Iterator[Unit]:
    """The jobs of one claim by what runs together: a store gives those of a batch one after the other.

    Args:
        jobs: In the order of claiming.
        batched: The types that have a handler for batches.

    Example:
        >>> from resonate_core.worker.records import RemoteJob
        >>> from resonate_core.worker.units import units
        >>> mail = {"type": "mail", "batch": "b1"}
        >>> jobs = [RemoteJob({"id": id, **more}) for id, more in {"a": mail, "b": mail, "c": {"type": "mail"}, "d": {"type": "x"}}.items()]
        >>> [[job.id for job in unit] for unit in units(jobs, {"mail"})]
        [['a', 'b'], ['c'], ['d']]
    """
    for batch, members in groupby(jobs, lambda job: job.batch if job.type in batched else None):
        if batch is None:
            yield from ((job,) for job in members)
        else:
            yield tuple(members)


def runs(unit: Unit) -> bool:
    """Whether all of it runs already, as far as the store goes: the claim has started it.

    Example:
        >>> from resonate_core.worker.records import RemoteJob
        >>> from resonate_core.worker.units import runs
        >>> runs([RemoteJob({"state": "running"}), RemoteJob({"state": "claimed"})])
        False
    """
    return all(job.state == "running" for job in unit)
