"""The lists of jobs and of workflows: ordered by id, or the last that was sent first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.jobs_newest import USUAL, Wanted, newest as newest_jobs
from resonate_core.cli.show import Output, say
from resonate_core.cli.values import instant

__all__ = ["NEWEST", "SINCE", "UNTIL", "Pages", "list_matching"]

_PAST = "-2h, 2026-05-01T12:00Z, or Unix ms"

NEWEST = Annotated[bool, typer.Option("--newest", help="the last that was sent first", show_default=False)]
SINCE = Annotated[str | None, typer.Option("--since", metavar="TIME", help=f"sent at this time or later: {_PAST}")]
UNTIL = Annotated[str | None, typer.Option("--until", metavar="TIME", help=f"sent at this time or earlier: {_PAST}")]


@dataclass(frozen=True)
class Pages:
    """Which part of a list is shown, and in which order: the options of the command."""

    limit: int | None
    cursor: str | None
    every: bool
    newest: bool
    since: str | None
    until: str | None


def list_matching(session: Session, filters: dict[str, Any], pages: Pages, show: Callable[[Output, dict[str, Any]], None]) -> None:
    """Show the matching jobs: ordered by id, or with --newest, --since or --until the last that was sent first.

    Args:
        session: The store.
        filters: Of job.search; None and {} are none.
        pages: The part of them.
        show: Prints the jobs.

    Raises:
        CommandFailed: The options exclude each other, or the request was refused.
    """
    if not (pages.newest or pages.since is not None or pages.until is not None):
        session.search("job.search", "jobs", filters, pages.limit, pages.cursor, pages.every, show)
        return
    if pages.every:
        raise CommandFailed("--all lists by id: give --limit instead, up to 1000", Exit.USAGE)
    if pages.limit is not None and not 1 <= pages.limit <= 1000:
        raise CommandFailed(f"--limit must be from 1 to 1000, got {pages.limit}", Exit.USAGE)
    times = [None if text is None else instant(text, flag) for text, flag in ((pages.since, "--since"), (pages.until, "--until"))]
    given = {name: value for name, value in filters.items() if value not in (None, {})}
    found = newest_jobs(session.target, Wanted(given, times[0], times[1], pages.limit or USUAL, pages.cursor))
    show(session.out, {"jobs": found.jobs} | ({} if found.cursor is None else {"cursor": found.cursor}))
    if found.read is not None:
        say(f"this store cannot search by time: only {found.read:,} jobs, by id, were looked at; give more filters")
