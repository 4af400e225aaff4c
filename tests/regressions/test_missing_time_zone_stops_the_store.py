"""One schedule whose time zone was missing stopped the store.

Every tick and every write reads what is due first. It parsed the cron text and raised ValueError, for example for a schedule with
`CRON_TZ=US/Eastern` and a new base image without that zone's file. Such a schedule is now set aside, with a named problem, and tried
again every minute; everything else continues. So is one with a text that this version cannot parse, or a template that gives no id.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.asgi import DeliverySettings, PushSettings, create_app
from server.app_calls import call

MINUTE = 60_000
HOUR = 3_600_000
GONE = "CRON_TZ=Nowhere/Gone 0 * * * *"
THERE = "CRON_TZ=Europe/Berlin 0 * * * *"
PROBLEM = 'cron "CRON_TZ=Nowhere/Gone": must name a time zone of the system\'s database'

Make = Callable[..., Any]


def with_schedule(make_store: Make, change: dict[str, Any], check: bool = True, **options: Any) -> Any:
    """A store with an hourly schedule `s`, whose stored row was changed, and an unchanged one, `other`."""
    store = make_store(**options)
    for id in ("s", "other"):
        store.schedules.create(id, THERE, promise_timeout=10 * HOUR)
    snapshot = store.snapshot()
    [row] = [row for row in snapshot["schedules"] if row["id"] == "s"]
    row.update(change)
    store.restore(snapshot, check=check)
    return store


def mend(store: Any, **change: Any) -> None:
    """Restores the row of the schedule, as if the zone's file were back."""
    snapshot = store.snapshot()
    [row] = [row for row in snapshot["schedules"] if row["id"] == "s"]
    row.update(change)
    store.restore(snapshot)


