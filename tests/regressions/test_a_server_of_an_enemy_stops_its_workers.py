"""A claim that was answered by something else than the protocol ended `Worker.run`, which left its other jobs to their leases.

The worker logs it, waits, and continues: once the server answers in the protocol, it works.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import Asked, Respond, Sent, chunked, enemy, envelope, http, with_data, zeros
from resonate_core.http.remote import Remote
from resonate_core.worker import Worker
from tiers import every

STORE = rc.Store(clock=rc.ManualClock())
STORE.jobs.enqueue("t", 1, id="a", queue="q")
(_JOB,) = STORE.jobs.claim("q", worker="w", lease=10**9, start=1)
JOB = _JOB.to_dict()


def _items(count: int, status: Any = 200) -> dict[str, Any]:
    return {"jobs": [{"status": status}] * count}


#: What the server says instead of the protocol, to every request.
SAID: dict[str, Respond] = {
    "a bomb": lambda asked: http(zeros(300_000_000), "content-encoding: gzip"),
    "no end": lambda asked: chunked(b"{", b" " * 65_536),
    "deep": with_data('{"jobs": ' + "[" * 200_000),
    "a count of a batch": with_data([], "resonate-batch: " + "9" * 5000),
    "a list": with_data([1, 2]),
    "null": with_data(None),
    "no jobs": with_data({}),
    "jobs as a number": with_data({"jobs": 5}),
    "a job as a number": with_data({"jobs": [5]}),
    "the same job twice": with_data({"jobs": [JOB, JOB]}),
    "a job of another queue": with_data({"jobs": [{**JOB, "queue": "another"}]}),
    "a job that has ended": with_data({"jobs": [{**JOB, "state": "completed", "completedAt": 5}]}),
    "an instant": with_data({"jobs": [], "nextAt": 10**30}),
    "a page of a proxy": lambda asked: http(b"<html>", status="404 Not Found", content_type="text/html"),
    "a conflict of a proxy": lambda asked: http(b"<html>", status="409 Conflict", content_type="text/html"),
    **{f"refused by {status}": with_data('"no"', status=status) for status in (402, 404, 405, 409, 413, 418, 422, 451, 499)},
    "refused at length": with_data("no\n" * 10_000, status=404),
    **{
        f"a proxy that wants {status}": lambda asked, status=status: http(b"<html>", status=f"{status} No")
        for status in (401, 403, 413)
    },
    "more jobs than asked for": with_data({"jobs": [{**JOB, "id": f"j{n}"} for n in range(50)]}),
    "a batch and more": with_data({"jobs": [{**JOB, "id": f"j{n}", "batch": f"b{n // 40}"} for n in range(50)]}),
}


def _run(answer: Respond, handler: Callable[..., None], until: threading.Event, **options: Any) -> tuple[Worker, list[Asked]]:
    """Run a worker of a server until an event; return it, and the requests that it sent."""
    with enemy(answer) as server:
        worker = Worker(server.url, queues="q", name="w", **options)
        worker.task("t")(handler)
        with closing(worker), worker:
            assert until.wait(20)
    return worker, server.asked


def _worked(respond: Respond, calls: int) -> tuple[list[Any], list[Asked]]:
    """Run a worker until it has completed a job; the server answers as an enemy for the first claims."""
    ran: list[Any] = []
    completed = threading.Event()
    claims = 0

    def answer(asked: Asked) -> Sent:
        nonlocal claims
        kind = asked.envelope["kind"]
        if kind == "job.claim":
            claims += 1
            if claims <= calls:
                return respond(asked)
            return http(envelope(asked, {"jobs": [JOB] if claims == calls + 1 else []}))
        if kind == "job.complete_many":
            completed.set()
            return http(envelope(asked, _items(len(asked.envelope["data"]["jobs"]))))
        if asked.path.startswith("/jobs/claimable"):
            return http(b"", status="404 Not Found")
        return respond(asked)

    def task(payload: Any) -> None:
        ran.append(payload)

    _, asked = _run(answer, task, completed, poll_interval=50)
    return ran, asked


@pytest.mark.parametrize("name", every(2, SAID))
def test_the_worker_goes_on(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "resonate_core.worker"):
        ran, _ = _worked(SAID[name], 2)
    assert ran == [1]
    said = [record.getMessage() for record in caplog.records if "again in" in record.getMessage()]
    assert len(said) == 2 and all(line.isprintable() and len(line) < 1000 for line in said)


@pytest.mark.parametrize("status", [400, 401, 403, 501])
def test_a_refusal_that_ends_a_worker(status: int) -> None:
    with enemy(lambda asked: http(envelope(asked, "no", status))) as server, closing(Worker(server.url, queues="q")) as worker:
        worker.task("t")(lambda payload: None)
        with pytest.raises(rc.ResonateError, match=r"^no$") as ended:
            worker.run(signals=False)
        assert ended.value.status == status


@pytest.mark.parametrize(
    ("status", "single"),
    [
        *((status, False) for status in (402, 404, 413, 422, 451)),
        *((status, True) for status in (400, 401, 402, 404, 413, 422, 501)),
    ],
)
def test_a_start_that_is_refused(status: int, single: bool) -> None:
    """The item of a job, or the whole request, is refused: the next jobs are claimed and run."""
    ran: list[Any] = []
    done = threading.Event()
    claims = 0

    def answer(asked: Asked) -> bytes:
        nonlocal claims
        kind = asked.envelope["kind"]
        if kind == "job.claim":
            claims += 1
            if claims == 1:
                return http(envelope(asked, {"jobs": [{**JOB, "id": "claimed", "state": "claimed"}]}))
            return http(envelope(asked, {"jobs": [JOB] if claims == 2 else []}))
        if kind == "job.start_many":
            if single:
                return http(envelope(asked, {"jobs": [{"status": status, "error": "no"}]}))
            started = len([one for one in server.asked if one.envelope["kind"] == kind]) > 1
            return http(envelope(asked, _items(1) if started else "no", 200 if started else status))
        if kind == "job.complete_many":
            if any(one["id"] == JOB["id"] for one in asked.envelope["data"]["jobs"]):
                done.set()
            return http(envelope(asked, _items(len(asked.envelope["data"]["jobs"]))))
        return http(b"", status="404 Not Found")

    def task(payload: Any) -> None:
        ran.append(payload)

    with enemy(answer) as server:
        worker = Worker(server.url, queues="q", name="w", poll_interval=50, concurrency=4)
        worker.task("t")(task)
        with closing(worker), worker:
            assert done.wait(20)
    assert ran


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
def test_a_proxy_that_wants_a_token_loses_no_result(status: str) -> None:
    """Such a page instead of the server's word on a result was taken for a refusal: the job failed, and its result was lost."""
    done = threading.Event()
    jobs = [JOB]
    kinds: list[str] = []

    def answer(asked: Asked) -> bytes:
        kind = asked.envelope["kind"]
        if kind == "job.claim":  # once: a slow worker claims again before it reports
            return http(envelope(asked, {"jobs": [jobs.pop()] if jobs else []}))
        if kind in ("job.complete_many", "job.fail"):
            kinds.append(kind)
            if len(kinds) == 1:
                return http(b"<html>", status=status, content_type="text/html")
            done.set()
            return http(envelope(asked, _items(1)))
        return http(b"", status="404 Not Found")

    worker, _ = _run(answer, lambda payload: None, done, poll_interval=10_000)
    assert kinds == ["job.complete_many"] * 2
    assert (worker.counts.completed, worker.counts.failed) == (1, 0)


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("status", [200, "200", True, None, 2**80])
def test_statuses_of_what_was_not_asked(count: int, status: Any) -> None:
    """A report whose answer is unusable is sent again."""
    ended = threading.Event()
    jobs = [JOB]
    reports = 0

    def answer(asked: Asked) -> bytes:
        nonlocal reports
        kind = asked.envelope["kind"]
        if kind == "job.claim":  # once: a slow worker claims again before it reports
            return http(envelope(asked, {"jobs": [jobs.pop()] if jobs else []}))
        if kind == "job.complete_many":
            reports += 1
            if reports == 2:
                ended.set()
                return http(envelope(asked, _items(1)))
            return http(envelope(asked, _items(count, status)))
        return http(b"", status="404 Not Found")

    def task(payload: Any) -> None:
        pass

    _run(answer, task, ended, poll_interval=10_000)


