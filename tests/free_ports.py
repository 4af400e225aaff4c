"""Ports for the servers that tests start."""

from __future__ import annotations

import itertools
import os
import socket

# Below the ports that systems use for outgoing connections. A connection of any process could take such a port before the server
# does, or while a server is restarted; and a client that connects to a port without a listener can be connected to itself.
FIRST_PORT, LAST_PORT = 20_000, 32_000
_ports = itertools.count(os.getpid() * 37)


def free_port() -> int:
    """Returns a port on which no process listens now; another one for each call."""
    for n in itertools.islice(_ports, LAST_PORT - FIRST_PORT):
        port = FIRST_PORT + n % (LAST_PORT - FIRST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no free port from {FIRST_PORT} to {LAST_PORT}")
