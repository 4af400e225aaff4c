"""What the searches have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resonate_core.cli.command import Session
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.show import Output

__all__ = ["search"]


def search(
    session: Session,
    kind: str,
    member: str,
    filters: dict[str, Any],
    limit: int | None,
    cursor: str | None,
    every: bool,
    show: Callable[[Output, dict[str, Any]], None] = Output.answer,
) -> None:
    """Shows one page, or all of them, by `show`.

    With `every` the limit is that of a page, and what `--json` prints is one document all the same.
    """
    data = {name: value for name, value in filters.items() if value not in (None, {})}
    if limit is not None:
        data["limit"] = limit
    if cursor is not None:
        data["cursor"] = cursor
    if not every:
        show(session.out, session.target.send(kind, data))
        return
    if cursor is not None:
        raise Failure("--all and --cursor exclude each other", Exit.USAGE)
    data.setdefault("limit", 1000)
    show(session.out, {member: list(session.target.pages(kind, member, data))})
