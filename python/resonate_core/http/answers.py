"""What a server answers, judged before it is used: the one place that decides whether an answer is one of the protocol.

JSON becomes values within bounds, and the data of a reply a record by the descriptors of the core that also read requests
(`Promise.from_dict` and the like). Everything else is a `NoEnvelope`: no answer of a server raises another error, and none is used in part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .._core import Job, Message, Promise, Schedule, Task
from .._foreign_text import clean, excerpt
from ..base.json_numbers import finite, int64
from ..base.states import JOB_STATES, ONE_OR_MANY
from ..calls.call import RefusedAction
from ..calls.replies import REPLY_MEMBER
from ..errors import NoEnvelope, ResonateError

__all__ = ["bounded", "checked", "counted", "integer", "parsed", "result_of", "statuses_of", "text", "used"]

T = TypeVar("T")

#: The most members and items of one answer. Each takes 100 bytes or more in memory, and may take two in the answer.
_MOST_VALUES = 2_000_000
#: How deep an answer may be nested. That of a record is less than ten.
_DEEPEST = 64
_INT64 = range(-(2**63), 2**63)
#: The errors of reading an answer that is not the protocol's. A refusal inside an answer is `RefusedAction`, which is none of them.
_UNREADABLE = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


def parsed(text: bytes | str) -> Any:
    """Return the value of a JSON text of a server.

    Raises:
        ValueError: It is not JSON in UTF-8, or is beyond the bounds of an answer: 2,000,000 values, numbers of 64 bits.

    Example:
        >>> from resonate_core.http.answers import parsed
        >>> parsed(b'{"a": 1}')
        {'a': 1}
        >>> parsed(b"[" * 100_000)
        Traceback (most recent call last):
        ...
        ValueError: nested too deeply
    """
    if isinstance(text, bytes):
        text = text.decode()
    if text.count(",") + text.count("[") + text.count("{") > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES} values")
    try:
        return json.loads(text, parse_int=int64, parse_float=finite, parse_constant=finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def used(server: str, kind: str, read: Callable[[Any], T], data: Any) -> T:
    """Return what a function makes of the data of a reply.

    Args:
        server: Its name, for the error.
        kind: That of the request.
        read: Makes the result, by the descriptors of the core.
        data: Of the reply.

    Raises:
        NoEnvelope: The data are not those of such a reply.
        ResonateError: The reply holds a refusal.

    Example:
        >>> from resonate_core.http.answers import used
        >>> used("a server", "job.cancel", lambda data: data["count"], [1, 2])
        Traceback (most recent call last):
        ...
        resonate_core.errors.NoEnvelope: a server does not speak the protocol: its data of job.cancel are unusable: ...
    """
    try:
        return read(data)
    except RefusedAction as refused:
        raise refused.error from None
    except _UNREADABLE as error:
        why = clean(str(error)) if isinstance(error, ResonateError) else f"{type(error).__name__}: {clean(str(error)[:200])}"
        raise NoEnvelope(f"{server} does not speak the protocol: its data of {kind} are unusable: {why}") from error


# -- the data of each kind of request ---------------------------------------------------------------------------------------------


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be an object, got {excerpt(value)}")
    return value


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{name} must be an array, got {excerpt(value)}")
    return value


def integer(name: str, value: Any, least: int = -(2**63)) -> int:
    """An integer of 64 bits; a bool is none."""
    if type(value) is not int or value not in _INT64 or value < least:
        raise TypeError(f"{name} must be an integer of at least {least}, got {excerpt(value)}")
    return value


def text(name: str, value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {excerpt(value)}")
    return value


def _task(value: Any) -> object:
    task = _object("task", value)
    if "state" in task:
        return Task.from_dict(task)
    return text("task.id", task["id"]), integer("task.version", task["version"])  # how 2025-01-15 shows one


def _integers(name: str, value: Any, required: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
    """Check the integers of an object."""
    members = _object(name, value)
    for member in required:
        integer(f"{name}.{member}", members[member], 0)
    for member in more:
        if member in members:
            integer(f"{name}.{member}", members[member], 0)


def _defaults(value: Any) -> None:
    """Check the defaults of a queue as what they are: members of a job."""
    members = {name: member for name, member in _object("defaults", value).items() if member is not None}
    Job.from_dict({**_A_JOB, **{name: member for name, member in members.items() if name not in _A_JOB or name in _DEFAULTED}})
    if not isinstance(members.get("cancelWithAwaiters", False), bool):
        raise TypeError(f"cancelWithAwaiters must be a boolean, got {excerpt(members['cancelWithAwaiters'])}")


def _queue(value: Any) -> object:
    """Check a queue, or what is counted of one."""
    queue = _object("queue", value)
    if not isinstance(queue["paused"], bool):
        raise TypeError(f"paused must be a boolean, got {excerpt(queue['paused'])}")
    _integers(
        "queue", {name: member for name, member in queue.items() if member is not None}, ("active",), ("weight", "concurrency")
    )
    if queue.get("rate") is not None:
        _integers("rate", queue["rate"], ("limit", "per"), ("burst",))
    if queue.get("groups") is not None:
        _integers("groups", queue["groups"], ("size", "grace"), ("maxDelay",))
    if queue.get("defaults") is not None:
        _defaults(queue["defaults"])
    text("lifecycle", queue.get("lifecycle") or "")
    return text("name", queue["name"])


def _counts_of(value: Any) -> object:
    """Check what is counted of a queue."""
    queue = _object("queue", value)
    _integers("counts", queue["counts"], JOB_STATES)
    integer("latency", queue["latency"])
    for day in _list("days", queue["days"]):
        text("day", _object("days", day)["day"])
        _integers("days", day, ("processed", "failed"))
    return _queue(queue)


#: The least that a job has.
_A_JOB = {
    "id": "", "queue": "", "type": "", "state": "pending", "payload": {}, "tags": {}, "priority": 1, "version": 0, "maxRetries": 0,
    "retryCount": 0, "retryPolicy": {"kind": "asynq"}, "onExhausted": "archived", "attempts": [], "sentAt": 0, "enqueuedAt": 0,
}  # fmt: skip
_DEFAULTED = ("priority", "maxRetries", "retryPolicy", "onExhausted")
_RECORDS: dict[str, Callable[[Any], object]] = {
    "promise": Promise.from_dict,
    "invoked": Promise.from_dict,
    "awaited": Promise.from_dict,
    "task": _task,
    "schedule": Schedule.from_dict,
    "job": Job.from_dict,
    "queue": _queue,
}
_LISTS: dict[str, Callable[[Any], object]] = {
    "promises": Promise.from_dict,
    "preload": Promise.from_dict,
    "tasks": _task,
    "schedules": Schedule.from_dict,
    "queues": _queue,
}
#: Requests that answer each item of a list on its own.
_ITEMS = ("job.enqueue_many", "job.start_many", "job.complete_many")
#: The nouns of requests whose reply is the record that they name.
_OWN = ("promise", "task", "schedule", "job")


def checked(request: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """Return the data of a reply that was not refused, as they are, if they are those of the protocol.

    Args:
        request: The envelope that was answered.
        data: Of the reply.

    Raises:
        TypeError: They are not; other errors of reading too. Call it by `used`.

    Example:
        >>> from resonate_core.http.answers import checked
        >>> checked({"kind": "queue.list", "data": {}}, {"queues": []})
        {'queues': []}
        >>> checked({"kind": "queue.list", "data": {}}, {"queues": 5})
        Traceback (most recent call last):
        ...
        TypeError: queues must be an array, got 5
    """
    kind, asked = request["kind"], request["data"]
    _object("data", data)
    bounded(data)
    needed = REPLY_MEMBER.get(kind)
    if kind in ONE_OR_MANY:
        needed = "job" if "id" in asked and kind != "job.delete" else None
        if "id" not in asked:
            counted(data)
    if needed is not None and needed not in data:
        raise KeyError(f"{needed} is missing")
    if isinstance(data.get("data"), dict) and isinstance(data.get("kind"), str):  # an acquire of 2025-01-15
        data_of_records: dict[str, Any] = data["data"]
    else:
        data_of_records = data
    if kind == "debug.snap":  # rows as they are stored
        for one in _list("messages", data["messages"]):
            Message.from_dict(one)
        return dict(data)
    for member, read in _RECORDS.items():
        if member in data_of_records:
            read(data_of_records[member])
    for member, read in _LISTS.items():
        if member in data_of_records:
            for one in _list(member, data_of_records[member]):
                (_counts_of if kind == "job.stats" else read)(one)
    if kind in _ITEMS:
        for item in statuses_of(data, len(asked["jobs"])):
            if kind == "job.enqueue_many" and item["status"] < 300:
                Job.from_dict(item["job"])
    elif "jobs" in data:
        for one in _list("jobs", data["jobs"]):
            Job.from_dict(one)
    if kind == "job.claim":
        _taken(asked, data)
    if data.get("cursor") is not None:
        text("cursor", data["cursor"])
    _named(request, data)
    return dict(data)


def _named(request: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Check that a record is the one that was asked for."""
    noun = request["kind"].partition(".")[0]
    asked, record = request["data"].get("newId" if request["kind"] == "job.fork" else "id"), data.get(noun)
    if request["kind"] == "job.enqueue" and "uniqueKey" in request["data"]:
        return  # the job that has the key
    if isinstance(asked, str) and noun in _OWN and isinstance(record, Mapping) and record.get("id") != asked:
        raise ValueError(f"{noun} must be {excerpt(asked)}, which was asked for, got {excerpt(record.get('id'))}")


