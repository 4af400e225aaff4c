"""How handlers of batches are registered: what their parameters receive, and the options of their jobs."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import BatchContext, BatchTask, JobContext, Worker


def test_what_handlers_get(worker: Worker):
    seen: dict[str, Any] = {}

    @worker.batch_task("bytes")
    def raw(payloads: list[bytes]):
        seen["bytes"] = payloads

    @worker.batch_task("values")
    def values(batch: BatchContext, payloads: list[rc.Value]):
        seen["values"] = payloads

    @worker.batch_task("context")
    def context(batch: BatchContext | None):
        seen["context"] = batch.payloads

    @worker.batch_task("nothing")
    def nothing():
        seen["nothing"] = True

    @worker.batch_task("default")
    def default(payloads, more=7):
        seen["default"] = (payloads, more)

    @worker.batch_task
    def bare(payloads, /):
        seen["bare"] = payloads

    for task in (raw, values, context, nothing, default, bare):
        task.enqueue(5)
    worker.run_until_idle()
    assert seen == {
        "bytes": [b"5"],
        "values": [rc.Value(data="NQ==")],
        "context": [5],
        "nothing": True,
        "default": ([5], 7),
        "bare": [5],
    }
    assert bare.type.endswith("bare") and isinstance(bare, BatchTask) and bare([1]) is None


def wrong_two(payloads, client): ...
def wrong_context(payloads, job: JobContext): ...
def wrong_by_name(*, payloads): ...
def wrong_twice(payloads, a: BatchContext, b: BatchContext): ...


@pytest.mark.parametrize("wrong", [wrong_two, wrong_context, wrong_by_name, wrong_twice])
def test_handlers_with_other_parameters_are_refused(worker: Worker, wrong):
    with pytest.raises(TypeError, match="list of payloads"):
        worker.batch_task("t")(wrong)
    assert worker.tasks == {} and worker.batched == set()


def test_a_type_has_one_handler(worker: Worker):
    worker.task("t")(lambda n: n)
    with pytest.raises(rc.errors.Invalid, match="has a handler"):
        worker.batch_task("t")(lambda payloads: None)
    with pytest.raises(TypeError, match="no option colour"):
        worker.batch_task("u", colour="red")(lambda payloads: None)
    assert worker.batched == set()


def test_groups_of_enqueue(worker: Worker, store: rc.Store):
    task = worker.batch_task("t", group="mine")(lambda payloads: None)
    assert [task.enqueue().group, task.enqueue(group="yours").group, task.enqueue(group=None).group] == ["mine", "yours", None]
    assert {job.group for job in task.enqueue_many([1, 2], group="theirs")} == {"theirs"}
    assert worker.enqueue("t").group == "mine" and worker.enqueue("other", group="g").group == "g"
    with pytest.raises(rc.errors.Invalid, match="group"):
        task.enqueue(group="")
