"""A shop on one Friday, for tests and pictures of the dashboard: jobs that succeed, fail or are stuck, and text with scripts in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import resonate_core as rc

START = 1_798_797_600_000
"""Friday, 2027-01-01 10:00 UTC."""
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
STUCK = "order-1042"
CARD = "order-1042.charge.card"
LONG = "import:2027-01-01/warehouse-north/articles-and-prices/part-000017-of-000240"
SHOP = "poll://any@shop"
SCRIPT = "<script>window.ran = 1</script><img src=x onerror=window.ran=1>"
EVIL = f"evil {SCRIPT}"
TRACE = """Traceback (most recent call last):
  File "/srv/shop/payments.py", line 41, in charge_card
    reply = provider.charge(card, amount)
  File "/srv/shop/provider.py", line 88, in charge
    raise ProviderDown(f"{self.host} answered {reply.status}")
ProviderDown: payments.example.org answered 503"""


def clock() -> rc.ManualClock:
    """The clock of the scene. It starts a day and a half before Friday, 10:00."""
    return rc.ManualClock(start=START - 36 * HOUR)


def fill(store: Any, time: Any, *, hours: int = 36) -> None:
    """Runs the shop for `hours`, until Friday at 10:00."""
    store.queues.set(
        "mail",
        concurrency=8,
        lifecycle="horsies",
        defaults={"maxRetries": 3, "retryPolicy": {"kind": "fixed", "intervals": [30 * MINUTE]}},
    )
    store.queues.set("reports", weight=2, rate={"limit": 60, "per": MINUTE})
    store.queues.set("likes", groups={"size": 100, "grace": 10 * MINUTE, "maxDelay": HOUR})
    store.schedules.create(
        "nightly-report",
        "0 2 * * *",
        promise_timeout=DAY,
        param={"of": "yesterday"},
        job={"type": "report:build", "queue": "reports", "maxRetries": 1, "retention": None},
    )
    store.schedules.create(
        "heartbeat", "30 * * * *", promise_timeout=HOUR, job={"type": "shop:ping", "queue": "reports", "retention": None}
    )
    for hour in range(hours):
        at = START - (hours - hour) * HOUR
        time.advance_to(at)
        _work(store, hour)
        time.advance_to(at + 25 * MINUTE)
        _reports(store, fail=hour % 11 == 7)
    time.advance_to(START - 30 * MINUTE)
    _finished_orders(store)
    _stuck_order(store, time)
    time.advance_to(START - 4 * MINUTE)
    store.take_messages()  # a worker of the shop listened until now
    _present(store)
    time.advance_to(START)


def _work(store: Any, hour: int) -> None:
    """Enqueues the mails of one hour; every seventh fails once."""
    for index in range(2 + hour % 3):
        name = f"mail-{hour:02}-{index}"
        store.jobs.enqueue(
            "email:send",
            {"to": f"customer-{hour * 7 + index}@example.org", "template": "shipped"},
            id=name,
            queue="mail",
            tags={"tenant": ["acme", "globex"][index % 2]},
        )
    for job in store.jobs.claim("mail", 20, worker="mailer-1", lease=5 * MINUTE, start=20):
        if (hour + len(job.id) + int(job.id[-1])) % 7 == 3 and job.retry_count == 0:
            store.jobs.fail(job.id, job.version, "SmtpTimeout", "mx.example.org did not answer within 30 s")
        else:
            store.jobs.complete(job.id, job.version, {"sent": True})


def _reports(store: Any, *, fail: bool) -> None:
    for job in store.jobs.claim("reports", 5, worker="reporter-1", lease=5 * MINUTE, start=5):
        if fail:
            store.jobs.fail(job.id, job.version, "OutOfDisk", "no space left on device", retryable=False)
        else:
            store.jobs.complete(job.id, job.version, {"rows": 1_204})


def _call(store: Any, id: str, parent: str, func: str, args: list[Any], timeout: int, *, target: bool = True) -> None:
    tags = {"resonate:parent": parent, "resonate:origin": id.split(".")[0], "resonate:branch": id}
    store.promises.create(
        id,
        timeout=timeout,
        param={"func": func, "args": args},
        tags={**tags, "resonate:target": SHOP} if target else {**tags, "resonate:external": "true"},
    )


def _order(store: Any, id: str, amount: int) -> int:
    """Creates an order whose task a worker acquires; returns the version of the task."""
    store.promises.create(
        id, timeout=2 * DAY, param={"func": "checkout", "args": [id, amount]}, tags={"resonate:target": SHOP, "tenant": "acme"}
    )
    return int(store.tasks.acquire(id, 0, pid="shop-1", ttl=MINUTE).task.version)


def _finished_orders(store: Any) -> None:
    for number, result in [(1038, "resolved"), (1039, "resolved"), (1040, "rejected"), (1041, "resolved")]:
        id = f"order-{number}"
        version = _order(store, id, number - 1000)
        _call(store, f"{id}.reserve", id, "reserve", [id], DAY, target=False)
        store.promises.resolve(f"{id}.reserve", {"shelf": "B4"})
        if result == "resolved":
            store.tasks.fulfill(id, version, {"shipped": True})
        else:
            store.tasks.fulfill(id, version, {"__type": "error", "name": "SoldOut", "message": "no tea left"}, state="rejected")
    store.promises.create("approval-7", timeout=10 * MINUTE, param={"who": "ann"}, tags={"resonate:external": "true"})


def _stuck_order(store: Any, time: Any) -> None:
    """Creates an order that waits for a charge, which waits for a job that failed until it was archived."""
    version = _order(store, STUCK, 4_200)
    _call(store, f"{STUCK}.reserve", STUCK, "reserve", [STUCK], DAY, target=False)
    store.promises.resolve(f"{STUCK}.reserve", {"shelf": "A1"})
    _call(store, f"{STUCK}.charge", STUCK, "charge", [STUCK, 4_200], DAY)
    charge = store.tasks.acquire(f"{STUCK}.charge", 0, pid="shop-2", ttl=MINUTE).task.version
    tags = {"resonate:parent": f"{STUCK}.charge", "resonate:origin": STUCK, "resonate:branch": CARD}
    store.jobs.enqueue(
        "card:charge",
        {"order": STUCK, "amount": 4_200, "card": "tok_9xY"},
        id=CARD,
        queue="payments",
        tags=tags,
        max_retries=2,
        retry_policy={"kind": "fixed", "intervals": [2 * MINUTE]},
    )
    store.tasks.suspend(f"{STUCK}.charge", charge, [CARD])
    store.tasks.suspend(STUCK, version, [f"{STUCK}.charge"])
    for attempt in range(3):
        (job,) = store.jobs.claim("payments", worker=f"payer-{attempt % 2 + 1}", lease=MINUTE, start=1)
        time.advance(1_400)
        store.jobs.fail(CARD, job.version, "ProviderDown", "payments.example.org answered 503", TRACE)
        time.advance(2 * MINUTE)


def _present(store: Any) -> None:
    """Creates the jobs and promises that wait, run or gather at the end, and names that contain scripts."""
    store.jobs.enqueue("article:import", {"part": 17}, id=LONG, queue="imports", priority=10, tags={"tenant": "globex"})
    store.jobs.enqueue_many(
        "article:import",
        [{"part": part} for part in range(18, 30)],
        queue="imports",
        ids=[f"import-{part}" for part in range(18, 30)],
    )
    store.queues.pause("imports")
    store.jobs.enqueue("video:encode", {"file": "intro.mov"}, id="encode-intro", queue="video", timeout=HOUR)
    store.jobs.enqueue("video:encode", {"file": "outro.mov"}, id="encode-outro", queue="video", timeout=HOUR)
    (encodes,) = store.jobs.claim("video", 1, worker="encoder-1", lease=10 * MINUTE, start=1)
    store.jobs.report(encodes.id, encodes.version, lines=["intro.mov: 1920 x 1080, 4 min 12 s", "pass 1 of 2 is done"])
    store.jobs.report(encodes.id, encodes.version, progress=0.62, lines="pass 2 of 2: frame 3 906 of 6 300")
    store.jobs.claim("video", 1, worker="encoder-2", lease=10 * MINUTE)
    store.jobs.enqueue("email:send", {"to": "late@example.org"}, id="newsletter", queue="mail", process_in=2 * HOUR)
    for index in range(3):
        store.jobs.enqueue("likes:send", {"like": index}, id=f"like-{index}", queue="likes", group="ann")
    store.jobs.enqueue(SCRIPT, {"text": SCRIPT}, id=EVIL, queue="mail", priority=1, tags={SCRIPT: SCRIPT}, max_retries=0)
    (job,) = store.jobs.claim("mail", worker=SCRIPT, lease=MINUTE, start=1)
    store.jobs.report(job.id, job.version, lines=SCRIPT)
    store.jobs.fail(job.id, job.version, "Evil", SCRIPT, SCRIPT, retryable=False)
    store.jobs.enqueue("email:send", {"to": "now@example.org"}, id="welcome", queue="mail", unique_key="welcome-ann")
    store.promises.create(
        "order-1043",
        timeout=DAY,
        param={"func": "checkout", "args": ["order-1043", 900]},
        tags={"resonate:target": SHOP, "tenant": "globex"},
    )
    store.tasks.acquire("order-1043", 0, pid="shop-1", ttl=10 * MINUTE)
    store.promises.create(
        "order-1044", timeout=DAY, param={"func": "checkout", "args": ["order-1044", 120]}, tags={"resonate:target": SHOP}
    )
    store.promises.create(
        f"page {SCRIPT}", timeout=DAY, param={"func": SCRIPT, "args": [SCRIPT]}, tags={SCRIPT: SCRIPT, "resonate:target": SHOP}
    )


def fill_film(store: Any) -> None:
    """Makes a film of a cut and four scenes: a graph of jobs, of which one is archived and holds the others up."""
    for number, queue in ((1, "first"), (2, "second"), (3, "third"), (4, "render")):
        store.jobs.enqueue("video:render", {"scene": number}, id=f"film-7.scene-{number}", queue=queue)
    for queue in ("first", "second", "third"):
        (job,) = store.jobs.claim(queue, worker="renderer-1", lease=HOUR, start=1)
        store.clock.advance(20 * SECOND)
        if queue == "first":
            store.jobs.complete(job.id, job.version, {"frames": 6_300})
        elif queue == "second":
            store.jobs.fail(job.id, job.version, "OutOfDisk", "no space left on device", retryable=False)
    scenes = [f"film-7.scene-{number}" for number in range(1, 5)]
    store.jobs.enqueue("audio:mix", id="film-7.sound", queue="render", after=scenes[:1])
    store.jobs.enqueue("video:join", id="film-7.cut", queue="render", after=[*scenes, "film-7.sound"])
    store.jobs.enqueue("video:upload", id="film-7.upload", queue="render", after=["film-7.cut"])
    store.jobs.enqueue("email:send", id="film-7.mail", queue="mail", after=["film-7.cut"], after_failed="run")
    store.jobs.enqueue("bill:send", id="film-7.bill", queue="mail", after=["film-7.upload"])


def record(folder: Path) -> Path:
    """Records a few seconds of another store, for the view of recordings."""
    path = folder / "run.jsonl"
    clock = rc.ManualClock(start=START)
    store = rc.Store(clock=clock)
    recorded = store.record(path)
    for n in range(3):
        store.jobs.enqueue("email:send", {"n": n}, id=f"mail-{n}", queue="mail", max_retries=1)
        clock.advance(1_000)
    (job,) = store.jobs.claim("mail", worker="mailer", lease=60_000, start=1)
    clock.advance(500)
    store.jobs.fail(job.id, job.version, "SmtpDown", "no route to host", retryable=False)
    recorded.close()
    return path


def finish(store: Any) -> None:
    """The payment provider answers again: workers run the job, the charge and the order to their end."""
    (job,) = store.jobs.claim("payments", worker="payer-1", lease=MINUTE, start=1)
    store.jobs.complete(job.id, job.version, {"receipt": "r-771"})
    for id, result in [(f"{STUCK}.charge", {"receipt": "r-771"}), (STUCK, {"shipped": True})]:
        version = store.tasks.get(id).version
        store.tasks.acquire(id, version, pid="shop-1", ttl=MINUTE)
        store.tasks.fulfill(id, version + 1, result)
