"""`workflows` of a store, of `store.aio`, of a client and its `aio`: the same results, and the same errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.calls.workflow_records import WORKFLOW_TAG, RecordedError, Step
from resonate_core.calls.workflows import AsyncWorkflows, Workflows
from server.live_server import serving

TAGS = {WORKFLOW_TAG: "true"}


class Awaiting:
    """The workflows of an asynchronous end, called as those of the others."""

    def __init__(self, open: Callable[[], Any]) -> None:
        self._open = open

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            async def main() -> Any:
                end = self._open()
                try:
                    made = getattr(end.workflows, name)(*args, **kwargs)
                    return [step async for step in made] if inspect.isasyncgen(made) else await made
                finally:
                    if hasattr(end, "close"):
                        await end.close()

            return asyncio.run(main())

        return call


@contextmanager
def _store(store: rc.Store) -> Iterator[Any]:
    yield store.workflows


@contextmanager
def _aio(store: rc.Store) -> Iterator[Any]:
    yield Awaiting(lambda: store.aio)


@contextmanager
def _client(store: rc.Store) -> Iterator[Any]:
    with serving(store) as live, rc.connect(f"http://127.0.0.1:{live.port}") as client:
        yield client.workflows


@contextmanager
def _client_aio(store: rc.Store) -> Iterator[Any]:
    with serving(store) as live:
        yield Awaiting(lambda: rc.connect(f"http://127.0.0.1:{live.port}").aio)


ENDS: dict[str, Callable[[rc.Store], AbstractContextManager[Any]]] = {
    "store": _store,
    "aio": _aio,
    "client": _client,
    "client.aio": _client_aio,
}


@pytest.fixture
def store(make_store: Callable[..., rc.Store]) -> rc.Store:
    return make_store(clock=rc.ManualClock(1000))


@pytest.fixture(params=ENDS)
def workflows(request: pytest.FixtureRequest, store: rc.Store) -> Iterator[Any]:
    """The workflows of each end. The store has one, which has recorded five steps and waits for a message."""
    store.jobs.enqueue(
        "order:fulfil", {"order": 7}, id="order-7", queue="shop", lifecycle="workflow", tags={**TAGS, "team": "blue"}
    )
    (job,) = store.jobs.claim("shop", worker="w", lease=600_000, start=1)
    store.jobs.enqueue("email:send", id="mail-1", queue="mail")
    records: list[dict[str, Any]] = [
        {"id": "order-7:1", "state": "resolved", "value": {"receipt": 1}, "tags": {"resonate:name": "charge"}},
        {"id": "order-7:2", "state": "rejected", "value": {"code": "NoStock", "message": "sold out", "data": [1]}},
        {"id": "order-7:3:2", "timeout_in": 60_000, "tags": {"resonate:name": "retry print", "resonate:timer": "true"}},
    ]
    records[0]["param"] = {"startedAt": 400, "attempts": 3}
    records[1] |= {"tags": {"resonate:name": "reserve"}, "param": {"startedAt": 900}}
    records[2]["param"] = {"error": {"code": "Jam", "message": "no paper"}}
    store.jobs.record("order-7", job.version, records)
    store.jobs.enqueue(
        "order:pack",
        id="order-7:4",
        queue="packing",
        parent={"id": "order-7", "version": job.version},
        cancel_with_awaiters=True,
        tags={"resonate:name": "job order:pack"},
    )
    store.jobs.receive("order-7", job.version, "order-7:5", "approval", timeout_in=5000)
    store.jobs.suspend("order-7", job.version, ["order-7:5"])
    with ENDS[request.param](store) as made:
        yield made


def test_the_history_as_steps(workflows: Any) -> None:
    steps = {step.id: step for step in workflows.history("order-7")}
    assert [(step.id, step.name, step.state) for step in steps.values()] == [
        ("order-7:1", "charge", "resolved"),
        ("order-7:2", "reserve", "rejected"),
        ("order-7:3:2", "retry print", "pending"),
        ("order-7:4", "job order:pack", "pending"),
        ("order-7:5", "receive approval", "pending"),
    ]
    charge, reserve, retry, pack, approval = steps.values()
    assert (charge.result, charge.error, charge.started_at, charge.settled_at) == ({"receipt": 1}, None, 400, 1000)
    assert (charge.attempts, charge.took, charge.timeout_at) == (3, 600, None)
    assert (reserve.result, reserve.error) == (None, RecordedError("NoStock", "sold out", [1]))
    assert (retry.error, retry.timeout_at, retry.took) == (RecordedError("Jam", "no paper"), 61_000, None)
    assert (pack.started_at, pack.attempts, pack.tags["resonate:parent"]) == (1000, 1, "order-7")
    assert (approval.timeout_at, approval.promise.id) == (6000, "order-7:5")


def test_an_unknown_workflow_is_an_error_of_the_call(workflows: Any) -> None:
    for call in (
        lambda: workflows.history("nobody"),
        lambda: workflows.send("nobody", "approval"),
        lambda: workflows.cancel("nobody"),
        lambda: workflows.fork("nobody", "nobody:1"),
        lambda: workflows.result("nobody"),
    ):
        with pytest.raises(rc.NotFound, match="nobody"):
            call()


def test_messages(workflows: Any, store: rc.Store) -> None:
    message = workflows.send("order-7", "approval", {"by": "Ada"}, headers={"via": "mail"}, key="mail-31")
    assert (message.id, message.value.json(), message.value.headers) == (
        "order-7:@approval:mail-31",
        {"by": "Ada"},
        {"via": "mail"},
    )
    assert workflows.send("order-7", "approval", "no", key="mail-31") == message
    assert workflows.send("order-7", "approval").id == "order-7:@approval:#1"
    store.tick()
    assert store.promises.get("order-7:5").value.json() == {"by": "Ada"}
    assert store.jobs.get("order-7").state == "pending"
    with pytest.raises(rc.Invalid, match="topic"):
        workflows.send("order-7", "a:b")


def test_a_fork_has_the_steps_before(workflows: Any, store: rc.Store) -> None:
    copy = workflows.fork("order-7", "order-7:3:2", "order-7-again")
    assert (copy.id, copy.state, copy.type, copy.steps) == ("order-7-again", "pending", "order:fulfil", 2)
    assert [(step.id, step.name) for step in workflows.history(copy.id)] == [
        ("order-7-again:1", "charge"),
        ("order-7-again:2", "reserve"),
    ]
    made = workflows.fork("order-7", "order-7:1")
    assert made.id.startswith("order-7-fork-") and made.steps == 0
    assert {job.id for job in workflows.search()} == {"order-7", copy.id, made.id}
    with pytest.raises(rc.Unprocessable):
        workflows.fork("order-7", "order-7:9", "again")
    with pytest.raises(rc.Conflict):
        workflows.fork("order-7", "order-7:1", "mail-1")


def test_cancelling_goes_down(workflows: Any, store: rc.Store) -> None:
    assert workflows.cancel("order-7").state == "cancelled"
    store.tick()
    assert store.jobs.get("order-7:4").state == "cancelled"
    with pytest.raises(rc.Rejected, match="Cancelled"):
        workflows.result("order-7", timeout=60)
    with pytest.raises(rc.Conflict):
        workflows.cancel("order-7")
    with pytest.raises(rc.Conflict):
        workflows.send("order-7", "approval")


def test_search_finds_workflows_alone(workflows: Any, store: rc.Store) -> None:
    store.jobs.enqueue("order:fulfil", id="other-8", lifecycle="workflow", tags=TAGS, unique_key="8")

    def ids(*args: Any, **kwargs: Any) -> list[str]:
        return [job.id for job in workflows.search(*args, **kwargs)]

    assert ids() == ["order-7", "other-8"]
    assert ids("order-*") == ids(queue="shop") == ids(state="waiting") == ids(tags={"team": "blue"}) == ids(limit=1) == ["order-7"]
    assert ids(unique_key="8") == ids(cursor="order-7") == ids(type="order:fulfil", state="pending") == ["other-8"]
    assert ids(type="email:send") == []
    with pytest.raises(rc.Invalid, match="tags must not change resonate:workflow, by which workflows are found, got 'false'"):
        ids(tags={WORKFLOW_TAG: "false"})
    with pytest.raises(rc.Invalid):
        ids(state="odd")


def test_the_result(workflows: Any, store: rc.Store) -> None:
    with pytest.raises(TimeoutError, match='"order-7" is still pending'):
        workflows.result("order-7", timeout=0.01)
    store.jobs.run("order-7")
    (job,) = store.jobs.claim("shop", worker="w", lease=60_000, start=1)
    store.jobs.complete("order-7", job.version, {"parcel": "p-1"})
    assert workflows.result("order-7") == workflows.result("order-7", timeout=60) == {"parcel": "p-1"}


@pytest.mark.parametrize("end", ENDS)
def test_a_long_history_is_read_in_pages(store: rc.Store, end: str) -> None:
    store.jobs.enqueue("flow", id="f", lifecycle="workflow", tags=TAGS)
    (job,) = store.jobs.claim("default", worker="w", lease=60_000, start=1)
    for part in range(3):
        records = [{"id": f"f:{number}", "state": "resolved", "value": number} for number in range(part * 900, part * 900 + 900)]
        store.jobs.record("f", job.version, records)
    with ENDS[end](store) as workflows:
        assert sorted(step.result for step in workflows.history("f")) == list(range(2700))


def test_pages_are_read_when_they_are_asked_for(store: rc.Store) -> None:
    asked: list[str | None] = []

    class Counting:
        jobs: Any

        def __init__(self) -> None:
            self.jobs = self

        def history(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> rc.PromisePage:
            asked.append(cursor)
            return store.jobs.history(id, limit=1, cursor=cursor)

        def result(self, id: str, *, timeout: Any = None) -> Any: ...

    store.jobs.enqueue("flow", id="f", lifecycle="workflow")
    (job,) = store.jobs.claim("default", worker="w", lease=60_000, start=1)
    store.jobs.record("f", job.version, [{"id": f"f:{number}"} for number in range(3)])
    steps = Workflows(Counting()).history("f")
    assert len(asked) == 1
    assert (next(steps).id, next(steps).id, len(asked)) == ("f:0", "f:1", 2)


class Endless:
    """A server whose pages have no end."""

    def __init__(self, page: rc.PromisePage) -> None:
        self.page = page
        self.jobs: Any = self

    def history(self, id: str, **options: Any) -> rc.PromisePage:
        return self.page

    async def later(self, id: str, **options: Any) -> rc.PromisePage:
        return self.page


def test_pages_without_an_end_are_refused(store: rc.Store) -> None:
    page = rc.PromisePage.from_dict({"promises": [], "cursor": "c"})
    with pytest.raises(rc.errors.NoEnvelope, match="the cursor 'c' was there before"):
        list(Workflows(Endless(page)).history("f"))  # type: ignore[arg-type]
    end = Endless(page)
    end.history = end.later  # type: ignore[method-assign, assignment]

    async def main() -> list[Step]:
        return [step async for step in AsyncWorkflows(end).history("f")]  # type: ignore[arg-type]

    with pytest.raises(rc.errors.NoEnvelope, match="the cursor 'c' was there before"):
        asyncio.run(main())


def test_what_they_are_called(store: rc.Store) -> None:
    assert repr(store.workflows) == f"Workflows of {store!r}"
    assert repr(store.aio.workflows).startswith("AsyncWorkflows of AsyncStore of ")
    client = rc.connect("http://127.0.0.1:1")
    assert repr(client.workflows) == "Workflows of Client('http://127.0.0.1:1')"
    assert repr(client.aio.workflows) == "AsyncWorkflows of AsyncClient('http://127.0.0.1:1')"


def test_both_have_the_same_calls() -> None:
    names = {name for name in vars(Workflows) if not name.startswith("_")}
    assert names == {name for name in vars(AsyncWorkflows) if not name.startswith("_")}
    assert names == {"send", "history", "fork", "cancel", "search", "result"}
    for name in names:
        sync, aio = (inspect.signature(getattr(face, name)) for face in (Workflows, AsyncWorkflows))
        assert list(sync.parameters.values()) == list(aio.parameters.values())
