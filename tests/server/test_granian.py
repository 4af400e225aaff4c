"""``resonate-core serve --engine granian``: real processes, told to stop in every way that there is."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from resonate_core import Store
from resonate_core.server.run import CANNOT_START, FAILED
from resonate_core.server.run_granian import serve_granian
from resonate_core.server.settings import Settings
from server.test_push_connections import made_certificate

pytest.importorskip("granian")

FAR = 4_000_000_000_000
_PATIENCE = 60


class Granian:
    """One server process and its workers, on a free port of 127.0.0.1; what it says is in `log`."""

    def __init__(self, folder: Path, *flags: object, verify: ssl.SSLContext | bool = False) -> None:
        self.log = folder / "granian.log"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
        command = [sys.executable, "-m", "resonate_core", "serve", "--engine", "granian", "--port", "0", *map(str, flags)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=clean, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.client = httpx.Client(verify=verify, timeout=_PATIENCE, trust_env=False)
        self.url = ""

    def started(self) -> Granian:
        """Waits until it answers."""
        until = time.monotonic() + _PATIENCE
        while not self.ready():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)
        return self

    def ready(self) -> bool:
        found = re.search(r" at (https?://[^/ ]+)\S* \(process", self.said())
        if found is None:
            return False
        self.url = found[1]  # without a root path: that is there for a proxy in front, which strips it
        try:
            return self.client.get(f"{self.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    def said(self) -> str:
        return self.log.read_text()

    @property
    def port(self) -> int:
        return int(httpx.URL(self.url).port or 0)

    @property
    def workers(self) -> list[int]:
        """Processes that ever served, in order of their starts."""
        return [int(pid) for pid in re.findall(r" at \S+ \(process (\d+)\)", self.said())]

    def ask(self, kind: str, **data: Any) -> Any:
        envelope = {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}
        reply = self.client.post(f"{self.url}/", json=envelope)
        assert reply.status_code == 200, reply.text
        return reply.json()["data"]

    def ended(self, status: int = 0) -> None:
        """Waits for its end, and for that of every worker."""
        assert self.process.wait(_PATIENCE) == status, self.said()
        for pid in self.workers:
            until_gone(pid)

    def close(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.workers:
            until_gone(pid)


def until_gone(pid: int) -> None:
    until = time.monotonic() + _PATIENCE
    while runs(pid):
        assert time.monotonic() < until, f"process {pid} does not end"
        time.sleep(0.02)


def runs(pid: int) -> bool:
    with contextlib.suppress(OSError):  # nobody waits for an orphan that the container's first process does not reap
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextlib.contextmanager
def granian(folder: Path, *flags: object, **given: Any) -> Iterator[Granian]:
    server = Granian(folder, *flags, **given)
    try:
        yield server.started()
    finally:
        server.close()


def messages(stream: httpx.Response) -> Iterator[dict[str, Any]]:
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def until_open(server: Granian, count: int) -> None:
    """Waits until so many poll streams are open."""
    until = time.monotonic() + _PATIENCE
    while f"resonate_poll_streams {count}.0" not in server.client.get(f"{server.url}/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "send", "root_path"),
    [
        (signal.SIGTERM, os.kill, ""),
        (signal.SIGTERM, os.killpg, "/resonate"),  # as systemd does
        (signal.SIGINT, os.killpg, ""),  # as a terminal does
        (signal.SIGHUP, os.kill, ""),
    ],
)
def test_a_stop_ends_streams_and_keeps_what_was_answered(
    tmp_path: Path, number: int, send: Callable[[int, int], None], root_path: str
) -> None:
    path = tmp_path / "kept.db"
    with granian(tmp_path, "--db", path, "--root-path", root_path) as server:
        with server.client.stream("GET", f"{server.url}/poll/g/me%2F1") as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            events = messages(stream)
            server.ask("promise.create", id="p", timeoutAt=FAR, tags={"resonate:target": "poll://uni@g/me/1"})
            told = next(events)
            assert told["data"]["task"] == {"id": "p", "version": 0}
            assert told["head"]["serverUrl"] == f"{server.url}{root_path}"
            until_open(server, 1)
            send(server.process.pid, number)
            assert list(events) == []  # it ended as a stream ends, not as a connection breaks
        server.ended()
        # granian waits for a worker's last breath, and may take one that is breathing it for one that refuses to stop.
        before_any_kill = server.said().partition("Killing")[0]
        assert f"stopped (process {server.workers[0]})" in before_any_kill
        assert not Path(f"{path}-wal").exists(), "a store was not closed"
    with Store(path) as store:
        assert store.promises.get("p").state == "pending"
        assert store.check() == []


def test_a_client_that_goes_away_is_noticed(tmp_path: Path) -> None:
    with granian(tmp_path) as server:
        for n in range(3):
            with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE) as stream:
                stream.sendall(b"GET /poll/g/me HTTP/1.1\r\nhost: here\r\n\r\n")
                until_open(server, 1)
            until_open(server, 0)
            server.ask("promise.create", id=f"p{n}", timeoutAt=FAR, tags={"resonate:target": "poll://any@g/me"})
        with server.client.stream("GET", f"{server.url}/poll/g/me") as stream:
            events = messages(stream)
            # All of them: in which order a reader that comes back sees what waited is said nowhere.
            assert {next(events)["data"]["task"]["id"] for _ in range(3)} == {"p0", "p1", "p2"}


def test_a_request_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    with granian(tmp_path, "--db", tmp_path / "kept.db") as server:
        body = json.dumps(
            {"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "late", "timeoutAt": FAR}}
        ).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n\r\n" % len(body) + body[:20])
            until_in_hand(server)
            server.process.send_signal(signal.SIGTERM)
            refused_from_now_on(server)
            slow.sendall(body[20:])
            answer = b"".join(iter(lambda: slow.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 200 ") and b'"id":"late"' in answer
        server.ended()
    with Store(tmp_path / "kept.db") as store:
        assert store.promises.get("late").state == "pending"


def until_in_hand(server: Granian) -> None:
    """What was sent on another connection before is with the app: this one came later and was answered."""
    for _ in range(3):
        server.ask("promise.search")


def refused_from_now_on(server: Granian) -> None:
    until = time.monotonic() + _PATIENCE
    with contextlib.suppress(OSError):
        while time.monotonic() < until:
            socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE).close()
            time.sleep(0.01)
        raise AssertionError("it still takes connections")


def test_a_client_that_never_ends_its_request_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with granian(tmp_path, "--db", path, "--graceful-timeout", "0.5") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 100\r\n\r\n{")
            until_in_hand(server)
            server.process.send_signal(signal.SIGTERM)
            server.ended()
            with contextlib.suppress(ConnectionResetError):
                assert slow.recv(100) == b""
        assert "cut off" in server.said()
        assert not Path(f"{path}-wal").exists(), "the store was not closed"


def test_workers_end_when_their_main_process_is_killed(tmp_path: Path) -> None:
    with granian(tmp_path, "--db", tmp_path / "kept.db", "--workers", "2") as server:
        with server.client.stream("GET", f"{server.url}/poll/g/w") as stream:
            server.process.kill()
            assert list(messages(stream)) == []
        server.ended(-signal.SIGKILL)
        with socket.create_server(("127.0.0.1", server.port)):
            pass  # the port is free


def test_a_worker_that_dies_is_replaced_where_there_are_several(tmp_path: Path) -> None:
    with granian(tmp_path, "--db", tmp_path / "kept.db", "--workers", "2") as server:
        server.ask("promise.create", id="p", timeoutAt=FAR)
        until = time.monotonic() + _PATIENCE
        while len(server.workers) < 2:
            assert time.monotonic() < until
            time.sleep(0.02)
        os.kill(server.workers[0], signal.SIGKILL)
        while len(server.workers) < 3:
            assert time.monotonic() < until, server.said()
            time.sleep(0.02)
        server.started()
        assert server.ask("promise.get", id="p")["promise"]["state"] == "pending"
        server.process.send_signal(signal.SIGTERM)
        server.ended()


def test_a_lone_worker_that_dies_ends_the_server(tmp_path: Path) -> None:
    with granian(tmp_path) as server:
        os.kill(server.workers[0], signal.SIGKILL)
        server.ended(FAILED)


def test_tls(tmp_path: Path) -> None:
    made_certificate(tmp_path, "127.0.0.1")
    both = tmp_path / "both.pem"
    trusted = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    with granian(tmp_path, "--tls-certificate", both, "--tls-key", both, verify=trusted) as server:
        assert server.url.startswith("https://")
        assert server.ask("promise.create", id="p", timeoutAt=FAR)["promise"]["id"] == "p"
        older = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        older.maximum_version = ssl.TLSVersion.TLSv1_2
        assert httpx.get(f"{server.url}/health", verify=older, trust_env=False).status_code == 200


def test_a_line_a_request_only_when_asked_for(tmp_path: Path) -> None:
    for flags, lines in ([], 0), (["--access-log"], 1):
        with granian(tmp_path, *flags) as server:
            server.ask("promise.search")
            server.process.send_signal(signal.SIGTERM)
            server.ended()
            assert server.said().count('"POST / ') == lines


def test_more_streams_than_granian_takes_by_itself(tmp_path: Path) -> None:
    """Every connection counts against granian's own limit, which is 1,024 by default."""
    with granian(tmp_path) as server, contextlib.ExitStack() as open_ones:
        for n in range(1100):
            stream = open_ones.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE))
            stream.sendall(b"GET /poll/g/%d HTTP/1.1\r\nhost: here\r\n\r\n" % n)
        until_open(server, 1100)
        assert server.ask("promise.search") == {"promises": []}
        server.process.send_signal(signal.SIGTERM)
        server.ended()


def refusal(capfd: pytest.CaptureFixture[str], **given: dict[str, Any]) -> str:
    settings = Settings(**{**given, "server": {"engine": "granian", **given.get("server", {})}})  # type: ignore[arg-type]
    assert serve_granian(settings) == CANNOT_START
    return capfd.readouterr().err


def test_a_port_that_is_taken(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as another granian would
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert refusal(capfd, server={"port": port}) == f"cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_a_free_port_is_found_on_linux_only(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "granian cannot say which port it got" in refusal(capfd, server={"port": 0})


def test_what_cannot_be_opened_is_said_once(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert str(missing) in refusal(capfd, server={"port": 0}, store={"path": missing / "a.db"})
    assert str(missing) in refusal(capfd, server={"port": 0}, auth={"public_key": missing})
    assert f"tls_certificate {str(missing)!r}" in refusal(capfd, server={"port": 0, "tls_certificate": missing, "tls_key": missing})


def test_granian_that_is_not_installed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "granian.server.mp", None)
    assert "install the extra resonate-core[granian]" in refusal(capfd, server={"port": 0})
