"""What the three searches have in common."""

from __future__ import annotations

from typing import Any

from resonate_core.cli.command import Session
from resonate_core.cli.exits import Exit, Failure

__all__ = ["search"]


def search(
    session: Session, kind: str, member: str, filters: dict[str, Any], limit: int | None, cursor: str | None, every: bool
) -> None:
    """Shows one page, or all of them.

    With `every` the limit is that of a page, and what `--json` prints is one document all the same.
    """
    data = {name: value for name, value in filters.items() if value not in (None, {})}
    if limit is not None:
        data["limit"] = limit
    if cursor is not None:
        data["cursor"] = cursor
    if not every:
        session.out.answer(session.target.send(kind, data))
        return
    if cursor is not None:
        raise Failure("--all and --cursor exclude each other", Exit.USAGE)
    data.setdefault("limit", 1000)
    session.out.answer({member: list(session.target.pages(kind, member, data))})
