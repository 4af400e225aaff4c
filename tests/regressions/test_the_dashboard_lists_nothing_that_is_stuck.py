"""The view "Why is it stuck?" was an empty form, the list of workflows said "suspended" twice, and run times were those of one process.

`stuck` lists what does not move by itself, in the whole store; a workflow in a list names what it waits for; the means of waiting and
run times are those that the store counts, whichever process ran the jobs.
"""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ServerSettings, create_app
from resonate_core.ui.policies import defaults_in_words, duration, policy_in_words
from resonate_core.ui.traces import stretches
from ui.ui_client import Client, client_of

SECRET = "a secret of thirty-two bytes, or more"
START, MINUTE, HOUR = 1_767_225_600_000, 60_000, 3_600_000
SHOP = "poll://any@shop"


@pytest.fixture
def store(make_store: Any) -> Any:
    return make_store(clock=rc.ManualClock(start=START))


def suspended(store: Any, id: str, awaited: list[str]) -> None:
    version = store.tasks.create(id, pid="bob", ttl=MINUTE, timeout=HOUR, target=SHOP).task.version
    for other in awaited:
        store.promises.create(other, timeout=HOUR, tags={"resonate:external": "true"})
    store.tasks.suspend(id, version, awaited)


def listed(store: Any, **query: Any) -> dict[str, Any]:
    return {one["id"]: one for one in client_of(store).see("stuck", **query)["items"]}


def test_what_is_stuck_is_listed(store: Any) -> None:
    assert listed(store) == {}
    tags = {"resonate:origin": "order", "resonate:branch": "order.card"}
    version = store.tasks.create("order", pid="bob", ttl=MINUTE, timeout=HOUR, target=SHOP).task.version
    store.jobs.enqueue("charge", id="order.card", queue="payments", max_retries=0, tags=tags, lifecycle="asynq")
    store.tasks.suspend("order", version, ["order.card"])
    (job,) = store.jobs.claim("payments", 1, worker="w", lease=MINUTE, start=1)
    store.jobs.fail(job.id, job.version, "Down", "no")
    store.jobs.enqueue("mail", id="m", queue="mail")
    store.jobs.enqueue("mail", id="n", queue="closed")
    store.queues.pause("closed")
    store.queues.set("empty", weight=1)
    store.queues.pause("empty")
    store.tasks.create("halted", pid="bob", ttl=MINUTE, timeout=HOUR, target=SHOP)
    store.tasks.halt("halted")
    store.promises.create("nobody", timeout=HOUR, tags={"resonate:target": SHOP})
    assert {"order.card", "closed", "halted"} <= listed(store).keys()
    assert not {"mail", "nobody", "empty", "m"} & listed(store).keys(), "a worker may take it in a moment"
    store.clock.advance(2 * MINUTE)
    found = listed(store)
    assert {"order", "order.card", "closed", "halted", "mail", "nobody"} <= found.keys()
    assert "empty" not in found and "m" not in found, "a paused queue without jobs holds nothing up"
    assert [found[id]["needsPerson"] for id in ("order.card", "closed", "halted", "mail")] == [True, True, True, False]
    assert found["order.card"]["kind"] == "job" and "is archived after Down" in found["order.card"]["sentence"]
    assert found["closed"]["since"] == START and found["order.card"]["since"] == START
    needs = [one["needsPerson"] for one in found.values()]
    assert needs == sorted(needs, reverse=True), "what needs a person is first"
    assert len(client_of(store).see("stuck", limit=2)["items"]) == 2
    jobs = store.jobs.enqueue_many("charge", [None] * 30, queue="payments", max_retries=0, lifecycle="asynq")
    for job in store.jobs.claim("payments", len(jobs), worker="w", lease=MINUTE, start=len(jobs)):
        store.jobs.fail(job.id, job.version, "Down", "no")
    answer = client_of(store).see("stuck")
    listed_jobs = [one for one in answer["items"] if one["state"] == "archived"]
    assert answer["archived"] == 31 - len(listed_jobs) > 0, "what is left out is counted"


def test_a_principal_sees_its_own_ids_alone(store: Any) -> None:
    for id in ("mine", "theirs"):
        store.tasks.create(id, pid="bob", ttl=MINUTE, timeout=HOUR, target=SHOP)
        store.tasks.halt(id)
        store.promises.create(f"{id}.waits", timeout=HOUR, tags={"resonate:target": SHOP})
        store.jobs.enqueue("t", id=f"{id}.job", queue=f"{id}.queue", max_retries=0, lifecycle="asynq")
        (job,) = store.jobs.claim(f"{id}.queue", 1, worker="w", lease=MINUTE, start=1)
        store.jobs.fail(job.id, job.version, "Down", "no")
        store.jobs.enqueue("t", id=f"{id}.next", queue=f"{id}.queue")
    store.clock.advance(2 * MINUTE)
    answer = client_of(store, prefix="mine").get("stuck")
    assert answer.status_code == 200 and "theirs" not in str(answer.json()) and "mine.job" in answer.text


