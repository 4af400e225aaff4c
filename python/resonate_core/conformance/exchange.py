"""Requests to the server under test, with their whole responses and the instants before and after."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.stopwatch import doubled, seconds
from ..errors import ResonateError, Unreachable
from ..http.answers import bounded, parsed
from ..http.bodies import Answer
from ..http.server_client import NoBatch, ServerClient

__all__ = ["JudgedServer", "TimedAnswer", "local_ms"]

_BUSY = 429
_MOST_EVENTS = 100_000  # of a stream, which may have no end
_PAUSE, _LONGEST_PAUSE, _ATTEMPTS = 0.05, 2.0, 12


def local_ms() -> float:
    """This process's stopwatch in ms."""
    return seconds() * 1000


@dataclass(frozen=True)
class TimedAnswer:
    """An answer over HTTP.

    Attributes:
        request: The envelope that was sent.
        begin: The stopwatch before it was sent, in ms.
        end: The stopwatch after its answer arrived, in ms.
        http_status: The status of HTTP.
        content_type: The content type.
        body: The JSON of the body; None if it is not JSON.
        text: The body as text.
    """

    request: dict[str, Any]
    begin: float
    end: float
    http_status: int
    content_type: str
    body: Any
    text: str


class JudgedServer(ServerClient):
    """Connections to the server under test."""

    def another(self) -> JudgedServer:
        """Return more connections to the same server."""
        return JudgedServer(self.url, self.token, self.timeout)

    def ask(self, request: dict[str, Any]) -> TimedAnswer:
        """Send an envelope; a busy server (429) gets it again, since it has not run it.

        Raises:
            Unreachable: There was no answer, or it stays busy.
            NoEnvelope: The answer is too long, or cannot be decoded.
        """
        text = json.dumps(self._signed(request)).encode("ascii")
        for attempt in range(_ATTEMPTS):
            begin = local_ms()
            response = self.send("POST", self.http_url, content=text)
            if response.status_code != _BUSY:
                self._note(response)
                return _answer(request, begin, response)
            time.sleep(doubled(_PAUSE, attempt, _LONGEST_PAUSE))
        raise Unreachable(f"{self.name} answered {_BUSY} to each of {_ATTEMPTS} attempts", _BUSY)

    def ask_all(self, requests: Sequence[dict[str, Any]]) -> int:
        """Send envelopes that clean up, many in one HTTP request if the server lets them; return how many were carried out.

        Raises:
            Unreachable: The server does not answer.
        """
        done = 0
        for first in range(0, len(requests), size := max(1, self.batch or 1)):
            part = requests[first : first + size]
            statuses = self._statuses(part) if len(part) > 1 else Counter([self.ask(part[0]).http_status])
            done += statuses[200] + statuses[300]
        return done

    def _statuses(self, requests: Sequence[dict[str, Any]]) -> Counter[int]:
        try:
            replies = self.post_batch([self._signed(request) for request in requests])
        except NoBatch:
            return Counter(self.ask(request).http_status for request in requests)
        return Counter(reply["head"]["status"] for reply in replies if isinstance(reply, dict))

    def _signed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the request with the token in its head."""
        return request if self.token is None else dict(request, head=dict(request["head"], auth=self.token))

    def events(
        self, path: str, silence: float, enough: Callable[[list[dict[str, Any]]], bool] = lambda found: False
    ) -> list[dict[str, Any]]:
        """Return the messages of a poll stream until they are enough, none comes for a while, or `timeout` is over.

        Args:
            path: The path of the stream.
            silence: For how many seconds none comes, at the end.
            enough: Whether these messages are all that is waited for.

        Raises:
            ResonateError: The server has no such stream.
        """
        import httpx

        found: list[dict[str, Any]] = []
        try:
            with self.stream(path, silence) as (response, lines):
                if response.status_code != 200:
                    raise ResonateError(f"{self.name} answered {response.status_code} to GET {path}", response.status_code)
                until = seconds() + silence + self.timeout
                for line in lines:
                    if seconds() >= until or len(found) >= _MOST_EVENTS:
                        break
                    if line.startswith("data:"):
                        found.append(parsed(line[5:]))
                        if enough(found):
                            break
        except httpx.ReadTimeout:
            pass
        except (httpx.HTTPError, ValueError) as error:
            raise ResonateError(f"{self.name} has no stream {path}: {error}") from error
        return found


def _answer(request: dict[str, Any], begin: float, response: Answer) -> TimedAnswer:
    end = local_ms()
    try:
        body = bounded(parsed(response.content))
    except ValueError:
        body = None
    return TimedAnswer(
        request, begin, end, response.status_code, response.headers.get("content-type", ""), body, response.text[:500]
    )
