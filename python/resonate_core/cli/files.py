"""Commands on a whole store: its outbox and its file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from resonate_core.cli.check import checked
from resonate_core.cli.command import CONFIG, DB, JSON, Session, group, on_file, on_store, place_with_options
from resonate_core.cli.copying import copy
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.migration import migrate
from resonate_core.cli.places import file_of, place_of
from resonate_core.cli.purging import confirm, delete
from resonate_core.cli.show import Output, clean, confirmed, length, moment, put
from resonate_core.cli.target import DIALECTS, Access, FileTarget, Target, refusal
from resonate_core.cli.values import duration, instant, now

__all__ = ["add_to"]

_PANEL = "A store's file or database"
_FILE = Annotated[str, typer.Argument(metavar="FILE", help="a store's file", show_default=False)]


def _subject(message: dict[str, Any]) -> dict[str, Any]:
    """The columns of a message as it goes over the wire."""
    data = message["message"]["data"]
    about = data.get("task") or data.get("promise") or {}
    return {
        "address": message["address"],
        "kind": message["message"]["kind"],
        "id": about.get("id"),
        "version": about.get("version"),
    }


def _waiting(target: Target, limit: int | None) -> list[dict[str, Any]]:
    """The messages of the outbox, with the columns that are shown and the message itself."""
    if isinstance(target, FileTarget):
        return [
            {
                "address": one.address,
                "kind": one.kind,
                "id": one.id,
                "version": one.version,
                "attempts": one.attempts,
                "queuedAt": one.queued_at,
                "message": one.message,
            }
            for one in target.store.messages(limit)
        ]
    status, snapshot = target.ask("debug.snap", {})
    if status == 403:
        raise refusal(
            status, f"{target.name}: {snapshot}; of a server, messages are read with debug.snap, which `serve --debug` allows"
        )
    if status != 200:
        raise refusal(status, snapshot)
    return [{**_subject(one), "message": one["message"]} for one in snapshot["messages"][:limit]]


def messages(
    session: Session,
    limit: Annotated[int | None, typer.Option("--limit", metavar="NUMBER", help="maximum number", min=1)] = None,
) -> None:
    """Show the messages that wait to be delivered.

    They stay there.
    """
    session.out.answer({"messages": _waiting(session.target, limit)})


def check(
    place: Annotated[
        str | None, typer.Argument(metavar="FILE", help="a store's file, or a URL postgresql://", show_default=False)
    ] = None,
    db: DB = None,
    config: CONFIG = None,
    json: JSON = False,
) -> None:
    """Look for damage in a file or database, and change nothing.

    In a file: SQLite's own check, the schema, every invariant of the state. In a database, whose server checks its own pages: every
    invariant. FILE is read without a configuration.

    Exit code 0: sound; 1: damaged; 2: it cannot be read as a store.
    """
    if place is not None and db is not None:
        raise CommandFailed("FILE and --db exclude each other", Exit.USAGE)
    where, options = (place_of(place, "FILE"), {}) if place is not None else place_with_options(db, config)
    found = checked(where, **options)
    if json:
        kind = "file" if isinstance(where, Path) else "url"
        Output(True).json({kind: found.name, "sound": not found.problems, "problems": found.problems})
    else:
        put(*map(clean, found.problems), found.summary)
    raise typer.Exit(Exit.FAILED if found.problems else Exit.DONE)


def backup(
    file: _FILE,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="path of the new file", show_default=False)],
    json: JSON = False,
) -> None:
    """Copy a store's file as of one instant, while others use it."""
    path, new = file_of(file, "FILE"), file_of(target, "TARGET")
    with FileTarget(path, Access.READ) as source:
        assert isinstance(source, FileTarget)
        source.store.backup(new)
    size = new.stat().st_size
    Output(json).line(f"{new}: {size} bytes", {"file": str(path), "target": str(new), "bytes": size})


