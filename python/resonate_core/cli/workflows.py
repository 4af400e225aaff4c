"""``resonate-core workflows``: lists, shows and rehearses workflows, sends them messages, forks and cancels them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any

import typer

from resonate_core._core import Promise
from resonate_core.base.states import JOB_STATES
from resonate_core.calls.workflow_records import Step
from resonate_core.calls.workflows import id_of_fork, workflow_tags
from resonate_core.cli.command import Session, group, on_store
from resonate_core.cli.completion import any_id, step_ids
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.jobs_actions import CANCEL, EVERY, YES, act
from resonate_core.cli.jobs_listing import NEWEST, SINCE, UNTIL, Pages, list_matching
from resonate_core.cli.jobs_options import JOB_STATE, QUEUE, TYPE
from resonate_core.cli.options import ALL, CURSOR, HEADERS, ID, LIMIT, MATCH, RAW, TAGS
from resonate_core.cli.show_jobs import show_job, show_jobs, show_lines
from resonate_core.cli.show_workflows import show_steps, step_document
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.tree import tree
from resonate_core.cli.values import one_of, pairs, payload
from resonate_core.cli.workflows_rehearse import rehearse
from resonate_core.errors import Invalid

__all__ = ["app"]

app = group("Workflows: look at them and their steps, rehearse changed code, send them messages, fork and cancel them.")

_LIST = ("id", "queue", "type", "state", "steps", "claimedBy", "sentAt", "endedAt", "error")
_IDS = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="ids of workflows; or --all", show_default=False, autocompletion=any_id),
]


def _tags(given: list[str] | None) -> dict[str, str]:
    """The tags of the workflows that a command finds.

    Raises:
        CommandFailed: One contradicts the tag that all workflows have (USAGE).
    """
    try:
        return workflow_tags(pairs(given, "--tag"))
    except Invalid as error:
        raise CommandFailed(f"--tag: {error}", Exit.USAGE) from error


@on_store(app, "list", Access.READ, dialects=DIALECTS[:1])
def list_workflows(
    session: Session,
    queue: QUEUE = None,
    type: TYPE = None,
    state: JOB_STATE = None,
    tag: TAGS = None,
    id: MATCH = None,
    limit: LIMIT = None,
    cursor: CURSOR = None,
    every: ALL = False,
    newest: NEWEST = False,
    since: SINCE = None,
    until: UNTIL = None,
) -> None:
    """List the matching workflows: ordered by id, or with --newest, --since or --until the last that was sent first.

    They are the jobs with the tag resonate:workflow=true.
    """
    if state is not None:
        one_of(state, "--state", JOB_STATES)
    filters = {"queue": queue, "type": type, "state": state, "tags": _tags(tag), "id": id}
    show = partial(show_jobs, columns=_LIST, noun="workflow")
    list_matching(session, filters, Pages(limit, cursor, every, newest, since, until), show)


@on_store(app, "show", Access.READ, dialects=DIALECTS[:1])
def show(
    session: Session,
    id: ID,
    last: Annotated[int | None, typer.Option("--last", metavar="NUMBER", help="only so many steps, the last ones", min=1)] = None,
) -> None:
    """Show a workflow, its steps (names, states, durations, attempts, results and errors), and the lines that it reported."""
    data = session.target.send("job.get", {"id": id})
    records = session.target.pages("job.history", "promises", {"id": id, "limit": 1000})
    steps: Iterable[Step] = (Step.of(Promise.from_dict(record)) for record in records)
    if last is not None:
        steps = deque(steps, maxlen=last)
    if session.out.as_json:
        session.out.json({**data, "steps": [step_document(step) for step in steps]})
        return
    show_job(session.out, data)
    show_steps(session.out, steps)
    show_lines(session.out, data["job"].get("report", {}).get("lines", []))


on_store(app, "tree", Access.READ, dialects=DIALECTS[:1])(tree)
on_store(app, "rehearse", Access.READ, dialects=DIALECTS[:1])(rehearse)


@on_store(app, "send", Access.WRITE, dialects=DIALECTS[:1])
def send(
    session: Session,
    id: ID,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="what the workflow receives", show_default=False)],
    value: Annotated[
        str | None, typer.Option("--value", metavar="JSON", help="the message: JSON, @file, or - for standard input")
    ] = None,
    raw: RAW = False,
    header: HEADERS = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="TEXT", help="makes it safe to repeat: the same key sends one message")
    ] = None,
) -> None:
    """Send a message to a workflow. Its oldest pending receive of the topic takes it; otherwise the message waits for one."""
    message = payload(value, "--value", raw=raw, headers=pairs(header, "--header"))
    data: dict[str, Any] = (
        {"id": id, "topic": topic} | ({"value": message} if message else {}) | ({} if key is None else {"key": key})
    )
    session.out.answer(session.target.send("job.send", data))


@on_store(app, "cancel", Access.WRITE, dialects=DIALECTS[:1])
def cancel(
    session: Session,
    id: _IDS = None,
    every: EVERY = False,
    queue: QUEUE = None,
    type: TYPE = None,
    tag: TAGS = None,
    yes: YES = False,
) -> None:
    """Cancel workflows that have not ended, and the jobs that they started."""
    filters = {"queue": queue, "type": type, "tags": pairs(tag, "--tag")}
    if every and not id and not any(filters.values()):
        raise CommandFailed("cancel --all needs at least one of --queue, --type and --tag", Exit.USAGE)
    if every:
        filters["tags"] = _tags(tag)
    act(session, CANCEL, id, every, yes, filters)


@on_store(app, "fork", Access.WRITE, dialects=DIALECTS[:1])
def fork(
    session: Session,
    id: ID,
    step: Annotated[
        str,
        typer.Argument(
            metavar="STEP",
            help="id of the step at which the fork continues, as in show",
            show_default=False,
            autocompletion=step_ids,
        ),
    ],
    new_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="id of the fork; else one is made from that of the workflow")
    ] = None,
) -> None:
    """Start a copy of a workflow that has the results of the steps before one of them, and runs on from there.

    The workflow itself stays as it is.
    """
    data = {"id": id, "from": step, "newId": id_of_fork(id) if new_id is None else new_id}
    show_job(session.out, session.target.send("job.fork", data))
