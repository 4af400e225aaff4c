"""`resonate-core purge` took the kinds of what it had deleted from counts before and after, so the work of others was in them."""

from __future__ import annotations

import pytest

import resonate_core as rc
from resonate_core.cli.purging import Purged, delete


def complete(store: rc.Store, *ids: str) -> None:
    for id in ids:
        store.jobs.enqueue("t", {}, id=id)
    for job in store.jobs.claim("default", len(ids), worker="w", lease=1000, start=len(ids)):
        store.jobs.complete(job.id, job.version)


@pytest.fixture
def store() -> rc.Store:
    """Deleted with an instant of 50: three promises, two completed jobs and a cancelled one."""
    clock = rc.ManualClock(10)
    store = rc.Store(clock=clock)
    for number in range(3):
        store.promises.create(f"p{number}", 30)
    complete(store, "a", "b")
    store.jobs.enqueue("t", {}, id="c")
    store.jobs.cancel("c")
    clock.advance_to(100)
    return store


class Busy:
    """A store of which other programs complete jobs while it deletes."""

    def __init__(self, store: rc.Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def _purge_by_kind(self, *, settled_before: int) -> tuple[int, dict[str, int]]:
        found = self._store._purge_by_kind(settled_before=settled_before)
        complete(self._store, "x", "y", "z")
        return found

    def purge(self, *, settled_before: int) -> int:
        gone = self._store.purge(settled_before=settled_before)
        complete(self._store, "x", "y", "z")
        return gone


@pytest.mark.parametrize("busy", [False, True])
def test_the_kinds_are_those_of_what_was_deleted(store: rc.Store, busy: bool) -> None:
    purged = delete(Busy(store) if busy else store, 50)  # type: ignore[arg-type]
    assert purged == Purged(3, {"completed": 2, "cancelled": 1})
    assert str(purged) == "2 completed jobs, 1 cancelled job and 3 promises"
    assert purged.total == 6
    assert delete(store, 50) == Purged()
    assert store.check() == []
