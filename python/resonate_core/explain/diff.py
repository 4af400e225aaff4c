"""What differs between two states: `diff`, for forks, two instants, and the pages that show a state before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .._core import Store
from ..notebook.html import instant_text, member_text, table
from ..notebook.widget_view import view_of

if TYPE_CHECKING:
    from ..notebook.diff_widget import DiffWidget

__all__ = ["Change", "Diff", "FieldChange", "compare", "diff", "records_of"]

SHOWN_CHANGES = 100
"""The most differences that the table shows."""

#: Members that say more than the others come first in the text of a change.
_TELLING = ("state", "paused", "nextRunAt", "pid", "attempts")
#: What a snapshot has beside its records.
_PARTS = ("promise", "task", "job")


@dataclass(frozen=True)
class FieldChange:
    """A member that differs.

    Attributes:
        name: Its name, as on the wire.
        before: Its value in the first state; None if it is absent.
        after: Its value in the second state; None if it is absent.
    """

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Change:
    """A record that differs between two states.

    Attributes:
        kind: `promise`, `task`, `job`, `schedule`, `queue` or `message`.
        id: Its id; of a queue its name; of a message its kind, its id and its address.
        change: `added`, `removed` or `changed`.
        fields: The members that differ, of a changed record.
        before: The whole record, of a removed one; otherwise None.
        after: The whole record, of an added one; otherwise None.
    """

    kind: str
    id: str
    change: Literal["added", "removed", "changed"]
    fields: tuple[FieldChange, ...] = ()
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The change in one line.

        Example:
            >>> import resonate_core as rc
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> job = store.jobs.enqueue("mail", id="j1")
            >>> fork = store.fork(rc.ManualClock())
            >>> _ = fork.jobs.cancel("j1")
            >>> [change.text for change in rc.diff(store, fork) if change.kind == "job"]
            ['job j1: pending → cancelled']
        """
        if self.change == "added":
            state = (self.after or {}).get("state")
            return f"{self.kind} {self.id}: added{f', {state}' if isinstance(state, str) else ''}"
        if self.change == "removed":
            return f"{self.kind} {self.id}: removed"
        telling = [one for name in _TELLING for one in self.fields if one.name == name and _is_short(one)]
        if telling:
            shown = "; ".join(f"{_label(one.name)}{_word(one.before)} → {_word(one.after)}" for one in telling)
            return f"{self.kind} {self.id}: {shown}"
        return f"{self.kind} {self.id}: {', '.join(one.name for one in self.fields)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all members, and the text, in a dict."""
        fields = [{"name": one.name, "before": one.before, "after": one.after} for one in self.fields]
        return {
            "kind": self.kind,
            "id": self.id,
            "change": self.change,
            "fields": fields,
            "before": None if self.before is None else dict(self.before),
            "after": None if self.after is None else dict(self.after),
            "text": self.text,
        }


