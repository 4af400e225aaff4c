"""The call tree of a workflow, from its promises: the caller of each call, and the promises that it awaits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from .._core import Promise
from ..base.failed_attempts import FailedAttempt, failed_attempts
from ..base.first_few import first_few
from ..base.instants import NEVER, length, moment
from ..base.page_progress import PageProgress
from ..base.payloads import decoded
from ..base.step_lines import ToldStep
from ..calls.workflow_records import TOPIC_TAG, RecordKind, Step, began_at, called_in, kind_of, retry_in
from .workflow_steps import steps_that_run, told

__all__ = ["CallNode", "RequestSender", "calls_of", "family_of", "function_of", "in_order"]

#: The most awaited ids that a note names.
_NAMED = 3
_ORIGIN, _PARENT, _SCOPE = "resonate:origin", "resonate:parent", "resonate:scope"


class RequestSender(Protocol):
    """A store, a server, or an object that sends requests of the protocol to one of them."""

    def send(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a reply, or raise the error of its refusal."""
        ...

    def pages(self, kind: str, member: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield every record that a search finds, page after page.

        Raises:
            NoEnvelope: The pages have no end.
        """
        cursor: str | None = data.get("cursor")
        progress = PageProgress(kind)
        while True:
            page = self.send(kind, {**data, **({} if cursor is None else {"cursor": cursor})})
            yield from page[member]
            cursor = page.get("cursor")
            if cursor is None:
                return
            progress.check(cursor, len(page[member]))

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[int, Any]]:
        """Return status and data of each reply, refusals included, in order."""
        ...


@dataclass
class CallNode:
    """One promise of a workflow, with its task and its job if it has them, its failure if it is tried again, and the calls that it made.

    A job that waits for one of its own steps does not run it: then the step is `awaited`. A job that runs has the `steps` that run in it.
    """

    promise: dict[str, Any]
    task: dict[str, Any] | None = None
    job: dict[str, Any] | None = None
    failed: FailedAttempt | None = None
    children: list[CallNode] = field(default_factory=list)
    awaited: bool = False
    steps: list[ToldStep] = field(default_factory=list)
    earliest: int = 0

    @property
    def id(self) -> str:
        """Its promise's id."""
        return str(self.promise["id"])

    @property
    def state(self) -> str:
        """Its promise's state."""
        return str(self.promise["state"])

    @cached_property
    def kind(self) -> RecordKind | None:
        """Which record of a workflow it is; None: it is none."""
        return kind_of(self.promise)

    @property
    def func(self) -> str | None:
        """The called function, if the param has the form of the SDKs; of a job, its type; of a step of a workflow, its name."""
        if self.job is not None:
            return str(self.job["type"])
        if self.kind is not None:
            return called_in(self.promise).removeprefix("job " if self.kind == "job" else "")
        return function_of(self.promise["param"])

    @cached_property
    def step(self) -> Step | None:
        """The record of a workflow that it is, which has its attempts, its result and its error; None: it is none."""
        return None if self.kind is None else Step.of(Promise.from_dict(self.promise))

    @property
    def waits_for(self) -> list[str]:
        """The ids of its own calls that a suspended call waits for; of a waiting job, those that its record names."""
        if self.job is not None:
            return list(self.job.get("awaits", {}).get("ids", ()))
        if self.task is None or self.task.get("state") != "suspended":
            return []
        return [child.id for child in self.children if child.state == "pending"]

    @cached_property
    def began_at(self) -> int:
        """When it began, in Unix ms. A record that a fork has copied begins with the fork."""
        return max(began_at(self.promise), self.earliest)

    def took(self, now: int) -> int:
        """The ms from its beginning to its end, or to now."""
        return max(int(self.promise.get("settledAt", now)) - self.began_at, 0)

    def note(
        self,
        now: int,
        shown: Callable[[FailedAttempt], str] = lambda failed: failed.error,
        error_of: Callable[[str, str], str] = lambda id, error: error,
    ) -> str:
        """Return its present work or wait; of a step that has ended, why it failed and how often it was tried. Otherwise empty.

        Args:
            now: The present instant, in Unix ms.
            shown: Returns the error of a failed attempt as it may be shown.
            error_of: Returns an error of the record with an id as it may be shown.
        """

        def own(error: str) -> str:
            return error_of(self.id, error)

        if self.state != "pending":
            return self._end(own)
        retry = retry_in(self.promise)
        if retry is not None:
            after = "" if retry.error is None else f", after {own(str(retry.error))}"
            return f"attempt {retry.failed + 1} begins at {_left(int(self.promise['timeoutAt']), now)}{after}"
        note = self._note(now)
        if self.steps:
            note += f"; {told(self.steps, now, own)}"
        return note if self.failed is None else f"{note}; {self.failed.told(now, shown(self.failed))}"

    def _end(self, own: Callable[[str], str]) -> str:
        if self.job is not None and "error" in self.job and self.state != "resolved":
            return own(f"{self.job['error']['code']}: {self.job['error'].get('message', '')}".removesuffix(": "))
        if self.kind in (None, "job", "message") or self.step is None:
            return ""
        error = "" if self.step.error is None else own(str(self.step.error))
        if self.kind == "retry" and error:
            return f"after {error}"
        tried = f"in attempt {self.step.attempts}" if self.step.attempts > 1 else ""
        return ", ".join(filter(None, (error, tried)))

    def _note(self, now: int) -> str:
        tags = tags_of(self.promise)
        deadline = int(self.promise["timeoutAt"])
        left = _left(deadline, now)
        target = tags.get("resonate:target") or tags.get("resonate:invoke")
        if tags.get("resonate:timer") == "true":
            return f"sleeps until {left}"
        if self.job is not None:
            return _job_note(self.job, now, {child.id: called_in(child.promise) for child in self.children})
        if self.task is not None:
            state = self.task.get("state")
            if state == "acquired":
                return f"run by {self.task.get('pid')}"
            if state == "suspended":
                return f"waits for {', '.join(self.waits_for)}" if self.waits_for else "suspended"
            if state == "halted":
                return "halted, until a person continues it"
            delay = tags.get("resonate:delay", "")
            if delay.isascii() and delay.isdigit() and int(delay) > now:
                return f"delayed until {moment(int(delay))}"
            return f"waits for a worker at {target}" if target else "waits for a worker"
        if TOPIC_TAG in tags and _PARENT in tags:
            return f"waits for a message of topic {tags[TOPIC_TAG]}"
        if tags.get(_SCOPE) == "local" and not self.awaited:
            return "run by its caller"
        return "waits to be settled" if deadline == NEVER else f"waits to be settled, until {left}"


def _left(at: int, now: int) -> str:
    return f"{moment(at)}" + (f" (in {length(at - now)})" if 0 < at - now < 366 * 86_400_000 else "")


def function_of(param: Mapping[str, Any]) -> str | None:
    """Return the function that a promise calls, if its param has the form of the SDKs; otherwise None.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.explain.call_tree import function_of
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> promise = store.promises.create("a", timeout=1000, param={"func": "charge", "args": [3]})
        >>> function_of(promise.param.to_dict()), function_of({"data": "?"}), function_of({})
        ('charge', None, None)
    """
    call = decoded(param).content
    func = call.get("func") if isinstance(call, dict) else None
    return func if isinstance(func, str) else None


def _job_note(job: dict[str, Any], now: int, names: Mapping[str, str]) -> str:
    """Describe the state of a job that has not ended; its own calls by their names, if they have some."""
    state, queue = job["state"], job["queue"]
    if job.get("gathering"):
        return f"gathers in queue {queue}, group {job['group']}"
    moves = job.get("processAt" if state == "scheduled" else "nextRetryAt", now)
    due = f"{moment(moves)}" + (f" (in {length(moves - now)})" if moves > now else "")
    failed = f", after {job['error']['code']}" if "error" in job else ""
    notes = {
        "scheduled": f"due in queue {queue} at {due}",
        "waiting": _awaited(job, names),
        "pending": f"waits for a worker of queue {queue}{failed}",
        "claimed": f"claimed by {job.get('claimedBy')}",
        "running": f"run by {job.get('claimedBy')}",
        "retry": f"retry {job['retryCount']} of {job['maxRetries']} at {due}{failed}",
        "archived": f"archived until `jobs run`{failed}",
    }
    return notes.get(str(state), "")


def _awaited(job: dict[str, Any], names: Mapping[str, str]) -> str:
    """Return what a waiting job lacks: the first ids, and how many more there are."""
    awaits = job.get("awaits", {"ids": [], "count": 0})
    ids = [f"{id} ({names[id]})" if names.get(id) else id for id in awaits["ids"]]
    return f"waits for {first_few(ids, _NAMED, awaits['count'])}"


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which child 10 comes after child 9."""
    return [(1, int(part), "") if part.isascii() and part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", text)]


def _parent(promise: dict[str, Any], known: dict[str, CallNode]) -> str | None:
    """Return the caller: the one in the tag, else the longest id that this id begins with. What tells of its attempts is below a step."""
    id, named = promise["id"], tags_of(promise).get(_PARENT)
    step = str(id).rpartition(":")[0]
    if step in known and known[step].kind == "step":
        return step
    if named in known and named != id:
        return str(named)
    return next((id[:end] for end in range(len(id) - 1, 0, -1) if id[end] in ".:" and id[:end] in known), None)


def tags_of(promise: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the tags of a promise's record; a server that leaves them out has none."""
    tags: Mapping[str, str] = promise.get("tags") or {}
    return tags


def family_of(target: RequestSender, promise: Mapping[str, Any], *, most: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield every promise that may belong to the workflow of a promise, each once, except the promise itself.

    These are the promises of its origin, and those whose ids extend its own: detached and untagged calls.

    Args:
        target: Where they are.
        promise: The root of a workflow, or any call in it.
        most: The most of them.
    """
    id = promise["id"]
    seen = {id}
    queries: list[dict[str, Any]] = [{"tags": {_ORIGIN: tags_of(promise).get(_ORIGIN, id)}}, {"id": f"{id}.*"}, {"id": f"{id}:*"}]
    for query in queries:
        for found in target.pages("promise.search", "promises", {**query, "limit": 1000}):
            if most is not None and len(seen) > most:
                return
            # A star in the id itself is a wildcard of the search too.
            if found["id"] not in seen and ("tags" in query or found["id"].startswith(query["id"][:-1])):
                seen.add(found["id"])
                yield found


def calls_of(
    target: RequestSender, id: str, *, family: Callable[[Mapping[str, Any]], Iterable[dict[str, Any]]] | None = None
) -> CallNode:
    """The call tree below a promise.

    Args:
        target: Where it is.
        id: The root of a workflow, or any call in it.
        family: Returns the other promises of the workflow of a promise; by default `family_of`.

    Returns:
        The call of that id, with those that it made.

    Raises:
        Exception: There is no such promise, or the target cannot search: what `send` of the target raises for a refusal.
    """
    root: dict[str, Any] = target.send("promise.get", {"id": id})["promise"]
    others = family_of(target, root) if family is None else family(root)
    known: dict[str, CallNode] = {id: CallNode(root)} | {promise["id"]: CallNode(promise) for promise in others}
    parents = {each: _parent(call.promise, known) for each, call in known.items() if each != id}
    for each in parents:
        seen = {each}
        above = parents[each]
        while above is not None and above != id and above not in seen:
            seen.add(above)
            above = parents[above]
        if above in seen and above == each:  # clients choose tags: a circle of parents is shown below the root
            parents[each] = id
    is_whole = tags_of(root).get(_ORIGIN, id) == id
    for each, above in parents.items():
        if above is not None or is_whole:
            known[above or id].children.append(known[each])
        owner = known.get(tags_of(known[each].promise).get(_PARENT, ""))
        if owner is not None:
            known[each].earliest = int(owner.promise["createdAt"])
    for call in known.values():
        call.children.sort(key=lambda child: (child.began_at, _natural(child.id)))
    tree = known[id]
    pending = [call for call, _ in in_order(tree) if call.state == "pending"]
    _add_tasks(target, pending)
    _add_failures(target, pending)
    for call in pending:
        awaits = () if call.job is None else call.job.get("awaits", {}).get("ids", ())
        for child in call.children:
            child.awaited = child.id in awaits
        if call.job is not None:
            call.steps = steps_that_run(
                call.job, lambda ids: [one for one in ids if one in known and known[one].state != "pending"]
            )
    return tree


def _add_tasks(target: RequestSender, calls: list[CallNode]) -> None:
    """Add the tasks and jobs of pending calls; those of settled calls add nothing."""
    for call, (status, data) in zip(calls, target.ask_all([("task.get", {"id": call.id}) for call in calls]), strict=True):
        if status == 200:
            call.task = data["task"]
    # Each job has a task. Without a job, or on a server without jobs, the status is not 200.
    calls = [call for call in calls if call.task is not None]
    for call, (status, data) in zip(calls, target.ask_all([("job.get", {"id": call.id}) for call in calls]), strict=True):
        if status == 200:
            call.job = data["job"]


def _add_failures(target: RequestSender, calls: list[CallNode]) -> None:
    """Add the failed attempts of pending calls that a worker of this process tries again."""
    store = getattr(target, "store", None)
    if store is None:  # a server: only its own process knows them
        return
    by_id = {call.id: call for call in calls}

    def task_of(id: str) -> dict[str, Any] | None:
        if id in by_id:
            return by_id[id].task
        status, data = target.ask_all([("task.get", {"id": id})])[0]
        return data["task"] if status == 200 else None

    for failed in failed_attempts(store).held(task_of, ids=by_id):
        if failed.id in by_id:
            by_id[failed.id].failed = failed


def in_order(root: CallNode) -> Iterator[tuple[CallNode, int]]:
    """Yield every call with its depth, callers first; without recursion, since workflows may be deeper than Python's stack."""
    waiting = [(root, 0)]
    while waiting:
        call, depth = waiting.pop()
        yield call, depth
        waiting.extend((child, depth + 1) for child in reversed(call.children))
