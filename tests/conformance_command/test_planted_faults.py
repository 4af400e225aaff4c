"""The command finds each planted fault, names its rule, and finds nothing else."""

from __future__ import annotations

import xml.etree.ElementTree
from functools import partial

import pytest

from conformance_command.servers import faulty
from resonate_core.conformance import judging
from resonate_core.conformance.judging import judge
from resonate_core.conformance.plan import Plan
from resonate_core.conformance.player import Scene
from resonate_core.conformance.scenes import times

FAULTS = {
    "second_settle_conflicts": "PROTOCOL 3.3 promise.settle",
    "fence_is_not_checked": "PROTOCOL 3.14 task.fence",
    "timeout_does_not_win": "PROTOCOL 1.2 timeout always wins",
    "search_is_not_ordered": "PROTOCOL 3.7 promise.search",
    "callback_is_lost": "PROTOCOL 4 callback drain",
}


def test_five_faults_are_five_findings() -> None:
    with faulty(*FAULTS) as url:
        # On a slow machine the scenes wait for later deadlines, and those of 3 s would not be judged.
        report = judge(url, Plan(effort="quick", requests=400, patience=12_000))
    assert set(report.broken) == set(FAULTS.values()), report.text()
    for rule, found in report.broken.items():
        assert found[0].differences or isinstance(found[0].right, str), rule
        assert found[0].request["kind"] and found[0].answer is not None
    seen = report.text()
    assert all(rule in seen for rule in FAULTS.values()) and "5 rules broken" in seen
    suites = xml.etree.ElementTree.fromstring(report.junit())
    failed = {case.get("name"): case.find("failure") for case in suites.iter("testcase") if case.find("failure") is not None}
    assert set(failed) == set(FAULTS.values())
    for failure in failed.values():
        assert failure is not None and failure.text is not None
        assert "request: " in failure.text and "answer: " in failure.text and "right: " in failure.text


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_one_finding(fault: str) -> None:
    with faulty(fault) as url:
        report = judge(url, Plan(effort="quick", requests=400))
    assert set(report.broken) == {FAULTS[fault]}, report.text()


@pytest.mark.full
def test_a_right_server_behind_the_same_app_has_none() -> None:
    with faulty() as url:
        report = judge(url, Plan(effort="quick", requests=80))
    assert report.findings == (), report.text()


def test_a_server_that_was_slow_for_a_moment_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that began late had not expired when the scenario read it; that was reported as a broken rule."""
    every = judging._all_scenes
    monkeypatch.setattr(judging, "_scenes", lambda *given: [one for one in every(*given) if "retry or lease is due" in one.name])
    with faulty("tasks_begin_late") as url:
        report = judge(url, Plan(("2026-04-01",), requests=0, patience=12_000))
    assert report.findings == (), report.text()
    assert report.tallies["2026-04-01"].judged["PROTOCOL 4 lease expiry"] >= 3, report.text()


@pytest.mark.parametrize("dialect", ["2026-04-01", "2025-01-15"])
def test_a_heartbeat_that_came_too_late_is_no_finding(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease had ended when it arrived, which its reply does not show; what the task became was reported as a broken rule."""
    scene = Scene("PROTOCOL 4 lease expiry", "a heartbeat", dialect, partial(times._heartbeat, 1000), 5000)
    monkeypatch.setattr(judging, "_scenes", lambda *_: iter([scene]))
    with faulty("heartbeats_come_late") as url:
        report = judge(url, Plan((dialect,), requests=0, connections=1, patience=12_000))
    assert report.findings == (), report.text()
    assert report.tallies[dialect].judged["PROTOCOL 4 lease expiry"] == 1, report.text()


def test_messages_that_come_late_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    every = judging._all_scenes
    monkeypatch.setattr(judging, "_scenes", lambda *given: [one for one in every(*given) if one.name.startswith("messages of")])
    with faulty("messages_come_late") as url:
        report = judge(url, Plan(("2026-04-01",), requests=0, connections=1))
    assert report.findings == (), report.text()
    assert report.tallies["2026-04-01"].judged["PROTOCOL 5 messages"] == 3, report.text()
