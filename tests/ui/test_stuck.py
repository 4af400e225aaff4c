"""The reasons why something is stuck: a table of situations, each made as users make it, on every storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.explain.why import why_in
from resonate_core.ui.access import StoreAccess
from resonate_core.ui.options import UiOptions
from resonate_core.ui.principal import Principal
from resonate_core.ui.redaction import Redaction, RedactionRules
from ui.ui_client import client_of

START, FAR = 1_000_000, 10**9
SHOP = {"resonate:target": "poll://any@shop"}


def suspended(store: Any, id: str, awaited: list[str]) -> None:
    claim = store.tasks.create(id, pid="bob", ttl=60_000, timeout=FAR, target="poll://any@shop")
    store.tasks.suspend(id, claim.task.version, awaited)


def job(store: Any, *steps: Callable[[Any], Any], **options: Any) -> None:
    store.jobs.enqueue("send", {"to": "ada"}, id="x", **options)


def claimed(store: Any, *, start: int = 0, lease: int = 60_000) -> Any:
    return store.jobs.claim("default", worker="ann", lease=lease, start=start)[0]


def sleeps(store: Any) -> None:
    store.promises.create("x", timeout=5000, tags={"resonate:timer": "true"})


def external(store: Any) -> None:
    store.promises.create("x", timeout=FAR, tags={"resonate:external": "true"})


def local(store: Any) -> None:
    store.tasks.create("root", pid="bob", ttl=60_000, timeout=FAR, target="poll://any@shop")
    store.promises.create("x", timeout=FAR, tags={"resonate:scope": "local", "resonate:parent": "root", "resonate:origin": "root"})


def delayed(store: Any) -> None:
    store.promises.create("x", timeout=FAR, tags={**SHOP, "resonate:delay": str(START + 5000)})


def undelivered(store: Any) -> None:
    store.promises.create("x", timeout=FAR, tags=SHOP)


def dispatched(store: Any) -> None:
    undelivered(store)
    store.take_messages()


def acquired(store: Any) -> None:
    store.tasks.create("x", pid="bob", ttl=60_000, timeout=FAR, target="poll://any@shop")


def endless(store: Any) -> None:
    store.tasks.create("x", pid="bob", ttl=2**50, timeout=FAR, target="poll://any@shop")


def halted(store: Any) -> None:
    undelivered(store)
    store.tasks.halt("x")


def waits_for_a_chain(store: Any) -> None:
    child = {"resonate:origin": "x", "resonate:parent": "x"}
    store.promises.create("x.1", timeout=FAR, tags={**SHOP, **child})
    store.promises.create(
        "x.1.1", timeout=FAR, tags={"resonate:external": "true", "resonate:origin": "x", "resonate:parent": "x.1"}
    )
    claim = store.tasks.acquire("x.1", 0, pid="bob", ttl=60_000)
    store.tasks.suspend("x.1", claim.task.version, ["x.1.1"])
    suspended(store, "x", ["x.1"])


def waits_for_a_job(store: Any) -> None:
    store.jobs.enqueue("send", id="mail", tags={"resonate:origin": "x", "resonate:parent": "x"})
    suspended(store, "x", ["mail"])


def waits_in_a_circle(store: Any) -> None:
    store.promises.create("x.1", timeout=FAR, tags={**SHOP, "resonate:origin": "x", "resonate:parent": "x"})
    suspended(store, "x", ["x.1"])
    claim = store.tasks.acquire("x.1", 0, pid="bob", ttl=60_000)
    store.tasks.suspend("x.1", claim.task.version, ["x"])


def settled(store: Any) -> None:
    external(store)
    store.promises.resolve("x", 1)


def settled_untold(store: Any) -> None:
    undelivered(store)
    store.promises.register_listener("x", "http://localhost/hook")
    store.promises.resolve("x", 1)


def paused(store: Any) -> None:
    job(store)
    store.queues.pause("default")


def full(store: Any) -> None:
    store.queues.set("default", concurrency=1)
    store.jobs.enqueue("send", id="first")
    claimed(store)
    job(store)


def limited(store: Any) -> None:
    store.queues.set("default", rate={"limit": 1, "per": 60_000})
    store.jobs.enqueue("send", id="first")
    claimed(store)
    job(store)


def without_worker(store: Any) -> None:
    store.jobs.enqueue("send", id="first")
    job(store)


def behind(store: Any) -> None:
    store.jobs.enqueue("send", id="first")
    claimed(store)
    job(store, good_for=30_000)


def scheduled(store: Any) -> None:
    job(store, process_in=5000)


def gathers(store: Any) -> None:
    store.queues.set("default", groups={"size": 3, "grace": 5000, "maxDelay": 60_000})
    job(store, group="album")


def gathers_for_ever(store: Any) -> None:
    store.queues.set("default", groups={"grace": 5000})
    job(store, group="album")


def waits_for_jobs(store: Any) -> None:
    store.jobs.enqueue("send", id="first")
    job(store, after=["first"], good_for=30_000)


def waits_for_an_archived_job(store: Any) -> None:
    store.jobs.enqueue("send", id="first")
    store.jobs.enqueue("send", id="second", after=["first"])
    store.jobs.archive("first")
    job(store, after=["second"], after_failed="run")


def waits_in_a_circle_of_jobs(store: Any) -> None:
    job(store)
    store.jobs.enqueue("send", id="y")
    held = store.jobs.claim("default", count=2, worker="ann", lease=60_000, start=2)
    for one, awaited in zip(held, ("y", "x"), strict=True):
        store.jobs.suspend(one.id, one.version, [awaited])


def holds(store: Any) -> None:
    job(store)
    claimed(store)


def runs(store: Any) -> None:
    job(store, timeout=20_000)
    claimed(store, start=1)


def retries(store: Any) -> None:
    job(store, max_retries=3, retry_policy={"kind": "fixed", "intervals": [5000]})
    store.jobs.fail("x", claimed(store, start=1).version, "SmtpDown", "no answer")


def archived(store: Any) -> None:
    job(store, max_retries=0)
    store.jobs.fail("x", claimed(store, start=1).version, "SmtpDown", "no answer")


def put_aside(store: Any) -> None:
    job(store)
    store.jobs.archive("x")


def completed(store: Any) -> None:
    job(store, retention=60_000)
    store.jobs.complete("x", claimed(store, start=1).version, 1)


def expired(store: Any) -> None:
    job(store, good_for=5)
    store.clock.advance(5)


def cancelled(store: Any) -> None:
    job(store)
    store.jobs.cancel("x")


def on_schedule(store: Any) -> None:
    store.schedules.create("x", "0 3 * * *", promise_timeout=1000)


def on_paused_schedule(store: Any) -> None:
    on_schedule(store)
    store.schedules.pause("x")


def open_queue(store: Any) -> None:
    store.jobs.enqueue("send", queue="x")


def paused_queue(store: Any) -> None:
    store.jobs.enqueue("send", queue="x")
    store.queues.pause("x")


def nothing(store: Any) -> None:
    """An id that does not exist."""


#: Situation; what the sentence says; when something happens next, after START; whether a person must act; advised actions.
SITUATIONS: list[tuple[Callable[[Any], None], str, int | None, bool, list[str]]] = [
    (sleeps, "Timer x sleeps until 1970-01-01T00:16:45.000Z (in 5s).", 5000, False, []),
    (external, "Promise x waits until a client settles it; no task or job does it.", FAR, False, ["promise.settle"]),
    (local, "Promise x is settled by its caller root, which runs it locally.", FAR, False, ["promise.settle", "task.halt"]),
    (delayed, "Task x is delayed until 1970-01-01T00:16:45.000Z (in 5s).", 5000, False, []),
    (undelivered, "Task x waits for a worker: its message to poll://any@shop is not delivered since", FAR, False, []),
    (dispatched, "Task x was dispatched to poll://any@shop, and no worker has acquired it yet.", 5000, False, []),
    (
        acquired,
        "Task x is run by bob, which last renewed its lease at 1970-01-01T00:16:40.000Z (now).",
        60_000,
        False,
        ["task.halt"],
    ),
    (endless, "Task x is run by bob, whose lease has no end: if that worker has died, nobody notices.", FAR, False, ["task.halt"]),
    (halted, "Task x is halted; it waits until a person continues it.", FAR, True, ["task.continue"]),
    (waits_for_a_chain, "Task x is suspended: it waits for x.1, which waits for x.1.1.", FAR, False, ["promise.settle"]),
    (waits_for_a_job, "Task x is suspended: it waits for mail.", FAR, False, []),
    (waits_in_a_circle, "Task x is suspended: it waits for x.1, which waits for x.", FAR, True, []),
    (settled, "Promise x was resolved at 1970-01-01T00:16:40.000Z (now).", None, False, []),
    (settled_untold, "1 message about it is not delivered, the first to http://localhost/hook.", None, False, []),
    (paused, "Job x is pending: queue default is paused.", None, True, ["queue.resume"]),
    (
        full,
        "Job x is pending: queue default has reached its limit of 1 claimed and running jobs.",
        60_000,
        False,
        ["queue.set", "job.cancel"],
    ),
    (limited, "Job x is pending: queue default has reached its rate.", 60_000, False, []),
    (without_worker, "Job x waits for a worker of queue default, with 1 other job since", None, False, []),
    (behind, "its workers are busy with other jobs.", 30_000, False, []),
    (scheduled, "Job x is scheduled for 1970-01-01T00:16:45.000Z (in 5s).", 5000, False, ["job.run"]),
    (gathers, "Job x gathers with group album of queue default, until 3 members have joined.", 5000, False, []),
    (
        gathers_for_ever,
        "until 1000 members have joined. The queue has no maxDelay, so each job that joins puts the batch off.",
        5000,
        False,
        ["queue.set"],
    ),
    (
        waits_for_jobs,
        "Job x waits for first (pending). It is cancelled if it fails.",
        30_000,
        False,
        ["job.run", "job.cancel"],
    ),
    (
        waits_for_an_archived_job,
        "Job x waits for second (waiting); it is held up by first (archived). It runs even if it fails.",
        None,
        True,
        ["job.run", "job.cancel", "job.run", "job.cancel"],
    ),
    (
        waits_in_a_circle_of_jobs,
        "Job x waits for y (waiting); these wait for each other, and nothing ends this circle: x, y, x.",
        None,
        True,
        ["job.run", "job.cancel"],
    ),
    (holds, "Job x is claimed by ann and has not started.", 60_000, False, ["job.cancel"]),
    (runs, "Job x is run by ann since 1970-01-01T00:16:40.000Z (now).", 20_000, False, ["job.cancel"]),
    (
        retries,
        "Job x waits for retry 1 of 3 at 1970-01-01T00:16:45.000Z (in 5s) after SmtpDown (no answer).",
        5000,
        False,
        ["job.run"],
    ),
    (archived, "Job x is archived after SmtpDown (no answer): no retry is left", None, True, ["job.run", "job.delete"]),
    (
        put_aside,
        "Job x is archived; its awaiters keep waiting until a person runs or cancels it.",
        None,
        True,
        ["job.run", "job.delete"],
    ),
    (completed, "Job x has completed at 1970-01-01T00:16:40.000Z (now).", 60_000, False, []),
    (expired, "Job x has expired at", None, False, []),
    (cancelled, "Job x was cancelled at", None, False, []),
    (on_schedule, "Schedule x waits for its next occurrence at 1970-01-01T03:00:00.000Z", 10_800_000 - START, False, []),
    (open_queue, "Queue x is open: 1 job waits for a worker, 0 are claimed or running.", None, False, []),
    (paused_queue, "Queue x is paused; 1 job waits.", None, True, ["queue.resume"]),
    (on_paused_schedule, "Schedule x is paused.", None, True, ["schedule.resume"]),
    (nothing, "There is no promise, task, job, schedule or queue x: it was never created, or it was deleted.", None, False, []),
]


@pytest.mark.parametrize("make, sentence, next, stuck, advised", SITUATIONS, ids=[row[0].__name__ for row in SITUATIONS])
def test_situations(
    store: Any, make: Callable[[Any], None], sentence: str, next: int | None, stuck: bool, advised: list[str]
) -> None:
    store.clock.advance_to(START)
    make(store)
    before = store.digest()
    seen = rc.why(store, "x")
    assert sentence in seen.sentence and seen.sentence.endswith("."), seen
    assert (None if seen.next is None else seen.next.at) == (None if next is None else START + next), seen
    assert seen.stuck is stuck, seen
    assert [action[0] for _, action in seen.advice if action is not None] == advised
    assert store.digest() == before


@pytest.mark.parametrize("make", [row[0] for row in SITUATIONS if row[2] is not None], ids=lambda make: make.__name__)
def test_what_is_foretold_happens(make: Callable[[Any], None]) -> None:
    """At the predicted instant, and not before, something changes about this id."""
    store = rc.Store(clock=rc.ManualClock(START))
    make(store)
    seen = rc.why(store, "x")
    assert seen.next is not None and seen.next.at is not None
    if make is full or make is limited:
        store.clock.advance_to(seen.next.at)
        if make is full:
            assert store.jobs.get("first").state == "pending"
        assert store.jobs.claim("default", worker="carl", lease=1000) != []
        return
    if make is local:  # an internal promise times out by projection alone
        store.clock.advance_to(seen.next.at)
        assert store.promises.get("x").state == "rejected_timedout"
        return
    before = {change.id for change in rc.diff(_at(store, seen.next.at - 1), _at(store, seen.next.at))}
    assert any(id == "x" or id.startswith(("execute of x", "x.")) for id in before), before


def _at(store: Any, instant: int) -> Any:
    fork = store.fork(rc.ManualClock(store.now))
    fork.clock.advance_to(instant)
    return fork


@pytest.mark.parametrize("make", [row[0] for row in SITUATIONS if row[4]], ids=lambda make: make.__name__)
def test_the_advised_actions_can_be_done(make: Callable[[Any], None]) -> None:
    store = rc.Store(clock=rc.ManualClock(START))
    make(store)
    for _, action in rc.why(store, "x").advice:
        assert action is not None
        fork = store.fork(rc.ManualClock(store.now))
        head = {"corrId": "1", "version": "2026-04-01"}
        assert fork.apply({"kind": action[0], "head": head, "data": action[1]})["head"]["status"] == 200, action


def access(store: Any, **options: Any) -> StoreAccess:
    return StoreAccess(store, Principal("read", **options), Redaction(RedactionRules(UiOptions())))


def test_a_chain_names_what_each_waits_for(store: Any) -> None:
    store.clock.advance_to(START)
    waits_for_a_chain(store)
    seen = rc.why(store, "x")
    assert [id for id, _ in seen.chain] == ["x.1", "x.1.1"] and "x.1.1: Promise x.1.1 waits until a client settles it" in str(seen)
    assert seen.to_dict()["chain"][1]["id"] == "x.1.1" and "Next: it times out, at 1970-01-12T" in str(seen)


def test_a_circle_is_named(store: Any) -> None:
    store.clock.advance_to(START)
    waits_in_a_circle(store)
    assert rc.why(store, "x").chain[-1] == ("x", "x waits for itself: this circle of waits does not end by itself.")


def test_a_long_chain_is_cut() -> None:
    store = rc.Store(clock=rc.ManualClock(START))
    for n in range(40):
        tags = {**SHOP, "resonate:origin": "x"}
        store.promises.create(f"x.{n}", timeout=FAR, tags=tags)
    for n in range(39):
        claim = store.tasks.acquire(f"x.{n}", 0, pid="bob", ttl=60_000)
        store.tasks.suspend(f"x.{n}", claim.task.version, [f"x.{n + 1}"])
    assert len(rc.why(store, "x.0").chain) == 20


def test_nobody_listens(store: Any) -> None:
    undelivered(store)
    assert why_in(access(store), "x", lambda address: False).sentence.startswith(
        "Task x waits for a worker: no worker listens on poll://any@shop"
    )
    assert why_in(access(store), "x", lambda address: False).stuck and not why_in(access(store), "x", lambda address: True).stuck


def test_overdue_steps_are_named(home: Any) -> None:
    place = home.new_place()
    with home.open(place, clock=rc.ManualClock(START)) as store:
        acquired(store)
    with home.open(place, clock=rc.ManualClock(START + 120_000)) as store:  # no tick ran meanwhile
        seen = rc.why(store, "x")
        assert seen.next is not None and seen.next.at == START + 60_000
        assert seen.next.what.endswith("this is overdue by 1m: no process ticks this store")


def test_a_schedule_that_is_set_aside(store: Any) -> None:
    on_schedule(store)
    snapshot = store.snapshot()
    snapshot["schedules"][0]["cron"] = "CRON_TZ=Nowhere/Land 0 3 * * *"
    other = rc.Store(clock=rc.ManualClock(0))
    other.restore(snapshot, check=False)
    other.clock.advance_to(snapshot["schedules"][0]["nextRunAt"])
    seen = rc.why(other, "x")
    assert seen.state == "set aside" and seen.stuck and "Nowhere/Land" in seen.sentence, seen


def test_what_is_not_visible_is_not_told(store: Any) -> None:
    waits_for_a_chain(store)
    waits = why_in(access(store, prefix="y"), "y")
    assert waits.kind == "unknown"


def test_the_view_lists_circles_of_jobs_and_what_holds_others_up() -> None:
    store = rc.Store(clock=rc.ManualClock(START))
    waits_in_a_circle_of_jobs(store)
    store.jobs.enqueue("send", id="first")
    store.jobs.archive("first")
    for number in range(3):
        store.jobs.enqueue("send", id=f"after-{number}", after=["first"])
    found = client_of(store).see("stuck")
    assert {one["id"] for one in found["items"]} == {"x", "y", "first"}
    assert all(one["needsPerson"] for one in found["items"])
