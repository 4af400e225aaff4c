"""PostgreSQL servers for tests: real clusters in temporary folders, on free ports of the loopback address.

    python tests/postgres_server.py psql      runs a command with the variables of libpq (PGHOST, PGPORT, PGUSER) of a new server

The tests of one run share one server, which the first test that needs it starts (`shared`). A test that stops, kills or
configures a server starts one of its own (`running`). In both cases a small process, the keeper, holds a pipe to the process
that owns the server. When the pipe closes, also because the owner was killed, the keeper stops the server and deletes the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import libpq
from free_ports import free_port
from temporary_files import place_of_files

OLDEST = 14
"""The oldest version of PostgreSQL that is supported."""

FOLDER = "RESONATE_TEST_POSTGRES"
"""The environment variable with the folder of the shared server. The processes of a test run inherit it."""

USER = "resonate"
"""The superuser of each cluster."""

QUICK = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "max_wal_size": "256MB"}
"""Settings that lose commits when the machine stops, and nothing when only the server is killed."""

# After a crash the server flushes all files of the cluster: one by one this takes seconds.
DURABLE = {"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}

SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_line_prefix": "'%m [%p] %q%d '",
    "timezone": "'UTC'",
}

KEEPER = """
read -r _
cd /
"$1" --pgdata "$2/data" --mode immediate --silent stop
rm -rf "$2"
"""


@cache
def binaries() -> Path | None:
    """The folder with the programs of the newest installed server."""
    programs = {Path(folder) / "postgres" for folder in os.environ.get("PATH", "").split(os.pathsep)}
    programs |= set(Path("/usr/lib/postgresql").glob("*/bin/postgres"))  # Debian's
    folders = {program.resolve().parent for program in programs if program.is_file()}
    if not folders and shutil.which("pg_config"):
        said = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False).stdout
        folders.add(Path(said.strip()))
    found = [(_version(folder), folder) for folder in folders if (folder / "initdb").is_file()]
    return max((one for one in found if one[0] >= OLDEST), default=(0, None))[1]


def _version(folder: Path) -> int:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"\d+", said)
    return int(number[0]) if number else 0


def owner() -> str | None:
    """Returns the user that servers run as: the current one, or another one if that is root, which PostgreSQL refuses."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid()).pw_name
    with contextlib.suppress(KeyError):
        return pwd.getpwnam("postgres").pw_name
    return None


def missing() -> str | None:
    """Returns why no server can be started here, or None."""
    if binaries() is None:
        return f"no server of PostgreSQL {OLDEST} or later is installed"
    if owner() is None:
        return "PostgreSQL does not run as root, and there is no user postgres"
    return None


def as_owner(folder: Path) -> dict[str, object]:
    """Returns the beginning of a command that runs a program of PostgreSQL as the owner, without variables such as PGDATA."""
    started: dict[str, object] = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
    if os.getuid() == 0:
        user = pwd.getpwnam(str(owner()))
        started |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return started


def _reachable(folder: Path) -> bool:
    """Whether the owner can use folders in this one."""
    return os.getuid() != 0 or all(one.stat().st_mode & 1 for one in [folder, *folder.parents])


def new_folder(*, durable: bool = False) -> Path:
    """A new folder that belongs to the owner: on a disk, or if it need not be durable and there is room, in memory."""
    place = (None if durable else place_of_files()) or Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="resonate-postgres-", dir=place if _reachable(place) else "/tmp"))
    if os.getuid() == 0:
        shutil.chown(folder, str(owner()))
    return folder


