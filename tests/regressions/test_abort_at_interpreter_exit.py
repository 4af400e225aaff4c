"""A program that ended while one of its daemon threads was in a call of a store aborted (SIGABRT).

Once the interpreter ends, such a thread may not take the GIL any more. Up to Python 3.13 the interpreter then unwinds the thread's
stack, which the C++ code did not allow.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

EXITS = 20

#: What the threads of a program do for ever, each a way from C++ into Python or back.
WORK = """
def typed(n, i):
    store.promises.create(f"{n}.{i}", timeout=60_000, param={"a": [1, {"b": "c"}] * 20}, tags={"resonate:target": "local://x"})
    store.promises.get(f"{n}.{i}").param.json()

def refused(n, i):
    try:
        store.promises.get("nobody")
    except rc.NotFound:
        pass

def iterables(n, i):
    store.promises.create_many((f"{n}.{i}.{k}" for k in range(5)), timeout_at=10**14, tags=ChainMap({"k": "v"}))

def envelopes(n, i):
    store.apply({"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}})
    store.apply_json(b"{")

def shown(n, i):
    repr(store), [repr(each) for each in store.promises.search(limit=3)]

def moved(n, i):
    clock.advance(10), clock.now

def recorded(n, i):
    noted.promises.create(f"{n}.{i}", timeout=60_000, param={"a": 1})

def delivered(n, i):
    store.promises.create(f"{n}.{i}", timeout=60_000, tags={"resonate:target": "mine://x"})
    store.deliver()
"""

PROGRAM = f"""
import os, random, sys, threading, time, traceback
from collections import ChainMap
import resonate_core as rc

class Sink:
    def write(self, text):
        for _ in range(10):
            text.upper()

random.seed(int(sys.argv[1]))
clock = rc.ManualClock()
store = rc.Store(sys.argv[2] or None, clock=clock, durability="normal")
noted = rc.Store(clock=clock)
recording = noted.record(Sink())
store.on_message("mine", lambda message: [str(k) for k in range(100)])
{WORK}
def for_ever(work, n):
    try:
        for i in range(10**9):
            work(n, i)
    except BaseException:
        traceback.print_exc()
        os._exit(9)  # this test sees nothing if its threads do nothing

for n, work in enumerate(random.sample([typed, refused, iterables, envelopes, shown, moved, recorded, delivered], 4)):
    threading.Thread(target=for_ever, args=(work, n), daemon=True).start()
time.sleep(random.random() / 10)
"""

HANDLERS = """
import random, sys, time
import resonate_core as rc

random.seed(int(sys.argv[1]))
store = rc.Store()
store.on_message("local", lambda message: time.sleep(random.random() / 200))
store.promises.create_many([str(n) for n in range(2000)], timeout_at=10**14, tags={"resonate:target": "local://here"})
time.sleep(random.random() / 10)
"""


def exit_codes(program: str, path: Path | None = None) -> list[tuple[int, str]]:
    """Returns for each run of a program its exit code, and its output if that is not 0."""
    seeds = [random.randrange(10**6) for _ in range(EXITS)]
    print("seeds", seeds)
    ended = []
    for seed in seeds:
        arguments = [sys.executable, "-c", program, str(seed), "" if path is None else str(path.with_suffix(f".{seed}"))]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
        ended.append((done.returncode, done.stderr if done.returncode else ""))
    return ended


@pytest.mark.parametrize("home", ["memory", "file"])
def test_daemon_threads_in_calls(home: str, tmp_path: Path) -> None:
    assert exit_codes(PROGRAM, tmp_path / "store.db" if home == "file" else None) == [(0, "")] * EXITS


def test_a_subscription_that_nobody_closed() -> None:
    assert exit_codes(HANDLERS) == [(0, "")] * EXITS
