"""Enqueue: transactions, priorities, queues, instants, and refused values."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone as zones

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.utils import timezone
from live import InvalidTask, LiveTestCase, TaskResultDoesNotExist, signals, work
from work import tasks

import resonate_core as rc
from resonate_core.contrib.django import graph, submit, task, task_backends
from resonate_core.contrib.django.backend import store_priority


class TransactionTests(LiveTestCase):
    def test_outside_of_a_transaction_it_is_enqueued_at_once(self):
        result = tasks.add.enqueue(1, b=2)
        job = self.store.jobs.get(result.id)
        assert (job.state, job.type, job.queue) == ("pending", "work.tasks.add", "default")
        assert job.payload.json() == {"args": [1], "kwargs": {"b": 2}}

    def test_it_exists_if_the_transaction_commits(self):
        with transaction.atomic():
            Group.objects.create(name="a")
            result = tasks.add.enqueue(1, 2)
            assert len(self.store.jobs.search()) == 0
        assert self.store.jobs.get(result.id).state == "pending"
        work()
        assert tasks.add.get_result(result.id).return_value == 3

    def test_it_does_not_exist_if_the_transaction_is_rolled_back(self):
        class Undo(Exception):
            pass

        try:
            with transaction.atomic():
                result = tasks.add.enqueue(1, 2)
                raise Undo
        except Undo:
            pass
        with pytest.raises(TaskResultDoesNotExist):
            tasks.add.get_result(result.id)
        assert len(work()) == 0

    def test_a_savepoint_takes_its_own_tasks_with_it(self):
        with transaction.atomic():
            kept = tasks.add.enqueue(1, 1)
            with transaction.atomic():
                undone = tasks.add.enqueue(2, 2)
                transaction.set_rollback(True)
            later = tasks.add.enqueue(3, 3)
        assert [job.id for job in self.store.jobs.search()] == [kept.id, later.id]
        with pytest.raises(TaskResultDoesNotExist):
            tasks.add.get_result(undone.id)

    def test_the_open_transaction_sees_its_own_results(self):
        with transaction.atomic():
            result = tasks.add.enqueue(1, 2)
            result.refresh()
            assert result.status == "READY"
            assert tasks.add.get_result(result.id).args == [1, 2]

    def test_a_process_that_dies_after_its_commit_has_enqueued(self):
        """Even if the callback after the commit never ran, a worker finds the enqueue request."""
        backend = task_backends["default"]
        with transaction.atomic():
            result = tasks.add.enqueue(20, 22)
            connection.run_on_commit = []
        assert backend.store.submissions_waiting == 1
        assert tasks.add.get_result(result.id).status == "READY"
        work()
        assert tasks.add.get_result(result.id).return_value == 42

    def test_without_autocommit_the_commit_counts(self):
        for commit in (True, False):
            transaction.set_autocommit(False)
            try:
                result = tasks.add.enqueue(1, 2)
                (transaction.commit if commit else transaction.rollback)()
            finally:
                transaction.set_autocommit(True)
            work()
            ids = [job.id for job in self.store.jobs.search()]
            assert (result.id in ids) == commit

    def test_tasks_of_one_transaction_run_in_their_order(self):
        with transaction.atomic():
            ids = [tasks.add.enqueue(n, 0).id for n in range(50)]
        assert [run.id for run in work()] == ids

    def test_many_in_one_transaction(self):
        with transaction.atomic():
            for number in range(1500):
                tasks.add.enqueue(number, 0)
        assert self.store.queues.stats("default")[0]["counts"]["pending"] == 1500

    def test_any_request_is_part_of_the_transaction(self):
        deadline = self.store.now + 60_000
        with transaction.atomic():
            submit("promise.create", {"id": "flow-1", "timeoutAt": deadline})
            transaction.set_rollback(True)
        with transaction.atomic():
            submit("promise.create", {"id": "flow-2", "timeoutAt": deadline})
        submit("promise.create", {"id": "flow-3", "timeoutAt": deadline})
        assert [promise.id for promise in self.store.promises.search("flow-*")] == ["flow-2", "flow-3"]
        with self.assertRaisesMessage(rc.NotFound, ""):
            submit("promise.settle", {"id": "flow-9", "state": "resolved"})
        with pytest.raises(rc.Invalid):
            submit("promise.create", {"id": "flow-4"})
        with self.assertRaisesMessage(LookupError, "backend must be one of default, apart, simulated, got 'x'"):
            submit("promise.create", {"id": "flow-4", "timeoutAt": deadline}, backend="x")

    def test_a_store_of_its_own_gets_the_task_after_the_commit(self):
        apart = task_backends["apart"].store
        with transaction.atomic():
            result = tasks.add.using(backend="apart").enqueue(1, 2)
            assert result.status == "READY"
            assert len(apart.jobs.search(id=result.id)) == 0
        assert apart.jobs.get(result.id).max_retries == 1
        with transaction.atomic():
            undone = tasks.add.using(backend="apart").enqueue(1, 2)
            transaction.set_rollback(True)
        assert len(apart.jobs.search(id=undone.id)) == 0
        work("apart")
        result.refresh()
        assert (result.return_value, result.backend) == (3, "apart")
        with pytest.raises(TaskResultDoesNotExist):
            tasks.add.get_result(result.id)  # the default backend does not have it

    def test_async(self):
        async def story():
            result = await tasks.add_async.aenqueue(1, 2)
            await sync_to_async(work)()
            await result.arefresh()
            again = await tasks.add_async.aget_result(result.id)
            return result.return_value, again.return_value

        assert asyncio.run(story()) == (3, 3)

    def test_the_signal(self):
        heard = []

        def hear(sender, task_result, **kwargs):
            heard.append((sender.__name__, task_result.id, task_result.status))

        signals.task_enqueued.connect(hear)
        try:
            result = tasks.add.enqueue(1, 2)
        finally:
            signals.task_enqueued.disconnect(hear)
        assert heard == [("ResonateBackend", result.id, "READY")]


class OptionTests(LiveTestCase):
    def test_priorities(self):
        shown = [store_priority(each) for each in (100, 98, 97, 50, 1, 0, -1, -50, -99, -100)]
        assert shown == [1, 1, 1, 25, 49, 50, 50, 75, 99, 100]
        ids = {priority: tasks.add.using(priority=priority).enqueue(priority, 0).id for priority in (-100, 0, 7, 100)}
        assert [run.id for run in work()] == [ids[100], ids[7], ids[0], ids[-100]]
        assert tasks.add.get_result(ids[7]).task.priority == 7

    def test_queues(self):
        mail = tasks.add.using(queue_name="mail").enqueue(1, 1)
        default = tasks.add.enqueue(2, 2)
        assert [run.id for run in work(queues="mail")] == [mail.id]
        assert [run.id for run in work()] == [default.id]
        assert tasks.add.get_result(mail.id).task.queue_name == "mail"
        with self.assertRaisesMessage(InvalidTask, "Queue 'other' is not valid"):
            tasks.add.using(queue_name="other")

    def test_run_after(self):
        at = timezone.now() + timedelta(hours=1)
        with transaction.atomic():
            result = tasks.add.using(run_after=at).enqueue(1, 2)
        job = self.store.jobs.get(result.id)
        assert (job.state, job.process_at) == ("scheduled", round(at.timestamp() * 1000))
        shown = tasks.add.get_result(result.id).task.run_after
        assert abs(shown - at) < timedelta(milliseconds=1)
        assert len(work()) == 0
        past = tasks.add.using(run_after=datetime(2020, 1, 1, tzinfo=zones.utc)).enqueue(1, 2)
        assert [run.id for run in work()] == [past.id]
        with self.assertRaisesMessage(InvalidTask, "run_after must be an aware datetime"):
            tasks.add.using(run_after=datetime(2040, 1, 1))

    def test_options_of_jobs(self):
        job = self.store.jobs.get(tasks.fail_twice.enqueue("x").id)
        assert (job.max_retries, job.retry_policy) == (2, {"kind": "fixed", "intervals": [0]})
        job = self.store.jobs.get(tasks.add.enqueue(1, 2).id)
        assert (job.max_retries, job.retry_policy["codes"], job.retention) == (5, ["WorkerCrashed", "UnknownType"], None)
        changed = tasks.add.using(timeout=timedelta(seconds=5), retention=1000, good_for=2000, on_exhausted="failed", max_retries=9)
        job = self.store.jobs.get(changed.enqueue(1, 2).id)
        assert (job.timeout, job.retention, job.on_exhausted, job.max_retries) == (5000, 1000, "failed", 9)
        assert "codes" not in job.retry_policy
        assert job.good_until is not None

    def test_options_that_are_refused(self):
        with self.assertRaisesMessage(
            InvalidTask, "work.tasks.add has an option that the store refuses: timeout must be at least 1, got 0"
        ):
            tasks.add.using(timeout=0)
        with self.assertRaisesMessage(TypeError, "a task has no option max_retry; there are"):
            tasks.add.using(max_retry=3)
        with self.assertRaisesMessage(InvalidTask, "priority must be a whole number"):
            tasks.add.using(priority=101)
        with self.assertRaisesMessage(InvalidTask, "must be defined at a module level"):
            task(lambda: None)

    def test_arguments_that_json_cannot_hold_are_refused_before_anything_is_written(self):
        def enqueue_inside(argument):
            with transaction.atomic():
                tasks.add.enqueue(argument, 1)

        for argument, error in ((object(), TypeError), (float("nan"), ValueError), ({"a": {1}}, TypeError)):
            with self.subTest(argument=argument):
                with pytest.raises(error):
                    enqueue_inside(argument)
                with pytest.raises(error):
                    tasks.add.enqueue(argument, 1)
        assert (len(self.store.jobs.search()), self.store.submissions_waiting) == (0, 0)

    def test_an_id_of_the_caller(self):
        first = tasks.add.using(result_id="sum-1").enqueue(1, 2)
        again = tasks.add.using(result_id="sum-1").enqueue(1, 2)
        assert (first.id, again.id, len(self.store.jobs.search())) == ("sum-1", "sum-1", 1)
        with pytest.raises(rc.Conflict):
            tasks.add.using(result_id="sum-1").enqueue(3, 4)

    def test_a_task_becomes_the_promise_that_a_workflow_awaits(self):
        self.store.promises.create("flow:1", timeout=60_000)
        with transaction.atomic():
            tasks.add.using(result_id="flow:1").enqueue(1, 2)
        work()
        assert self.store.promises.get("flow:1").value.json() == 3


class WaitingTests(LiveTestCase):
    def test_a_task_waits_for_others_of_its_transaction(self):
        with transaction.atomic():
            one, two = tasks.add.enqueue(1, 2), tasks.add.enqueue(3, 4)
            total = tasks.add_all.using(after=[one, two.id]).enqueue()
        assert (self.store.jobs.get(total.id).state, total.status) == ("waiting", "READY")
        assert tasks.add_all.get_result(total.id).status == "READY"
        work()
        assert tasks.add_all.get_result(total.id).return_value == 10

    def test_a_failure_cancels_it_or_lets_it_run(self):
        failed = tasks.fail.using(on_exhausted="failed", max_retries=0).enqueue("no")
        cancelled = tasks.add_all.using(after=failed).enqueue()
        ran = tasks.failures.using(after=failed, after_failed="run").enqueue()
        work()
        assert tasks.add_all.get_result(cancelled.id).status == "FAILED"
        assert self.store.jobs.get(cancelled.id).error["code"] == "DependencyFailed"
        assert tasks.failures.get_result(ran.id).return_value == [failed.id]

    def test_what_is_refused(self):
        with pytest.raises(rc.Unprocessable):
            tasks.add.using(after="nothing").enqueue(1, 2)
        with pytest.raises(InvalidTask, match="afterFailed must be cancel or run"):
            tasks.add.using(after="a", after_failed="never").enqueue(1, 2)
        with pytest.raises(TypeError, match="after must be an id"):
            tasks.add.using(after=5).enqueue(1, 2)
        assert len(self.store.jobs.search()) == 0

    def test_a_graph_exists_if_the_transaction_commits(self):
        def built():
            made = graph("order-7")
            made.add("total", tasks.add_all, after=["one", "two"])
            made.add("one", tasks.add.node(1, b=2))
            made.add("two", tasks.add.using(priority=5).node(3, 4))
            return made

        with transaction.atomic():
            built().enqueue()
            transaction.set_rollback(True)
        assert len(self.store.jobs.search()) == 0
        with transaction.atomic():
            results = built().enqueue()
            assert tasks.add_all.get_result("order-7:total").status == "READY"
            assert len(self.store.jobs.search()) == 0
        assert {name: (each.id, each.args, each.status) for name, each in results.items()} == {
            "total": ("order-7:total", [], "READY"),
            "one": ("order-7:one", [1], "READY"),
            "two": ("order-7:two", [3, 4], "READY"),
        }
        assert results["one"].kwargs == {"b": 2}
        assert self.store.jobs.get("order-7:total").after == ("order-7:one", "order-7:two")
        work()
        assert tasks.add_all.get_result("order-7:total").return_value == 10

    def test_a_refused_task_refuses_the_graph(self):
        made = graph("g")
        made.add("one", tasks.add.node(1, 2))
        made.add("all", tasks.add_all, after=["one", "nothing"])
        with pytest.raises(rc.Unprocessable, match="node 'all' of graph 'g': awaited promise"):
            made.enqueue()
        with pytest.raises(TypeError, match="options of a task must be given by using"):
            made.add("two", tasks.add, priority=3)
        with pytest.raises(rc.Invalid, match="must not have an id of its own"):
            made.add("two", tasks.add.using(result_id="x").node(1, 2))
        assert (len(self.store.jobs.search()), graph().enqueue()) == (0, {})
