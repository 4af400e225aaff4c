"""Views filtered the rows of others out behind the engine's query: counts, cursors and what was missing told a tenant of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

import resonate_core as rc
from resonate_core.explain import large_stores
from resonate_core.server.auth import Identity
from resonate_core.server.dashboard import _principal
from resonate_core.ui import events
from resonate_core.ui.app import UiApp
from resonate_core.ui.cursors import Cursors
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.options import UiOptions
from resonate_core.ui.parameters import BadParameter
from ui.ui_client import PAGE, Client

MakeStore = Callable[..., rc.Store]
NAMES = ["one", "two", "three", "four"]


def who(prefix: str, role: str = "read", name: str | None = None) -> Any:
    return _principal(Identity(admin=False, prefix=prefix, dashboard=role, name=name), "127.0.0.1")


def client(store: rc.Store, prefix: str, dashboard: Dashboard | None = None, **given: Any) -> Client:
    one = who(prefix, **given)
    return Client(UiApp(dashboard or Dashboard(store, UiOptions(secret="of the processes of this test")), lambda scope: one))


def fill(store: rc.Store, prefix: str) -> None:
    """Records of every kind, with ids and a queue of one prefix; some of the jobs are in a queue of everybody."""
    jobs = store.jobs
    for name in NAMES:
        jobs.enqueue("send", {"to": name}, id=f"{prefix}secret-job-{name}")
        jobs.enqueue("send", {"to": name}, id=f"{prefix}own-{name}", queue=f"{prefix}queue", process_in=60_000)
        store.promises.create(f"{prefix}secret-workflow-{name}", timeout=10**9, tags={"resonate:target": f"poll://any@{name}"})
        store.schedules.create(f"{prefix}s-{name}", "@hourly", promise_id=f"{prefix}{{{{.timestamp}}}}", promise_timeout=1000)
    jobs.enqueue("send", id=f"{prefix}held", queue=f"{prefix}queue", priority=1)
    jobs.claim(f"{prefix}queue", worker=f"worker-{prefix}", lease=30_000, start=1)
    jobs.archive(f"{prefix}secret-job-one")
    claim = store.tasks.create(f"{prefix}flow", pid=f"p-{prefix}", ttl=60_000, timeout=10**9, target="poll://any@shop")
    store.promises.create(f"{prefix}elsewhere", timeout=10**9, tags={"resonate:external": "true"})
    store.tasks.suspend(f"{prefix}flow", claim.task.version, [f"{prefix}elsewhere"])
    store.tasks.create(f"{prefix}busy", pid=f"p-{prefix}", ttl=60_000, timeout=10**9, target="poll://any@shop")


def crowd(store: rc.Store) -> None:
    """What another tenant has: more of everything, earlier and later, before and after `b.` in every order."""
    for prefix in ("a.", "b", "b/", "c."):
        fill(store, prefix)
    for number in range(300):
        store.jobs.enqueue("send", {"to": "one"}, id=f"a.many-{number:03}", process_in=1 + number)
        store.promises.create(f"a.root-{number:03}", timeout=50 + number, tags={"resonate:target": "poll://any@one"})
    store.queues.set("a.paused")
    store.queues.pause("a.paused")


#: Views with parameters; those that name ids of others name one that exists and one that does not.
QUERIES: list[tuple[str, dict[str, Any]]] = [
    *((view, {}) for view in (
        "session", "overview", "due", "queues", "groups", "jobs", "jobs/count", "workflows", "tasks", "schedules", "workers",
        "messages", "audit", "stuck", "travel",
    )),
    *((view, {"limit": 1}) for view in ("due", "queues", "jobs", "workflows", "tasks", "schedules", "workers", "messages", "stuck")),
    *((view, {"id": id}) for view in ("jobs", "workflows", "tasks", "schedules") for id in ("*", "b.*", "a.*", "*secret*", "a*", "c*")),
    *(("jobs", {"state": state}) for state in ("pending", "scheduled", "archived", "running", "completed")),
    ("jobs", {"type": "send", "arg": "to=one"}),
    ("jobs", {"arg": "nosuchtext!"}),
    ("jobs", {"queue": "default"}),
    ("jobs", {"queue": "a.queue"}),
    ("jobs", {"queue": "b.queue"}),
    ("jobs/count", {"state": "pending"}),
    ("queues", {"name": "*"}),
    ("queue", {"name": "b.queue"}),
    ("messages", {"address": "poll://any@one"}),
    ("messages", {"address": "poll://*", "limit": 2}),
    ("workflows", {"state": "pending", "limit": 2}),
    ("workflow", {"id": "b.flow"}),
    ("promise", {"id": "b.secret-workflow-one"}),
    ("job", {"id": "b.secret-job-two"}),
    ("why", {"id": "b.secret-job-two"}),
    ("why", {"id": "b.flow"}),
    ("why", {"id": "b.queue"}),
    ("why", {"id": "b.s-one"}),
    ("why", {"id": "b.held"}),
    ("workflow", {"id": "b.secret-workflow-one"}),
    ("find", {"q": "b.s"}),
    ("find", {"q": "s"}),
]  # fmt: skip


def replies(ui: Client, view: str, query: dict[str, Any]) -> list[tuple[int, str]]:
    """Returns the answers with all pages of a view."""
    found: list[tuple[int, str]] = []
    more: dict[str, Any] = {}
    while len(found) < 40:
        answer = ui.get(view, **query, **more)
        found.append((answer.status_code, answer.text))
        following = answer.json().get("next") if answer.status_code == 200 else None
        if not isinstance(following, str):  # "why" has what happens next
            return found
        more = {"cursor": following}
    raise AssertionError(f"{view} {query} does not end")


@pytest.mark.parametrize("small", [20_000, 50])
def test_no_answer_depends_on_the_rows_of_others(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(large_stores, "SMALL", small)  # of these, only the store with others is large
    alone, crowded = make_store(clock=rc.ManualClock(1000)), make_store(clock=rc.ManualClock(1000))
    fill(alone, "b.")
    crowd(crowded)
    fill(crowded, "b.")
    for store in (alone, crowded):
        store.clock.advance(70_000)  # type: ignore[attr-defined]
    first, second = client(alone, "b."), client(crowded, "b.")
    for view, query in QUERIES:
        seen, other = replies(first, view, query), replies(second, view, query)
        assert {status for status, _ in seen} == {200}, (view, query, seen)
        texts = [text.replace(str(alone.path), "F").replace(str(alone.url), "F") for _, text in seen]
        others = [text.replace(str(crowded.path), "F").replace(str(crowded.url), "F") for _, text in other]
        assert texts == others, (view, query)
        assert "secret" not in "".join(texts).replace("b.secret", ""), (view, query)


def test_a_tenant_without_anything_does_not_learn_that_there_are_others(make_store: MakeStore) -> None:
    alone, crowded = make_store(clock=rc.ManualClock(1000)), make_store(clock=rc.ManualClock(1000))
    crowd(crowded)
    for store in (alone, crowded):
        store.clock.advance(70_000)  # type: ignore[attr-defined]
    first, second = client(alone, "b."), client(crowded, "b.")
    for view, query in QUERIES:
        assert replies(first, view, query) == replies(second, view, query), (view, query)


@pytest.mark.parametrize(
    ("view", "name"), [("jobs", "id"), ("workflows", "id"), ("tasks", "id"), ("schedules", "id"), ("job", "id"), ("promise", "id"),
                       ("workflow", "id"), ("why", "id"), ("queue", "name"), ("queues", "name"), ("find", "q"), ("groups", "queue"),
                       ("jobs", "queue"), ("jobs/count", "queue")],
)  # fmt: skip
def test_an_id_of_others_is_as_one_that_does_not_exist(make_store: MakeStore, view: str, name: str) -> None:
    store = make_store(clock=rc.ManualClock(1000))
    crowd(store)
    ui = client(store, "b.")
    exists = {"queue": "a.queue", "queues": "a.queue"}.get(view, "a.queue" if name == "queue" else "a.secret-job-two")
    for known, unknown in ((exists, "a.none"), ("a.s-one", "a.s-none"), ("a.secret-workflow-one", "a.x"), ("a.*", "x.*")):
        seen = [
            (answer.status_code, answer.text.replace(id, "ID"))
            for id in (known, unknown)
            for answer in [ui.get(view, **{name: id})]
        ]
        assert seen[0] == seen[1], (view, known)
        scan = json.loads(seen[0][1]).get("scan")
        assert not scan or scan["examined"] == 0


def test_actions_on_ids_of_others_say_the_same(store: rc.Store) -> None:
    crowd(store)
    ui, digest = client(store, "b.", role="operate"), store.digest()
    for kind in (
        "job.cancel",
        "job.run",
        "job.rerun",
        "job.delete",
        "schedule.run",
        "schedule.pause",
        "promise.settle",
        "task.halt",
    ):
        for preview in (False, True):
            seen = []
            for id in ("a.secret-job-two", "a.s-one", "a.flow", "a.none"):
                answer = ui.do(kind, {"id": id, **({"state": "resolved"} if kind == "promise.settle" else {})}, preview=preview)
                made = answer.json()
                made.pop("audit", None)
                seen.append((answer.status_code, json.dumps(made).replace(id, "ID")))
            assert len(set(seen)) == 1, (kind, preview, seen)
    assert store.digest() == digest


#: Actions on ids of `b.`, each of which finds something to change.
ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("job.enqueue", {"id": "b.n1", "type": "t"}),
    ("job.enqueue", {"id": "b.n2", "type": "t", "queue": "b.queue"}),
    ("job.enqueue", {"id": "b.n4", "type": "t", "uniqueKey": "b.key"}),
    ("job.enqueue", {"id": "b.n5", "type": "t", "uniqueKey": "a.key"}),
    ("job.enqueue", {"type": "t"}),
    ("job.cancel", {"id": "b.secret-job-two"}),
    ("job.cancel", {"type": "send", "queue": "default"}),
    ("job.archive", {"state": "pending"}),
    ("job.run", {"state": "archived"}),
    ("job.rerun", {"id": "b.secret-job-three", "newId": "b.rr"}),
    ("queue.set", {"queue": "b.queue", "concurrency": 1}),
    ("queue.set", {"queue": "b.new", "concurrency": 3}),
    ("queue.pause", {"queue": "b.queue"}),
    ("queue.pause", {"queue": "default"}),
    ("promise.settle", {"id": "b.elsewhere", "state": "resolved"}),
    ("promise.create", {"id": "b.p", "timeoutAt": 10**9, "tags": {"resonate:parent": "a.flow", "resonate:origin": "a.flow"}}),
    ("task.halt", {"id": "b.secret-workflow-one"}),
    ("schedule.run", {"id": "b.s-one"}),
    ("schedule.delete", {"id": "b.s-two"}),
    ("bulk", {"kind": "job.cancel", "ids": ["b.n1", "a.secret-job-two", "x"]}),
    ("job.delete", {"queue": "b.queue"}),
]


def test_no_action_is_answered_by_the_rows_of_others() -> None:
    stores = [rc.Store(clock=rc.ManualClock(1000)) for _ in range(2)]
    crowd(stores[1])
    for store in stores:
        fill(store, "b.")
        store.clock.advance(5)
    first, second = (client(store, "b.", role="operate") for store in stores)
    for kind, data in ACTIONS:
        for preview in (True, False):
            answers = [ui.do(kind, data, preview=preview, horizonMs=100_000) for ui in (first, second)]
            assert answers[0].text == answers[1].text, (kind, data, preview)
    for view, query in QUERIES:
        assert replies(first, view, query) == replies(second, view, query), (view, query)


@pytest.mark.parametrize("tag", ["rerun_of", "resonate:origin", "resonate:parent", "resonate:branch", "resonate:schedule"])
def test_redaction_by_type_does_not_tell_of_an_id_of_others(tag: str) -> None:
    """A record of a tenant that claims to descend from one of others is shown the same, whatever that is."""
    store = rc.Store(clock=rc.ManualClock(1000))
    crowd(store)
    store.jobs.enqueue("card", {"pan": "4111"}, id="a.card")
    dashboard = Dashboard(store, UiOptions(redact_types=["card"]))
    ui = client(store, "b.", dashboard, role="operate")
    seen = []
    for place, above in enumerate(("a.card", "a.secret-job-two", "a.none", "zzz.none")):
        id = f"b.{place}"
        assert ui.do("job.enqueue", {"id": id, "type": "t", "payloadJson": {"n": 1}, "tags": {tag: above}}).status_code == 200
        answers = [ui.get(view, id=id).text for view in ("job", "promise", "workflow", "jobs", "why")]
        seen.append([text.replace(id, "ID").replace(above, "ABOVE") for text in answers])
    assert seen[1:] == seen[:1] * 3


# --- cursors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["jobs", "workflows", "tasks", "schedules", "messages", "audit"])
def test_a_cursor_says_nothing_and_is_its_owners(make_store: MakeStore, view: str) -> None:
    store = make_store(clock=rc.ManualClock(1000))
    for prefix in ("a.", "b."):
        fill(store, prefix)
    dashboard = Dashboard(store, UiOptions())
    for prefix in ("a.", "b.", ""):
        acting = client(store, prefix, dashboard, role="operate")
        for number in range(3):
            acting.do("job.cancel", {"id": f"{prefix}none-{number}"})
    ui = {prefix: client(store, prefix, dashboard) for prefix in ("a.", "b.", "")}
    cursors = {prefix: one.see(view, limit=1)["next"] for prefix, one in ui.items()}
    for prefix, cursor in cursors.items():
        assert cursor is not None and not any(part in cursor for part in ("secret", "a.", "b.", "/"))
        assert ui[prefix].get(view, cursor=cursor).status_code == 200
        for other in set(ui) - {prefix}:
            refused = ui[other].get(view, cursor=cursor)
            assert refused.status_code == 400 and "read the first page again" in refused.json()["error"]
        assert client(store, prefix, dashboard, name="ann").get(view, cursor=cursor).status_code == 400
        assert client(store, prefix, dashboard, role="operate").get(view, cursor=cursor).status_code == 400
        other_view = "tasks" if view != "tasks" else "jobs"
        assert ui[prefix].get(other_view, cursor=cursor).status_code == 400
        changed = cursor[:-3] + ("AAA" if cursor[-3:] != "AAA" else "BBB")
        for forged in (
            changed,
            cursor[4:],
            cursor + "AAAA",
            "0",
            "1",
            "1000/a.secret-job-one",
            "0:1000/a.x",
            "b.one",
            "%00",
            "é",
            "=" * 9,
        ):
            assert ui[prefix].get(view, cursor=forged).status_code == 400, forged


def test_a_cursor_of_long_ids(store: rc.Store) -> None:
    for number in range(3):
        store.jobs.enqueue("t", id="b." + "x" * 2000 + str(number))
    ui = client(store, "b.")
    found, cursor = [], None
    while True:
        page = ui.see("jobs", limit=1, **({} if cursor is None else {"cursor": cursor}))
        found += [job["id"][-1] for job in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == ["2", "1", "0"]


def test_cursors_of_processes_that_share_a_secret(store: rc.Store) -> None:
    fill(store, "b.")
    dashboards = [Dashboard(store, UiOptions(secret=secret)) for secret in ("s" * 16, "s" * 16, "t" * 16, None, None)]
    cursor = client(store, "b.", dashboards[0]).see("jobs", limit=1)["next"]
    assert [client(store, "b.", dashboard).get("jobs", cursor=cursor).status_code for dashboard in dashboards] == [
        200,
        200,
        400,
        400,
        400,
    ]
    with pytest.raises(ValueError, match="secret must have at least 16 characters"):
        UiOptions(secret="short")


def test_sealed_places() -> None:
    cursors = Cursors()
    for place in ("", "0", "x" * 31, "x" * 32, "é\U0001f600", "\ud800", "a/b:c" * 1000):
        sealed = cursors.seal(place, "ann")
        assert cursors.open(sealed, "ann") == place
        for other in ("bob", ("ann",), None):
            with pytest.raises(BadParameter):
                cursors.open(sealed, other)
    assert len({len(cursors.seal("x" * size, "ann")) for size in range(31)}) == 1  # the length of an id is not told, either
    with pytest.raises(BadParameter):
        Cursors().open(cursors.seal("1", "ann"), "ann")


# --- events -------------------------------------------------------------------------------------------------------------------


def test_events_of_a_tenant_come_at_a_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their numbers, instants and times say nothing of what others write."""
    monkeypatch.setattr(events, "_PACE", 0.3)
    monkeypatch.setattr(events, "_LIFETIME", 1.0)
    store = rc.Store(clock=rc.ManualClock(1000))

    async def ticks(writes: bool) -> list[dict[str, Any]]:
        app = UiApp(Dashboard(store, UiOptions()), lambda scope: who("b."))
        got: list[dict[str, Any]] = []
        number = 0

        async def receive() -> Any:
            await asyncio.sleep(60)

        async def send(message: Any) -> None:
            nonlocal number
            for line in message.get("body", b"").decode().splitlines():
                if line.startswith("data: "):
                    got.append(json.loads(line[6:]))
            if writes:
                number += 1
                store.jobs.enqueue("t", id=f"a.{number}")

        scope = {"type": "http", "method": "GET", "path": "/api/events", "query_string": b"", "headers": []}
        await app({**scope, "root_path": ""}, receive, send)
        await app.aclose()
        return got

    quiet, busy = asyncio.run(ticks(False)), asyncio.run(ticks(True))
    expected = {"counts": None, "messages": None, "nextDue": None, "paused": None}
    for got in (quiet, busy):
        assert len(got) >= 2
        assert got[0] == {"n": 0, "changed": False, "now": 1000, **expected}
        assert got[1:] == [{"n": n, "changed": True, "now": None, **expected} for n in range(1, len(got))]


