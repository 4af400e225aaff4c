"""The job that a request names (JOBS 5)."""

from __future__ import annotations

from .shape import Refused
from .world import project


def find(world, job_id):
    """The stored row of a job.

    Raises:
        Refused: With 404.
    """
    row = world.promises.get(job_id)
    if row is None or "job" not in row:
        raise Refused(404, f"no job {job_id!r}")
    return row


def find_in_state(world, data, state):
    """The stored row of a job, if it is in this state and has this version.

    Raises:
        Refused: With 404 or 409.
    """
    row = find(world, data["id"])
    seen = project(row, world.now)
    if seen["job"]["state"] != state:
        raise Refused(409, f"job {data['id']!r} is {seen['job']['state']}, not {state}")
    if seen["task"]["acquisitions"] != data["version"]:
        raise Refused(409, f"job {data['id']!r} is not at version {data['version']}")
    return row
