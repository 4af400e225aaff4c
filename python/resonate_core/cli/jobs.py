"""``resonate-core jobs``: enqueues, lists, shows and counts jobs; the other changes are in jobs_actions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resonate_core.base.states import JOB_STATES
from resonate_core.calls.workflow_records import WORKFLOW_TAG
from resonate_core.cli import jobs_actions, jobs_types
from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.exits import CommandFailed, Exit, is_done
from resonate_core.cli.jobs_graph import graph
from resonate_core.cli.jobs_listing import NEWEST, SINCE, UNTIL, Pages, list_matching
from resonate_core.cli.jobs_options import GROUP, JOB_STATE, OF_A_JOB, QUEUE, TYPE, members, parameters
from resonate_core.cli.jobs_tail import tail
from resonate_core.cli.options import ALL, CURSOR, HEADERS, ID, LIMIT, MATCH, RAW, TAGS
from resonate_core.cli.show_jobs import show_attempts, show_awaited, show_job, show_jobs, show_lines, show_stats
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.values import instant, one_of, pairs, payload

__all__ = ["app"]

app = group("Jobs: put them into queues, look at them, run, archive, delete and cancel them.")

#: The most awaited promises of which the states are shown.
_MOST_AWAITED = 100
_TIME = "+10m, 2026-05-01T12:00Z, or Unix ms"


def _option(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text)


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
    newest: NEWEST = False,
    since: SINCE = None,
    until: UNTIL = None,
) -> None:
    """List the matching jobs: ordered by id, or with --newest, --since or --until the last that was sent first."""
    if state is not None:
        one_of(state, "--state", JOB_STATES)
    filters = {"queue": queue, "type": type, "state": state, "tags": pairs(tag, "--tag"), "group": group}
    filters |= {"uniqueKey": unique_key, "id": id}
    list_matching(session, filters, Pages(limit, cursor, every, newest, since, until), show_jobs)


on_store(app, "graph", Access.READ, dialects=DIALECTS[:1])(graph)
on_store(app, "tail", Access.READ, dialects=DIALECTS[:1])(tail)


@on_store(app, "show", Access.READ, dialects=DIALECTS[:1])
def show(session: Session, id: ID) -> None:
    """Show a job, its last error, what it waits for, its attempts and the lines that they reported."""
    data = session.target.send("job.get", {"id": id})
    show_job(session.out, data)
    if not session.out.as_json:
        show_awaited(session.out, _awaited(session, data["job"]))
        show_attempts(session.out, data["job"].get("attempts", []))
        show_lines(session.out, data["job"].get("report", {}).get("lines", []))


def _awaited(session: Session, job: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the first promises that a job waits for, or has waited for before its first start, with their states."""
    lacks = job.get("awaits", {}).get("ids", [])
    ids = list(dict.fromkeys((*lacks, *job.get("after", []))))[:_MOST_AWAITED]
    states: dict[str, str] = {}
    for kind in ("job", "promise"):
        asked = [id for id in ids if id not in states]
        answers = session.target.exchange([session.target.request(f"{kind}.get", {"id": id}) for id in asked])
        for id, answer in zip(asked, answers, strict=True):
            if is_done(answer["head"]["status"]):
                states[id] = answer["data"][kind]["state"]
    return [{"id": id, "state": states.get(id), "lacks": id in lacks} for id in ids]


@on_store(app, "enqueue", Access.MAKE, dialects=DIALECTS[:1], more=parameters(OF_A_JOB))
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
    tag: TAGS = None,
    process_at: Annotated[str | None, _option("--process-at", "TIME", f"not before this: {_TIME}")] = None,
    good_until: Annotated[
        str | None, _option("--good-until", "TIME", f"it expires if its first attempt has not started by then: {_TIME}")
    ] = None,
    deadline: Annotated[str | None, _option("--deadline", "TIME", f"it fails if it has not ended by then: {_TIME}")] = None,
    sent_at: Annotated[str | None, _option("--sent-at", "TIME", "when it was sent, if that was earlier")] = None,
    after: Annotated[list[str] | None, _option("--after", "ID", "a job or promise that it waits for; may be repeated")] = None,
    after_failed: Annotated[str | None, _option("--after-failed", "WORD", "if one of these fails: cancel (default) or run")] = None,
    **options: Any,
) -> None:
    """Put a job into a queue, or show the same one that is there under the id.

    What is not given comes from the queue's defaults, then from the lifecycle.
    """
    if process_at is not None and options["process_in"] is not None:
        raise CommandFailed("--process-at and --process-in exclude each other", Exit.USAGE)
    if good_until is not None and options["good_for"] is not None:
        raise CommandFailed("--good-until and --good-for exclude each other", Exit.USAGE)
    value = payload(body, "--payload", raw=raw, headers=pairs(header, "--header"))
    if after_failed is not None:
        one_of(after_failed, "--after-failed", ("cancel", "run"))
    texts = {
        "id": id,
        "queue": queue,
        "after": after or None,
        "afterFailed": after_failed,
        "payload": value or None,
        "tags": (_workflow_tags(options) | pairs(tag, "--tag")) or None,
    }
    instants = {
        "processAt": (process_at, "--process-at"),
        "goodUntil": (good_until, "--good-until"),
        "deadline": (deadline, "--deadline"),
        "sentAt": (sent_at, "--sent-at"),
    }
    data: dict[str, Any] = {"type": type} | {name: text for name, text in texts.items() if text is not None}
    data |= {name: instant(text, flag) for name, (text, flag) in instants.items() if text is not None}
    show_job(session.out, session.target.send("job.enqueue", data | members(options)))


def _workflow_tags(options: dict[str, Any]) -> dict[str, str]:
    """The tag by which a workflow is found; a worker gives it to each one that it enqueues."""
    return {WORKFLOW_TAG: "true"} if options["lifecycle"] == "workflow" else {}


for action in jobs_actions.ACTIONS:
    on_store(app, action.word, Access.WRITE, dialects=DIALECTS[:1])(jobs_actions.command_of(action))


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


app.command("types")(jobs_types.types)
