"""Workflows: declared in an app, started with the transaction, run by the worker, and by tests on a clock that they move."""

from __future__ import annotations

from datetime import timedelta
from unittest import mock

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import TestCase, override_settings
from django.urls import reverse
from live import LiveTestCase, work
from work import workflows

from resonate_core.contrib.django import DjangoWorkflow, send, task_backends, workflow
from resonate_core.contrib.django.testing import FreshStore, enqueued, run_until_idle, travel
from resonate_core.contrib.django.workflows import workflows_of
from resonate_core.errors import Conflict, Invalid, NotFound

#: The settings of a project's tests: the backend for tests under the name that its workflows have.
SIMULATED = {"default": settings.TASKS["simulated"]}


class InADatabase(LiveTestCase):
    def test_it_starts_with_the_transaction(self):
        with transaction.atomic():
            id = workflows.approve.using(id="group-1").delay("a")
            Group.objects.create(name="mine")
            send("group-1", "word", "yes", key="k")
            send("group-1", "word", "no", key="k")
        assert id == "group-1"
        assert self.store.jobs.get("group-1").state == "pending"
        work()
        assert self.store.result("group-1") == "a: yes, 12"
        assert Group.objects.count() == 2

    def test_a_rollback_leaves_nothing(self):
        with transaction.atomic():
            workflows.approve.using(id="group-1").delay("a")
            transaction.set_rollback(True)
        work()
        assert len(self.store.workflows.search()) == 0

    def test_outside_of_a_transaction_it_exists_at_once_and_is_refused_at_once(self):
        id = workflows.doubled.delay(21)
        assert self.store.jobs.get(id).queue == "mail"
        assert workflows.doubled.using(id=id).delay(21) == id
        with pytest.raises(Conflict, match="exists with another"):
            workflows.approve.using(id=id).delay("a")
        with pytest.raises(NotFound):
            send("nobody", "word", "yes")
        with pytest.raises(Invalid, match="name: Expected `str`"):
            workflows.approve.delay(5)
        work()
        assert self.store.result(id) == 42

    def test_a_refusal_after_the_commit_is_a_problem_of_the_store(self):
        with transaction.atomic():
            send("nobody", "word", "yes")
        [problem] = self.store.problems()
        assert "nobody" in str(problem)

    def test_the_admin_shows_it(self):
        id = workflows.approve.delay("a")
        work()
        self.client.force_login(User.objects.create_superuser("root", "root@example.org", "x"))
        self.assertContains(self.client.get(reverse("admin:resonate_job_changelist")), "group:approve")
        self.assertContains(self.client.get(reverse("admin:resonate_job_change", args=[id])), "waiting")

    def test_connections_are_tidied_around_a_def_workflow(self):
        workflows.nap.using(id="nap").delay()
        with mock.patch("resonate_core.contrib.django.connections.connections.all", return_value=[]) as looked:
            work()
            assert looked.call_count == 2  # before and after the attempt
        assert task_backends["default"].store.jobs.get("nap").state == "waiting"


@override_settings(TASKS=SIMULATED)
class InATestCase(FreshStore, TestCase):
    def test_days_pass(self):
        with travel() as clock:
            begun = clock.now
            workflows.approve.using(id="group-1").delay("a")
            assert run_until_idle(advance=True).outcomes == {"suspended": 2, "completed": 2}
            assert task_backends["default"].store.result("group-1") == "a: silence, 11"
            assert timedelta(milliseconds=clock.now - begun) == timedelta(days=2)
        assert [group.name for group in Group.objects.all()] == ["a"]

    def test_what_is_in_an_open_transaction_waits(self):
        with transaction.atomic():
            workflows.approve.using(id="group-1").delay("a")
            with pytest.raises(RuntimeError, match="leave its atomic"):
                run_until_idle()
        assert run_until_idle().outcomes == {"suspended": 1}
        assert enqueued() == []  # a workflow is no task of Django

    def test_a_task_that_a_step_enqueues_runs(self):
        workflows.approve.using(id="group-1").delay("a")
        run_until_idle()
        send("group-1", "word", "go")
        assert run_until_idle().outcomes == {"suspended": 1, "completed": 2}
        assert [each.return_value for each in enqueued()] == [11]


class Declared(TestCase):
    def test_a_call_is_the_function(self):
        assert isinstance(workflows.nap, DjangoWorkflow)
        assert workflows.make_group("a") == 1
        with pytest.raises(RuntimeError, match="none runs here"):
            workflows.nap()
        assert repr(workflows.approve) == "<DjangoWorkflow 'group:approve'>"
        assert workflows.approve.__doc__ == "Makes a group, waits for a word, and has a task add."

    def test_types_of_a_backend(self):
        assert set(workflows_of("default")) == {"group:approve", "number:double", "work.workflows.nap"}
        assert workflows_of("apart") == {}

    def test_a_type_is_unique(self):
        with pytest.raises(Invalid, match="must be unique in a backend, got 'group:approve' twice"):
            workflow("group:approve")(lambda: None)

    def test_options(self):
        with pytest.raises(TypeError, match="speed"):
            workflow("fast", speed=2)(lambda: None)
