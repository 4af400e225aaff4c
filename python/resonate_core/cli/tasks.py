"""``resonate-core tasks``: what workers do, one request at a time."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.base.states import TASK_STATES
from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.completion import task_states
from resonate_core.cli.exits import CommandFailed, Exit, is_done
from resonate_core.cli.options import (
    ACTOR,
    ALL,
    CURSOR,
    HEADERS,
    ID,
    KEY,
    LIMIT,
    MATCH,
    PARAM,
    PID,
    RAW,
    TAGS,
    TASK_VERSION,
    TIMEOUT,
    TTL,
    VALUE,
)
from resonate_core.cli.target import DIALECTS, Access, refusal
from resonate_core.cli.values import SETTLED_STATES, duration, instant, one_of, pairs, payload, tags_of

__all__ = ["app"]

app = group("Tasks: take them, keep them, give them back, as a worker does.")


@on_store(app, "get", Access.READ)
def get(session: Session, id: ID) -> None:
    """Show a task."""
    session.out.answer(session.target.send("task.get", {"id": id}))


@on_store(app, "create", Access.MAKE)
def create(
    session: Session,
    id: ID,
    pid: PID,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="ADDRESS",
            help="address for dispatch after the lease has expired; short for --tag resonate:target=…",
        ),
    ] = None,
    ttl: TTL = "60s",
    timeout: TIMEOUT = "+24h",
    param: PARAM = None,
    raw: RAW = False,
    header: HEADERS = None,
    tag: TAGS = None,
    key: KEY = None,
) -> None:
    """Create a promise and acquire its task; an existing pending task is acquired too."""
    promise: dict[str, Any] = {
        "id": id,
        "timeoutAt": instant(timeout, "--timeout"),
        "param": payload(param, "--param", raw=raw, headers=pairs(header, "--header")),
        "tags": tags_of(tag, target),
    }
    action = session.target.request("promise.create", promise | ({} if key is None else {"ikc": key}))
    session.out.answer(session.target.send("task.create", {"pid": pid, "ttl": duration(ttl, "--ttl"), "action": action}))


@on_store(app, "acquire", Access.WRITE)
def acquire(session: Session, id: ID, pid: PID, task_version: TASK_VERSION, ttl: TTL = "60s") -> None:
    """Acquire a pending task under a lease."""
    session.out.answer(
        session.target.send("task.acquire", {"id": id, "version": task_version, "pid": pid, "ttl": duration(ttl, "--ttl")})
    )


@on_store(app, "release", Access.WRITE)
def release(session: Session, id: ID, task_version: TASK_VERSION) -> None:
    """Release an acquired task; it is dispatched again at once."""
    session.out.answer(session.target.send("task.release", {"id": id, "version": task_version}), done="released")


@on_store(app, "fulfill", Access.WRITE)
def fulfill(
    session: Session,
    id: ID,
    task_version: TASK_VERSION,
    state: Annotated[str, typer.Option("--state", metavar="STATE", help="resolved, rejected or rejected_canceled")] = "resolved",
    value: VALUE = None,
    raw: RAW = False,
    header: HEADERS = None,
    key: KEY = None,
) -> None:
    """Settle the promise of an acquired task."""
    one_of(state, "--state", SETTLED_STATES)
    settle: dict[str, Any] = {
        "id": id,
        "state": state,
        "value": payload(value, "--value", raw=raw, headers=pairs(header, "--header")),
    }
    action = session.target.request("promise.settle", settle | ({} if key is None else {"iku": key}))
    session.out.answer(session.target.send("task.fulfill", {"id": id, "version": task_version, "action": action}))


@on_store(app, "suspend", Access.WRITE)
def suspend(
    session: Session,
    id: ID,
    task_version: TASK_VERSION,
    awaiting: Annotated[
        list[str], typer.Option("--await", metavar="ID", help="id of an awaited promise; may be repeated", show_default=False)
    ],
) -> None:
    """Suspend an acquired task until a promise is settled.

    If one is already settled, the task stays acquired, and its preload is shown.
    """
    kind = "promise.register" if session.target.dialect == DIALECTS[1] else "promise.register_callback"
    actions = [session.target.request(kind, {"awaited": awaited, "awaiter": id}) for awaited in awaiting]
    status, data = session.target.ask("task.suspend", {"id": id, "version": task_version, "actions": actions})
    if not is_done(status):
        raise refusal(status, data)
    if session.out.as_json:
        session.out.json({"suspended": status == 200, **data})
    else:
        session.out.answer(data, done="suspended" if status == 200 else "not suspended: one of them is settled; go on")


@on_store(app, "heartbeat", Access.WRITE)
def heartbeat(
    session: Session,
    pid: ACTOR,
    task: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID=VERSION]...", help="leases to renew; default: all leases of the pid", show_default=False),
    ] = None,
) -> None:
    """Renew leases.

    Tasks that the pid no longer holds are skipped.
    """
    tasks = []
    for text in task or []:
        id, equals, version = text.rpartition("=")
        if not equals or not (version.isascii() and version.isdigit()):
            raise CommandFailed(f"heartbeat: {text!r} is not written as ID=VERSION", Exit.USAGE)
        tasks.append({"id": id, "version": int(version)})
    session.out.answer(session.target.send("task.heartbeat", {"pid": pid, "tasks": tasks}), done="renewed what it holds")


@on_store(app, "halt", Access.WRITE)
def halt(session: Session, id: ID) -> None:
    """Halt a task until `continue`: it loses its lease and is not dispatched."""
    session.out.answer(session.target.send("task.halt", {"id": id}), done="halted")


@on_store(app, "continue", Access.WRITE)
def continue_(session: Session, id: ID) -> None:
    """Resume a halted task; it is dispatched at once."""
    session.out.answer(session.target.send("task.continue", {"id": id}), done="pending again")


@on_store(app, "search", Access.READ)
def search_tasks(
    session: Session,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE", help="pending, acquired, suspended, halted or fulfilled", autocompletion=task_states
        ),
    ] = None,
    tag: TAGS = None,
    target: Annotated[str | None, typer.Option("--target", metavar="ADDRESS", help="tasks with this target")] = None,
    id: MATCH = None,
    limit: LIMIT = None,
    cursor: CURSOR = None,
    every: ALL = False,
) -> None:
    """List the matching tasks, ordered by id."""
    if state is not None:
        one_of(state, "--state", TASK_STATES)
    filters = {"state": state, "tags": pairs(tag, "--tag"), "target": target, "id": id}
    session.search("task.search", "tasks", filters, limit, cursor, every)
