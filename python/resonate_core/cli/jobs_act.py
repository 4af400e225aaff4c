"""What people do to jobs by hand: run, archive, delete and cancel them, by id or all that match, as dead letters are dealt with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session, on_store
from resonate_core.cli.exits import Exit, Failure, code_of, is_done
from resonate_core.cli.jobs_options import GROUP, QUEUE, TYPE
from resonate_core.cli.options import TAGS
from resonate_core.cli.show import clean, confirmed, say
from resonate_core.cli.show_jobs import show_job, show_jobs
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.values import pairs

__all__ = ["add_to"]

_PAGE = 1000

IDS = Annotated[list[str] | None, typer.Argument(metavar="ID", help="ids of jobs; or --all", show_default=False)]
EVERY = Annotated[bool, typer.Option("--all", help="all jobs that match the filters, instead of ids", show_default=False)]
YES = Annotated[bool, typer.Option("--yes", "-y", help="with --all: do not ask for confirmation", show_default=False)]


@dataclass(frozen=True)
class Action:
    """One of them.

    Attributes:
        word: Its name.
        done: The text printed for a changed job.
        states: Of which states it takes all (JOBS 3).
        asks_state: Whether the request names the state.
    """

    word: str
    done: str
    states: tuple[str, ...]
    asks_state: bool = True

    @property
    def kind(self) -> str:
        """The request."""
        return f"job.{self.word}"

    @property
    def choice(self) -> str:
        """Its states as a sentence has them."""
        return f"{', '.join(self.states[:-1])} or {self.states[-1]}"


_UNSETTLED = ("pending", "scheduled", "retry", "archived")
RUN = Action("run", "pending again", ("archived", "retry", "scheduled"))
ARCHIVE = Action("archive", "archived", ("pending", "scheduled", "retry"))
DELETE = Action("delete", "deleted", (*_UNSETTLED, "completed", "failed", "cancelled", "expired"))
CANCEL = Action("cancel", "cancelled", (*_UNSETTLED, "claimed", "running"), asks_state=False)


def _number(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"


def _confirm(session: Session, action: Action, filters: dict[str, Any]) -> None:
    """Asks whether all that match are meant.

    Raises:
        Failure: There is no terminal to ask on (USAGE), or the reply is no (FAILED).
    """
    if session.out.as_json or not sys.stdin.isatty():
        raise Failure(f"{action.word} --all asks first, and nobody is there to answer: give --yes", Exit.USAGE)
    states = [filters["state"]] if "state" in filters else action.states
    searches = [session.target.envelope("job.search", {**filters, "state": state, "limit": _PAGE}) for state in states]
    found, more = 0, False
    for answer in session.target.exchange(searches):
        if not is_done(answer["head"]["status"]):
            raise Failure(str(answer["data"]), code_of(answer["head"]["status"]), answer["head"]["status"])
        found += len(answer["data"]["jobs"])
        more = more or answer["data"].get("cursor") is not None
    named = [f"{name} {clean(text)}" for name, text in filters.items() if name != "tags"]
    named += [f"tag {clean(name)}={clean(text)}" for name, text in filters.get("tags", {}).items()]
    if not confirmed(f"{action.word} {'at least ' if more else ''}{_number(found)} ({', '.join(named)})?"):
        raise Failure("nothing was done", Exit.FAILED)


def _all_that_match(session: Session, action: Action, filters: dict[str, Any], yes: bool) -> None:
    if action.asks_state and "state" not in filters:
        raise Failure(f"{action.word} --all needs --state: {action.choice}", Exit.USAGE)
    if not filters:
        raise Failure(f"{action.word} --all needs at least one of --queue, --type, --tag and --group", Exit.USAGE)
    if not yes:
        _confirm(session, action, filters)
    count = 0
    while True:
        done = session.target.send(action.kind, filters)
        count += done["count"]
        if not (done["more"] and done["count"]):
            break
    session.out.line(f"{_number(count)} {action.done}", {"count": count})


def _each(session: Session, action: Action, ids: list[str]) -> None:
    """Does it to several, each by itself: a refused one hinders no other."""
    answers = session.target.exchange([session.target.envelope(action.kind, {"id": id}) for id in ids])
    results: list[dict[str, Any]] = []
    for id, answer in zip(ids, answers, strict=True):
        status, data = answer["head"]["status"], answer["data"]
        results.append({"id": id, "status": status} | (data if is_done(status) else {"error": str(data)}))
    refused = [one for one in results if not is_done(one["status"])]
    if session.out.as_json:
        session.out.json({"jobs": results})
    elif action is DELETE:
        session.out.table(("id", "done"), [[one["id"], action.done] for one in results if is_done(one["status"])])
    else:
        show_jobs(session.out, {"jobs": [one["job"] for one in results if is_done(one["status"])]})
    if not refused:
        return
    if not session.out.as_json:
        for one in refused:
            say(clean(one["error"]))
    raise typer.Exit(code_of(refused[0]["status"]))


def act(
    session: Session,
    action: Action,
    ids: list[str] | None,
    every: bool,
    yes: bool,
    filters: dict[str, Any],
) -> None:
    """Does it to the jobs that are meant.

    Args:
        session: Where they are.
        action: The change.
        ids: Which; or
        every: All that match
        yes: without asking,
        filters: these.

    Raises:
        Failure: It is not clear which are meant (USAGE), or the request was refused.
    """
    filters = {name: value for name, value in filters.items() if value not in (None, {})}
    if every:
        if ids:
            raise Failure(f"{action.word}: ids and --all exclude each other", Exit.USAGE)
        _all_that_match(session, action, filters, yes)
        return
    if filters:
        raise Failure(f"{action.word}: --queue, --type, --state, --tag and --group are for --all", Exit.USAGE)
    if not ids:
        raise Failure(f"{action.word}: give ids, or --all and what to match", Exit.USAGE)
    if len(ids) > 1:
        _each(session, action, ids)
    elif action is DELETE:
        session.out.answer(session.target.send(action.kind, {"id": ids[0]}), done=action.done)
    else:
        show_job(session.out, session.target.send(action.kind, {"id": ids[0]}))


def _state(action: Action) -> Any:
    return typer.Option("--state", metavar="STATE", help=f"with --all: {action.choice}")


def _filters(
    queue: str | None, type: str | None, tag: list[str] | None, group: str | None, state: str | None = None
) -> dict[str, Any]:
    """What --all is to match, as requests have it."""
    return {"queue": queue, "type": type, "state": state, "tags": pairs(tag, "--tag"), "group": group}


def run(
    session: Session,
    id: IDS = None,
    every: EVERY = False,
    queue: QUEUE = None,
    type: TYPE = None,
    state: Annotated[str | None, _state(RUN)] = None,
    tag: TAGS = None,
    group: GROUP = None,
    yes: YES = False,
) -> None:
    """Let jobs run now that are scheduled, wait for a retry, or were archived.

    Retries that they have used stay used.
    """
    act(session, RUN, id, every, yes, _filters(queue, type, tag, group, state))


def archive(
    session: Session,
    id: IDS = None,
    every: EVERY = False,
    queue: QUEUE = None,
    type: TYPE = None,
    state: Annotated[str | None, _state(ARCHIVE)] = None,
    tag: TAGS = None,
    group: GROUP = None,
    yes: YES = False,
) -> None:
    """Archive jobs: they are not claimed until a person runs them."""
    act(session, ARCHIVE, id, every, yes, _filters(queue, type, tag, group, state))


def delete(
    session: Session,
    id: IDS = None,
    every: EVERY = False,
    queue: QUEUE = None,
    type: TYPE = None,
    state: Annotated[str | None, _state(DELETE)] = None,
    tag: TAGS = None,
    group: GROUP = None,
    yes: YES = False,
) -> None:
    """Delete unheld jobs.

    A settled job is deleted as soon as nothing refers to it; a job that is awaited and not settled is refused.
    """
    act(session, DELETE, id, every, yes, _filters(queue, type, tag, group, state))


def cancel(
    session: Session,
    id: IDS = None,
    every: EVERY = False,
    queue: QUEUE = None,
    type: TYPE = None,
    tag: TAGS = None,
    group: GROUP = None,
    yes: YES = False,
) -> None:
    """Cancel jobs that are not final; their workers are notified by the next heartbeat."""
    act(session, CANCEL, id, every, yes, _filters(queue, type, tag, group))


def add_to(app: typer.Typer) -> None:
    """Adds them to the group."""
    for command in (run, archive, delete, cancel):
        on_store(app, command.__name__, Access.WRITE, dialects=DIALECTS[:1])(command)
