"""``resonate-core jobs enqueue``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session, on_store
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.jobs_options import (
    ATTEMPT_TIMEOUT,
    LIFECYCLE,
    MAX_RETRIES,
    ON_EXHAUSTED,
    POLICY,
    PRIORITY,
    RETENTION,
    RETRY_ON,
    course,
    lengths,
)
from resonate_core.cli.options import HEADERS, RAW, TAGS
from resonate_core.cli.show_jobs import show_job
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.values import instant, pairs, payload

__all__ = ["add_to"]

_TIME = "+10m, 2026-05-01T12:00Z, or Unix ms"


def _option(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text)


def enqueue(
    session: Session,
    type: Annotated[
        str, typer.Argument(metavar="TYPE", help="name by which workers find it, such as email:send", show_default=False)
    ],
    body: Annotated[str | None, _option("--payload", "JSON", "what it is given: JSON, @file, or - for standard input")] = None,
    raw: RAW = False,
    header: HEADERS = None,
    id: Annotated[str | None, _option("--id", "ID", "its id; else one is made")] = None,
    queue: Annotated[str | None, typer.Option("--queue", "-q", metavar="NAME", help="name of the queue; default: default")] = None,
    priority: PRIORITY = None,
    tag: TAGS = None,
    process_at: Annotated[str | None, _option("--process-at", "TIME", f"not before this: {_TIME}")] = None,
    process_in: Annotated[str | None, _option("--process-in", "LENGTH", "not before this has passed: 90s, 2h, or ms")] = None,
    good_until: Annotated[
        str | None, _option("--good-until", "TIME", f"it expires where it has not begun by then: {_TIME}")
    ] = None,
    good_for: Annotated[
        str | None, _option("--good-for", "LENGTH", "it expires where it has not begun so long after it could: 90s, 2h, or ms")
    ] = None,
    timeout: ATTEMPT_TIMEOUT = None,
    deadline: Annotated[str | None, _option("--deadline", "TIME", f"it fails where it has not ended by then: {_TIME}")] = None,
    retention: RETENTION = None,
    max_retries: MAX_RETRIES = None,
    retry_policy: POLICY = None,
    retry_on: RETRY_ON = None,
    on_exhausted: ON_EXHAUSTED = None,
    lifecycle: LIFECYCLE = None,
    unique_key: Annotated[str | None, _option("--unique-key", "TEXT", "one job of the queue holds a key at a time")] = None,
    unique_for: Annotated[str | None, _option("--unique-for", "LENGTH", "how long it holds the key at most: 10m, or ms")] = None,
    group: Annotated[str | None, _option("--group", "TEXT", "it waits for others of its queue, type and group")] = None,
    sent_at: Annotated[str | None, _option("--sent-at", "TIME", "when it was sent, where that was earlier")] = None,
) -> None:
    """Put a job into a queue, or show the same one that is there under the id.

    What is not given comes from the queue's defaults, then from the lifecycle.
    """
    if process_at is not None and process_in is not None:
        raise Failure("--process-at and --process-in exclude each other", Exit.USAGE)
    if good_until is not None and good_for is not None:
        raise Failure("--good-until and --good-for exclude each other", Exit.USAGE)
    data: dict[str, Any] = {"type": type}
    value = payload(body, "--payload", raw=raw, headers=pairs(header, "--header"))
    tags = pairs(tag, "--tag")
    texts = {
        "id": id,
        "queue": queue,
        "lifecycle": lifecycle,
        "uniqueKey": unique_key,
        "group": group,
        "payload": value or None,
        "tags": tags or None,
    }
    data |= {name: given for name, given in texts.items() if given is not None}
    instants = {"processAt": process_at, "goodUntil": good_until, "deadline": deadline, "sentAt": sent_at}
    flags = {"processAt": "--process-at", "goodUntil": "--good-until", "deadline": "--deadline", "sentAt": "--sent-at"}
    data |= {name: instant(given, flags[name]) for name, given in instants.items() if given is not None}
    data |= lengths({"processIn": process_in, "goodFor": good_for, "uniqueFor": unique_for})
    data |= course(priority, timeout, retention, max_retries, retry_policy, retry_on, on_exhausted)
    show_job(session.out, session.target.send("job.enqueue", data))


def add_to(app: typer.Typer) -> None:
    """Adds it to the group."""
    on_store(app, "enqueue", Access.MAKE, dialects=DIALECTS[:1])(enqueue)
