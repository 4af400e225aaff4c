"""The ways of a job from one state to another, for requests and for internal steps (JOBS 3)."""

from __future__ import annotations

import copy

from . import jobs_course as course, jobs_policy as policies, jobs_queues as queues
from .world import drop_lease, later, settle


def wait(row, state, retry_at=None, **instants):
    """Takes a job from its worker and puts it into a state in which it cannot be claimed."""
    drop_lease(row["task"])
    row["task"]["state"] = "pending"
    row["task"]["retryAt"] = retry_at
    course.wait(row["job"], state, **instants)


def suspend(row, **members):
    """Makes a job wait for promises."""
    drop_lease(row["task"])
    row["task"].pop("retryAt", None)
    row["task"]["state"] = "suspended"
    course.wait(row["job"], "waiting", **members)


def halt(row):
    """Archives a job."""
    drop_lease(row["task"])
    row["task"].pop("retryAt", None)
    row["task"]["state"] = "halted"
    course.wait(row["job"], "archived")


def become_claimable(row, enqueued_at):
    """Makes a job pending, so that it can be claimed."""
    drop_lease(row["task"])
    row["task"]["state"] = "pending"
    row["task"]["retryAt"] = row["timeoutAt"]
    course.make_pending(row["job"], enqueued_at)


def fail_attempt(world, row, found, outcome, retryable=True, retry_after=None, archive=False):
    """Ends a running job's attempt that failed, timed out or crashed: the job is retried, archived or failed."""
    job = row["job"]
    course.close_attempt(job, outcome, world.now, copy.deepcopy(found))
    job["error"] = copy.deepcopy(found)
    queues.count_attempt(world, job, outcome, world.now)
    policy = job["retryPolicy"]
    failures = job["retryCount"]
    if not archive and failures < job["maxRetries"] and retryable and policies.retries(policy, found["code"]):
        delay = policies.delay(policy, job.get("batch", row["id"]), failures) if retry_after is None else retry_after
        job["retryCount"] += 1
        next_at = later(world.now, delay)
        wait(row, "retry", next_at, nextRetryAt=next_at)
        return
    job["failedAt"] = world.now
    # A workflow that lost all its workers is no failure of its function: an operator may run it again.
    if job["onExhausted"] == "archived" or archive or ("workflow" in job and outcome == "crashed"):
        halt(row)
    else:
        job["state"] = "failed"
        settle(row, "rejected", policies.error_value(found), world.now)


def release_claim(row):
    """Puts a claimed job back into its queue. It was not started, so it keeps its enqueuedAt."""
    become_claimable(row, row["job"]["enqueuedAt"])
