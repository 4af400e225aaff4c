"""The checks of settings for `manage.py check`."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Warning as CheckWarning
from django.db import connections

from resonate_core._core import sqlite_library

from .options import problems, read

__all__ = ["of_backend"]

APP = "resonate_core.contrib.django"


def of_backend(alias: str, params: Mapping[str, Any]) -> list[CheckMessage]:
    """Report each bad setting of a backend.

    Args:
        alias: Its name in TASKS.
        params: Its settings.

    Returns:
        The messages: resonate.E001 for a bad setting, E002 for QUEUES, E003 for an SQLite library of Python's own; W001 if the app is
        missing, W002 for transactions of SQLite that may fail with "database is locked".
    """
    where = f"TASKS[{alias!r}]"
    found: list[CheckMessage] = []
    options = params.get("OPTIONS", {})
    if isinstance(options, Mapping):
        found += [Error(f"{where}['OPTIONS'][{name!r}] {problem}", id="resonate.E001") for name, problem in problems(options)]
    else:
        found.append(Error(f"{where}['OPTIONS'] must be a dict, got {options!r}", id="resonate.E001"))
    queues = params.get("QUEUES", ["default"])
    if isinstance(queues, str) or not all(isinstance(name, str) and name for name in queues):
        found.append(Error(f"{where}['QUEUES'] must be a list of names, got {queues!r}", id="resonate.E002"))
    if not apps.is_installed(APP):
        hint = f"Add {APP!r}: without it there are no commands, no admin, and `migrate` does not make the store's tables."
        found.append(CheckWarning(f"{where} needs its app in INSTALLED_APPS", hint=hint, id="resonate.W001"))
    if not any(isinstance(each, Error) for each in found):
        found += _of_sqlite(where, alias, options)
    return found


def _of_sqlite(where: str, alias: str, given: Mapping[str, Any]) -> list[CheckMessage]:
    """Check a store in the SQLite file of the application."""
    options = read(alias, given)
    connection = connections[options.database]
    if options.store is not None or connection.vendor != "sqlite":
        return []
    found: list[CheckMessage] = []
    with closing(sqlite3.connect(":memory:")) as memory:
        theirs = str(memory.execute("SELECT sqlite_source_id()").fetchone()[0])
    ours = sqlite_library()[0]
    if ours != theirs:
        found.append(
            Error(
                f"{where} has its store in a SQLite file of Django, and Python's module sqlite3 has another copy of the SQLite library "
                f"({theirs}) than resonate_core ({ours}): two copies lose each other's locks",
                hint="Use a Python that is built with the system's SQLite, set STORE to a file of its own, or use PostgreSQL.",
                id="resonate.E003",
            )
        )
    if connection.settings_dict.get("OPTIONS", {}).get("transaction_mode") != "IMMEDIATE":
        found.append(
            CheckWarning(
                f"{where} has its store in the SQLite file of DATABASES[{options.database!r}], whose transactions begin with a read lock: "
                'a transaction that reads first may fail with "database is locked" when a worker writes',
                hint=f"Set DATABASES[{options.database!r}]['OPTIONS']['transaction_mode'] = 'IMMEDIATE'.",
                id="resonate.W002",
            )
        )
    return found
