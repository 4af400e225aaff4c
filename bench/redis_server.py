"""A Redis of its own for the peers that need one."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from .http.servers import free_port

_PATIENCE = 60.0
#: How Redis keeps its data, by the name in figures. With `fsync always` it loses nothing that it has answered.
KEPT: dict[str, tuple[str, ...]] = {
    "no file": ("--appendonly", "no"),
    "everysec": ("--appendonly", "yes", "--appendfsync", "everysec"),
    "fsync always": ("--appendonly", "yes", "--appendfsync", "always"),
}


@contextlib.contextmanager
def running(folder: Path, options: Sequence[str] = KEPT["no file"]) -> Iterator[tuple[str, int]]:
    """Start a Redis on a free port of 127.0.0.1, without snapshots. Gives its address and its process.

    Args:
        folder: For its files; it is made.
        options: How it keeps its data.
    """
    port = free_port()
    folder.mkdir()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder.absolute()), "--save", "", *options]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    break
            except OSError:
                if server.poll() is not None or time.monotonic() > until:
                    print((folder / "log").read_text(), file=sys.stderr)
                    raise
                time.sleep(0.05)
        yield f"127.0.0.1:{port}", server.pid
    finally:
        server.terminate()
        server.wait()
