"""``resonate-core schedules``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.jobs_options import course, lengths
from resonate_core.cli.options import ALL, CURSOR, HEADERS, ID, LIMIT, MATCH, PARAM, RAW, TAGS
from resonate_core.cli.searches import search
from resonate_core.cli.show import Output
from resonate_core.cli.show_jobs import order_text
from resonate_core.cli.target import Access
from resonate_core.cli.values import duration, pairs, payload

__all__ = ["app"]

app = group("Schedules: promises, or jobs, that are made by cron.")


def _show(out: Output, data: dict[str, Any]) -> None:
    """Prints a schedule, what it says of its jobs a line each."""
    if out.as_json:
        out.json(data)
        return
    shown = dict(data["schedule"])
    order = order_text(shown.pop("job", {}))
    out.record(shown | {f"job.{name}": value for name, value in order.items()}, "schedule")


def _show_many(out: Output, data: dict[str, Any]) -> None:
    """Prints the schedules of a search; of a job its type."""
    if not out.as_json:
        typed = [{**one, "job": one["job"]["type"]} if "job" in one else one for one in data["schedules"]]
        data = {**data, "schedules": typed}
    out.answer(data)


@on_store(app, "get", Access.READ)
def get(session: Session, id: ID) -> None:
    """Show a schedule."""
    _show(session.out, session.target.send("schedule.get", {"id": id}))


def _of_job(name: str, metavar: str, text: str) -> Any:
    return typer.Option(f"--job-{name}", metavar=metavar, help=text, show_default=False, rich_help_panel="Jobs instead of promises")


def _order(type: str | None, texts: dict[str, Any], times: dict[str, str | None], said: dict[str, Any]) -> dict[str, Any]:
    """The order of the jobs that a schedule makes; empty where it makes none.

    Raises:
        Failure: Something is said of jobs, and not their type; or it cannot be read (USAGE).
    """
    order = {name: given for name, given in texts.items() if given is not None} | lengths(times, "--job-") | said
    if type is None:
        if order:
            raise Failure("what is said of jobs needs --job-type", Exit.USAGE)
        return {}
    return {"job": {"type": type, **order}}


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
        str, typer.Option("--promise-id", metavar="TEMPLATE", help="id of each promise or job")
    ] = "{{.id}}.{{.timestamp}}",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="LENGTH", help="time from an occurrence to the deadline: 90s, 2h, or ms")
    ] = "24h",
    param: PARAM = None,
    raw: RAW = False,
    header: HEADERS = None,
    tag: TAGS = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="ADDRESS", help="address for dispatch; short for --tag resonate:target=…")
    ] = None,
    job_type: Annotated[
        str | None, _of_job("type", "TYPE", "each occurrence makes a job of this type; its payload is --param")
    ] = None,
    job_queue: Annotated[str | None, _of_job("queue", "NAME", "their queue; else default")] = None,
    job_priority: Annotated[int | None, _of_job("priority", "NUMBER", "1 is first, 100 is last")] = None,
    job_group: Annotated[str | None, _of_job("group", "TEXT", "they wait for others of their queue, type and group")] = None,
    job_process_in: Annotated[str | None, _of_job("process-in", "LENGTH", "not before this has passed: 90s, 2h, or ms")] = None,
    job_good_for: Annotated[
        str | None, _of_job("good-for", "LENGTH", "they expire where they have not begun so long after they could")
    ] = None,
    job_timeout: Annotated[str | None, _of_job("timeout", "LENGTH", "how long one attempt may take")] = None,
    job_retention: Annotated[
        str | None, _of_job("retention", "LENGTH", "how long they are kept once completed, or keep for always")
    ] = None,
    job_max_retries: Annotated[int | None, _of_job("max-retries", "NUMBER", "how often they are tried again")] = None,
    job_retry_policy: Annotated[str | None, _of_job("retry-policy", "POLICY", "as of jobs enqueue")] = None,
    job_retry_on: Annotated[
        list[str] | None, _of_job("retry-on", "CODE", "with --job-retry-policy: only errors of this code; may be repeated")
    ] = None,
    job_on_exhausted: Annotated[str | None, _of_job("on-exhausted", "STATE", "archived or failed")] = None,
    job_lifecycle: Annotated[str | None, _of_job("lifecycle", "NAME", "whose defaults hold: asynq or horsies")] = None,
    job_unique_key: Annotated[
        str | None, _of_job("unique-key", "TEXT", "one of them holds it at a time: none is made while another goes on")
    ] = None,
    job_unique_for: Annotated[str | None, _of_job("unique-for", "LENGTH", "how long it holds the key at most")] = None,
) -> None:
    """Create a schedule, or show the existing schedule with this id."""
    texts = {"queue": job_queue, "lifecycle": job_lifecycle, "uniqueKey": job_unique_key, "group": job_group}
    times = {"processIn": job_process_in, "goodFor": job_good_for, "uniqueFor": job_unique_for}
    said = course(
        job_priority, job_timeout, job_retention, job_max_retries, job_retry_policy, job_retry_on, job_on_exhausted, "--job-"
    )
    data = {
        "id": id,
        "cron": cron,
        "promiseId": promise_id,
        "promiseTimeout": duration(timeout, "--timeout"),
        "promiseParam": payload(param, "--param", raw=raw, headers=pairs(header, "--header")),
        "promiseTags": pairs(tag, "--tag") | ({} if target is None else {"resonate:target": target}),
        **_order(job_type, texts, times, said),
    }
    _show(session.out, session.target.send("schedule.create", data))


@on_store(app, "delete", Access.WRITE)
def delete(session: Session, id: ID) -> None:
    """Delete a schedule.

    Its promises and jobs stay.
    """
    session.out.answer(session.target.send("schedule.delete", {"id": id}), done="deleted")


@on_store(app, "search", Access.READ)
def search_schedules(
    session: Session, tag: TAGS = None, id: MATCH = None, limit: LIMIT = None, cursor: CURSOR = None, every: ALL = False
) -> None:
    """List the matching schedules, ordered by id."""
    search(session, "schedule.search", "schedules", {"tags": pairs(tag, "--tag"), "id": id}, limit, cursor, every, _show_many)
