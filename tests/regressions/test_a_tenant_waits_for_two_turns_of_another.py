"""A tenant with many requests was served again, ahead of one whose request had come while the first was being served.

A room went to the end of those that wait when it was served, and a newcomer behind it. Now it goes there when its turn ends, too.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from resonate_core.ui.rooms import Turns


@pytest.mark.parametrize("threads", [1, 2])
def test_a_newcomer_is_served_after_one_turn_of_each_busy_room(threads: int) -> None:
    turns = Turns("test", threads)
    served: list[str] = []
    gates: list[threading.Event] = []
    begun = threading.Semaphore(0)

    def long(name: str, gate: threading.Event) -> None:
        served.append(name)
        begun.release()
        assert gate.wait(30)

    made: list[Future[Any]] = []
    busy = [chr(ord("b") + n) for n in range(threads)]
    try:
        for name in busy:
            for _ in range(3):
                gates.append(threading.Event())
                made.append(turns.submit((name, ""), lambda name=name, gate=gates[-1]: long(name, gate)))  # type: ignore[misc]
        for _ in busy:
            assert begun.acquire(timeout=30)
        newcomer = turns.submit(("a", ""), lambda: served.append("a"))
        gates[0].set()  # one turn of one of them ends
        newcomer.result(30)
        assert served[threads] == "a"
    finally:
        for gate in gates:
            gate.set()
        turns.shutdown()
    assert sorted(served) == sorted(["a", *busy * 3]) and all(one.done() for one in made)
