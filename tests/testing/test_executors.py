"""Executors: the result is the same as that of one thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from scenarios_to_explore import charged_twice, passes, rare

from resonate_core.testing import Choices, Failure, Report, explore


def found(scenario, **options) -> tuple[object, ...]:
    with pytest.raises(Failure) as caught:
        explore(scenario, **options)
    failure, report = caught.value, caught.value.report
    return str(failure), failure.token, failure.story, report.runs, report.choices, report.failing


class LastFirst(Executor):
    """Runs a call when its result is asked for, after all calls that were submitted later."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[object], Callable[[], object]]] = []
        self.cancelled = 0

    def submit(self, function, /, *args, **options):
        made = _Future(self)
        self.waiting.append((made, lambda: function(*args, **options)))
        return made


class _Future(Future):
    def __init__(self, executor: LastFirst) -> None:
        super().__init__()
        self._executor = executor

    def result(self, timeout=None):
        while not self.done():
            future, call = self._executor.waiting.pop()
            if not future.cancelled():
                future.set_result(call())
        return super().result()

    def cancel(self) -> bool:
        self._executor.cancelled += 1
        return super().cancel()


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(
    "options", [{}, {"stop": 3}, {"stop": "never"}, {"search": "priorities"}, {"search": "crash_everywhere"}], ids=str
)
def test_the_executor_changes_nothing(processes: Executor, options):
    given = {"seed": 9, "runs": 1_500, **options}
    scenario = charged_twice if "search" in options else rare
    alone = found(scenario, **given)
    assert found(scenario, executor=processes, **given) == alone
    assert found(scenario, executor=LastFirst(), in_flight=5, **given) == alone
    with ThreadPoolExecutor(3) as threads:
        assert found(scenario, executor=threads, in_flight=1, **given) == alone


def test_a_clean_search_makes_all_runs(processes: Executor):
    alone, spread = explore(passes, runs=2_000), explore(passes, runs=2_000, executor=processes)
    assert (spread.runs, spread.choices, spread.failing) == (alone.runs, alone.choices, [])


def test_batches_that_have_not_begun_are_cancelled():
    executor = LastFirst()
    found(charged_twice, seed=1, executor=executor, in_flight=6)
    assert executor.cancelled == 5


def test_a_scenario_that_cannot_be_pickled_is_named(processes: Executor):
    def inner(choices: Choices) -> None: ...

    for scenario in (inner, lambda choices: None):
        with pytest.raises(TypeError, match="scenario must be a function that the executor can pickle, got <function"):
            explore(scenario, executor=processes)
    assert explore(passes, runs=50, executor=processes).runs == 50


def test_an_error_of_the_executor_is_raised():
    class Broken(Executor):
        def submit(self, function, /, *args, **options):
            future: Future[object] = Future()
            future.set_exception(OSError("the cluster is gone"))
            return future

    with pytest.raises(OSError, match="the cluster is gone"):
        explore(passes, executor=Broken())


def test_progress_comes_in_order(processes: Executor):
    shown: list[int] = []

    def show(report: Report) -> None:
        shown.append(report.runs)

    explore(passes, runs=3_000, executor=processes, progress=show)
    assert shown == sorted(set(shown))
    assert shown[-1] == 3_000


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        client.run(sys.path.insert, 0, str(Path(__file__).parent))  # a worker of Dask is a process of its own
        for options in ({}, {"stop": "never"}, {"search": "priorities"}):
            given = {"seed": 9, "runs": 1_500, **options}
            assert found(rare, executor=executor, **given) == found(rare, **given)
        assert explore(passes, runs=2_000, executor=executor).runs == 2_000
