"""Workflows of a worker, for tests and pictures of the dashboard: one that waits for a message, one that runs, one that failed."""

from __future__ import annotations

from typing import Any

import resonate_core as rc
from browser import scene
from resonate_core.base.step_lines import raised_line, running_line

NAME, TIMER = "resonate:name", "resonate:timer"
TAGS = {"resonate:workflow": "true"}
MAIN, RUNS, FAILED = "onboard-ada", "onboard-eve", "onboard-bob"


def _step(id: str, name: str, value: Any, began: int, attempts: int = 1) -> dict[str, Any]:
    return {
        "id": id,
        "state": "resolved",
        "value": value,
        "tags": {NAME: name},
        "param": {"startedAt": began, "attempts": attempts},
    }


def _timer(id: str, name: str, seconds: int, **param: Any) -> dict[str, Any]:
    made = {"id": id, "timeout_in": seconds * 1000, "tags": {NAME: name, TIMER: "true"}}
    return {**made, "param": param} if param else made


def fill(store: Any) -> None:
    """Fills a store on a manual clock."""
    clock = store.clock
    clock.advance_to(scene.START)
    for id, queue in ((FAILED, "b"), (MAIN, "a"), (RUNS, "c")):
        store.jobs.enqueue("user:onboard", {"email": f"{id[8:]}@example.org"}, id=id, queue=queue, lifecycle="workflow", tags=TAGS)
        clock.advance(2000)
    _failed(store)
    _main(store)
    _running(store)


def _claim(store: Any, queue: str, worker: str) -> rc.Job:
    (job,) = store.jobs.claim(queue, worker=worker, lease=10 * scene.MINUTE, start=1)
    return job


def _failed(store: Any) -> None:
    job = _claim(store, "b", "mailer-1")
    store.clock.advance(800)
    error = {"code": "BadAddress", "message": "bob@example.org is unknown", "data": {"status": 550}}
    failed = _step(f"{FAILED}:1", "send_welcome", error, store.now - 700) | {"state": "rejected"}
    store.jobs.record(FAILED, job.version, [failed])
    store.jobs.fail(FAILED, job.version, "BadAddress", "bob@example.org is unknown", retryable=False)


def _main(store: Any) -> None:
    clock, jobs = store.clock, store.jobs
    job = _claim(store, "a", "mailer-1")
    own = {"id": f"{MAIN}:1", "state": "resolved", "value": "f3a8", "tags": {NAME: "uuid4"}}
    clock.advance(2400)
    jobs.record(MAIN, job.version, [own, _step(f"{MAIN}:2", "create_account", {"id": 4711}, clock.now - 2300)])
    retry = {"startedAt": clock.now, "code": "ConnectionError", "message": "mx.example.org does not answer"}
    clock.advance(3000)
    jobs.record(MAIN, job.version, [_timer(f"{MAIN}:3:1", "retry send_welcome", 20, **retry)])
    jobs.suspend(MAIN, job.version, [f"{MAIN}:3:1"])
    clock.advance(21_000)
    job = _claim(store, "a", "mailer-2")
    clock.advance(1900)
    jobs.record(MAIN, job.version, [_step(f"{MAIN}:3", "send_welcome", "250 ok", clock.now - 1800, 2)])
    parent = {"id": MAIN, "version": job.version}
    jobs.enqueue("avatar:draw", {"of": "ada"}, id=f"{MAIN}:4", queue="avatars", parent=parent, tags={NAME: "job avatar:draw"})
    jobs.suspend(MAIN, job.version, [f"{MAIN}:4"])
    draw = _claim(store, "avatars", "painter-1")
    clock.advance(9000)
    jobs.complete(draw.id, draw.version, {"png": 12_044})
    job = _claim(store, "a", "mailer-1")
    clock.advance(300)
    jobs.receive(MAIN, job.version, f"{MAIN}:5:0:1", "click", timeout_in=3 * scene.DAY)
    jobs.record(MAIN, job.version, [_timer(f"{MAIN}:5:1:1", "sleep", 2 * 86_400)])
    jobs.suspend(MAIN, job.version, [f"{MAIN}:5:0:1", f"{MAIN}:5:1:1"])


def _running(store: Any) -> None:
    job = _claim(store, "c", "mailer-2")
    store.clock.advance(1200)
    store.jobs.record(RUNS, job.version, [_step(f"{RUNS}:1", "create_account", {"id": 4712}, store.now - 1100)])
    error = "ConnectionError: mx.example.org does not answer"
    store.jobs.report(RUNS, job.version, lines=raised_line("send_welcome", f"{RUNS}:2", 1, error, 2000))
    store.clock.advance(4000)
    store.jobs.report(RUNS, job.version, lines=running_line("send_welcome", f"{RUNS}:2", 2, store.now - 2000))
    store.clock.advance(6000)
