"""The Hypothesis strategies: they draw values that a store accepts, instants near due steps, both dialects, and programs of many calls."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings, strategies as st

import resonate_core as rc
from resonate_core.testing import strategies

NEW, OLD = "2026-04-01", "2025-01-15"


def draws(strategy: Any, count: int = 150, number: int = 1) -> list[Any]:
    """Some random draws, the same ones in each run."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(one=strategy)
    def collect(one: Any) -> None:
        found.append(one)

    collect()
    return found


@pytest.fixture
def store() -> Any:
    with rc.Store(clock=rc.ManualClock()) as made:
        yield made


def test_ids_are_accepted_and_meet(store: Any) -> None:
    drawn = [id for one in draws(st.lists(strategies.ids(), min_size=10), 20) for id in one]  # Hypothesis avoids equal draws
    for id in drawn:
        store.promises.create(id, timeout=1000)
    assert store.promises.count() == len(set(drawn))
    common = sum(count for _, count in Counter(drawn).most_common(11))
    assert len(drawn) * 0.6 < common < len(drawn)
    assert set(draws(strategies.ids(["x"]))) > {"x"}


def test_values_come_back_as_they_are(store: Any) -> None:
    for number, value in enumerate(draws(strategies.values(), 60)):
        store.promises.create(str(number), timeout=1000, param=value)
        assert store.promises.get(str(number)).param.json() == value
        assert json.loads(json.dumps(value)) == value


def test_tags_are_accepted_and_some_have_a_target(store: Any) -> None:
    drawn = draws(strategies.tags(targets=["poll://any@mine"]))
    for number, tags in enumerate(drawn):
        store.promises.create(str(number), timeout=1000, tags=tags)
    assert {tags["resonate:target"] for tags in drawn if "resonate:target" in tags} == {"poll://any@mine"}
    assert {} in drawn and {"resonate:timer", "resonate:branch", "own"} <= {name for tags in drawn for name in tags}


def test_cron_expressions_occur() -> None:
    drawn = draws(strategies.crons(), 80)
    for cron in drawn:
        assert rc.cron_next(cron, 0, 1)
    assert any("CRON_TZ" in cron for cron in drawn)
    assert {len(cron.split()) for cron in draws(strategies.crons(seconds=False, zones=False), 50)} == {5}


def test_durations_stay_in_range_and_reach_its_ends() -> None:
    drawn = draws(strategies.durations(70, 5000))
    assert min(drawn) == 70 and max(drawn) == 5000
    assert {71, 1000, 4999} <= set(drawn)
    with pytest.raises(rc.Invalid, match="longest must be at least shortest"):
        strategies.durations(5, 4)


def test_instants_are_near_what_is_due(store: Any) -> None:
    store.promises.create("a", timeout=7777)
    store.jobs.enqueue("t", process_in=3333)
    store.tasks.create("b", pid="ann", ttl=555, timeout=10**12, target="poll://any@x")
    drawn = [at for one in draws(st.lists(strategies.instants(store), min_size=10), 20) for at in one]
    near = {at + by for at in (7777, 3333, 555) for by in (-1, 0, 1)}
    assert near <= set(drawn)
    assert sum(at in near for at in drawn) > len(drawn) / 3
    assert min(drawn) >= store.now
    assert max(draws(strategies.instants(lambda: store, furthest=4000))) <= 4000


def test_instants_run_no_schedule_for_ever(store: Any) -> None:
    store.schedules.create("s", "* * * * * *", promise_timeout=10)
    assert max(draws(strategies.instants(store), 100)) <= 6000


def test_requests_of_an_empty_store_are_of_both_dialects_and_all_kinds() -> None:
    drawn = draws(strategies.requests(), 150)
    versions = Counter(one.envelope["head"]["version"] for one in drawn)
    assert min(versions[NEW], versions[OLD]) > 20
    kinds = {one.envelope["kind"] for one in drawn}
    assert {"promise.create", "task.create", "schedule.create", "job.enqueue"} <= kinds
    assert len(kinds) > 15
    assert not any(
        kind.startswith(("job.", "queue.")) for kind in (one.envelope["kind"] for one in draws(strategies.requests(jobs=False)))
    )
    old = draws(strategies.requests(dialects=[OLD], jobs=False))
    # The searches and some others exist only in the newer one.
    newer = {one.envelope["kind"] for one in old if one.envelope["head"]["version"] == NEW}
    assert all(kind.endswith("search") or kind in ("task.halt", "task.continue") or kind.startswith("debug") for kind in newer)
    with pytest.raises(rc.Invalid, match="dialects must be some of 2026-04-01, 2025-01-15"):
        strategies.requests(dialects=["1999"])


