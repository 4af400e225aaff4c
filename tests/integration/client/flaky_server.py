"""An HTTP server before a store, which fails as a test says."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import resonate_core as rc

__all__ = ["Flaky", "flaky"]

LOST = "the answer is lost"
CUT = "the connection ends before the request runs"


class Flaky:
    """The behaviour of the server, and what arrived.

    Attributes:
        url: Its address.
        faults: What happens to the next requests, in order: `LOST`, `CUT`, or a status of a proxy with its headers.
        requests: The requests that arrived, in order.
        most_bytes: The longest body that is accepted.
        batch: The number of envelopes that it says it accepts in one request; 1: it accepts no batches.
        sizes: How many envelopes each HTTP request had.
    """

    def __init__(self, store: rc.Store) -> None:
        self.store = store
        self.url = ""
        self.faults: list[str | tuple[int, dict[str, str]]] = []
        self.requests: list[dict[str, Any]] = []
        self.most_bytes = 2**62
        self.batch = 1
        self.sizes: list[int] = []

    @property
    def kinds(self) -> list[str]:
        """Returns the kinds of the requests that arrived."""
        return [request["kind"] for request in self.requests]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    flaky: Flaky

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        lines = body.split(b"\n") if self.path == "/batch" else [body]
        self.flaky.requests += map(json.loads, lines)
        self.flaky.sizes.append(len(lines))
        fault = self.flaky.faults.pop(0) if self.flaky.faults else None
        if isinstance(fault, tuple):
            self._answer(fault[0], b"<html>the proxy is busy</html>", fault[1])
        elif len(body) > self.flaky.most_bytes:
            reply = {"kind": "unknown", "head": {"corrId": "0", "status": 413, "version": "2026-04-01"}, "data": "too large"}
            self._answer(413, json.dumps(reply).encode(), {})
        elif fault == CUT:
            self.close_connection = True
        else:
            replies = [self.flaky.store.apply_json(line) for line in lines]
            batches = {} if self.flaky.batch == 1 else {"resonate-batch": str(self.flaky.batch)}
            if fault == LOST:
                self.close_connection = True
            elif self.path == "/batch":
                self._answer(200, b"\n".join(replies) + b"\n", batches)
            else:
                self._answer(json.loads(replies[0])["head"]["status"], replies[0], batches)

    def do_GET(self) -> None:
        self._answer(404, b"{}", {})  # no streams

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Logs nothing."""


@contextlib.contextmanager
def flaky(store: rc.Store) -> Iterator[Flaky]:
    """Serves a store."""
    made = Flaky(store)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"flaky": made}))
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
