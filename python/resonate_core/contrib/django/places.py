"""Where the store of a Django database is: in the same SQLite file, or in a schema of the same PostgreSQL database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.core.exceptions import ImproperlyConfigured

__all__ = ["IN_MEMORY", "is_in_memory", "postgres_url", "sqlite_path"]

#: OPTIONS of a PostgreSQL database that Django or psycopg handles itself; libpq does not know them.
_NOT_OF_LIBPQ = frozenset(
    {
        "assume_role",
        "client_encoding",
        "context",
        "cursor_factory",
        "isolation_level",
        "pool",
        "prepare_threshold",
        "row_factory",
        "server_side_binding",
    }
)

IN_MEMORY = (
    "a store cannot be in a SQLite database in memory, which only Django's connection can open: use a file, or for tests "
    "'BACKEND': 'resonate_core.contrib.django.ResonateTestBackend'"
)


def is_in_memory(name: Any) -> bool:
    """Whether this NAME of a SQLite database is one in memory."""
    return str(name) in ("", ":memory:") or "mode=memory" in str(name)


def sqlite_path(settings: Mapping[str, Any]) -> str:
    """The path of a SQLite database.

    Args:
        settings: Of the connection, as in DATABASES.

    Raises:
        ImproperlyConfigured: It is in memory, or its name is a URI.
    """
    name = settings["NAME"]
    if is_in_memory(name):
        raise ImproperlyConfigured(IN_MEMORY)
    if str(name).startswith("file:"):
        raise ImproperlyConfigured(f"NAME of a SQLite database with a store must be a path, got the URI {name!r}")
    return str(Path(name).absolute())


def postgres_url(settings: Mapping[str, Any], schema: str, parameters: Mapping[str, str]) -> str:
    """The URL of a store in a PostgreSQL database.

    Args:
        settings: Of the connection, as in DATABASES.
        schema: The schema of the store.
        parameters: More parameters of the URL; they come before those of OPTIONS.
    """
    options = {name: str(value) for name, value in settings.get("OPTIONS", {}).items() if name not in _NOT_OF_LIBPQ}
    query = {**options, "schema": schema, **parameters}
    given = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    for parameter, setting in given.items():
        if settings.get(setting):
            query[parameter] = str(settings[setting])
    user, password = query.pop("user", ""), query.pop("password", "")
    name = query.pop("dbname", "")
    place = f"{quote(user, safe='')}{':' + quote(password, safe='') if password else ''}{'@' if user or password else ''}"
    host = query.get("host", "")
    if re.fullmatch(r"[A-Za-z0-9.-]+", host):  # a plain one; a folder of sockets or several hosts stay parameters
        place += query.pop("host") + (f":{query.pop('port')}" if query.get("port") else "")
    return f"postgresql://{place}/{quote(name, safe='')}?{urlencode(query, quote_via=quote)}"
