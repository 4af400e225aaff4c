"""Helpers for tests of the command line: the contents of a store, and a server that records the requests it gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import resonate_core as rc
from command_line import Ran

FAR = 4_000_000_000_000


Run = Callable[..., Ran]


def fill(store: rc.Store) -> None:
    """Fills the store of a test, in a file or behind a server."""
    store.promises.create("done", FAR, param={"amount": 3}, tags={"team": "blue"})
    store.promises.resolve("done", "ok")
    store.promises.create("open", FAR)
    store.promises.create("job", FAR, tags={"resonate:target": "poll://any@shop"})
    store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000)


@dataclass
class Server:
    """A server of the protocol over a store in memory. It records the requests that it gets."""

    store: rc.Store
    url: str = ""
    token: str | None = None
    answer: Callable[[bytes], tuple[int, str, bytes]] | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)

    def reply(self, body: bytes, authorization: str | None) -> tuple[int, str, bytes]:
        """Returns status, content type and body of the response to a request."""
        self.authorizations.append(authorization)
        if self.answer is not None:
            return self.answer(body)
        request = json.loads(body)
        self.asked.append(request)
        head = request["head"]
        if self.token is not None and (head.get("auth"), authorization) != (self.token, f"Bearer {self.token}"):
            refused = {"kind": request["kind"], "head": {**head, "status": 401}, "data": "Unauthorized"}
            return 401, "application/json", json.dumps(refused).encode()
        answer = self.store.apply_json(body)
        return json.loads(answer)["head"]["status"], "application/json", answer
