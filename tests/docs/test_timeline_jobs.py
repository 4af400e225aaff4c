"""The picture of a recording of jobs: attempts, the waits between them, and how they end."""

from __future__ import annotations

import io
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from figures import axes_of, bars_with_heights, colour_of, explained, rows

import resonate_core as rc
from resonate_core.history import History, Span
from resonate_core.timeline.style import BAND
from resonate_core.worker import JobContext, Retry, Snooze, Worker

SECOND = 1000
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
RETRIES = {"kind": "fixed", "intervals": [6 * SECOND]}


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock(start=0)


@pytest.fixture
def store(clock: rc.ManualClock) -> rc.Store:
    return rc.Store(clock=clock, check=True)


@pytest.fixture
def trace(store: rc.Store) -> io.StringIO:
    recorded = io.StringIO()
    store.record(recorded)
    return recorded


def seen(span: Span) -> tuple[Any, ...]:
    """Returns the main values of a span."""
    return (span.state, span.start, span.end) if span.pid is None else (span.state, span.start, span.end, span.pid, span.outcome)


def spans(source: Any, id: str) -> list[tuple[Any, ...]]:
    return [seen(span) for span in History(source).lives[id].spans]


def test_attempts_waiting_and_the_end(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.jobs.enqueue("mail", id="m", process_in=2 * SECOND, max_retries=2, retry_policy=RETRIES)
    clock.advance(3 * SECOND)
    (job,) = store.jobs.claim("default", worker="ann", lease=5 * SECOND)
    clock.advance(SECOND)
    store.jobs.start("m", job.version)
    clock.advance(2 * SECOND)
    store.jobs.fail("m", job.version, "SmtpDown")
    clock.advance(7 * SECOND)
    (job,) = store.jobs.claim("default", worker="bob", lease=5 * SECOND, start=1)
    clock.advance(2 * SECOND)
    store.jobs.complete("m", job.version, "sent")
    clock.advance(5 * SECOND)
    assert spans(trace, "m") == [
        ("scheduled", 0, 2000),
        ("pending", 2000, 3000),
        ("claimed", 3000, 4000, "ann", None),
        ("running", 4000, 6000, "ann", "failed"),
        ("retry", 6000, 12000),
        ("pending", 12000, 13000),
        ("running", 13000, 15000, "bob", "completed"),
    ]
    life = History(trace).lives["m"]
    assert (life.state, life.settled_at, life.spans[3].code) == ("completed", 15000, "SmtpDown")
    figure = rc.display.timeline(trace)
    assert rows(figure) == ["m"]
    assert not [text for text in axes_of(figure).texts if text.get_text() == "nothing to show"]
    assert bars_with_heights(figure, colour_of("ann")) == [(3, 4, 0.14), (4, 6, 0.4)]
    assert bars_with_heights(figure, colour_of("bob")) == [(13, 15, 0.4)]
    assert bars_with_heights(figure, BAND) == [(0, 15, 0.74)]
    assert explained(figure) == {
        "held by ann",
        "held by bob",
        "pending",
        "completed",
        "scheduled",
        "waits in its queue",
        "waits for its retry",
        "attempt failed",
        "attempt completed",
    }
    assert "<svg" in figure._repr_svg_()


@pytest.mark.parametrize("end", ["job_lease", "job_timeout"])
@pytest.mark.parametrize(
    ("options", "state", "then"),
    [
        ({"max_retries": 1, "retry_policy": RETRIES}, "pending", "retry"),
        ({"max_retries": 1, "retry_policy": {**RETRIES, "codes": ["Other"]}, "on_exhausted": "failed"}, "failed", None),
        ({"max_retries": 0}, "pending", "archived"),
        ({"max_retries": 0, "on_exhausted": "failed"}, "failed", None),
    ],
)
def test_what_follows_a_crash_is_known_from_its_step(
    store: rc.Store, clock: rc.ManualClock, trace: io.StringIO, end: str, options: dict[str, Any], state: str, then: str | None
) -> None:
    """The step does not contain it, and no request reads the job afterwards."""
    store.jobs.enqueue("t", id="j", timeout=4 * SECOND if end == "job_timeout" else None, **options)
    store.jobs.claim("default", worker="ann", lease=(9 if end == "job_timeout" else 4) * SECOND, start=1)
    assert [step.kind for step in clock.advance(5 * SECOND)] == [end]
    life = History(trace).lives["j"]
    outcome = "crashed" if end == "job_lease" else "timed_out"
    running = ("running", 0, 4000, "ann", outcome)
    assert [seen(span) for span in life.spans if span.end != span.start] == [running, *([(then, 4000, None)] if then else [])]
    assert (life.state, life.spans[1].code) == (state, store.jobs.get("j").error["code"])
    assert {"worker crashed", "attempt timed out"} & explained(rc.display.timeline(trace))


ENDS: dict[str, Callable[[rc.Store, rc.ManualClock], Any]] = {
    "cancelled": lambda store, clock: store.jobs.cancel("j"),
    "expired": lambda store, clock: clock.advance(9 * SECOND),
    "failed": lambda store, clock: store.promises.reject("j"),
    "completed": lambda store, clock: store.promises.resolve("j"),
    "deleted": lambda store, clock: store.jobs.delete("j"),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_has_its_word(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO, end: str) -> None:
    store.jobs.enqueue("t", id="j", good_until=8 * SECOND)
    clock.advance(SECOND)
    ENDS[end](store, clock)
    life = History(trace).lives["j"]
    assert (life.state, life.settled_at) == (end, 8000 if end == "expired" else 1000)
    assert end in explained(rc.display.timeline(trace))


def test_a_deadline_ends_the_attempt(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.jobs.enqueue("t", id="j", deadline=3 * SECOND)
    store.jobs.claim("default", worker="ann", lease=60 * SECOND, start=1)
    clock.advance(5 * SECOND)
    assert spans(trace, "j")[-1] == ("running", 0, 3000, "ann", "timed_out")
    assert {"deadline", "failed", "attempt timed out"} <= explained(rc.display.timeline(trace))


def test_what_is_done_to_all_that_match(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.jobs.enqueue_many("t", [1, 2], ids=["a", "b"], queue="q")
    store.jobs.enqueue("u", id="c", queue="q")
    clock.advance(SECOND)
    assert store.jobs.archive_all("pending", queue="q", type="t") == 2
    clock.advance(SECOND)
    assert store.jobs.run_all("archived", queue="q") == 2
    clock.advance(SECOND)
    assert store.jobs.cancel_all(type="u") == 1
    assert store.jobs.delete_all("cancelled", queue="q") == 1
    for id in "ab":
        assert spans(trace, id) == [("pending", 0, 1000), ("archived", 1000, 2000), ("pending", 2000, None)]
    assert (spans(trace, "c"), History(trace).lives["c"].state) == ([("pending", 0, 3000)], "cancelled")


def test_a_cancelled_workflow_ends_the_jobs_that_only_it_awaited(
    store: rc.Store, clock: rc.ManualClock, trace: io.StringIO
) -> None:
    for id in ("alone", "shared"):
        store.jobs.enqueue("t", id=id)
    for id, awaited in (("w", ["alone", "shared"]), ("other", ["shared"])):
        task = store.tasks.create(id, pid="p", ttl=60 * SECOND, timeout=60 * SECOND, target="poll://any@g").task
        store.tasks.suspend(id, task.version, awaited)
    clock.advance(SECOND)
    store.promises.cancel("w")
    lives = History(trace).lives
    assert (lives["alone"].state, lives["alone"].settled_at) == ("cancelled", 1000)
    assert spans(trace, "shared") == [("pending", 0, None)]
    assert "cancelled" in explained(rc.display.timeline(trace))


def test_groups_gather_and_schedules_enqueue(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.queues.set("mail", groups={"size": 10, "grace": 4 * SECOND})
    for id, wait in (("a", 0), ("b", SECOND)):
        store.jobs.enqueue("t", id=id, queue="mail", group="g", process_in=wait)
    store.schedules.create("s", "*/10 * * * * *", promise_timeout=60 * SECOND, job={"type": "tick"})
    clock.advance(10 * SECOND)
    (job,) = store.jobs.claim("default", worker="ann", lease=9 * SECOND, start=1)
    clock.advance(SECOND)
    store.jobs.complete(job.id, job.version)
    assert [spans(trace, id) for id in "ab"] == [[("scheduled", 0, 5000), ("pending", 5000, None)]] * 2
    assert spans(trace, "s.10000")[-1] == ("running", 10000, 11000, "ann", "completed")
    assert rows(rc.display.timeline(trace)) == ["a", "b", "s", "s.10000"]


def test_an_id_that_is_enqueued_again(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    for _ in range(2):
        store.jobs.enqueue("t", id="j", lifecycle="asynq")
        (job,) = store.jobs.claim("default", worker="ann", lease=SECOND)
        clock.advance(500)
        store.jobs.complete("j", job.version)
        clock.advance(500)
    running = [span for span in spans(trace, "j") if span[0] == "running"]
    assert running == [("running", 0, 500, "ann", "completed"), ("running", 1000, 1500, "ann", "completed")]


def test_a_worker_s_own_recording(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    worker = Worker(store, name="ann")

    @worker.task("t", max_retries=3, retry_policy=RETRIES)
    def body(what: str, job: JobContext) -> str:
        clock.advance(2 * SECOND)
        if job.attempt == 1:
            raise Retry(after=SECOND) if what == "retry" else Snooze(SECOND)
        return "done"

    body.enqueue_many(["retry", "snooze"], ids=["r", "s"])
    worker.run_until_idle(advance=True)
    for id, outcome in (("r", "failed"), ("s", "snoozed")):
        assert [span[4] for span in spans(trace, id) if span[0] == "running"] == [outcome, "completed"]
    assert {"held by ann", "snoozed", "attempt failed"} <= explained(rc.display.timeline(trace))


def test_a_store_alone_knows_the_attempts(store: rc.Store, clock: rc.ManualClock) -> None:
    store.jobs.enqueue("t", id="j", max_retries=2, retry_policy=RETRIES)
    for _ in range(2):
        (job,) = store.jobs.claim("default", worker="ann", lease=9 * SECOND, start=1)
        clock.advance(2 * SECOND)
        store.jobs.fail("j", job.version, "X")
        clock.advance(6 * SECOND)
    assert [span for span in spans(store, "j") if len(span) == 5] == [
        ("running", 0, 2000, "ann", "failed"),
        ("running", 8000, 10000, "ann", "failed"),
    ]
    assert spans(store, "j")[-1] == ("pending", 16000, None)
    assert bars_with_heights(rc.display.timeline(store), colour_of("ann")) == [(0, 2, 0.4), (8, 10, 0.4)]


def test_refusals_and_heartbeats(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.jobs.enqueue("t", id="j")
    (job,) = store.jobs.claim("default", worker="ann", lease=9 * SECOND, start=1)
    clock.advance(SECOND)
    store.jobs.heartbeat("ann", [("j", job.version)])
    clock.advance(SECOND)
    with pytest.raises(rc.errors.Conflict):
        store.jobs.complete("j", 7)
    store.jobs.complete_many([("j", 8, None)])
    marks = [(mark.at, mark.kind, mark.text) for mark in History(trace).lives["j"].marks]
    assert marks == [(1000, "heartbeat", ""), (2000, "refused", "409"), (2000, "refused", "409")]


def test_the_picture_on_the_page_is_what_is_drawn(tmp_path: Path) -> None:
    runpy.run_path(str(PICTURES / "work.py"))["draw"](tmp_path / "work.svg")
    texts = [re.findall("<text[^>]*>([^<]*)<", path.read_text()) for path in (PICTURES / "work.svg", tmp_path / "work.svg")]
    assert texts[0] == texts[1]
    assert {"welcome", "like-2", "worker crashed", "attempt timed out"} <= set(texts[0])


def finish(store: rc.Store, queue: str, end: str = "complete") -> None:
    """Claims the next job of a queue, and ends it."""
    (job,) = store.jobs.claim(queue, worker="ann", lease=5 * SECOND, start=1)
    if end == "complete":
        store.jobs.complete(job.id, job.version)
    else:
        store.jobs.fail(job.id, job.version, "Torn", retryable=False)


def test_a_job_waits_for_others_and_each_settlement_is_an_arrow(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    for part in ("a", "b"):
        store.jobs.enqueue("parse", id=part, queue=part)
    store.jobs.enqueue("pack", id="pack", after=["a", "b"])
    store.jobs.enqueue("send", id="send", after=["a"], process_in=9 * SECOND)
    clock.advance(2 * SECOND)
    finish(store, "a")
    clock.advance(SECOND)
    finish(store, "b")
    clock.advance(SECOND)
    assert spans(trace, "pack") == [("waiting", 0, 3000), ("pending", 3000, None)]
    assert spans(trace, "send") == [("waiting", 0, 2000), ("scheduled", 2000, None)]
    history = History(trace)
    assert sorted(history.wakes) == [(2000, "a", "pack"), (2000, "a", "send"), (3000, "b", "pack")]
    assert {"waits for other promises", "settled for its awaiter"} <= explained(rc.display.timeline(trace))


def test_a_failed_dependency_cancels_or_is_counted(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.jobs.enqueue("parse", id="a", on_exhausted="failed")
    store.jobs.enqueue("pack", id="pack", after=["a"])
    store.jobs.enqueue("tell", id="tell", after=["a"], after_failed="run")
    store.jobs.enqueue("late", id="late", after=["a"], good_for=SECOND)
    clock.advance(2 * SECOND)
    finish(store, "default", "fail")
    clock.advance(SECOND)
    assert spans(trace, "tell") == [("waiting", 0, 2000), ("pending", 2000, None)]
    lives = History(trace).lives
    assert [(lives[id].state, lives[id].settled_at) for id in ("pack", "late")] == [("cancelled", 2000), ("expired", 1000)]
    assert {id: store.jobs.get(id).state for id in ("pack", "late", "tell")} == {
        "pack": "cancelled",
        "late": "expired",
        "tell": "pending",
    }


@pytest.mark.parametrize(("until", "woken"), [("any", 2000), ("all", 3000)])
def test_a_suspended_job_waits_in_the_middle(
    store: rc.Store, clock: rc.ManualClock, trace: io.StringIO, until: Any, woken: int
) -> None:
    for part in ("a", "b"):
        store.jobs.enqueue("parse", id=part, queue=part)
    store.jobs.enqueue("flow", id="flow", queue="flows")
    (job,) = store.jobs.claim("flows", worker="bob", lease=5 * SECOND, start=1)
    clock.advance(SECOND)
    store.jobs.suspend("flow", job.version, ["a", "b"], until=until)
    clock.advance(SECOND)
    finish(store, "a")
    clock.advance(SECOND)
    finish(store, "b")
    clock.advance(SECOND)
    assert spans(trace, "flow") == [
        ("pending", 0, 0),
        ("running", 0, 1000, "bob", "suspended"),
        ("waiting", 1000, woken),
        ("pending", woken, None),
    ]
    assert "suspended" in explained(rc.display.timeline(trace))


def test_more_is_lacked_than_a_record_names(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    parts = [f"p{number:03}" for number in range(102)]
    for part in parts:
        store.jobs.enqueue("parse", id=part, queue="parts")
    store.jobs.enqueue("pack", id="pack", after=parts)
    clock.advance(SECOND)
    for _ in parts[:-1]:
        finish(store, "parts")
    assert spans(trace, "pack") == [("waiting", 0, None)]
    clock.advance(SECOND)
    finish(store, "parts")
    assert spans(trace, "pack") == [("waiting", 0, 2000), ("pending", 2000, None)]
    assert len(History(trace).wakes) == len(parts)


def test_a_snapshot_in_a_recording_has_what_a_job_lacks(store: rc.Store, clock: rc.ManualClock) -> None:
    store.jobs.enqueue("parse", id="a")
    store.jobs.enqueue("pack", id="pack", after=["a"])
    trace = io.StringIO()
    store.record(trace)
    clock.advance(SECOND)
    finish(store, "default")
    assert spans(trace, "pack") == [("waiting", 0, 1000), ("pending", 1000, None)]


def test_a_store_without_a_recording_shows_who_waited_for_whom(store: rc.Store, clock: rc.ManualClock) -> None:
    for part in ("a", "b"):
        store.jobs.enqueue("parse", id=part, queue=part)
    clock.advance(SECOND)
    store.jobs.enqueue("pack", id="pack", after=["a", "b"])
    store.jobs.enqueue("send", id="send", after=["pack"])
    clock.advance(SECOND)
    finish(store, "a")
    clock.advance(SECOND)
    store.jobs.run("pack")  # without b
    finish(store, "default")
    clock.advance(SECOND)
    finish(store, "b")
    for history in (History(store), History.of_records(store.now, jobs=[job.to_dict() for job in store.jobs.search()])):
        assert sorted(history.wakes) == [(2000, "a", "pack"), (3000, "pack", "send")]
        assert seen(history.lives["pack"].spans[0])[:3] == ("waiting", 1000, 3000)
        assert [seen(span)[:3] for span in history.lives["send"].spans][:2] == [("waiting", 1000, 3000), ("pending", 3000, None)]
