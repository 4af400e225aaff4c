"""``resonate-core workflows rehearse``: runs the code of a worker on the histories of all workflows in flight, before it is deployed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from resonate_core._core import Job, Promise
from resonate_core.base.instants import counted
from resonate_core.calls.workflow_records import WORKFLOW_TAG
from resonate_core.cli.command import Session
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.jobs_options import QUEUE, TYPE
from resonate_core.cli.jobs_table import Column, fitted, text
from resonate_core.cli.options import MATCH
from resonate_core.cli.show import Output, put, say
from resonate_core.cli.target import Target, refusal
from resonate_core.cli.worker import FOLDER, PLACE, found

if TYPE_CHECKING:
    from resonate_core.worker.replays import Replayed
    from resonate_core.worker.workflow_task import WorkflowTask

__all__ = ["IN_FLIGHT", "Rehearsal", "rehearsals", "rehearse"]

T = TypeVar("T")

#: The states of workflows that continue some day, also after a command of a person.
IN_FLIGHT = ("waiting", "pending", "claimed", "running", "retry", "archived")
#: What ends the command with FAILED: the code does not fit what is recorded, or that cannot be found out.
_BAD = ("diverges", "unknown")
_ROW = ("id", "type", "state", "outcome", "next", "place")
#: Seconds that the code of one workflow may await something that is no call.
_LIMIT = 2.0
#: How often a workflow is read that runs on meanwhile.
_LOOKS = 3
_COLOURS = {"diverges": "red", "unknown": "red", "raises": "magenta", "continues": "green"}


@dataclass(frozen=True)
class Rehearsal:
    """What the code does with one workflow.

    Attributes:
        job: The workflow, as on the wire.
        outcome: As of `resonate_core.workflow.Replayed`; ``diverges``; ``unknown``: its code awaits something that is no call.
        said: The calls at which the code stands, or why it diverges.
        next: These calls.
    """

    job: Mapping[str, Any]
    outcome: str
    said: str
    next: tuple[Any, ...] = ()

    @property
    def place(self) -> str:
        """The places of the calls at which the code stands."""
        return ", ".join(dict.fromkeys(call.place for call in self.next))

    @property
    def what(self) -> str:
        """Its outcome and the names of its calls, by which workflows are counted."""
        names = " and ".join(dict.fromkeys(call.name for call in self.next if call.begun == (self.outcome == "waits")))
        return {"continues": f"continues with {names}", "waits": f"waits for {names}"}.get(self.outcome, self.outcome)

    def document(self) -> dict[str, Any]:
        """Return it for programs."""
        shown: dict[str, Any] = {name: self.job[name] for name in ("id", "type", "queue", "state")}
        shown["outcome"] = self.outcome
        if self.next:
            shown["next"] = [call._asdict() for call in self.next]
        else:
            shown["message"] = self.said
        return shown


class _Reader:
    """Reads what jobs have waited for before their start."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        """Return promises; None for one that does not exist."""
        found: list[Promise | None] = []
        for status, data in self._target.ask_all([("promise.get", {"id": id}) for id in ids]):
            if status >= 400 and status != 404:
                raise refusal(status, data)
            found.append(None if status == 404 else Promise.from_dict(data["promise"]))
        return found

    async def apart(self, function: Callable[[], T]) -> T:
        """Call a function."""
        return function()


def rehearsals(
    target: Target, workflows: Mapping[str, WorkflowTask[..., Any]], queue: str | None = None, id: str | None = None
) -> Iterator[Rehearsal]:
    """Yield what the code does with each workflow in flight, one after the other. Nothing is written.

    Args:
        target: The store.
        workflows: The code, by type.
        queue: Only those of this queue.
        id: Only those whose ids match this pattern.

    Raises:
        CommandFailed: The store cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from resonate_core.cli.target import Access, FileTarget
        >>> from resonate_core.cli.workflows_rehearse import rehearsals
        >>> from resonate_core.workflow import sleep
        >>> worker = rc.worker.Worker()
        >>> @worker.workflow("remind")
        ... async def remind() -> None:
        ...     await sleep(86_400_000)
        >>> with TemporaryDirectory() as folder, FileTarget(Path(folder, "a.db"), Access.MAKE) as target:
        ...     worker.bind(target.store)
        ...     _ = remind.using(id="r").delay()
        ...     [(one.job["id"], one.what) for one in rehearsals(target, {"remind": remind})]
        [('r', 'continues with sleep')]
    """
    filters = {name: value for name, value in (("queue", queue), ("id", id)) if value is not None}
    for type, workflow in workflows.items():
        for state in IN_FLIGHT:
            data = {**filters, "type": type, "state": state, "tags": {WORKFLOW_TAG: "true"}, "limit": 1000}
            for job in target.pages("job.search", "jobs", data):
                rehearsed = _rehearsed(target, workflow, job)
                if rehearsed is not None:
                    yield rehearsed


def _rehearsed(target: Target, workflow: WorkflowTask[..., Any], job: dict[str, Any]) -> Rehearsal | None:
    """Rehearse one workflow; None: it has ended meanwhile. It may run on while it is read: a divergence is checked again."""
    for look in range(_LOOKS):
        rehearsal = _look(target, workflow, job)
        if rehearsal is None or rehearsal.outcome != "diverges" or look == _LOOKS - 1:
            return rehearsal
        status, data = target.ask("job.get", {"id": job["id"]})
        if status == 404:
            return None
        if status != 200:
            raise refusal(status, data)
        if data["job"]["version"] == job["version"] and data["job"].get("restarts") == job.get("restarts"):
            return rehearsal
        job = data["job"]
        if job["state"] not in IN_FLIGHT:
            return None
    return None


def _look(target: Target, workflow: WorkflowTask[..., Any], job: Mapping[str, Any]) -> Rehearsal | None:
    from resonate_core.worker.replays import rehearse as replayed
    from resonate_core.workflow import HistoryTooLong, NonDeterministic

    try:
        pages = target.pages("job.history", "promises", {"id": job["id"], "limit": 1000})
        records = {record["id"]: Promise.from_dict(record) for record in pages} if job.get("steps") else {}
    except CommandFailed as error:
        if error.status == 404:
            return None
        raise
    try:
        replay: Replayed = replayed(workflow, Job.from_dict(dict(job)), records, _Reader(target), _LIMIT)
    except (NonDeterministic, HistoryTooLong) as diverged:
        return Rehearsal(job, "diverges", str(diverged))
    except TimeoutError as late:
        return Rehearsal(job, "unknown", str(late))
    return Rehearsal(job, replay.outcome, str(replay).removeprefix(f"{replay.outcome} "), replay.next)


def _workflows_of(place: str, folder: Path, type: str | None) -> dict[str, Any]:
    """Return the workflows of a worker, by type.

    Raises:
        CommandFailed: There are none (USAGE).
    """
    from resonate_core.worker import Worker

    worker = found(place, folder)
    if not isinstance(worker, Worker):
        raise CommandFailed(f"{place!r} must be a Worker, got {worker.__class__.__name__}", Exit.USAGE)
    known = {name: task for name, task in sorted(worker.tasks.items()) if task.is_workflow}
    if not known:
        raise CommandFailed(f"{place!r} has no workflows", Exit.USAGE)
    if type is not None and type not in known:
        raise CommandFailed(f"--type: {place!r} has no workflow {type!r}; it has {', '.join(known)}", Exit.USAGE)
    return known if type is None else {type: known[type]}


def rehearse(
    session: Session,
    place: PLACE,
    folder: FOLDER = Path("."),
    queue: QUEUE = None,
    type: TYPE = None,
    id: MATCH = None,
) -> None:
    """Run the code of a worker on the histories of its workflows in flight: no step runs, and nothing is written.

    It says for each of them what the code does next, or where it does not do what is recorded. Do it before a deploy.
    Exit code: 0 each of them fits, 1 the code of one diverges, or awaits something that is no call.
    """
    workflows = _workflows_of(place, folder, type)
    one_by_one = rehearsals(session.target, workflows, queue, id)
    counts: Counter[str] = Counter()
    try:
        _show(session.out, _counted(one_by_one, counts), counts)
    finally:
        one_by_one.close()  # type: ignore[attr-defined]
    if any(counts[outcome] for outcome in _BAD):
        raise typer.Exit(Exit.FAILED)


def _counted(found: Iterable[Rehearsal], counts: Counter[str]) -> Iterator[Rehearsal]:
    for rehearsal in found:
        counts[rehearsal.outcome] += 1
        yield rehearsal


def _show(out: Output, found: Iterable[Rehearsal], counts: Counter[str]) -> None:
    if out.as_json:
        shown = [each.document() for each in found]
        out.json({"workflows": shown, "counts": dict(counts)})
        return
    if out.is_rich:
        _show_person(out, found)
    else:
        for each in found:
            out.table(_ROW, [(each.job["id"], each.job["type"], each.job["state"], each.outcome, each.said, each.place)])
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())
    say(f"{counted(sum(counts.values()), 'workflow')} in flight" + (f": {outcomes}" if outcomes else ""))


def _show_person(out: Output, found: Iterable[Rehearsal]) -> None:
    """Print those that diverge one by one, and count the others by what they do."""
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for each in found:
        if each.outcome in _BAD:
            out.draw(text(f"{each.job['id']} ({each.job['type']}, {each.job['state']}) {each.outcome}: {each.said}", "red"))
        group = groups.setdefault((each.job["type"], each.what, each.place), [each, 0])
        group[1] += 1
    if not groups:
        return
    columns = [
        Column("workflows", lambda group: text(f"{group[1]:,}"), right=True),
        Column("type", lambda group: text(group[0].job["type"])),
        Column("what they do", lambda group: text(group[0].what, _COLOURS.get(group[0].outcome, "")), elastic=True),
        Column("such as", lambda group: text(group[0].job["id"]), spared=1),
        Column("where", lambda group: text(group[0].place), spared=2, always=False),
    ]
    put()
    out.draw(fitted(columns, list(groups.values()), out.console.width))
