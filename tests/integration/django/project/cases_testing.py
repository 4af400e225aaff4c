"""The backend for tests: a store in memory, on a clock that the test moves."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone as zones

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.test import TestCase, TransactionTestCase, override_settings
from django.utils import timezone
from live import TaskResultDoesNotExist
from work import tasks

from resonate_core.contrib.django import submit, task_backends
from resonate_core.contrib.django.testing import FreshStore, enqueued, reset_stores, run_until_idle, travel

#: The settings of a project's tests: the backend for tests under the name that its tasks have.
SIMULATED = {"default": settings.TASKS["simulated"]}
REAL = settings.TASKS["default"]
NOON = datetime(2026, 1, 5, 12, tzinfo=zones.utc)


@override_settings(TASKS=SIMULATED)
class InATestCase(FreshStore, TestCase):
    def test_tasks_run_when_the_test_says_so(self):
        result = tasks.add.enqueue(1, 2)
        result.refresh()
        assert result.status == "READY"
        assert [each.id for each in enqueued()] == [result.id]
        assert run_until_idle().outcomes == {"completed": 1}
        result.refresh()
        assert (result.return_value, result.worker_ids) == (3, ["test"])

    def test_each_test_begins_without_tasks(self):
        assert enqueued() == []

    def test_tasks_share_the_transaction_of_the_test(self):
        Group.objects.create(name="a")
        result = tasks.count_groups.enqueue()
        run_until_idle()
        result.refresh()
        assert result.return_value == 1

    def test_a_block_that_is_rolled_back_enqueues_nothing(self):
        with transaction.atomic():
            undone = tasks.add.enqueue(1, 2)
            transaction.set_rollback(True)
        with transaction.atomic():
            done = tasks.add.enqueue(3, 4)
        assert [each.id for each in enqueued()] == [done.id]
        assert [run.id for run in run_until_idle()] == [done.id]
        with pytest.raises(TaskResultDoesNotExist):
            undone.refresh()

    def test_callbacks_of_the_commit_can_be_captured(self):
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            result = tasks.add.enqueue(1, 2)
        assert len(callbacks) == 1
        assert task_backends["default"].store.jobs.get(result.id).state == "pending"

    def test_within_a_block_nothing_runs(self):
        with transaction.atomic():
            tasks.add.enqueue(1, 2)
            with pytest.raises(RuntimeError, match=r"the test must leave its atomic\(\) blocks first"):
                run_until_idle()

    def test_tasks_that_enqueue_tasks(self):
        tasks.make_group.enqueue("a")
        assert run_until_idle().outcomes == {"completed": 1}
        assert run_until_idle().outcomes == {"completed": 1}  # what the first has enqueued with its own commit

    def test_requests(self):
        store = task_backends["default"].store
        submit("promise.create", {"id": "flow", "timeoutAt": store.now + 1000})
        run_until_idle()
        assert store.promises.get("flow").state == "pending"

    def test_another_backend(self):
        both = override_settings(TASKS={**SIMULATED, "real": REAL})
        with both, pytest.raises(TypeError, match=r"TASKS\['real'\]\['BACKEND'\] must be"):
            run_until_idle("real")


@override_settings(TASKS=SIMULATED)
class Travelling(TestCase):
    def test_the_clock(self):
        with travel(NOON) as clock:
            assert timezone.now() == NOON
            result = tasks.come_back.enqueue(2)
            assert result.enqueued_at == NOON
            assert run_until_idle().outcomes == {"failed": 1}
            clock.advance(timedelta(hours=2))
            assert timezone.now() == NOON + timedelta(hours=2)
            assert run_until_idle().outcomes == {"completed": 1}
            result.refresh()
            assert result.finished_at == NOON + timedelta(hours=2)
        assert abs(timezone.now() - NOON) > timedelta(hours=3)

    def test_advance(self):
        with travel(NOON) as clock:
            later = tasks.add.using(run_after=NOON + timedelta(days=3)).enqueue(1, 2)
            early = tasks.too_early.enqueue()
            drained = run_until_idle(advance=True)
            assert [(run.id, run.outcome) for run in drained] == [
                (early.id, "snoozed"),
                (early.id, "completed"),
                (later.id, "completed"),
            ]
            assert clock.now == round((NOON + timedelta(days=3)).timestamp() * 1000)

    def test_until(self):
        with travel(NOON):
            tasks.add.using(run_after=NOON + timedelta(days=3)).enqueue(1, 2)
            assert len(run_until_idle(until=NOON + timedelta(days=2))) == 0
            assert timezone.now() == NOON + timedelta(days=2)
            assert len(run_until_idle(until=NOON + timedelta(days=4))) == 1

    def test_a_journey_leaves_nothing_behind(self):
        reset_stores()
        with travel(NOON):
            tasks.add.enqueue(1, 2)
            assert len(enqueued()) == 1
        assert [each.status for each in enqueued()] == ["READY"]  # of the test's own transaction, which is still open
        assert len(task_backends["default"].store.jobs.search()) == 0


@override_settings(TASKS=SIMULATED)
class WithRealTransactions(FreshStore, TransactionTestCase):
    def test_a_commit_enqueues(self):
        store = task_backends["default"].store
        with transaction.atomic():
            result = tasks.add.enqueue(1, 2)
            assert len(store.jobs.search()) == 0
        assert store.jobs.get(result.id).state == "pending"
        run_until_idle()
        result.refresh()
        assert result.return_value == 3
