"""A call that could only wait for itself never returned; now it is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc

HOMES = ["memory", "file"]


def ended(program: str, *arguments: str) -> str:
    """Returns what a program prints. A program that takes a minute has hung."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


DELIVER = """
import resonate_core as rc
store = rc.Store(clock=rc.ManualClock())
def handler(message):
    try:
        store.deliver()
    except rc.Invalid as error:
        print(error)
store.on_message("local", handler)
store.promises.create("a", timeout=1000, tags={"resonate:target": "local://x"})
print(store.deliver())
"""


def test_deliver_in_a_handler() -> None:
    said, taken = ended(DELIVER).splitlines()
    assert said.startswith("deliver() cannot be called by a handler of on_message") and taken == "1"


WRITE = """
import sys
import resonate_core as rc

clock = rc.ManualClock()
store = rc.Store(sys.argv[1] or None, clock=clock)
calls = {
    "typed": lambda: store.promises.get("a"),
    "write": lambda: store.promises.create("b", timeout=1000),
    "envelope": lambda: store.apply({"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}}),
    "json": lambda: store.apply_json(b'{"kind":"promise.create","head":{"corrId":"1","version":"2026-04-01"},"data":{"id":"c","timeoutAt":9000,"param":{},"tags":{}}}'),
    "tick": lambda: store.tick(),
    "advance": lambda: clock.advance(1),
    "check": lambda: store.check(),
    "snapshot": lambda: store.snapshot(),
    "messages": lambda: store.messages(),
    "fork": lambda: store.fork(),
    "close": lambda: store.close(),
    "path": lambda: (store.path, store.watch(-1).close()),
}

class Sink:
    def __init__(self):
        self.calls = 0
    def write(self, text):
        self.calls += 1
        if self.calls == 2:
            calls[sys.argv[2]]()

sink = Sink()
recording = store.record(sink)
store.promises.create("a", timeout=1000)
store.promises.create("d", timeout=1000)
try:
    recording.close()
except rc.Invalid as error:
    print(sink.calls, error)
print(store.promises.count(), store.check())
"""


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(
    "call",
    ["typed", "write", "envelope", "json", "tick", "advance", "check", "snapshot", "messages", "fork", "close"],
)
def test_a_call_in_the_write_of_its_own_recording(call: str, home: str, tmp_path: Path) -> None:
    """The error ends the recording, like any error of its write(); the request still gets its reply."""
    said, state = ended(WRITE, str(tmp_path / "a.db") if home == "file" else "", call).splitlines()
    assert said.startswith("2 a store cannot be used from inside a call of itself")
    assert state == "2 []"


@pytest.mark.parametrize("home", HOMES)
def test_what_waits_for_nothing_may_be_asked(home: str, tmp_path: Path) -> None:
    assert ended(WRITE, str(tmp_path / "a.db") if home == "file" else "", "path") == "2 []"


ADVANCE = """
import os, signal, threading, time
import resonate_core as rc
clock = rc.ManualClock()
store = rc.Store(clock=clock)
store.promises.create_many([str(n) for n in range(200_000)], range(1, 200_001), tags={"resonate:timer": "true"})
signal.signal(signal.SIGALRM, lambda *_: clock.advance(1))
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    clock.advance(200_000)
except rc.Invalid as error:
    print(error)
print(len(clock.advance(200_000)) > 0, store.check())
"""


def test_an_advance_in_a_signal_handler_during_an_advance() -> None:
    said, state = ended(ADVANCE).splitlines()
    assert said.startswith("this clock is being advanced by the same thread") and state == "True []"


def test_another_store_may_be_used() -> None:
    other = rc.Store(clock=rc.ManualClock())

    class Sink:
        def write(self, text: str) -> None:
            other.promises.create(str(other.promises.count()), timeout=1000)

    store = rc.Store(clock=rc.ManualClock())
    with store.record(Sink()):  # type: ignore[arg-type]
        store.promises.create("a", timeout=1000)
    assert other.promises.count() == 2
