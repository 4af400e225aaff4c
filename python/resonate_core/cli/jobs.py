"""``resonate-core jobs``: lists, shows and counts jobs. The commands that change jobs are in jobs_enqueue and jobs_act."""

from __future__ import annotations

from typing import Annotated

import typer

from resonate_core.cli import jobs_act, jobs_enqueue
from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.jobs_options import GROUP, JOB_STATE, QUEUE, TYPE
from resonate_core.cli.options import ALL, CURSOR, ID, LIMIT, MATCH, TAGS
from resonate_core.cli.searches import search
from resonate_core.cli.show_jobs import show_attempts, show_job, show_jobs, show_stats
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.values import pairs

__all__ = ["app"]

app = group("Jobs: put them into queues, look at them, run, archive, delete and cancel them.")


@on_store(app, "list", Access.READ, dialects=DIALECTS[:1])
def list_jobs(
    session: Session,
    queue: QUEUE = None,
    type: TYPE = None,
    state: JOB_STATE = None,
    tag: TAGS = None,
    group: GROUP = None,
    unique_key: Annotated[str | None, typer.Option("--unique-key", metavar="TEXT", help="jobs with this key")] = None,
    id: MATCH = None,
    limit: LIMIT = None,
    cursor: CURSOR = None,
    every: ALL = False,
) -> None:
    """List the matching jobs, ordered by id."""
    filters = {"queue": queue, "type": type, "state": state, "tags": pairs(tag, "--tag"), "group": group}
    filters |= {"uniqueKey": unique_key, "id": id}
    search(session, "job.search", "jobs", filters, limit, cursor, every, show_jobs)


@on_store(app, "show", Access.READ, dialects=DIALECTS[:1])
def show(session: Session, id: ID) -> None:
    """Show a job, its last error and its attempts."""
    data = session.target.send("job.get", {"id": id})
    show_job(session.out, data)
    if not session.out.as_json:
        show_attempts(session.out, data["job"].get("attempts", []))


jobs_enqueue.add_to(app)
jobs_act.add_to(app)


@on_store(app, "stats", Access.READ, dialects=DIALECTS[:1])
def stats(
    session: Session,
    queue: QUEUE = None,
    days: Annotated[int, typer.Option("--days", metavar="NUMBER", help="number of days", min=0, max=90)] = 7,
) -> None:
    """Count jobs by queue and state, and attempts per day (UTC); print the wait of the oldest pending job."""
    data = session.target.send("job.stats", {} if queue is None else {"queue": queue})
    if session.out.as_json:
        shown = [{**one, "days": one["days"][-days:] if days else []} for one in data["queues"]]
        session.out.json({**data, "queues": shown})
    else:
        show_stats(session.out, data["queues"], days)
