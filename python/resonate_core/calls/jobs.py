"""The calls of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from .._core import Job, JobBatch, JobHeartbeat, value_members
from ..base.argument_errors import unexpected
from ..errors import Invalid
from .call import Call, Data, Repeated, Together, nothing
from .values import (
    Duration,
    Instant,
    boolean,
    camel,
    duration,
    given,
    held,
    instant,
    integer,
    items,
    json_members,
    number,
    retention,
    string_map,
    text,
    texts,
)

__all__ = [
    "archive",
    "archive_all",
    "cancel",
    "cancel_all",
    "claim",
    "complete",
    "complete_many",
    "delete",
    "delete_all",
    "enqueue",
    "enqueue_many",
    "fail",
    "get",
    "heartbeat",
    "order",
    "release",
    "run",
    "run_all",
    "search",
    "snooze",
    "start",
    "start_many",
]

Retention = Duration | Literal["kept"]

#: How each option of an enqueue is written.
_WRITTEN: dict[str, Callable[[str, Any], Any]] = {
    "id": text,
    "queue": text,
    "tags": string_map,
    "priority": integer,
    "process_at": instant,
    "process_in": duration,
    "good_until": instant,
    "good_for": duration,
    "timeout": duration,
    "deadline": instant,
    "retention": retention,
    "max_retries": integer,
    "retry_policy": json_members,
    "on_exhausted": text,
    "lifecycle": text,
    "unique_key": text,
    "unique_for": duration,
    "group": text,
    "cancel_with_awaiters": boolean,
    "sent_at": instant,
}
_NAMES = {name: camel(name) for name in _WRITTEN}
_OPTIONS = (*_WRITTEN, "headers")


def _read(answer: Data | Job) -> Job:
    return answer if isinstance(answer, Job) else Job.from_dict(answer["job"])


def _batch(answers: list[Data]) -> JobBatch:
    return JobBatch.from_dict({"jobs": [answer["job"] for answer in answers]})


def _held(id: str, version: int) -> Data:
    return {"id": text("id", id), "version": integer("version", version)}


def order(type: str, payload: Any, options: Mapping[str, Any], name: str = "payload") -> Data:
    """The data of job.enqueue.

    Example:
        >>> from resonate_core.calls.jobs import order
        >>> order("mail", None, {"process_in": 5, "retention": "kept"})
        {'type': 'mail', 'processIn': 5, 'retention': None}
    """
    data: Data = {"type": text("type", type)}
    for option, value in options.items():
        if option not in _OPTIONS:
            raise TypeError(unexpected("enqueue", option, _OPTIONS))
        if value is not None and option != "headers":
            data[_NAMES[option]] = _WRITTEN[option](option, value)
    if value := value_members(payload, options.get("headers"), name):
        data["payload"] = value
    return data


def enqueue(
    type: str,
    payload: Any = None,
    *,
    id: str | None = None,
    headers: Mapping[str, str] | None = None,
    queue: str | None = None,
    tags: Mapping[str, str] | None = None,
    priority: int | None = None,
    process_at: Instant | None = None,
    process_in: Duration | None = None,
    good_until: Instant | None = None,
    good_for: Duration | None = None,
    timeout: Duration | None = None,
    deadline: Instant | None = None,
    retention: Retention | None = None,
    max_retries: int | None = None,
    retry_policy: Mapping[str, Any] | None = None,
    on_exhausted: str | None = None,
    lifecycle: str | None = None,
    unique_key: str | None = None,
    unique_for: Duration | None = None,
    group: str | None = None,
    cancel_with_awaiters: bool | None = None,
    sent_at: Instant | None = None,
) -> Call[Job]:
    """job.enqueue. It can run twice if it names the id of its job."""
    options = dict(locals())
    del options["type"], options["payload"]
    return Call("job.enqueue", order(type, payload, options), _read, id is not None)


def enqueue_many(
    type: str,
    payloads: Iterable[Any],
    *,
    ids: Iterable[str] | None = None,
    headers: Mapping[str, str] | None = None,
    queue: str | None = None,
    tags: Mapping[str, str] | None = None,
    priority: int | None = None,
    process_at: Instant | None = None,
    process_in: Duration | None = None,
    good_until: Instant | None = None,
    good_for: Duration | None = None,
    timeout: Duration | None = None,
    deadline: Instant | None = None,
    retention: Retention | None = None,
    max_retries: int | None = None,
    retry_policy: Mapping[str, Any] | None = None,
    on_exhausted: str | None = None,
    lifecycle: str | None = None,
    group: str | None = None,
    cancel_with_awaiters: bool | None = None,
    sent_at: Instant | None = None,
) -> Together[JobBatch]:
    """One job.enqueue for each payload."""
    options = dict(locals())
    del options["type"], options["payloads"], options["ids"]
    several = items("payloads", payloads, "an iterable of payloads")
    named: list[str | None] = [None] * len(several)
    if ids is not None:
        named = [*texts("ids", ids)]
        if len(named) != len(several):
            raise Invalid(f"ids must have as many entries as payloads ({len(several)}), got {len(named)}")
    shared = order(type, None, options)
    calls = []
    for id, payload in zip(named, several, strict=True):
        data = dict(shared)
        if id is not None:
            data["id"] = id
        if value := value_members(payload, headers, "payloads"):
            data["payload"] = value
        calls.append(Call("job.enqueue", data, _read, id is not None))
    return Together(calls, _batch)


def get(id: str) -> Call[Job]:
    """job.get."""
    return Call("job.get", {"id": text("id", id)}, _read, True)


def _queues(queues: str | Iterable[str] | Mapping[str, int]) -> list[Any]:
    if isinstance(queues, str):
        return [text("queues", queues)]
    if isinstance(queues, Mapping):
        return [{"name": text("queues", name), "weight": integer("queues", weight)} for name, weight in queues.items()]
    return [*texts("queues", queues)]


def claim(
    queues: str | Iterable[str] | Mapping[str, int],
    count: int | None = None,
    *,
    worker: str,
    lease: Duration,
    run_lease: Duration | None = None,
    strict: bool | None = None,
    start: int | None = None,
) -> Call[JobBatch]:
    """job.claim."""
    data = given(
        queues=_queues(queues),
        count=None if count is None else integer("count", count),
        worker=text("worker", worker),
        lease=duration("lease", lease),
        runLease=None if run_lease is None else duration("run_lease", run_lease),
        strict=strict,
        start=None if start is None else integer("start", start),
    )
    return Call("job.claim", data, JobBatch.from_dict)


def start(id: str, version: int, *, lease: Duration | None = None) -> Call[Job]:
    """job.start."""
    more = {} if lease is None else {"lease": duration("lease", lease)}
    return Call("job.start", {**_held(id, version), **more}, _read)


def _statuses(answer: Data) -> list[int]:
    return [item["status"] for item in answer["jobs"]]


_NONE: Together[list[int]] = Together((), lambda answers: [])


def start_many(jobs: Iterable[tuple[str, int]], *, lease: Duration | None = None) -> Call[list[int]] | Together[list[int]]:
    """job.start_many."""
    data: Data = {"jobs": held("jobs", jobs)}
    if lease is not None:
        data["lease"] = duration("lease", lease)
    return Call("job.start_many", data, _statuses) if data["jobs"] else _NONE


def heartbeat(worker: str, jobs: Iterable[tuple[str, int]]) -> Call[JobHeartbeat]:
    """job.heartbeat."""
    data = {"worker": text("worker", worker), "jobs": held("jobs", jobs)}
    return Call("job.heartbeat", data, JobHeartbeat.from_dict, True)


def complete(id: str, version: int, result: Any = None, *, headers: Mapping[str, str] | None = None) -> Call[Job]:
    """job.complete."""
    return Call("job.complete", {**_held(id, version), "result": value_members(result, headers, "result")}, _read)


def complete_many(jobs: Iterable[tuple[str, int, Any]]) -> Call[list[int]] | Together[list[int]]:
    """job.complete_many."""
    expected = "an iterable of (id, version, result)"
    made = []
    for one in items("jobs", jobs, expected):
        parts = items("jobs", one, expected)
        if len(parts) != 3:
            raise Invalid(f"jobs must contain (id, version, result), got {one!r}")
        id, version = text("jobs", parts[0]), integer("jobs", parts[1])
        made.append({"id": id, "version": version, "result": value_members(parts[2], None, "jobs")})
    return Call("job.complete_many", {"jobs": made}, _statuses) if made else _NONE


def fail(
    id: str,
    version: int,
    code: str,
    message: str | None = None,
    data: str | None = None,
    *,
    retryable: bool | None = None,
    retry_after: Duration | None = None,
) -> Call[Job]:
    """job.fail."""
    error = given(
        code=text("code", code),
        message="" if message is None else text("message", message),
        data=None if data is None else text("data", data),
    )
    more = given(retryable=retryable, retryAfter=None if retry_after is None else duration("retry_after", retry_after))
    return Call("job.fail", {**_held(id, version), "error": error, **more}, _read)


def release(id: str, version: int) -> Call[Job]:
    """job.release."""
    return Call("job.release", _held(id, version), _read)


def snooze(id: str, version: int, delay: Duration) -> Call[Job]:
    """job.snooze."""
    return Call("job.snooze", {**_held(id, version), "delay": duration("delay", delay)}, _read)


def report(id: str, version: int, *, progress: float | None = None, lines: str | Iterable[str] | None = None) -> Call[Job]:
    """job.report."""
    if isinstance(lines, str):
        lines = [lines]
    said = None if lines is None else texts("lines", lines)
    more = given(progress=None if progress is None else number("progress", progress), lines=said)
    return Call("job.report", {**_held(id, version), **more}, _read)


def cancel(id: str) -> Call[Job]:
    """job.cancel of one."""
    return Call("job.cancel", {"id": text("id", id)}, _read)


def run(id: str) -> Call[Job]:
    """job.run of one."""
    return Call("job.run", {"id": text("id", id)}, _read)


def archive(id: str) -> Call[Job]:
    """job.archive of one."""
    return Call("job.archive", {"id": text("id", id)}, _read)


def delete(id: str) -> Call[None]:
    """job.delete of one."""
    return Call("job.delete", {"id": text("id", id)}, nothing)


def _counted(answer: Data) -> tuple[int, bool]:
    return answer["count"], answer.get("more", False)


def _filter(state: str | None, queue: str | None, type: str | None, tags: Mapping[str, str] | None, group: str | None) -> Data:
    return given(
        state=None if state is None else text("state", state),
        queue=None if queue is None else text("queue", queue),
        type=None if type is None else text("type", type),
        tags=None if tags is None else string_map("tags", tags),
        group=None if group is None else text("group", group),
    )


def _all(kind: str, data: Data) -> Repeated:
    return Repeated(lambda: Call(kind, dict(data), _counted))


def cancel_all(
    *, queue: str | None = None, type: str | None = None, tags: Mapping[str, str] | None = None, group: str | None = None
) -> Repeated:
    """job.cancel of all that match."""
    return _all("job.cancel", _filter(None, queue, type, tags, group))


def run_all(
    state: str,
    *,
    queue: str | None = None,
    type: str | None = None,
    tags: Mapping[str, str] | None = None,
    group: str | None = None,
) -> Repeated:
    """job.run of all that match."""
    return _all("job.run", _filter(state, queue, type, tags, group))


def archive_all(
    state: str,
    *,
    queue: str | None = None,
    type: str | None = None,
    tags: Mapping[str, str] | None = None,
    group: str | None = None,
) -> Repeated:
    """job.archive of all that match."""
    return _all("job.archive", _filter(state, queue, type, tags, group))


def delete_all(
    state: str,
    *,
    queue: str | None = None,
    type: str | None = None,
    tags: Mapping[str, str] | None = None,
    group: str | None = None,
) -> Repeated:
    """job.delete of all that match."""
    return _all("job.delete", _filter(state, queue, type, tags, group))


def search(
    id: str | None = None,
    *,
    queue: str | None = None,
    type: str | None = None,
    state: str | None = None,
    tags: Mapping[str, str] | None = None,
    group: str | None = None,
    unique_key: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[JobBatch]:
    """job.search."""
    data = given(
        id=None if id is None else text("id", id),
        **_filter(state, queue, type, tags, group),
        uniqueKey=None if unique_key is None else text("unique_key", unique_key),
        limit=None if limit is None else integer("limit", limit),
        cursor=None if cursor is None else text("cursor", cursor),
    )
    return Call("job.search", data, JobBatch.from_dict, True)
