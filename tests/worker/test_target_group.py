"""A worker with a target group: what programs of an SDK call by `rpc` runs as a job, whatever crashes. The calls are plain promises here."""

from __future__ import annotations

import base64
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from mortal_client import Crash, Given, Mortal

import resonate_core as rc
from backends import BackEnd
from resonate_core.errors import StoreError
from resonate_core.worker import BatchContext, JobError, Worker
from resonate_core.worker.store_client import StoreClient
from resonate_core.worker.target_group import TargetGroup
from resonate_core.workflow import receive, rpc, sleep
from server.live_server import serving

MINUTE, HOUR = 60_000, 3_600_000
TARGET = {"resonate:target": "poll://any@shop"}


def call(
    store: rc.Store, id: str, func: str, *args: Any, address: str = "poll://any@shop", timeout: int = HOUR, **kwargs: Any
) -> None:
    """Calls a function as the SDKs do; the one for TypeScript sends no kwargs."""
    param: dict[str, Any] = {"func": func, "args": list(args), "version": 1} | ({"kwargs": kwargs} if kwargs else {})
    lineage = {"resonate:origin": id, "resonate:parent": id, "resonate:branch": id, "resonate:scope": "global"}
    store.promises.create(id, timeout=timeout, param=param, tags={"resonate:target": address, **lineage})


def error_of(store: rc.Store, id: str) -> tuple[str, str, str]:
    """Returns state, code and message of a call that failed; the error is in the form of the SDKs."""
    promise = store.promises.get(id)
    error = promise.value.json()
    assert error["__type"] == "error" and error["name"] == error["code"]
    return promise.state, error["code"], error["message"]


@pytest.fixture
def worker(store: rc.Store) -> Worker:
    made = Worker(store, name="w1", target_group="shop")

    @made.task("price")
    def price(order: str, count: int = 1, *, currency: str = "EUR") -> str:
        return f"{order} x{count} in {currency}"

    @made.workflow("fulfil")
    async def fulfil(order: str) -> str:
        await sleep(MINUTE)
        answer = await receive("approval", type=str, timeout=MINUTE, default="no")
        return f"{order}: {answer}"

    return made


# -- results -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["poll://any@shop", "poll://any@shop/w1", "poll://any@shop/gone", "poll://uni@shop/w1"])
def test_a_call_runs_as_a_job(store: rc.Store, worker: Worker, address: str) -> None:
    call(store, "c", "price", "7", 2, address=address)
    assert [(run.id, run.outcome) for run in worker.run_until_idle()] == [("c:1", "completed")]
    assert (store.promises.get("c").state, store.promises.get("c").value.json()) == ("resolved", "7 x2 in EUR")
    assert store.tasks.get("c").state == "fulfilled" and store.messages() == []


def test_keywords(store: rc.Store, worker: Worker) -> None:
    call(store, "c", "price", "7", currency="USD")
    worker.run_until_idle()
    assert store.jobs.get("c:1").payload.json() == {"order": "7", "currency": "USD"}
    assert store.promises.get("c").value.json() == "7 x1 in USD"


@pytest.mark.parametrize("address", ["poll://any@other", "poll://uni@shop/w2", "http://example.com/"])
def test_calls_to_others_are_theirs(store: rc.Store, worker: Worker, address: str) -> None:
    call(store, "c", "price", "7", address=address)
    assert len(worker.run_until_idle()) == 0
    assert store.promises.get("c").state == "pending" and len(store.messages()) == 1


def test_the_job_is_in_the_tree_of_its_caller(store: rc.Store, worker: Worker) -> None:
    call(store, "c", "fulfil", "7")
    worker.run_until_idle(limit=1)
    tags = store.jobs.get("c:1").tags
    assert (tags["resonate:origin"], tags["resonate:parent"], tags["resonate:branch"]) == ("c", "c", "c:1")
    assert store.promises.get("c:1:1").tags["resonate:origin"] == "c"
    assert store.tasks.get("c").state == "suspended", "nobody holds it while the workflow waits"