def test_the_recordings_of_others(store: rc.Store) -> None:
    import io

    trace = io.StringIO()
    source = rc.Store(clock=rc.ManualClock(0))
    with source.record(trace):
        fill(source, "a.")
    dashboard = Dashboard(store, UiOptions())
    opened = client(store, "a.", dashboard).request(
        "POST", "api/travel", trace.getvalue(), {**PAGE, "content-type": "application/x-ndjson"}
    )
    id = opened.json()["travel"]
    b = client(store, "b.", dashboard)
    assert b.see("travel")["items"] == []
    for view in ("travel/state", "travel/steps", "jobs", "workflow", "audit"):
        known, unknown = (b.request("GET", f"api/{view}?{urlencode({'travel': one, 'id': 'a.flow'})}") for one in (id, "none"))
        assert (known.status_code, known.text.replace(id, "ID")) == (unknown.status_code, unknown.text.replace("none", "ID")), view
    a = client(store, "a.", dashboard)
    assert a.get("travel/state", travel=id).status_code == 200
    first = a.see("travel/steps", travel=id, limit=2)
    following = a.see("travel/steps", travel=id, limit=2, cursor=first["next"])
    assert [step["n"] for step in first["items"] + following["items"]] == [0, 1, 2, 3]
    assert a.see("travel/steps", travel=id, limit=2, start=2)["items"] == following["items"]  # the page asks for any place
    assert a.get("travel/steps", travel=id, cursor="2").status_code == 400
