"""A task: its name, its options, and those of its jobs."""

from __future__ import annotations

import pytest

import resonate_core as rc
from resonate_core.worker import Worker


def whole(payload):
    return payload


def members(a, b):
    return a, b


def test_a_task_is_its_function(worker: Worker):
    @worker.task
    def double(n: int) -> int:
        """Doubles a number."""
        return 2 * n

    assert double(4) == 8
    assert double.__doc__ == "Doubles a number." and double.__name__ == "double"
    assert double.type.endswith("test_a_task_is_its_function.<locals>.double")
    assert repr(double) == f"<WorkerTask {double.type!r}>"
    assert worker.tasks == {double.type: double}


def test_a_type_has_one_handler(worker: Worker):
    worker.task("t")(whole)
    with pytest.raises(rc.errors.Invalid, match="'t', which has a handler"):
        worker.task("t")(members)
    with pytest.raises(rc.errors.Invalid, match="type must not be empty"):
        worker.task("")(members)


def test_options_that_nobody_knows_are_named(worker: Worker):
    with pytest.raises(TypeError, match="no option max_retrys"):
        worker.task("t", max_retrys=3)(whole)
    task = worker.task("u")(whole)
    with pytest.raises(TypeError, match="no option prio"):
        task.enqueue(1, prio=3)


def test_an_id_is_of_one_job_not_of_a_task(worker: Worker):
    with pytest.raises(TypeError, match="no option id"):
        worker.task("t", id="x")(whole)


def test_options_of_the_task_are_those_of_its_jobs(worker: Worker):
    task = worker.task("t", queue="mail", priority=3, tags={"a": "1"}, timeout=500, max_retries=2, good_for=100)(whole)
    first, second = task.enqueue(1), task.enqueue(2, priority=9, good_until=77, tags={})
    assert (first.queue, first.priority, first.tags, first.timeout, first.max_retries, first.good_until) == (
        "mail",
        3,
        {"a": "1"},
        500,
        2,
        100,
    )
    assert (second.queue, second.priority, second.tags, second.good_until) == ("mail", 9, {}, 77)


def test_a_lifecycle_of_the_worker_is_given_to_its_jobs(store: rc.Store):
    worker = Worker(store, lifecycle="horsies")
    task = worker.task("t")(whole)
    assert task.enqueue(1).max_retries == 0
    assert task.enqueue(1, lifecycle="asynq").max_retries == 25
    assert worker.enqueue("unknown").max_retries == 0


def test_many_at_once(worker: Worker, store: rc.Store):
    task = worker.task("t", queue="default")(whole)
    jobs = task.enqueue_many([1, 2, 3], ids=["a", "b", "c"], tags={"batch": "1"})
    assert [job.id for job in jobs] == ["a", "b", "c"]
    assert [(run.id, run.result) for run in worker.run_until_idle()] == [("a", 1), ("b", 2), ("c", 3)]
    assert store.jobs.get("b").tags == {"batch": "1"}


def test_unique_for_of_a_task_is_of_its_keyed_jobs(worker: Worker):
    task = worker.task("t", unique_for=1000)(whole)
    keyed = task.enqueue(1, unique_key="k")
    assert (keyed.unique_key, keyed.unique_for) == ("k", 1000)
    with pytest.raises(rc.errors.Conflict):
        task.enqueue(2, unique_key="k")


def test_what_a_call_says_is_not_given_up(worker: Worker):
    """An option of the task gives way to one of the call; options of one call that contradict each other are refused, as by the store."""
    task = worker.task("t", good_for=1000)(whole)
    assert task.enqueue(1, good_until=9000).good_until == 9000
    with pytest.raises(rc.errors.Invalid, match="not both"):
        task.enqueue(1, good_for=1000, good_until=9000)
    with pytest.raises(rc.errors.Invalid, match="unique_for needs a unique_key"):
        task.enqueue(1, unique_for=5000)
