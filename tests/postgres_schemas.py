"""Empty schemas for stores: each process of a test run has a database of its own on the shared server, with schemas that it uses again.

A schema is emptied by DELETE, which takes 1 ms; to drop it and to let a store make its tables again takes 20 ms, to truncate
its tables 6 ms and to copy a database 60 ms.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from collections.abc import Callable
from typing import Any

import libpq
import postgres_server


def without_children(schema: str) -> str:
    """SQL that takes from a schema what versions 9 to 12 change, for tests that lead a schema back to an earlier version."""
    columns = {
        "promises": ("parent", "child_kind", "child_number", "open_in"),
        "counters": ("due_mark", "claim_marks", "added_up", "numbers_taken"),
        "writers": ("seen",),
    }
    dropped = {table: ", ".join(f"DROP COLUMN IF EXISTS {column}" for column in names) for table, names in columns.items()}
    drops = "".join(f"ALTER TABLE {schema}.{table} {drops};" for table, drops in dropped.items())
    renames = "".join(
        f"ALTER TABLE {schema}.counters RENAME COLUMN {new} TO {old}; " for new, old in (("seen", "now"), ("jobs_made", "jobs"))
    )
    return drops + f"DROP TABLE {schema}.queue_deltas; DROP SEQUENCE {schema}.shared_commits, {schema}.job_numbers; " + renames


SETTINGS = """
SET client_min_messages = warning;
-- Foreign keys and triggers do not apply to the rows that are deleted.
SET session_replication_role = replica;
-- A store that was closed holds no locks.
SET lock_timeout = '10s';
"""

FUNCTIONS = """
-- Copies the rows of new tables, for empty_schema.
CREATE FUNCTION public.remember_rows(place text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one record;
  filled bool;
BEGIN
  EXECUTE format('CREATE SCHEMA %I', place || '_first');
  FOR one IN SELECT relname AS name FROM pg_class WHERE relnamespace = place::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %I.%I)', place, one.name) INTO filled;
    IF filled THEN
      EXECUTE format('CREATE TABLE %I.%I AS TABLE %I.%I', place || '_first', one.name, place, one.name);
    END IF;
  END LOOP;
END $$;

-- Makes all tables and sequences as they were for remember_rows; migrations take no numbers of sequences.
-- DELETE leaves dead rows, which only TRUNCATE removes here, since the shared server does not run autovacuum.
CREATE FUNCTION public.empty_schema(place text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  one record;
BEGIN
  FOR one IN
    SELECT oid, relname AS name, relkind = 'S' AS counts, pg_relation_size(oid) > 262144 AS large
    FROM pg_class WHERE relnamespace = place::regnamespace AND relkind IN ('r', 'S')
  LOOP
    IF one.counts THEN
      PERFORM setval(one.oid, (SELECT seqstart FROM pg_sequence WHERE seqrelid = one.oid), false);
    ELSIF one.large THEN
      EXECUTE format('TRUNCATE %I.%I CASCADE', place, one.name);
    ELSE
      EXECUTE format('DELETE FROM %I.%I', place, one.name);
    END IF;
  END LOOP;
  FOR one IN SELECT relname AS name FROM pg_class WHERE relnamespace = (place || '_first')::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('INSERT INTO %I.%I OVERRIDING SYSTEM VALUE TABLE %I.%I', place, one.name, place || '_first', one.name);
  END LOOP;
END $$;
"""


class Schemas:
    """The schemas of one process.

    Args:
        make_tables: Makes the tables of a store in the schema that a URL names, and leaves them as in a store that was never opened.
    """

    def __init__(self, make_tables: Callable[[str], None]) -> None:
        self.process = os.getpid()
        self._make_tables = make_tables
        self._server = postgres_server.shared()
        self._drop_databases_of_ended_processes()
        self._database = f"of_{self.process}_{secrets.token_hex(3)}"
        self._server.create_database(self._database)
        self._connection = libpq.Connection(self._server.url(self._database))
        self._connection.execute(SETTINGS + FUNCTIONS)
        self._free: list[str] = []
        self._count = 0

    def _drop_databases_of_ended_processes(self) -> None:
        for (name,) in self._server.execute("SELECT datname FROM pg_database WHERE datname LIKE 'of\\_%'"):
            if not _is_process(int(str(name).split("_")[1])):
                with contextlib.suppress(libpq.SqlError):  # another process dropped it
                    self._server.drop_database(str(name))

    def url(self, schema: str) -> str:
        """The URL of a store in a schema."""
        return self._server.url(self._database, schema=schema)

    def unused(self) -> str:
        """Returns the name of a schema that does not exist yet."""
        self._count += 1
        return f"s{self._count}"

    def take(self) -> str:
        """The name of a schema with the tables of a store, all as in a new store."""
        if self._free:
            schema = self._free.pop()
            self._connection.execute(f"SELECT public.empty_schema('{schema}')")
            return schema
        schema = self.unused()
        self._make_tables(self.url(schema))
        self._connection.execute(f"SELECT public.remember_rows('{schema}')")
        return schema

    def give_back(self, schema: str) -> None:
        """Makes a schema of `take` available to other stores."""
        self._free.append(schema)

    def close(self) -> None:
        """Deletes the database."""
        self._connection.close()
        self._server.drop_database(self._database)

    def open(self, make: Callable[..., Any], **options: Any) -> Any:
        """Opens a store by `make(url, **options)`; the schema is used again once no reference to the store is left.

        RESONATE_TEST_WRITERS is the parameter `writers` of its URL, for runs in which all writers share.
        """
        schema = self.take()
        try:
            writers = os.environ.get("RESONATE_TEST_WRITERS")
            store = make(self.url(schema) + (f"&writers={writers}" if writers else ""), **options)
        except BaseException:
            self.give_back(schema)
            raise
        weakref.finalize(store, self.give_back, schema).atexit = False
        return store


def _is_process(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


_of_this_process: Schemas | None = None


def schemas(make_tables: Callable[[str], None]) -> Schemas:
    """The schemas of this process; a child of `os.fork` gets new ones."""
    global _of_this_process
    if _of_this_process is None or _of_this_process.process != os.getpid():
        _of_this_process = Schemas(make_tables)
    return _of_this_process
