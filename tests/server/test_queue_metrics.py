"""The metrics of queues and of the rows of a store: in /metrics, and over OpenTelemetry."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import PushSettings, ServerSettings, create_app
from server.app_calls import call
from server.test_metrics import samples


def scraped(store: Store, **server: Any) -> dict[str, float]:
    """Returns the samples of a new app that serves the store; its counters begin at 0."""
    return asyncio.run(_scraped(store, lambda: None, server))


async def _scraped(store: Store, work: Any, server: dict[str, Any]) -> dict[str, float]:
    app = create_app(store, server=ServerSettings(**server), push=PushSettings(enabled=False))
    async with app.lifespan():
        await call(app, "GET", "/metrics")
        await asyncio.to_thread(work)
        return await samples(app)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


def test_each_queue_has_what_happened_to_its_jobs(make_store: Any, clock: ManualClock) -> None:
    store = make_store(clock=clock)

    def work() -> None:
        for queue in ("mail", "video"):
            for _ in range(3):
                store.jobs.enqueue("t", queue=queue, max_retries=1, retry_policy={"kind": "fixed", "intervals": [60_000]})
        clock.advance(2_000)
        first, second = store.jobs.claim("mail", worker="w", lease=60_000, count=2, start=2)
        clock.advance(500)
        store.jobs.complete(first.id, first.version)
        store.jobs.fail(second.id, second.version, code="E")
        [third] = store.jobs.claim("video", worker="w", lease=1_000, start=1)
        clock.advance(1_000)
        assert store.jobs.get(third.id).state == "retry"
        clock.advance(4_000)

    found = asyncio.run(_scraped(store, work, {}))

    def of(queue: str, name: str) -> float:
        return found[f"resonate_queue_{name} queue={queue}"]

    mail = {
        name: of("mail", f"{name}_total")
        for name in ("enqueued", "started", "completed", "failed", "retried", "archived", "crashed")
    }
    assert mail == {"enqueued": 3, "started": 2, "completed": 1, "failed": 1, "retried": 1, "archived": 0, "crashed": 0}
    assert (of("video", "crashed_total"), of("video", "retried_total"), of("video", "completed_total")) == (1, 1, 0)
    assert (of("mail", "latency_seconds_count"), of("mail", "latency_seconds_sum")) == (2, 4.0)
    assert (of("mail", "run_seconds_count"), of("mail", "run_seconds_sum")) == (2, 1.0)
    assert found["resonate_queue_jobs queue=mail state=pending"] == 1
    assert of("mail", "oldest_pending_seconds") == 7.5
    assert of("mail", "backlog_seconds") == 0.5  # one pending job, half a second each
    assert found["resonate_queue_latency_seconds_bucket le=+Inf queue=mail"] == 2


def test_jobs_that_wait_have_a_series_of_their_own(make_store: Any, clock: ManualClock) -> None:
    store = make_store(clock=clock)

    def work() -> None:
        store.jobs.enqueue("parse", id="a", queue="parts")
        store.jobs.enqueue("parse", id="b", queue="parts")
        for name in ("pack", "send"):
            store.jobs.enqueue(name, id=name, queue="mail", after=["a"])
        store.jobs.enqueue("flow", id="flow", queue="flows")
        [flow] = store.jobs.claim("flows", worker="w", lease=60_000, start=1)
        store.jobs.suspend("flow", flow.version, ["b"])

    found = asyncio.run(_scraped(store, work, {}))
    waiting = {key: value for key, value in found.items() if key.startswith("resonate_queue_jobs ") and key.endswith("=waiting")}
    assert {key: value for key, value in waiting.items() if value} == {
        "resonate_queue_jobs queue=mail state=waiting": 2,
        "resonate_queue_jobs queue=flows state=waiting": 1,
    }
    assert found["resonate_jobs state=waiting"] == 3
    assert found["resonate_queue_jobs queue=mail state=pending"] == found["resonate_queue_oldest_pending_seconds queue=mail"] == 0
    assert found["resonate_job_attempts_total outcome=suspended"] == 1
    assert found["resonate_job_states_entered_total state=waiting"] == 3
    assert found["resonate_queue_failed_total queue=flows"] == 0


def test_queues_beyond_the_limit_are_added_up(clock: ManualClock) -> None:
    with Store(clock=clock) as store:

        def work() -> None:
            for number in range(7):
                for _ in range(number + 1):
                    store.jobs.enqueue("t", queue=f"q{number}")

        found = asyncio.run(_scraped(store, work, {"metrics_queues": 2}))
        depths = {key: value for key, value in found.items() if key.startswith("resonate_queue_jobs ") and key.endswith("=pending")}
        assert depths == {
            "resonate_queue_jobs queue=q6 state=pending": 7,
            "resonate_queue_jobs queue=q5 state=pending": 6,
            "resonate_queue_jobs queue= state=pending": 15,
        }
        assert found["resonate_queue_enqueued_total queue="] == 15


def test_a_queue_keeps_its_series(clock: ManualClock) -> None:
    """Another queue becomes longer; a series that ended and began again would look like a restart."""

    async def main() -> tuple[dict[str, float], dict[str, float]]:
        with Store(clock=clock) as store:
            app = create_app(store, server=ServerSettings(metrics_queues=1), push=PushSettings(enabled=False))
            async with app.lifespan():
                store.jobs.enqueue("t", queue="first")
                one = await samples(app)
                store.jobs.enqueue_many("t", [None] * 5, queue="second")
                return one, await samples(app)

    one, two = asyncio.run(main())
    assert one["resonate_queue_enqueued_total queue=first"] == two["resonate_queue_enqueued_total queue=first"] == 1
    assert two["resonate_queue_enqueued_total queue="] == 5


def test_what_a_store_holds(tmp_path: Path, clock: ManualClock) -> None:
    with Store(tmp_path / "a.db", clock=clock) as store:

        def work() -> None:
            for number in range(3):
                store.jobs.enqueue("t")
                store.tasks.create(f"t{number}", pid=f"w{number % 2}", ttl=60_000, timeout=600_000, target="poll://any@g")
            store.jobs.claim("default", worker="w", lease=60_000, count=2)

        found = asyncio.run(_scraped(store, work, {}))
    assert {kind: (found[f"resonate_workers kind={kind}"], found[f"resonate_leases kind={kind}"]) for kind in ("task", "job")} == {
        "task": (2, 3),
        "job": (1, 2),
    }
    assert found["resonate_store_bytes part=file"] > 0 and "resonate_store_bytes part=log" in found
    assert found["resonate_schedules_late"] == 0


def test_the_same_over_opentelemetry(clock: ManualClock) -> None:
    from opentelemetry import metrics
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))

    async def main() -> tuple[dict[str, float], dict[str, float], int]:
        with Store(clock=clock) as store:
            app = create_app(store, server=ServerSettings(metrics_otel=True), push=PushSettings(enabled=False))
            async with app.lifespan():
                await call(app, body=b"{")
                store.jobs.enqueue("t", queue="mail")
                exported = await asyncio.to_thread(observed, reader)
                scrape = await samples(app)
        return exported, scrape, len(observed(reader))

    exported, scrape, after = asyncio.run(main())
    assert exported["resonate_queue_enqueued queue=mail"] == 1
    assert exported["resonate_requests kind=unknown status=400"] == 1
    assert {name for name in exported if "queue=mail" in name} == {
        name.replace("_total", "") for name in scrape if "queue=mail" in name
    }
    assert after == 0, "an app that has stopped is not observed"


def observed(reader: Any) -> dict[str, float]:
    data = reader.get_metrics_data()
    return {
        metric.name + "".join(f" {key}={value}" for key, value in sorted(point.attributes.items())): point.value
        for resource in (data.resource_metrics if data else [])
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    }
