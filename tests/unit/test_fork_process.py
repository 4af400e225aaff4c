"""fork(2) while other threads are inside an engine: the child can use its copy of the store."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

FORKS = 30


@contextmanager
def hammered(store: rc.Store, clock: rc.ManualClock) -> Iterator[None]:
    """Runs threads that call the engine and the clock all the time."""
    stop = threading.Event()

    def create(name: str) -> None:
        number = 0
        while not stop.is_set():
            number = (number + 1) % 100  # a bounded store, so that every child ends soon
            store.promises.create_many([f"{name}.{number}.{k}" for k in range(20)], clock.now + 5, tags={"resonate:timer": "true"})
            store.promises.search(limit=50)

    def move() -> None:
        while not stop.is_set():
            clock.advance(1)

    threads = [threading.Thread(target=create, args=(str(n),)) for n in range(2)] + [threading.Thread(target=move)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def use_everything(store: rc.Store, clock: rc.ManualClock) -> None:
    """Uses the copy in a child process."""
    before = store.promises.count()
    store.promises.create("the child's own", timeout=10, tags={"resonate:timer": "true"})
    clock.advance(10)
    assert store.promises.get("the child's own").state == "resolved"
    assert store.promises.count() == before + 1 and store.check() == []
    assert rc.Store(clock=clock).promises.create("new", timeout=5).state == "pending"
    assert store.fork().digest() == store.digest()


def in_child(store: rc.Store, clock: rc.ManualClock) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks with threads: they are the test
        child = os.fork()
    if child:
        return child
    signal.alarm(60)  # if a lock stays locked, the alarm ends the child and the test fails
    try:
        use_everything(store, clock)
        os._exit(0)
    except BaseException as error:
        print(f"in the child: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)


def test_a_child_goes_on() -> None:
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    with hammered(store, clock):
        for _ in range(FORKS):
            time.sleep(0.002)
            _, status = os.waitpid(in_child(store, clock), 0)
            assert os.waitstatus_to_exitcode(status) == 0
    assert store.check() == []
    with pytest.raises(rc.NotFound):
        store.promises.get("the child's own")


def child_of_multiprocessing(store: rc.Store, answers: Any) -> None:
    assert isinstance(store.clock, rc.ManualClock)
    use_everything(store, store.clock)
    answers.put(store.promises.count())


def test_multiprocessing() -> None:
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    context = multiprocessing.get_context("fork")
    with hammered(store, clock), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        answers = context.SimpleQueue()
        process = context.Process(target=child_of_multiprocessing, args=(store, answers))
        process.start()
        assert answers.get() > 0
        process.join(60)
        assert process.exitcode == 0


def test_a_recording_stays_with_its_process(tmp_path: Path) -> None:
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    path = tmp_path / "trace.jsonl"
    with store.record(path):
        store.promises.create("a", 1000)
        _, status = os.waitpid(in_child(store, clock), 0)
        assert os.waitstatus_to_exitcode(status) == 0
        store.promises.create("b", 1000)
    assert "child" not in path.read_text() and rc.replay(path).ok


def test_a_recording_to_an_object_does_not_hang() -> None:
    """The writer needs the GIL while it holds the engine's lock; a fork holds the GIL and needs the engine's lock."""

    class Sink:
        def write(self, text: str) -> None:
            time.sleep(0)

    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    with store.record(Sink()), hammered(store, clock):  # type: ignore[arg-type]
        for _ in range(5):
            _, status = os.waitpid(in_child(store, clock), 0)
            assert os.waitstatus_to_exitcode(status) == 0
