"""The view of undelivered messages: their ages, and why they wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.instants import when
from .access import StoreAccess
from .dashboard import Dashboard
from .parameters import Parameters, listed

__all__ = ["message_items", "messages", "own_messages", "record_of"]

#: The most promises of a prefix of which messages are read: first the pending ones.
_MOST_READ = 1000


def messages(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The undelivered messages, oldest first."""
    address, limit = given.text("address"), given.limit
    if access.principal.prefix:
        every, complete = own_messages(access)
        start = given.offset()
        kept = [message for message in every if address is None or _is_to(address, message["address"])]
        following = start + limit if start + limit < len(kept) else None
        scan = None if complete else {"examined": _MOST_READ, "complete": False, "until": None}
        return listed(message_items(access, kept[start : start + limit], dashboard), following, scan)
    after = given.number("cursor", 0, 2**63 - 1, 0) or 0
    page = access.store.messages(limit, after=after, addresses=None if address is None else [address])
    found = [record_of(message) for message in page]
    return listed(message_items(access, found, dashboard), page[-1].number if len(page) == limit else None)


def own_messages(access: StoreAccess) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the messages about promises of the principal's prefix, oldest first, and whether these are all.

    They are read by the promises: the outbox is in the order in which the messages of everybody were queued.
    """
    ids: dict[str, None] = {}
    complete = True
    for only in ({"state": "pending"}, {}):
        found = access.send("promise.search", {**only, "limit": _MOST_READ})
        ids.update(dict.fromkeys(one["id"] for one in found["promises"]))
        complete = complete and found.get("cursor") is None
    messages = access.messages_about(list(ids)[:_MOST_READ])
    return sorted(messages, key=lambda one: (one["queuedAt"], one["id"], one["address"])), complete


def _is_to(pattern: str, address: str) -> bool:
    return address.startswith(pattern[:-1]) if pattern.endswith("*") else address == pattern


def record_of(message: Any) -> dict[str, Any]:
    """Return a message of the outbox as in a snapshot, with its number."""
    made = {
        "number": message.number,
        "kind": message.kind,
        "id": message.id,
        "address": message.address,
        "version": message.version,
        "attempts": message.attempts,
        "queuedAt": message.queued_at,
        "stale": message.stale,
    }
    if message.leased_until is not None:
        made |= {"holder": message.holder, "leasedUntil": message.leased_until}
    return made


def message_items(access: StoreAccess, found: Iterable[Mapping[str, Any]], dashboard: Dashboard) -> list[dict[str, Any]]:
    """Return messages as the views show them."""
    now = access.store.now
    made = []
    for message in found:
        made.append(
            {
                "number": message.get("number"),
                "kind": message["kind"],
                "id": message["id"],
                "address": message["address"],
                "version": message.get("version"),
                "attempts": message["attempts"],
                "queuedAt": message["queuedAt"],
                "waitingMs": max(now - message["queuedAt"], 0),
                "stale": message.get("stale", False),
                "holder": message.get("holder"),
                "leasedUntil": message.get("leasedUntil"),
                "why": _reason(message, now, dashboard),
            }
        )
    return made


def _reason(message: Mapping[str, Any], now: int, dashboard: Dashboard) -> str:
    address = message["address"]
    until = message.get("leasedUntil")
    if message.get("stale"):
        return "The task was acquired or fulfilled meanwhile: the message is dropped when it is its turn."
    if until is not None and until > now:
        return f"{message['holder']} is delivering it until {when(until, now)}."
    listens = None if dashboard.listening is None else dashboard.listening(address)
    failed = f" {message['attempts']} attempts to deliver it have failed." if message["attempts"] else ""
    if listens is False:
        return f"No worker listens on {address}.{failed}"
    scheme = address.partition(":")[0]
    if scheme in ("http", "https"):
        return f"It is delivered by a request to {address}.{failed}"
    if scheme == "poll":
        return f"It waits for a stream of a worker at {address}.{failed}"
    return f"It waits for a process that delivers addresses of the scheme {scheme}.{failed}"
