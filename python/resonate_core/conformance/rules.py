"""The rule of the contract that an answer violates."""

from __future__ import annotations

from typing import Any

__all__ = ["CALLBACKS", "LEASES", "TIMEOUT", "named", "rule_of", "section"]

TIMEOUT = "PROTOCOL 1.2 timeout always wins"
CALLBACKS = "PROTOCOL 4 callback drain"
LEASES = "PROTOCOL 4 lease expiry"

_ACQUIRING = ("task.acquire", "task.create")

_SECTIONS = {
    "promise.get": "3.1",
    "promise.create": "3.2",
    "promise.settle": "3.3",
    "promise.register_callback": "3.4",
    "promise.register": "3.5",
    "promise.register_listener": "3.6",
    "promise.subscribe": "3.6",
    "promise.search": "3.7",
    "task.search": "3.7",
    "schedule.search": "3.7",
    "task.get": "3.8",
    "task.create": "3.9",
    "task.acquire": "3.10",
    "task.release": "3.11",
    "task.suspend": "3.12",
    "task.fulfill": "3.13",
    "task.fence": "3.14",
    "task.heartbeat": "3.15",
    "task.halt": "3.16",
    "task.continue": "3.17",
    "schedule.get": "3.18",
    "schedule.create": "3.18",
    "schedule.delete": "3.18",
    "schedule.pause": "3.20",
    "schedule.resume": "3.20",
}


def section(kind: str) -> str:
    """The rule of a kind of request.

    Example:
        >>> section("promise.settle"), section("job.claim"), section("debug.tick")
        ('PROTOCOL 3.3 promise.settle', 'JOBS 5 job.claim', 'WIRE 5 debug.tick')
    """
    if kind in _SECTIONS:
        return f"PROTOCOL {_SECTIONS[kind]} {kind}"
    return f"{'WIRE 5' if kind.startswith('debug.') else 'JOBS 5'} {kind}"


def rule_of(request: dict[str, Any], got: Any, right: dict[str, Any], past_deadline: set[str], resumed: set[str]) -> str:
    """Return the rule that an answer violates.

    Args:
        request: The envelope.
        got: The envelope of the answer.
        right: The model's reply.
        past_deadline: The ids of the promises that their deadline has settled.
        resumed: The ids of the tasks that the settlement of an awaited promise has made pending.
    """
    ids = named(request["data"])
    done = got["head"]["status"] in (200, 300)
    if (done and ids & past_deadline) or _pending(got) & past_deadline:
        return TIMEOUT
    states, shown = _task_states(right), _task_states(got)
    pending_and = {shown.get(id) for id, state in states.items() if state == "pending"}
    jobs, shown_jobs = _job_states(right), _job_states(got)
    waits = any(state == "waiting" and jobs.get(id) != "waiting" for id, state in shown_jobs.items())
    if waits or "suspended" in pending_and or (request["kind"] in _ACQUIRING and got["head"]["status"] == 409 and ids & resumed):
        return CALLBACKS
    if "acquired" in pending_and:
        return LEASES
    return section(request["kind"])


def named(data: Any) -> set[str]:
    """The ids and the names of workers in the data of a request, those of its actions included."""
    found: set[str] = set()
    if isinstance(data, dict):
        found.update(
            data[name]
            for name in ("id", "awaited", "awaiter", "pid", "worker", "promiseId", "step", "from", "newId")
            if isinstance(data.get(name), str)
        )
        for name in ("after", "awaits"):
            found.update(one for one in data.get(name) or () if isinstance(one, str))
        for name in ("action", "actions", "tasks", "jobs", "data", "parent", "steps"):
            found |= named(data.get(name))
    elif isinstance(data, list):
        for one in data:
            found |= named(one)
    return found


def _task_states(reply: Any) -> dict[str, Any]:
    """The states of the tasks in a reply, by id."""
    return _states(reply, "task")


def _job_states(reply: Any) -> dict[str, Any]:
    """The states of the jobs in a reply, by id."""
    return _states(reply, "job")


def _states(reply: Any, noun: str) -> dict[str, Any]:
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, dict):
        return {}
    records = data[f"{noun}s"] if isinstance(data.get(f"{noun}s"), list) else [data.get(noun)]
    return {one["id"]: one.get("state") for one in records if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _pending(reply: Any) -> set[str]:
    """The ids of the promises that a search shows as pending."""
    data = reply.get("data") if isinstance(reply, dict) else None
    records = data.get("promises") if isinstance(data, dict) else None
    if not isinstance(records, list):
        return set()
    return {
        one["id"] for one in records if isinstance(one, dict) and one.get("state") == "pending" and isinstance(one.get("id"), str)
    }