class PostgresServer:
    """The server of the cluster in a folder.

    Args:
        folder: A folder of `new_folder`.
        durable: Whether commits are flushed to the disk, as in production.
        settings: More lines of postgresql.conf.
    """

    def __init__(self, folder: Path, *, durable: bool = False, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._settings = {**SETTINGS, **(DURABLE if durable else QUICK), **(settings or {})}

    @property
    def log(self) -> Path:
        """The file with the messages of the server."""
        return self.folder / "log"

    @property
    def port(self) -> int:
        """The port, once the server has been started."""
        return int((self.folder / "port").read_text())

    def url(self, database: str = "postgres", **parameters: str) -> str:
        """The address of a database, with parameters that need no escapes."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}" + (f"?{query}" if query else "")

    def start(self) -> None:
        """Starts the server and waits until it accepts connections; creates the cluster if there is none."""
        if not (self.folder / "data").exists():
            self._create()
        for last in (False, False, True):  # another process may take the port first
            if not (self.folder / "port").exists():
                (self.folder / "port").write_text(str(free_port()))
            try:
                self._control("start", "--log", str(self.log), "--options", f"-p {self.port}")
                return
            except RuntimeError:
                if last or "Address already in use" not in self.log.read_text():
                    raise
                (self.folder / "port").unlink()
                self.log.unlink()

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stops the server; "immediate" is like a crash of all its processes."""
        self._control("stop", "--mode", mode)

    def restart(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stops the server and starts it on the same port."""
        self.stop(mode)
        self.start()

    def copy_to(self, standby: PostgresServer) -> None:
        """Starts a standby in a folder without a cluster; every commit of this server then waits until the standby has it on its disk."""
        source = f"host=127.0.0.1 port={self.port} user={USER} application_name=standby"
        standby._run(
            "pg_basebackup", "--dbname", source, "--pgdata", str(standby.folder / "data"), "--checkpoint", "fast", "--no-sync"
        )
        with (standby.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(f"primary_conninfo = '{source}'\n")
        (standby.folder / "data" / "standby.signal").touch()
        if os.getuid() == 0:
            shutil.chown(standby.folder / "data" / "standby.signal", str(owner()))
        standby.start()
        self.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.execute("SELECT pg_reload_conf()")
        while self.execute("SELECT sync_state FROM pg_stat_replication") != [("sync",)]:
            time.sleep(0.02)

    def promote(self) -> None:
        """Makes a standby a server that can be written to."""
        self._control("promote")

    def terminate_backends(self, database: str) -> int:
        """Ends all connections to a database; returns their number."""
        ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        return len(self.execute(ended))

    @property
    def running(self) -> bool:
        """Whether the server has a process."""
        return (self.folder / "data" / "postmaster.pid").exists()

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[str | None, ...]]:
        """Runs SQL on a connection of its own; see `libpq.Connection.execute`."""
        with libpq.Connection(self.url(database)) as connection:
            return connection.execute(sql)

    def create_database(self, name: str, template: str = "template1") -> str:
        """Creates a database; returns its URL."""
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Deletes a database and ends its connections."""
        self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    @contextlib.contextmanager
    def database_in_turn(self, name: str) -> Iterator[str]:
        """A new database whose name, like the names of its roles, is one for all processes of a test run, which take turns; yields its URL."""
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            url = self.create_database(name)
            try:
                yield url
            finally:
                self.drop_database(name)

    def _create(self) -> None:
        sort_and_trust = ["--locale", "C", "--encoding", "UTF8", "--auth", "trust", "--no-sync", "--no-instructions"]
        self._run("initdb", "--pgdata", "new", "--username", USER, *sort_and_trust)
        # Sockets have short paths.
        sockets = str(self.folder) if len(str(self.folder)) < 80 else ""
        settings = {**self._settings, "unix_socket_directories": f"'{sockets}'"}
        with (self.folder / "new" / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        (self.folder / "new").rename(self.folder / "data")

    def _control(self, *words: str) -> None:
        self._run("pg_ctl", "--pgdata", str(self.folder / "data"), "--wait", "--timeout", "120", "--silent", *words)

    def _run(self, program: str, *words: str) -> None:
        """Runs a program of PostgreSQL; its output goes to a file, since the server inherits it."""
        said = self.folder / f"{program}.out"
        with said.open("w") as output:
            command = [str(binaries() / program), *words]  # type: ignore[operator]
            options = as_owner(self.folder)
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False, **options)  # type: ignore[call-overload]
        if done.returncode != 0:
            log = self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""
            raise RuntimeError(f"{program} {words} failed:\n{said.read_text(errors='replace')}\n{log}")


@contextlib.contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Keeps the server of a folder while the body runs; then, or when this process is killed, stops it and deletes the folder."""
    command = ["/bin/sh", "-c", KEEPER, "keeper", str(binaries() / "pg_ctl"), str(folder)]  # type: ignore[operator]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True, **as_owner(folder)}
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, **options)  # type: ignore[call-overload]
    try:
        yield
    finally:
        keeper.communicate()
        if folder.exists():  # the keeper was killed
            subprocess.run(command, stdin=subprocess.DEVNULL, check=False, **options)  # type: ignore[call-overload]


@contextlib.contextmanager
def running(*, durable: bool = False, settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server of its own for a test."""
    folder = new_folder(durable=durable)
    with kept(folder):
        server = PostgresServer(folder, durable=durable, settings=settings)
        server.start()
        yield server


@contextlib.contextmanager
def offered() -> Iterator[None]:
    """Makes a server available to this process and those that it starts: `shared` starts it. If there is one already, uses that."""
    if FOLDER in os.environ or missing() is not None:
        yield
        return
    folder = new_folder()
    with kept(folder):
        os.environ[FOLDER] = str(folder)
        try:
            yield
        finally:
            del os.environ[FOLDER]


def shared() -> PostgresServer:
    """The server that is offered; the first process that asks for it starts it."""
    server = PostgresServer(Path(os.environ[FOLDER]))
    with (server.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not server.running:
            server.start()
    return server


def main(command: list[str]) -> int:
    """Runs a command beside a new server."""
    with running() as server:
        place = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": USER, "PGDATABASE": "postgres"}
        return subprocess.run(command, env={**os.environ, **place, FOLDER: str(server.folder)}, check=False).returncode


if __name__ == "__main__":
    reason = missing()
    sys.exit(f"no PostgreSQL: {reason}" if reason else main(sys.argv[1:] or ["psql"]))
