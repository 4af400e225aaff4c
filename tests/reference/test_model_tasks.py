"""Compares the model's tasks with PROTOCOL; the expected numbers were computed by hand."""

from __future__ import annotations

import pytest

from reference.client import NEW, OLD, TARGET, Client, settle_action


def test_the_life_of_a_task(send):
    send("promise.create", id="t", timeoutAt=10**6, tags=TARGET)
    assert send.sent() == [("execute:t", "execute", {"task": {"id": "t", "version": 0}})]
    status, data = send("task.acquire", 10, id="t", version=0, pid="w", ttl=100)
    assert data["task"] == {"id": "t", "state": "acquired", "version": 1, "resumes": 0, "pid": "w", "ttl": 100}
    assert send("task.acquire", id="t", version=0, pid="w", ttl=100)[0] == 409
    send("task.heartbeat", 60, pid="w", tasks=[{"id": "t", "version": 1}])
    assert send.task("t")["expiresAt"] == 160
    [lease, dispatch] = send.model.tick(200)
    assert (lease["kind"], lease["at"], dispatch["kind"], dispatch["at"]) == ("lease_expiry", 160, "dispatch", 200)
    assert send.sent() == [("execute:t", "execute", {"task": {"id": "t", "version": 1}})]
    assert send.task("t") == {"state": "pending", "acquisitions": 1, "resumes": [], "lastTtl": 100, "retryAt": 5200}


def test_two_dialects_are_two_views_of_one_version(send):
    send("promise.create", id="t", timeoutAt=10**6, tags=TARGET, dialect=OLD)
    assert send("task.acquire", dialect=OLD, id="t", version=0, pid="w", ttl=9)[1]["kind"] == "invoke"
    assert send("task.get", dialect=OLD, id="t")[1] == {"task": {"id": "t", "version": 0}}
    assert send("task.get", id="t")[1]["task"]["version"] == 1
    assert send("task.release", id="t", version=0)[0] == 409
    assert send("task.release", dialect=OLD, id="t", version=0)[0] == 200
    assert send("task.get", dialect=OLD, id="t")[1] == {"task": {"id": "t", "version": 1}}
    assert send("task.acquire", id="t", version=1, pid="w", ttl=9)[1]["task"]["version"] == 2


def test_suspend_resume_and_the_older_acquire():
    send = Client(OLD)
    send.acquired("t", 10**6)
    send.promise("a", 10**6)
    send.promise("b", 10**6)
    assert send.suspend("t", 0, "a", "b") == (200, {})
    assert send("task.get", id="t")[1]["task"]["version"] == 0
    send.settle("b", 5)
    assert [kind for _, kind, _ in send.sent()] == ["resume"]
    assert send("task.get", id="t")[1]["task"]["version"] == 1, "row 70"
    send.settle("a", 6)
    assert send.task("t")["resumes"] == ["b", "a"], "row 68"
    status, data = send("task.acquire", id="t", version=1, pid="w", ttl=9)
    assert (data["kind"], data["data"]["awaited"]["id"]) == ("resume", "b")
    assert send.task("t")["resumes"] == ["a"]
    assert send.suspend("t", 1, "a") == (300, {}), "row 33"
    assert (send.task("t")["current"], send.task("t")["resumes"]) == ("a", [])
    assert send.suspend("t", 1, "a", "b") == (300, {}), "row 32"
    assert send.task("t")["current"] == "a"


def test_suspend_300_of_the_newer_dialect_clears_resumes(send):
    send.acquired("t", 10**6, branch="br")
    send.promise("a", 10**6, branch="br")
    send("promise.register_callback", awaited="a", awaiter="t")
    send.settle("a", 5)
    assert send.task("t")["resumes"] == ["a"], "row 69"
    status, data = send.suspend("t", 1, "a")
    assert status == 300
    assert [one["id"] for one in data["preload"]] == ["a"]
    assert send.task("t")["resumes"] == []


def test_a_missing_awaited_promise_refuses_the_suspension(send):
    send.acquired("t")
    send.promise("a", 5)
    assert send.suspend("t", 1, "a", "none", now=6)[0] == 422
    assert send.suspend("t", 0, "a", "none", dialect=OLD)[0] == 400
    assert send.task("t")["state"] == "acquired"


def test_task_create_on_what_exists(send):
    send.promise("bare")
    send("promise.create", id="t", timeoutAt=1000, tags=TARGET)
    assert send.acquired("bare")[0] == 422
    assert send.acquired("t")[1]["task"]["version"] == 1
    assert send.acquired("t")[0] == 409
    status, data = send.acquired("t", now=1000)
    assert (status, data["task"]["state"], data["preload"]) == (200, "fulfilled", [])
    action = {"kind": "promise.create", "data": {"id": "t", "timeoutAt": 5}}
    status, data = send("task.create", dialect=OLD, pid="w", ttl=1, action=action)
    assert (status, set(data)) == (200, {"promise"})