def counted(data: Any) -> tuple[int, bool]:
    """The number of jobs that a request changed, and whether there are more."""
    count, more = integer("count", _object("data", data)["count"], 0), data.get("more", False)
    if not isinstance(more, bool):
        raise TypeError(f"more must be a boolean, got {excerpt(more)}")
    if more and not count:
        raise ValueError("more must be false if count is 0, got true")
    return count, more


def statuses_of(data: Any, count: int) -> Sequence[dict[str, Any]]:
    """The items of a reply to a list, each with a status; the jobs in it are not read.

    Args:
        data: Of the reply.
        count: How many were asked for.
    """
    items = _list("jobs", _object("data", data)["jobs"])
    if len(items) != count:
        raise ValueError(f"jobs must have {count} items, as many as were asked for, got {len(items)}")
    for item in items:
        integer("status", _object("jobs", item)["status"], 200)
        text("error", item.get("error", ""))
    return items


def _taken(asked: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Check that a claim took as many jobs as were asked for; only the batch of the last one may have more."""
    found, count = _list("jobs", data["jobs"]), asked.get("count", 1)
    if len(found) > count:
        batches = [_object("job", one).get("batch") for one in found[count - 1 :]]
        if batches[0] is None or any(batch != batches[0] for batch in batches):
            raise ValueError(f"jobs must have at most {count} items and the rest of the batch of the last, got {len(found)}")


def result_of(request: Mapping[str, Any], read: Callable[[Any], T], data: Any) -> T:
    """Return what the reader of a typed call makes of the data of a reply. Call it by `used`.

    Most readers judge what they read, by the descriptors of the core; the others pass members on as they are.
    """
    kind = request["kind"]
    if kind in _ITEMS:
        statuses_of(data, len(request["data"]["jobs"]))
    elif kind.startswith("queue.") or kind == "job.stats" or (kind in ONE_OR_MANY and "id" not in request["data"]):
        checked(request, data)
    else:
        _named(request, _object("data", data))
        if kind == "job.claim":
            _taken(request["data"], data)
    return read(data)


def bounded(value: T) -> T:
    """Return a value, if it is neither deeper nor larger than values of the protocol, also where no descriptor reads it."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} levels deep")
        if isinstance(one, dict):
            for name in one:
                name.encode()  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
            waiting += [(each, depth + 1) for each in one.values()]
        elif isinstance(one, list):
            waiting += [(each, depth + 1) for each in one]
        elif isinstance(one, str):
            one.encode()
        elif type(one) is int and one not in _INT64:
            raise ValueError(f"an integer must have 64 bits, got {excerpt(one)}")
    return value