def test_a_workflow_in_the_list_names_what_it_waits_for(store: Any) -> None:
    suspended(store, "order", ["order.pay"])
    suspended(store, "far", ["elsewhere"])
    suspended(store, "many", [f"many.{n}" for n in range(4)])
    notes = {one["promise"]["id"]: one["note"] for one in client_of(store).see("workflows")["items"]}
    assert notes["order"] == "waits for order.pay" and notes["far"] == "waits for elsewhere"
    assert notes["many"].startswith("waits for many.") and notes["many"].endswith(" and 2 more")


def test_run_times_are_counted_by_the_store(store: Any) -> None:
    means = client_of(store).see("overview")["means"]
    assert (means["waitMs"], means["runMs"], means["started"], means["ended"]) == (None, None, 0, 0)
    for n, took in enumerate((3, 5)):
        store.jobs.enqueue("t", id=f"j{n}")
        store.clock.advance(10)
        (job,) = store.jobs.claim("default", 1, worker="w", lease=MINUTE, start=1)
        store.clock.advance(took)
        store.jobs.complete(job.id, job.version)
    means = client_of(store).see("overview")["means"]
    assert (means["waitMs"], means["runMs"], means["started"], means["ended"]) == (10, 4, 2, 2)
    store.clock.advance(48 * HOUR)
    assert client_of(store).see("overview")["means"]["started"] == 0, "of the last 24 hours"


GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/usr/lib/python3.13/asyncio/taskgroups.py", line 71, in __aexit__
  |     return await self._aexit(et, exc)
  | ExceptionGroup: two failed (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/shop.py", line 3, in buy
    |     pay()
    |   File "C:\\\\shop\\\\.venv\\\\Lib\\\\site-packages\\\\pay\\\\api.py", line 9, in pay
    |     raise Down
    | pay.Down
    +------------------------------------"""


@pytest.mark.parametrize(
    ("trace", "frames"),
    [
        ("", [0]),
        ("no traceback\nat all", [0]),
        ('  File "/srv/shop.py", line 3, in buy\n    pay()\nDown', [0]),
        ('  File "<frozen runpy>", line 8, in run\n  File "/a/dist-packages/x.py", line 1, in y\n    z\n\nDown', [2, 0]),
        (GROUP, [0, 1, 0, 1, 0]),
    ],
)
def test_a_traceback_is_cut_into_stretches_without_loss(trace: str, frames: list[int]) -> None:
    found = stretches(trace)
    assert [one["frames"] for one in found] == frames
    assert "\n".join(one["text"] for one in found) == trace


def test_a_traceback_stands_in_the_record_of_a_job_and_not_in_lists(store: Any) -> None:
    store.jobs.enqueue("t", id="j", max_retries=0)
    (job,) = store.jobs.claim("default", 1, worker="w", lease=MINUTE, start=1)
    store.jobs.fail(job.id, job.version, "Down", "no", 'Traceback\n  File "/x/site-packages/y.py", line 1, in f\n    g\nDown: no')
    client = client_of(store)
    trace = client.see("job", id="j")["job"]["attempts"][0]["error"]["trace"]
    assert [one["frames"] for one in trace] == [0, 1, 0]
    assert '"trace"' not in client.get("jobs").text


def test_settings_in_words() -> None:
    assert [duration(ms) for ms in (1, 1_500, 60_000, 3_661_000, 86_400_000)] == [
        "1 ms",
        "1 s 500 ms",
        "1 min",
        "1 h 1 min 1 s",
        "1 d",
    ]
    assert policy_in_words({"kind": "fixed", "intervals": [0]}) == "every 0 ms"
    assert policy_in_words({"kind": "asynq", "codes": ["A", "B"]}) == "after about 15 s, then longer each time; only after A, B"
    assert policy_in_words({"kind": "exponential", "base": 10}) == "after 10 ms, then 2 times as long"
    words = dict(defaults_in_words({"cancelWithAwaiters": True, "retention": None, "onExhausted": "failed", "timeout": 1000}))
    assert words == {"Cancel with awaiters": "yes", "Retention": "none", "On exhausted": "failed", "Timeout": "1 s"}


def test_a_token_with_a_prefix_may_ask(make_store: Any) -> None:
    store = make_store(clock=rc.ManualClock(start=START))
    for id in ("mine", "theirs"):
        store.tasks.create(id, pid="bob", ttl=MINUTE, timeout=HOUR, target=SHOP)
        store.tasks.halt(id)
    app = create_app(store, auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True))
    token = jwt.encode({"exp": int(time.time()) + 3600, "prefix": "mine"}, SECRET, "HS256")
    found = Client(app, "/ui/", {"authorization": f"Bearer {token}"}).see("stuck")["items"]
    assert [one["id"] for one in found] == ["mine"]
