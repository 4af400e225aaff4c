"""Jobs with steps, for tests: running jobs, what their history shows, and promises of every kind with one id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.job_wire import MAX, JobClient
from conformance.wire import ADDRESS

J = "j"
"""The job that the steps belong to."""
VALUE: dict[str, Any] = {"headers": {"h": "1"}, "data": "eA=="}
OTHER: dict[str, Any] = {"data": "eQ=="}
NEVER = MAX
"""The deadline of a promise that has none."""


def running(client: JobClient, id: str = J, now: int = 1, **data: Any) -> int:
    """Enqueues a job and runs it; returns its version."""
    client.enqueue(id, now=now, **data).must()
    return client.run_one(id, now=now, lease=10**10)


def lineage(id: str = J, child: str | None = None, origin: str | None = None) -> dict[str, str]:
    """The tags of a child of a job; those of a child job if its id is given."""
    return {
        "resonate:origin": origin or id,
        "resonate:prefix": origin or id,
        "resonate:parent": id,
        "resonate:branch": child or id,
        "resonate:scope": "global" if child else "local",
    }


def data_of(value: dict[str, Any]) -> str:
    """The data of a param or value in either dialect."""
    return str(value.get("data", ""))


def ids(client: JobClient, id: str = J, now: int | None = None, **data: Any) -> list[str]:
    """The ids of one page of a history, without the job's id and the colon if they begin with it."""
    found = client.history(id, now, **data).must()["promises"]
    return [one["id"].removeprefix(f"{id}:") for one in found]


def state_of(client: JobClient, id: str) -> str:
    """The state of a promise; "absent" if it does not exist."""
    reply = client.get(id)
    return "absent" if reply.status == 404 else str(reply.must()["promise"]["state"])


def step(client: JobClient, id: str, state: str = "pending", value: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Records one step of the job; returns its record."""
    given = {} if value is None else {"value": value}
    (record,) = client.record({"id": id, "state": state, **given, **more}, id=J).must()["promises"]
    assert isinstance(record, dict)
    return record


def another_job(client: JobClient, id: str = "j:k") -> None:
    """Runs another job, whose id may make those of its steps look like steps of the first."""
    if client.state(id) == "absent":
        running(client, id)


# What may have an id that begins with "j:" and with "j:k:" while the job j runs.
AT: dict[str, Callable[[JobClient, str], Any]] = {
    "nothing": lambda d, id: None,
    "a promise": lambda d, id: d.create(id, now=1),
    "a settled promise": lambda d, id: (d.create(id, now=1), d.settle(id, now=1)),
    "a promise with its tag": lambda d, id: d.create(id, tags={"resonate:parent": J}, now=1),
    "a timer": lambda d, id: d.create(id, tags={"resonate:timer": "true"}, now=1),
    "a task": lambda d, id: d.create(id, target=ADDRESS, now=1),
    "a job": lambda d, id: d.enqueue(id, now=1),
    "its step": lambda d, id: d.send("job.record", {"id": J, "version": 1, "steps": [{"id": id}]}, 1),
    "its settled step": lambda d, id: d.send("job.record", {"id": J, "version": 1, "steps": [{"id": id, "state": "rejected"}]}, 1),
    "its receive": lambda d, id: d.send("job.receive", {"id": J, "version": 1, "step": id, "topic": "t"}, 1),
    "its child": lambda d, id: d.child(id, J, now=1),
    "its final child": lambda d, id: (d.child(id, J, now=1), d.administer("cancel", id, now=1)),
    "the step of another": lambda d, id: (
        another_job(d),
        d.send("job.record", {"id": "j:k", "version": 1, "steps": [{"id": id}]}, 1),
    ),
    "the child of another": lambda d, id: (another_job(d), d.child(id, "j:k", now=1)),
}


def put(client: JobClient, kind: str, id: str) -> None:
    """Makes a promise of a kind, whose requests must all succeed."""
    made = AT[kind](client, id)
    for reply in made if isinstance(made, tuple) else (made,):
        if reply is not None:
            reply.must()