def purge(
    session: Session,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="LENGTH", help="settled more than this time ago: 7d, 12h")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="TIME", help="settled before this instant: 2026-05-01, -7d, or Unix ms")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation", show_default=False)] = False,
) -> None:
    """Delete promises and jobs that were settled long ago, with their tasks.

    What others still need stays: an awaiter, a task or an undelivered message names it. It asks first, and shows how many there are;
    without a terminal it needs --yes.
    """
    if (older_than is None) == (before is None):
        raise CommandFailed("purge: give one of --older-than and --before", Exit.USAGE)
    assert isinstance(session.target, FileTarget)
    until = instant(before, "--before") if before is not None else now() - duration(older_than or "", "--older-than")
    until = max(until, 0)
    if not yes:
        confirm(session, until)
    purged = delete(session.target.store, until)
    session.out.line(
        f"{purged} deleted", {"deleted": purged.total, "promises": purged.promises, "jobs": purged.jobs, "settledBefore": until}
    )


def vacuum(session: Session) -> None:
    """Give the room of what was deleted back to the file system.

    Others wait meanwhile.
    """
    assert isinstance(session.target, FileTarget)
    if session.target.store.url is not None:  # the server knows what it took
        session.target.store.vacuum()
        session.out.line(f"{session.target.name}: vacuumed", {"url": session.target.name})
        return
    path = Path(session.target.name)
    size = path.stat().st_size
    session.target.store.vacuum()
    left = path.stat().st_size
    session.out.line(f"{path}: {size} bytes before, {left} after", {"file": str(path), "before": size, "after": left})


def _changes(done: dict[str, int]) -> list[str]:
    """Return a line for each kind of change that a reset of the clock makes."""
    rows = [(name, done[name], "with other instants") for name in ("promises", "schedules", "queues", "messages")]
    rows.append(("occurrences", done["removed"], "removed: schedules had made them ahead of time, and nobody had begun them"))
    return [f"{name}\t{count}\t{text}" for name, count, text in rows if count]


def reset(
    file: _FILE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation", show_default=False)] = False,
    json: JSON = False,
) -> None:
    """Set a store's clock back to the system's, after that one had been wrong.

    First it shows what would change, and asks. Back up the file before.
    """
    out, path = Output(json), file_of(file, "FILE")
    with FileTarget(path, Access.WRITE) as target:
        assert isinstance(target, FileTarget)
        planned = target.store.reset_clock(dry_run=True)
        ahead = planned["from"] - planned["to"]
        if not ahead:
            out.line(
                f"{path}: the stored instant is not ahead of the system's clock", {**planned, "file": str(path), "done": False}
            )
            return
        if not json:
            put(f"{path}: {length(ahead)} ahead: from {moment(planned['from'])} back to {moment(planned['to'])}")
            put(*_changes(planned))
        if not yes and (json or not sys.stdin.isatty()):
            out.line("nothing was changed; --yes does it", {**planned, "file": str(path), "done": False})
            return
        if not yes and not confirmed("set the clock back?"):
            raise CommandFailed("nothing was changed", Exit.FAILED)
        done = target.store.reset_clock()
    out.line("the clock was set back", {**done, "file": str(path), "done": True})


def add_to(app: typer.Typer) -> None:
    """Adds them to the program."""
    on_store(app, "messages", Access.READ, dialects=DIALECTS[:1])(messages)
    app.command("check", rich_help_panel=_PANEL)(check)
    app.command("backup", rich_help_panel=_PANEL)(backup)
    app.command("copy", rich_help_panel=_PANEL)(copy)
    app.command("migrate", rich_help_panel=_PANEL)(migrate)
    clock = group("The clock of a store's file.")
    clock.command("reset")(reset)
    app.add_typer(clock, name="clock", rich_help_panel=_PANEL)
    on_file(app, "purge", Access.WRITE, rich_help_panel=_PANEL)(purge)
    on_file(app, "vacuum", Access.WRITE, rich_help_panel=_PANEL)(vacuum)
