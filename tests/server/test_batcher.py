"""Requests of many connections share transactions: the response of each if one of them fails."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import Envelope, ManualClock, RequestLimits, Store
from resonate_core.errors import StoreError
from resonate_core.server.batcher import Answer, Batcher
from resonate_core.server.metrics import Metrics


class Runs:
    """A store that records which requests it ran together, and whose n-th transaction fails."""

    def __init__(self, fails: int | None = None) -> None:
        self.store = Store(clock=ManualClock(1000), debug=True)
        self.fails = fails
        self.kinds: list[list[str]] = []
        self.path, self.shared = self.store.path, self.store.shared

    def run(self, envelopes: list[Envelope]) -> list[Answer]:
        self.kinds.append([envelope.kind for envelope in envelopes])
        if len(self.kinds) - 1 == self.fails:
            raise StoreError("the disk is full")
        return self.store.run(envelopes)


def envelope(kind: str, **data: Any) -> Envelope:
    head = {"corrId": "c", "version": "2026-04-01"}
    return Envelope(json.dumps({"kind": kind, "head": head, "data": data}).encode(), RequestLimits())


async def submit(store: Any, envelopes: list[Envelope]) -> list[Any]:
    batcher = Batcher(store, Metrics())
    answers = await asyncio.gather(*(batcher.submit(one) for one in envelopes), return_exceptions=True)
    assert batcher.in_flight == 0
    batcher.close()
    return [one if isinstance(one, BaseException) else one[0] for one in answers]


def creates(*ids: str) -> list[Envelope]:
    return [envelope("promise.create", id=id, timeoutAt=10**15) for id in ids]


def test_what_comes_at_once_is_one_transaction() -> None:
    runs = Runs()
    assert asyncio.run(submit(runs, creates(*"abc"))) == [200] * 3
    assert runs.kinds == [["promise.create"] * 3]


def test_a_thousand_at_most_share_one() -> None:
    runs = Runs()
    assert asyncio.run(submit(runs, creates(*(str(i) for i in range(2500))))) == [200] * 2500
    assert [len(kinds) for kinds in runs.kinds] == [1000, 1000, 500]


def test_a_debug_operation_has_a_transaction_of_its_own_in_its_place() -> None:
    runs = Runs()
    work = [*creates("a", "b"), envelope("debug.snap"), envelope("debug.reset"), *creates("c"), envelope("promise.get", id="a")]
    assert asyncio.run(submit(runs, work)) == [200, 200, 200, 200, 200, 404]
    assert [len(kinds) for kinds in runs.kinds] == [2, 1, 1, 2]


@pytest.mark.parametrize("fails", range(4))
def test_only_the_requests_of_the_transaction_that_failed_get_its_error(fails: int) -> None:
    runs = Runs(fails)
    work = [*creates("a", "b"), envelope("debug.snap"), *creates("c"), envelope("debug.snap")]
    answers = asyncio.run(submit(runs, work))
    assert [isinstance(one, StoreError) for one in answers] == [
        [True, True, False, False, False],
        [False, False, True, False, False],
        [False, False, False, True, False],
        [False, False, False, False, True],
    ][fails]
    assert sorted(one["id"] for one in runs.store.snapshot()["promises"]) == [
        id for id, answer in zip("abc", [answers[0], answers[1], answers[3]], strict=True) if answer == 200
    ]


def test_somebody_who_no_longer_waits_disturbs_nobody() -> None:
    async def main() -> None:
        batcher = Batcher(Runs().store, Metrics())
        futures = [batcher.submit(one) for one in creates(*"abc")]
        futures[1].cancel()
        assert [(await futures[0])[0], (await futures[2])[0]] == [200, 200]
        batcher.close()

    asyncio.run(main())
