"""The dash: one frame in each format, and a live one in a terminal that follows changes and restores the terminal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_in_states import HOUR, fill, opened, running, terminal
from protocol_server import Run

import resonate_core as rc
from free_ports import free_port
from resonate_core.cli import dash_frame
from resonate_core.cli.dash_frame import Frame, FrameReader
from resonate_core.cli.dash_view import drawn
from resonate_core.cli.target import Access, FileTarget

LEFT = "\x1b[?1049l"  # the terminal's own screen again
CURSOR = "\x1b[?25h"


@pytest.fixture(params=["file", "url"])
def queued(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store with jobs, and the flags that name it."""
    with opened(request.param, request, tmp_path) as (store, store_flags):
        fill(store)
        yield store, store_flags


@pytest.fixture
def store(tmp_path: Path) -> Iterator[rc.Store]:
    with rc.Store(tmp_path / "frames.db") as store:
        yield store


@pytest.fixture
def target(store: rc.Store, tmp_path: Path) -> Iterator[FileTarget]:
    """The file, opened as the dash opens it."""
    with FileTarget(tmp_path / "frames.db", Access.READ) as target:
        assert isinstance(target, FileTarget)
        yield target


def fail(store: rc.Store, id: str, **options: object) -> None:
    store.jobs.fail(id, running(store, id, **{"max_retries": 0, **options}).version, "Broken", f"{id} is broken")


