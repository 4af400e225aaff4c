"""What one sender may take of the memory and the threads of a dashboard: quotas, turns, and the rings of the audit."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from typing import Any

import httpx
import pytest

import resonate_core as rc
from resonate_core.ui.app import UiApp
from resonate_core.ui.audit import Audit
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.options import UiOptions
from resonate_core.ui.principal import Principal
from resonate_core.ui.recording import Recording
from resonate_core.ui.rooms import TENANTS, RoomPlaces, Turns, room_of
from ui.ui_client import PAGE, Client

ADMIN = Principal("operate", "ada")
READER = Principal("read", "ron")
A = Principal("operate", "ann", prefix="a.")
A_READS = Principal("read", "abe", prefix="a.")
B = Principal("read", "bob", prefix="b.")
EVERYBODY = {"admin": ADMIN, "reader": READER, "a": A, "a-reads": A_READS, "b": B, "none": Principal("none", "eve")}
NDJSON = {"content-type": "application/x-ndjson", "x-resonate-ui": "1"}


def ui_of(store: rc.Store | None = None, **options: Any) -> Client:
    """A dashboard whose sender is named by a header."""
    dashboard = Dashboard(store or rc.Store(clock=rc.ManualClock(1000)), UiOptions(**options))

    def who(scope: Any) -> Principal:
        return EVERYBODY[dict(scope["headers"]).get(b"x-who", b"admin").decode()]

    return Client(UiApp(dashboard, who))


def recording(payload: str = "") -> str:
    """A recording with one job."""
    store, trace = rc.Store(clock=rc.ManualClock(1000)), io.StringIO()
    with store.record(trace):
        store.jobs.enqueue("t", payload, id="a.1")
    return trace.getvalue()


def upload(ui: Client, who: str, text: str | None = None) -> httpx.Response:
    return ui.request("POST", "api/travel", text or recording(), {**NDJSON, "x-who": who})


def opened(ui: Client, who: str) -> list[str]:
    return [one["travel"] for one in ui.request("GET", "api/travel", headers={"x-who": who}).json()["items"]]


# --- recordings ---------------------------------------------------------------------------------------------------------------


def test_the_uploads_of_a_tenant_close_only_its_own() -> None:
    ui = ui_of()
    kept = {who: upload(ui, who).json()["travel"] for who in ("admin", "reader", "a")}
    ids = [upload(ui, "b").json()["travel"] for _ in range(20)]
    assert opened(ui, "b") == ids[-8:]
    for who, id in kept.items():
        answer = ui.request("GET", f"api/travel/state?travel={id}", headers={"x-who": who})
        assert answer.status_code == 200, (who, answer.text)


def test_the_recordings_of_a_tenant_have_room_for_their_bytes() -> None:
    ui = ui_of(recording_bytes=1_100_000)
    first, second, third = (upload(ui, "b", recording("x" * 150_000)).json()["travel"] for _ in range(3))
    assert opened(ui, "b")[-1] == third and first not in opened(ui, "b"), second
    refused = upload(ui, "b", recording("x" * 1_200_000))
    assert refused.status_code == 413 and "ui.recording_bytes" in refused.json()["error"]
    assert third in opened(ui, "b")


def test_all_tenants_together_have_room_and_an_administrator_has_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(TENANTS + 4):
        monkeypatch.setitem(EVERYBODY, f"t{n}", Principal("read", prefix=f"t{n}."))
    ui = ui_of(recording_bytes=1_100_000)
    large = recording("x" * 200_000)
    answers = [upload(ui, f"t{n}", large) for n in range(TENANTS + 4)]
    statuses = [answer.status_code for answer in answers]
    assert 503 in statuses and statuses.index(503) >= TENANTS
    refused = answers[statuses.index(503)]
    assert refused.headers["retry-after"] == "1" and "ui.recording_bytes" in refused.json()["error"]
    assert upload(ui, "admin", large).status_code == 200
    assert opened(ui, "t0")


def test_a_recording_that_nobody_uses_for_an_hour_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("resonate_core.ui.open_recordings.seconds", lambda: now[0])
    ui = ui_of()
    for who in ("admin", "b"):
        upload(ui, who)
    now[0] = 3590.0
    assert len(opened(ui, "b")) == 1
    now[0] = 3700.0
    assert not opened(ui, "b") and len(opened(ui, "admin")) == 1


def test_a_schedule_with_a_large_payload_fills_no_memory() -> None:
    """Each of its occurrences has the payload; its line in a recording has 100 bytes."""
    clock = rc.ManualClock(1000)
    store, trace = rc.Store(clock=clock), io.StringIO()
    with store.record(trace):
        store.schedules.create("s", cron="* * * * * *", promise_id="a.{{.timestamp}}", promise_timeout=1000, param="x" * 100_000)
        clock.advance(60_000)
    ui = ui_of(recording_bytes=4_000_000)
    refused = upload(ui, "b", trace.getvalue())
    assert len(trace.getvalue()) < 300_000 and refused.status_code == 413, refused.text
    fork = ui_of(store, recording_bytes=4_000_000)
    answer = fork.request("POST", "api/travel/fork", {"advanceMs": 600_000}, PAGE)
    assert answer.status_code == 413 and "ui.recording_bytes" in answer.json()["error"], answer.text


def test_reads_with_large_replies_are_not_repeated_without_end() -> None:
    store, trace = rc.Store(clock=rc.ManualClock(1000)), io.StringIO()
    with store.record(trace):
        store.promises.create("a", timeout=1000, param="x" * 1_000_000)
    head = {"corrId": "1", "version": "2026-04-01"}
    req = {"kind": "promise.get", "head": head, "data": {"id": "a"}}
    read = json.dumps({"kind": "promise.get", "now": 1000, "req": req, "res": {"head": {"status": 404}, "data": "x"}})
    refused = upload(ui_of(), "b", trace.getvalue() + f"{read}\n" * 1000)
    assert refused.status_code == 413 and "replies" in refused.json()["error"], refused.text


def test_few_states_are_kept_where_each_takes_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    store, trace = rc.Store(clock=rc.ManualClock(1000)), io.StringIO()
    with store.record(trace):
        for n in range(600):
            store.jobs.enqueue("t", {}, id=f"a.{n}")
        store.jobs.cancel_all(type="t")
        for n in range(0, 600, 7):
            store.promises.create(f"b.{n}", timeout=10)
    lines = trace.getvalue().split("\n")
    usual = Recording(lines)
    monkeypatch.setattr("resonate_core.ui.recording._STATES", 200_000)
    thinned = Recording(lines)
    assert 2 <= len(thinned._kept) < len(usual._kept) and 0 in thinned._kept
    assert thinned.bytes < usual.bytes
    for n in (0, 1, 49, 50, 51, 399, 600, 601, len(usual.events) - 1):
        assert thinned.state(n).snapshot() == usual.state(n).snapshot()


def test_a_recording_that_takes_long_to_play_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking = iter(range(0, 100_000, 40))
    monkeypatch.setattr("resonate_core.ui.recording.processor_seconds", lambda: float(next(ticking)))
    store, trace = rc.Store(clock=rc.ManualClock(1000)), io.StringIO()
    with store.record(trace):
        for n in range(10):
            store.promises.create(f"b.{n}", timeout=10)
    refused = upload(ui_of(), "b", trace.getvalue())
    assert refused.status_code == 413 and "must be played in 120 s of a processor" in refused.json()["error"]


# --- streams and requests -----------------------------------------------------------------------------------------------------


class Stream:
    """A stream of events that stays open."""

    def __init__(self, app: UiApp, who: str) -> None:
        self.status: int | None = None
        self._gone = asyncio.Event()
        self._asked = False
        scope = {"type": "http", "method": "GET", "path": "/api/events", "query_string": b"", "headers": [(b"x-who", who.encode())]}
        self.started = asyncio.Event()
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.started.set()

    async def close(self) -> None:
        self._gone.set()
        await self.task


def test_the_streams_of_a_tenant_leave_room_for_others() -> None:
    async def main() -> None:
        app = ui_of(streams=4).app
        streams = [Stream(app, "b") for _ in range(10)]
        streams += [Stream(app, who) for who in ("admin", "reader", "a")]
        await asyncio.gather(*(stream.started.wait() for stream in streams))
        assert [stream.status for stream in streams] == [200] * 4 + [503] * 6 + [200] * 3
        await streams[0].close()
        again = Stream(app, "b")
        await again.started.wait()
        assert again.status == 200
        await asyncio.gather(*(stream.close() for stream in [*streams[1:], again]))
        await app.aclose()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_the_requests_of_a_tenant_leave_threads_and_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    store = rc.Store(clock=rc.ManualClock(1000))
    blocked, running = threading.Event(), threading.Semaphore(0)

    def stuck(access: Any, given: Any, dashboard: Any) -> dict[str, Any]:
        if access.principal.prefix == "b.":
            running.release()
            blocked.wait(60)
        return {}

    monkeypatch.setitem(__import__("resonate_core.ui.app", fromlist=["VIEWS"]).VIEWS, "jobs", stuck)

    async def main() -> None:
        ui = ui_of(store)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(ui.app), base_url="http://localhost", timeout=60) as client:

            async def ask(who: str) -> httpx.Response:
                return await client.get("/api/jobs", headers={"x-who": who})

            waiting = [asyncio.ensure_future(ask("b")) for _ in range(80)]
            await asyncio.to_thread(running.acquire)
            for who in ("admin", "reader", "a"):
                assert (await ask(who)).status_code == 200
            blocked.set()
            statuses = [answer.status_code for answer in await asyncio.gather(*waiting)]
            assert sorted(statuses) == [200] * 64 + [429] * 16
            refused = next(answer for answer in await asyncio.gather(*waiting) if answer.status_code == 429)
            assert refused.headers["retry-after"] == "1" and "ui.requests" in refused.json()["error"]
        await ui.app.aclose()

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_body_on_its_way_takes_a_place() -> None:
    async def main() -> None:
        app = ui_of().app
        going = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await going.wait()
            return {"type": "http.disconnect"}

        def post(who: str) -> asyncio.Task[int]:
            sent: list[int] = []

            async def send(message: dict[str, Any]) -> None:
                sent.append(message.get("status", 0))

            headers = [(name.encode(), value.encode()) for name, value in {**NDJSON, "x-who": who}.items()]
            scope = {"type": "http", "method": "POST", "path": "/api/travel", "query_string": b"", "headers": headers}

            async def run() -> int:
                await app(scope, receive, send)
                return sent[0]

            return asyncio.ensure_future(run())

        slow = [post("b") for _ in range(5)]
        done, _ = await asyncio.wait(slow, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        assert {task.result() for task in done} == {429}
        own = post("admin")
        await asyncio.sleep(0)
        going.set()
        assert await own == 400
        assert sorted(await asyncio.gather(*slow)) == [400, 400, 429, 429, 429]
        await app.aclose()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_places_are_counted_by_room_and_together() -> None:
    places = RoomPlaces(2, "ui.x", "things", 429)
    rooms = [(f"{n}.", "") for n in range(TENANTS + 1)]
    for room in rooms[:TENANTS]:
        places.take(room)
        places.take(room)
    for room, status in ((rooms[0], 429), (rooms[-1], 503)):
        with pytest.raises(Exception, match=r"ui\.x") as caught:
            places.take(room)
        assert caught.value.status == status  # type: ignore[attr-defined]
    places.take(("", "operate"))
    places.leave(rooms[0])
    places.take(rooms[-1])


def test_rooms_have_turns() -> None:
    turns, order, hold = Turns("test", 2), [], threading.Event()
    first = turns.submit(room_of(A), hold.wait)
    for n in range(5):
        turns.submit(room_of(A), lambda n=n: order.append(f"a{n}"))
    turns.submit(room_of(B), lambda: order.append("b")).result(30)
    turns.submit(room_of(ADMIN), lambda: order.append("admin")).result(30)
    assert order == ["b", "admin"]
    with pytest.raises(ZeroDivisionError):
        turns.submit(room_of(B), lambda: 1 // 0).result(30)
    hold.set()
    first.result(30)
    turns.shutdown()
    assert order == ["b", "admin", "a0", "a1", "a2", "a3", "a4"]


# --- the audit ----------------------------------------------------------------------------------------------------------------


def test_refusals_replace_no_deeds() -> None:
    ui = ui_of(audit_kept=5)
    ui.request("POST", "api/do", {"kind": "job.enqueue", "data": {"type": "t", "queue": "q", "id": "kept"}}, PAGE)
    for who in ("admin", "a", "b", "none"):
        for _ in range(20):
            ui.request("POST", "api/do", {"kind": "x", "data": {}}, {**PAGE, "x-who": who})
    for _ in range(20):
        ui.request("POST", "api/do", {"kind": "queue.pause", "data": {"queue": "q"}, "preview": True}, PAGE)
    items = ui.see("audit")["items"]
    assert [line["target"]["id"] for line in items if line["status"] == 200 and not line["preview"]] == ["kept"]
    assert [line["number"] for line in items] == sorted((line["number"] for line in items), reverse=True)


def test_the_deeds_of_a_tenant_replace_no_others() -> None:
    audit = Audit(3)
    audit.add(0, ADMIN, "job.run", {"id": "first"}, 200, False, None)
    for n in range(10):
        audit.add(0, A, "job.run", {"id": f"a.{n}"}, 200, False, None)
    assert [line["target"]["id"] for line in audit.newest(ADMIN)] == ["a.9", "a.8", "a.7", "first"]
    for n in range(100):
        audit.add(0, Principal("operate", prefix=f"t{n}."), "job.run", {"id": f"t{n}"}, 200, False, None)
    assert len(audit.newest(ADMIN)) == 3 * TENANTS + 1 and audit.newest(ADMIN)[-1]["target"]["id"] == "first"


@pytest.mark.parametrize(
    "data",
    [
        {"tags": {"x": "A" * 2_000_000}},
        {"tags": {"A" * 2_000_000: "x"}},
        {"tags": {str(n): "x" for n in range(100_000)}},
        {"id": "A" * 2_000_000},
        {"id": ["A" * 1000] * 2000},
        {"ids": ["A" * 1000] * 2000},
        {"id": {"a": {"b": {"c": {"d": ["x" * 1000] * 1000}}}}},
        {"id": 10**4000},
        dict.fromkeys(("id", "queue", "type", "group", "state", "cron", "kind", "rate"), "A" * 100_000),
    ],
    ids=["tag", "name of a tag", "tags", "id", "list as id", "ids", "deep", "number", "all"],
)
def test_a_line_has_a_bounded_size(data: dict[str, Any]) -> None:
    audit = Audit(10)
    who = Principal("none", "n" * 100_000, address="a" * 100_000)
    audit.add(0, who, "k" * 100_000, data, 403, False, "d" * 100_000)
    (line,) = audit.newest(ADMIN)
    assert len(json.dumps(line)) < 8000


# --- what others may make large -----------------------------------------------------------------------------------------------


def test_a_preview_creates_no_unbounded_number_of_large_occurrences() -> None:
    store = rc.Store(clock=rc.ManualClock(1000))
    store.schedules.create("s", cron="* * * * * *", promise_id="a.{{.timestamp}}", promise_timeout=1000, param="x" * 1_500_000)
    store.schedules.pause("s")
    ui = ui_of(store)
    shown = ui.request(
        "POST", "api/do", {"kind": "schedule.resume", "data": {"id": "s"}, "preview": True, "horizonMs": 3_600_000}, PAGE
    ).json()
    assert shown["status"] == 200 and "only the first steps" in shown["scope"]["text"], {**shown, "later": len(shown["later"])}
    assert 10 <= len(shown["later"]) <= 60


def test_the_minutes_keep_a_bounded_number_of_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resonate_core.ui.minute_counts._MOST_QUEUES", 5)
    clock = rc.ManualClock(60_000)
    store = rc.Store(clock=clock)
    minutes = Dashboard(store, UiOptions()).minutes
    minutes.look()
    for n in range(20):
        store.jobs.enqueue("t", {}, queue=f"q{n}")
    for _ in range(3):
        store.jobs.enqueue("t", {}, queue="busy")
    for _ in range(3):
        clock.advance(60_000)
        minutes.look()
    assert {len(counted) for _, counted in minutes._kept} == {5}
    assert all("busy" in counted for _, counted in minutes._kept)
