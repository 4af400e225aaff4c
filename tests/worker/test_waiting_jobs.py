"""Jobs that wait, as tasks of a worker enqueue them: after, graphs, chains, then, and the outcomes that a handler reads."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.worker import BatchContext, Dependencies, JobContext, JobError, Worker, chain
from server.live_server import serving


@dataclass
class Parsed:
    rows: int


@pytest.fixture(params=["memory", "sqlite", "url"])
def end(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, Worker]]:
    """A store on the system's clock, and a worker of it: in this process, or over HTTP."""
    path = None if request.param == "memory" else tmp_path / "jobs.db"
    with rc.Store(path, durability="normal") as store:
        if request.param != "url":
            yield store, Worker(store, poll_interval=20)
            return
        with serving(store) as live:
            far = Worker(f"http://127.0.0.1:{live.port}", poll_interval=20)
            yield store, far
            far.close()


def ended(store: rc.Store, worker: Worker, *ids: str) -> list[Any]:
    """Runs the worker until the jobs have ended, and returns their results."""
    with worker:
        return [store.result(id, timeout=60) for id in ids]


class Tests:
    """On a store in this process and over HTTP."""

    def test_a_graph_runs_in_its_order_and_results_flow_by_name(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end
        ran: list[str] = []

        @worker.task("csv:parse")
        def parse(file: int) -> Parsed:
            ran.append(f"parse {file}")
            return Parsed(rows=file * 10)

        @worker.task("csv:load")
        def load(job: JobContext, table: str = "t") -> list[Any]:
            ran.append("load")
            left, right = (job.dependencies.get(name, type=Parsed) for name in ("left", "right"))
            return [table, left.rows, right.rows, list(job.dependencies), job.dependencies["order-7:left"]]

        graph = worker.graph("order-7")
        assert graph.add("load", load.using(priority=1).node(table="orders"), after=["left", "right"]) == "order-7:load"
        graph.add("left", parse.node(1))
        graph.add("right", parse, {"file": 2}, priority=3)
        jobs = graph.enqueue()
        assert list(jobs) == ["load", "left", "right"]
        assert [(job.id, job.state, job.priority) for job in jobs.values()] == [
            ("order-7:load", "waiting", 1),
            ("order-7:left", "pending", 50),
            ("order-7:right", "pending", 3),
        ]
        assert jobs["load"].after == ("order-7:left", "order-7:right")
        assert {job.tags["resonate:graph"] for job in jobs.values()} == {"order-7"}
        assert ended(store, worker, "order-7:load") == [["orders", 10, 20, ["left", "right"], {"rows": 10}]]
        assert ran[2:] == ["load"]

    def test_after_takes_ids_jobs_and_several_of_them(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end

        @worker.task("n")
        def number(n: int) -> int:
            return n

        @worker.task("sum")
        async def add(found: Dependencies[int]) -> list[Any]:
            return [sum(found.values()), list(found)]

        one, two = number.enqueue(1, id="one"), number.using(id="two").delay(2)
        many = number.enqueue_many([3, 4], ids=["three", "four"])
        add.enqueue(id="a", after=one)
        add.using(id="b", after=[two, "one", two]).delay()
        add.enqueue(id="c", after=many)
        asyncio.run(add.enqueue_async(id="d", after={"x": one, "y": two}))
        assert ended(store, worker, "a", "b", "c", "d") == [
            [1, ["one"]],
            [3, ["two", "one"]],
            [7, ["three", "four"]],
            [3, ["one", "two"]],
        ]

    def test_then_runs_when_all_have_ended_even_failed(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end

        @worker.task("image:resize", max_retries=0, on_exhausted="failed")
        def resize(name: str) -> str:
            if name == "b":
                raise JobError("Broken", "no image")
            return name.upper()

        @worker.task("album:build")
        def build(job: JobContext) -> list[Any]:
            images = job.dependencies
            return [
                {key: images[key] for key in images if images.error(key) is None},
                {k: str(e) for k, e in images.failed.items()},
            ]

        jobs = resize.enqueue_many(["a", "b"], ids=["ia", "ib"], then=build.using(id="album"))
        assert [(job.id, job.state) for job in jobs] == [("ia", "pending"), ("ib", "pending"), ("album", "waiting")]
        assert jobs[-1].after_failed == "run"
        *_, last = resize.enqueue_many(["a", "c"], then=build)
        assert ended(store, worker, "album", last.id) == [
            [{"ia": "A"}, {"ib": 'promise "ib" is rejected: Broken: no image'}],
            [{"0": "A", "1": "C"}, {}],
        ]

    def test_then_of_nothing_runs_at_once(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end
        task = worker.task("n", queue="numbers")(lambda payload: payload)
        [job] = task.enqueue_many([], then=rc.Node("t", {"a": 1}))
        assert (job.type, job.state, job.payload.json()) == ("t", "pending", {"a": 1})
        # A type alone gets the queue of the jobs.
        assert [job.queue for job in task.enqueue_many([1], then="t")] == ["numbers", "numbers"]

    def test_a_failure_cancels_what_waits_for_it_and_says_why(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end

        @worker.task("first", max_retries=0, on_exhausted="failed")
        def first() -> None:
            raise JobError("NoStock", "sold out")

        chain(first, "second", "third", id="c").enqueue()
        with worker:
            until(lambda: store.jobs.get("c:3").state == "cancelled")
        second = store.jobs.get("c:2")
        assert (second.state, second.error and second.error["code"]) == ("cancelled", "DependencyFailed")
        assert second.error and "c:1" in second.error["message"]
        assert second.attempts == []

    def test_a_chain_passes_results_on(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end

        @worker.task("start")
        def start(n: int) -> int:
            return n

        @worker.task("double")
        def double(before: Dependencies[int]) -> int:
            [value] = before.values()
            return value * 2

        jobs = chain(start.node(3), double, double.using(queue="default"), id="c").enqueue()
        assert [job.id for job in jobs.values()] == ["c:1", "c:2", "c:3"]
        asyncio.run(chain(start.node(5), double, id="d", after="c:3").enqueue_async())
        assert ended(store, worker, "c:3", "d:2") == [12, 10]

    def test_a_refused_node_refuses_all_and_is_named(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end
        store.jobs.enqueue("other", id="g:taken")
        for refused, match, add in (
            (rc.Unprocessable, r"node 'b' of graph 'g': awaited promise \"nothing\" does not exist", {"after": ["a", "nothing"]}),
            (rc.Conflict, r"node 'taken' of graph 'g': job \"g:taken\" exists with another queue, type or payload", None),
            (rc.Invalid, r"node 'b' of graph 'g': .*uniqueFor", {"unique_for": 5}),
        ):
            graph = worker.graph("g")
            graph.add("a", "t")
            if add is None:
                graph.add("taken", "t")
            else:
                graph.add("b", "t", **add)  # type: ignore[arg-type]
            with pytest.raises(refused, match=match):
                graph.enqueue()
        assert [job.id for job in store.jobs.search()] == ["g:taken"]

    def test_the_same_graph_again_changes_nothing(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end
        made = [worker.graph("g").chain("a", "b").enqueue() for _ in range(2)]
        assert made[0] == made[1]
        assert len(store.jobs.search()) == 2

    def test_more_dependencies_than_a_page(self, end: tuple[rc.Store, Worker]) -> None:
        store, worker = end
        number = worker.task("n", retention=0)(lambda n: n)

        @worker.task("sum")
        def add(found: Dependencies[int]) -> int:
            return sum(found.values())

        *_, last = number.enqueue_many(range(1200), then=add)
        for job in store.jobs.search(type="n", limit=1000):
            store.promises.resolve(job.id, 1)
        for job in store.jobs.search(type="n", limit=1000, state="pending"):
            store.promises.resolve(job.id, 1)
        assert ended(store, worker, last.id) == [1200]


class TestTypes:
    """What a graph and the dependencies accept."""

    @pytest.fixture
    def store(self) -> Iterator[rc.Store]:
        with rc.Store(clock=rc.ManualClock(), check=True) as opened:
            yield opened

    @pytest.fixture
    def worker(self, store: rc.Store) -> Worker:
        return Worker(store)

    def test_circles_are_named(self, worker: Worker) -> None:
        graph = worker.graph("g")
        graph.add("a", "t", after=["c"])
        graph.add("b", "t", after=["g:a"])
        graph.add("c", "t", after="b")
        graph.add("free", "t")
        with pytest.raises(
            rc.Invalid, match=r"nodes of graph 'g' must not wait for each other in a circle: '.' waits for '.' waits for"
        ):
            graph.enqueue()
        alone = worker.graph("g")
        alone.add("a", "t", after=["a"])
        with pytest.raises(rc.Invalid, match="in a circle: 'a' waits for 'a'"):
            alone.enqueue()

    def test_what_add_refuses(self, worker: Worker) -> None:
        @worker.task("typed")
        def typed(n: int) -> int:
            return n

        graph = worker.graph()
        assert graph.id.startswith("graph-") and graph.id != worker.graph().id
        graph.add("a", "t")
        for error, match, call in (
            (rc.Invalid, "name must be unique", lambda: graph.add("a", "t")),
            (rc.Invalid, "name must not be empty", lambda: graph.add("", "t")),
            (TypeError, "name must be str", lambda: graph.add(5, "t")),  # type: ignore[arg-type]
            (rc.Invalid, "must not have an id of its own", lambda: graph.add("b", typed.using(id="x"), 5)),
            (rc.Invalid, "Expected `int`", lambda: graph.add("b", typed, "five")),
            (TypeError, "no option nothing", lambda: graph.add("b", typed, 5, nothing=1)),  # type: ignore[call-arg]
            (TypeError, "nothing", lambda: graph.add("b", "t", nothing=1)),  # type: ignore[call-arg]
            (TypeError, "task must be a task of a worker", lambda: graph.add("b", print)),  # type: ignore[arg-type]
            (TypeError, "where the node is made", lambda: graph.add("b", typed.node(5), 6)),
            (TypeError, "after must be an id, a job", lambda: graph.add("b", "t", after=5)),  # type: ignore[arg-type]
            (TypeError, "after must be an id, a job", lambda: graph.add("b", "t", after=[5])),  # type: ignore[list-item]
            (rc.Invalid, "id must not be empty", lambda: worker.graph("")),
            (rc.Invalid, "tasks must hold a task of a worker", lambda: chain("a", "b")),
            (rc.Invalid, "then must wait for the jobs alone", lambda: typed.enqueue_many([1], then=typed.using(after="a").node(1))),
            (rc.Invalid, "afterFailed must be cancel or run", lambda: typed.using(after_failed="never")),  # type: ignore[arg-type]
            (TypeError, "after must be an id", lambda: typed.using(after=5)),  # type: ignore[arg-type]
            (TypeError, "a task has no option after", lambda: worker.task("u", after="a")(print)),  # type: ignore[call-overload]
        ):
            with pytest.raises(error, match=match):
                call()
        assert len(graph) == 1 and "a" in graph and "b" not in graph
        assert worker.graph("empty").enqueue() == {}
        with pytest.raises(rc.Invalid, match="must have a node"):
            worker.graph("empty").submit(None)

    def test_a_graph_is_submitted_with_the_callers_transaction(self, tmp_path: Path) -> None:
        worker = Worker(tmp_path / "jobs.db")
        task = worker.task("t")(lambda: None)
        with rc.Store(tmp_path / "jobs.db") as store, closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
            worker.graph("no").chain(task, task).submit(connection)
            connection.rollback()
            with connection:
                number = worker.graph("yes").chain(task, task).submit(connection)
                task.submit(connection, id="alone", after="yes:2")
                worker.graph("refused").chain(task, rc.Node("t")).chain("t", after=["nothing"]).submit(connection)
            store.tick()
            assert {job.id: job.state for job in store.jobs.search()} == {
                "alone": "waiting",
                "yes:1": "pending",
                "yes:2": "waiting",
            }
            [problem] = store.problems()
            assert isinstance(number, int) and problem.name == "submission_refused"

    def test_an_outcome_that_is_not_there(self, worker: Worker, store: rc.Store) -> None:
        seen: list[Any] = []

        @worker.task("t", max_retries=0)
        def look(job: JobContext) -> None:
            found = job.dependencies
            assert (
                found.get("nothing") is None
                and found.get("nothing", 5) == 5
                and found.get("nothing", 5, type=int) == 5
                and "nothing" not in found
            )
            for ask in (
                lambda: found["p"],
                lambda: found["nothing"],
                lambda: found.get("q", type=int),
                lambda: found.get("none", type=int),
            ):
                try:
                    ask()
                except Exception as error:
                    seen.append((type(error).__name__, str(error)))
            seen.append(repr(found))

        store.promises.create("p", timeout=1000)
        store.promises.create("q", timeout=1000)
        store.promises.resolve("q", "text")
        look.enqueue(id="t1", after=["p", "q"])
        store.jobs.run("t1")
        worker.run_until_idle()
        assert seen == [
            ("Invalid", 'dependency "p" has no outcome yet: the job was run before what it waited for had ended'),
            ("KeyError", "\"'nothing' is nothing that the job waited for: p, q\""),
            ("Invalid", "result of dependency q: Expected `int`, got `str`"),
            ("KeyError", "\"'none' is nothing that the job waited for: p, q\""),
            "Dependencies(['p', 'q'])",
        ]

    def test_the_typed_parameter_of_every_kind_of_handler(self, worker: Worker, store: rc.Store) -> None:
        @worker.task("source")
        def source() -> dict[str, int]:
            return {"rows": 3}

        @worker.task("by_name")
        def by_name(a: int, found: Dependencies[Parsed], b: int = 2) -> list[int]:
            return [a, b, found["s"].rows]

        @worker.task("whole")
        async def whole(payload: Any, *, found: Dependencies[Parsed], job: JobContext) -> list[Any]:
            return [payload, found["s"].rows, job.id]

        @worker.task("plain")
        def plain(found: Dependencies) -> Any:  # type: ignore[type-arg]
            return found["s"]

        source.enqueue(id="s")
        for id, task, payload in (("1", by_name, {"a": 1}), ("2", whole, [1]), ("3", plain, None)):
            task.enqueue(payload, id=id, after="s")  # type: ignore[attr-defined]
        by_name.using(id="4", after="s").delay(7)
        runs = worker.run_until_idle()
        assert {run.id: run.result for run in runs if run.id != "s"} == {
            "1": [1, 2, 3],
            "2": [[1], 3, "2"],
            "3": {"rows": 3},
            "4": [7, 2, 3],
        }

    def test_the_jobs_of_a_batch_have_their_own_dependencies(self, worker: Worker, store: rc.Store) -> None:
        number = worker.task("n")(lambda n: n)

        @worker.batch_task("double")
        def double(payloads: list[Any], batch: BatchContext) -> list[int]:
            return [2 * job.dependencies["a"] for job in batch]

        number.enqueue(3, id="a")
        double.enqueue(id="b", after="a")
        assert worker.run_until_idle().runs[-1].result == 6

    def test_dependencies_are_read_by_one_request(self, worker: Worker, store: rc.Store, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []
        client = worker.client
        read = client.promises
        monkeypatch.setattr(client, "promises", lambda ids: calls.append(len(ids)) or read(ids))

        @worker.task("t")
        def look(job: JobContext) -> list[Any]:
            return [*job.dependencies.values(), *job.dependencies.items()]

        @worker.task("not")
        def not_looking(found: Dependencies[int]) -> None:
            return None

        for n in range(3):
            store.promises.create(f"p{n}", timeout=1000)
            store.promises.resolve(f"p{n}", n)
        look.enqueue(after=["p0", "p1", "p2"])
        not_looking.enqueue(after=["p0", "p1"])
        worker.run_until_idle()
        assert calls == [3]

    def test_run_until_idle_waits_for_timers_and_not_for_people(self, worker: Worker, store: rc.Store) -> None:
        task = worker.task("t")(lambda: None)
        store.promises.create("timer", timeout=60_000, tags={"resonate:timer": "true"})
        store.promises.create("person", timeout=2**63 - 1)
        store.schedules.create("s", cron="* * * * *", promise_id="p-{{.timestamp}}", promise_timeout=1000)
        task.enqueue(id="a", after="timer")
        task.enqueue(id="b", after=["person", "a"])
        assert [(run.id, run.at) for run in worker.run_until_idle(advance=True)] == [("a", 60_000)]
        assert store.jobs.get("b").awaits == {"ids": ["person"], "count": 1}

    def test_run_until_idle_advances_past_what_waits(self, worker: Worker) -> None:
        task = worker.task("t")(lambda: None)
        task.enqueue(id="first", process_in=60_000)
        task.enqueue(id="second", after="first", process_in=1000)
        assert [(run.id, run.at) for run in worker.run_until_idle(advance=True)] == [("first", 60_000), ("second", 60_000)]
