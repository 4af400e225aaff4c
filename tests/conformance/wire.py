"""Envelopes for tests: sends requests to a store, and checks the form of every reply."""

from __future__ import annotations

from typing import Any

from resonate_core.conformance.reply_form import fault_of, status_in
from resonate_core.conformance.requests import ADDRESS, DIALECTS, FAR, LISTENER, V25, V26, Reply, Requests, held, request, tags_of

__all__ = [
    "ADDRESS",
    "DIALECTS",
    "FAR",
    "LISTENER",
    "V25",
    "V26",
    "DialectClient",
    "Reply",
    "checked_reply",
    "executes",
    "forget_messages",
    "held",
    "request",
    "rows_of",
    "stored",
    "stored_schedule",
    "stored_task",
    "tags_of",
    "unblocks",
]

STATUSES = {200, 300, 400, 401, 403, 404, 409, 422, 429, 500}


def checked_reply(envelope: dict[str, Any], answer: dict[str, Any]) -> Reply:
    """Checks the rules that every answer to a well-formed envelope meets, and returns it as a Reply.

    `fault_of` has those of every server. The engine also adds no members, names the dialect in refusals too, and says why it refuses.
    """
    assert fault_of(envelope, answer) is None, answer
    assert set(answer) == {"kind", "head", "data"} and set(answer["head"]) == {"corrId", "status", "version"}, answer
    version, status = answer["head"]["version"], answer["head"]["status"]
    assert version == envelope["head"]["version"], answer
    assert status in STATUSES and status == status_in(version, status), answer
    assert answer["data"] or status in (200, 300), answer
    return Reply(status, answer["data"])


class DialectClient(Requests):
    """A client of a store in one dialect.

    Attributes:
        store: The store under test.
        version: The dialect of every request.
    """

    def __init__(self, store: Any, version: str = V26) -> None:
        super().__init__(version)
        self.store = store

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Sends one request and checks the form of the reply."""
        envelope = request(kind, data, self.version, **head)
        return checked_reply(envelope, self.store.apply(envelope, now=now))

    def found(self, noun: str, now: int | None = None, **data: Any) -> list[str]:
        """The ids of one page of a search."""
        return [r["id"] for r in self.search(noun, now, **data).must()[f"{noun}s"]]


# --- stored rows, from the snapshot ----------------------------------------------------------------------------------
def stored(store: Any, id: str) -> dict[str, Any]:
    """Returns the stored row of a promise."""
    rows = [p for p in store.snapshot()["promises"] if p["id"] == id]
    assert rows, f"no stored promise {id!r}"
    return rows[0]


def stored_task(store: Any, id: str) -> dict[str, Any] | None:
    """Returns the stored task of a promise, or None."""
    return next((p.get("task") for p in store.snapshot()["promises"] if p["id"] == id), None)


def stored_schedule(store: Any, id: str) -> dict[str, Any]:
    """Returns the stored row of a schedule."""
    return next(s for s in store.snapshot()["schedules"] if s["id"] == id)


EXECUTES = ("execute", "invoke", "resume")


def executes(store: Any, id: str | None = None) -> list[tuple[str, str, int]]:
    """Returns (kind, task, version) of the execute, invoke and resume messages in the outbox."""
    return [
        (m["kind"], m["id"], m["version"])
        for m in store.snapshot()["messages"]
        if m["kind"] in EXECUTES and (id is None or m["id"] == id)
    ]


def unblocks(store: Any) -> list[tuple[str, str, str]]:
    """Returns (kind, promise, address) of the unblock and notify messages in the outbox."""
    return [(m["kind"], m["id"], m["address"]) for m in store.snapshot()["messages"] if m["kind"] not in EXECUTES]


def forget_messages(store: Any) -> None:
    """Empties the outbox."""
    store.take_messages()


def rows_of(store: Any) -> dict[str, Any]:
    """Returns all stored rows, without the clock. A failed request must not change them."""
    return {k: v for k, v in store.snapshot().items() if k != "now"}
