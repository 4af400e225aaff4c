"""`manage.py resonate_worker`: run tasks until a signal arrives."""

from __future__ import annotations

import logging
import os
import sys
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.utils.autoreload import run_with_reloader

from resonate_core.contrib.django.backends import backend_of
from resonate_core.contrib.django.handlers import make_worker
from resonate_core.errors import ResonateError
from resonate_core.server.logs import LINE, Lines
from resonate_core.worker import Worker
from resonate_core.worker.executor import CANCEL_TIMEOUT

#: How long running tasks get when the code has changed, in ms.
_RELOAD_GRACE = 2000


class Command(BaseCommand):
    """Runs the tasks of one backend."""

    _worker: Worker | None = None

    help = (
        "Run tasks until SIGTERM or SIGINT: then no more tasks are claimed, and running ones get the grace to end; those that have not "
        "ended are put back. In DEBUG it restarts when the code changes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--backend", help="the name of the backend in TASKS (default: the first of this package)")
        parser.add_argument(
            "--queues", help="names separated by commas, each with a weight if wanted: mail=3,default (default: QUEUES)"
        )
        parser.add_argument("--concurrency", type=int, help="how many tasks run at once, each in a thread (default: WORKER, or 10)")
        parser.add_argument(
            "--grace", type=float, help="seconds that running tasks get to end after a signal (default: WORKER, or 10)"
        )
        parser.add_argument(
            "--lease", type=float, help="seconds after which a task of a dead worker runs again (default: WORKER, or 30)"
        )
        parser.add_argument(
            "--poll-interval", type=float, help="seconds between two looks for tasks of other processes (default: 1)"
        )
        parser.add_argument("--name", help="the name of the worker (default: host, process and a number)")
        parser.add_argument("--until-idle", action="store_true", help="run the tasks that can run now, then exit")
        parser.add_argument("--reload", action="store_true", default=None, help="restart when the code changes (default: in DEBUG)")
        parser.add_argument("--no-reload", action="store_false", dest="reload", help="do not restart")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the worker, or the process that restarts it."""
        reload = settings.DEBUG if options["reload"] is None else options["reload"]
        if not reload or options["until_idle"]:
            self._work(**options)
            return
        self._ended = threading.Event()
        try:
            run_with_reloader(self._work_in_thread, **options)
        finally:  # a change of the code, or a signal, ends the main thread
            if self._worker is not None:
                self._worker.stop(_RELOAD_GRACE)
                self._ended.wait(_RELOAD_GRACE / 1000 + CANCEL_TIMEOUT + 1)

    def _work_in_thread(self, **options: Any) -> None:
        """Run beside the main thread, which watches the code."""
        try:
            self._work(**options)
        except CommandError as error:
            self.stderr.write(self.style.ERROR(str(error)))
            os._exit(1)
        finally:
            self._ended.set()

    def _work(self, **options: Any) -> None:
        _log_to(self.stderr, options["verbosity"])
        given = {
            "queues": None if options["queues"] is None else _queues(options["queues"]),
            "concurrency": options["concurrency"],
            "grace": _ms(options["grace"]),
            "lease": _ms(options["lease"]),
            "poll_interval": _ms(options["poll_interval"]),
            "name": options["name"],
        }
        try:
            backend = backend_of(options["backend"])
            worker = make_worker(backend, **{name: value for name, value in given.items() if value is not None})
            if options["until_idle"]:
                drained = worker.run_until_idle()
                shown = ", ".join(f"{count} {outcome}" for outcome, count in sorted(drained.outcomes.items()))
                self.stdout.write(f"{len(drained)} attempt{'' if len(drained) == 1 else 's'}{': ' if shown else ''}{shown}")
            else:
                self._worker = worker
                worker.run()
        except (LookupError, ImproperlyConfigured, ResonateError) as error:
            raise CommandError(str(error)) from error


def _queues(text: str) -> list[str] | dict[str, int]:
    """The queues, with weights if any has one.

    Raises:
        CommandError: A weight is no number.
    """
    weights: dict[str, int] = {}
    for part in text.split(","):
        name, equals, weight = part.strip().partition("=")
        if not name or (equals and not weight.isdecimal()):
            raise CommandError(f"--queues must be names separated by commas, or name=weight, got {text!r}")
        weights[name] = int(weight or 1)
    return weights if "=" in text else list(weights)


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _log_to(stream: Any, verbosity: int) -> None:
    """Show the worker's log, unless the project's LOGGING does something with it."""
    logger = logging.getLogger("resonate_core")
    if verbosity == 0 or logger.hasHandlers():
        return
    handler = logging.StreamHandler(getattr(stream, "_out", sys.stderr))
    handler.setFormatter(Lines(LINE))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbosity >= 2 else logging.INFO)
