"""Outages of a server, and how they end: for each alert, a server with tokens over a file that gets into one."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from resonate_core import ManualClock, Store
from server.live_server import serving
from server.security_table import SECRET, token

FAR = 10**15
ADMIN = token({"role": "admin"})
TASKS = [f"t{number}" for number in range(101)]


def until(happened: Callable[[], bool]) -> None:
    """Waits until a condition becomes true."""
    patience = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < patience, "it never came"


class Served:
    """A server with tokens over a file. Its clients are a worker, and users of other namespaces."""

    def __init__(self, store: Store, port: int, file: Path) -> None:
        self.store = store
        self.port = port
        self.file = file

    @property
    def clock(self) -> ManualClock:
        """The clock of a store on simulated time."""
        assert isinstance(self.store.clock, ManualClock)
        return self.store.clock

    def ask(self, kind: str, data: Any, bearer: str = ADMIN) -> int:
        body = json.dumps({"kind": kind, "head": {"corrId": "c", "version": "2026-04-01", "auth": bearer}, "data": data})
        status, _ = self._exchange("POST", "/", body, {})
        return status

    def samples(self) -> list[tuple[str, dict[str, str], float]]:
        status, text = self._exchange("GET", "/metrics", None, {"Authorization": f"Bearer {ADMIN}"})
        assert status == 200
        families = text_string_to_metric_families(text.decode())
        return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]

    def _exchange(self, method: str, target: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    @contextlib.contextmanager
    def held_by_a_neighbour(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield other


def enqueue(on: Served, id: str, **more: Any) -> None:
    assert on.ask("job.enqueue", {"id": id, "type": "t", **more}) == 200


def run(on: Served, lease: int = 60_000) -> None:
    """Claims and starts one job."""
    assert on.ask("job.claim", {"queues": ["default"], "worker": "w", "lease": lease, "start": 1}) == 200


def complete(on: Served, id: str, version: int = 1) -> None:
    assert on.ask("job.complete", {"id": id, "version": version}) == 200


def fail(on: Served, id: str) -> None:
    assert on.ask("job.fail", {"id": id, "version": 1, "error": {"code": "E"}}) == 200


def work_off(on: Served) -> None:
    """Runs every pending job."""
    for queue in on.store.queues.stats():
        while found := on.store.jobs.claim(queue["name"], worker="w", lease=60_000, count=200, start=200):
            on.store.jobs.complete_many([(one.id, one.version, None) for one in found])


def a_queue(on: Served) -> None:
    """A queue with counts from before the outage, like the queues of a server that has run for a while."""
    enqueue(on, "first")
    run(on)
    complete(on, "first")


def nothing(on: Served) -> None:
    """Does nothing: the end of an outage that was one error."""


def rename_a_table(on: Served, table: str, name: str) -> None:
    with on.held_by_a_neighbour() as other:
        other.execute(f"ALTER TABLE {table} RENAME TO {name}")
        other.execute("COMMIT")


def break_the_file(on: Served) -> None:
    """Makes the file fail, as a broken disk does."""
    rename_a_table(on, "resonate_promises", "broken")
    assert on.ask("promise.create", {"id": "p", "timeoutAt": FAR}) == 500


def mend_the_file(on: Served) -> None:
    rename_a_table(on, "broken", "resonate_promises")


def refuse_load(on: Served) -> None:
    with on.held_by_a_neighbour():
        assert on.ask("promise.create", {"id": "p", "timeoutAt": FAR}) == 429


def commit_slowly(on: Served) -> None:
    def release() -> None:
        time.sleep(0.7)
        neighbour.execute("ROLLBACK")

    with contextlib.closing(sqlite3.connect(on.file, isolation_level=None, check_same_thread=False)) as neighbour:
        neighbour.execute("BEGIN IMMEDIATE")
        releasing = threading.Thread(target=release)
        releasing.start()
        assert on.ask("promise.create", {"id": "slow", "timeoutAt": FAR}) == 200
        releasing.join()


def come_due_late(on: Served) -> None:
    """Makes a step that the server runs an hour after it was due."""
    at = on.store.now + 3_600_000
    assert on.ask("promise.create", {"id": "p", "timeoutAt": at, "tags": {"resonate:external": "true"}}) == 200
    with on.held_by_a_neighbour() as other:
        other.execute("UPDATE resonate_promises SET timeout_at = timeout_at - 7200000, due_at = due_at - 7200000")
        other.execute("COMMIT")
    until(lambda: any(name == "resonate_due_lag_seconds" and value > 5 for name, _, value in on.samples()))


def lose_a_time_zone(on: Served) -> None:
    every_second = {"id": "s", "cron": "* * * * * *", "promiseId": "s.{{.timestamp}}", "promiseTimeout": 1000}
    assert on.ask("schedule.create", every_second) == 200
    with on.held_by_a_neighbour() as other:
        other.execute("UPDATE resonate_schedules SET cron = 'CRON_TZ=Nowhere/Gone * * * * * *'")
        other.execute("COMMIT")
    until(lambda: any(name == "resonate_schedules_set_aside" and value > 0 for name, _, value in on.samples()))


def delete_the_schedule(on: Served) -> None:
    assert on.ask("schedule.delete", {"id": "s"}) == 200


def write_with_a_wrong_clock(on: Served) -> None:
    with Store(on.file, clock=ManualClock(on.store.now + 3_600_000)) as other:
        other.promises.create("p", timeout=FAR)


def wait_for_workers(on: Served) -> None:
    on.store.promises.create_many(TASKS, FAR, tags={"resonate:target": "poll://any@nobody"})


def work_again(on: Served) -> None:
    """The workers return: they take the messages, and complete the tasks."""
    on.store.promises.settle_many(TASKS)
    assert len(on.store.take_messages(len(TASKS))) == len(TASKS)


def unblock(on: Served, address: str) -> None:
    on.ask("promise.create", {"id": "p", "timeoutAt": FAR, "tags": {"resonate:external": "true"}})
    on.ask("promise.register_listener", {"awaited": "p", "address": address})
    on.ask("promise.settle", {"id": "p", "state": "resolved"})


def lose_an_unblock(on: Served) -> None:
    unblock(on, "poll://uni@nobody/n")
    late = on.store.now + 2
    until(lambda: on.store.now >= late)
    on.ask("promise.create", {"id": "q", "timeoutAt": FAR})


def push_to_nobody(on: Served) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        unblock(on, f"http://127.0.0.1:{nobody.getsockname()[1]}/")
        until(lambda: any(labels.get("outcome") == "failed" and value > 0 for _, labels, value in on.samples()))


def crash_a_task(on: Served) -> None:
    action = {"kind": "promise.create", "head": {"corrId": "i", "version": "2026-04-01"}}
    data = {"id": "t", "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@w"}}
    assert on.ask("task.create", {"pid": "w", "ttl": 1, "action": {**action, "data": data}}) == 200
    expiry = {"kind": "lease_expiry"}
    until(lambda: any(labels == expiry and value > 0 for _, labels, value in on.samples()))


def crash_a_job(on: Served) -> None:
    enqueue(on, "j")
    run(on, lease=1)
    until(lambda: any(name == "resonate_queue_crashed_total" and value > 0 for name, _, value in on.samples()))


def give_up(on: Served) -> None:
    enqueue(on, "j", maxRetries=0)
    run(on)
    fail(on, "j")


def hold_up(on: Served) -> None:
    on.store.jobs.archive("first")


def two_jobs_in_order(on: Served) -> None:
    enqueue(on, "first")
    enqueue(on, "second", after=["first"])


def run_both(on: Served) -> None:
    on.store.jobs.run("first")
    work_off(on)
    work_off(on)


def fail_more_often_than_complete(on: Served) -> None:
    enqueue(on, "j")
    run(on)
    fail(on, "j")


def wait_long(on: Served) -> None:
    enqueue(on, "j")
    on.clock.advance(700_000)


def enqueue_many(on: Served) -> None:
    on.store.jobs.enqueue_many("t", [None] * 1001)


def miss_an_occurrence(on: Served) -> None:
    """Makes a schedule whose occurrence has passed by another clock, and that no process has run."""
    every_minute = {"id": "s", "cron": "* * * * *", "promiseId": "s.{{.timestamp}}", "promiseTimeout": 1000}
    assert on.ask("schedule.create", every_minute) == 200
    with on.held_by_a_neighbour() as other:
        other.execute("UPDATE resonate_schedules SET next_run_at = next_run_at - 600000, due_at = due_at - 600000")
        other.execute("COMMIT")


@dataclass(frozen=True)
class Trouble:
    """The outage that an alert reports.

    Attributes:
        begins: Brings the outage about.
        ends: Ends the outage.
        before: Runs before `begins`, on the server that still works.
        times: How often `begins` counts in each interval of the scrapes while the outage lasts.
        options: The options of the store.
        simulated: Whether the store is on a manual clock.
        delivers: Whether the server ticks and delivers.
    """

    begins: Callable[[Served], object]
    ends: Callable[[Served], object] = nothing
    before: Callable[[Served], object] = nothing
    times: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    simulated: bool = False
    delivers: bool = True


TROUBLES: dict[str, Trouble] = {
    "ResonateFails": Trouble(break_the_file, mend_the_file),
    "ResonateRefusesLoad": Trouble(refuse_load, times=60),
    "ResonateSlowDisk": Trouble(commit_slowly, options={"busy_timeout": 10_000}),
    "ResonateLate": Trouble(come_due_late),
    "ResonateScheduleSetAside": Trouble(lose_a_time_zone, delete_the_schedule),
    "ResonateClockAhead": Trouble(write_with_a_wrong_clock, lambda on: on.store.reset_clock()),
    "ResonateNobodyListens": Trouble(wait_for_workers, work_again),
    "ResonateUnblocksLost": Trouble(lose_an_unblock, options={"unblock_retention": 1}),
    "ResonatePushFails": Trouble(push_to_nobody, times=10),
    "ResonateWorkersDie": Trouble(crash_a_task),
    "ResonateJobsCrash": Trouble(crash_a_job, before=a_queue),
    "ResonateJobsGiveUp": Trouble(give_up, before=a_queue),
    "ResonateJobsHeldUp": Trouble(hold_up, run_both, before=two_jobs_in_order),
    "ResonateJobsFail": Trouble(fail_more_often_than_complete, before=a_queue),
    "ResonateJobsWait": Trouble(wait_long, work_off, before=a_queue, simulated=True),
    "ResonateQueueIdle": Trouble(lambda on: enqueue(on, "j"), work_off, before=a_queue),
    "ResonateQueueDeep": Trouble(enqueue_many, work_off, before=a_queue),
    "ResonateSchedulesLate": Trouble(miss_an_occurrence, delete_the_schedule, delivers=False),
    "ResonateTokensRefused": Trouble(lambda on: on.ask("promise.get", {"id": "p"}, "not.a.token"), times=300),
}


@contextlib.contextmanager
def in_trouble(trouble: Trouble, file: Path) -> Iterator[Served]:
    """Makes the server that gets into the outage."""
    options = {"busy_timeout": 0, **trouble.options}
    if trouble.simulated:
        options["clock"] = ManualClock(1_800_000_000_000)
    with (
        Store(file, **options) as store,
        serving(
            store,
            auth={"secret": SECRET},
            push={"allow": ["127.0.0.0/8"]},
            delivery={"enabled": trouble.delivers},
        ) as live,
    ):
        yield Served(store, live.port, file)
