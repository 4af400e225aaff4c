"""One write at a wrong instant made a file unusable for ever.

A clock was at 2080 for one write. With the right clock again, every deadline had passed, schedules did not run, and `check` reported
nothing. Now opening the file warns, `check`, `problems`, /ready and the metrics report it, and `reset_clock` (`resonate-core clock reset`)
sets the file's instant back, with every row that is ahead of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.asgi import PushSettings, create_app
from resonate_core.errors import ClockWarning
from server.app_calls import call

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
IN_2080 = 3_471_292_800_000
TASK = {"resonate:target": "poll://any@workers"}


def present() -> int:
    return rc.SystemClock().now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def poisoned(path: Path) -> Path:
    """A file that was used an hour ago, and then once in 2080."""
    clock = rc.ManualClock(present() - HOUR)
    with rc.Store(path, clock=clock, catchup="latest") as store:
        store.schedules.create("hourly", "0 * * * *", promise_timeout=10 * 365 * 24 * HOUR)
        store.promises.create("before", timeout=100 * 365 * DAY)
        store.promises.create("times-out", timeout=2 * HOUR, tags=TASK)
        store.jobs.enqueue("report", id="waits")
        clock.advance_to(present() - MINUTE)
        store.tick(IN_2080)
        store.promises.create("wrong", timeout=HOUR, tags=TASK)
        store.jobs.enqueue("report", id="wrong-job")
    return path


def opened(path: Path, **options: Any) -> rc.Store:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClockWarning)
        return rc.Store(path, **options)


def test_it_is_said_when_the_file_is_opened(poisoned: Path) -> None:
    with pytest.warns(ClockWarning, match="ahead of the system's clock.*resonate-core clock reset") as seen:
        rc.Store(poisoned).close()
    assert seen[0].filename == __file__, "at the line that opened it"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rc.Store(poisoned, clock=rc.ManualClock(0)).close()


@pytest.mark.parametrize(("ahead", "is_told"), [(0, False), (50_000, False), (90_000, True), (DAY, True)])
def test_a_minute_is_no_wrong_clock(path: Path, ahead: int, is_told: bool) -> None:
    with rc.Store(path, clock=rc.ManualClock(present() + ahead)) as store:
        store.promises.create("p", timeout=HOUR)
    with opened(path) as store:
        assert ([problem.name for problem in store.check()] == ["clock_ahead"]) is is_told
        assert ([problem.name for problem in store.problems()] == ["clock_ahead"]) is is_told
        assert ahead - 30_000 <= store.clock_ahead <= ahead


def test_deadlines_are_deadlines_again(poisoned: Path) -> None:
    with opened(poisoned) as store:
        assert store.promises.create("dead", timeout_at=present() + HOUR).state == "rejected_timedout", "the defect"
        store.reset_clock()
        assert store.check() == []
        assert abs(store.now - present()) < MINUTE
        assert store.promises.create("alive", timeout_at=present() + HOUR).state == "pending"
        wrong = store.promises.get("wrong")
        assert (wrong.state, wrong.timeout_at - wrong.created_at) == ("pending", HOUR)
        assert abs(wrong.created_at - present()) < MINUTE
        before = store.promises.get("before")
        assert (before.state, before.timeout_at - before.created_at) == ("pending", 100 * 365 * DAY)
        gone = store.promises.get("times-out")
        assert (gone.state, gone.settled_at) == ("rejected_timedout", gone.timeout_at)
        assert gone.created_at <= (gone.settled_at or 0) <= store.now


def test_schedules_and_jobs_go_on(poisoned: Path) -> None:
    with opened(poisoned) as store:
        assert store.schedules.get("hourly").next_run_at > IN_2080, "the defect"
        in_2080 = [promise.id for promise in store.promises.search(id="hourly.34*")]
        assert len(in_2080) == 1
        planned = store.reset_clock(dry_run=True)
        assert planned["removed"] == 1
        done = store.reset_clock()
        assert {name: planned[name] for name in planned if name != "to"} == {name: done[name] for name in done if name != "to"}
        schedule = store.schedules.get("hourly")
        assert present() < schedule.next_run_at <= present() + HOUR
        assert schedule.last_run_at is None or schedule.last_run_at <= present()
        assert len(store.promises.search(id="hourly.34*")) == 0, "it comes at its time"
        assert {job.id for job in store.jobs.claim(["default"], 10, worker="w", lease=MINUTE)} == {"waits", "wrong-job"}


def test_a_dry_run_changes_nothing_and_a_second_reset_has_nothing_to_do(poisoned: Path) -> None:
    with opened(poisoned) as store:
        before = store.snapshot()
        planned = store.reset_clock(dry_run=True)
        assert planned["from"] == IN_2080 and planned["from"] > planned["to"] and planned["promises"] >= 3
        assert store.snapshot() == before
        store.reset_clock()
        again = store.reset_clock()
        assert again["from"] == again["to"] and sum(again.values()) == 2 * again["to"]


def test_a_clock_that_is_moved_by_hand_is_not_reset(path: Path) -> None:
    with rc.Store(path, clock=rc.ManualClock(0)) as store, pytest.raises(rc.Invalid, match="got a manual clock"):
        store.reset_clock()
    with rc.Store() as store:
        assert store.clock_ahead == 0 and store.reset_clock()["promises"] == 0


def test_another_process_that_uses_the_file_follows(poisoned: Path) -> None:
    """It has read 2080 itself, and would otherwise write it again."""
    with opened(poisoned) as other, opened(poisoned) as store:
        other.promises.create("theirs", timeout=HOUR)
        other.tick()
        store.reset_clock()
        assert abs(other.now - present()) < MINUTE
        mine = other.promises.create("alive", timeout=HOUR)
        assert abs(mine.created_at - present()) < MINUTE
        assert other.check() == store.check() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rc.Store(poisoned).close()


def test_the_server_says_it(poisoned: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main(store: rc.Store) -> tuple[Any, str, Any]:
        app = create_app(store, push=PushSettings(enabled=False))
        async with app.lifespan():
            before = await call(app, "GET", "/ready")
            metrics = (await call(app, "GET", "/metrics")).body.decode()
            store.reset_clock()
            return before, metrics, await call(app, "GET", "/ready")

    with opened(poisoned) as store:
        before, metrics, after = asyncio.run(main(store))
    assert before.status == after.status == 200
    assert before.json()["ready"] is True
    assert [problem["name"] for problem in before.json()["problems"]] == ["clock_ahead"]
    assert after.json() == {"ready": True, "problems": []}
    [ahead] = [float(line.split()[1]) for line in metrics.splitlines() if line.startswith("resonate_clock_ahead_seconds ")]
    assert ahead > 50 * 365 * 24 * 3600
    assert "clock_ahead" in caplog.text


def cli(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("RESONATE_")}
    command = [sys.executable, "-m", "resonate_core", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=environment, timeout=120
    )


def test_the_command_line(poisoned: Path) -> None:
    checked = cli("check", poisoned)
    assert checked.returncode == 1 and checked.stdout.startswith("clock_ahead (clock): "), checked
    read = cli("promises", "get", "wrong", "--db", poisoned)
    assert read.returncode == 0 and read.stderr.startswith("warning: the last instant in store"), read
    preview = cli("clock", "reset", poisoned)
    assert preview.returncode == 0 and "2080-01-01T00:00:00.000Z" in preview.stdout, preview
    assert preview.stdout.endswith("nothing was changed; --yes does it\n"), preview
    assert cli("check", poisoned).returncode == 1
    planned = json.loads(cli("clock", "reset", poisoned, "--json").stdout)
    assert (planned["done"], planned["from"]) == (False, IN_2080)
    done = cli("clock", "reset", poisoned, "--yes", "--json")
    assert (done.returncode, json.loads(done.stdout)["done"]) == (0, True), done
    checked = cli("check", poisoned)
    assert (checked.returncode, ": sound; " in checked.stdout, checked.stderr) == (0, True, ""), checked
    again = cli("clock", "reset", poisoned, "--yes")
    assert (again.returncode, again.stdout) == (0, f"{poisoned}: the stored instant is not ahead of the system's clock\n"), again


def wreck(store: rc.Store, clock: rc.ManualClock, chance: random.Random, prefix: str, steps: int) -> None:
    """Sends requests of all kinds, some of which are refused."""
    jobs, tasks = store.jobs, store.tasks
    ids = [f"{prefix}{number}" for number in range(12)]
    held: list[Any] = []

    def any_id() -> str:
        return chance.choice(ids)

    def tags() -> dict[str, str]:
        return chance.choice([{}, TASK, {"resonate:timer": "true"}, TASK | {"resonate:delay": str(clock.now + 5000)}])

    actions: list[Callable[[], Any]] = [
        lambda: store.promises.create(any_id(), timeout=chance.choice([1, MINUTE, HOUR, DAY]), tags=tags()),
        lambda: store.promises.resolve(any_id(), "x"),
        lambda: store.promises.cancel(any_id()),
        lambda: tasks.acquire(any_id(), 0, pid="p", ttl=chance.choice([1000, HOUR])),
        lambda: tasks.create(any_id(), pid="p", ttl=MINUTE, timeout=HOUR, tags=TASK),
        lambda: tasks.suspend(any_id(), 1, [any_id()]),
        lambda: tasks.halt(any_id()),
        lambda: store.promises.register_listener(any_id(), "poll://any@listeners"),
        lambda: jobs.enqueue(
            "t", id=any_id(), process_in=chance.choice([None, MINUTE, DAY]), retention=chance.choice([0, HOUR, DAY])
        ),
        lambda: jobs.enqueue("t", id=any_id(), unique_key="k", unique_for=chance.choice([1000, HOUR]), good_for=HOUR),
        lambda: jobs.enqueue("g", id=any_id(), group="g", deadline=clock.now + HOUR),
        lambda: held.extend(jobs.claim(["default"], 2, worker="w", lease=chance.choice([1000, HOUR]), start=1)),
        lambda: jobs.complete(held[-1].id, held[-1].version),
        lambda: jobs.fail(held[-1].id, held[-1].version, "E", "m"),
        lambda: jobs.snooze(held[-1].id, held[-1].version, delay=HOUR),
        lambda: jobs.archive(any_id()),
        lambda: jobs.run(any_id()),
        lambda: jobs.cancel(any_id()),
        lambda: store.schedules.create(
            f"s{chance.randrange(3)}", "*/20 * * * *", promise_timeout=chance.choice([0, HOUR]), tags=TASK
        ),
        lambda: store.schedules.create("j", "*/30 * * * *", promise_timeout=DAY, job={"type": "t", "goodFor": MINUTE}),
        lambda: store.take_messages(2),
        lambda: clock.advance(chance.choice([1, 1000, 10 * MINUTE])),
    ]
    for _ in range(steps):
        with contextlib.suppress(rc.ResonateError, IndexError):
            chance.choice(actions)()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_was_stored_is_sound_afterwards(path: Path, seed: int) -> None:
    """`reset_clock` raises if it would leave a violated invariant, so the test need not check them."""
    chance = random.Random(seed)
    ahead = chance.choice([2 * MINUTE, DAY, IN_2080 - present()])
    clock = rc.ManualClock(present() - DAY)
    with rc.Store(path, clock=clock, catchup="latest") as store:
        store.queues.set("default", rate={"limit": 1000, "per": 1000})
        wreck(store, clock, chance, "a", 150)
        store.tick(max(clock.now, present() + ahead))
        wreck(store, clock, chance, "b", 150)
        wreck(store, clock, chance, "a", 100)
        assert store.check() == []
    with opened(path, catchup="latest") as store:
        done = store.reset_clock()
        print(f"seed {seed}: {done}")
        assert done["promises"] > 0
        assert store.check() == []
        store.tick()
        store.promises.create("after", timeout=HOUR)
        assert store.check() == []
        latest = max(
            instant for promise in store.snapshot()["promises"] for instant in (promise["createdAt"], promise.get("settledAt", 0))
        )
        assert latest <= present()


def test_a_recording_goes_on_after_it(poisoned: Path) -> None:
    trace = io.StringIO()
    with opened(poisoned) as store, store.record(trace):
        store.reset_clock()
        store.promises.create("after", timeout=HOUR)
    result = rc.replay(trace.getvalue().splitlines())
    assert result.ok, result.difference
