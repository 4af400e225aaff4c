"""A handler is not idempotent: the mail is sent, its reply is lost, and the retry sends it again.

Fixed: the handler looks for its mail among the sent ones.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import Choices, interleave
from zoo.working import MINUTE, QUICK, Program, all_final, new_store, worker


def buggy(choices: Choices) -> None:
    mails(choices, looks=False)


def fixed(choices: Choices) -> None:
    mails(choices, looks=True)


def mails(choices: Choices, *, looks: bool) -> None:
    store = new_store()
    sent: list[str] = []

    def send(job: rc.Job, name: str) -> Program:
        if looks and job.id in sent:
            return
        if choices.chance(0.1, "fault:refused"):
            raise ConnectionError("refused")
        sent.append(job.id)
        yield f"sends {job.id}"
        if choices.chance(0.1, "fault:lost reply"):
            yield "gets no reply"
            raise ConnectionError("timed out")

    ids = [f"mail-{number}" for number in range(1, choices.integer(1, 3, "mails") + 1)]
    for id in ids:
        store.jobs.enqueue("send", id=id, retry_policy=QUICK, max_retries=50)
    interleave(
        choices, store, {"a": worker(store, send), "b": worker(store, send)}, until=all_final(store, *ids), within=60 * MINUTE
    )
    assert sorted(sent) == ids, "a mail was sent twice"
