"""Reads of a store in this process: requests of the protocol, and the rows that no request shows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .._core import Envelope, RequestLimits, Store
from ..base.failed_attempts import FailedAttempt
from ..calls.call import envelope, refusal
from .call_tree import RequestSender, family_of
from .large_stores import is_large

__all__ = ["MOST_EDGES", "MOST_ROWS", "StoreReader"]

#: The most ids of which the rows are read in one call.
MOST_ROWS = 1000
#: The most callbacks, listeners and keepers of one promise that are read, each.
MOST_EDGES = 1000
#: The most promises of a workflow.
_MOST_FAMILY = 5000
_numbers = itertools.count(1)


class StoreReader(RequestSender):
    """Reads a store for one answer: each row is read once. A subclass reads for a principal, who may see only a part of the store.

    Args:
        store: The store.
        limits: The limits of a request.

    Attributes:
        prefix: The beginning of the ids and queues that are read; "" for all.
        sender: The beginning of the ids of the requests.

    Example:
        >>> from resonate_core.explain.store_reader import StoreReader
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("mail", id="a")
        >>> reader = StoreReader(store)
        >>> reader.find("job", "a")["state"], reader.find("job", "b"), reader.row("a")["callbacks"]
        ('pending', None, [])
    """

    prefix: str = ""
    sender: str = "why"

    def __init__(self, store: Store, limits: RequestLimits | None = None) -> None:
        self.store = store
        self._limits = RequestLimits() if limits is None else limits
        self._rows: dict[str, Mapping[str, Any] | None] = {}
        self._cut: dict[str, Mapping[str, int]] = {}
        self._messages: dict[str, list[Mapping[str, Any]]] = {}
        self._queues: dict[str, Mapping[str, Any]] | None = None

    def sees(self, id: str) -> bool:
        """Return whether an id may be named in the answer."""
        return id.startswith(self.prefix)

    # --- requests -----------------------------------------------------------------------------------------------------------

    def ask(self, kind: str, data: Mapping[str, Any]) -> tuple[int, Any]:
        """Return status and data of a reply, which may be a refusal."""
        return self.ask_all([(kind, dict(data))])[0]

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[int, Any]]:
        """Return status and data of each reply, refusals included, in order."""
        return self._answered([self._envelope(kind, data) for kind, data in requests])

    def send(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a reply.

        Raises:
            ResonateError: The request was refused.
        """
        status, answered = self.ask(kind, data)
        if not 200 <= status <= 300 or not isinstance(answered, dict):
            raise self._refused(status, answered if isinstance(answered, str) else json.dumps(answered))
        return answered

    def beginning_with(self, prefix: str, limit: int) -> list[dict[str, Any]]:
        """Return the visible promises whose ids begin with a text and are longer, by id. It reads at most one page beyond them."""
        found: list[dict[str, Any]] = []
        cursor: str | None = prefix
        while cursor is not None and len(found) < limit:
            page = self.send("promise.search", {"cursor": cursor, "limit": min(limit - len(found), 1000)})
            cursor = page.get("cursor")
            for promise in page["promises"]:
                if not promise["id"].startswith(prefix):
                    return found
                found.append(promise)
        return found

    def family(self, promise: Mapping[str, Any], most: int = _MOST_FAMILY) -> list[dict[str, Any]]:
        """Return the promises that may belong to the workflow of a promise, except itself.

        In a large store, these are only those whose ids extend that of the promise or of its root: tags have no index.
        """
        if not is_large(self.store, self.prefix):
            return list(family_of(self, promise, most=most))
        roots = dict.fromkeys((promise["id"], promise["tags"].get("resonate:origin", promise["id"])))
        found = {one["id"]: one for root in roots for end in ".:" for one in self.beginning_with(f"{root}{end}", most)}
        for root in roots:
            one = self.find("promise", root)
            if one is not None:
                found[root] = one
        found.pop(promise["id"], None)
        return list(found.values())[:most]

    def find(self, kind: str, id: str) -> dict[str, Any] | None:
        """Return a promise, task, job or schedule as on the wire; None if there is none or it is not visible."""
        status, data = self.ask(f"{kind}.get", {"id": id})
        return data[kind] if status == 200 else None

    def find_all(self, kind: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return those records of a kind that exist and are visible, by id."""
        answers = self.ask_all([(f"{kind}.get", {"id": id}) for id in ids])
        return {id: data[kind] for id, (status, data) in zip(ids, answers, strict=True) if status == 200}

    def jobs_and_promises(self, ids: Sequence[str]) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """Return the jobs of these ids, and the promises that are no jobs, as `find_all` does."""
        jobs = self.find_all("job", ids)
        return jobs, self.find_all("promise", [id for id in ids if id not in jobs])

    def _envelope(self, kind: str, data: Mapping[str, Any]) -> Envelope:
        made = Envelope(json.dumps(envelope(kind, data, f"{self.sender}-{next(_numbers)}")).encode(), self._limits)
        made.forget_debug_time()
        return made

    def _answered(self, envelopes: list[Envelope]) -> list[tuple[int, Any]]:
        return [(status, json.loads(reply)["data"]) for status, reply in self._run_all(envelopes)] if envelopes else []

    def _run_all(self, envelopes: list[Envelope]) -> list[tuple[int, bytes]]:
        return self.store.run(envelopes)

    def _refused(self, status: int, why: str) -> Exception:
        """Return the error of a refusal."""
        return refusal(status, why)

    # --- rows ---------------------------------------------------------------------------------------------------------------

    def rows(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the visible stored rows of these ids: promises as in a snapshot, with task, job, and the first `MOST_EDGES` edges."""
        self._read_rows([id for id in ids if self.sees(id)])
        found = ((id, self._rows.get(id)) for id in dict.fromkeys(ids))
        return {id: row for id, row in found if row is not None}

    def row(self, id: str) -> Mapping[str, Any] | None:
        """Return the stored row of an id; None if there is none or it is not visible."""
        return self.rows([id]).get(id)

    def count_of(self, row: Mapping[str, Any], edges: str) -> int:
        """Return how many callbacks, listeners or keepers (`keptBy`) a row has, of which it names the first ones."""
        read = len(row.get(edges, ()))
        cut = self._cut.get(row["id"], {})
        # The store does not count the keepers of a step: there are at least as many as were read.
        return cut.get(edges, read) if edges != "keptBy" or "keptBy" in cut or read < MOST_EDGES else MOST_EDGES + 1

    def is_whole(self, row: Mapping[str, Any], *edges: str) -> bool:
        """Return whether a row names all of its edges of these kinds."""
        return all(self.count_of(row, one) <= len(row.get(one, ())) for one in edges)

    def awaited_of(self, awaiter: str, among: Sequence[str]) -> list[str]:
        """Return those of several visible promises that name a task or job as an awaiter, in order."""
        rows = self.rows(among)
        found = {id for id, row in rows.items() if awaiter in row["callbacks"]}
        unsure = [id for id, row in rows.items() if id not in found and not self.is_whole(row, "callbacks")]
        for start in range(0, len(unsure), MOST_ROWS):
            found.update(self.store.views.awaited_of(awaiter, unsure[start : start + MOST_ROWS]))
        return [id for id in dict.fromkeys(among) if id in found]

    def messages(self, id: str) -> list[Mapping[str, Any]]:
        """Return the undelivered messages about a visible id, as in a snapshot."""
        return self.messages_about([id])

    def messages_about(self, ids: Sequence[str]) -> list[Mapping[str, Any]]:
        """Return the undelivered messages about several visible ids, id by id."""
        visible = [id for id in dict.fromkeys(ids) if self.sees(id)]
        self._read_rows(visible)
        return [message for id in visible for message in self._messages[id]]

    def level_of(self, queue: str) -> dict[str, Any]:
        """Return what a queue's rate has counted, if the store shows it; otherwise nothing.

        Every reading of rows answers those of all queues too: one reading serves all questions of a response.
        """
        if self._queues is None:
            self._take_rows([])
        row = (self._queues or {}).get(queue, {})
        return {name: row[name] for name in ("level", "refilledAt", "claims") if name in row}

    def _read_rows(self, ids: Sequence[str]) -> None:
        asked = [id for id in dict.fromkeys(ids) if id not in self._rows]
        for start in range(0, len(asked), MOST_ROWS):
            self._take_rows(asked[start : start + MOST_ROWS])

    def _take_rows(self, ids: list[str]) -> None:
        found = self.store.views.rows(ids, edges=MOST_EDGES)
        self._cut.update(found["cut"])
        for id in ids:
            self._rows[id], self._messages[id] = None, []
        for row in found["promises"]:
            self._rows[row["id"]] = row
        for message in found["messages"]:
            self._messages[message["id"]].append(message)
        self._queues = {row["name"]: row for row in found.get("queues", ())}

    # --- texts of programs ----------------------------------------------------------------------------------------------------

    def said(self, job: Mapping[str, Any], text: str) -> str | None:
        """Return a text of the handler of a job as it may be shown without the job; None if it may not be shown."""
        return text

    def failure(self, failed: FailedAttempt) -> str:
        """Return the error of a failed attempt as it may be shown."""
        return failed.error

    def error_of(self, id: str, error: str) -> str:
        """Return an error of a workflow, or of one of its records, as it may be shown.

        Args:
            id: Of the workflow or the record.
            error: A code, and a text behind a colon.
        """
        return error