@dataclass(frozen=True)
class Diff:
    """The records that differ between two states; a sequence of `Change`. It is true in a condition if there are any.

    Attributes:
        a: The name of the first state, and its instant.
        b: The name of the second state, and its instant.
        items: The changes, by kind and id.
        counts: The number of changes by `added`, `removed` and `changed`, including those left out.
        left_out: The number of changes beyond `most`.

    Example:
        >>> import resonate_core as rc
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> fork = store.fork(rc.ManualClock())
        >>> _ = fork.promises.create("a", timeout=1000)
        >>> difference = rc.diff(store, fork, labels=("store", "fork"))
        >>> difference.a, difference.b, difference.counts["added"], len(difference.items), difference.left_out
        (('store', 0), ('fork', 0), 1, 1, 0)
    """

    a: tuple[str, int]
    b: tuple[str, int]
    items: tuple[Change, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0

    def __iter__(self) -> Iterator[Change]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __str__(self) -> str:
        lines = [change.text for change in self.items]
        if self.left_out:
            lines.append(f"and {self.left_out} more")
        return "\n".join(lines) or "no difference"

    def _repr_html_(self) -> str:
        """A table of the first changes."""
        (a, start), (b, end) = self.a, self.b
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts.items() if count) or "no difference"
        caption = f"From {a} at {instant_text(start)} to {b} at {instant_text(end)}: {counts}"
        hidden = max(len(self.items) - SHOWN_CHANGES, 0) + self.left_out
        if hidden:
            caption += f"; {hidden:,} of them are not shown"
        rows = [(item.kind, item.id, item.change, _members_text(item)) for item in self.items[:SHOWN_CHANGES]]
        return table(rows, header=("kind", "id", "change", "members"), caption=caption)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What a notebook shows beside the table: the interactive view if anywidget is installed, else nothing."""
        widget = self._widget()
        return {} if widget is None else view_of(widget)

    def _ipython_display_(self) -> None:
        """Show the interactive view in the running notebook, and the table for exports.

        Raises:
            NotImplementedError: No notebook runs, or anywidget is not installed; IPython then shows the table alone.
        """
        widget = self._widget()
        if widget is None:
            raise NotImplementedError("anywidget is not installed")
        widget._ipython_display_()

    def _widget(self) -> DiffWidget | None:
        try:
            from ..notebook.diff_widget import DiffWidget
        except ModuleNotFoundError:
            return None
        return DiffWidget(self.to_dict(), {"text/html": self._repr_html_(), "text/plain": repr(self)})

    def to_dict(self) -> dict[str, Any]:
        """Return everything in a JSON-able dict (`resonate-diff/1`).

        Example:
            >>> import resonate_core as rc
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> rc.diff(store, store.fork(rc.ManualClock())).to_dict()["counts"]
            {'added': 0, 'removed': 0, 'changed': 0}
        """
        return {
            "format": "resonate-diff/1",
            "a": {"label": self.a[0], "now": self.a[1]},
            "b": {"label": self.b[0], "now": self.b[1]},
            "items": [change.to_dict() for change in self.items],
            "counts": dict(self.counts),
            "leftOut": self.left_out,
        }


def diff(
    a: Store | Mapping[str, Any], b: Store | Mapping[str, Any], *, labels: tuple[str, str] = ("a", "b"), most: int = 10_000
) -> Diff:
    """Return what differs between two states. It reads both states as a whole.

    Args:
        a: A store, or a full snapshot.
        b: The other.
        labels: Names of the two, for people.
        most: The most changes that are kept; further ones are only counted.

    Raises:
        TypeError: `a` or `b` is neither a store nor a snapshot.
        ValueError: `most` is below 1.

    Example:
        >>> import resonate_core as rc
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.promises.create("order:1", timeout=1000)
        >>> before = store.snapshot()
        >>> _ = store.promises.resolve("order:1", 42)
        >>> print(rc.diff(before, store))
        promise order:1: pending → resolved
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    states = [_snapshot(state, name) for state, name in ((a, "a"), (b, "b"))]
    before, after = (records_of(state) for state in states)
    changes = list(compare(before, after))
    counts: dict[str, int] = {"added": 0, "removed": 0, "changed": 0}
    counts.update(Counter(change.change for change in changes))
    kept = tuple(changes[:most])
    (name, other), (start, end) = labels, (state["now"] for state in states)
    return Diff((name, start), (other, end), kept, counts, len(changes) - len(kept))


def records_of(snapshot: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the records of a full snapshot by kind and id. A job and a task are records beside their promise.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.explain.diff import records_of
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("mail", id="j1")
        >>> sorted(records_of(store.snapshot()))
        [('job', 'j1'), ('promise', 'j1'), ('queue', 'default'), ('task', 'j1')]
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in snapshot["promises"]:
        found["promise", row["id"]] = {name: value for name, value in row.items() if name not in ("task", "job")}
        for part in ("task", "job"):
            if part in row:
                found[part, row["id"]] = {"id": row["id"], **row[part]}
    for row in snapshot["schedules"]:
        found["schedule", row["id"]] = dict(row)
    for row in snapshot.get("queues", ()):
        found["queue", row["name"]] = dict(row)
    for row in snapshot["messages"]:
        found["message", f"{row['kind']} of {row['id']} to {row['address']}"] = dict(row)
    return found


def compare(before: Mapping[tuple[str, str], Any], after: Mapping[tuple[str, str], Any]) -> Iterator[Change]:
    """Yield the changes between two states, as `records_of` gives them, by kind and id: promises, tasks and jobs first."""
    order = {kind: place for place, kind in enumerate((*_PARTS, "schedule", "queue", "message"))}
    for key in sorted(before.keys() | after.keys(), key=lambda key: (order[key[0]], key[1])):
        old, new = before.get(key), after.get(key)
        if old is None:
            yield Change(*key, "added", after=new)
        elif new is None:
            yield Change(*key, "removed", before=old)
        elif old != new:
            names = sorted(old.keys() | new.keys())
            fields = [FieldChange(name, old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)]
            yield Change(*key, "changed", tuple(fields))


def _snapshot(state: Any, name: str) -> Mapping[str, Any]:
    if isinstance(state, Store):
        return state.snapshot()
    if isinstance(state, Mapping) and {"promises", "schedules", "messages", "now"} <= state.keys():
        return state
    raise TypeError(f"{name} must be a Store or a full snapshot, got {type(state).__name__}")


def _members_text(change: Change) -> str:
    parts = [
        f"{one.name}: {member_text(one.name, one.before) or '—'} → {member_text(one.name, one.after) or '—'}"
        for one in change.fields
    ]
    state = (change.before or change.after or {}).get("state")
    return "; ".join(parts) if parts else f"state {state}" if state is not None else ""


def _is_short(one: FieldChange) -> bool:
    return not isinstance(one.before, (list, dict)) and not isinstance(one.after, (list, dict))


def _label(name: str) -> str:
    return "" if name == "state" else f"{name} "


def _word(value: Any) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
