"""Resonate jobs as tasks of Django: a backend of `django.tasks`, commands, pages of the admin, and a backend for tests.

    INSTALLED_APPS += ["resonate_core.contrib.django"]
    TASKS = {"default": {"BACKEND": "resonate_core.contrib.django.ResonateBackend"}}

On Django 6 the framework is `django.tasks`; on Django 5.2 it is the package `django-tasks`, whose app `django_tasks` must be
installed too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import ResonateBackend
    from .declaration import ResonateTask
    from .graphs import TaskGraph
    from .testing import ResonateTestBackend
    from .workflows import DjangoWorkflow

__all__ = [
    "DjangoWorkflow",
    "ResonateBackend",
    "ResonateTask",
    "ResonateTestBackend",
    "TaskGraph",
    "graph",
    "send",
    "submit",
    "task",
    "task_backends",
    "workflow",
]

_HOMES = {
    "DjangoWorkflow": "workflows",
    "ResonateBackend": "backend",
    "ResonateTask": "declaration",
    "ResonateTestBackend": "testing",
    "TaskGraph": "graphs",
    "graph": "graphs",
    "send": "workflows",
    "submit": "requests",
    "task": "declaration",
    "task_backends": "framework",
    "workflow": "workflows",
}


def __getattr__(name: str) -> Any:
    """Import a public class when it is first used: Django imports this package before its settings are complete."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
