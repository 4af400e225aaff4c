"""The access of the views to a store: requests of the protocol, with the permissions of a principal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

from .._core import Envelope, RequestLimits, Store
from ..base.failed_attempts import FailedAttempt
from ..base.payloads import decoded
from ..explain.store_reader import MOST_ROWS, StoreReader
from .lineage import Ancestry, ancestry_of, ancestry_of_job
from .payloads import shown
from .principal import Principal
from .redaction import Redaction

__all__ = ["VALUES", "Refused", "StoreAccess"]

#: The members of records that hold values of users.
VALUES = ("payload", "result", "param", "value", "promiseParam")
#: The most records that are followed from one to those that it descends from.
_MOST_ANCESTORS = 1000


class Refused(Exception):
    """A request that was refused.

    Attributes:
        status: The status, as of the protocol and of HTTP.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class StoreAccess(StoreReader):
    """Reads a store for one response, and runs the requests of one action.

    Args:
        store: The store.
        principal: The sender of the request.
        redaction: That of the response.
        limits: The limits of a request.
        run: Runs a request that may change the store; by default in the calling thread.
    """

    sender = "ui"

    def __init__(
        self,
        store: Store,
        principal: Principal,
        redaction: Redaction,
        limits: RequestLimits | None = None,
        run: Callable[[Envelope], tuple[int, bytes]] | None = None,
    ) -> None:
        super().__init__(store, limits)
        self.principal = principal
        self.prefix = principal.prefix
        self.redaction = redaction
        self._run = run
        self._ancestries: dict[str, Ancestry] = {}

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

    def _run_all(self, envelopes: list[Envelope]) -> list[tuple[int, bytes]]:
        if self._run is None or all(envelope.read for envelope in envelopes):
            return super()._run_all(envelopes)
        return [self._run(envelope) for envelope in envelopes]

    def _refused(self, status: int, why: str) -> Exception:
        return Refused(status, why)

    # --- redaction by type ----------------------------------------------------------------------------------------------------

    def hides(self, id: str | None, *ancestry: Ancestry) -> bool:
        """Return whether the values of a record are redacted as a whole. Every view, fork, preview, story and audit line asks this.

        They are if the record, or one that it descends from, has a redacted type or function: its caller, its workflow, and
        the job that it was made from by `job.rerun`. A record that names one that the principal must not see is redacted, too:
        otherwise it would tell whether that exists and has a redacted type.

        Args:
            id: The id of the record; None of one that has no row.
            ancestry: Its types and ancestors besides those of its row: of a job that is not stored, or of another state.
        """
        rules = self.redaction.rules
        if not rules.by_type:
            return False
        return any(name is None or rules.hides_type(name) for name in self._names(id, ancestry))

    def hides_job(self, job: Mapping[str, Any]) -> bool:
        """Return whether the values of a job, of the wire or of a snapshot, are redacted as a whole."""
        # A job of the wire has its tags and its payload; one of a snapshot has them in its row.
        return self.hides(None if "payload" in job else job.get("id"), ancestry_of_job(job))

    def names_of(self, id: str) -> list[str]:
        """Return the types and functions of a record and of those that it descends from, as far as the principal sees them."""
        return sorted({name for name in self._names(id, ()) if name is not None})

    def _names(self, id: str | None, ancestry: Sequence[Ancestry]) -> Iterator[str | None]:
        """Yield the names of a record and of those that it descends from; None once if not all of them can be read."""
        waiting = [*ancestry, *(() if id is None else self._ancestry_of([id]))]
        seen = set() if id is None else {id}
        is_whole = True
        while waiting:
            for one in waiting:
                yield from one.names
            above = {other for one in waiting for other in one.above} - seen
            visible = [other for other in sorted(above) if self.sees(other)]
            if len(visible) < len(above) or len(seen) + len(above) > _MOST_ANCESTORS:
                is_whole = False
            seen |= above
            waiting = self._ancestry_of(visible) if len(seen) <= _MOST_ANCESTORS else []
        if not is_whole:
            yield None

    def know_ancestry(self, ids: Sequence[str]) -> None:
        """Read the types of several records at once, also of records that the principal must not see: they decide about redaction."""
        if self.redaction.rules.by_type:
            self._ancestry_of(ids)

    def _ancestry_of(self, ids: Sequence[str]) -> list[Ancestry]:
        asked = [id for id in dict.fromkeys(ids) if id not in self._ancestries]
        for start in range(0, len(asked), MOST_ROWS):
            part = asked[start : start + MOST_ROWS]
            self._ancestries.update(dict.fromkeys(part, Ancestry()))
            self._note_rows(self.store.views.rows(part, edges=0)["promises"])
        return [self._ancestries[id] for id in ids]

    def note_ancestry(self, snapshot: Mapping[str, Any]) -> None:
        """Take the types of the rows of a snapshot that is about to be shown: they may exist in no store, and in several states."""
        if self.redaction.rules.by_type:
            self._ancestry_of([row["id"] for row in snapshot["promises"]])
            self._note_rows(snapshot["promises"])

    def _note_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self._ancestries[row["id"]] = self._ancestries.get(row["id"], Ancestry()) | ancestry_of(row)

    def said(self, job: Mapping[str, Any], text: str) -> str | None:
        """Return a text of the handler of a job as it may be shown without the job; None if it is redacted as a whole.

        It may quote the values of the job, which are therefore noted.
        """
        if self.hides_job(job):
            return None
        for name in VALUES:
            shown(job.get(name), self.redaction)
        self.redaction.members(job.get("tags", {}))
        return self.redaction.text(text)

    def failure(self, failed: FailedAttempt) -> str:
        """Return the error of a failed attempt as it may be shown: that of a redacted function is its class."""
        if self.redaction.rules.hides_type(failed.func) or self.hides(failed.id) or self.hides(failed.task):
            return failed.error.partition(":")[0]
        for row in self.rows([failed.id, failed.task]).values():  # it may quote the arguments
            self.redaction.members(decoded(row.get("param", {})).content)
        return self.redaction.text(failed.error)

    def error_of(self, id: str, error: str) -> str:
        """Return an error of a workflow, or of one of its records, as it may be shown: that of a redacted type is its code."""
        if self.hides(id):
            return error.partition(":")[0]
        rows = self.rows([id])
        parents = [parent for row in rows.values() if (parent := row["tags"].get("resonate:parent")) is not None]
        for row in (*rows.values(), *self.rows(parents).values()):  # it may quote the arguments
            for name in ("param", "value"):
                self.redaction.members(decoded(row.get(name, {})).content)
        return self.redaction.text(error)

    def redacting(self, redaction: Redaction) -> StoreAccess:
        """Return this access with another redaction, for a part of a response that is judged alone."""
        made = copy(self)
        made.redaction = redaction
        return made
