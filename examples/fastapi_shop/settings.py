"""What the environment sets."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

__all__ = ["DATABASE", "RUN_WORKER", "STORE"]

#: The path or URL of the store. The tables of the shop are in the same database, so that one transaction can write both.
STORE = os.environ.get("SHOP_STORE", "shop.db")
#: Whether the process of the pages also runs jobs and workflows.
RUN_WORKER = os.environ.get("SHOP_WORKER", "1") != "0"


def _database() -> str:
    """The same database as SQLAlchemy names it."""
    if "://" not in STORE:
        return f"sqlite+aiosqlite:///{STORE}"
    parts = urlsplit(STORE)
    return urlunsplit(parts._replace(scheme="postgresql+asyncpg", query=""))


DATABASE = _database()