def test_fence_answers_a_whole_envelope(send):
    send.acquired("t")
    action = {"kind": "promise.create", "head": 5, "data": {"id": "c", "timeoutAt": 9}}
    status, data = send("task.fence", id="t", version=1, action=action)
    assert (status, data["preload"]) == (200, [])
    assert data["action"]["head"] == {"corrId": "c", "status": 200, "version": NEW}
    _, data = send("task.fence", id="t", version=1, action=settle_action("none"))
    assert (data["action"]["head"]["status"], type(data["action"]["data"])) == (404, str)
    assert send("task.fence", id="t", version=1, action=settle_action("t"))[0] == 400
    assert send("task.fence", id="t", version=0, action=settle_action("c"))[0] == 409


@pytest.mark.parametrize(("rules", "outer"), [("compatible", 400), ("strict", 200)])
def test_a_fenced_action_that_its_own_rules_refuse(rules, outer):
    send = Client(rules=rules)
    send.acquired("t")
    status, data = send("task.fence", id="t", version=1, action=settle_action("c", "rejected_timedout"))
    assert status == outer
    assert outer == 400 or data["action"]["head"]["status"] == 400
    assert send("task.fence", id="t", version=1, action=settle_action("c", 5))[0] == 400


def test_fulfil_settles_promise_and_task(send):
    send.acquired("t")
    status, data = send("task.fulfill", 4, id="t", version=1, action=settle_action("t", "rejected", value={"data": "e"}))
    assert (data["promise"]["state"], data["promise"]["settledAt"]) == ("rejected", 4)
    assert send.task("t") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    assert send("task.fulfill", id="t", version=1, action=settle_action("t"))[0] == 409, "row 61"


def test_halt_keeps_resumes_and_continue_resumes(send):
    send.acquired("t", 10**6)
    send.promise("a", 10**6)
    send("promise.register_callback", awaited="a", awaiter="t")
    assert send("task.halt", 50, id="t") == (200, {})
    assert send("task.halt", id="t") == (200, {})
    send.settle("a", 60)
    assert send.task("t") == {"state": "halted", "acquisitions": 1, "resumes": ["a"], "lastTtl": 100}
    assert send("task.continue", 70, id="t") == (200, {})
    assert send.task("t")["current"] == "a"
    assert send("task.continue", id="t")[0] == 409


def test_an_empty_heartbeat(send):
    send.acquired("t", 10**6)
    send("task.heartbeat", 50, pid="w", tasks=[])
    assert send.task("t")["expiresAt"] == 150
    strict = Client(rules="strict")
    strict.acquired("t", 10**6)
    strict("task.heartbeat", 50, pid="w", tasks=[])
    assert strict.task("t")["expiresAt"] == 100


def test_heartbeat_of_missing_tasks():
    send = Client(OLD)
    missing = {"id": "none", "version": 0}
    assert send("task.heartbeat", pid="w", tasks=[missing])[0] == 404, "row 46"
    assert send("task.heartbeat", dialect=NEW, pid="w", tasks=[missing])[0] == 200
    send.acquired("t")
    assert send("task.heartbeat", pid="w", tasks=[missing, {"id": "t", "version": 7}])[0] == 200


@pytest.mark.parametrize(
    ("kind", "data", "status"),
    [
        ("task.acquire", {"version": 1, "pid": "w", "ttl": 1}, 409),
        ("task.release", {"version": 1}, 409),
        ("task.halt", {}, 409),
        ("task.continue", {}, 409),
        ("task.heartbeat", {"pid": "w", "tasks": [{"id": "t", "version": 1}]}, 200),
        ("task.fulfill", {"version": 1, "action": settle_action("t")}, 409),
        ("task.fence", {"version": 1, "action": settle_action("x")}, 409),
    ],
)
def test_requests_on_a_dead_promise(send, kind, data, status):
    send.acquired("t", 1000, ttl=10**5)
    assert send(kind, 1000, id="t", **data)[0] == status
    assert send.task("t") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    assert send.row("t")["settledAt"] == 1000


def test_a_dead_awaiter_is_not_resumed(send):
    send.acquired("t", 100)
    send.promise("a", 10**6)
    send.suspend("t", 1, "a")
    send.settle("a", 100)
    assert send.task("t")["state"] == "fulfilled"
    assert send.row("a")["callbacks"] == []
    assert send.sent() == []


def test_a_timer_with_a_target_sends_nothing(send):
    send("promise.create", id="t", timeoutAt=1000, tags={**TARGET, "resonate:timer": "true"})
    assert send.task("t")["retryAt"] == 1000
    assert [fired["kind"] for fired in send.model.tick(5000)] == ["promise_timeout"]
    assert send.row("t")["state"] == "resolved"
    assert send.sent() == []


@pytest.mark.parametrize(("timeout", "retry_at"), [(300, 310), ("ttl", 5010)])
def test_retry_cadence(timeout, retry_at):
    send = Client(retry_timeout=timeout)
    send("promise.create", 10, id="t", timeoutAt=10**6, tags=TARGET)
    assert send.task("t")["retryAt"] == retry_at
    send("task.acquire", 11, id="t", version=0, pid="w", ttl=70)
    send("task.release", 12, id="t", version=1)
    assert send.task("t")["retryAt"] == (312 if timeout == 300 else 82)


def test_huge_durations_saturate(send):
    send.acquired("t", 2**63 - 1, ttl=2**63 - 1, now=5)
    assert send.task("t")["expiresAt"] == 2**63 - 1
