"""The differences of two states, as lines that a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..base.json_differences import differences

__all__ = ["MOST_LINES", "cut", "state_differences"]

MOST_LINES = 20
"""The most lines of a message that list differences or records."""


def state_differences(got: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each difference of two snapshots: rows are compared by id, not by place.

    Args:
        got: A snapshot, as of `Store.snapshot`.
        expected: The other one.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing.differences import state_differences
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000)
        >>> before = store.snapshot()
        >>> _ = store.promises.resolve("a", 1)
        >>> for line in state_differences(store.snapshot(), before):
        ...     print(line)
        promises['a'].settledAt: got 0, expected none
        promises['a'].state: got 'resolved', expected 'pending'
        promises['a'].value.data: got 'MQ==', expected none
    """
    for table in sorted(set(got) | set(expected)):
        left, right = got.get(table, []), expected.get(table, [])
        if not isinstance(left, list) or not isinstance(right, list) or table == "messages":
            yield from differences(left, right, path=table)
            continue
        key = "name" if table == "queues" else "id"
        rows = {row[key]: row for row in left}, {row[key]: row for row in right}
        for name in sorted(set(rows[0]) | set(rows[1])):
            where = f"{table}[{name!r}]"
            if name not in rows[0]:
                yield f"{where}: got none, expected one"
            elif name not in rows[1]:
                yield f"{where}: got one, expected none"
            else:
                yield from differences(rows[0][name], rows[1][name], path=where)


def cut(lines: list[str], most: int = MOST_LINES) -> list[str]:
    """Return the first lines, and how many were left out.

    Example:
        >>> from resonate_core.testing.differences import cut
        >>> cut(["a", "b", "c"], 1)
        ['a', '... and 2 more']
    """
    return lines if len(lines) <= most else [*lines[:most], f"... and {len(lines) - most} more"]
