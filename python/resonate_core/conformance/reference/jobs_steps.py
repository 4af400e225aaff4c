"""Internal steps of jobs (JOBS 3): expiry, leases, timeouts of attempts, jobs that become claimable, jobs that are deleted."""

from __future__ import annotations

from . import (
    jobs_course as course,
    jobs_groups as groups,
    jobs_leaving as leaving,
    jobs_moves as moves,
    jobs_queues as queues,
    jobs_removal as removal,
)
from .jobs_course import NEVER
from .world import later, settle


def timers(world, row):
    """All timers of a job's row as (instant, kind), except its promise's deadline."""
    job, task = row["job"], row["task"]
    if row["state"] != "pending":
        # No retention step at the largest instant: for a row that is still referred to, it would be due again at the same instant.
        return [(job["reclaimAt"], "job_retention")] if job.get("reclaimAt", NEVER) < NEVER else []
    found = []
    if course.expires_at(job) < row["timeoutAt"]:
        found.append((job["goodUntil"], "job_expiry"))
    if "flight" in job:
        # The timer is the group's, so it is due even if the leader is dead by now.
        found.append((task["retryAt"], "job_batch"))
    if course.death(row, world.now) is not None:
        return found
    if job["state"] in ("scheduled", "retry") and "gathering" not in job:
        found.append((task["retryAt"], "job_ready"))
    if job["state"] in course.HELD:
        timeout = later(job["startedAt"], job["timeout"]) if job["state"] == "running" and "timeout" in job else None
        if timeout is not None and timeout <= task["expiresAt"]:
            found.append((timeout, "job_timeout"))
        else:
            found.append((task["expiresAt"], "job_lease"))
    return found


def take(world, row, kind, at):
    """Takes one step.

    Returns:
        The id of the row that the step is about; None if the step is not reported.
    """
    job = row["job"]
    if kind == "job_expiry":
        leaving.leave(world, row)
        settle(row, *course.expire(row))
    elif kind == "job_batch":
        groups.end(world, row, at)
    elif kind == "job_ready" and "group" in job and row["task"]["acquisitions"] == 0:
        # A job that was claimed before does not gather again.
        groups.join(world, row, at)
    elif kind == "job_ready":
        moves.become_claimable(row, at)
    elif kind == "job_timeout":
        moves.fail_attempt(world, row, course.TIMED_OUT, "timed_out")
    elif kind == "job_lease" and job["state"] == "claimed":
        moves.release_claim(row)
    elif kind == "job_lease":
        moves.fail_attempt(world, row, course.CRASHED, "crashed")
    else:
        return removal.take_one(world, row)
    return row["id"]


def before_end(world, row, outcome, at, cancelled=False):
    """Ends what the job waits for, and updates the statistics, before a settlement that is not a job operation."""
    leaving.leave(world, row, cancelled)
    if "job" in row and row["job"]["state"] == "running":
        queues.count_attempt(world, row["job"], outcome, at)
