"""Jobs of a server: each call is a request of the protocol over HTTP."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import errors
from .._core import SystemClock
from .._server_client import BUSY, ServerClient, Unreachable, envelope
from .client import NOT_HELD, Claimed, Held, Queues, end_request, refusal
from .outcomes import Outcome
from .records import JobRecord, remote_job
from .wire import enqueue_data, wire_value

if TYPE_CHECKING:
    from .._core import Watch

__all__ = ["UrlClient"]


class UrlClient:
    """A `Client` of a server.

    Args:
        url: Its address, with the path under which it is mounted.
        token: A bearer token.
        timeout: How long to wait for one answer, in seconds.

    Raises:
        ModuleNotFoundError: There is no httpx.
        Invalid: The URL or the token is none.
    """

    blocking = True
    local = False
    manual = False

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        self._server = ServerClient(url, token, timeout)
        self._clock = SystemClock()
        self._numbers = itertools.count(1)

    def __repr__(self) -> str:
        return f"UrlClient({self._server.name!r})"

    # -- requests ---------------------------------------------------------------------------------------------------------

    def ask(self, kind: str, data: Mapping[str, Any]) -> tuple[int, Any]:
        """Send a request; return status and data of the reply, also of a refusal.

        Raises:
            Unreachable: There was no answer, or the server was busy.
            ResonateError: It does not speak the protocol, or refused the request before any protocol.
        """
        reply = self._server.post(envelope(kind, data, f"worker-{next(self._numbers)}", token=self._server.token))
        status = reply["head"]["status"]
        if status in BUSY:
            raise Unreachable(f"{self!r} answered {status}: {reply['data']}", status)
        return status, reply["data"]

    def send(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; return the data of the answer.

        Raises:
            ResonateError: The request was refused; its class says how.
        """
        status, answer = self.ask(kind, data)
        if status >= 300 or not isinstance(answer, dict):
            raise _refused(status, answer)
        return answer

    def _many(self, kind: str, items: list[dict[str, Any]], **more: Any) -> list[int]:
        """Send several items; return their statuses. Each is judged on its own, so that only a refused single one raises."""
        statuses = []
        for item in self.send(kind, {"jobs": items, **more})["jobs"]:
            if item["status"] >= 300 and item["status"] not in NOT_HELD and len(items) == 1:
                raise _refused(item["status"], item.get("error"))
            statuses.append(int(item["status"]))
        return statuses

    # -- the interface of a client ----------------------------------------------------------------------------------------

    def now(self) -> int:
        """This machine's time: a server has no request for its own."""
        return self._clock.now

    def next_due(self) -> int | None:
        """Unknown: a server is not asked."""
        return None

    def watch(self, descriptor: int) -> Watch | None:
        """A server is polled."""
        return None

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> JobRecord:
        return remote_job(self.send("job.enqueue", enqueue_data(type, payload, options))["job"])

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[JobRecord]:
        """job.enqueue_many: each on its own; the first that is refused raises, and the others are enqueued."""
        shared = dict(options)
        ids = shared.pop("ids", None)
        ids = [None] * len(payloads) if ids is None else list(ids)
        if len(ids) != len(payloads):
            raise errors.Invalid(f"there are {len(ids)} ids for {len(payloads)} payloads")
        items = [enqueue_data(type, payload, {**shared, "id": id}) for id, payload in zip(ids, payloads, strict=True)]
        records = []
        for number, item in enumerate(self.send("job.enqueue_many", {"jobs": items})["jobs"]):
            if item["status"] >= 300:
                raise _refused(item["status"], f"job {number} of {len(items)}: {item.get('error')}")
            records.append(remote_job(item["job"]))
        return records

    def claim(self, queues: Queues, count: int, worker: str, lease: int, run_lease: int, strict: bool, start: int) -> Claimed:
        if isinstance(queues, str):
            named: list[Any] = [queues]
        elif isinstance(queues, Mapping):
            named = [{"name": name, "weight": weight} for name, weight in queues.items()]
        else:
            named = list(queues)
        data = {"queues": named, "count": count, "worker": worker, "lease": lease, "runLease": run_lease, "strict": strict}
        answer = self.send("job.claim", data | {"start": start})
        return Claimed([remote_job(job) for job in answer["jobs"]], answer.get("nextAt"))

    def start_many(self, held: Sequence[Held], lease: int) -> list[int]:
        return self._many("job.start_many", [{"id": id, "version": version} for id, version in held], lease=lease)

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        items = [{"id": id, "version": version, "result": wire_value(result)} for id, version, result in results]
        return self._many("job.complete_many", items)

    def end_many(self, held: Sequence[Held], outcome: Outcome) -> list[int]:
        """job.fail, job.snooze or job.release of the first: a server has no request for several."""
        kind, data = end_request(*held[0], outcome)
        status, answer = self.ask(kind, data)
        if status >= 300 and status not in NOT_HELD:
            raise _refused(status, answer)
        return [status]

    def heartbeat(self, worker: str, held: Sequence[Held]) -> tuple[list[str], list[str]]:
        jobs = [{"id": id, "version": version} for id, version in held]
        answer = self.send("job.heartbeat", {"worker": worker, "jobs": jobs})
        return answer["cancelled"], answer["lost"]

    def get(self, id: str) -> JobRecord:
        return remote_job(self.send("job.get", {"id": id})["job"])

    def delete(self, id: str) -> None:
        self.send("job.delete", {"id": id})

    def scheduled(self, queue: str, tags: Mapping[str, str]) -> Sequence[JobRecord]:
        data = {"queue": queue, "state": "scheduled", "tags": dict(tags), "limit": 1000}
        return [remote_job(job) for job in self.send("job.search", data)["jobs"]]

    def waiting(self, queues: Iterable[str]) -> bool:
        raise errors.Unsupported("the queues of a server are not drained: run_until_idle is for a store with a ManualClock")

    def close(self) -> None:
        self._server.close()


def _refused(status: int, answer: Any) -> errors.ResonateError:
    return refusal(status, answer if isinstance(answer, str) else json.dumps(answer))
