"""Exactly-once steps in a database of Django: the table, the transaction, and what `atomic()` means for them."""

from __future__ import annotations

import json
from io import StringIO
from threading import Event, Thread
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import TestCase, TransactionTestCase

from resonate_core.contrib.django.models import WorkflowStep
from resonate_core.errors import Invalid, Unsupported
from resonate_core.worker.transactions import StepKey, StepUnsettled, prune_steps, run_once, run_once_async

KEY = StepKey("order-7", 0, 0, "3")


def once(function: Any, session: Any = "default", step: str = "3") -> Any:
    return run_once(session, KEY._replace(step=step), function, ["a"], encode=json.dumps, decode=json.loads, name="place")


def place(session: Any, name: str) -> str:
    Group.objects.create(name=name)
    return name


class StepTests(TransactionTestCase):
    def test_once_by_alias_and_by_connection(self):
        got = []

        def note(session: Any, name: str) -> str:
            got.append(session)
            return place(session, name)

        assert [once(note), once(note), once(note, connection), once(note, connections["default"])] == ["a"] * 4
        once(lambda session, name: got.append(session), connection, step="4")
        assert got == ["default", connections["default"]]
        assert Group.objects.count() == 1
        step = WorkflowStep.objects.get(step="3")
        assert (step.job, step.name, step.result, str(step)) == ("order-7", "place", '"a"', "order-7, 3")

    def test_an_exception_undoes_it(self):
        def fail(session: Any, name: str) -> None:
            place(session, name)
            raise ValueError("no stock")

        with pytest.raises(ValueError, match="no stock"):
            once(fail)
        assert (Group.objects.count(), WorkflowStep.objects.count()) == (0, 0)
        assert once(place) == "a"

    def test_inside_of_atomic_it_is_refused(self):
        with transaction.atomic():
            Group.objects.create(name="mine")
            with pytest.raises(StepUnsettled, match=r"outside of atomic\(\)"):
                once(place)
        assert [group.name for group in Group.objects.all()] == ["mine"]

    def test_a_function_cannot_end_the_transaction(self):
        def commit(session: Any, name: str) -> None:
            place(session, name)
            transaction.commit()

        def give_up(session: Any, name: str) -> None:
            place(session, name)
            transaction.set_rollback(True)

        with pytest.raises(transaction.TransactionManagementError):
            once(commit)
        with pytest.raises(Invalid, match="must leave its transaction open"):
            once(give_up)
        assert (Group.objects.count(), WorkflowStep.objects.count()) == (0, 0)

    def test_inner_blocks_and_callbacks_after_the_commit(self):
        done = []

        def inner(session: Any, name: str) -> None:
            with transaction.atomic():
                place(session, name)
            try:
                with transaction.atomic():
                    place(session, "undone")
                    raise KeyError
            except KeyError:
                transaction.on_commit(lambda: done.append(WorkflowStep.objects.count()))

        once(inner)
        once(inner)
        assert (done, [group.name for group in Group.objects.all()]) == ([1], ["a"])

    def test_a_callback_that_raises_changes_nothing(self):
        def callback() -> None:
            raise RuntimeError("the mail was not sent")

        def with_callback(session: Any, name: str) -> str:
            transaction.on_commit(callback)
            return place(session, name)

        with self.assertLogs("resonate_core.worker", "WARNING") as logged:
            assert once(with_callback) == "a"
        assert "took effect, and has raised" in logged.output[0]
        assert Group.objects.count() == 1

    def test_two_threads(self):
        inside, go_on, results = Event(), Event(), []

        def wait(session: Any, name: str) -> str:
            inside.set()
            assert go_on.wait(30)
            return place(session, name)

        def run(function: Any) -> None:
            try:
                results.append(once(function, connections["default"]))
            finally:
                connections.close_all()

        first, second = Thread(target=run, args=[wait]), Thread(target=run, args=[place])
        first.start()
        assert inside.wait(30)
        second.start()
        second.join(0.3)
        assert second.is_alive()
        go_on.set()
        for each in (first, second):
            each.join(30)
        assert (results, Group.objects.count()) == (["a", "a"], 1)

    def test_without_autocommit_it_is_refused(self):
        connection.set_autocommit(False)
        try:
            with pytest.raises(StepUnsettled, match="must have AUTOCOMMIT"):
                once(place)
        finally:
            connection.rollback()
            connection.set_autocommit(True)

    def test_no_alias(self):
        with pytest.raises(Unsupported, match="a database of Django"):
            once(place, "other")

    async def test_an_asynchronous_function_has_no_transaction_of_django(self):
        async def nothing(session: Any) -> None:
            raise AssertionError("it ran")

        with pytest.raises(Unsupported, match="session must be an asynchronous one"):
            await run_once_async("default", KEY, nothing, encode=json.dumps, decode=json.loads)

    def test_old_rows_go(self):
        once(place)
        assert (prune_steps("default"), prune_steps("default", older_than=0), WorkflowStep.objects.count()) == (0, 1, 0)

    def test_the_migrations_are_those_of_the_models(self):
        call_command("makemigrations", "resonate", check=True, dry_run=True, stdout=StringIO())

    def test_the_table_may_be_there_before_its_migration(self):
        call_command("migrate", "resonate", "zero", verbosity=0)
        assert "resonate_steps" not in connection.introspection.table_names()
        assert once(place) == "a"
        call_command("migrate", "resonate", verbosity=0)
        assert once(place) == "a"
        assert (Group.objects.count(), WorkflowStep.objects.count()) == (1, 1)


class RolledBackTests(TestCase):
    """Django wraps each test in a transaction that it rolls back: a step is a part of it."""

    def test_a_step_sees_itself(self):
        assert [once(place), once(place)] == ["a", "a"]
        assert Group.objects.count() == 1

    def test_b_it_was_rolled_back(self):
        assert (Group.objects.count(), WorkflowStep.objects.count()) == (0, 0)
