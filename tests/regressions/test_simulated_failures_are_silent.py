"""A simulation printed nothing of a function that raised: neither of a job's nor of an SDK program's, for as long as it was tried again."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest

from resonate_core.testing import Failure, explore, simulate
from resonate_core.testing.simulation import check_determinism
from resonate_core.worker import JobError, Worker

UNDEFINED = "NameError: name 'qwzx' is not defined"


def undefined(a: int = 0) -> Any:
    return qwzx  # type: ignore[name-defined]  # noqa: F821


async def undefined_async(a: int = 0) -> Any:
    return qwzx  # type: ignore[name-defined]  # noqa: F821


def refused() -> None:
    raise JobError("CardDeclined", "insufficient funds", retryable=False)


def make_worker(store: Any) -> Worker:
    worker = Worker(store)
    worker.task("bad", max_retries=1, retry_policy={"kind": "fixed", "intervals": [60_000]})(undefined)
    worker.task("bad_async", max_retries=0)(undefined_async)
    worker.task("refused")(refused)
    return worker


async def job(world: Any) -> None:
    world.worker("a", make_worker)
    await world.call("j", "bad", 1)
    await world.sleep("1 h")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings, each with the last line of its traceback."""
    return [
        f"{record.getMessage()} | {logging.Formatter().format(record).splitlines()[-1]}"
        for record in caplog.records
        if record.levelno == logging.WARNING
    ]


def test_each_attempt_of_a_job_is_a_warning_with_its_traceback_and_the_next_try(caplog: pytest.LogCaptureFixture):
    simulate(job)
    start = "job j of type bad, attempt {}, failed: UnhandledError " + UNDEFINED
    assert told(caplog) == [
        f"{start.format(1)}; the next attempt begins in 1m, at 1970-01-01T00:01:00.000Z | {UNDEFINED}",
        f"{start.format(2)}; there is no further attempt | {UNDEFINED}",
    ]
    assert all("in undefined\n    return qwzx" in logging.Formatter().format(record) for record in caplog.records)


@pytest.mark.parametrize(
    ("type", "code"), [("bad_async", "UnhandledError NameError"), ("refused", "CardDeclined insufficient funds")]
)
def test_a_job_without_a_further_attempt(caplog: pytest.LogCaptureFixture, type: str, code: str):
    async def scenario(world: Any) -> None:
        world.worker("a", make_worker)
        await world.call("j", type)
        await world.sleep("1 h")

    simulate(scenario)
    (line,) = told(caplog)
    assert line.startswith(f"job j of type {type}, attempt 1, failed: {code}")
    assert "; there is no further attempt | " in line


def test_the_log_changes_no_run(caplog: pytest.LogCaptureFixture):
    check_determinism(job)
    assert len(told(caplog)) == 1  # both attempts have failed at the same line
    caplog.clear()
    simulate(job, twice=True)
    assert len(told(caplog)) == 3


def test_a_search_logs_each_failure_of_a_function_once(caplog: pytest.LogCaptureFixture):
    explore(job, runs=20, seed=1)
    explore(job, runs=2, seed=1)
    assert len(told(caplog)) == 1


def test_faults_are_not_logged(caplog: pytest.LogCaptureFixture):
    async def scenario(world: Any) -> None:
        world.worker("a", lambda store: _good(store))
        world.faults(lose_request=0.3, lose_reply=0.3)
        for number in range(10):
            await world.call(f"j{number}", "good")
        await world.sleep("1 h")

    simulate(scenario)
    assert told(caplog) == []


def _good(store: Any) -> Worker:
    worker = Worker(store)
    worker.task("good")(lambda: 5)
    return worker


if sys.version_info >= (3, 12):

    async def step(ctx: Any) -> None:
        return qwzx  # type: ignore[name-defined]  # noqa: F821

    async def flow(ctx: Any) -> None:
        await ctx.run(step)

    async def unstorable(ctx: Any) -> Any:
        return object()

    def register(resonate: Any) -> None:
        for function in (step, flow, unstorable):
            resonate.register(function)

    async def program(world: Any) -> None:
        world.program("p", register)
        await world.call("f", flow)
        await world.settled("f", within="5 s")

    def test_each_attempt_of_a_program_is_a_warning_and_the_assertion_names_it(caplog: pytest.LogCaptureFixture):
        with pytest.raises(
            AssertionError, match=rf"'f' is not settled within 5000 ms: .*; attempt 2 of step failed with {UNDEFINED}; .*"
        ):
            simulate(program)
        first, second = told(caplog)
        assert (
            first
            == f"f:1 (step) on worker 'p', attempt 1, failed: {UNDEFINED}; the next attempt begins in 2s, at 1970-01-01T00:00:02.000Z | {UNDEFINED}"
        )
        assert second.startswith("f:1 (step) on worker 'p', attempt 2")

    def test_a_search_for_the_failure_of_a_program_logs_it_once(caplog: pytest.LogCaptureFixture):
        with pytest.raises(Failure, match="attempt 2 of step failed"):
            explore(program, runs=3, seed=1)
        assert len(told(caplog)) == 1

    def test_a_result_that_cannot_be_stored_is_logged(caplog: pytest.LogCaptureFixture):
        """The SDK releases the task, and acquires it again, for ever."""

        async def scenario(world: Any) -> None:
            world.program("p", register)
            await world.call("u", unstorable)
            await world.sleep("1 s")

        simulate(scenario)
        found = {record.getMessage() for record in caplog.records if record.levelno == logging.ERROR}
        assert found == {"core: execution failed, releasing task task_id=u promise_id=u"}


def test_a_record_of_the_logger_of_steps_that_is_no_attempt_is_kept_out(caplog: pytest.LogCaptureFixture):
    async def warns(world: Any) -> None:
        logging.getLogger("resonate_core.connection.attempts").warning("no attempt")

    simulate(warns)
    assert told(caplog) == []
