"""Reads the URLs of streams: group and id of a poll stream, queues of a job stream."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from .origins import JOB_STREAM

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["is_stream", "queues_of", "segments_after_poll"]


def is_stream(scope: Scope) -> bool:
    """Return whether a request opens a stream (of messages, of jobs, or of the dashboard), below any root path."""
    path = scope["path"]
    return scope["method"] == "GET" and ("/poll/" in path or path.endswith((JOB_STREAM, "/api/events")))


def segments_after_poll(scope: Scope) -> tuple[str, str] | None:
    """Return the group and the id of a poll stream; None if the path does not have both. An id may contain a slash, written %2F."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.split(b"?", 1)[0].decode("latin-1")
    at = path.find("/poll/", max(0, len(scope.get("root_path", "")) - 1))
    segments = path[at + len("/poll/") :].split("/")
    if at < 0 or len(segments) != 2 or not all(segments):
        return None
    return unquote(segments[0]), unquote(segments[1])


def queues_of(scope: Scope) -> list[str]:
    """Return the queues that the query of a request names, each once."""
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    return list(dict.fromkeys(value for name, value in query if name == "queue" and value))
