"""The table of steps, and the statements on it, as SQLite and PostgreSQL know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ...errors import Unsupported
from .key import StepKey

__all__ = [
    "MOST_AT_ONCE",
    "TABLE",
    "Dialect",
    "Statement",
    "creation",
    "dialect_of",
    "existence",
    "insertion",
    "keeping",
    "lookup",
    "pruning",
]
__all__ += ["steps_sql"]

TABLE = "resonate_steps"
#: How many rows one transaction removes.
MOST_AT_ONCE = 1000

Dialect = Literal["postgresql", "sqlite"]

_INSTANT: dict[Dialect, str] = {"sqlite": "DATETIME", "postgresql": "timestamptz"}
_BEFORE: dict[Dialect, str] = {
    "sqlite": "datetime('now', '-' || {seconds} || ' seconds')",
    "postgresql": "CURRENT_TIMESTAMP - make_interval(secs => {seconds})",
}


class Statement(NamedTuple):
    """A statement whose parameters have names.

    Attributes:
        sql: The text, with ``{name}`` for each parameter.
        values: The values of the parameters.
    """

    sql: str
    values: Mapping[str, Any] = {}

    def marked(self, mark: Callable[[str], str]) -> str:
        """The text with the marks of a library in it.

        Args:
            mark: Makes the mark of a parameter from its name.
        """
        return self.sql.format(**{name: mark(name) for name in self.values})


def dialect_of(name: str) -> Dialect:
    """The dialect of a database.

    Raises:
        Unsupported: It is neither of the two.
    """
    if name == "sqlite":
        return "sqlite"
    if name == "postgresql":
        return "postgresql"
    raise Unsupported(f"the database of a step must be SQLite or PostgreSQL, got {name}")


def creation(dialect: Dialect) -> list[Statement]:
    """Make the table if there is none."""
    columns = (
        "id varchar(64) NOT NULL PRIMARY KEY",
        "job text NOT NULL",
        "step text NOT NULL",
        "name text NOT NULL",
        "result text",
        f"created_at {_INSTANT[dialect]} NOT NULL DEFAULT CURRENT_TIMESTAMP",
    )
    table = f"CREATE TABLE IF NOT EXISTS {TABLE} (\n  " + ",\n  ".join(columns) + "\n)"
    return [Statement(table), Statement(f"CREATE INDEX IF NOT EXISTS {TABLE}_created_at ON {TABLE} (created_at)")]


def steps_sql(dialect: Dialect) -> str:
    """The statements that make the table of exactly-once steps, for a migration.

    The role of the application needs SELECT, INSERT and UPDATE on the table, and DELETE to prune it. The table is found by its name
    alone: in PostgreSQL, it must be in a schema of the role's `search_path`.

    Args:
        dialect: ``sqlite`` or ``postgresql``.

    Returns:
        SQL, which changes nothing if the table is there.

    Raises:
        Unsupported: It is another dialect.

    Example:
        >>> from resonate_core.worker.transactions import steps_sql
        >>> print(steps_sql("postgresql"))
        CREATE TABLE IF NOT EXISTS resonate_steps (
          id varchar(64) NOT NULL PRIMARY KEY,
          job text NOT NULL,
          step text NOT NULL,
          name text NOT NULL,
          result text,
          created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
        );
        CREATE INDEX IF NOT EXISTS resonate_steps_created_at ON resonate_steps (created_at);
    """
    return "\n".join(f"{statement.sql};" for statement in creation(dialect_of(dialect)))


def existence(dialect: Dialect) -> Statement:
    """Read one row with a value if the table is there, and otherwise no row or NULL."""
    if dialect == "sqlite":
        return Statement("SELECT name FROM sqlite_master WHERE type = 'table' AND name = {name}", {"name": TABLE})
    return Statement("SELECT CAST(to_regclass({name}) AS text)", {"name": TABLE})


def insertion(key: StepKey, name: str) -> Statement:
    """Insert the row of a step, unless it is there. In PostgreSQL it waits for a transaction that has inserted it."""
    values = {"id": key.digest, "job": key.job, "step": key.step, "name": name}
    sql = f"INSERT INTO {TABLE} (id, job, step, name, created_at) VALUES ({{id}}, {{job}}, {{step}}, {{name}}, CURRENT_TIMESTAMP)"
    return Statement(f"{sql} ON CONFLICT DO NOTHING", values)


def lookup(key: StepKey) -> Statement:
    """Read the name and the result of a step."""
    return Statement(f"SELECT name, result FROM {TABLE} WHERE id = {{id}}", {"id": key.digest})


def keeping(key: StepKey, result: str) -> Statement:
    """Write the result of a step into its row."""
    return Statement(f"UPDATE {TABLE} SET result = {{result}} WHERE id = {{id}}", {"result": result, "id": key.digest})


def pruning(dialect: Dialect, seconds: int) -> Statement:
    """Remove some rows of at least this age."""
    chosen = f"SELECT id FROM {TABLE} WHERE created_at <= {_BEFORE[dialect]} ORDER BY created_at LIMIT {MOST_AT_ONCE}"
    return Statement(f"DELETE FROM {TABLE} WHERE id IN ({chosen})", {"seconds": seconds})
