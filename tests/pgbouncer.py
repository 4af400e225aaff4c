"""PgBouncer for tests: poolers in transaction mode on free ports of the loopback address, in front of a PostgreSQL server.

A pooler gives each transaction a connection to the server, and the next transaction of the same client mostly another one. A small
process, the keeper, is its parent and holds a pipe to the process that owns it. When the pipe closes, also because the owner was
killed, the keeper stops the pooler and deletes its folder.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import libpq
import postgres_server
from free_ports import free_port

CONNECTIONS = 4
"""The connections of a pool. They are used in turn, so that each transaction of a client has another one than the one before."""

SETTINGS = f"""
[databases]
* = host=127.0.0.1 port={{server}} user={postgres_server.USER}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {{port}}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {CONNECTIONS}
server_round_robin = 1
; A server that was restarted is used again at once, not after 15 s.
server_login_retry = 1
server_idle_timeout = 0
max_client_conn = 500
logfile = {{folder}}/log
{{more}}
"""

KEEPER = """
"$1" --quiet "$2/settings.ini" </dev/null &
read -r _
kill $!
wait $!
rm -rf "$2"
"""


def binary() -> Path | None:
    """Returns the installed program; Debian's is in a folder that may not be in PATH."""
    found = shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    return Path(found) if found else None


def missing() -> str | None:
    """Returns why no pooler can be started here, or None."""
    return postgres_server.missing() or (None if binary() else "PgBouncer is not installed")


class PgBouncer:
    """A running pooler.

    Args:
        port: Its port.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._filled: set[str] = set()

    def url_of_database(self, url: str) -> str:
        """Returns the URL of a database behind this pooler, from a URL on the server; without parameters, as libpq takes it."""
        return urlunsplit(urlsplit(url)._replace(netloc=f"{postgres_server.USER}@127.0.0.1:{self.port}", query=""))

    def url(self, url: str) -> str:
        """Returns the URL of a store behind this pooler, from its URL on the server; opens all connections of its pool."""
        query = "&".join(filter(None, [urlsplit(url).query, "prepared=no"]))
        database = self.url_of_database(url)
        if database not in self._filled:
            self._filled.add(database)
            _open_at_once(database, CONNECTIONS)
        return f"{database}?{query}"


def _open_at_once(url: str, count: int) -> None:
    """Runs transactions at the same time, since the pooler opens a second connection only if the first is used."""
    with contextlib.ExitStack() as clients:
        opened = [clients.enter_context(libpq.Connection(url)) for _ in range(count)]
        for one in opened:
            one.execute("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")  # a test may give its role one of 10 ms
        for one in opened:
            one.execute("COMMIT")  # the pooler closes the connection of a transaction whose client goes away


@contextlib.contextmanager
def running(server: int, port: int | None = None, more: str = "") -> Iterator[PgBouncer]:
    """A pooler for tests.

    Args:
        server: The port of the PostgreSQL server.
        port: The port of the pooler; None: a free one.
        more: More lines of its settings.
    """
    given = port
    for last in (False, False, True):  # another process may take a free port first
        folder = postgres_server.new_folder()
        port = given or free_port()
        (folder / "settings.ini").write_text(SETTINGS.format(server=server, port=port, folder=folder, more=more))
        command = ["/bin/sh", "-c", KEEPER, "keeper", str(binary()), str(folder)]
        output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        options = {**output, "start_new_session": True, **postgres_server.as_owner(folder)}
        keeper = subprocess.Popen(command, stdin=subprocess.PIPE, **options)  # type: ignore[call-overload]
        try:
            if _answers(port, folder, last):
                yield PgBouncer(port)
                return
        finally:
            keeper.communicate()


def _answers(port: int, folder: Path, must: bool) -> bool:
    """Waits until the pooler accepts connections."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        log = (folder / "log").read_text() if (folder / "log").exists() else ""
        if "Address already in use" in log and not must:
            return False
        time.sleep(0.01)
    raise RuntimeError(f"PgBouncer does not listen on port {port}:\n{log}")


@cache
def shared() -> PgBouncer:
    """The pooler of this process, in front of the server that the test run shares."""
    until_the_end = contextlib.ExitStack()
    atexit.register(until_the_end.close)
    return until_the_end.enter_context(running(postgres_server.shared().port))
