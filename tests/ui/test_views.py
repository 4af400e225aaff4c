"""Every view, on every storage: its shape, its pages, and that it contains no markup."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.server.auth import Identity
from resonate_core.server.authorizer import permit
from resonate_core.ui.app import UiApp
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.minute_counts import MinuteCounts
from resonate_core.ui.options import UiOptions
from resonate_core.ui.principal import Principal
from ui.ui_client import MARKUP, VIEWS, Client, client_of


@pytest.mark.parametrize("view, query", VIEWS, ids=lambda given: json.dumps(given) if isinstance(given, dict) else given)
def test_every_view_is_answered_and_nothing_in_it_is_markup(filled: Any, view: str, query: dict[str, Any]) -> None:
    before = filled.digest()
    for role in ("read", "operate"):
        answer = client_of(filled, role).get(view, **query)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json" and answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store" and "default-src 'none'" in answer.headers["content-security-policy"]
        assert "<" not in answer.text
        made = answer.json()
        if "items" in made:
            assert set(made) == {"items", "next", "scan"} | ({"archived"} if view == "stuck" else set())
            assert made["items"] or view in ("audit", "travel")
    assert filled.digest() == before, "a view changed the store"


def test_overview(ui: Client) -> None:
    made = ui.see("overview")
    assert made["counts"]["pending"] == 3 and made["counts"]["archived"] == 1 and made["queueCount"] == 3
    assert made["queues"][0]["name"] == "mail" and made["queues"][0]["pending"] == 2
    assert made["messages"]["waiting"] == 1 and made["nextDue"] is not None and made["health"]["ready"] is True
    assert made["due"][0]["at"] == made["nextDue"]


def test_series_count_hours_and_days(ui: Client) -> None:
    series = ui.see("overview", hours=2)["series"]
    hour, day = series["hour"]["points"], series["day"]["points"]
    assert len(hour["at"]) == 2 and {len(column) for column in hour.values()} == {2}
    assert (hour["enqueued"][-1], hour["started"][-1], hour["completed"][-1], hour["archived"][-1], hour["depth"][-1]) == (
        8,
        3,
        1,
        1,
        3,
    )
    assert day["completed"] == [1] and day["failed"] == [1]
    assert ui.see("queue", name="group")["series"]["points"]["enqueued"][-1] == 1


def test_the_last_hour_is_counted_by_minutes(filled: Any, ui: Client) -> None:
    minute = 60_000
    assert ui.see("overview")["series"]["minute"] is None
    begin = filled.clock.now // minute * minute
    filled.jobs.enqueue("send", queue="mail", id="m1")
    filled.clock.advance(minute)
    ui.see("jobs")  # any view looks
    (job,) = filled.jobs.claim("mail", worker="w", lease=minute, start=1)
    filled.clock.advance(500)
    filled.jobs.complete(job.id, job.version)
    filled.clock.advance(2 * minute)
    series = ui.see("overview")["series"]["minute"]
    points = series["points"]
    assert series["bucketMs"] == minute and points["at"] == [begin, begin + minute, begin + 2 * minute]
    assert points["enqueued"] == [1, 0, 0] and points["completed"] == [0, 0.5, 0.5] and points["runMs"] == [None, 500, 500]
    assert points["depth"][0] == points["depth"][1] + 1
    filled.clock.advance(100 * minute)
    points = ui.see("overview")["series"]["minute"]["points"]
    assert len(points["at"]) == 60 and set(points["completed"]) == {0} and points["at"][-1] == begin + 102 * minute


def test_minutes_pass_the_ends_of_hours_and_stay_with_their_queue() -> None:
    hour = 3_600_000
    store = rc.Store(clock=rc.ManualClock(hour - 90_000))
    minutes = MinuteCounts(store)
    minutes.look()
    for name in ("acme.a", "b"):
        for _ in range(4):
            store.jobs.enqueue("t", queue=name)
            store.clock.advance(30_000)
            minutes.look()
    store.clock.advance(60_000)
    minutes.look()
    seen = minutes.series_of(Principal("read"))
    assert seen is not None and sum(seen["points"]["enqueued"]) == 8 and seen["points"]["depth"][-1] == 8
    assert hour in seen["points"]["at"]
    only = minutes.series_of(Principal("read", prefix="acme."))
    assert only is not None and sum(only["points"]["enqueued"]) == 4 and only["points"]["depth"][-1] == 4
    store.close()
    minutes.look()  # says nothing of a store that is closed


def test_jobs_are_newest_first_and_filters_work(filled: Any, ui: Client) -> None:
    filled.clock.advance(1000)
    filled.jobs.enqueue("send", {"to": "zoe", "n": 7}, queue="mail", id="newest", tags={"colour": "red"})
    assert ui.see("jobs")["items"][0]["id"] == "newest"

    def ids(**query: Any) -> set[str]:
        return {job["id"] for job in ui.see("jobs", **query)["items"]}

    assert ids(state="archived") == {"archived"} and ids(state=["archived", "completed"]) == {"archived", "done"}
    assert ids(type="thumb") == {"gathers"} and ids(queue="group") == {"gathers"} and ids(group="album") == {"gathers"}
    assert ids(id="new*") == {"newest"} and ids(tag="colour=red") == {"newest"} and ids(error="boom") == {"archived"}
    assert (
        ids(arg="to=zoe") == {"newest"}
        and ids(arg="n=7") == {"newest"}
        and ids(arg="n=8") == set()
        and ids(arg="zoe") == {"newest"}
    )
    assert ids(since=1_001_000) == {"newest"} and "newest" not in ids(until=1_000_999)
    assert ids(arg=["to=ada", "nested.0.api_token=ordinary"], state="archived") == {"archived"}
    assert ui.see("jobs/count", queue="mail", state="archived") == {"count": 1, "exact": True}
    assert ui.see("jobs/count", type="send")["count"] is None


@pytest.mark.parametrize(
    "view, query, kept",
    [
        ("jobs", {}, "id"),
        ("jobs", {"arg": "to=ada"}, "id"),
        ("queues", {}, "name"),
        ("tasks", {}, "id"),
        ("messages", {}, "number"),
        ("workers", {}, "worker"),
    ],
)
def test_pages_hold_all_once(filled: Any, view: str, query: dict[str, Any], kept: str) -> None:
    ui = client_of(filled)
    for n in range(3):
        filled.promises.create(f"more{n}", timeout=10**9, tags={"resonate:target": f"poll://any@more{n}"})
        filled.tasks.create(f"held{n}", pid=f"worker{n}", ttl=60_000, timeout=10**9, target="poll://any@held")
    whole = [item[kept] for item in ui.see(view, limit=200, **query)["items"]]
    found, cursor = [], None
    for _ in range(100):
        page = ui.see(view, limit=2, **query, **({} if cursor is None else {"cursor": cursor}))
        assert len(page["items"]) <= 2
        found += [item[kept] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == whole and len(set(found)) == len(found) > 2


def test_one_job(ui: Client) -> None:
    made = ui.see("job", id="archived")
    assert made["job"]["attempts"][0]["error"]["code"] == "Boom" and made["job"]["error"]["data"].startswith("Traceback")
    assert made["job"]["payload"]["json"]["to"] == "ada" and made["why"]["stuck"] is True
    assert ui.see("job", id="flow.mail")["awaitedBy"] == [
        {"id": "flow", "kind": "task", "state": "suspended", "address": None, "func": "order"}
    ]
    assert ui.see("job", id="gathers")["group"]["group"] == "album"
    assert ui.get("job", id="absent").status_code == 404 and ui.get("job").json()["error"] == "id must be given"


def test_a_workflow(ui: Client) -> None:
    (root,) = [item for item in ui.see("workflows")["items"] if item["promise"]["id"] == "flow"]
    assert root["func"] == "order" and root["task"]["state"] == "suspended"
    made = ui.see("workflow", id="flow")
    assert [call["id"] for call in made["tree"]["children"]] == ["flow.1", "flow.mail"] and made["count"] == 3
    assert made["tree"]["children"][1]["job"]["state"] == "pending" and made["why"]["chain"][0]["id"] == "flow.1"
    promise = ui.see("promise", id="flow")
    assert set(promise["awaits"]) == {"flow.1", "flow.mail"} and promise["promise"]["param"]["json"]["func"] == "order"
    assert ui.see("workflow", id="flow.1")["tree"]["id"] == "flow.1"


def test_schedules_show_next_and_last_runs(filled: Any, ui: Client) -> None:
    filled.clock.advance(2 * 86_400_000)
    shown = {item["schedule"]["id"]: item for item in ui.see("schedules")["items"]}
    nightly, jobs = shown["nightly"], shown["jobs-nightly"]
    assert len(nightly["next"]) == 5 and nightly["next"][1] - nightly["next"][0] == 86_400_000
    assert [run["outcome"] for run in nightly["last"]] == ["failed", "failed"] and nightly["func"] == "order"
    assert [run["outcome"] for run in jobs["last"]] == ["pending", "pending"] and jobs["type"] == "send"
    assert jobs["last"][0]["at"] > jobs["last"][1]["at"]


def test_workers_and_messages(ui: Client) -> None:
    (ann,) = ui.see("workers")["items"]
    assert (ann["worker"], ann["jobs"], ann["tasks"], ann["late"]) == ("ann", 1, 0, False)
    assert ann["holds"][0]["id"] == "running" and ann["heartbeatAgeMs"] == 0 and ann["holds"][0]["type"] == "send"
    (message,) = ui.see("messages")["items"]
    assert message["id"] == "nobody" and message["address"] == "poll://any@nobody" and "poll://any@nobody" in message["why"]
    assert ui.see("messages", address="http*")["items"] == []


def test_groups(ui: Client) -> None:
    (group,) = ui.see("groups")["items"]
    assert group["members"] == 1 and group["size"] == 3 and group["leader"] == "gathers" and group["readyAt"] == 1_060_000


def test_find(ui: Client) -> None:
    assert {(item["kind"], item["id"]) for item in ui.see("find", q="flow")["items"]} >= {("promise", "flow"), ("job", "flow.mail")}
    assert ("queue", "mail") in {(item["kind"], item["id"]) for item in ui.see("find", q="mai")["items"]}
    assert ("schedule", "nightly") in {(item["kind"], item["id"]) for item in ui.see("find", q="nig")["items"]}
    assert ui.see("find", q=MARKUP)["items"][0]["id"] == MARKUP


@pytest.mark.parametrize(
    "view, query, why",
    [
        ("jobs", {"limit": 0}, "limit must be a whole number from 1 to 200, got '0'"),
        ("jobs", {"limit": 201}, "limit must be"),
        ("jobs", {"state": "lost"}, "state must be one of scheduled, waiting, pending"),
        ("jobs", {"tag": "x"}, "tag must be KEY=VALUE, got 'x'"),
        ("jobs", {"since": "yesterday"}, "since must be a whole number"),
        ("jobs", {"cursor": "nonsense"}, "cursor"),
        ("queues", {"cursor": "-1"}, "cursor must be"),
        ("workflows", {"state": "running"}, "state must be one of pending, resolved"),
        ("job", {"id": "a\0b"}, "id must have at most 2048 characters and no NUL"),
        ("overview", {"hours": 1000}, "hours must be"),
    ],
)
def test_bad_parameters_are_named(ui: Client, view: str, query: dict[str, Any], why: str) -> None:
    answer = ui.get(view, **query)
    assert answer.status_code == 400 and why in answer.json()["error"], answer.text


def test_what_is_not_there(ui: Client) -> None:
    assert ui.get("nothing").status_code == 404 and ui.request("GET", "elsewhere").status_code == 404
    assert ui.request("PUT", "api/jobs").status_code == 405 and ui.post("jobs", {}).status_code == 405
    for path in ("modules/../app.py", "modules/%2e%2e/app.py", "app.py", "modules//x.js", "modules/.hidden.js"):
        assert ui.request("GET", path).status_code == 404, path


def test_a_prefix_restricts_every_view(filled: Any) -> None:
    who = Principal("operate", "ann", "flow", None, partial(permit, Identity(False, "flow")))
    ann = Client(UiApp(Dashboard(filled, UiOptions()), lambda scope: who))
    for view, query in VIEWS:
        answer = ann.get(view, **query)
        assert answer.status_code in (200, 403, 404), (view, answer.text)
        for foreign in ("archived", "done", "waiting", "gathers", "nobody", "nightly", "settled"):
            if query.get("id") != foreign:
                assert f'"id":"{foreign}"' not in answer.text, (view, query, foreign)
    assert {job["id"] for job in ann.see("jobs")["items"]} == {"flow.mail"}
    assert ann.see("promise", id="flow")["awaits"] and ann.do("job.cancel", {"id": "archived"}).status_code == 403
    preview = ann.do("job.cancel", {"id": "archived"}, preview=True).json()
    assert preview["status"] == 403 and preview["changes"] == []
