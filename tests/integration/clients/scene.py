"""The surroundings of a program of the table: servers, processes with the client, and the folder for their trace files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import backends
import homes
import resonate_core as rc
from integration.clients.peer_process import DEADLINE, PeerProcess
from integration.clients.published import Client
from integration.clients.server_process import ServerProcess, clean_environment, decoded

Record = dict[str, Any]


@dataclass(frozen=True)
class Deployment:
    """The servers of a scene, and the storage of their one store.

    Attributes:
        name: The name of the deployment, which is in the ids of tests.
        storage: "sqlite", or one of `homes.HOMES`.
        servers: The number of servers. The callers and the commands use the first one, the workers the last one.
    """

    name: str
    storage: str
    servers: int = 1


FILE = Deployment("file", "sqlite")
POSTGRES = Deployment("postgres", "postgres")
TWO_SERVERS = Deployment("two_servers", "postgres", servers=2)


class Scene:
    """The servers on one store, and the processes of one client that a test starts.

    Args:
        client: The client in the processes.
        folder: An empty folder.
        place: The path or URL of the store.
        servers: The number of servers.
        server: The server of another scene; None starts new servers.
    """

    def __init__(
        self, client: Client, folder: Path, place: Path | str, servers: int = 1, server: ServerProcess | None = None
    ) -> None:
        self.client = client
        self.folder = folder
        self.programs = folder / "programs"
        self.programs.mkdir()
        client.prepare(self.programs)
        self.traces = folder / "traces"
        self.traces.mkdir()
        self.place = place
        self.count = servers
        self.serves = server is None
        self.servers: list[ServerProcess] = [] if server is None else [server]
        self.peers: list[PeerProcess] = []

    @property
    def server(self) -> ServerProcess:
        """The server of the callers, of our commands and of the test."""
        return self.servers[0]

    @property
    def url_of_workers(self) -> str:
        """The URL of the server of the workers."""
        return self.servers[-1].url

    def serve(self, **settings: Any) -> ServerProcess:
        """Starts the servers; returns the first one. By default a server queues an undelivered message again after one second."""
        for number in range(1, self.count + 1):
            log = self.folder / f"server{number}.log"
            self.servers.append(ServerProcess(log, self.place, **({"STORE__RETRY_TIMEOUT_MS": 1000} | settings)))
            self.servers[-1].start()
        return self.server

    def run(self, program: str, name: str, url: str | None = None, **environment: str) -> PeerProcess:
        """Starts a program in the folder of programs, with the URL of a server, normally that of the workers."""
        everything = (
            clean_environment()
            | {"RESONATE_URL": url or self.url_of_workers, "PEER_NAME": name, "PEER_FOLDER": str(self.traces)}
            | environment
        )
        self.peers.append(PeerProcess(name, self.client.command(program), self.programs, everything))
        return self.peers[-1]

    def worker(
        self,
        name: str,
        group: str = "workers",
        ttl_ms: int = 10_000,
        token: str | None = None,
        url: str | None = None,
        **environment: str,
    ) -> PeerProcess:
        """Starts a process that has the functions."""
        environment |= {"PEER_GROUP": group, "PEER_TTL_MS": str(ttl_ms), "PEER_FUNCTIONS": environment.get("PEER_FUNCTIONS", "all")}
        if token is not None:
            environment["RESONATE_TOKEN"] = token
        started = self.run("peer", name, url, **environment)
        started.wait_for("ready")
        return started

    def caller(self, name: str, **options: Any) -> PeerProcess:
        """Starts a process that has no functions, in a group of its own."""
        return self.worker(name, group="callers", PEER_FUNCTIONS="", url=self.server.url, **options)

    def command(self, *words: str) -> str:
        """Runs our command line on the server; returns what it prints."""
        command = [sys.executable, "-m", "resonate_core", *words, "--url", self.server.url]
        ran = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=DEADLINE, check=False)
        assert ran.returncode == 0, f"{' '.join(words)}: exit status {ran.returncode}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def until(self, what: str, happened: Callable[[], Any]) -> Any:
        """Waits until a function returns a true value; returns the value."""
        end = time.monotonic() + DEADLINE
        while not (found := happened()):
            assert time.monotonic() < end, f"not within {DEADLINE} s: {what}"
            time.sleep(0.02)
        return found

    def trace(self, name: str) -> list[str]:
        """Returns the lines of a file that the functions write."""
        file = self.traces / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def open_gate(self, key: str, i: int) -> None:
        """Lets a step continue."""
        (self.traces / f"{key}.gate{i}").touch()

    def promise(self, id: str) -> Record:
        """A promise, read from the server."""
        found: Record = self.server.must("promise.get", {"id": id})["promise"]
        return found

    def task(self, id: str) -> Record:
        """A task, read from the server."""
        found: Record = self.server.must("task.get", {"id": id})["task"]
        return found

    def tree(self, origin: str, tag: str = "resonate:origin") -> dict[str, Record]:
        """Returns all promises of a workflow, by id."""
        found: dict[str, Record] = {}
        request: dict[str, Any] = {"tags": {tag: origin}, "limit": 1000}
        while True:
            page = self.server.must("promise.search", request)
            found |= {promise["id"]: promise for promise in page["promises"]}
            if "cursor" not in page:
                return found
            request["cursor"] = page["cursor"]

    def settled(self, origin: str) -> dict[str, Record]:
        """The settled promises of a workflow, which must never change."""
        return {id: promise for id, promise in self.tree(origin).items() if promise["state"] != "pending"}

    def ended(self, id: str, state: str = "resolved") -> Any:
        """Checks that a workflow and all its promises are settled and its task is fulfilled; returns its value."""
        root = self.promise(id)
        assert root["state"] == state, root
        tree = self.tree(id)
        assert {promise["state"] for promise in tree.values() if promise["id"] != id} <= {"resolved"}, tree
        assert self.task(id)["state"] == "fulfilled"
        return decoded(root["value"])

    def close(self) -> None:
        """Ends all processes, and checks the invariants of the store that its servers had."""
        for peer in self.peers:
            peer.end()
        if not self.serves:
            return
        for server in self.servers:
            server.stop()
        with rc.Store(self.place) as store:
            broken = store.check()
        assert not broken, broken

    def abandon(self) -> None:
        """Kills all processes, after a failure."""
        for peer in self.peers:
            peer.kill()
            peer.end()
        for server in self.servers if self.serves else []:
            if server.process is not None:
                server.kill()

    def logs(self) -> dict[str, str]:
        """Returns the end of each process's log."""
        files = {server.log.stem: server.log for server in self.servers} | {peer.name: peer.log for peer in self.peers}
        return {name: file.read_text(encoding="utf-8", errors="replace")[-6000:] for name, file in files.items() if file.exists()}


