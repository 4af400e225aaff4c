"""Requests to the server that is judged, with the whole of each answer and the instants before and after it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._server_client import ServerClient
from .._stopwatch import doubled, seconds
from ..errors import ResonateError, Unreachable

__all__ = ["Answer", "Door", "local_ms"]

_BUSY = 429
_PAUSE, _LONGEST_PAUSE, _ATTEMPTS = 0.05, 2.0, 12


def local_ms() -> float:
    """This process's stopwatch in ms."""
    return seconds() * 1000


@dataclass(frozen=True)
class Answer:
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


class Door(ServerClient):
    """Connections to the server that is judged."""

    def another(self) -> Door:
        """Connections of their own to the same server."""
        return Door(self.url, self.token, self.timeout)

    def ask(self, request: dict[str, Any]) -> Answer:
        """Send an envelope; a server that is busy (429) gets it again, for it has not run.

        Raises:
            Unreachable: There was no answer, or it stays busy.
        """
        import httpx

        sent = dict(request, head=dict(request["head"], auth=self.token)) if self.token is not None else request
        text = json.dumps(sent).encode("ascii")
        for attempt in range(_ATTEMPTS):
            begin = local_ms()
            try:
                response = self._http.post(self.http_url, content=text)
            except httpx.HTTPError as error:
                raise self.failed(error) from error
            if response.status_code != _BUSY:
                return _answer(request, begin, response)
            time.sleep(doubled(_PAUSE, attempt, _LONGEST_PAUSE))
        raise Unreachable(f"{self.name} answered {_BUSY} to each of {_ATTEMPTS} attempts", _BUSY)

    def ask_all(self, requests: Sequence[dict[str, Any]]) -> int:
        """Send envelopes whose answers do not matter, for example to clean up; return how many were carried out."""
        done = 0
        for request in requests:
            answer = self.ask(request)
            done += answer.http_status in (200, 300)
        return done

    def events(self, path: str, silence: float) -> list[dict[str, Any]]:
        """The messages of a poll stream until it is silent for so many seconds.

        Raises:
            ResonateError: The server has no such stream.
        """
        import httpx

        found = []
        try:
            with self.stream(path, silence) as response:
                if response.status_code != 200:
                    raise ResonateError(f"{self.name} answered {response.status_code} to GET {path}", response.status_code)
                for line in response.iter_lines():
                    if line.startswith("data:"):
                        found.append(json.loads(line[5:]))
        except httpx.ReadTimeout:
            pass
        except (httpx.HTTPError, ValueError) as error:
            raise ResonateError(f"{self.name} has no stream {path}: {error}") from error
        return found


def _answer(request: dict[str, Any], begin: float, response: Any) -> Answer:
    end = local_ms()
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    return Answer(request, begin, end, response.status_code, response.headers.get("content-type", ""), body, response.text[:500])
