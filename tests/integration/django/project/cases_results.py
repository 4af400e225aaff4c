"""Results: what a task returned, how it failed, and which worker ran it."""

from __future__ import annotations

import threading
from datetime import timezone as zones
from unittest import mock

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection
from live import LiveTestCase, TaskResultDoesNotExist, TaskResultMismatch, signals, work
from work import tasks

from resonate_core.contrib.django import handlers, task_backends


class ResultTests(LiveTestCase):
    def run_one(self, task, *args):
        result = task.enqueue(*args)
        work()
        result.refresh()
        return result

    def test_success(self):
        result = self.run_one(tasks.add, 1, 2)
        assert (result.status, result.return_value, result.errors, result.worker_ids) == ("SUCCESSFUL", 3, [], ["worker-a"])
        assert result.attempts == 1
        assert result.is_finished
        assert result.enqueued_at <= result.started_at <= result.finished_at
        assert result.last_attempted_at == result.started_at
        assert (result.enqueued_at.tzinfo is zones.utc) == settings.USE_TZ

    def test_a_result_before_its_end(self):
        result = tasks.add.enqueue(1, 2)
        result.refresh()
        assert (result.status, result.started_at, result.finished_at, result.attempts) == ("READY", None, None, 0)
        with self.assertRaisesMessage(ValueError, "not finished"):
            _ = result.return_value

    def test_while_it_runs(self):
        self.store.jobs.enqueue("work.tasks.add", {"args": [1, 2], "kwargs": {}}, id="held")
        self.store.jobs.claim("default", worker="w", lease=60_000, start=1)
        result = tasks.add.get_result("held")
        assert (result.status, result.worker_ids, result.finished_at) == ("RUNNING", ["w"], None)
        self.store.jobs.cancel("held")

    def test_failure(self):
        result = self.run_one(tasks.fail, "none there")
        assert (result.status, result.attempts) == ("FAILED", 1)
        (error,) = result.errors
        assert error.exception_class is LookupError
        assert error.traceback.rstrip().endswith("LookupError: none there")
        assert "in fail" in error.traceback
        with self.assertRaisesMessage(ValueError, "Task failed"):
            _ = result.return_value

    def test_a_failure_is_not_retried_unless_the_task_says_so(self):
        assert self.run_one(tasks.fail, "x").attempts == 1
        result = self.run_one(tasks.fail_twice, "x")
        assert (result.status, result.attempts, result.return_value) == ("SUCCESSFUL", 3, "third time")
        assert [error.exception_class for error in result.errors] == [LookupError, LookupError]
        assert self.run_one(tasks.fail_for_good).attempts == 1

    def test_a_crash_of_the_worker_is_retried(self):
        result = tasks.add.enqueue(1, 2)
        self.store.jobs.claim("default", worker="dead", lease=1, start=1)
        while self.store.jobs.get(result.id).state == "running":
            self.store.tick()
        assert tasks.add.get_result(result.id).status == "READY"
        self.store.jobs.run(result.id)
        work()
        result.refresh()
        assert (result.return_value, result.worker_ids) == (3, ["dead", "worker-a"])
        assert result.errors[0].traceback == "WorkerCrashed: the worker's lease expired"

    def test_an_error_with_a_code(self):
        result = self.run_one(tasks.refuse)
        assert (result.status, result.attempts) == ("FAILED", 1)
        assert result.errors[0].exception_class.__name__ == "JobError"
        assert result.errors[0].traceback == "CardDeclined: insufficient funds"
        assert self.store.jobs.get(result.id).error["code"] == "CardDeclined"

    def test_a_cancelled_task(self):
        result = tasks.add.enqueue(1, 2)
        self.store.jobs.cancel(result.id)
        result.refresh()
        assert result.status == "FAILED"
        assert result.finished_at is not None
        assert result.errors[0].exception_class.__name__ == "JobCancelled"

    def test_an_expired_task(self):
        result = tasks.add.using(good_for=1).enqueue(1, 2)
        while self.store.jobs.get(result.id).state != "expired":
            self.store.tick()
        result.refresh()
        assert (result.status, result.errors[0].exception_class) == ("FAILED", TimeoutError)

    def test_what_json_cannot_hold_fails_the_task(self):
        result = self.run_one(tasks.return_a_set)
        assert (result.status, result.errors[0].exception_class) == ("FAILED", TypeError)

    def test_the_context(self):
        assert self.run_one(tasks.which_attempt, "hello").return_value == [1, "hello", "RUNNING", True, 1]

    def test_no_such_result(self):
        for id in ("none", "", "a" * 10_000, "\0"):
            with self.subTest(id=id[:10]), pytest.raises(TaskResultDoesNotExist):
                task_backends["default"].get_result(id)
        result = tasks.add.enqueue(1, 2)
        with pytest.raises(TaskResultMismatch):
            tasks.fail.get_result(result.id)

    def test_jobs_that_are_no_tasks_have_no_result(self):
        self.store.jobs.enqueue("work.tasks.no_task", {"args": [], "kwargs": {}}, id="function")
        self.store.jobs.enqueue("nowhere.at.all", id="module")
        self.store.jobs.enqueue("work.tasks.add", [1, 2], id="payload")
        for id in ("function", "module", "payload"):
            with self.subTest(id=id), pytest.raises(TaskResultDoesNotExist):
                task_backends["default"].get_result(id)
        work()
        states = [self.store.jobs.get(id).state for id in ("function", "module", "payload")]
        assert states == ["scheduled", "scheduled", "archived"]  # another worker may have it; another attempt would not help
        assert self.store.jobs.get("payload").error["code"] == "InvalidPayload"

    def test_a_task_of_a_newer_release_waits_for_a_newer_worker(self):
        result = tasks.add.enqueue(1, 2)
        with mock.patch.object(handlers, "task_of", return_value=None), mock.patch.object(handlers.Handlers, "discover"):
            work()
        assert self.store.jobs.get(result.id).attempts[0]["outcome"] == "snoozed"
        result.refresh()
        assert result.status == "READY"
        self.store.jobs.run(result.id)
        work()
        result.refresh()
        assert result.return_value == 3

    def test_a_renamed_task(self):
        with mock.patch.object(tasks, "old_name", tasks.add, create=True):
            self.store.jobs.enqueue("work.tasks.old_name", {"args": [1, 2], "kwargs": {}}, id="old")
            work()
            assert tasks.add.get_result("old").return_value == 3

    def test_transactions_of_tasks(self):
        result = self.run_one(tasks.make_group_and_fail, "a")
        assert (result.status, Group.objects.count(), len(self.store.jobs.search(type="work.tasks.add"))) == ("FAILED", 0, 0)
        result = self.run_one(tasks.make_group, "b")
        assert (result.status, Group.objects.count(), len(self.store.jobs.search(type="work.tasks.add"))) == ("SUCCESSFUL", 1, 1)

    def test_the_signals_of_a_task(self):
        heard = []

        def hear(name):
            def receiver(sender, task_result, **kwargs):
                heard.append((name, task_result.status, task_result.attempts))
                raise RuntimeError("a receiver that fails does not change the outcome")

            return receiver

        receivers = {name: hear(name) for name in ("task_started", "task_finished")}
        for name, receiver in receivers.items():
            getattr(signals, name).connect(receiver)
        try:
            assert self.run_one(tasks.fail_twice, "x").status == "SUCCESSFUL"
            assert self.run_one(tasks.fail, "x").status == "FAILED"
        finally:
            for name, receiver in receivers.items():
                getattr(signals, name).disconnect(receiver)
        assert heard == [
            ("task_started", "RUNNING", 1),
            ("task_started", "RUNNING", 2),
            ("task_started", "RUNNING", 3),
            ("task_finished", "SUCCESSFUL", 3),
            ("task_started", "RUNNING", 1),
            ("task_finished", "FAILED", 1),
        ]

    def test_connections_are_renewed_between_tasks(self):
        connection.close()
        self.run_one(tasks.break_connection)
        assert self.run_one(tasks.count_groups).return_value == 0

    def test_threads_share_one_store(self):
        stores = []
        threads = [threading.Thread(target=lambda: stores.append(task_backends["default"].store)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({id(store) for store in stores}) == 1
