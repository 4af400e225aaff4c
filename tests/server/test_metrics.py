"""/metrics: the counts agree with the requests, and no client can create a label."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from resonate_core import ManualClock, Store
from resonate_core.asgi import AuthSettings, LimitSettings, PushSettings, ResonateApp, StreamSettings, create_app
from resonate_core.server.metrics import KINDS
from server.app_calls import call
from server.poll_scene import run, scene

FAR = 10**15


def envelope(kind: Any, data: Any = None, **head: Any) -> bytes:
    return json.dumps({"kind": kind, "head": {"corrId": "c", "version": "2026-04-01", **head}, "data": data or {}}).encode()


async def samples(app: ResonateApp, headers: dict[str, str] | None = None) -> dict[str, float]:
    """Returns every sample, by its name and labels as written."""
    answer = await call(app, "GET", "/metrics", headers=headers)
    assert answer.status == 200 and answer.headers["content-type"].startswith("application/openmetrics-text")
    families = list(text_string_to_metric_families(answer.body.decode()))
    return {
        sample.name + "".join(f" {name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def app_of(store: Store, **tables: Any) -> ResonateApp:
    return create_app(store, push=PushSettings(enabled=False), **tables)


def test_the_use_of_a_database_is_counted(postgres_url: str) -> None:
    async def main() -> None:
        with Store(clock=ManualClock(1000)) as store:
            app = app_of(store)
            async with app.lifespan():
                assert not any("database" in name for name in await samples(app))
        with Store(postgres_url, clock=ManualClock(1000)) as store:
            app = app_of(store)
            async with app.lifespan():
                before = await samples(app)
                await call(app, body=envelope("promise.create", {"id": "p", "timeoutAt": FAR}))
                after = await samples(app)
        assert after["resonate_database_open_connections"] >= 1
        assert after["resonate_database_connections_total"] >= after["resonate_database_open_connections"]
        assert after["resonate_database_round_trips_total"] >= before["resonate_database_round_trips_total"] + 2
        for name in ("lock_timeouts", "lost_commits"):
            assert after[f"resonate_database_{name}_total"] == before[f"resonate_database_{name}_total"]

    asyncio.run(main())


def test_requests_are_counted_by_kind_and_status() -> None:
    async def main() -> None:
        with Store(clock=ManualClock(1000)) as store:
            app = app_of(store, limits=LimitSettings(body_bytes=2000))
            async with app.lifespan():
                for i in range(7):
                    await call(app, body=envelope("promise.create", {"id": f"p{i}", "timeoutAt": FAR}))
                for _ in range(3):
                    await call(app, body=envelope("promise.get", {"id": "nobody"}))
                await call(app, body=envelope("promise.get", {"id": 5}))
                await call(app, body=envelope("promise.burn"))
                await call(app, body=b"{")
                await call(app, body=b" " * 3000)
                found = await samples(app)
        counted = {name: value for name, value in found.items() if name.startswith("resonate_requests_total")}
        assert counted == {
            "resonate_requests_total kind=promise.create status=200": 7,
            "resonate_requests_total kind=promise.get status=400": 1,
            "resonate_requests_total kind=promise.get status=404": 3,
            "resonate_requests_total kind=unknown status=400": 2,
        }
        assert found["resonate_request_duration_seconds_count kind=promise.create"] == 7
        assert found["resonate_batch_requests_sum"] in (12, 13) and found["resonate_batch_requests_count"] <= 13
        assert found["resonate_refused_total reason=body"] == 1
        assert found["resonate_requests_in_flight"] == 0

    asyncio.run(main())


@pytest.mark.parametrize("seed", range(3))
def test_no_client_makes_a_label(seed: int) -> None:
    """Neither kinds, versions, ids, groups, paths, methods nor tokens become labels."""
    print(f"seed {seed}")
    chance = random.Random(seed)

    def text() -> str:
        return "".join(chance.choice('abc.{}"\\\n é\u2028𝄞') for _ in range(chance.randint(1, 12)))

    async def main() -> None:
        with Store(clock=ManualClock(1000)) as store:
            app = app_of(store)
            async with app.lifespan():
                for _ in range(300):
                    kind = chance.choice([text(), chance.choice(sorted(KINDS)), chance.choice(sorted(KINDS)).upper(), 5, None])
                    tags = {"resonate:target": f"{text()}://{text()}"}
                    await call(
                        app,
                        body=envelope(
                            kind, {"id": text(), "timeoutAt": FAR, "tags": tags}, version=chance.choice(["2026-04-01", text()])
                        ),
                    )
                    await call(app, chance.choice(["GET", "POST", "FOO"]), f"/{chance.randint(0, 10**9)}")
                    await call(app, "GET", f"/poll/g{chance.randint(0, 10**9)}/w{chance.randint(0, 10**9)}")
                found = await samples(app)
        kinds = {name.split("kind=")[1].split(" ")[0] for name in found if name.startswith("resonate_request") and "kind=" in name}
        assert kinds <= KINDS | {"unknown"} and "unknown" in kinds
        assert len(found) < 40 * (len(kinds) + 10)
        assert found["resonate_poll_streams"] == 0 and found["resonate_poll_streams_opened_total"] == 300

    asyncio.run(main())


def test_deliveries_streams_and_the_outbox(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with scene(streams=StreamSettings(acknowledge_after=0.1)) as on:
            before = await samples(on.app)
            streams = [await on.open(f"workers/w{i}") for i in range(3)]
            for i in range(6):
                on.execute(f"e{i}")
                on.unblock(f"u{i}", "poll://uni@workers/w0")
            on.unblock("nobody's", "poll://uni@nobody/x")
            await on.pass_time(1)
            await on.until(lambda: on.waiting() == ["nobody's"])  # a thread of its own removes what was delivered
            markers = len([message for message in on.store.messages() if message.id.startswith("marker.")])
            after = await samples(on.app)
            assert after["resonate_poll_streams"] == 4
            assert after["resonate_poll_streams_opened_total"] - before["resonate_poll_streams_opened_total"] == 3
            assert after["resonate_deliveries_total kind=execute outcome=sent transport=poll"] == 6
            sent = sum(len(stream.ids) for stream in on.streams)
            assert after["resonate_deliveries_total kind=unblock outcome=sent transport=poll"] == sent - 6
            assert after["resonate_outbox_messages"] == 1 + markers
            on.store.clock.advance(5000)  # executes without an acquire are due again
            await on.quiet()
            assert (await samples(on.app))["resonate_deliveries_total kind=execute outcome=sent transport=poll"] == 12
            on.store.clock.advance(86_400_000)
            for stream in streams:
                await stream.leave()
            last = await samples(on.app)
            assert last["resonate_poll_streams"] == 1
            assert last["resonate_unblocks_dropped"] >= 1

    run(main(), monkeypatch)


def test_who_was_not_let_in_is_counted_by_reason() -> None:
    from server.security_table import SECRET, token

    def bearer(**claims: Any) -> dict[str, str]:
        return {"authorization": f"Bearer {token(claims)}"}

    async def main() -> None:
        with Store(clock=ManualClock(1000)) as store:
            app = app_of(store, auth=AuthSettings(secret=SECRET), limits=LimitSettings(streams=1))
            async with app.lifespan():
                get = envelope("promise.get", {"id": "a"})
                for _ in range(2):
                    await call(app, body=get)
                await call(app, "GET", "/poll/g/i")
                for _ in range(3):
                    await call(app, body=get, headers=bearer(prefix="x"))
                await call(app, body=envelope("debug.snap"), headers=bearer(role="admin"))
                await call(app, "GET", "/metrics")
                found = await samples(app, bearer(role="admin"))
        refused = {name.split("reason=")[1]: value for name, value in found.items() if name.startswith("resonate_refused_total")}
        assert refused == {"unauthorized": 4, "forbidden": 4}
        assert found["resonate_requests_total kind=promise.get status=401"] == 2
        assert found["resonate_requests_total kind=promise.get status=403"] == 3
        assert not any(secret in " ".join(found) for secret in (SECRET, token({"prefix": "x"})))

    asyncio.run(main())


def test_two_apps_of_a_process_do_not_mix() -> None:
    async def main() -> None:
        with Store(clock=ManualClock(1000)) as one, Store(clock=ManualClock(1000)) as two:
            first, second = app_of(one), app_of(two)
            async with first.lifespan(), second.lifespan():
                await call(first, body=envelope("promise.get", {"id": "a"}))
                assert "resonate_requests_total kind=promise.get status=404" in await samples(first)
                assert "resonate_requests_total kind=promise.get status=404" not in await samples(second)

    asyncio.run(main())
