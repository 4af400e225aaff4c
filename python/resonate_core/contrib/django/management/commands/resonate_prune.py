"""`manage.py resonate_prune`: delete old results."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from resonate_core import Store
from resonate_core.contrib.django.backends import backend_of
from resonate_core.errors import Conflict, NotFound, ResonateError

_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def duration(text: str) -> int:
    """A duration in ms: a whole number with a unit out of s, m, h, d, w."""
    found = re.fullmatch(r"(\d+)([smhdw])", text)
    if found is None:
        raise ArgumentTypeError(f"a duration must be a whole number with a unit out of s, m, h, d, w, such as 30d, got {text!r}")
    return int(found[1]) * _UNITS[found[2]]


class Command(BaseCommand):
    """Deletes the results of tasks that ended some time ago."""

    help = "Delete the results of tasks that ended long ago. Run it every day."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--backend", help="the name of the backend in TASKS (default: the first of this package)")
        parser.add_argument("--older-than", type=duration, required=True, metavar="DURATION", help="such as 30d, 12h or 45m")
        parser.add_argument(
            "--failed", action="store_true", help="delete failed tasks too, which otherwise wait for a person to run or delete them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete them, in small transactions."""
        try:
            store = backend_of(options["backend"]).store
            before = store.now - options["older_than"]
            failed = _delete_failed(store, before) if options["failed"] else 0
            ended = store.purge(settled_before=max(0, before))
        except (LookupError, ImproperlyConfigured, ResonateError) as error:
            raise CommandError(str(error)) from error
        if options["verbosity"] > 0:
            self.stdout.write(f"deleted {ended} ended" + (f", {failed} failed" if options["failed"] else ""))


def _delete_failed(store: Store, before: int) -> int:
    """Delete the archived jobs that failed before this instant, and return their number."""
    deleted, cursor = 0, None
    while True:
        page = store.jobs.search(state="archived", limit=1000, cursor=cursor)
        for job in page:
            if job.failed_at is not None and job.failed_at < before:
                try:
                    store.jobs.delete(job.id)
                except (NotFound, Conflict):  # another process has run or deleted it, or a workflow awaits it
                    continue
                deleted += 1
        cursor = page.cursor
        if cursor is None:
            return deleted
