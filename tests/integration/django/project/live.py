"""Test cases on the project's own database, and the store in it."""

from __future__ import annotations

from typing import Any

import django
from django.test import TransactionTestCase

from resonate_core.contrib.django import task_backends
from resonate_core.contrib.django.handlers import make_worker
from resonate_core.contrib.django.testing import close_stores

if django.VERSION >= (6, 0):
    from django.tasks import signals
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch
else:
    from django_tasks import signals
    from django_tasks.exceptions import InvalidTaskError as InvalidTask, TaskResultDoesNotExist, TaskResultMismatch

__all__ = ["InvalidTask", "LiveTestCase", "TaskResultDoesNotExist", "TaskResultMismatch", "signals", "work"]


class LiveTestCase(TransactionTestCase):
    """Each test begins with an empty store; its transactions are real."""

    def setUp(self) -> None:
        self.store = task_backends["default"].store
        self.clear()

    def clear(self) -> None:
        for waiting in self.store.jobs.search(state="waiting"):  # a workflow goes with its records, once it is final
            self.store.jobs.cancel(waiting.id)
        for state in ("scheduled", "pending", "retry", "archived", "completed", "failed", "cancelled", "expired"):
            self.store.jobs.delete_all(state)
        self.store.tick()
        assert len(self.store.jobs.search()) == 0

    @classmethod
    def tearDownClass(cls) -> None:
        close_stores()
        super().tearDownClass()


def work(backend: str = "default", **options: Any) -> Any:
    """Runs the jobs that are ready, in this thread."""
    return make_worker(task_backends[backend], name="worker-a", **options).run_until_idle()
