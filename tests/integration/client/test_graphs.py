"""Graphs and `then` on a store, `store.aio`, a client and its `aio`: the same jobs, and the same refusals."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

import resonate_core as rc
from server.live_server import serving

Run = Callable[[Any], Any]


@contextmanager
def _store(store: rc.Store) -> Iterator[Any]:
    yield store


@contextmanager
def _aio(store: rc.Store) -> Iterator[Any]:
    yield store.aio


@contextmanager
def _client(store: rc.Store) -> Iterator[Any]:
    with serving(store) as live, rc.connect(f"http://127.0.0.1:{live.port}") as client:
        yield client


@contextmanager
def _client_aio(store: rc.Store) -> Iterator[Any]:
    with serving(store) as live:
        yield rc.connect(f"http://127.0.0.1:{live.port}").aio


ENDS: dict[str, Callable[[rc.Store], AbstractContextManager[Any]]] = {
    "store": _store,
    "aio": _aio,
    "client": _client,
    "client.aio": _client_aio,
}


def run(client: Any, call: Callable[[], Any]) -> Any:
    """The result of a call, awaited if it is one of asyncio."""

    async def main() -> Any:
        try:
            made = call()
            return await made if inspect.isawaitable(made) else made
        finally:
            if hasattr(client, "close") and inspect.iscoroutinefunction(client.close):
                await client.close()

    return asyncio.run(main())


@pytest.fixture(params=ENDS)
def end(request: pytest.FixtureRequest, store: rc.Store) -> Iterator[Any]:
    with ENDS[request.param](store) as made:
        yield made


def test_a_graph_is_enqueued_whole(end: Any, store: rc.Store) -> None:
    outside = store.jobs.enqueue("t", id="outside")
    graph = end.jobs.graph("order-7")
    assert graph.add("load", "csv:load", after=["parse", "check", outside], priority=3, after_failed="run") == "order-7:load"
    assert graph.add("parse", "csv:parse", {"file": 1}, queue="etl", tags={"a": "1"}) == "order-7:parse"
    graph.add("check", rc.Node("csv:check", [1], timeout=5), after="order-7:parse")
    jobs = run(end, graph.enqueue)
    assert {name: (job.id, job.state, job.queue) for name, job in jobs.items()} == {
        "load": ("order-7:load", "waiting", "default"),
        "parse": ("order-7:parse", "pending", "etl"),
        "check": ("order-7:check", "waiting", "default"),
    }
    load, parse, check = jobs.values()
    assert (load.after, load.after_failed, load.priority) == (("order-7:parse", "order-7:check", "outside"), "run", 3)
    assert (parse.payload.json(), parse.tags) == ({"file": 1}, {"a": "1", "resonate:graph": "order-7"})
    assert (check.payload.json(), check.timeout, check.after) == ([1], 5, ("order-7:parse",))
    assert [store.jobs.get(job.id).to_dict() for job in jobs.values()] == [job.to_dict() for job in jobs.values()]
    assert store.jobs.cancel_all(tags={"resonate:graph": "order-7"}) == 3


def test_a_refused_node_refuses_the_graph(end: Any, store: rc.Store) -> None:
    store.jobs.enqueue("t", id="g:taken")
    for error, words, name, options in (
        (rc.Unprocessable, "node 'b' of graph 'g': awaited promise \"c\" does not exist", "b", {"after": ["a", "c"]}),
        (rc.Conflict, "node 'taken' of graph 'g': job \"g:taken\" exists", "taken", {}),
        (rc.Conflict, "node 'b' of graph 'g': uniqueKey", "b", {"unique_key": "k"}),
        (rc.Invalid, "in a circle: 'b' waits for 'a' waits for 'b'", "b", {"after": "a"}),
    ):
        graph = end.jobs.graph("g")
        graph.add("a", "u", unique_key="k", after="b" if error is rc.Invalid else None)
        graph.add(name, "u", **options)
        with pytest.raises(error) as raised:
            run(end, graph.enqueue)
        assert words in str(raised.value).replace("'a' waits for 'b' waits for 'a'", "'b' waits for 'a' waits for 'b'")
    assert [job.id for job in store.jobs.search()] == ["g:taken"]


def test_one_more_job_when_all_have_ended(end: Any, store: rc.Store) -> None:
    made = run(end, lambda: end.jobs.enqueue_many("n", [1, 2], ids=["a", "b"], queue="q", then="sum"))
    assert [(job.id, job.type, job.queue, job.state) for job in made][:2] == [
        ("a", "n", "q", "pending"),
        ("b", "n", "q", "pending"),
    ]
    last = made[-1]
    assert (last.type, last.queue, last.state, last.after, last.after_failed) == ("sum", "q", "waiting", ("a", "b"), "run")
    [claimed] = store.jobs.claim("q", 1, worker="w", lease=1000)
    store.jobs.start(claimed.id, claimed.version)
    store.jobs.complete(claimed.id, claimed.version, 1)
    store.jobs.cancel("b")
    store.tick()
    assert store.jobs.get(last.id).state == "pending"
    node = rc.Node("sum", {"x": 1}, after_failed="cancel", queue="other")
    last = run(end, lambda: end.jobs.enqueue_many("n", [1], then=node))[-1]
    assert (last.payload.json(), last.after_failed, last.queue) == ({"x": 1}, "cancel", "other")


def test_a_refused_job_refuses_all_with_then(end: Any, store: rc.Store) -> None:
    store.jobs.enqueue("t", id="b")
    with pytest.raises(rc.Conflict, match=r'^payload 1: job "b" exists'):
        run(end, lambda: end.jobs.enqueue_many("n", [1, 2], ids=["a", "b"], then="sum"))
    with pytest.raises(rc.Invalid, match=r"^then: "):
        run(end, lambda: end.jobs.enqueue_many("n", [1], then=rc.Node("sum", unique_for=5)))
    with pytest.raises(TypeError, match="task must be"):
        run(end, lambda: end.jobs.enqueue_many("n", [1], then=5))
    assert [job.id for job in store.jobs.search()] == ["b"]


def test_only_an_enqueue_of_many_takes_then(end: Any, store: rc.Store) -> None:
    with pytest.raises(TypeError, match="then"):
        run(end, lambda: end.jobs.enqueue("t", then="sum"))
    with pytest.raises(TypeError, match="then"):
        run(end, lambda: end.queues.pause("q", then="sum"))
    assert not [*store.jobs.search(), *store.queues.list()]


def test_after_of_a_plain_enqueue(end: Any, store: rc.Store) -> None:
    first = run(end, lambda: end.jobs.enqueue("t", id="a"))
    second = run(end, lambda: end.jobs.enqueue("t", id="b", after=[first], after_failed="run"))
    assert (second.state, second.after, second.after_failed) == ("waiting", ("a",), "run")
    many = run(end, lambda: end.jobs.enqueue_many("t", [1, 2], after="b"))
    assert [job.after for job in many] == [("b",), ("b",)]
