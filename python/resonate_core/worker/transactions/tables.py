"""The table of steps in the migrations of an application with SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .statements import TABLE

if TYPE_CHECKING:
    from sqlalchemy import MetaData, Table

__all__ = ["steps_table"]


def steps_table(metadata: MetaData) -> Table:
    """The table of exactly-once steps, for `metadata.create_all` and for Alembic, whose autogenerate then knows it.

    It has no schema, whatever the schema of the metadata is: its statements find it by its name.

    Args:
        metadata: Of the application's tables. A second call returns the same table.

    Example:
        >>> import sqlalchemy
        >>> from resonate_core.worker.transactions import steps_table
        >>> metadata = sqlalchemy.MetaData()
        >>> [column.name for column in steps_table(metadata).columns]
        ['id', 'job', 'step', 'name', 'result', 'created_at']
    """
    import sqlalchemy  # only its users need it

    if TABLE in metadata.tables:
        return metadata.tables[TABLE]
    return sqlalchemy.Table(
        TABLE,
        metadata,
        sqlalchemy.Column("id", sqlalchemy.String(64), primary_key=True),
        sqlalchemy.Column("job", sqlalchemy.Text, nullable=False),
        sqlalchemy.Column("step", sqlalchemy.Text, nullable=False),
        sqlalchemy.Column("name", sqlalchemy.Text, nullable=False),
        sqlalchemy.Column("result", sqlalchemy.Text),
        sqlalchemy.Column(
            "created_at", sqlalchemy.DateTime(timezone=True), nullable=False, server_default=sqlalchemy.func.current_timestamp()
        ),
        sqlalchemy.Index(f"{TABLE}_created_at", "created_at"),
        schema=sqlalchemy.BLANK_SCHEMA,
    )