def test_requests_fit_the_rows_of_the_store(store: Any) -> None:
    """Held tasks and jobs get requests with their versions, so that many of them succeed."""
    store.tasks.create("a", pid="w1", ttl=10**9, timeout=10**12, target="poll://any@x")
    store.jobs.enqueue("t", id="j1")
    store.jobs.claim("default", worker="w1", lease=10**9, start=1)
    statuses: Counter[tuple[str, int]] = Counter()
    for request in draws(strategies.requests(store), 250):
        with store.fork() as fork:
            reply = request.run(fork)
            statuses[reply["kind"], reply["head"]["status"]] += 1
    for kinds in (("task.fulfill", "task.suspend", "task.release"), ("job.complete", "job.fail", "job.snooze")):
        assert sum(statuses[kind, status] for kind in kinds for status in (200, 300)) >= 1, statuses
    refused = sum(count for (_, status), count in statuses.items() if status >= 400)
    assert 0.02 < refused / sum(statuses.values()) < 0.5


def test_malformed_requests_are_refused_and_change_nothing(store: Any) -> None:
    before = store.digest()
    refused = 0
    for request in draws(strategies.requests(store, malformed=True), 150):
        with store.fork() as fork:
            status = request.run(fork)["head"]["status"]
            refused += status == 400
            assert status != 500
    assert refused > 30
    assert store.digest() == before


def test_programs_run_alike_and_reach_far() -> None:
    reached: Counter[Any] = Counter()
    for program in draws(strategies.programs(), 40):
        first, second = (rc.Store(clock=rc.ManualClock()) for _ in range(2))
        with first, second:
            replies = program.run(first)
            assert replies == program.run(second)
            assert first.digest() == second.digest()
            assert first.check() == [] or {one.name for one in first.check()} <= {one.name for one in first.problems()}
        reached.update((reply["kind"], reply["head"]["status"]) for reply in replies)
    assert sum(count for (_, status), count in reached.items() if status in (200, 300)) > sum(reached.values()) / 2
    succeeded = {kind for kind, status in reached if status in (200, 300)}
    assert {"task.create", "job.enqueue", "job.claim", "schedule.create"} <= succeeded
    assert len(succeeded) > 12


def test_a_program_shrinks_to_few_requests() -> None:
    def creates(program: strategies.Program) -> bool:
        return any(request.envelope["kind"] == "promise.create" for request in program.requests)

    chosen = settings(max_examples=100, database=None, deadline=None)
    (request,) = find(strategies.programs(jobs=False, max_size=4), creates, settings=chosen).requests
    assert request.now is None


def test_orders_of_jobs_are_valid(store: Any) -> None:
    drawn = draws(strategies.job_orders(types=["email"], queues=["mail"]), 100)
    for order in drawn:
        try:
            job = store.jobs.enqueue(**order)
        except rc.Conflict:
            assert "unique_key" in order
        else:
            assert (job.type, job.queue, job.payload.json()) == ("email", "mail", order["payload"])
    assert {"process_in", "retry_policy", "unique_key", "good_for"} <= {name for order in drawn for name in order}
    with pytest.raises(rc.Invalid, match="types must have at least one name"):
        strategies.job_orders(types=[])


def test_without_hypothesis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("resonate_core.testing.strategies", "resonate_core.testing.machine"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ModuleNotFoundError, match=r"install the extra resonate-core\[testing\]"):
        __import__("resonate_core.testing.strategies")
    with pytest.raises(ModuleNotFoundError, match=r"install the extra resonate-core\[testing\]"):
        __import__("resonate_core.testing.machine")
