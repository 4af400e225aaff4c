"""Two jobs read a balance, compute, and write it back: one update is lost.

Fixed: the write is made only if the balance is still the one that was read; otherwise the job reads it again.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import Choices, interleave
from zoo.working import QUICK, Program, all_final, new_store, worker


def buggy(choices: Choices) -> None:
    deposits(choices, compares=False)


def fixed(choices: Choices) -> None:
    deposits(choices, compares=True)


def deposits(choices: Choices, *, compares: bool) -> None:
    store = new_store()
    account = {"balance": 0, "revision": 0}
    booked: set[str] = set()

    def deposit(job: rc.Job, name: str) -> Program:
        while job.id not in booked:
            balance, revision = account["balance"], account["revision"]
            yield f"reads {balance}"
            if not compares or revision == account["revision"]:
                booked.add(job.id)
                account.update(balance=balance + job.payload.json(), revision=revision + 1)
                yield f"writes {account['balance']}"

    ids = [f"deposit-{number}" for number in range(1, choices.integer(1, 3, "deposits") + 1)]
    amounts = [choices.integer(1, 100, "amount") for _ in ids]
    for id, amount in zip(ids, amounts):
        store.jobs.enqueue("deposit", amount, id=id, retry_policy=QUICK, max_retries=50)
    interleave(choices, store, {"a": worker(store, deposit), "b": worker(store, deposit)}, crash=0.02, until=all_final(store, *ids))
    assert account["balance"] == sum(amounts), f"the balance is {account['balance']}, deposited were {sum(amounts)}"
