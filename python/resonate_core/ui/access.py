"""The access of the views to a store: requests of the protocol, with the permissions of a principal."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from .._core import Envelope, RequestLimits, Store
from ..base.failed_attempts import FailedAttempt
from ..base.payloads import decoded
from ..calls.call import envelope
from ..explain.call_tree import Requests, family_of
from .lineage import Origins, origins_of
from .principal import Principal
from .redaction import Redaction
from .sizes import is_large

__all__ = ["Refused", "StoreAccess"]

#: The most ids of which the rows are read in one call.
_MOST_ROWS = 1000
#: The most promises of a workflow.
_MOST_FAMILY = 5000
#: The most records that are followed from one to those that it descends from.
_MOST_ANCESTORS = 1000
_numbers = itertools.count(1)


class Refused(Exception):
    """A request that was refused.

    Attributes:
        status: The status, as of the protocol and of HTTP.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class StoreAccess(Requests):
    """Reads a store for one response, and runs the requests of one action.

    Args:
        store: The store.
        principal: The sender of the request.
        redaction: That of the response.
        limits: The limits of a request.
        run: Runs a request that may change the store; by default in the calling thread.
    """

    def __init__(
        self,
        store: Store,
        principal: Principal,
        redaction: Redaction,
        limits: RequestLimits | None = None,
        run: Callable[[Envelope], tuple[int, bytes]] | None = None,
    ) -> None:
        self.store = store
        self.principal = principal
        self.redaction = redaction
        self._limits = RequestLimits() if limits is None else limits
        self._run = run
        self._rows: dict[str, Mapping[str, Any] | None] = {}
        self._messages: dict[str, list[Mapping[str, Any]]] = {}
        self._origins: dict[str, Origins] = {}
        self._queues: dict[str, Mapping[str, Any]] | None = None

    # --- requests -----------------------------------------------------------------------------------------------------------

    def ask(self, kind: str, data: Mapping[str, Any]) -> tuple[int, Any]:
        """Return status and data of a reply, which may be a refusal."""
        return self.ask_all([(kind, dict(data))])[0]

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[int, Any]]:
        """Return status and data of each reply, refusals included, in order. Each request is judged by the permissions of the principal."""
        answers: list[tuple[int, Any] | None] = []
        permitted: list[Envelope] = []
        for kind, data in requests:
            envelope = self._envelope(kind, data)
            if envelope.refused or self.principal.permits(envelope):
                permitted.append(envelope)
                answers.append(None)
            else:
                answers.append((403, "Forbidden"))
        replies = iter(self._answered(permitted))
        return [next(replies) if answer is None else answer for answer in answers]

    def send(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a reply.

        Raises:
            Refused: The request was refused.
        """
        status, answered = self.ask(kind, data)
        if not 200 <= status <= 300 or not isinstance(answered, dict):
            raise Refused(status, answered if isinstance(answered, str) else json.dumps(answered))
        return answered

    def beginning_with(self, prefix: str, limit: int) -> list[dict[str, Any]]:
        """Return the visible promises whose ids begin with a text and are longer, by id. It reads no other rows."""
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
        if not is_large(self.store, self.principal.prefix):
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

    def _envelope(self, kind: str, data: Mapping[str, Any]) -> Envelope:
        made = Envelope(json.dumps(envelope(kind, data, f"ui-{next(_numbers)}")).encode(), self._limits)
        made.forget_debug_time()
        return made

    def _answered(self, envelopes: list[Envelope]) -> list[tuple[int, Any]]:
        if not envelopes:
            return []
        if self._run is None or all(envelope.read for envelope in envelopes):
            replies = self.store.run(envelopes)
        else:
            replies = [self._run(envelope) for envelope in envelopes]
        return [(status, json.loads(reply)["data"]) for status, reply in replies]

    # --- rows ---------------------------------------------------------------------------------------------------------------

    def rows(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the visible stored rows of these ids: promises as in a snapshot, with callbacks, listeners, task and job."""
        self._read_rows([id for id in ids if self.principal.sees(id)])
        found = ((id, self._rows.get(id)) for id in dict.fromkeys(ids))
        return {id: row for id, row in found if row is not None}

    def row(self, id: str) -> Mapping[str, Any] | None:
        """Return the stored row of an id; None if there is none or it is not visible."""
        return self.rows([id]).get(id)

    def messages(self, id: str) -> list[Mapping[str, Any]]:
        """Return the undelivered messages about a visible id, as in a snapshot."""
        return self.messages_about([id])

    def messages_about(self, ids: Sequence[str]) -> list[Mapping[str, Any]]:
        """Return the undelivered messages about several visible ids, id by id."""
        visible = [id for id in dict.fromkeys(ids) if self.principal.sees(id)]
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
        for start in range(0, len(asked), _MOST_ROWS):
            self._take_rows(asked[start : start + _MOST_ROWS])

    def _take_rows(self, ids: list[str]) -> None:
        found = self.store.views.rows(ids)
        for id in ids:
            self._rows[id], self._messages[id] = None, []
        for row in found["promises"]:
            self._rows[row["id"]] = row
        for message in found["messages"]:
            self._messages[message["id"]].append(message)
        self._queues = {row["name"]: row for row in found.get("queues", ())}

    # --- redaction by type ----------------------------------------------------------------------------------------------------

    def hides(self, id: str | None, *origins: Origins) -> bool:
        """Return whether the values of a record are redacted as a whole. Every view, fork, preview, story and audit line asks this.

        They are if the record, or one that it descends from, has a redacted type or function: its caller, its workflow, and
        the job that it was made from by `job.rerun`. A record that names one that the principal must not see is redacted, too:
        otherwise it would tell whether that exists and has a redacted type.

        Args:
            id: The id of the record; None of one that has no row.
            origins: Its types and ancestors besides those of its row: of a job that is not stored, or of another state.
        """
        rules = self.redaction.rules
        if not rules.by_type:
            return False
        return any(name is None or rules.hides_type(name) for name in self._names(id, origins))

    def names_of(self, id: str) -> list[str]:
        """Return the types and functions of a record and of those that it descends from, as far as the principal sees them."""
        return sorted({name for name in self._names(id, ()) if name is not None})

    def _names(self, id: str | None, origins: Sequence[Origins]) -> Iterator[str | None]:
        """Yield the names of a record and of those that it descends from; None once if not all of them can be read."""
        waiting = [*origins, *(() if id is None else self._origins_of([id]))]
        seen = set() if id is None else {id}
        is_whole = True
        while waiting:
            for one in waiting:
                yield from one.names
            above = {other for one in waiting for other in one.above} - seen
            visible = [other for other in sorted(above) if self.principal.sees(other)]
            if len(visible) < len(above) or len(seen) + len(above) > _MOST_ANCESTORS:
                is_whole = False
            seen |= above
            waiting = self._origins_of(visible) if len(seen) <= _MOST_ANCESTORS else []
        if not is_whole:
            yield None

    def know_origins(self, ids: Sequence[str]) -> None:
        """Read the types of several records at once, also of records that the principal must not see: they decide about redaction."""
        if self.redaction.rules.by_type:
            self._origins_of(ids)

    def _origins_of(self, ids: Sequence[str]) -> list[Origins]:
        asked = [id for id in dict.fromkeys(ids) if id not in self._origins]
        for start in range(0, len(asked), _MOST_ROWS):
            part = asked[start : start + _MOST_ROWS]
            self._origins.update(dict.fromkeys(part, Origins()))
            self._note_rows(self.store.views.rows(part)["promises"])
        return [self._origins[id] for id in ids]

    def note_origins(self, snapshot: Mapping[str, Any]) -> None:
        """Take the types of the rows of a snapshot that is about to be shown: they may exist in no store, and in several states."""
        if self.redaction.rules.by_type:
            self._origins_of([row["id"] for row in snapshot["promises"]])
            self._note_rows(snapshot["promises"])

    def _note_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self._origins[row["id"]] = self._origins.get(row["id"], Origins()) | origins_of(row)

    def failure(self, failed: FailedAttempt) -> str:
        """Return the error of a failed attempt as it may be shown: that of a redacted function is its class."""
        if self.redaction.rules.hides_type(failed.func) or self.hides(failed.id) or self.hides(failed.task):
            return failed.error.partition(":")[0]
        for row in self.rows([failed.id, failed.task]).values():  # it may quote the arguments
            self.redaction.members(decoded(row.get("param", {})).content)
        return self.redaction.text(failed.error)

    def redacting(self, redaction: Redaction) -> StoreAccess:
        """Return this access with another redaction, for a part of a response that is judged alone."""
        made = copy(self)
        made.redaction = redaction
        return made
