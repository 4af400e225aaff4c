"""``resonate-core schedules``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.jobs_options import OF_A_JOB, members, parameters
from resonate_core.cli.options import ALL, CURSOR, HEADERS, ID, LIMIT, MATCH, PARAM, RAW, TAGS, TARGET
from resonate_core.cli.show import Output
from resonate_core.cli.show_jobs import order_text
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.values import duration, pairs, payload, tags_of

__all__ = ["app"]

app = group("Schedules: promises, or jobs, that are made by cron.")


def _show(out: Output, data: dict[str, Any]) -> None:
    """Print a schedule, with a line for each setting of its jobs."""
    if out.as_json:
        out.json(data)
        return
    shown = dict(data["schedule"])
    order = order_text(shown.pop("job", None) or {})
    out.record(shown | {f"job.{name}": value for name, value in order.items()}, "schedule")


def _show_many(out: Output, data: dict[str, Any]) -> None:
    """Print the schedules of a search. If a schedule enqueues jobs, its member `job` is printed as the type of these jobs."""
    if not out.as_json:
        typed = [{**one, "job": one["job"]["type"]} if one.get("job") else one for one in data["schedules"]]
        data = {**data, "schedules": typed}
    out.answer(data)


@on_store(app, "get", Access.READ)
def get(session: Session, id: ID) -> None:
    """Show a schedule."""
    _show(session.out, session.target.send("schedule.get", {"id": id}))


_PANEL = "Jobs instead of promises"


@on_store(app, "create", Access.MAKE, more=parameters(OF_A_JOB, "job_", _PANEL))
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
        str, typer.Option("--promise-id", metavar="TEMPLATE", help="id of each promise or job")
    ] = "{{.id}}.{{.timestamp}}",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="LENGTH", help="time from an occurrence to the deadline: 90s, 2h, or ms")
    ] = "24h",
    param: PARAM = None,
    raw: RAW = False,
    header: HEADERS = None,
    tag: TAGS = None,
    target: TARGET = None,
    job_type: Annotated[
        str | None,
        typer.Option(
            "--job-type",
            metavar="TYPE",
            help="each occurrence makes a job of this type; its payload is --param",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    job_queue: Annotated[
        str | None, typer.Option("--job-queue", metavar="NAME", help="name of its queue; default: default", rich_help_panel=_PANEL)
    ] = None,
    **options: Any,
) -> None:
    """Create a schedule, or show the existing schedule with this id."""
    job = members(options, "job_") | ({} if job_queue is None else {"queue": job_queue})
    if job and job_type is None:
        raise CommandFailed("options of jobs need --job-type", Exit.USAGE)
    data: dict[str, Any] = {
        "id": id,
        "cron": cron,
        "promiseId": promise_id,
        "promiseTimeout": duration(timeout, "--timeout"),
        "promiseParam": payload(param, "--param", raw=raw, headers=pairs(header, "--header")),
        "promiseTags": tags_of(tag, target),
    }
    if job_type is not None:
        data["job"] = {"type": job_type, **job}
    _show(session.out, session.target.send("schedule.create", data))


@on_store(app, "delete", Access.WRITE)
def delete(session: Session, id: ID) -> None:
    """Delete a schedule.

    Its promises and jobs stay.
    """
    session.out.answer(session.target.send("schedule.delete", {"id": id}), done="deleted")


@on_store(app, "pause", Access.WRITE, dialects=DIALECTS[:1])
def pause(session: Session, id: ID) -> None:
    """Pause a schedule: it does not fire until it is resumed."""
    _show(session.out, session.target.send("schedule.pause", {"id": id}))


@on_store(app, "resume", Access.WRITE, dialects=DIALECTS[:1])
def resume(session: Session, id: ID) -> None:
    """Resume a paused schedule from now on.

    Occurrences in the pause are not made up for.
    """
    _show(session.out, session.target.send("schedule.resume", {"id": id}))


@on_store(app, "search", Access.READ)
def search_schedules(
    session: Session, tag: TAGS = None, id: MATCH = None, limit: LIMIT = None, cursor: CURSOR = None, every: ALL = False
) -> None:
    """List the matching schedules, ordered by id."""
    session.search("schedule.search", "schedules", {"tags": pairs(tag, "--tag"), "id": id}, limit, cursor, every, _show_many)
