"""The client of a worker whose process crashes at one of its requests, for drains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import resonate_core as rc
from resonate_core.errors import StoreError
from resonate_core.worker.store_client import StoreClient


class Crash(BaseException):
    """The process is gone."""


@dataclass
class Given:
    """In the place of a store."""

    client: StoreClient

    def worker_client(self) -> StoreClient:
        return self.client


class Mortal(StoreClient):
    """The client of a process that crashes at its n-th request, before it or before it gets the answer; or gets an error there.

    Args:
        store: The store.
        at: The number of the request, from 0.
        before: Whether the request is not made.
        apart: Whether each call is a transaction of its own, as over a URL.
        raised: The exception that it gets.
    """

    def __init__(
        self, store: rc.Store, at: int = -1, before: bool = True, apart: bool = False, raised: type[BaseException] = Crash
    ) -> None:
        super().__init__(store)
        self.local = not apart
        self.requests = 0
        self._at, self._before, self._apart, self._raised = at, before, apart, raised
        for name in ("exchange", "claim", "start_many", "complete_many", "end_many"):
            setattr(self, name, self._mortal(getattr(super(), name)))
        self._one_call = self._mortal(super().send)

    def _mortal(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            number, self.requests = self.requests, self.requests + 1
            gone = self._raised is Crash and number > self._at >= 0
            if gone or (number == self._at and self._before):
                raise self._raised("here")
            answer = function(*args)
            if number == self._at:
                raise self._raised("here")
            return answer

        return called

    def send(self, calls: Sequence[Any]) -> list[Any]:
        if not self._apart:
            answers: list[Any] = self._one_call(calls)
            return answers
        return [answer for one in calls for answer in self._sent_apart(one)]

    def _sent_apart(self, one: Any) -> list[Any]:
        try:
            answer: list[Any] = self._one_call([one])
            return answer
        except StoreError as error:
            return [error]

    def recover(self) -> None:
        """Has no further failure."""
        self._at = -1

    async def send_async(self, calls: Sequence[Any]) -> list[Any]:
        return self.send(calls)

    def inbox(self, group: str, pid: str, descriptor: int) -> Any:
        inbox: Any = super().inbox(group, pid, descriptor)
        inbox._acknowledge = self._mortal(inbox._acknowledge)
        return inbox
