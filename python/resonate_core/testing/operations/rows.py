"""The rows of a store, by id: what the next random request can be about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..._core import Store

__all__ = ["Row", "RowSource", "Rows", "RowsOfStore", "children", "gathering", "has_below", "is_pending", "job_state"]

Row = dict[str, Any]
"""A row as `Store.snapshot` shows it."""

MAY_EXPIRE = ("scheduled", "waiting", "pending", "claimed")
TERMINAL = ("completed", "failed", "cancelled", "expired")


class Rows(Protocol):
    """The rows of one state."""

    @property
    def rules(self) -> str:
        """The rule set."""

    @property
    def now(self) -> int:
        """The instant."""

    @property
    def promises(self) -> Mapping[str, Row]:
        """Rows of promises with their tasks and jobs."""

    @property
    def schedules(self) -> Mapping[str, Row]:
        """Rows of schedules."""

    @property
    def queues(self) -> Mapping[str, Row]:
        """Rows of queues."""


class RowSource(Protocol):
    """Has the present rows."""

    @property
    def world(self) -> Rows:
        """The rows."""


class RowsOfStore:
    """The rows of a store at the last `refresh`, and their `RowSource`.

    Args:
        store: Whose rows.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing.operations.rows import RowsOfStore
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000)
        >>> list(RowsOfStore(store).promises)
        ['a']
    """

    def __init__(self, store: Store[Any]) -> None:
        self.rules: str = store.rules
        self.promises: dict[str, Row] = {}
        self.schedules: dict[str, Row] = {}
        self.queues: dict[str, Row] = {}
        self.now = 0
        self.refresh(store)

    @property
    def world(self) -> RowsOfStore:
        """Itself."""
        return self

    def refresh(self, store: Store[Any]) -> None:
        """Read the rows again."""
        snapshot = store.snapshot()
        self.now = store.now
        self.promises = {row["id"]: row for row in snapshot["promises"]}
        self.schedules = {row["id"]: row for row in snapshot["schedules"]}
        self.queues = {row["name"]: row for row in snapshot.get("queues", [])}


def is_pending(row: Row, now: int) -> bool:
    """Return whether a promise is pending at an instant, even if no step has yet written that its deadline has passed (PROTOCOL 1.2)."""
    return row["state"] == "pending" and row["timeoutAt"] > now and not _is_expired(row, now)


def job_state(row: Row, now: int) -> str:
    """Return the state of a job at an instant, even if no step has yet written it (JOBS 2)."""
    job = row["job"]
    if row["state"] == "pending" and _is_expired(row, now) and job["goodUntil"] < row["timeoutAt"]:
        return "expired"
    if row["state"] == "pending" and row["timeoutAt"] <= now and job["state"] not in TERMINAL:
        return "completed" if row["tags"].get("resonate:timer") == "true" else "failed"
    return str(job["state"])


def _is_expired(row: Row, now: int) -> bool:
    job = row.get("job")
    if job is None or job["state"] not in MAY_EXPIRE or job["attemptCount"] > 0:
        return False
    return "goodUntil" in job and bool(job["goodUntil"] <= now)


def gathering(rows: Rows, row: Row) -> list[Row]:
    """Return the gathering group to which a job belongs. Its leader's row has the member ``flight`` of the snapshot format."""
    job = row["job"]
    names = ("queue", "type", "group")
    found = [other for other in rows.promises.values() if "gathering" in other.get("job", {})]
    return [other for other in found if all(other["job"].get(name) == job.get(name) for name in names)]


def children(rows: Rows, job_id: str) -> list[Row]:
    """Return the children of a job in the order in which they were made."""
    marked = [row for row in rows.promises.values() if row.get("child", {}).get("parent") == job_id]
    return sorted((row for row in marked if row["child"]["kind"] != "message"), key=lambda row: int(row["child"]["number"]))


def has_below(row: Row) -> bool:
    """Return whether a row is a job that has, or had, children or messages."""
    return "made" in row.get("job", {})
