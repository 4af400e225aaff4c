"""``resonate-core queues``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.completion import queues
from resonate_core.cli.exits import CommandFailed, Exit, is_done
from resonate_core.cli.jobs_options import CHOICES, DEFAULTS, members, parameters
from resonate_core.cli.notation import read_rate
from resonate_core.cli.show import put
from resonate_core.cli.show_jobs import show_queue, show_queues, show_stats
from resonate_core.cli.target import DIALECTS, Access, refusal
from resonate_core.cli.values import duration, one_of

__all__ = ["app"]

app = group("Queues of jobs: their settings and limits; pause and resume them.")

NAME = Annotated[str, typer.Argument(metavar="NAME", show_default=False, autocompletion=queues)]
_CLEARED = ("lifecycle", "concurrency", "rate", "groups", "defaults")


@on_store(app, "list", Access.READ, dialects=DIALECTS[:1])
def list_queues(session: Session) -> None:
    """List the queues and their settings, ordered by name."""
    show_queues(session.out, session.target.send("queue.list", {}))


@on_store(app, "show", Access.READ, dialects=DIALECTS[:1])
def show(session: Session, name: NAME) -> None:
    """Show the settings of a queue, its jobs by state, and its attempts of the last seven days."""
    data = session.target.send("queue.get", {"queue": name})
    stats = session.target.send("job.stats", {"queue": name})["queues"]
    if session.out.as_json:
        session.out.json({**data, "stats": stats[0] if stats else None})
        return
    show_queue(session.out, data)
    if session.out.is_rich:
        put()
    show_stats(session.out, stats, 7)


def _groups(size: int | None, grace: str | None, max_delay: str | None) -> dict[str, Any]:
    """Return the given settings of groups; None for a maximum delay of `none`, which the caller removes."""
    made: dict[str, Any] = {} if size is None else {"size": size}
    if grace is not None:
        made["grace"] = duration(grace, "--group-grace")
    if max_delay is not None:
        made["maxDelay"] = None if max_delay == "none" else duration(max_delay, "--group-max-delay")
    return made


def _merged(session: Session, name: str, members: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Merge the given settings into those of the queue: a request replaces such a member as a whole."""
    if not members:
        return {}
    status, data = session.target.ask("queue.get", {"queue": name})
    if status == 404:
        return members
    if not is_done(status):
        raise refusal(status, data)
    return {member: {**(data["queue"].get(member) or {}), **given} for member, given in members.items()}


@on_store(app, "set", Access.MAKE, dialects=DIALECTS[:1], more=parameters(("lifecycle", *DEFAULTS)))
def set_queue(
    session: Session,
    name: NAME,
    weight: Annotated[
        int | None,
        typer.Option("--weight", metavar="NUMBER", help="share of claims that name several queues, 1 to 1000; default: 1"),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="NUMBER", help="maximum of claimed and running jobs, over all workers")
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="RATE", help="maximum of claims per time: 100/1m, or 100/1m,burst=20")
    ] = None,
    group_size: Annotated[
        int | None, typer.Option("--group-size", metavar="NUMBER", help="a batch is ready with this many jobs, 1 to 1000")
    ] = None,
    group_grace: Annotated[
        str | None, typer.Option("--group-grace", metavar="LENGTH", help="or when no job has joined for this time: 90s, 2h, or ms")
    ] = None,
    group_max_delay: Annotated[
        str | None,
        typer.Option("--group-max-delay", metavar="LENGTH", help="or this time after its first job: 90s, 2h, ms; none: no limit"),
    ] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option("--clear", metavar="NAME", help=f"unset {', '.join(_CLEARED)}; may be repeated", show_default=False),
    ] = None,
    **options: Any,
) -> None:
    """Change the given settings of a queue, and create the queue if it does not exist.

    Priority, timeout, retention, retries, policy, --on-exhausted and --cancel-with-awaiters are defaults of jobs that are
    enqueued from then on.
    """
    data: dict[str, Any] = {}
    for cleared in clear or []:
        data[one_of(cleared, "--clear", _CLEARED)] = None
    given: dict[str, Any] = {"weight": weight, "concurrency": concurrency, "lifecycle": options.pop("lifecycle")}
    given = {member: value for member, value in given.items() if value is not None}
    if "lifecycle" in given:
        one_of(given["lifecycle"], "--lifecycle", CHOICES["lifecycle"])
    if rate is not None:
        given["rate"] = read_rate(rate, "--rate")
    for member in data:
        if member in given:
            raise CommandFailed(f"--{member} and --clear {member} exclude each other", Exit.USAGE)
    parts = {
        "defaults": members(options),
        "groups": _groups(group_size, group_grace, group_max_delay),
    }
    parts = {member: part for member, part in parts.items() if part}
    if not (data or given or parts):
        raise CommandFailed(f"set: nothing is given for {name!r}", Exit.USAGE)
    # Cleared and given at once: only what is given stays.
    cleared_too = {member: part for member, part in parts.items() if member in data}
    data |= cleared_too | _merged(session, name, {member: parts[member] for member in parts if member not in data})
    if group_max_delay == "none":
        data["groups"].pop("maxDelay", None)
    show_queue(session.out, session.target.send("queue.set", {"queue": name, **data, **given}))


@on_store(app, "pause", Access.WRITE, dialects=DIALECTS[:1])
def pause(session: Session, name: NAME) -> None:
    """Stop claims from a queue; claimed and running jobs continue."""
    show_queue(session.out, session.target.send("queue.pause", {"queue": name}))


@on_store(app, "resume", Access.WRITE, dialects=DIALECTS[:1])
def resume(session: Session, name: NAME) -> None:
    """Allow claims from a queue again."""
    show_queue(session.out, session.target.send("queue.resume", {"queue": name}))
