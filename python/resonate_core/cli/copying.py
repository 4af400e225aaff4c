"""``resonate-core copy``: copies a whole store into an empty one, from a file or database to a file or database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import resonate_core as rc
from resonate_core._core import make_file_like
from resonate_core.base.instants import counted
from resonate_core.cli.command import CONFIG, JSON, place_with_options
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.show import Output
from resonate_core.cli.target import Access, FileTarget

__all__ = ["copy"]

_FROM = Annotated[str, typer.Argument(metavar="FROM", help="a store's file, or a URL postgresql://", show_default=False)]
_TO = Annotated[str, typer.Argument(metavar="TO", help="a new file, or the place of an empty store", show_default=False)]


def _counts(snapshot: dict[str, Any]) -> dict[str, int]:
    """The number of records of each kind. A job is a promise too, and so is a task."""
    promises = snapshot["promises"]
    return {
        "promises": len(promises),
        "tasks": sum("task" in one for one in promises),
        "jobs": sum("job" in one for one in promises),
        "schedules": len(snapshot["schedules"]),
        "queues": len(snapshot.get("queues", ())),
        "messages": len(snapshot["messages"]),
    }


def _require_empty(store: rc.Store, name: str) -> None:
    found = {
        "promise": [one.id for one in store.promises.search(limit=1)],
        "schedule": [one.id for one in store.schedules.search(limit=1)],
        "queue": [one["name"] for one in store.queues.list()],
    }
    for kind, ids in found.items():
        if ids:
            raise CommandFailed(f"TO must be a new file or an empty store, got {name} with {kind} {ids[0]!r}", Exit.CONFLICT)


def _fill(target: rc.Store, snapshot: dict[str, Any], digest: str, names: tuple[str, str]) -> None:
    """Restore a snapshot in one transaction, and read the result."""
    empty = target.snapshot()
    target.restore(snapshot)
    if target.digest() == digest and target.snapshot() == snapshot:
        return
    target.restore(empty)
    raise CommandFailed(f"the copy in {names[1]} differed from {names[0]}, and was deleted", Exit.FAILED)


def copy(source: _FROM, target: _TO, config: CONFIG = None, json: JSON = False) -> None:
    """Copy a whole store into a new file or an empty store: between files and databases, in both directions.

    Promises, tasks, jobs, queues, schedules, messages and the instant are the same afterwards. The copy is one transaction; if it
    fails, TO is left empty. The whole state passes through memory. Stop the servers of both stores before. Requests that were written
    with `submit` must have run.
    """
    read_from, options = place_with_options(source, config, "FROM")
    write_to, _ = place_with_options(target, config, "TO")
    with FileTarget(read_from, Access.READ, **options) as old:
        assert isinstance(old, FileTarget)
        if waiting := old.store.submissions_waiting:
            raise CommandFailed(
                f"FROM must have no submitted request that waits to run, got {waiting}: run them with a server or Store.tick()",
                Exit.CONFLICT,
            )
        # The state at one instant: other processes may write meanwhile. On a manual clock no time passes, and so no timer fires.
        with old.store.fork(rc.ManualClock()) as state:
            snapshot, digest = state.snapshot(), state.digest()
        from_name, origin = old.name, old.store.path or old.store.url
    if origin is not None and isinstance(write_to, Path):
        make_file_like(write_to, origin)
    with FileTarget(write_to, Access.MAKE, clock=rc.ManualClock(), **{**options, "durability": "full"}) as new:
        assert isinstance(new, FileTarget)
        _require_empty(new.store, new.name)
        _fill(new.store, snapshot, digest, (from_name, new.name))
        to_name = new.name
    counts = _counts(snapshot)
    text = ", ".join(counted(number, kind.removesuffix("s")) for kind, number in counts.items())
    Output(json).line(f"{to_name}: {text}", {"from": from_name, "to": to_name, **counts, "digest": digest})
