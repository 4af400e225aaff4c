"""Onboards users, with a worker that is killed at one of its requests; then another worker continues. All places are tried, one after another.

    python tests/workflows/onboarding_kills.py FOLDER FIRST LAST [STEP]

For each request from FIRST to LAST, the worker dies before it and, in another run, after it. Prints a JSON line for each place: the mails
of each kind, the results, and the violations of the store.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.worker.environment import Environment
from resonate_core.worker.store_client import StoreClient
from resonate_core.workflow import receive, run, step, uuid4

#: Users, of whom the first ones click.
USERS, CLICKS = 20, 10
_LONGEST = 30.0


class MortalClient(StoreClient):
    """A client whose process is killed before or after its n-th request.

    Args:
        store: The store.
        number: n; 0: it lives.
        before: Whether the request is not executed.
    """

    def __init__(self, store: rc.Store, number: int, before: bool) -> None:
        super().__init__(store)
        self._left, self._before = number, before

    def _next(self) -> bool:
        """Whether it dies at the next request; it does so now, if that is not to be executed."""
        self._left -= 1
        dies = self._left == 0
        if dies and self._before:
            os.kill(os.getpid(), signal.SIGKILL)
        return dies

    def _request(self, execute: Callable[[], Any]) -> Any:
        dies = self._next()
        answer = execute()
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def exchange(self, results: Any, held: Any, claim: Any) -> Any:
        return self._request(lambda: super(MortalClient, self).exchange(results, held, claim))

    def claim(self, claim: Any) -> Any:
        return self._request(lambda: super(MortalClient, self).claim(claim))

    def start_many(self, held: Any, lease: int) -> Any:
        return self._request(lambda: super(MortalClient, self).start_many(held, lease))

    def complete_many(self, results: Any) -> Any:
        return self._request(lambda: super(MortalClient, self).complete_many(results))

    def end_many(self, held: Any, outcome: Any) -> Any:
        return self._request(lambda: super(MortalClient, self).end_many(held, outcome))

    def promises(self, ids: Any) -> Any:
        return self._request(lambda: super(MortalClient, self).promises(ids))

    def history(self, id: str, cursor: str | None) -> Any:
        return self._request(lambda: super(MortalClient, self).history(id, cursor))

    async def send_async(self, calls: Any) -> list[Any]:
        """Each transaction of a workflow: records, a message that is received, a suspension."""
        answers: list[Any] = await self._awaited(super().send_async(calls))
        return answers

    async def record_async(self, id: str, version: int, steps: Any) -> Any:
        """The record of a step."""
        return await self._awaited(super().record_async(id, version, steps))

    async def _awaited(self, request: Any) -> Any:
        dies = self._next()
        answer = await request
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


def onboarding(store: rc.Store, sent: Path, number: int = 0, before: bool = False) -> Worker:
    """Returns the worker. A mail is a file, named by its key: the second mail with one key is none, as at a mail provider."""
    environment = Environment(connect=lambda target, token, limit: MortalClient(store, number, before))
    worker = Worker(store, lease=300, heartbeat=100, poll_interval=20, environment=environment, batch=2)

    def post(user: str, text: str, key: UUID) -> None:
        (sent / f"{text}:{user}:{key}").touch()

    @step(retries=3)
    async def mail(user: str, text: str, key: UUID) -> None:
        post(user, text, key)

    @worker.workflow("onboard")
    async def onboard(user: str) -> str:
        await mail(user, "welcome", await uuid4())
        clicked = await receive("click", type=bool, timeout=timedelta(milliseconds=60), default=False)
        if clicked:
            return "clicked"
        await run(post, user, "reminder", await uuid4())
        return "reminded"

    return worker


def _live(path: Path, sent: Path, number: int, before: bool) -> None:
    """Works until all is done, or until it is killed."""
    with rc.Store(path) as store:
        worker = onboarding(store, sent, number, before)
        ends = time.monotonic() + _LONGEST
        with worker:
            while time.monotonic() < ends and any(
                job.state not in ("completed", "failed", "archived") for job in store.jobs.search()
            ):
                time.sleep(0.01)


def place(folder: Path, number: int, before: bool) -> dict[str, Any]:
    """One place: a worker that dies there, and one that continues."""
    folder.mkdir(parents=True)
    path, sent = folder / "users.db", folder / "sent"
    sent.mkdir()
    with rc.Store(path) as store:
        worker = onboarding(store, sent)
        for user in range(USERS):
            worker.tasks["onboard"].using(id=f"user-{user}").delay(f"u{user}")
            if user < CLICKS:
                store.jobs.send(f"user-{user}", "click", True, key="first")
        worker.close()
    killed = False
    for mortal in (number, 0):
        process = os.fork()
        if process == 0:
            try:
                _live(path, sent, mortal, before)
            finally:
                os._exit(0)
        _, status = os.waitpid(process, 0)
        killed = killed or (mortal > 0 and os.WIFSIGNALED(status))
    with rc.Store(path) as store:
        results = [store.jobs.get(f"user-{user}") for user in range(USERS)]
        mails = Counter(each.name.rsplit(":", 1)[0] for each in sent.iterdir())
        return {
            "number": number,
            "before": before,
            "killed": killed,
            "mails": dict(mails),
            "states": [str(job.state) for job in results],
            "results": [job.result.json() for job in results],
            "violations": [str(each) for each in store.check()],
        }


def main() -> None:
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    for number in range(first, last + 1, every):
        for before in (True, False):
            print(json.dumps(place(folder / f"{number}-{before}", number, before)), flush=True)


if __name__ == "__main__":
    main()
