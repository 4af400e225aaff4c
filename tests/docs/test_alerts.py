"""The alerts of the page on operations watch what a server really counts, after what they are about."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import DOCS
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from resonate_core import ManualClock, Store
from server.live_server import serving
from server.security_table import SECRET, token

FAR = 10**15
ADMIN = token({"role": "admin"})
PAGE = (DOCS / "operations.md").read_text(encoding="utf-8")
ALERTS = dict(re.findall(r"^      - alert: (\w+).*\n        expr: (.+)$", PAGE, re.MULTILINE))
SELECTOR = re.compile(r"\b((?:resonate_|up\b)\w*)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')


def until(happened: Callable[[], bool]) -> None:
    """Waits for something that comes by itself."""
    patience = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < patience, "it never came"


class Served:
    """A server with tokens over a file, whose clients are workers, tenants and neighbours."""

    def __init__(self, store: Store, port: int, file: Path) -> None:
        self.store = store
        self.port = port
        self.file = file

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


def job(on: Served, id: str, lease: int = 60_000, **more: Any) -> None:
    """A running one."""
    assert on.ask("job.enqueue", {"id": id, "type": "t", **more}) == 200
    assert on.ask("job.claim", {"queues": ["default"], "worker": "w", "lease": lease, "start": 1}) == 200


def fail(on: Served, id: str, **more: Any) -> None:
    job(on, id, **more)
    assert on.ask("job.fail", {"id": id, "version": 1, "error": {"code": "E"}}) == 200


def break_the_file(on: Served) -> None:
    """As a disk does that fails."""
    with on.held_by_a_neighbour() as other:
        (table,) = other.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%due%'").fetchone()
        other.execute(f"ALTER TABLE {table} RENAME TO broken")
        other.execute("COMMIT")
    assert on.ask("promise.create", {"id": "p", "timeoutAt": FAR}) == 500


def refuse_load(on: Served) -> None:
    with on.held_by_a_neighbour():
        assert on.ask("promise.create", {"id": "p", "timeoutAt": FAR}) == 429


def come_due(on: Served) -> None:
    at = on.store.now + 20
    on.ask("promise.create", {"id": "p", "timeoutAt": at, "tags": {"resonate:external": "true"}})


def wait_for_a_worker(on: Served) -> None:
    on.ask("promise.create", {"id": "p", "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@nobody"}})


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
        until(lambda: any(labels.get("outcome") == "failed" for _, labels, _ in on.samples()))


def crash_a_job(on: Served) -> None:
    job(on, "j", lease=1)


def complete_and_fail_a_job(on: Served) -> None:
    job(on, "good")
    assert on.ask("job.complete", {"id": "good", "version": 1}) == 200
    fail(on, "bad")


def let_a_job_wait(on: Served) -> None:
    assert on.ask("job.enqueue", {"id": "j", "type": "t"}) == 200
    late = on.store.now + 1
    until(lambda: on.store.now >= late)


def lose_a_time_zone(on: Served) -> None:
    every_second = {"id": "s", "cron": "* * * * * *", "promiseId": "s.{{.timestamp}}", "promiseTimeout": 1000}
    assert on.ask("schedule.create", every_second) == 200
    with on.held_by_a_neighbour() as other:
        other.execute("UPDATE resonate_schedules SET cron = 'CRON_TZ=Nowhere/Gone * * * * * *'")
        other.execute("COMMIT")


def write_with_a_wrong_clock(on: Served) -> None:
    with Store(on.file, clock=ManualClock(on.store.now + 3_600_000)) as other:
        other.promises.create("p", timeout=FAR)


EVENTS: dict[str, Callable[[Served], object]] = {
    "ResonateFails": break_the_file,
    "ResonateScheduleSetAside": lose_a_time_zone,
    "ResonateClockAhead": write_with_a_wrong_clock,
    "ResonateRefusesLoad": refuse_load,
    "ResonateSlowDisk": wait_for_a_worker,
    "ResonateLate": come_due,
    "ResonateNobodyListens": wait_for_a_worker,
    "ResonateUnblocksLost": lose_an_unblock,
    "ResonatePushFails": push_to_nobody,
    "ResonateWorkersDie": crash_a_job,
    "ResonateJobsGiveUp": lambda on: fail(on, "j", maxRetries=0),
    "ResonateJobsFail": complete_and_fail_a_job,
    "ResonateJobsWait": let_a_job_wait,
    "ResonateQueuesFill": let_a_job_wait,
    "ResonateTokensRefused": lambda on: on.ask("promise.get", {"id": "p"}, "not.a.token"),
}
#: Made by Prometheus itself.
ELSEWHERE = {"ResonateDown"}
#: Of an alert whose condition is one of two, what the other one is about.
OTHER_HALVES = {'resonate_steps_total{kind="lease_expiry"}', "resonate_tick_failures_total"}
#: They may be nothing at an instant, and say so.
GAUGES = {"resonate_due_lag_seconds"}


def matching(selector: re.Match[str], samples: list[tuple[str, dict[str, str], float]]) -> list[float]:
    name, matchers = selector[1], MATCHER.findall(selector[2] or "")

    def fits(labels: dict[str, str]) -> bool:
        return all(
            bool(re.fullmatch(value, labels.get(label, ""))) if sign == "=~" else labels.get(label) == value
            for label, sign, value in matchers
        )

    return [value for found, labels, value in samples if found == name and fits(labels)]


def test_every_alert_is_tried() -> None:
    assert set(ALERTS) == set(EVENTS) | ELSEWHERE
    assert len(ALERTS) == PAGE.count("- alert: ")


@contextlib.contextmanager
def served(file: Path, **options: Any) -> Iterator[Served]:
    with (
        Store(file, busy_timeout=0, **options) as store,
        serving(store, auth={"secret": SECRET}, push={"allow": ["127.0.0.0/8"]}) as live,
    ):
        yield Served(store, live.port, file)


@pytest.mark.parametrize("alert", EVENTS)
def test_an_alert_watches_what_there_is(tmp_path: Path, alert: str) -> None:
    """Every metric that it names has a sample with its labels, and one that says that something happened."""
    wanted = [one for one in SELECTOR.finditer(ALERTS[alert]) if one[0] not in OTHER_HALVES]
    assert wanted, f"{ALERTS[alert]} watches nothing of what it is about"
    with served(tmp_path / "a.db", **({"unblock_retention": 1} if alert == "ResonateUnblocksLost" else {})) as on:
        EVENTS[alert](on)
        for selector in wanted:
            if selector[1] in GAUGES:
                assert matching(selector, on.samples()), f"{selector[0]} is not exposed"
            else:
                until(lambda selector=selector: any(value > 0 for value in matching(selector, on.samples())))  # type: ignore[misc]


def test_the_other_halves_are_exposed_too(tmp_path: Path) -> None:
    """A lease that cannot be ended, since a neighbour holds the file, and then can."""
    assert all(half in "".join(ALERTS.values()) for half in OTHER_HALVES)
    ticks, expiries = (SELECTOR.fullmatch(half) for half in sorted(OTHER_HALVES, reverse=True))
    assert ticks is not None and expiries is not None and ticks[1] == "resonate_tick_failures_total"
    with served(tmp_path / "a.db") as on:
        action = {"kind": "promise.create", "head": {"corrId": "i", "version": "2026-04-01"}}
        data = {"id": "t", "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@w"}}
        assert on.ask("task.create", {"pid": "w", "ttl": 3000, "action": {**action, "data": data}}) == 200
        with on.held_by_a_neighbour():
            until(lambda: matching(ticks, on.samples())[0] > 0)
        until(lambda: any(value > 0 for value in matching(expiries, on.samples())))