def test_a_claim_that_is_too_long_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[int] = []
    ran: list[int] = []
    done = threading.Event()

    def answer(asked: Asked) -> bytes:
        kind = asked.envelope["kind"]
        if kind == "job.claim":
            count = asked.envelope["data"]["count"]
            asked_for.append(count)
            job = {**JOB, "payload": {"data": "A" * 1_000_000}}
            return http(
                json.dumps({}).encode()
                if done.is_set()
                else envelope(asked, {"jobs": [{**job, "id": f"j{n}"} for n in range(count)]})
            )
        if kind == "job.complete_many":
            done.set()
            return http(envelope(asked, _items(len(asked.envelope["data"]["jobs"]))))
        return http(b"", status="404 Not Found")

    monkeypatch.setattr(Remote.__init__, "__defaults__", (3_000_000,))

    def task(payload: bytes) -> None:
        ran.append(1)

    _run(answer, task, done, concurrency=8, batch=0, poll_interval=50)
    assert asked_for[:3] == [8, 4, 2] and ran


@pytest.mark.parametrize("status", ["404 Not Found", "409 Conflict", "200 OK"])
def test_a_page_of_a_proxy_is_no_lost_job(status: str) -> None:
    """A page with 404 was taken for the server's word that the worker does not hold the job: its failure was dropped."""
    failed = threading.Event()
    claims = reports = 0

    def answer(asked: Asked) -> bytes:
        nonlocal claims, reports
        kind = asked.envelope["kind"]
        if kind == "job.claim":
            claims += 1  # a slow worker claims again before its first report
            return http(envelope(asked, {"jobs": [JOB] if claims == 1 else []}))
        if kind == "job.fail":
            reports += 1
            if reports == 1:
                return http(b"<html>", status=status, content_type="text/html")
            failed.set()
            return http(envelope(asked, {"job": JOB}))
        return http(b"", status="404 Not Found")

    def task(payload: Any) -> None:
        raise ValueError("no")

    worker, _ = _run(answer, task, failed, poll_interval=10_000)
    assert (worker.counts.failed, worker.counts.lost) == (1, 0)
