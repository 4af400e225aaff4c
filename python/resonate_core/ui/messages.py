"""The view of undelivered messages: their ages, and why they wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._instants import when
from .access import StoreAccess
from .parameters import Parameters, listed
from .site import Site

__all__ = ["message_items", "messages"]

#: The most messages that are read for one page of a principal who sees some of them only.
_MOST_READ = 5000


def messages(access: StoreAccess, given: Parameters, site: Site) -> dict[str, Any]:
    """The undelivered messages, oldest first."""
    address, after, limit = given.text("address"), given.number("cursor", 0, 2**63 - 1, 0) or 0, given.limit
    addresses = None if address is None else [address]
    found: list[Mapping[str, Any]] = []
    examined = 0
    more = True
    while more and len(found) < limit and examined < _MOST_READ:
        page = access.store.messages(limit, after=after, addresses=addresses)
        more = len(page) == limit
        for message in page:
            examined += 1
            after = message.number
            if access.principal.sees(message.id) and len(found) < limit:
                found.append(_of_record(message))
                if len(found) == limit:
                    break
    scan = {"examined": examined, "complete": not more, "until": None} if access.principal.prefix else None
    return listed(message_items(access, found, site), after if more else None, scan)


def _of_record(message: Any) -> dict[str, Any]:
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


def message_items(access: StoreAccess, found: Iterable[Mapping[str, Any]], site: Site) -> list[dict[str, Any]]:
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
                "why": _reason(message, now, site),
            }
        )
    return made


def _reason(message: Mapping[str, Any], now: int, site: Site) -> str:
    address = message["address"]
    until = message.get("leasedUntil")
    if message.get("stale"):
        return "The task was acquired or fulfilled meanwhile: the message is dropped when it is its turn."
    if until is not None and until > now:
        return f"{message['holder']} is delivering it until {when(until, now)}."
    listens = None if site.listening is None else site.listening(address)
    failed = f" {message['attempts']} attempts to deliver it have failed." if message["attempts"] else ""
    if listens is False:
        return f"No worker listens on {address}.{failed}"
    scheme = address.partition(":")[0]
    if scheme in ("http", "https"):
        return f"It is delivered by a request to {address}.{failed}"
    if scheme == "poll":
        return f"It waits for a stream of a worker at {address}.{failed}"
    return f"It waits for a process that delivers addresses of the scheme {scheme}.{failed}"