def test_weeks_of_a_workflow(store: rc.Store, worker: Worker) -> None:
    call(store, "c", "fulfil", "7")
    worker.run_until_idle(advance=True)
    assert (store.promises.get("c").value.json(), store.now) == ("7: no", 2 * MINUTE)


@pytest.mark.parametrize("rules", ["strict", "compatible"])
@pytest.mark.parametrize("dialect", ["2026-04-01", "2025-01-15"])
def test_rules_and_dialects(rules: Any, dialect: str) -> None:
    store = rc.Store(clock=rc.ManualClock(start=0), rules=rules, check=True)
    worker = Worker(store, target_group="shop")
    worker.task("double")(lambda n: 2 * n)
    param = {"data": base64.b64encode(b'{"func": "double", "args": [4]}').decode()}
    data = {"id": "c", "timeoutAt": HOUR, "param": param, "tags": {**TARGET, "resonate:invoke": "poll://any@shop"}}
    reply = store.apply({"kind": "promise.create", "head": {"corrId": "1", "version": dialect}, "data": data})
    assert reply["head"]["status"] == 200
    worker.run_until_idle()
    assert store.promises.get("c").value.json() == 8


def test_a_workflow_calls_the_group_of_its_own_worker(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("outer")
    async def outer(order: str) -> str:
        return f"got {await rpc('fulfil', order, target='shop', type=str)}"

    outer.using(id="w").delay("7")
    assert worker.run_until_idle(advance=True).runs[-1].result == "got 7: no"
    assert {promise.state for promise in store.promises.search("w*")} <= {"resolved", "rejected_timedout"}


def test_many_calls(store: rc.Store, worker: Worker) -> None:
    for n in range(250):
        call(store, f"c{n}", "price", str(n))
    worker.run_until_idle()
    assert {store.promises.get(f"c{n}").value.json() for n in range(250)} == {f"{n} x1 in EUR" for n in range(250)}
    assert store.messages() == []


# -- failures ------------------------------------------------------------------------------------------------------------------


def test_a_failed_job_rejects_the_call(store: rc.Store, worker: Worker) -> None:
    @worker.task("charge", max_retries=1, retry_policy={"kind": "fixed", "intervals": [MINUTE]})
    def charge() -> None:
        raise JobError("CardDeclined", "no money", {"left": 3})

    call(store, "c", "charge")
    worker.run_until_idle(advance=True)
    assert error_of(store, "c") == ("rejected", "CardDeclined", "no money")
    assert store.jobs.get("c:1").state == "failed" and len(store.jobs.get("c:1").attempts) == 2


@pytest.mark.parametrize(
    ("func", "args", "kwargs", "message"),
    [
        ("price", (), {}, "price: missing a required argument: 'order'"),
        ("price", ("7", 1, 2), {}, "price: too many positional arguments"),
        ("price", (7,), {}, "payload of a job of type 'price': order: Expected `str`, got `int`"),
        ("price", ("7",), {"colour": "red"}, "price: got an unexpected keyword argument 'colour'"),
        ("digest", (["a"],), {}, "digest: a handler of batches takes a list of payloads"),
    ],
)
def test_arguments_that_do_not_fit(store: rc.Store, worker: Worker, func: str, args: Any, kwargs: Any, message: str) -> None:
    @worker.batch_task("digest")
    def digest(news: list[str], batch: BatchContext) -> None:
        raise AssertionError

    call(store, "c", func, *args, **kwargs)
    assert len(worker.run_until_idle()) == 0
    state, code, text = error_of(store, "c")
    assert (state, code) == ("rejected", "InvalidPayload") and text.startswith(message)


@pytest.mark.parametrize("param", [None, 5, {"args": []}, {"func": 5}, {"func": "price", "args": "7"}, b"\xff", b"[" * 100_000])
def test_a_param_of_another_form(store: rc.Store, worker: Worker, param: Any) -> None:
    store.promises.create("c", timeout=HOUR, tags=TARGET, param=param)
    worker.run_until_idle()
    assert error_of(store, "c")[:2] == ("rejected", "InvalidPayload")


def test_a_job_that_is_refused(store: rc.Store, worker: Worker) -> None:
    store.promises.create("c:1", timeout=HOUR)
    store.promises.resolve("c:1", "of another program")
    call(store, "c", "price", "7")
    worker.run_until_idle()
    state, code, text = error_of(store, "c")
    assert (state, code) == ("rejected", "Conflict") and text.startswith("job c:1 was refused: ")


def test_a_cancelled_job_cancels_the_call(store: rc.Store, worker: Worker) -> None:
    call(store, "c", "fulfil", "7")
    worker.run_until_idle()
    store.jobs.cancel("c:1")
    worker.run_until_idle()
    assert error_of(store, "c") == ("rejected_canceled", "Cancelled", "the job was cancelled")


def test_a_cancelled_call_cancels_the_job(store: rc.Store, worker: Worker) -> None:
    call(store, "c", "fulfil", "7")
    worker.run_until_idle()
    store.promises.cancel("c")
    worker.run_until_idle()
    assert store.jobs.get("c:1").state == "cancelled" and store.promises.get("c:1:1").state == "pending"


def test_a_deadline_of_the_call_is_one_of_the_job(store: rc.Store, worker: Worker) -> None:
    call(store, "c", "fulfil", "7", timeout=1000)
    worker.run_until_idle(advance=True)
    assert store.promises.get("c").state == "rejected_timedout"
    assert (store.jobs.get("c:1").state, store.jobs.get("c:1").failed_at) == ("failed", 1000)


def test_a_job_that_expires_before_its_start(store: rc.Store, worker: Worker) -> None:
    @worker.task("slow", good_for=1000)
    def slow() -> None:
        """Never runs."""

    call(store, "c", "slow")
    store.queues.pause("default")
    worker.run_until_idle()
    store.clock.advance(1000)
    worker.run_until_idle()
    state, code, _ = error_of(store, "c")
    assert (store.jobs.get("c:1").state, state, code) == ("expired", "rejected", "TaskExpired")


def test_an_archived_job_keeps_its_caller_waiting_until_a_person_runs_it(store: rc.Store, worker: Worker) -> None:
    works: list[int] = []

    @worker.task("charge", max_retries=0, on_exhausted="archived")
    def charge() -> str:
        if not works:
            raise ConnectionError("no bank")
        return "charged"

    call(store, "c", "charge")
    worker.run_until_idle()
    assert (store.jobs.get("c:1").state, store.promises.get("c").state) == ("archived", "pending")
    works.append(1)
    store.jobs.run("c:1")
    worker.run_until_idle()
    assert store.promises.get("c").value.json() == "charged"


def test_a_job_that_exists_is_taken_as_it_is(store: rc.Store, worker: Worker) -> None:
    store.jobs.enqueue("price", {"order": "first"}, id="c:1")
    call(store, "c", "price", "second")
    worker.run_until_idle()
    assert store.promises.get("c").value.json() == "first x1 in EUR"


def test_without_retention(store: rc.Store, worker: Worker) -> None:
    worker.task("brief", retention=0, lifecycle="asynq")(lambda: "done")
    call(store, "c", "brief")
    worker.run_until_idle()
    assert store.promises.get("c").value.json() == "done"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a@b", "a:b", "a?b", "a*", 5])
def test_names_of_groups(name: Any) -> None:
    with pytest.raises((rc.errors.Invalid, TypeError), match="target_group"):
        Worker(target_group=name)


class Between(StoreClient):
    """Runs all jobs between two calls that are sent together, as another worker may do between two requests to a server."""

    local = False

    def send(self, calls: Sequence[Any]) -> list[Any]:
        answers = []
        for one in calls:
            answers += super().send([one])
            if one.kind == "job.enqueue":
                other = Worker(self.store)
                other.task("brief")(lambda: "done")
                other.run_until_idle()
        return answers


@pytest.mark.parametrize(("of_task", "found"), [({"retention": 0}, "done"), ({"lifecycle": "asynq"}, "done"), ({}, "OutcomeLost")])
def test_over_a_url_a_job_may_end_before_the_task_is_suspended(store: rc.Store, of_task: dict[str, Any], found: str) -> None:
    """Its outcome is kept for that long, unless only the queue says that it is not."""
    store.queues.set("default", defaults={"retention": 0})
    client = Between(store)
    worker = Worker(Given(client), target_group="shop")
    worker.task("brief", **of_task)(lambda: "done")
    call(store, "c", "brief")
    worker.run_until_idle()
    value = store.promises.get("c").value.json()
    assert (value if isinstance(value, str) else value["code"]) == found


# -- unknown types ---------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(60)  # a drain that takes the call again and again does not end
def test_an_unknown_function_is_left_to_others(store: rc.Store, worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    for n in range(3):
        call(store, f"c{n}", "elsewhere", n)
    with caplog.at_level(logging.WARNING, "resonate_core.worker"):
        assert worker.run_until_idle(advance=True).idle
    assert [record.message for record in caplog.records] == [
        "c0 calls elsewhere, for which this worker has no task: another one of its group may have it"
    ]
    assert {store.tasks.get(f"c{n}").state for n in range(3)} == {"pending"} and len(store.messages()) == 3
    other = Worker(store, target_group="shop")
    other.task("elsewhere")(lambda n: n)
    other.run_until_idle()
    assert [store.promises.get(f"c{n}").value.json() for n in range(3)] == [0, 1, 2]


class Counting(StoreClient):
    """Counts its requests."""

    asked = 0

    def send(self, calls: Sequence[Any]) -> list[Any]:
        self.asked += len(calls)
        return super().send(calls)


@pytest.mark.parametrize("shared", [True, False])
def test_an_unknown_function_does_not_keep_a_worker_busy(store: rc.Store, shared: bool) -> None:
    """Its task is left to the others, or released after pauses that grow, and other calls do not wait."""
    client, seconds = Counting(store), [0.0]
    worker = Worker(Given(client), target_group="shop")
    worker.task("price")(lambda: 5)
    inbox = client.inbox("shop", worker.name, -1)
    inbox.shared = shared
    group = TargetGroup(worker._parts(), inbox, lambda: seconds[0])
    call(store, "c", "elsewhere")
    versions = []
    for _ in range(600):  # a minute
        group.round()
        versions.append(store.tasks.get("c").version)
        seconds[0] += 0.1
    assert versions[0] == 1
    assert versions[-1] == 1 if shared else 15 <= versions[-1] <= 30, versions
    assert client.asked <= 3 if shared else client.asked < 120
    call(store, "d", "price")
    group.round()
    assert store.tasks.get("d").state == "suspended"
    group.give_up()
    assert store.tasks.get("c").state == "pending"


# -- crashes ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Played:
    effects: list[str]
    requests: int


def play(outcome: str, **mortal: Any) -> Played:
    """Plays two calls with a worker that crashes; another one continues after its leases. Returns what happened."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    effects: list[str] = []

    def worker_of(client: StoreClient) -> Worker:
        worker = Worker(Given(client), target_group="shop", lease=10_000)

        @worker.task("charge", retention=0, max_retries=5)
        def charge(order: str) -> str:
            effects.append(order)
            if outcome == "fails":
                raise JobError("CardDeclined", "no money", retryable=False)
            return f"receipt of {order}"

        return worker

    call(store, "a", "charge", "tea")
    call(store, "b", "charge")  # an argument is missing
    client = Mortal(store, **mortal)
    with contextlib.suppress(Crash):
        worker_of(client).run_until_idle()
    survivor = worker_of(StoreClient(store))
    for _ in range(5):
        survivor.run_until_idle()
        if all(store.promises.get(id).state != "pending" for id in "ab"):
            break
        clock.advance(10_000)
    assert error_of(store, "b")[:2] == ("rejected", "InvalidPayload")
    if outcome == "fails":
        assert error_of(store, "a") == ("rejected", "CardDeclined", "no money")
    else:
        assert store.promises.get("a").value.json() == "receipt of tea"
    clock.advance(30_000)
    survivor.run_until_idle()
    assert store.check() == [] and store.messages() == []
    assert {task.state for task in store.tasks.search("*") if task.id in "ab"} == {"fulfilled"}
    return Played(effects, client.requests)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("outcome", ["returns", "fails"])
def test_a_crash_before_and_after_each_request(outcome: str, apart: bool) -> None:
    plain = play(outcome, apart=apart)
    assert plain.effects == ["tea"] and plain.requests > 8
    again = []
    for at in range(plain.requests):
        for before in (True, False):
            again.append(len(play(outcome, at=at, before=before, apart=apart).effects))
    assert set(again) == {1, 2}, "a job runs again only if its worker is lost while it runs"
    assert again.count(2) <= 2


@pytest.mark.parametrize("apart", [False, True])
def test_a_store_that_fails_for_a_moment(apart: bool) -> None:
    """Unanswered requests are sent again: without a lease that must expire, unless an answer was lost."""
    for at in range(12):
        for before in (True, False):
            store = rc.Store(clock=rc.ManualClock(start=0), check=True)
            client = Mortal(store, at, before, apart, StoreError)
            worker = Worker(Given(client), target_group="shop", lease=10_000)
            worker.task("price")(lambda n: n)
            group = TargetGroup(worker._parts(), client.inbox("shop", worker.name, -1), lambda: 0.0)
            for n in range(3):
                call(store, f"c{n}", "price", n)
            failures = 0
            for _ in range(3):
                try:
                    group.round()
                except StoreError:
                    failures += 1
            assert failures <= 1
            client.recover()
            states = {store.tasks.get(f"c{n}").state for n in range(3)}
            assert states == {"suspended"} or not before, (at, before)
            for _ in range(2):
                worker.run_until_idle()
                store.clock.advance(10_000)
            worker.run_until_idle()
            assert [store.promises.get(f"c{n}").value.json() for n in range(3)] == [0, 1, 2]


# -- live ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["local", "url"])
def end(request: pytest.FixtureRequest, back_end: BackEnd) -> Iterator[tuple[rc.Store, Callable[..., Worker]]]:
    """A store on the system's clock in each storage, and how workers of it are made: in this process, or over HTTP."""
    made: list[Worker] = []

    def make(target: Any) -> Callable[..., Worker]:
        def worker(**options: Any) -> Worker:
            made.append(Worker(target, **{"target_group": "shop", "poll_interval": HOUR, **options}))
            return made[-1]

        return worker

    with back_end.open() as store:
        if request.param == "local":
            yield store, make(store)
            return
        with serving(store) as live:
            yield store, make(f"http://127.0.0.1:{live.port}")
            for each in made:
                each.close()


def test_calls_to_running_workers(end: tuple[rc.Store, Callable[..., Worker]]) -> None:
    """Two workers of a group with different tasks, which never poll: each call finds the one that has its function."""
    store, make = end
    one, other = make(name="w1", queues="one"), make(name="w 2/ä", queues="other")
    one.task("double", queue="one")(lambda n: 2 * n)
    other.task("square", queue="other")(lambda n: n * n)
    call(store, "early", "double", 4)
    with one, other:
        for n in range(5):
            call(store, f"d{n}", "double", n)
            call(store, f"s{n}", "square", n)
        call(store, "own", "square", 9, address="poll://uni@shop/w 2/ä")
        found = {id: store.result(id, timeout=60) for id in ("early", "own", *(f"{c}{n}" for c in "ds" for n in range(5)))}
    assert found == {"early": 8, "own": 81, **{f"d{n}": 2 * n for n in range(5)}, **{f"s{n}": n * n for n in range(5)}}
