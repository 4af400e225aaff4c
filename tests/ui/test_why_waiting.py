"""Why a job waits for others: the ids that it lacks, what holds that up, circles, and dependencies that have failed (JOBS 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import resonate_core as rc

SECOND = 1000


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock(start=0)


@pytest.fixture
def store(clock: rc.ManualClock) -> rc.Store:
    return rc.Store(clock=clock, check=True)


def claimed(store: rc.Store, queue: str) -> rc.Job:
    """Returns the next job of a queue, which a worker runs."""
    (job,) = store.jobs.claim(queue, worker="ann", lease=60 * SECOND, start=1)
    return job


def fail(store: rc.Store, queue: str, code: str = "Torn") -> None:
    job = claimed(store, queue)
    store.jobs.fail(job.id, job.version, code, retryable=False)


def suspended(store: rc.Store, id: str, awaits: Sequence[str], until: Any = "any") -> None:
    """Enqueues a job in a queue of its own, which waits in the middle of its work."""
    store.jobs.enqueue("flow", id=id, queue=f"of-{id}")
    store.jobs.suspend(id, claimed(store, f"of-{id}").version, awaits, until=until)


def parts(store: rc.Store, number: int) -> list[str]:
    """Enqueues jobs, each in a queue of its own."""
    ids = [f"parse-{place}" for place in range(1, number + 1)]
    for id in ids:
        store.jobs.enqueue("parse", id=id, queue=id)
    return ids


def test_it_names_what_is_missing_and_how_it_stands(store: rc.Store, clock: rc.ManualClock) -> None:
    ids = parts(store, 5)
    store.jobs.enqueue("pack", id="pack", after=ids)
    for id in ids[:2]:
        store.jobs.complete(id, claimed(store, id).version)
    claimed(store, "parse-3")
    clock.advance(SECOND)
    found = rc.why(store, "pack")
    assert found.sentence == (
        "Job pack waits for 3 of 5: parse-3 (running since 1970-01-01T00:00:00.000Z (1s ago)), parse-4 (pending), parse-5 (pending)."
        " It is cancelled if one of them fails."
    )
    assert (found.kind, found.state, found.stuck) == ("job", "waiting", False)
    assert found.following == "it becomes pending when the last of them is settled"
    assert found.chain[0][0] == "parse-3"
    assert [action for _, action in found.advice][:2] == [("job.run", {"id": "pack"}), ("job.cancel", {"id": "pack"})]
    store.jobs.archive("parse-4")
    found = rc.why(store, "pack")
    assert "parse-3 (running since" in found.sentence and "parse-4 (archived), parse-5 (pending)." in found.sentence
    assert found.stuck and found.chain == (("parse-4", rc.why(store, "parse-4").sentence),)
    assert ("run the job again (parse-4)", ("job.run", {"id": "parse-4"})) in found.advice


def test_the_one_that_holds_it_up_is_named_among_many(store: rc.Store) -> None:
    ids = parts(store, 9)
    store.jobs.enqueue("pack", id="pack", after=ids, after_failed="run")
    store.jobs.archive("parse-8")
    found = rc.why(store, "pack")
    assert "waits for 9 of 9: parse-1 (pending), parse-2 (pending), parse-8 (archived) and 6 more." in found.sentence
    assert found.sentence.endswith(" It runs even if one of them fails.") and found.stuck


def test_a_deeper_cause_is_named(store: rc.Store) -> None:
    store.jobs.enqueue("fetch", id="fetch", queue="net")
    store.jobs.enqueue("parse", id="parse", after=["fetch"])
    store.jobs.enqueue("pack", id="pack", after=["parse"])
    assert rc.why(store, "pack").sentence == "Job pack waits for parse (waiting). It is cancelled if it fails."
    assert rc.why(store, "pack").following == "it becomes pending when that is settled"
    assert not rc.why(store, "pack").stuck
    store.queues.pause("net")
    found = rc.why(store, "pack")
    cause = "fetch (pending, queue net is paused)"
    assert found.sentence == f"Job pack waits for parse (waiting); it is held up by {cause}. It is cancelled if it fails."
    assert found.stuck and [id for id, _ in found.chain] == ["parse", "fetch"]
    assert ("resume the queue (fetch)", ("queue.resume", {"queue": "net"})) in found.advice
    queue = rc.why(store, "default")
    assert queue.sentence.startswith(
        "Queue default is open: 0 jobs wait for a worker, 0 are claimed or running, 2 wait for other promises;"
    )
    assert queue.sentence.endswith(f" is held up by {cause}.")


@pytest.mark.parametrize("until", ["any", "all"])
def test_one_of_several_or_all_of_them(store: rc.Store, until: Any) -> None:
    parts(store, 2)
    suspended(store, "flow", ["parse-1", "parse-2"], until)
    store.jobs.archive("parse-1")
    found = rc.why(store, "flow")
    number = "one of 2" if until == "any" else "2"
    assert found.sentence == f"Job flow waits for {number}: parse-1 (archived), parse-2 (pending)."
    assert found.stuck == (until == "all")
    wake = "it becomes pending when one of them is settled"
    assert found.following == (wake if until == "any" else "nothing happens by itself")
    assert found.chain[0][0] == ("parse-2" if until == "any" else "parse-1")
    store.jobs.archive("parse-2")
    assert rc.why(store, "flow").stuck


def test_a_circle_is_named(store: rc.Store) -> None:
    store.promises.create("gate", timeout=10 * SECOND)
    for id in ("a", "b", "c"):
        store.jobs.enqueue("flow", id=id, queue=id)
    held = {id: claimed(store, id) for id in ("a", "b", "c")}
    for id, awaited in (("a", ["b"]), ("b", ["c"]), ("c", ["a"])):
        store.jobs.suspend(id, held[id].version, awaited)
    found = rc.why(store, "a")
    assert found.sentence == ("Job a waits for b (waiting); these wait for each other, and nothing ends this circle: a, b, c, a.")
    assert found.stuck and found.chain[-1][0] == "a"
    store.jobs.enqueue("pack", id="pack", after=["a"])
    assert "and nothing ends this circle: a, b, c, a." in rc.why(store, "pack").sentence


def test_a_circle_with_another_way_out_is_no_obstacle(store: rc.Store) -> None:
    store.promises.create("gate", timeout=10 * SECOND)
    for id in ("a", "b"):
        store.jobs.enqueue("flow", id=id, queue=id)
    held = {id: claimed(store, id) for id in ("a", "b")}
    store.jobs.suspend("a", held["a"].version, ["b"])
    store.jobs.suspend("b", held["b"].version, ["a", "gate"])
    found = rc.why(store, "a")
    assert not found.stuck and [id for id, _ in found.chain] == ["b", "gate"]


def test_promises_and_timers_may_be_awaited_too(store: rc.Store) -> None:
    store.promises.create("approved", timeout=10 * SECOND)
    store.promises.create("nap", timeout=10 * SECOND, tags={"resonate:timer": "true"})
    store.promises.create("never", timeout_at=2**63 - 1)
    store.jobs.enqueue("pack", id="pack", after=["approved", "nap"])
    found = rc.why(store, "pack").sentence
    assert "2 of 2: approved (promise, not settled), nap (timer until 1970-01-01T00:00:10.000Z (in 10s))." in found
    assert not rc.why(store, "pack").stuck
    store.jobs.enqueue("send", id="send", after=["never"])
    assert rc.why(store, "send").stuck


def test_a_cancelled_job_names_what_failed_first(store: rc.Store) -> None:
    store.jobs.enqueue("fetch", id="fetch", on_exhausted="failed")
    store.jobs.enqueue("parse", id="parse", after=["fetch"])
    store.jobs.enqueue("pack", id="pack", after=["parse"])
    fail(store, "default")
    store.tick()
    first = rc.why(store, "parse").sentence
    assert first == (
        'Job parse was cancelled at 1970-01-01T00:00:00.000Z (now) after DependencyFailed (the awaited promise "fetch" was rejected).'
    )
    second = rc.why(store, "pack").sentence
    assert second.endswith('(the awaited promise "parse" was cancelled); this began with fetch (failed after Torn).')


def test_what_the_reader_may_not_see_is_not_named() -> None:
    from resonate_core.explain.store_reader import StoreReader
    from resonate_core.explain.why import why_in

    store = rc.Store(clock=rc.ManualClock(start=0))
    store.jobs.enqueue("parse", id="them:a")
    store.jobs.enqueue("pack", id="us:pack", after=["them:a"])
    store.jobs.enqueue("parse", id="us:b")
    store.jobs.enqueue("pack", id="us:both", after=["them:a", "us:b"])
    reader = StoreReader(store)
    reader.prefix = "us:"
    assert why_in(reader, "us:pack").sentence.startswith("Job us:pack waits for a promise that is not visible.")
    said = str(why_in(reader, "us:both"))
    assert "waits for 2 of 2: us:b (pending) and 1 more." in said and "them:" not in said


def test_a_wide_wait_is_answered_from_a_part(store: rc.Store) -> None:
    ids = parts(store, 400)
    store.jobs.enqueue("pack", id="pack", after=ids)
    store.jobs.archive("parse-7")
    assert (
        "waits for 400 of 400: parse-1 (pending), parse-2 (pending), parse-7 (archived) and 397 more."
        in rc.why(store, "pack").sentence
    )
