"""Tests the pair of stores of the state machine: it reports a difference if the two stores differ, and only then."""

from __future__ import annotations

import resonate_core
from property.in_step import Clocks, Stores


def test_a_fork_of_what_has_seen_only_instant_zero_is_the_same_in_both(home):
    clocks = Clocks(resonate_core.ManualClock(0), resonate_core.ManualClock(0))
    stores = Stores(resonate_core, home, clocks)
    create = {"id": "a", "timeoutAt": 100_000, "param": {}, "tags": {}}
    head = {"corrId": "1", "version": "2026-04-01"}
    stores.apply({"kind": "promise.create", "head": head, "data": create}, now=0)
    stores.apply({"kind": "promise.get", "head": head, "data": {"id": "a"}}, now=1000)  # a read moves only the clock
    fork = stores.fork()
    assert fork.snapshot()["now"] == 0
    assert fork.now == 1000
    fork.reopen()
    assert fork.snapshot()["now"] == 0
    fork.close()
    stores.close()
