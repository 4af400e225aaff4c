"""Calls an ASGI app without a server or a client library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

__all__ = ["Answer", "call", "scope_of"]


@dataclass(frozen=True)
class Answer:
    """A response; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded from JSON."""
        return json.loads(self.body)


def scope_of(method: str, target: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """Returns the scope of a request, as a server would make it."""
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 12345),
    }


async def call(
    app: Any,
    method: str = "POST",
    target: str = "/",
    body: bytes | Sequence[bytes] = b"",
    headers: dict[str, str] | None = None,
) -> Answer:
    """Calls an app and returns its response; a body of several parts is sent in parts."""
    parts = [body] if isinstance(body, bytes) else list(body)
    given = iter(parts)
    left = len(parts)
    started: dict[str, Any] = {}
    collected: list[bytes] = []

    async def receive() -> dict[str, Any]:
        nonlocal left
        part = next(given, None)
        if part is None:
            return {"type": "http.disconnect"}
        left -= 1
        return {"type": "http.request", "body": part, "more_body": left > 0}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert not started, "the answer starts twice"
            started.update(message)
        else:
            assert started and message["type"] == "http.response.body", message
            collected.append(message.get("body", b""))

    await app(scope_of(method, target, headers), receive, send)
    names = [name for name, _ in started["headers"]]
    assert len(set(names)) == len(names) and all(name == name.lower() for name in names), names
    return Answer(started["status"], {name.decode(): value.decode() for name, value in started["headers"]}, b"".join(collected))
