"""Runs SQL through the system's libpq, so that the tests need no Python driver of PostgreSQL."""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any


class SqlError(RuntimeError):
    """The server refused a command, or cannot be reached."""


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libpq.so.5")
    except OSError:
        library = ctypes.CDLL(ctypes.util.find_library("pq"))
    for name in ("PQconnectdb", "PQexec"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("PQgetvalue", "PQerrorMessage"):
        getattr(library, name).restype = ctypes.c_char_p
    return library


class Connection:
    """A connection that sends one text after the other; a context manager that closes it.

    Args:
        url: As libpq takes it.

    Raises:
        SqlError: The server cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self._connection = ctypes.c_void_p(_library().PQconnectdb(url.encode()))
        if _library().PQstatus(self._connection) != 0:
            reason = self._error()
            self.close()
            raise SqlError(f"{url}: {reason}")

    def execute(self, sql: str) -> list[tuple[str | None, ...]]:
        """Runs one or more commands, several of them in one transaction; returns the rows of the last one as texts.

        Raises:
            SqlError: A command was refused, or the connection is lost.
        """
        library = _library()
        result = ctypes.c_void_p(library.PQexec(self._connection, sql.encode()))
        try:
            if library.PQresultStatus(result) not in (1, 2):  # PGRES_COMMAND_OK, PGRES_TUPLES_OK
                raise SqlError(f"{self._error()}\n{sql[:1000]}")
            columns = range(library.PQnfields(result))
            return [tuple(self._value(result, row, column) for column in columns) for row in range(library.PQntuples(result))]
        finally:
            library.PQclear(result)

    @staticmethod
    def _value(result: ctypes.c_void_p, row: int, column: int) -> str | None:
        library = _library()
        return None if library.PQgetisnull(result, row, column) else library.PQgetvalue(result, row, column).decode()

    def _error(self) -> str:
        text: bytes = _library().PQerrorMessage(self._connection)
        return text.decode(errors="replace").strip()

    def close(self) -> None:
        """Closes the connection."""
        _library().PQfinish(self._connection)
        self._connection = ctypes.c_void_p()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
