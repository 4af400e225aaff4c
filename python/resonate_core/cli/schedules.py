"""``resonate-core schedules``."""

from __future__ import annotations

from typing import Annotated

import typer

from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.options import ALL, CURSOR, HEADERS, ID, LIMIT, MATCH, PARAM, RAW, TAGS
from resonate_core.cli.searches import search
from resonate_core.cli.target import Access
from resonate_core.cli.values import duration, pairs, payload

__all__ = ["app"]

app = group("Schedules: promises that are made by cron.")


@on_store(app, "get", Access.READ)
def get(session: Session, id: ID) -> None:
    """Show a schedule."""
    session.out.answer(session.target.send("schedule.get", {"id": id}))


@on_store(app, "create", Access.MAKE)
def create(
    session: Session,
    id: ID,
    cron: Annotated[
        str,
        typer.Option(
            "--cron", metavar="CRON", help="'*/15 * * * *', '@hourly', 'CRON_TZ=Europe/Berlin 0 9 * * MON-FRI'", show_default=False
        ),
    ],
    promise_id: Annotated[
        str, typer.Option("--promise-id", metavar="TEMPLATE", help="the id of what it makes")
    ] = "{{.id}}.{{.timestamp}}",
    timeout: Annotated[str, typer.Option("--timeout", metavar="LENGTH", help="how long each promise has: 90s, 2h, or ms")] = "24h",
    param: PARAM = None,
    raw: RAW = False,
    header: HEADERS = None,
    tag: TAGS = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="ADDRESS", help="who works on them; short for --tag resonate:target=…")
    ] = None,
) -> None:
    """Create a schedule, or show the one that exists under the id."""
    data = {
        "id": id,
        "cron": cron,
        "promiseId": promise_id,
        "promiseTimeout": duration(timeout, "--timeout"),
        "promiseParam": payload(param, "--param", raw=raw, headers=pairs(header, "--header")),
        "promiseTags": pairs(tag, "--tag") | ({} if target is None else {"resonate:target": target}),
    }
    session.out.answer(session.target.send("schedule.create", data))


@on_store(app, "delete", Access.WRITE)
def delete(session: Session, id: ID) -> None:
    """Delete a schedule.

    What it has made stays.
    """
    session.out.answer(session.target.send("schedule.delete", {"id": id}), done="deleted")


@on_store(app, "search", Access.READ)
def search_schedules(
    session: Session, tag: TAGS = None, id: MATCH = None, limit: LIMIT = None, cursor: CURSOR = None, every: ALL = False
) -> None:
    """List the schedules that match, ordered by id."""
    search(session, "schedule.search", "schedules", {"tags": pairs(tag, "--tag"), "id": id}, limit, cursor, every)
