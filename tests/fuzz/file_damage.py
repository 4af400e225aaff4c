"""What another program may have written into the rows of a store's file: wrong values, other types, rows that do not belong together."""

from __future__ import annotations

import contextlib
import json
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

VALUES: list[Any] = [
    *(None, -1, 0, 1, 2, 3, 5, 9, 10, 2**31, 2**53, 2**63 - 1, -(2**63), 1_000_000, 10**12, 1.5),
    *(
        "",
        "w",
        "q",
        "g",
        "j-running",
        "t-pending",
        "p-done",
        "poll://any@w",
        "\u0000",
        "{}",
        "[]",
        "null",
        "[1]",
        "x" * 5000,
        b"\xff",
        b"",
    ),
]
"""Values for a column, and, as far as JSON has them, for a member of a document."""

_JSON = ("job", "body", "tags", "param_headers", "value_headers", "resumes", "promise_tags", "request")


@contextlib.contextmanager
def unchecked(path: Path) -> Iterator[sqlite3.Connection]:
    """The file without the rules of its tables: any column takes any value. The schema is restored at the end."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        schema = file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name LIKE 'resonate%'").fetchall()
        _write_schema(file, [(name, _without_rules(sql)) for name, sql in schema])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        yield file
        _write_schema(file, schema)


def _without_rules(sql: str) -> str:
    sql = re.sub(r"\bNOT NULL\b|\bCHECK \([^()]*(\([^()]*\))?[^()]*\)", "", sql)
    return sql.replace(") STRICT, WITHOUT ROWID", ") WITHOUT ROWID").replace(") STRICT", ")")


def _write_schema(file: sqlite3.Connection, schema: list[tuple[str, str]]) -> None:
    file.execute("PRAGMA writable_schema = ON")
    file.executemany("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", schema)
    file.execute("PRAGMA writable_schema = OFF")


def damage(path: Path, chance: random.Random) -> str:
    """Damages the file once or a few times; returns what was done."""
    said = []
    with unchecked(path) as file:
        for _ in range(chance.choice([1, 1, 1, 2, 4])):
            try:
                said.append(chance.choice(_WAYS)(file, chance))
            except sqlite3.Error as error:  # a rule that SQLite enforces for every table, such as a primary key
                said.append(f"refused by SQLite: {error}")
    return "; ".join(said)


def _table(file: sqlite3.Connection, chance: random.Random) -> tuple[str, list[str], int]:
    """A table that has rows, its columns, and one of its rows by its place."""
    tables = [name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'resonate%'")]
    while True:
        name = chance.choice([*tables, "resonate_promises", "resonate_promises", "resonate_promises"])
        rows = file.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        if rows:
            columns = [row[1] for row in file.execute(f"PRAGMA table_info({name})")]
            return name, columns, chance.randrange(rows)


def _key(file: sqlite3.Connection, name: str, place: int) -> tuple[str, tuple[Any, ...]]:
    """A condition that selects one row."""
    keys = [row[1] for row in file.execute(f"PRAGMA table_info({name})") if row[5]] or ["rowid"]
    chosen = file.execute(f"SELECT {', '.join(keys)} FROM {name} LIMIT 1 OFFSET {place}").fetchone()
    return " AND ".join(f"{key} IS ?" for key in keys), chosen


def _set_column(file: sqlite3.Connection, chance: random.Random) -> str:
    name, columns, place = _table(file, chance)
    column, value = chance.choice(columns), chance.choice(VALUES)
    where, key = _key(file, name, place)
    file.execute(f"UPDATE {name} SET {column} = ? WHERE {where}", (value, *key))
    return f"{name}.{column} of {key} = {value!r:.40}"


def _swap_column(file: sqlite3.Connection, chance: random.Random) -> str:
    """A column gets the value that another row has there, so that it is one that a store writes."""
    name, columns, place = _table(file, chance)
    column = chance.choice(columns)
    where, key = _key(file, name, place)
    values = file.execute(f"SELECT DISTINCT {column} FROM {name}").fetchall()
    (value,) = chance.choice(values)
    file.execute(f"UPDATE {name} SET {column} = ? WHERE {where}", (value, *key))
    return f"{name}.{column} of {key} = {value!r:.80}, as elsewhere"


def _delete_row(file: sqlite3.Connection, chance: random.Random) -> str:
    name, _, place = _table(file, chance)
    where, key = _key(file, name, place)
    file.execute(f"DELETE FROM {name} WHERE {where}", key)
    return f"{name}: deleted {key}"


def _copy_row(file: sqlite3.Connection, chance: random.Random) -> str:
    name, columns, place = _table(file, chance)
    where, key = _key(file, name, place)
    row = list(file.execute(f"SELECT * FROM {name} WHERE {where}", key).fetchone())
    at = chance.randrange(len(row)) if chance.random() < 0.3 else 0
    row[at] = chance.choice([10**9, "another", "j-running", 7])
    file.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    return f"{name}: copied {key} with {columns[at]} = {row[at]!r}"


def _change_document(file: sqlite3.Connection, chance: random.Random) -> str:
    name, columns, place = _table(file, chance)
    documents = [column for column in columns if column in _JSON]
    if not documents:
        return _set_column(file, chance)
    column = chance.choice(documents)
    where, key = _key(file, name, place)
    (text,) = file.execute(f"SELECT {column} FROM {name} WHERE {where}", key).fetchone()
    try:
        document = json.loads(text)
        done = _change_within(document, chance)
    except (TypeError, ValueError, IndexError):
        return _set_column(file, chance)
    file.execute(f"UPDATE {name} SET {column} = ? WHERE {where}", (json.dumps(document), *key))
    return f"{name}.{column} of {key}: {done}"


def _change_within(document: Any, chance: random.Random) -> str:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []:
            places.append((node, key))
            walk(node[key])

    walk(document)
    holder, key = chance.choice(places)
    if chance.random() < 0.25:
        del holder[key]
        return f"without {key!r}"
    values = [value for value in VALUES if not isinstance(value, bytes)]
    states = ["scheduled", "pending", "claimed", "running", "retry", "archived", "completed", "failed", "cancelled", "expired"]
    value = chance.choice([*values, True, False, {}, [], [{}], {"a": 1}, *states, "fixed", "exponential", "asynq"])
    holder[key] = value
    return f"{key!r} = {value!r:.40}"


_WAYS: list[Callable[[sqlite3.Connection, random.Random], str]] = [
    *(_set_column, _set_column, _swap_column, _swap_column, _change_document, _change_document, _change_document),
    *(_delete_row, _copy_row),
]
