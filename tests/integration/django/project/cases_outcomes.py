"""The signal of the end agrees with the store, and tasks see nothing of the task before."""

from __future__ import annotations

import sys
from unittest import skipIf

from django.core.cache import caches
from django.utils import timezone, translation
from live import InvalidTask, LiveTestCase, signals, work
from work import tasks

from resonate_core.contrib.django import task, task_backends
from resonate_core.contrib.django.handlers import make_worker
from resonate_core.contrib.django.testing import reset_stores, run_until_idle
from resonate_core.worker.signature import is_generator


class Heard:
    """What the signal says while the block runs."""

    def __enter__(self):
        self.statuses = []
        signals.task_finished.connect(self._hear)
        return self

    def __exit__(self, *raised):
        signals.task_finished.disconnect(self._hear)

    def _hear(self, sender, task_result, **kwargs):
        self.statuses.append(str(task_result.status))


class OutcomeTests(LiveTestCase):
    def outcome(self, task, *args):
        result = task.enqueue(*args)
        with Heard() as heard:
            work()
        result.refresh()
        return result.status, heard.statuses

    def test_a_result_that_no_store_takes(self):
        for which in ("nan", "surrogate", "inside"):
            with self.subTest(which=which):
                assert self.outcome(tasks.return_what_no_store_takes, which) == ("FAILED", ["FAILED"])
                (job,) = self.store.jobs.search(type=tasks.return_what_no_store_takes.module_path)
                assert (job.state, job.error["code"]) == ("archived", "InvalidResult")
                self.clear()

    def test_a_task_that_returns_after_its_time_sends_no_signal(self):
        for how, options in (("timeout", {"timeout": 5000}), ("cancel", {})):
            with self.subTest(how=how), Heard() as heard:
                reset_stores()
                store = task_backends["simulated"].store
                store.jobs.enqueue(
                    tasks.work_past_the_end.module_path, {"args": [how], "kwargs": {}}, id="j", max_retries=0, **options
                )
                run_until_idle("simulated")
                assert tasks.work_past_the_end.get_result("j").status == "FAILED"
                assert heard.statuses == []

    def test_a_wrapper_of_an_asynchronous_function(self):
        assert self.outcome(tasks.add_logged, 1, 2) == ("SUCCESSFUL", ["SUCCESSFUL"])

    @skipIf(sys.version_info < (3, 11), "Python 3.10 has no groups of exceptions")
    def test_groups_of_exceptions(self):
        assert self.outcome(tasks.raise_in_group, "skip") == ("FAILED", ["FAILED"])
        assert self.outcome(tasks.raise_in_group, "snooze") == ("READY", [])
        self.clear()
        assert self.outcome(tasks.raise_in_group, "value") == ("FAILED", ["FAILED"])
        (job,) = self.store.jobs.search(type=tasks.raise_in_group.module_path)
        assert len(job.attempts) == 1  # retry_on does not name it
        self.clear()
        assert self.outcome(tasks.raise_in_group, "os") == ("FAILED", ["FAILED"])
        (job,) = self.store.jobs.search(type=tasks.raise_in_group.module_path)
        assert len(job.attempts) == 2

    def test_a_generator_function_is_no_task(self):
        def items():
            yield 1

        assert is_generator(items)
        items.__qualname__ = "items"  # a name of a module, as Django demands
        with self.assertRaisesMessage(InvalidTask, "yields, and a task has one result"):
            task(items)


class ScopeTests(LiveTestCase):
    def results(self, task, calls):
        """Runs a task several times, in one thread of a worker, one after the other."""
        with make_worker(task_backends["default"], concurrency=1):
            found = []
            for call in calls:
                result = task.enqueue(*call)
                self.store.wait(result.id, timeout=30)
                result.refresh()
                found.append(result.return_value)
        return found

    def test_language_and_time_zone(self):
        before = [translation.get_language(), timezone.get_current_timezone_name()]
        found = self.results(tasks.language_and_zone, [("de", "Europe/Berlin"), ("fr", "Asia/Tokyo"), ("it", "UTC")])
        assert found == [before] * 3

    def test_language_and_time_zone_of_a_drain(self):
        with translation.override("es"), timezone.override("America/Lima"):
            for language in ("de", "fr"):
                result = tasks.language_and_zone.enqueue(language, "Asia/Tokyo")
                work()
                result.refresh()
                assert result.return_value == ["es", "America/Lima"]
            assert [translation.get_language(), timezone.get_current_timezone_name()] == ["es", "America/Lima"]

    def test_a_cache_of_the_program_is_not_used_by_threads(self):
        here = caches["default"]
        (found,) = self.results(tasks.use_the_cache, [("a",)])
        assert found[0] == "set" and found[1] != id(here) and not found[2]
        assert here.get("a") == "set"
