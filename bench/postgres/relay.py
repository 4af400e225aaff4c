"""A relay before a database server that delays each direction, as a network does."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_SOURCE = Path(__file__).parents[1] / "cpp" / "relay.cpp"


@contextlib.contextmanager
def relayed(url: str, round_trip_ms: float) -> Iterator[str]:
    """The URL of the same database behind a relay, which is a process of its own, with this round trip.

    The compiler is $CXX, or else c++. The server is on an IPv4 address.
    """
    parts = urlsplit(url)
    target = (str(parts.hostname), str(parts.port or 5432))
    user = f"{parts.username}@" if parts.username else ""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        program = str(Path(folder) / "relay")
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-std=c++17", "-O2", "-o", program, str(_SOURCE)], check=True)
        words = [program, str(listening.fileno()), *target, str(round(round_trip_ms * 500))]
        with subprocess.Popen(words, pass_fds=[listening.fileno()]) as process:
            try:
                yield urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{listening.getsockname()[1]}"))
            finally:
                process.kill()