def made(store: Any, id: str) -> list[int]:
    return sorted(int(promise.id.split(".")[1]) // HOUR for promise in store.promises.search(id=f"{id}.*", limit=1000))


def test_everything_else_goes_on(make_store: Make) -> None:
    store = with_schedule(make_store, {"cron": GONE})
    fired = store.tick(HOUR)
    assert [(step.kind, step.id) for step in fired] == [("schedule", "other"), ("schedule_set_aside", "s")]
    assert fired[1].detail == {"problem": PROBLEM}
    store.promises.create("p", timeout=HOUR)
    assert made(store, "other") == [1]
    assert made(store, "s") == []
    assert [(step.kind, step.id) for step in store.tick(2 * HOUR)] == [("schedule", "other")]


def test_it_says_what_is_wrong(make_store: Make) -> None:
    store = with_schedule(make_store, {"cron": GONE})
    assert [(problem.name, problem.id) for problem in store.check()] == [("schedule_set_aside", "s")], "seen before it is due"
    assert store.problems() == []
    store.tick(HOUR)
    schedule = store.schedules.get("s")
    assert (schedule.problem, schedule.retry_at, schedule.next_run_at) == (PROBLEM, HOUR + MINUTE, HOUR)
    assert (schedule.to_dict()["problem"], schedule.to_dict()["retryAt"]) == (PROBLEM, HOUR + MINUTE)
    for found in (store.check(), store.problems()):
        assert [(problem.name, problem.id, problem.detail) for problem in found] == [
            ("schedule_set_aside", "s", f"{PROBLEM}, looked at again at {HOUR + MINUTE}")
        ]
    assert store.schedules.get("other").problem is None


def test_it_is_looked_at_once_a_minute_and_that_is_no_step(make_store: Make) -> None:
    store = with_schedule(make_store, {"cron": GONE})
    store.schedules.delete("other")
    store.clock.advance_to(HOUR)
    assert store.next_due() == HOUR + MINUTE
    assert store.clock.advance(10 * MINUTE) == []
    assert store.next_due() == HOUR + 11 * MINUTE
    assert store.tick() == []


@pytest.mark.parametrize(("catchup", "hours"), [("all", [1, 2, 3]), ("latest", [3]), ("none", [])])
def test_it_comes_back_with_its_zone(make_store: Make, catchup: str, hours: list[int]) -> None:
    store = with_schedule(make_store, {"cron": GONE}, catchup=catchup)
    store.clock.advance_to(3 * HOUR + 2 * MINUTE + 1)
    mend(store, cron=THERE)
    assert store.schedules.get("s").problem == PROBLEM, "nobody has looked since"
    store.clock.advance(MINUTE)
    assert made(store, "s") == hours
    schedule = store.schedules.get("s")
    assert (schedule.problem, schedule.retry_at, schedule.next_run_at) == (None, None, 4 * HOUR)
    assert store.check() == []
    store.clock.advance_to(4 * HOUR)
    assert made(store, "s") == [*hours, 4]


def test_a_schedule_that_is_set_aside_can_be_deleted_and_made_anew(make_store: Make) -> None:
    store = with_schedule(make_store, {"cron": GONE})
    store.tick(HOUR)
    store.schedules.delete("s")
    store.schedules.create("s", THERE, promise_timeout=HOUR)
    store.clock.advance(HOUR)
    assert made(store, "s") == [2]


BROKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "cron": ({"cron": "bad"}, "schedule_cron_invalid", "must have 5 fields"),
    "lifecycle": ({"job": {"type": "t", "lifecycle": "celery"}}, "schedule_template_invalid", "lifecycle"),
    "retries": ({"job": {"type": "t", "maxRetries": -1}}, "schedule_template_invalid", "maxRetries"),
    "delay": ({"promiseTags": {"resonate:delay": "soon"}}, "schedule_template_invalid", "resonate:delay"),
    "timeout": ({"promiseTimeout": -1}, "schedule_template_invalid", "promiseTimeout"),
    "template": ({"promiseId": ""}, "schedule_template_invalid", "promiseId"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_can_never_fire_is_refused_at_restore_and_else_set_aside(make_store: Make, case: str) -> None:
    change, name, part = BROKEN[case]
    with pytest.raises(rc.InvariantViolation) as refused:
        with_schedule(make_store, change)
    assert [(one.name, one.id) for one in refused.value.violations] == [(name, "s")]
    store = with_schedule(make_store, change, check=False)
    store.tick(HOUR)
    store.promises.create("p", timeout=HOUR)
    assert (made(store, "other"), made(store, "s")) == ([1], [])
    assert part in store.schedules.get("s").problem
    assert {problem.name for problem in store.check()} == {name, "schedule_set_aside"}


def test_a_fork_and_a_snapshot_keep_it(make_store: Make) -> None:
    store = with_schedule(make_store, {"cron": GONE})
    store.tick(HOUR)
    fork = store.fork()
    assert fork.digest() == store.digest()
    assert [store.clock.advance(MINUTE), fork.clock.advance(MINUTE)] == [[], []]
    assert fork.digest() == store.digest()
    copy = make_store()
    copy.restore(store.snapshot())
    assert copy.snapshot() == store.snapshot()


def test_a_recording_says_it_and_is_replayed_where_the_zone_is_there(make_store: Make) -> None:
    store = with_schedule(make_store, {"cron": GONE}, check=True)
    lines: list[str] = []

    class Trace:
        def write(self, text: str) -> None:
            lines.extend(text.splitlines())

    with store.record(Trace()):
        store.clock.advance_to(2 * HOUR)
        mend(store, cron=THERE)
        store.clock.advance_to(3 * HOUR)
    result = rc.replay(lines)
    assert result.ok, result.difference
    elsewhere = [line.replace("Nowhere/Gone 0 * * * *", "Europe/Berlin 0 * * * *") for line in lines]
    result = rc.replay(elsewhere)
    assert result.ok, result.difference


def test_a_template_that_cannot_be_read_from_a_file_is_kept_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.schedules.create("s", THERE, promise_timeout=HOUR, job={"type": "t"})
    later = '{"class":"t"}'
    with sqlite3.connect(path) as file:
        file.execute("UPDATE resonate_schedules SET job = ?", [later])
    file.close()
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        assert [step.kind for step in store.tick(HOUR)] == ["schedule_set_aside"]
        store.promises.create("p", timeout=HOUR)
        assert "type is missing" in (store.schedules.get("s").problem or "")
        assert store.schedules.get("s").job is None
        with rc.Store(clock=rc.ManualClock(0)) as copy:
            copy.restore(store.snapshot(), check=False)
            assert copy.digest() == store.digest()
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT job FROM resonate_schedules").fetchall() == [(later,)]
    file.close()


def test_two_processes_of_one_file_of_which_one_has_the_zone(tmp_path: Path) -> None:
    """The store of another process restores the row: this one sees it when it tries the schedule again."""
    path = tmp_path / "store.db"
    store = rc.Store(path, clock=rc.ManualClock(0))
    store.schedules.create("s", THERE, promise_timeout=10 * HOUR)
    other = sqlite3.connect(path)
    with other:
        other.execute("UPDATE resonate_schedules SET cron = ?", [GONE])
    assert [step.kind for step in store.tick(HOUR)] == ["schedule_set_aside"]
    assert other.execute("SELECT problem, due_at, next_run_at FROM resonate_schedules").fetchall() == [
        (PROBLEM, HOUR + MINUTE, HOUR)
    ]
    with other:
        other.execute("UPDATE resonate_schedules SET cron = ?", [THERE])
    other.close()
    assert [step.kind for step in store.clock.advance(MINUTE)] == ["schedule"]  # type: ignore[attr-defined]
    store.close()


def cli(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RESONATE_")}
    command = [sys.executable, "-m", "resonate_core", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)


def test_the_command_line_names_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.restore(with_schedule(lambda **options: rc.Store(clock=rc.ManualClock(0), **options), {"cron": GONE}).snapshot())
        store.tick(HOUR)
    checked = cli("check", path)
    assert (checked.returncode, checked.stdout.startswith(f"schedule_set_aside (s): {PROBLEM}")) == (1, True), checked
    got = cli("schedules", "get", "s", "--db", path)
    assert f"problem\t{PROBLEM}\n" in got.stdout and "retryAt\t1970-01-01T01:01:00.000Z\n" in got.stdout, got
    rows = [line.split("\t") for line in cli("schedules", "search", "--db", path).stdout.splitlines()]
    assert [(row[0], row[-1]) for row in rows] == [("other", ""), ("s", PROBLEM)]


def test_the_server_says_it_without_ids(tmp_path: Path) -> None:
    async def main(store: Any) -> tuple[Any, str]:
        app = create_app(store, push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False))
        async with app.lifespan():
            return await call(app, "GET", "/ready"), (await call(app, "GET", "/metrics")).body.decode()

    store = with_schedule(lambda **options: rc.Store(clock=rc.ManualClock(0), **options), {"cron": GONE})
    store.tick(HOUR)
    ready, metrics = asyncio.run(main(store))
    assert ready.status == 200 and ready.json()["ready"] is True
    assert [problem["name"] for problem in ready.json()["problems"]] == ["schedule_set_aside"]
    assert "Nowhere" not in ready.body.decode()
    assert "resonate_schedules_set_aside 1.0\n" in metrics
    store.close()


IN_A_NAMESPACE = """
import shutil, sys
import resonate_core as rc
zones, saved = sys.argv[1:]
HOUR, MINUTE = 3_600_000, 60_000
store = rc.Store(sys.argv[0] + ".db", clock=rc.ManualClock(0))
assert [step.kind for step in store.tick(HOUR)] == ["schedule_set_aside"], store.check()
assert "CRON_TZ=US/Eastern" in store.schedules.get("s").problem
store.promises.create("p", timeout=1000)
shutil.copytree(saved, zones + "/US", dirs_exist_ok=True)
assert [step.kind for step in store.clock.advance(MINUTE)] == ["promise_timeout", "schedule"][-1:], store.check()
assert store.schedules.get("s").problem is None
assert store.check() == []
print("came back")
"""


def test_the_file_of_a_zone_goes_and_comes_back_under_a_running_process(tmp_path: Path) -> None:
    """Uses the system's own database of zones, in a mount namespace of its own."""
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    if probe is None or probe.returncode:
        pytest.skip("no mount namespaces here")
    zones, saved, script = tmp_path / "zones", tmp_path / "saved", tmp_path / "script.py"
    shutil.copytree("/usr/share/zoneinfo", zones, symlinks=False, ignore=shutil.ignore_patterns("posix", "right"))
    shutil.move(zones / "US", saved)
    script.write_text(IN_A_NAMESPACE)
    with rc.Store(f"{script}.db", clock=rc.ManualClock(0)) as store:
        store.schedules.create("s", "CRON_TZ=US/Eastern 0 * * * *", promise_timeout=10 * HOUR)
    mounted = 'mount --bind "$1" /usr/share/zoneinfo && shift && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mounted, "sh", str(zones), sys.executable, str(script), str(zones), str(saved)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "came back\n"), ran.stderr
