"""Runs the jobs of test_graphs_of_two_servers.py that have children, until it is killed.

family_process.py URL OTHER_URL

It claims from one server and sends its messages to the other one.
"""

from __future__ import annotations

import sys
import time

import resonate_core as rc

QUEUE, LEASE = "families", 1000


def parent(store: rc.Client, job: rc.Job) -> None:
    """Records a step, starts a child, and waits for the child and for its message."""
    id, version = job.id, job.version
    [first] = store.jobs.record(id, version, [{"id": f"{id}:first", "state": "resolved", "value": version}])
    child = store.jobs.enqueue("child", job.payload.json(), id=f"{id}:child", queue=QUEUE, lifecycle="workflow", parent=job)
    mail = store.jobs.receive(id, version, f"{id}:mail", "done")
    if child.state == "completed" and mail.state == "resolved":
        assert child.result is not None
        store.jobs.complete(id, version, [first.value.json(), child.result.json(), mail.value.json()])
    else:
        store.jobs.suspend(id, version, [child.id, mail.id], until="all")


def child(store: rc.Client, other: rc.Client, job: rc.Job) -> None:
    """Sends the parent a message by the other server; a second attempt sends the same one."""
    number = job.payload.json()
    other.jobs.send(job.id.removesuffix(":child"), "done", number, key="from-child")
    time.sleep(0.02)
    store.jobs.complete(job.id, job.version, number)


def main(url: str, other_url: str) -> None:
    name = f"family-{time.time_ns()}"
    with rc.connect(url, retry_for=0) as store, rc.connect(other_url, retry_for=0) as other:
        while True:
            try:
                jobs = list(store.jobs.claim(QUEUE, worker=name, lease=LEASE))
                for job in jobs:
                    if job.type == "parent":
                        parent(store, job)
                    else:
                        child(store, other, job)
                pause = 0.0 if jobs else 0.05
            except (rc.StoreError, rc.Conflict):  # a server was killed, or the lease is over: the job runs again
                pause = 0.1
            time.sleep(pause)


if __name__ == "__main__":
    main(*sys.argv[1:])
