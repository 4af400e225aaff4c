"""Writes to a file server are fenced with the count of retries, which a claim does not raise: a worker that lost its job overwrites.

A worker claims the job and is suspended before it starts. Its lease expires, and since nothing has run, that is no retry.

Fixed: the fence is the version of the job, which each claim raises.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import HOUR, SECOND, Program, all_final, new_store


def buggy(choices: Choices) -> None:
    publish(choices, by_version=False)


def fixed(choices: Choices) -> None:
    publish(choices, by_version=True)


def publish(choices: Choices, *, by_version: bool) -> None:
    store = new_store()
    page = {"fence": -1, "author": ""}

    def worker(name: str) -> Program:
        while True:
            for job in store.jobs.claim("default", worker=name, lease=10 * SECOND):
                fence = job.version if by_version else job.retry_count
                yield choices.integer(0, 15, "seconds of suspension") * SECOND
                if fence >= page["fence"]:
                    page.update(fence=fence, author=name)
                    yield "writes the page"
                try:
                    job = store.jobs.start(job.id, job.version)
                    yield
                    store.jobs.complete(job.id, job.version, name)
                except rc.Conflict:
                    yield "has lost its job"
            yield IDLE

    store.jobs.enqueue("publish", id="page", retention="kept")
    done = all_final(store, "page")
    interleave(choices, store, {"a": worker, "b": worker}, until=done, within=HOUR)
    interleave_end(choices, store, page)


def interleave_end(choices: Choices, store: rc.Store[rc.ManualClock], page: dict[str, object]) -> None:
    author = store.promises.get("page").value.json()
    assert page["author"] == author, f"the page is of {page['author']}, the job was completed by {author}"
