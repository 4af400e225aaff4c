"""How the reply to a request of each kind is read, and which requests may be sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._core import (
    Claim,
    Fenced,
    Job,
    JobBatch,
    JobHeartbeat,
    Promise,
    PromiseBatch,
    PromisePage,
    Schedule,
    SchedulePage,
    Suspension,
    Task,
    TaskPage,
)
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..base.states import ONE_OR_MANY
from .call import Data, RefusedAction, nothing, refusal

__all__ = ["REPLY_MEMBER", "batch_of_jobs", "batch_of_promises", "may_repeat", "reader_of"]


def _promise(answer: Data | Promise) -> Promise:
    return answer if isinstance(answer, Promise) else Promise.from_dict(answer["promise"])


def _promises(answer: Data | PromisePage) -> PromisePage:
    return answer if isinstance(answer, PromisePage) else PromisePage.from_dict(answer)


def _recorded(answer: Data | PromiseBatch) -> PromiseBatch:
    return answer if isinstance(answer, PromiseBatch) else PromiseBatch.from_dict(answer)


def _job(answer: Data | Job) -> Job:
    return answer if isinstance(answer, Job) else Job.from_dict(answer["job"])


def _schedule(answer: Data) -> Schedule:
    return Schedule.from_dict(answer["schedule"])


def _statuses(answer: Data) -> list[int]:
    return [item["status"] for item in answer["jobs"]]


def _counted(answer: Data) -> tuple[int, bool]:
    return answer["count"], answer.get("more", False)


def _fenced(answer: Data) -> Fenced:
    action = answer["action"]
    status = action["head"]["status"]
    if type(status) is int and 300 <= status < 600:
        raise RefusedAction(refusal(status, excerpt(action["data"], MOST_OF_A_REFUSAL)))
    return Fenced.from_dict({**answer, "promise": action["data"]["promise"]})


def _suspended(answer: Data) -> Suspension:
    return Suspension.from_dict({**answer, "status": 300 if "preload" in answer else 200})


def _queue(answer: Data) -> dict[str, Any]:
    return answer["queue"]  # type: ignore[no-any-return]


def _queues(answer: Data) -> list[dict[str, Any]]:
    return answer["queues"]  # type: ignore[no-any-return]


#: The member that the data of a reply must have, by the kind of the request. Replies to other kinds need none.
REPLY_MEMBER: Mapping[str, str] = {
    kind: member
    for member, kinds in {
        "promise": "promise.get promise.create promise.settle promise.register_callback promise.register_listener task.fulfill"
        " job.receive job.send",
        "promises": "promise.search job.record job.history",
        "task": "task.get",
        "tasks": "task.search",
        "schedule": "schedule.get schedule.create schedule.pause schedule.resume",
        "schedules": "schedule.search",
        "job": "job.enqueue job.get job.start job.complete job.fail job.release job.snooze job.report job.suspend job.start_over job.fork",
        "jobs": "job.search job.claim job.enqueue_many job.start_many job.complete_many",
        "queue": "queue.set queue.get queue.pause queue.resume",
        "queues": "queue.list job.stats",
    }.items()
    for kind in kinds.split()
}
_READ_MEMBER: Mapping[str, Callable[[Any], Any]] = {
    "promise": _promise,
    "promises": _promises,
    "task": lambda answer: Task.from_dict(answer["task"]),
    "tasks": TaskPage.from_dict,
    "schedule": _schedule,
    "schedules": SchedulePage.from_dict,
    "job": _job,
    "jobs": JobBatch.from_dict,
    "queue": _queue,
    "queues": _queues,
}
_READ: Mapping[str, Callable[[Any], Any]] = {
    **{kind: _READ_MEMBER[member] for kind, member in REPLY_MEMBER.items()},
    "job.record": _recorded,
    "task.create": Claim.from_dict,
    "task.acquire": Claim.from_dict,
    "task.release": nothing,
    "task.suspend": _suspended,
    "task.fence": _fenced,
    "task.heartbeat": nothing,
    "task.halt": nothing,
    "task.continue": nothing,
    "schedule.delete": nothing,
    "job.start_many": _statuses,
    "job.heartbeat": JobHeartbeat.from_dict,
    "job.complete_many": _statuses,
    "job.cancel": _job,
    "job.run": _job,
    "job.archive": _job,
    "job.delete": nothing,
}

#: The kinds of requests that can run twice with the effect and the reply of one run.
_AGAIN = frozenset(
    (
        "promise.create",
        "promise.get",
        "promise.settle",
        "promise.register_callback",
        "promise.register_listener",
        "promise.search",
        "task.get",
        "task.fence",
        "task.heartbeat",
        "task.halt",
        "task.search",
        "schedule.create",
        "schedule.get",
        "schedule.pause",
        "schedule.resume",
        "schedule.search",
        "job.get",
        "job.record",
        "job.receive",
        "job.history",
        "job.heartbeat",
        "job.search",
        "queue.set",
        "queue.get",
        "queue.pause",
        "queue.resume",
        "queue.list",
        "job.stats",
    )
)


def reader_of(kind: str, data: Data) -> Callable[[Any], Any]:
    """Return the function that makes the result of a request from the data of its reply.

    Example:
        >>> from resonate_core.calls.replies import reader_of
        >>> reader_of("job.complete_many", {"jobs": []})({"jobs": [{"status": 200}, {"status": 409}]})
        [200, 409]
    """
    return _counted if kind in ONE_OR_MANY and "id" not in data else _READ[kind]


def may_repeat(kind: str, data: Data) -> bool:
    """Return whether a request can run twice with the effect and the reply of one run.

    An enqueue can if it names the id of its job, a message if it has a key.

    Example:
        >>> from resonate_core.calls.replies import may_repeat
        >>> may_repeat("promise.get", {"id": "a"}), may_repeat("job.enqueue", {"type": "mail"})
        (True, False)
    """
    return kind in _AGAIN or (kind == "job.enqueue" and "id" in data) or (kind == "job.send" and "key" in data)


def batch_of_promises(answers: list[Data]) -> PromiseBatch:
    """Return the promises of the answers to several requests."""
    return PromiseBatch.from_dict({"promises": [answer["promise"] for answer in answers]})


def batch_of_jobs(answers: list[Data]) -> JobBatch:
    """Return the jobs of the answers to several requests."""
    return JobBatch.from_dict({"jobs": [answer["job"] for answer in answers]})
