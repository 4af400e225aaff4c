"""The last part of an upload enqueues the merge. Two parts that end together each see the other one as unfinished, and none enqueues it.

Fixed: each part looks after its own completion; an id that exists makes the merge one job.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import Choices, interleave
from zoo.working import QUICK, Program, all_final, new_store, worker


def buggy(choices: Choices) -> None:
    upload(choices, looks_before=True)


def fixed(choices: Choices) -> None:
    upload(choices, looks_before=False)


def upload(choices: Choices, *, looks_before: bool) -> None:
    store = new_store()
    parts = [f"part-{number}" for number in range(1, choices.integer(2, 4, "parts") + 1)]
    stored: set[str] = set()

    def store_part(job: rc.Job, name: str) -> Program:
        if job.type == "merge":
            return
        missing = set(parts) - stored - {job.id}
        yield f"misses {len(missing)} other parts"
        stored.add(job.id)
        yield
        if not looks_before:
            missing = set(parts) - stored
        if not missing:
            store.jobs.enqueue("merge", {}, id="merge", retention="kept")
            yield

    for id in parts:
        store.jobs.enqueue("part", id=id, retry_policy=QUICK, max_retries=50, retention="kept")
    programs = {"a": worker(store, store_part), "b": worker(store, store_part)}
    interleave(choices, store, programs, crash=0.02, until=all_final(store, *parts))
    assert list(store.jobs.search(type="merge")), "all parts are stored, and none is merged"
