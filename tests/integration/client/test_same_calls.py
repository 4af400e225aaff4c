"""The calls of `store.aio` and of clients have the same results and errors as those of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc

from .faces import FACES
from .script import AWARE, FAR, SCRIPT, outcome


@pytest.mark.parametrize("face", FACES)
def test_every_call_has_the_outcome_of_the_store(make_store: Callable[..., rc.Store], face: str) -> None:
    own, behind = make_store(clock=rc.ManualClock(1000)), make_store(clock=rc.ManualClock(1000))
    with FACES[face](behind) as subject:
        for step in SCRIPT:
            noun, method, args, kwargs = step
            expected = outcome(lambda: getattr(getattr(own, noun), method)(*args, **kwargs))  # noqa: B023
            found = outcome(lambda: getattr(getattr(subject, noun), method)(*args, **kwargs))  # noqa: B023
            assert found == expected, step


@pytest.mark.parametrize("face", FACES)
def test_relative_deadlines_count_from_now(make_store: Callable[..., rc.Store], face: str) -> None:
    store = make_store(clock=None)
    with FACES[face](store) as subject:
        before = store.now
        promise = subject.promises.create("a", timeout=60_000)
        claim = subject.tasks.create("b", timeout=60_000, pid="w", ttl=1000, target="poll://any@w")
        after = store.now
    for deadline in (promise.timeout_at, claim.promise.timeout_at):
        assert before - 2000 <= deadline - 60_000 <= after + 2000  # a client counts from the time of its machine


@pytest.mark.parametrize("face", FACES)
def test_instants_are_aware_datetimes(make_store: Callable[..., rc.Store], face: str) -> None:
    at = int(AWARE.timestamp() * 1000)
    store = make_store(clock=rc.ManualClock(at - 60_000))  # a server limits how far ahead a job may be
    with FACES[face](store) as subject:
        assert subject.promises.create("a", AWARE).timeout_at == at
        assert subject.jobs.enqueue("t", process_at=AWARE).process_at == at
        with pytest.raises(rc.Invalid, match=r"timeout_at must be an aware datetime, got datetime\.datetime"):
            subject.promises.create("b", AWARE.replace(tzinfo=None))


def test_many_promises_are_created_and_settled_together_or_not_at_all(make_store: Callable[..., rc.Store]) -> None:
    own, behind = make_store(), make_store()
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("create_many", (["a", "b"], [FAR, FAR + 1]), {"params": [1, {"x": 2}], "tags": {"t": "1"}}),
        ("create_many", (["c", ""], FAR), {}),
        ("create_many", (["c", "d"], [FAR]), {}),
        ("create_many", (["c", "d"], FAR), {"params": [1]}),
        ("create_many", ([], FAR), {}),
        ("settle_many", (["a", "none"], [1, 2]), {}),
        ("settle_many", (["a", "b"], [1, 2]), {"state": "rejected"}),
        ("settle_many", (["a", "b"],), {"state": "odd"}),
    ]
    with FACES["aio"](behind) as subject:
        for step in calls:
            method, args, kwargs = step
            expected = outcome(lambda: getattr(own.promises, method)(*args, **kwargs))  # noqa: B023
            assert outcome(lambda: getattr(subject.promises, method)(*args, **kwargs)) == expected, step  # noqa: B023
        assert subject.promises.create_many(["e", "f"], FAR).ids == ["e", "f"]
    assert [one.id for one in behind.promises.search()] == ["a", "b", "e", "f"]


def test_a_refused_job_undoes_all_of_the_awaited_enqueue_many(store: rc.Store) -> None:
    store.jobs.enqueue("other", id="b")
    with FACES["aio"](store) as subject, pytest.raises(rc.Conflict):
        subject.jobs.enqueue_many("t", [1, 2], ids=["a", "b"])
    assert [job.id for job in store.jobs.search()] == ["b"]
