"""Children and messages of a job: the mark of each, their tags of lineage, and what is below a job (JOBS 9).

The row of each has ``child``: its ``parent``, its ``kind`` (record, receive, job or message), its ``number`` among all that the job ever
made or got, and ``unread`` for a message that no receive has taken. The job's row has ``made``, the last of these numbers, and ``steps``,
how many children are stored; messages do not count as children.
"""

from __future__ import annotations

from . import jobs_course as course
from .shape import Refused
from .world import id_order, project


def is_child(row, job_id):
    """Whether a row is a child of this job."""
    return parent_of(row) == job_id and row["child"]["kind"] != "message"


def parent_of(row):
    """The id of the job to which a row belongs, or None."""
    return row.get("child", {}).get("parent")


def below(world, job_id):
    """The stored rows of a job's children and messages, in the order in which they were made."""
    return sorted((row for row in world.promises.values() if parent_of(row) == job_id), key=lambda row: row["child"]["number"])


def children_of(world, job_id):
    """The stored rows of a job's children, in the order in which they were made."""
    return [row for row in below(world, job_id) if row["child"]["kind"] != "message"]


def place(row):
    """The place of a row in the history of a job, and the order in which the rows below a job are deleted."""
    return row["createdAt"], id_order(row["id"])


def lineage(parent, child_id=None):
    """The tags of lineage of a child; ``child_id`` is that of a job or a call, which begins a branch of its own."""
    tags, job_id = parent["tags"], parent["id"]
    return {
        "resonate:origin": tags.get("resonate:origin", job_id),
        "resonate:prefix": tags.get("resonate:prefix", job_id),
        "resonate:parent": job_id,
        "resonate:branch": job_id if child_id is None else child_id,
        "resonate:scope": "local" if child_id is None else "global",
    }


def mark(row, parent, kind):
    """Marks a new row as one that belongs to a job."""
    job = parent["job"]
    job["made"] = job.get("made", 0) + 1
    row["child"] = {"parent": parent["id"], "kind": kind, "number": job["made"]}


def add(row, parent, kind):
    """Marks a new row as a child of a job. A child is progress, so the job's retries begin anew."""
    mark(row, parent, kind)
    count(parent["job"], "steps", 1)
    parent["job"]["retryCount"] = 0


def forget(world, row):
    """Deletes one row; its job, if it has one, counts it no longer."""
    parent = world.promises.get(parent_of(row))
    if parent is not None and row["child"]["kind"] != "message":
        count(parent["job"], "steps", -1)
    elif parent is not None and "unread" in row["child"]:
        count(parent["job"], "unread", -1)
    # No worker runs a call that is gone.
    world.messages = [message for message in world.messages if "version" not in message or message["id"] != row["id"]]
    del world.promises[row["id"]]


def count(job, name, by):
    """Changes a count of a job, which is absent while it is 0."""
    job[name] = job.get(name, 0) + by
    if job[name] == 0:
        del job[name]


def check(world, step_id, parent):
    """A promise with the id of a step must be a child of the job.

    Raises:
        Refused: With 409.
    """
    row = world.promises.get(step_id)
    if row is not None and not is_child(row, parent["id"]):
        raise Refused(409, f"{step_id!r} is no step of job {parent['id']!r}")


def is_final(world, row):
    return project(row, world.now)["job"]["state"] in course.TERMINAL


def is_spared(world, row):
    """Whether a row is a child of a job that is not final, which may still read it."""
    parent = world.promises.get(parent_of(row))
    return parent is not None and not is_final(world, parent)
