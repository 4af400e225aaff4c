"""The command reports nothing on our server, on each storage; it uses ids under its prefix, and deletes all that can be deleted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

import resonate_core as rc
from backends import BACK_ENDS, BackEnd
from command_line import run_command
from resonate_core.conformance.judging import judge
from resonate_core.conformance.plan import Plan
from resonate_core.conformance.report import Report
from server.live_server import serving
from tiers import every

FAR = 4 * 10**12
QUICK = {"effort": "quick", "requests": 40, "connections": 4}


def foreign(store: rc.Store) -> None:
    """Stores rows of each kind that the command must not touch, with ids close to its prefix."""
    for name in ("order-1", "mine", "mine2.x", "conformance"):
        store.promises.create(name, FAR, tags={"resonate:target": "poll://any@shop", "resonate-conformance": "another"})
    store.tasks.acquire("order-1", 0, pid="w1", ttl=86_400_000)
    store.promises.register_listener("mine", "poll://uni@shop/1")
    store.promises.create("settled", FAR)
    store.promises.resolve("settled", "done")
    store.schedules.create("nightly", cron="0 0 1 1 *", promise_id="run-{{.timestamp}}", promise_timeout=1000)
    store.jobs.enqueue("email:send", {"to": "a"}, id="job-1", queue="mail")


def rows_outside(store: rc.Store, prefix: str) -> str:
    """Returns the digest of all rows whose ids do not begin with the prefix, without members that change by time alone."""
    taken = store.snapshot()
    rows: dict[str, Any] = {}
    for kind, name in (("promises", "id"), ("schedules", "id"), ("queues", "name")):
        rows[kind] = [row for row in taken.get(kind, []) if not row[name].startswith(prefix)]
    for row in rows["promises"]:
        row.get("task", {}).pop("retryAt", None)
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def check_left(store: rc.Store, prefix: str, report: Report) -> None:
    """Checks that every row with the prefix has ended."""
    taken = store.snapshot()
    own = [row for row in taken["promises"] if row["id"].startswith(prefix)]
    assert own
    assert list(store.promises.search(id=f"{prefix}*", state="pending")) == []
    tasks = {
        state: list(store.tasks.search(id=f"{prefix}*", state=state)) for state in ("pending", "acquired", "suspended", "halted")
    }
    assert not any(tasks.values()), tasks
    assert [row["id"] for row in taken["schedules"] if row["id"].startswith(prefix)] == []
    assert [row["id"] for row in own if "job" in row] == []
    assert [row for row in taken["messages"] if row["id"].startswith(prefix)] == []
    assert any("settled promises" in one for one in report.kept)


@pytest.mark.parametrize(
    "back_end", every(3, sorted(BACK_ENDS, key=lambda end: end.name != "sqlite")), ids=lambda end: end.name, indirect=True
)
def test_our_server_has_no_findings(back_end: BackEnd) -> None:
    with back_end.open() as store:
        foreign(store)
        before = rows_outside(store, "mine.")
        with serving(store) as running:
            report = judge(f"http://127.0.0.1:{running.port}", Plan(prefix="mine.", **QUICK))
        assert report.findings == (), report.text()
        assert rows_outside(store, "mine.") == before
        check_left(store, "mine.", report)
        assert store.check() == []


@pytest.mark.full
def test_jobs_are_judged_on_request() -> None:
    with rc.Store() as store, serving(store) as running:
        plan = Plan(("2026-04-01",), prefix="mine.", effort="quick", requests=0, jobs=True, patience=0)
        report = judge(f"http://127.0.0.1:{running.port}", plan)
        assert report.findings == (), report.text()
        assert report.tallies["2026-04-01"].judged["JOBS 5 job.complete"] > 0
        check_left(store, "mine.", report)
        assert any("queues" in one for one in report.kept)


@pytest.mark.full
@pytest.mark.parametrize("rules", ["compatible", "strict"])
def test_our_server_has_no_findings_in_a_long_run(back_end: BackEnd, rules: str) -> None:
    with back_end.open(rules=rules) as store, serving(store) as running:
        report = judge(
            f"http://127.0.0.1:{running.port}", Plan(rules=rules, effort="thorough", requests=6000, jobs=True, patience=6000)
        )
        assert report.findings == (), report.text()
        print(report.text())


@pytest.mark.full
def test_a_server_of_strict_rules() -> None:
    with rc.Store(rules="strict") as store, serving(store) as running:
        report = judge(f"http://127.0.0.1:{running.port}", Plan(("2026-04-01",), "strict", **QUICK))
        assert report.findings == (), report.text()
        wrong = judge(f"http://127.0.0.1:{running.port}", Plan(("2026-04-01",), "compatible", **QUICK))
        assert "PROTOCOL 3.2 promise.create" in wrong.broken or "PROTOCOL 3.6 promise.register_listener" in wrong.broken


@pytest.mark.full
def test_a_manual_clock_is_moved_if_debug_operations_are_permitted(capsys: pytest.CaptureFixture[str]) -> None:
    clock = rc.ManualClock(start=1_767_225_600_000)
    with rc.Store(clock=clock, debug=True) as store, serving(store, server={"debug": True}) as running:
        plan = Plan(debug=True, **QUICK)
        report = judge(f"http://127.0.0.1:{running.port}", plan)
        assert report.findings == (), report.text()
        assert clock.now > 1_767_225_600_000
        reached = clock.now
        patient = judge(f"http://127.0.0.1:{running.port}", Plan(patience=0, **QUICK))
        assert patient.findings == () and clock.now == reached, "the clock is not moved unasked"
        assert "the clock of the server stands still" in patient.text()


def test_the_command_prints_each_form(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    with rc.Store() as store, serving(store) as running:
        url = f"http://127.0.0.1:{running.port}"
        options = ("--effort", "quick", "--requests", 40, "--patience", 0, "--connections", 1, "--dialect", "2025-01-15")
        text = run_command(capsys, "conformance", url, *options)
        assert text.code == 0 and "no findings" in text.out and "2026-04-01" not in text.out
        assert "not judged" in text.out and "left on the server: " in text.out
        out = run_command(
            capsys, "conformance", url, *options, "--format", "json", "--output", tmp_path / "r.json", "--prefix", "a-b."
        )
        assert out.code == 0 and out.out.startswith(url) and out.out.count("\n") == 1
        document = json.loads((tmp_path / "r.json").read_text())
        assert document["findings"] == [] and document["prefix"] == "a-b." and document["server"] == url
        assert set(document["dialects"]) == {"2025-01-15"}
        assert document["dialects"]["2025-01-15"]["judged"]["PROTOCOL 3.10 task.acquire"] > 0
