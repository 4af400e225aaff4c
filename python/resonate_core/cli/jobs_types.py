"""``resonate-core jobs types``: the types of jobs that a program's worker runs, and the payloads that they take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resonate_core.cli.command import JSON
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.show import Output, clean, put
from resonate_core.cli.worker import FOLDER, PLACE, found

if TYPE_CHECKING:
    from resonate_core.worker import Worker

__all__ = ["described", "types"]


def described(worker: Worker) -> list[dict[str, Any]]:
    """Return the types of a worker in order: name, queue, whether a handler runs batches, its parameters, and the payload's JSON Schema.

    Args:
        worker: The worker.

    Example:
        >>> from resonate_core.cli.jobs_types import described
        >>> worker = rc.worker.Worker()
        >>> _ = worker.task("double", queue="sums")(lambda n: 2 * n)
        >>> described(worker)[0]["queue"], described(worker)[0]["parameters"]
        ('sums', ['n'])
    """
    found = []
    for name, task in sorted(worker.tasks.items()):
        found.append(
            {
                "type": name,
                "queue": task.options.get("queue") or "default",
                "batch": name in worker.batched,
                "parameters": task.handler.parameters,
                "payload": task.handler.schema(),
            }
        )
    return found


def types(
    place: PLACE,
    folder: FOLDER = Path("."),
    as_json: JSON = False,
) -> None:
    """List the types of jobs that a worker of a program runs: their queue, parameters, and the JSON Schema of the payload."""
    from resonate_core.worker import Worker

    worker = found(place, folder)
    if not isinstance(worker, Worker):
        raise CommandFailed(f"{place!r} must be a Worker, got {type(worker).__name__}", Exit.USAGE)
    listed = described(worker)
    if as_json:
        Output(as_json).json({"types": listed})
        return
    for one in listed:
        kind = "batches of " if one["batch"] else ""
        put(clean(f"{one['type']}  queue {one['queue']}  {kind}({', '.join(one['parameters'])})"))
        put(clean(f"  {json.dumps(one['payload'])}"))
