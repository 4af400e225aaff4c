"""Ports for the servers that tests start."""

from __future__ import annotations

import itertools
import os
import socket

# Below the ports that systems use for outgoing connections. A connection of any process could take such a port before the server
# does, or while a server is restarted; and a client that connects to a port without a listener can be connected to itself.
FIRST_PORT, LAST_PORT = 20_000, 32_000
#: Each process of a test run has ports of its own: a server binds the port that it was given some seconds later.
_PROCESSES = 12
_COUNT = (LAST_PORT - FIRST_PORT) // _PROCESSES
_first = FIRST_PORT + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % _PROCESSES * _COUNT
_ports = itertools.count(os.getpid() * 37)


def free_port() -> int:
    """Returns a port on which no process listens now; another one for each call."""
    for n in itertools.islice(_ports, _COUNT):
        port = _first + n % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no free port from {_first} to {_first + _COUNT}")
