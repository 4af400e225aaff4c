"""Pairs of requests of two processes, stopped between any two round trips: the model must explain their answers in one of two orders.

RESONATE_INTERLEAVINGS sets the number of cases, and RESONATE_INTERLEAVINGS_SEED their seed.
"""

from __future__ import annotations

import itertools
import os
import random
import secrets
from typing import Any

import pytest

import resonate_core as rc
from integration.storage.interleaving import Interleaving
from resonate_core.conformance.compare import plain_reply
from resonate_core.conformance.reference import Model

FAR = 4 * 10**12
HEAD = {"corrId": "1", "version": "2026-04-01"}
Envelope = dict[str, Any]


def ask(kind: str, **data: Any) -> Envelope:
    return {"kind": kind, "head": HEAD, "data": data}


def create(id: str, by: str, **tags: str) -> Envelope:
    return ask("promise.create", id=id, timeoutAt=FAR, param={"data": by}, tags=tags)


def settle(id: str, by: str, state: str = "resolved") -> Envelope:
    return ask("promise.settle", id=id, state=state, value={"data": by})


def targeted(id: str, by: str) -> Envelope:
    return create(id, by, **{"resonate:target": "poll://any@w"})


def callback(id: str, awaiter: str) -> Envelope:
    return ask("promise.register_callback", awaited=id, awaiter=awaiter)


STATES: dict[str, Any] = {
    "absent": lambda x, y: [],
    "pending": lambda x, y: [create(x, "first")],
    "both pending": lambda x, y: [create(y, "first"), create(x, "first")],
    "settled": lambda x, y: [create(x, "first"), settle(x, "first")],
    "awaited": lambda x, y: [create(x, "first"), targeted(x + "w", "first"), callback(x, x + "w")],
    "a task": lambda x, y: [targeted(x, "first")],
}
"""The requests before a case, on its ids."""

KINDS: dict[str, Any] = {
    "create x": lambda x, y, by: [create(x, by)],
    "settle x": lambda x, y, by: [settle(x, by)],
    "get x": lambda x, y, by: [ask("promise.get", id=x)],
    "create y": lambda x, y, by: [create(y, by)],
    "settle y": lambda x, y, by: [settle(y, by, "rejected")],
    "create x, create y": lambda x, y, by: [create(x, by), create(y, by)],
    "create y, create x": lambda x, y, by: [create(y, by), create(x, by)],
    "settle x, settle y": lambda x, y, by: [settle(x, by), settle(y, by)],
    "settle y, settle x": lambda x, y, by: [settle(y, by), settle(x, by)],
    "create x, settle x": lambda x, y, by: [create(x, by), settle(x, by)],
    "settle x, create y": lambda x, y, by: [settle(x, by), create(y, by)],
    "get x, create y": lambda x, y, by: [ask("promise.get", id=x), create(y, by)],
    "get y, create x": lambda x, y, by: [ask("promise.get", id=y), create(x, by)],
    "cancel x": lambda x, y, by: [settle(x, by, "rejected_canceled")],
    "target x": lambda x, y, by: [targeted(x, by)],
    "await x": lambda x, y, by: [targeted(x + "v", by), callback(x, x + "v")],
    "listen to x": lambda x, y, by: [ask("promise.register_listener", awaited=x, address="poll://any@w")],
    "acquire x": lambda x, y, by: [ask("task.acquire", id=x, version=0, pid=by, ttl=FAR)],
}
"""The requests of an actor in one transaction, on the ids of the case."""

ORDERS = ["".join(order) for order in sorted(set(itertools.permutations("AAABBB")))]
"""Which store's flight passes next. A shared transaction has two flights; one that runs again alone has four."""


def judge(case: int, state: str, kinds: tuple[str, str], order: str, between: Interleaving, first: rc.Store) -> str | None:
    """Runs a case; returns why no order of the two explains it, or None."""
    x, y = f"x{case}", f"y{case}"
    before = STATES[state](x, y)
    asked = {name: KINDS[kind](x, y, name) for name, kind in zip("AB", kinds, strict=True)}
    if before:
        first.apply(before)
    seen = between.run({name: lambda store, its=asked[name]: store.apply(its) for name in "AB"}, order)
    end = [ask(kind, id=id) for id in (x, y, x + "w", x + "v") for kind in ("promise.get", "task.get")]
    for name, answer in seen.items():
        if isinstance(answer, Exception):
            return f"{name} raised {answer!r}"
    answers = {name: [plain_reply(one) for one in answer] for name, answer in seen.items()}
    left = [plain_reply(one) for one in first.apply(end)]
    wanted = []
    for names in ("AB", "BA"):
        model = Model()
        model.apply_batch(before)
        told = {name: [plain_reply(one) for one in model.apply_batch(asked[name])] for name in names}
        state_then = [plain_reply(one) for one in model.apply_batch(end)]
        if told == answers and state_then == left:
            return None
        wanted.append((told, state_then))
    return f"seen {answers}, {left}; the model, A first, then B first: {wanted}"


def run_cases(url: str, cases: int, seed: int) -> None:
    chance = random.Random(seed)
    pairs = list(itertools.product(KINDS, KINDS))
    chance.shuffle(pairs)
    problems = []
    print(f"seed {seed}")
    first = rc.Store(url, clock=rc.ManualClock(0), durability="normal", busy_timeout=60_000)
    between = Interleaving(url + "&writers=shared")
    before = rc.database_counts()["shared_commits"]
    try:
        for case in range(cases):
            kinds, state, order = pairs[case % len(pairs)], chance.choice(list(STATES)), chance.choice(ORDERS)
            if problem := judge(case, state, kinds, order, between, first):
                problems.append(f"{state}; A: {kinds[0]}; B: {kinds[1]}; order {order}: {problem}")
        assert problems == [], f"seed {seed}: {len(problems)} of {cases} cases, the first: {problems[0]}"
        assert first.check() == []
        assert rc.database_counts()["shared_commits"] - before > cases / 4, "hardly any transaction shared"
    finally:
        between.close()
        first.close()


@pytest.mark.timeout(600)
def test_one_of_two_orders_explains_two_requests(postgres_url: str) -> None:
    seed = int(os.environ.get("RESONATE_INTERLEAVINGS_SEED", secrets.randbelow(10**6)))
    run_cases(postgres_url, int(os.environ.get("RESONATE_INTERLEAVINGS", "400")), seed)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_one_of_two_orders_explains_each_pair(postgres_url: str) -> None:
    """Each pair of kinds in at least 18 cases."""
    run_cases(postgres_url, 6000, secrets.randbelow(10**6))
