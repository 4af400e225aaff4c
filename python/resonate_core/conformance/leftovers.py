"""The rows that a test leaves on a server, and their removal as far as the protocol can remove them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import ResonateError
from ..http.server_client import NoEnvelope
from .exchange import JudgedServer
from .requests import V26, request
from .twin import Twin

__all__ = ["Leftovers"]

_SILENCE = 0.6  # seconds without a message after which a stream is empty
_MOST_PAGES = 1000


@dataclass
class Leftovers:
    """All rows that scenes have created and that the protocol can end.

    Attributes:
        promises: The ids of promises that may be pending.
        schedules: The ids of schedules.
        jobs: The ids of jobs.
        queues: The names of queues, which stay: the protocol cannot delete them.
        made: The number of promises that were created, which stay settled: the protocol cannot delete them.
        listens: Whether messages may wait for a listener or a worker of the prefix.
    """

    promises: set[str] = field(default_factory=set)
    schedules: set[str] = field(default_factory=set)
    jobs: set[str] = field(default_factory=set)
    queues: set[str] = field(default_factory=set)
    made: int = 0
    listens: bool = False
    kept: list[str] = field(default_factory=list)

    def take(self, twin: Twin) -> None:
        """Note the rows of a scene, from its model."""
        stored = twin.model.snapshot()
        rows = stored["promises"]
        # Steps and messages go with their jobs.
        self.made += sum("job" in row or "child" not in row for row in rows)
        self.promises |= {row["id"] for row in rows if row["state"] == "pending" and "job" not in row}
        self.jobs |= {row["id"] for row in rows if "job" in row}
        self.schedules |= {row["id"] for row in stored["schedules"]}
        self.queues |= {row["name"] for row in stored.get("queues", [])}
        self.listens = self.listens or bool(stored["messages"])

    def add(self, other: Leftovers) -> None:
        """Note the rows of another player."""
        self.promises |= other.promises
        self.schedules |= other.schedules
        self.jobs |= other.jobs
        self.queues |= other.queues
        self.made += other.made
        self.listens = self.listens or other.listens

    def note(self, id: str) -> None:
        """Note a promise that is in no model, and may have a task."""
        self.listens = True
        self.made += id not in self.promises
        self.promises.add(id)

    def remove(self, server: JudgedServer, version: str, tag: str, mark: str) -> None:
        """Settle and delete all rows, then search for more with the mark.

        Args:
            server: The server.
            version: A dialect that it speaks.
            tag: The tag that everything has.
            mark: Its text.

        Raises:
            Unreachable: The server does not answer any more.
        """
        server.ask_all([request("schedule.delete", {"id": id}, version) for id in sorted(self.schedules)])
        server.ask_all([request("job.cancel", {"id": id}, version) for id in sorted(self.jobs)])
        server.ask_all([_cancel(id, version) for id in sorted(self.promises)])
        self._search(server, version, tag, mark)
        self._receive(server, mark)
        jobs = server.ask_all([request("job.delete", {"id": id}, version) for id in sorted(self.jobs)])
        if self.made > jobs:
            self.kept.append(f"{self.made - jobs} settled promises: the protocol cannot delete them")
        if self.queues:
            self.kept.append(f"{len(self.queues)} queues: the protocol cannot delete them")
        self.promises, self.schedules, self.jobs = set(), set(), set()

    def _search(self, server: JudgedServer, version: str, tag: str, mark: str) -> None:
        """Settle pending promises with the mark, such as the occurrences of schedules."""
        if version != V26:
            return
        for _ in range(_MOST_PAGES):
            answer = server.ask(request("promise.search", {"state": "pending", "tags": {tag: mark}, "limit": 100}, version))
            found = _promises(answer.body) if answer.http_status == 200 else []
            if not found or not server.ask_all([_cancel(one["id"], version) for one in found]):
                return
            self.made += sum(1 for one in found if one["id"] not in self.promises)

    def _receive(self, server: JudgedServer, mark: str) -> None:
        """Receive the messages for the listener of the prefix, so that none stays in the outbox."""
        if not self.listens:
            return
        try:
            for _ in range(_MOST_PAGES):
                if not server.events(f"poll/{mark}/c1", _SILENCE):
                    return
        except (ResonateError, NoEnvelope) as error:
            self.kept.append(f"undelivered messages to poll://…@{mark}: {error}")


def _promises(body: Any) -> list[dict[str, Any]]:
    """The promises that a search has found; none, if the answer has another shape."""
    data = body.get("data") if isinstance(body, dict) else None
    found = data.get("promises") if isinstance(data, dict) else None
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("id"), str)] if isinstance(found, list) else []


def _cancel(id: str, version: str) -> dict[str, Any]:
    return request("promise.settle", {"id": id, "state": "rejected_canceled", "value": {}}, version)