class Scenes:
    """Makes the scenes of one test, and ends them.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[Scene] = []
        self.failed = False
        self._home: homes.Home | None = None

    def _new_place(self, deployment: Deployment, folder: Path) -> Path | str:
        if deployment.storage == "sqlite":
            return folder / "server.db"
        backends.require(next(one for one in backends.BACK_ENDS if one.name == deployment.storage))
        self._home = self._home or homes.HOMES[deployment.storage](rc)
        place: str = self._home.new_place()
        return place

    def __call__(self, client: Client, deployment: Deployment = FILE, server: ServerProcess | None = None) -> Scene:
        """Makes a scene with a client, and with its own servers or the given one. If the client is missing, the test is skipped, or
        fails if every client is required."""
        if client.missing is not None:
            if os.environ.get("RESONATE_REQUIRE_BACK_ENDS"):
                pytest.fail(f"client {client.name} is required here: {client.missing}")
            pytest.skip(f"client {client.name}: {client.missing}")
        folder = self.folder / str(len(self.made))
        folder.mkdir()
        place = server.place if server else self._new_place(deployment, folder)
        self.made.append(Scene(client, folder, place, deployment.servers, server))
        return self.made[-1]

    def end(self) -> None:
        """Ends all scenes, the one with the servers last; after a failure, kills all processes."""
        with contextlib.ExitStack() as ends:
            if self._home is not None:
                ends.callback(self._home.end)
            for scene in self.made:
                ends.callback(scene.abandon if self.failed else scene.close)
