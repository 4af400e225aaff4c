"""Random graphs: each node runs once if nothing fails, never before what it waits for, and all of them in the end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import resonate_core as rc
from resonate_core.worker import JobContext, JobError, Worker

#: For each node: its behaviour, whether a failure lets it run, and the numbers of nodes that it waits for.
NODE = st.tuples(st.sampled_from(["ok", "ok", "ok", "retry", "fail"]), st.booleans(), st.sets(st.integers(0, 30), max_size=4))


@settings(max_examples=60, deadline=None)
@given(nodes=st.lists(NODE, min_size=1, max_size=14), order=st.randoms(use_true_random=False), data=st.data())
@pytest.mark.parametrize("lifecycle", [None, "asynq"])
def test_each_node_runs_once_and_after_what_it_waits_for(
    lifecycle: Any, nodes: list[tuple[str, bool, set[int]]], order: Any, data: st.DataObject
) -> None:
    clock = rc.ManualClock()
    store = rc.Store(clock=clock, check=True)
    worker = Worker(store, concurrency=data.draw(st.integers(1, 3)), lifecycle=lifecycle)
    waits = {f"n{i}": sorted({f"n{j % i}" for j in after}) if i else [] for i, (_, _, after) in enumerate(nodes)}
    plans = {f"n{i}": (does, "run" if runs else "cancel") for i, (does, runs, _) in enumerate(nodes)}
    log: list[str] = []
    done: dict[str, str] = {}

    @worker.task("t", max_retries=1, retry_policy={"kind": "fixed", "intervals": [1000]}, on_exhausted="failed")
    def body(name: str, job: JobContext) -> str:
        assert set(job.dependencies) == set(waits[name])
        for one in waits[name]:
            error = job.dependencies.error(one)
            assert done[one] == ("failed" if error is not None else "completed")
            if error is None:
                assert job.dependencies[one] == one
        does = plans[name][0]
        if does == "retry" and job.retry_count == 0:
            raise JobError("Again", "later")
        log.append(name)
        done[name] = "failed" if does == "fail" else "completed"
        if does == "fail":
            raise JobError("Broken", "no", retryable=False)
        return name

    names = list(waits)
    order.shuffle(names)
    graph = worker.graph("g")
    for name in names:
        graph.add(name, body.using(after_failed=plans[name][1]).node(name), after=waits[name]) if waits[name] else graph.add(
            name, body.node(name)
        )
    expected: dict[str, str] = {}
    for name in waits:  # by number, so that what it waits for has its outcome
        failed = [one for one in waits[name] if expected[one] != "completed"]
        cancelled = failed and plans[name][1] == "cancel"
        expected[name] = "cancelled" if cancelled else "failed" if plans[name][0] == "fail" else "completed"

    def cancelled_first(name: str) -> None:
        done.setdefault(name, "failed")

    for name, state in expected.items():
        if state == "cancelled":
            cancelled_first(name)
    assert len(graph.enqueue()) == len(nodes)
    worker.run_until_idle(advance=True)
    assert sorted(log) == sorted(name for name, state in expected.items() if state != "cancelled")
    found = {job.id.removeprefix("g:"): job.state for job in store.jobs.search(limit=1000)}
    assert found == {name: state for name, state in expected.items() if name in found}
    gone = set(expected) - set(found)
    assert all(expected[name] == "completed" for name in gone) and (lifecycle == "asynq" or not gone)
    for name in log:
        assert all(log.index(one) < log.index(name) for one in waits[name] if one in log)
