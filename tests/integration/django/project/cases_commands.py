"""The commands that end by themselves: health, prune, and a worker until it is idle."""

from __future__ import annotations

import json
from io import StringIO
from unittest import mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test import override_settings
from live import LiveTestCase, work
from work import tasks

import resonate_core as rc
from resonate_core.contrib.django import ResonateBackend, submit, task_backends


def said(*words):
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


class Health(LiveTestCase):
    def test_it_is_well(self):
        tasks.add.enqueue(1, 2)
        tasks.fail.using(queue_name="mail").enqueue("x")
        work(queues="mail")
        line = said("resonate_health", "--backend", "default")
        assert line.startswith("default: ok; ")
        assert "1 runnable (longest wait " in line
        assert line.endswith("s), 0 later, 0 running, 1 failed\n")
        assert "password" not in line

    def test_json(self):
        found = [json.loads(line) for line in said("resonate_health", "--json").splitlines()]
        assert [(each["backend"], each["ok"], each["problems"]) for each in found] == [
            ("default", True, []),
            ("apart", True, []),
            ("simulated", True, []),
        ]
        assert found[0]["counts"]["pending"] == 0

    def unwell(self, *words):
        out = StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("resonate_health", "--backend", "default", *words, stdout=out)
        assert ended.value.code == 1
        return out.getvalue()

    def test_limits(self):
        tasks.fail.enqueue("x")
        work()
        tasks.add.enqueue(1, 2)
        waiting = self.store.jobs.search(state="pending")[0].enqueued_at
        while self.store.now <= waiting:
            self.store.tick()
        assert "a task has waited for " in self.unwell("--max-latency", "0")
        assert "1 failed tasks wait for a person, and --max-failed is 0" in self.unwell("--max-failed", "0")
        assert said("resonate_health", "--backend", "default", "--max-latency", "600", "--max-failed", "1")

    def test_a_request_that_was_refused_after_its_commit(self):
        with transaction.atomic():
            submit("promise.settle", {"id": "none", "state": "resolved"})
        assert "NOT OK" in self.unwell()
        with connection.cursor() as cursor:
            table = "resonate_inbox" if connection.vendor == "sqlite" else "resonate.inbox"
            cursor.execute(f"DELETE FROM {table}")

    def test_a_store_that_does_not_answer(self):
        with mock.patch.object(ResonateBackend, "store", mock.PropertyMock(side_effect=rc.StoreError("no route to host"))):
            assert self.unwell() == "default: NOT OK; the store does not answer: no route to host\n"

    def test_an_unknown_backend(self):
        with pytest.raises(CommandError, match="backend must be one of default, apart, simulated, got 'x'"):
            call_command("resonate_health", "--backend", "x")
        with (
            override_settings(TASKS={"default": {"BACKEND": "tests.none"}}),
            pytest.raises(CommandError),
        ):
            call_command("resonate_health", skip_checks=True)


class Prune(LiveTestCase):
    def test_what_is_old(self):
        done, failed, waiting = tasks.add.enqueue(1, 2), tasks.fail.enqueue("x"), tasks.add.using(queue_name="mail").enqueue(1, 2)
        work(queues="default")
        assert said("resonate_prune", "--older-than", "1d") == "deleted 0 ended\n"
        ended = self.store.jobs.get(failed.id).failed_at
        while self.store.now <= ended + 1:
            self.store.tick()
        assert said("resonate_prune", "--older-than", "0s") == "deleted 1 ended\n"
        assert said("resonate_prune", "--older-than", "0s", "--failed") == "deleted 0 ended, 1 failed\n"
        assert [job.id for job in self.store.jobs.search()] == [waiting.id]
        assert done.id not in {job.id for job in self.store.jobs.search()}

    def test_durations(self):
        for text in ("", "30", "d", "1y", "-1d", "1.5h"):
            with self.subTest(text=text), pytest.raises(CommandError, match="a duration must be a whole number with a unit"):
                call_command("resonate_prune", f"--older-than={text}")
        with pytest.raises(CommandError, match="--older-than"):
            call_command("resonate_prune")


class WorkerUntilIdle(LiveTestCase):
    def test_it_runs_what_can_run(self):
        tasks.add.enqueue(1, 2)
        tasks.fail.enqueue("x")
        mail = tasks.add.using(queue_name="mail").enqueue(1, 2)
        assert said("resonate_worker", "--until-idle", "--queues", "default") == "2 attempts: 1 completed, 1 failed\n"
        assert said("resonate_worker", "--until-idle", "--queues", "mail=3,default", "--name", "w") == "1 attempt: 1 completed\n"
        assert task_backends["default"].get_result(mail.id).worker_ids == ["w"]

    def test_options_that_are_refused(self):
        for words, message in (
            (("--queues", "a="), "--queues must be names separated by commas, or name=weight, got 'a='"),
            (("--concurrency", "0"), "concurrency must be at least 1, got 0"),
            (("--backend", "x"), "backend must be one of"),
        ):
            with self.subTest(words=words), pytest.raises(CommandError, match=message):
                call_command("resonate_worker", "--until-idle", *words)
