"""``world.call(..., timeout=)`` passed `timeout` to the function; arguments that it does not take were tried for ever; `id` and `what` clashed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import simulate
from resonate_core.worker import Worker

HOUR = 3_600_000


def greet(name: str, id: str = "", what: str = "") -> str:
    return f"hello {name}{id}{what}"


def patient(timeout: int) -> int:
    return timeout


def make_worker(store: Any) -> Worker:
    worker = Worker(store)
    worker.task("greet")(greet)
    worker.task("patient")(patient)
    return worker


def called(*args: Any, **kwargs: Any) -> Any:
    """The job of a call, before it runs, and its result."""

    async def scenario(world: Any) -> tuple[Any, Any]:
        world.worker("a", make_worker)
        world.crash("a")
        await world.call("j", *args, **kwargs)
        job = world.store.jobs.get("j")
        world.restart("a")
        return job, (await world.settled("j", within="1 h")).value.json()

    return simulate(scenario).value


@pytest.mark.parametrize("what", ["greet", greet])
@pytest.mark.parametrize("timeout", ["1 h", HOUR])
def test_timeout_is_the_limit_of_each_attempt_of_a_job(what: Any, timeout: Any):
    job, result = called(what, "ada", timeout=timeout)
    assert (job.timeout, job.payload.json(), result) == (HOUR, {"name": "ada"}, "hello ada")
    assert called(what, "ada")[0].timeout is None


def test_a_function_has_parameters_of_any_name():
    assert called("greet", "ada", id="1", what="2")[1] == "hello ada12"
    assert called("patient", 5)[1] == 5
    assert called("patient", 5)[0].timeout is None
    with pytest.raises(rc.Invalid, match=r"timeout must be left out for .*, got 7: pass the argument of the function by position"):
        called("patient", timeout=7)


def test_options_of_a_job_are_those_of_a_task():
    told = r"greet: got an unexpected keyword argument 'max_retries'; max_retries of its job: task\.using\(max_retries=\.\.\.\)"
    with pytest.raises(TypeError, match=told):
        called("greet", "ada", max_retries=0)
    with pytest.raises(TypeError, match=told):
        Worker(rc.Store()).task("greet")(greet).delay("ada", max_retries=0)
    task = Worker().task("greet")(greet)
    assert called(task.using(max_retries=0, priority=3), "ada", timeout=5000)[0].max_retries == 0


if sys.version_info >= (3, 12):

    async def answer(ctx: Any, name: str, id: str = "", what: str = "") -> str:
        return f"hello {name}{id}{what}"

    async def slow(ctx: Any, timeout: int) -> int:
        return timeout

    async def settled(world: Any, *args: Any, **kwargs: Any) -> Any:
        world.program("p", lambda resonate: (resonate.register(answer), resonate.register(slow)))
        await world.call("f", *args, **kwargs)
        promise = await world.settled("f", within="1 min")
        return promise.timeout_at - promise.created_at, promise.value.json()

    def ran(*args: Any, **kwargs: Any) -> Any:
        return simulate(lambda world: settled(world, *args, **kwargs)).value

    @pytest.mark.parametrize("what", ["answer", answer])
    def test_timeout_is_the_deadline_of_a_durable_function(what: Any):
        assert ran(what, "ada", timeout="1 h") == (HOUR, "hello ada")
        assert ran(answer, "ada", id="1", what="2") == (365 * 24 * HOUR, "hello ada12")
        assert ran(slow, 5)[1] == 5
        with pytest.raises(rc.Invalid, match="timeout must be left out"):
            ran(slow, timeout=5)

    def test_arguments_that_the_function_does_not_take_are_refused():
        with pytest.raises(TypeError, match="answer: got an unexpected keyword argument 'nme'"):
            ran(answer, "ada", nme="ada")
        with pytest.raises(TypeError, match="answer: missing a required argument: 'name'"):
            ran(answer)

    def test_a_call_whose_promise_cannot_be_created_raises():
        """It waited for the promise for ever."""
        with pytest.raises(Exception, match="object"):
            ran(answer, object())
