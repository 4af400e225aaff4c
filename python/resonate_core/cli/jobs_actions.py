"""Changes of jobs by hand: run, archive, delete and cancel them, by id or all that match."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from resonate_core.base.instants import counted
from resonate_core.base.states import STATES_BEFORE
from resonate_core.cli.command import Session
from resonate_core.cli.completion import job_states
from resonate_core.cli.exits import CommandFailed, Exit, code_of, is_done
from resonate_core.cli.jobs_options import GROUP, QUEUE, TYPE
from resonate_core.cli.options import TAGS
from resonate_core.cli.show import clean, confirmed, need_terminal, say
from resonate_core.cli.show_jobs import show_job, show_jobs
from resonate_core.cli.values import one_of, pairs
from resonate_core.http.answers import counted as count_and_more

__all__ = ["ACTIONS", "Action", "command_of"]

_PAGE = 1000

IDS = Annotated[list[str] | None, typer.Argument(metavar="ID", help="ids of jobs; or --all", show_default=False)]
EVERY = Annotated[bool, typer.Option("--all", help="all jobs that match the filters, instead of ids", show_default=False)]
YES = Annotated[bool, typer.Option("--yes", "-y", help="with --all: do not ask for confirmation", show_default=False)]


@dataclass(frozen=True)
class Action:
    """A command that changes jobs.

    Attributes:
        word: Its name.
        done: The text printed for a changed job.
        help: The text of its command.
        asks_state: Whether the request names the state.
    """

    word: str
    done: str
    help: str
    asks_state: bool = True

    @property
    def kind(self) -> str:
        """The kind of its request."""
        return f"job.{self.word}"

    @property
    def states(self) -> tuple[str, ...]:
        """The states of the jobs that it can change (JOBS 3)."""
        return STATES_BEFORE[self.kind]

    @property
    def choice(self) -> str:
        """Its states as text, the last after "or"."""
        return f"{', '.join(self.states[:-1])} or {self.states[-1]}"


RUN = Action(
    "run",
    "pending again",
    "Let jobs run now that are scheduled, wait for others or for a retry, or were archived.\n\nRetries that they have used stay used.",
)
ARCHIVE = Action("archive", "archived", "Archive jobs: they are not claimed until a person runs them.")
DELETE = Action(
    "delete",
    "deleted",
    "Delete unheld jobs.\n\n"
    "A settled job is deleted as soon as nothing refers to it; a job that is awaited and not settled is refused.",
)
CANCEL = Action(
    "cancel",
    "cancelled",
    "Cancel jobs that are not final; their workers are notified by the next heartbeat.",
    asks_state=False,
)
ACTIONS = (RUN, ARCHIVE, DELETE, CANCEL)


def _confirm(session: Session, action: Action, filters: dict[str, Any]) -> None:
    """Ask for confirmation of a change of all matching jobs.

    Raises:
        CommandFailed: It cannot ask (USAGE), or the reply is no (FAILED).
    """
    need_terminal(session.out, f"{action.word} --all")
    states = [filters["state"]] if "state" in filters else action.states
    searches = [session.target.request("job.search", {**filters, "state": state, "limit": _PAGE}) for state in states]
    found, more = 0, False
    for answer in session.target.exchange(searches):
        if not is_done(answer["head"]["status"]):
            raise CommandFailed(str(answer["data"]), code_of(answer["head"]["status"]), answer["head"]["status"])
        found += len(answer["data"]["jobs"])
        more = more or answer["data"].get("cursor") is not None
    named = [f"{name} {clean(text)}" for name, text in filters.items() if name != "tags"]
    named += [f"tag {clean(name)}={clean(text)}" for name, text in filters.get("tags", {}).items()]
    if not confirmed(f"{action.word} {'at least ' if more else ''}{counted(found, 'job')} ({', '.join(named)})?"):
        raise CommandFailed("nothing was done", Exit.FAILED)


def _all_that_match(session: Session, action: Action, filters: dict[str, Any], yes: bool) -> None:
    if action.asks_state and "state" not in filters:
        raise CommandFailed(f"{action.word} --all needs --state: {action.choice}", Exit.USAGE)
    if "state" in filters:
        one_of(filters["state"], "--state", action.states)
    if not filters:
        raise CommandFailed(f"{action.word} --all needs at least one of --queue, --type, --tag and --group", Exit.USAGE)
    if not yes:
        _confirm(session, action, filters)
    count = 0
    while True:
        changed, more = count_and_more(session.target.send(action.kind, filters))
        count += changed
        if not more:
            break
    session.out.line(f"{counted(count, 'job')} {action.done}", {"count": count})


def _each(session: Session, action: Action, ids: list[str]) -> None:
    """Change several jobs, each by its own request: a refusal does not affect the others."""
    answers = session.target.exchange([session.target.request(action.kind, {"id": id}) for id in ids])
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
    """Change jobs.

    Args:
        session: The store.
        action: The change.
        ids: The ids of the jobs.
        every: Instead of ids: all jobs that match the filters.
        yes: Do not ask for confirmation.
        filters: The filters of `every`.

    Raises:
        CommandFailed: Both ids and filters are given, or neither (USAGE), or the request was refused.
    """
    filters = {name: value for name, value in filters.items() if value not in (None, {})}
    if every:
        if ids:
            raise CommandFailed(f"{action.word}: ids and --all exclude each other", Exit.USAGE)
        _all_that_match(session, action, filters, yes)
        return
    if filters:
        raise CommandFailed(f"{action.word}: --queue, --type, --state, --tag and --group are for --all", Exit.USAGE)
    if not ids:
        raise CommandFailed(f"{action.word}: give ids, or --all and what to match", Exit.USAGE)
    if len(ids) > 1:
        _each(session, action, ids)
    elif action is DELETE:
        session.out.answer(session.target.send(action.kind, {"id": ids[0]}), done=action.done)
    else:
        show_job(session.out, session.target.send(action.kind, {"id": ids[0]}))


def _filters(queue: str | None, type: str | None, tag: list[str] | None, group: str | None, state: str | None) -> dict[str, Any]:
    """The filters of --all, as requests have them."""
    return {"queue": queue, "type": type, "state": state, "tags": pairs(tag, "--tag"), "group": group}


def command_of(action: Action) -> Callable[..., None]:
    """Make the command of an action. It has an option --state if the request names the state."""

    def command(
        session: Session,
        id: IDS = None,
        every: EVERY = False,
        queue: QUEUE = None,
        type: TYPE = None,
        state: str | None = None,
        tag: TAGS = None,
        group: GROUP = None,
        yes: YES = False,
    ) -> None:
        act(session, action, id, every, yes, _filters(queue, type, tag, group, state))

    option = typer.Option("--state", metavar="STATE", help=f"with --all: {action.choice}", autocompletion=job_states)
    signature = inspect.signature(command, eval_str=True)
    parameters = [
        each.replace(annotation=Annotated[str | None, option]) if each.name == "state" else each
        for each in signature.parameters.values()
        if each.name != "state" or action.asks_state
    ]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__name__, command.__doc__ = action.word, action.help
    return command
