"""The keys of the dash: in a real terminal, and each by itself."""

from __future__ import annotations

import os
import pty
import signal
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_in_states import fill, opened, running, terminal

import resonate_core as rc
from resonate_core.cli import keys
from resonate_core.cli.dash_frame import FrameReader
from resonate_core.cli.dash_screen import Screen, Shown
from resonate_core.cli.dash_view import drawn, job_drawn
from resonate_core.cli.keys import Keys, names_of
from resonate_core.cli.target import Access, FileTarget

LONG = "order-2026-11-25-at-the-shop-in-the-old-town-{:06}.charge"


@pytest.fixture
def queued(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store with jobs, and the flags that name it."""
    with opened("file", request, tmp_path) as (store, store_flags):
        fill(store)
        yield store, store_flags


def pressed(screen: Screen, lines: list[Shown], *names: str) -> Screen:
    for name in names:
        screen.press(name, lines)
    return screen


def test_a_person_looks_around(queued: tuple[rc.Store, list[str]]) -> None:
    """Down to a queue, into a job, back, a filter, a pause, and quit; then the terminal is as it was."""
    store, store_flags = queued
    store.jobs.enqueue("email:send", {"to": "carl"}, id="mail-4", queue="mail")
    with terminal("dash", "--interval", "100ms", *store_flags) as live:
        before = termios.tcgetattr(live.outer)
        live.read_until("queues: 2", "busy", "no paper", "quit", "refresh")
        live.type("\x1b[B\r")  # down, enter: the queue work
        live.read_until("queue work", "queues: 1")
        live.type("\r")  # the first of its lines: the running job
        live.read_until("busy", "running", "report:make", "claimedBy", "w1", "attempt")
        live.type("\x1b")
        live.read_until("queue work", "no paper")
        live.type("\x7f")
        live.read_until("queues: 2")
        live.type("/paper")
        live.read_until("filter: ", "paper", "claimed or running: 0")
        live.type("\r")
        live.read_until("filter 'paper'", "queues: 1", "dead")
        live.type("p")
        live.read_until("paused")
        store.jobs.enqueue("x", id="unseen", queue="paper-queue")
        live.type("p")
        live.read_until("paper-queue")
        live.type("q")
        assert live.end() == 0
        assert termios.tcgetattr(live.outer) == before
    assert "Traceback" not in live.screen
    assert "unseen" not in live.screen.partition("paused")[2].partition("paper-queue")[0]


@pytest.mark.parametrize("end", ["q", signal.SIGINT, signal.SIGTERM])
def test_the_terminal_is_as_it_was(queued: tuple[rc.Store, list[str]], end: str | signal.Signals) -> None:
    with terminal("dash", "--interval", "100ms", *queued[1]) as live:
        before = termios.tcgetattr(live.outer)
        live.read_until("queues: 2", "refresh")
        assert termios.tcgetattr(live.outer) != before  # keys are read one by one, without an echo
        if isinstance(end, str):
            live.type(end)
        else:
            live.process.send_signal(end)
        assert live.end() == 0
        assert termios.tcgetattr(live.outer) == before


def test_a_failed_job_with_a_traceback(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store, FileTarget(tmp_path / "a.db", Access.READ) as target:
        job = running(store, "j", max_retries=0)
        trace = "\n".join(f"line {number}\x1b[31m" for number in range(40))
        store.jobs.fail("j", job.version, "Broken", "no paper", data=trace)
        reader = FrameReader(target, [])
        from rich.console import Console

        console = Console(width=100, highlight=False, color_system=None)
        with console.capture() as captured:
            console.print(job_drawn(reader.job("j"), "j", store.now, "a.db", 100, 30, "", ""))
            console.print(job_drawn(reader.job("gone"), "gone", store.now, "a.db", 100, 30, "", ""))
    lines = captured.get().splitlines()
    assert "line 39\\x1b[31m" in captured.get() and "\x1b[31m" not in captured.get()
    assert any("of 40 lines" in line for line in lines)
    assert any("Broken: no paper" in line for line in lines)
    assert lines[-1].strip() == "job gone is not there, or no longer"
    assert len(lines) <= 30 + 3


def test_long_ids_are_told_apart(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store, FileTarget(tmp_path / "a.db", Access.READ) as target:
        for number in range(3):
            running(store, LONG.format(number))
        frame = FrameReader(target, []).frame()
    from rich.console import Console

    for width in (70, 80, 100):
        console = Console(width=width, highlight=False, color_system=None)
        with console.capture() as captured:
            console.print(drawn(frame, "a.db", width, 30))
        shown = [line for line in captured.get().splitlines() if "order-" in line]
        assert len(shown) == 3 and max(map(len, shown)) <= width
        assert [f"{number}.charge" in line for number, line in enumerate(shown)] == [True] * 3


def test_the_selected_line_is_always_in_view(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store, FileTarget(tmp_path / "a.db", Access.READ) as target:
        for number in range(40):
            running(store, f"busy-{number:02}")
        frame = FrameReader(target, []).frame()
    from rich.console import Console

    screen = Screen()
    lines = screen.lines(frame)
    for name, found in (("end", "busy-39"), ("page up", "busy-29")):
        pressed(screen, lines, name)
        console = Console(width=100, highlight=False, color_system=None)
        with console.capture() as captured:
            console.print(drawn(frame, "a.db", 100, 24, selected=screen.selected))
        assert found in captured.get()
        assert lines[screen.selected] == Shown("job", found)


def test_keys_of_the_screen() -> None:
    lines = [Shown("queue", "mail"), Shown("job", "a"), Shown("job", "b")]
    screen = pressed(Screen(), lines, "down", "down", "down", "up", "j", "k")
    assert screen.selected == 1
    assert pressed(screen, lines, "enter").shown == Shown("job", "a")
    assert pressed(screen, [], "down", "enter").shown == Shown("job", "a")
    assert pressed(screen, [], "escape", "escape").shown == Shown()
    typed = pressed(Screen(), lines, "/", "q", "p", "backspace", "/")
    assert (typed.filter, typed.has_ended, typed.is_paused) == ("q/", False, False)
    assert pressed(typed, lines, "escape").filter == ""
    kept = pressed(Screen(), lines, "/", "x", "enter", "escape")
    assert (kept.filter, kept.is_typing) == ("", False)


def test_names_of_keys() -> None:
    assert names_of("\x1b[A\x1b[B\x1bOC\x1b[5~\x1b[1;5Dq") == ["up", "down", "right", "page up", "q"]
    assert names_of("\x1b\x1b") == ["escape", "escape"]
    assert names_of("é\r\x00\x7f") == ["é", "enter", "backspace"]


def test_without_a_terminal_there_are_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(keys, "sleep", slept.append)
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with Keys() as read:
            assert not read.are_read
            assert read.wait(5) == []
    assert slept == [5]


def test_keys_in_parts_and_a_terminal_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = pty.openpty()
    with os.fdopen(inner) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with Keys() as read:
            os.write(outer, "é".encode()[:1])
            assert read.wait(60) == []
            os.write(outer, "é".encode()[1:] + b"\x1b[")
            os.write(outer, b"A")
            assert read.wait(60) == ["é", "up"]
            assert read.wait(0) == []
    os.close(outer)