def lines_of(frame: Frame, width: int = 120, height: int | None = None) -> list[str]:
    from rich.console import Console

    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(drawn(frame, "a.db", width, height))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_once_to_a_pipe(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    store.queues.pause("mail")
    lines = [line.split("\t") for line in run("dash", "--once", *store_flags).out.splitlines()]
    assert [(line[0], line[1]) for line in lines[:3]] == [("queue", "mail"), ("queue", "work"), ("running", "busy")]
    assert lines[0][2:6] == ["paused", "1", "0", "2"]
    assert lines[2][2:6] == ["report:make", "work", "running", "w1"]
    failures = [line for line in lines if line[0] == "failure"]
    assert sorted(line[2] for line in failures) == ["again", "dead"]
    assert {line[-1] for line in failures} == {"Timeout: no answer", "Broken: no paper"}
    assert len(lines) == 5


def test_once_as_json(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    store.queues.set("work", concurrency=3)
    frame = run("dash", "--once", "--json", *store_flags).json
    assert [one["name"] for one in frame["queues"]] == ["mail", "work"]
    assert frame["queues"][1]["settings"]["concurrency"] == 3
    assert frame["queues"][1]["perSecond"] is None
    assert frame["running"] == [store.jobs.get("busy").to_dict()]
    assert (frame["moreRunning"], frame["allFailures"]) == (False, True)
    only = run("dash", "--once", "--json", "--queue", "mail", *store_flags).json
    assert ([one["name"] for one in only["queues"]], only["running"], only["failures"]) == (["mail"], [], [])
    both = run("dash", "--once", "--json", "-q", "mail", "-q", "work", *store_flags).json
    assert ([one["name"] for one in both["queues"]], len(both["failures"])) == (["mail", "work"], 2)


def test_an_empty_store(run: Run, tmp_path: Path, store: rc.Store) -> None:
    assert run("dash", "--once", "--db", tmp_path / "frames.db").out == ""
    with terminal("dash", "--once", "--db", tmp_path / "frames.db") as shown:
        assert shown.end() == 0
    assert "queues: 0" in shown.screen


def test_live_until_ctrl_c(queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    with terminal("dash", "--interval", "50ms", *store_flags) as live:
        live.read_until("queues: 2", "mail", "work", "busy", "no paper")
        store.jobs.enqueue("x", id="new-one", queue="new-queue")
        live.read_until("queues: 3", "new-queue")
        (job,) = store.jobs.claim("new-queue", worker="w-77", lease=HOUR)
        live.read_until("new-one", "claimed", "w-77")
        store.jobs.start(job.id, job.version)
        store.jobs.fail(job.id, job.version, "Sudden", "it broke at once")
        live.read_until("it broke at once")
        live.process.send_signal(signal.SIGINT)
        assert live.end() == 0
    assert "Traceback" not in live.screen and "interrupted" not in live.screen
    assert live.screen.rindex(LEFT) > live.screen.rindex("queues: 3")
    assert live.screen.rindex(CURSOR) > live.screen.rindex("queues: 3")


def test_sigterm_leaves_a_clean_terminal_too(queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    with terminal("dash", "--interval", "50ms", *store_flags) as live:
        live.read_until("queues: 2")
        live.process.send_signal(signal.SIGTERM)
        assert live.end() == 0
    assert CURSOR in live.screen[live.screen.rindex(LEFT) :] + live.screen[-200:]


def test_a_pipe_gets_frame_after_frame(tmp_path: Path, store: rc.Store) -> None:
    store.jobs.enqueue("x", queue="q")
    command = [sys.executable, "-m", "resonate_core", "dash", "--interval", "50ms", "--json", "--db", str(tmp_path / "frames.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as piped:
        assert piped.stdout is not None
        frames = [json.loads(piped.stdout.readline()) for _ in range(3)]
        piped.send_signal(signal.SIGINT)
        piped.stdout.read()
    assert piped.returncode == 0
    assert [frame["queues"][0]["perSecond"] is None for frame in frames] == [True, False, False]


def test_a_server_that_goes_and_comes_back(tmp_path: Path) -> None:
    def serve(port: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "resonate_core", "serve", "--db", str(tmp_path / "s.db"), "--port", port]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if "serving" in line and "http://" in line:
                process.url = line.rpartition("http://")[2].split()[0].rstrip(".,;")  # type: ignore[attr-defined]
                return process
        raise AssertionError("it does not serve")

    server = serve(str(free_port()))
    address = str(server.url)  # type: ignore[attr-defined]
    try:
        with terminal("dash", "--interval", "50ms", "--url", f"http://{address}") as live:
            live.read_until("queues: 0")
            server.terminate()
            server.communicate()
            live.read_until("cannot be reached", "this is what was seen last")
            server = serve(address.rpartition(":")[2])
            with rc.Store(tmp_path / "s.db") as store:
                store.jobs.enqueue("x", queue="after-the-pause")
            live.read_until("after-the-pause")
            live.process.send_signal(signal.SIGINT)
            assert live.end() == 0
    finally:
        server.terminate()
        server.communicate()


def test_rates_are_of_what_ended_between_two_frames(store: rc.Store, target: FileTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [100.0]
    monkeypatch.setattr(dash_frame, "seconds", lambda: passed[0])
    reader = FrameReader(target, [])
    fail(store, "before")
    (queue,) = reader.frame().queues
    assert (queue.per_second, queue.failed_per_second, queue.trend) == (None, None, ())
    passed[0] += 2
    fail(store, "a")
    for id in ("b", "c", "d"):
        store.jobs.complete(id, running(store, id).version)
    (queue,) = reader.frame().queues
    assert (queue.per_second, queue.failed_per_second, queue.trend) == (2.0, 0.5, (2.0,))
    passed[0] += 2
    (queue,) = reader.frame().queues
    assert (queue.per_second, queue.failed_per_second, queue.trend) == (0.0, 0.0, (2.0, 0.0))


def test_the_last_failures_are_found_among_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dash_frame, "_PAGE", 3)
    monkeypatch.setattr(dash_frame, "_KEPT", 4)
    monkeypatch.setattr(dash_frame, "_FIRST_LOOK", 0)
    monkeypatch.setattr(dash_frame, "_LOOK", 0)
    clock = rc.ManualClock(start=1_000_000)
    with rc.Store(tmp_path / "many.db", clock=clock) as store:
        for number in range(12):
            # Those that failed last have the ids that come first.
            fail(store, f"f{50 - number}")
            clock.advance(1000)
        fail(store, "again", max_retries=3, retry_policy={"kind": "fixed", "intervals": [HOUR]})
    with (
        rc.Store(tmp_path / "many.db", clock=rc.ManualClock(start=clock.now)) as store,
        FileTarget(tmp_path / "many.db", Access.READ, clock=rc.ManualClock(start=clock.now)) as target,
    ):
        reader = FrameReader(target, [])
        frame = reader.frame()
        assert not frame.all_failures
        assert "last failures, of those looked at so far" in lines_of(frame)
        while not frame.all_failures:
            frame = reader.frame()
        newest = ["again", "f39", "f40", "f41"]
        assert [job["id"] for job in frame.failures] == newest
        store.jobs.delete("f39")
        for _ in range(2 * 6):
            frame = reader.frame()
        assert [job["id"] for job in frame.failures] == ["again", "f40", "f41", "f42"]


def test_a_job_that_was_archived_by_hand_has_not_failed(store: rc.Store, target: FileTarget) -> None:
    store.jobs.enqueue("x", id="aside")
    store.jobs.archive("aside")
    store.jobs.enqueue("x", id="late", good_until=1)
    frame = FrameReader(target, []).frame()
    assert [job["id"] for job in frame.failures] == ["late"]


@pytest.mark.parametrize("height", [10, 16, 24, 40, 60])
def test_a_frame_is_as_high_as_the_terminal(store: rc.Store, target: FileTarget, height: int) -> None:
    for number in range(30):
        store.jobs.enqueue("x", queue=f"queue-{number:02}")
        if number < 20:
            running(store, f"busy-{number}")
            fail(store, f"dead-{number}")
    frame = FrameReader(target, []).frame()
    lines = lines_of(frame, height=height)
    assert len(lines) <= max(height, 17)
    if height >= 24:
        assert len(lines) >= height - 1
    for title in ("queues: 31, of which", "claimed or running: 20", "last failures"):
        assert any(line.startswith(title) for line in lines)
    full = lines_of(frame)
    assert sum("busy-" in line for line in full) == 20
    assert sum("dead-" in line for line in full) == 20


def test_what_a_narrow_terminal_leaves_out(store: rc.Store, target: FileTarget) -> None:
    fail(store, "dead")
    running(store, "busy")
    frame = FrameReader(target, []).frame()
    for width in (60, 80, 100, 200):
        lines = lines_of(frame, width)
        assert max(map(len, lines)) <= width
        heads = [line.split() for line in lines if line.lstrip().startswith(("queue ", "id ", "ago "))]
        assert {"queue", "pending", "active", "retry", "archived", "/s"} <= set(heads[0])
        assert {"id", "type", "state", "worker"} <= set(heads[1])
        assert {"ago", "id", "state", "error"} <= set(heads[2])
