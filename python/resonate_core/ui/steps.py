"""Internal steps and changes, as the pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..explain.diff import compare, records_of
from . import records
from .access import StoreAccess

__all__ = ["changes_shown", "messages_of", "step_text"]

_TEXTS = {
    "promise_timeout": "{id} times out",
    "listener_drain": "{id}: a message to the listener {address} is queued",
    "callback_drain": "{id}: its awaiter {awaiter} is resumed",
    "cancel_drain": "{id}: the job {job} that it awaits is cancelled, unless something else awaits it",
    "lease_expiry": "the lease on {id} ends: its task is pending again",
    "dispatch": "{id}: a message to {address} is queued",
    "schedule": "schedule {id} fires and creates {promise_id}",
    "schedule_set_aside": "schedule {id} is set aside",
    "job_expiry": "job {id} expires",
    "job_lease": "the lease on job {id} ends",
    "job_timeout": "the attempt of job {id} times out",
    "job_ready": "job {id} becomes pending",
    "job_batch": "the batch of job {id} is ready",
    "job_retention": "job {id} is deleted",
    "job_retention_put_off": "job {id} stays: something refers to it",
}


class _Known(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


def step_text(kind: str, id: str, detail: Mapping[str, Any]) -> str:
    """Return an internal step in one line.

    Example:
        >>> from resonate_core.ui.steps import step_text
        >>> step_text("dispatch", "order:1", {"address": "poll://any@shop"})
        'order:1: a message to poll://any@shop is queued'
    """
    if kind not in _TEXTS:  # only the texts above are formats: a name that others chose is none
        return f"{kind.replace('_', ' ')} of {id}"
    return _TEXTS[kind].format_map(_Known({**detail, "id": id}))


def changes_shown(
    access: StoreAccess, before: Mapping[str, Any], after: Mapping[str, Any], *, partial: bool = False
) -> list[dict[str, Any]]:
    """Return what differs between two full snapshots, with the records as the views show them; only what is visible.

    Args:
        access: To the store, with the redaction of the response.
        before: The first snapshot.
        after: The second.
        partial: Whether the snapshots hold some of the rows only, so that the counts of a queue mean nothing.
    """
    states = []
    for snapshot in (before, after):
        access.note_ancestry(snapshot)
        visible = ((key, record) for key, record in records_of(snapshot).items() if access.principal.sees(_owner(key, record)))
        shown = {key: records.record(access, key[0], record) for key, record in visible}
        if partial:
            shown = {key: _without_counts(record) if key[0] == "queue" else record for key, record in shown.items()}
        states.append(shown)
    return [change.to_dict() for change in compare(*states)]


def _without_counts(queue: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in queue.items() if name not in ("counts", "days", "current", "hour", "hours")}


def _owner(key: tuple[str, str], record: Mapping[str, Any]) -> str:
    return str(record["id"]) if key[0] == "message" else key[1]


def messages_of(changes: Iterable[Mapping[str, Any]], which: str, member: str) -> list[Any]:
    """Return the records of the messages that were added or removed."""
    return [one[member] for one in changes if one["kind"] == "message" and one["change"] == which]
