"""The messages of a job as rows (JOBS 9).

A message is a settled promise whose row has ``message``: the ``job``, the ``topic``, its ``number`` among the messages that the job got,
and ``read`` once a receive has its value. The job's row has ``messages``, how many are stored, ``sent``, the last of these numbers, and
``keyless``, how many messages without a key it got.
"""

from __future__ import annotations

from . import jobs_children as children


def messages_of(world, job_id):
    """The stored rows of the messages of a job, the oldest first."""
    found = [row for row in world.promises.values() if row.get("message", {}).get("job") == job_id]
    return sorted(found, key=lambda row: row["message"]["number"])


def unread(world, job_id):
    return [row for row in messages_of(world, job_id) if "read" not in row["message"]]


def forget(world, row):
    """The job of a message that is deleted has one message less."""
    job = world.promises.get(row.get("message", {}).get("job"))
    if job is not None:
        children.count(job["job"], "messages", -1)
