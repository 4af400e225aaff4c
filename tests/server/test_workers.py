"""Several processes that serve one file: all of them answer, messages reach their streams, a process that dies is replaced."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from free_ports import free_port

FAR = 4_000_000_000_000
PATIENCE = 60


class Workers:
    def __init__(
        self, folder, count: int, port: int | None = None, flags: tuple[str, ...] = (), settings: dict[str, str] | None = None
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.path, self.log = folder / "app.db", folder / "log"
        self.port = port or free_port()
        command = [sys.executable, "-m", "resonate_core", "serve", "--db", str(self.path), "--port", str(self.port)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
        environment |= settings or {}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*command, "--workers", str(count), *flags], env=environment, stdout=log, stderr=log)

    def pids(self) -> set[int]:
        text = self.log.read_text()
        return {int(line.split("(process ")[1].split(")")[0]) for line in text.splitlines() if "(process " in line}

    def wait_for(self, what) -> None:
        deadline = time.monotonic() + PATIENCE
        while not what():
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def ask(self, kind: str, **data) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            body = json.dumps({"kind": kind, "head": {"corrId": "c", "version": "2026-04-01"}, "data": data})
            connection.request("POST", "/", body)
            return json.loads(connection.getresponse().read())

    def listen(self, group: str, id: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"/poll/{group}/{id}")
        return connection, connection.getresponse()


def next_event(response: http.client.HTTPResponse) -> dict:
    while True:
        line = response.readline()
        assert line, "the stream ended"
        if line.startswith(b"data:"):
            return json.loads(line[5:])


@pytest.fixture
def workers(tmp_path, request):
    made = Workers(tmp_path, 3, settings=getattr(request, "param", None))
    try:
        made.wait_for(lambda: len(made.pids()) == 3)
        yield made
        if made.process.returncode != -signal.SIGKILL:
            made.process.send_signal(signal.SIGTERM)
            assert made.process.wait(PATIENCE) == 0, made.log.read_text()
        assert "Traceback" not in made.log.read_text(), made.log.read_text()
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.process.wait()


# For three of these intervals other processes leave a message to the process whose stream it prefers: enough for a busy machine.
@pytest.mark.parametrize("workers", [{"RESONATE_DELIVERY__FOREIGN_INTERVAL_MS": "1000"}], indirect=True, ids=["patient"])
def test_streams_get_their_messages_from_whatever_process(workers):
    streams = {id: workers.listen("w", id) for id in map(str, range(6))}
    for id in streams:
        workers.ask("promise.create", id=f"p.{id}", timeoutAt=FAR, tags={"resonate:target": f"poll://any@w/{id}"})
    # A process with other streams of the group leaves the message to the process with this stream.
    for id, (_, response) in streams.items():
        assert next_event(response)["data"]["task"]["id"] == f"p.{id}"
    for id in streams:
        workers.ask("promise.create", id=f"l.{id}", timeoutAt=FAR)
        workers.ask("promise.register_listener", awaited=f"l.{id}", address=f"poll://uni@w/{id}")
        workers.ask("promise.settle", id=f"l.{id}", state="resolved")
    for id, (connection, response) in streams.items():
        assert next_event(response)["data"]["promise"]["id"] == f"l.{id}"
        connection.close()


def test_one_that_dies_is_replaced(workers):
    workers.ask("promise.create", id="before", timeoutAt=FAR)
    victim = min(workers.pids())
    os.kill(victim, signal.SIGKILL)
    workers.wait_for(lambda: len(workers.pids()) == 4)
    for _ in range(20):
        assert workers.ask("promise.get", id="before")["head"]["status"] == 200


class Hook(http.server.ThreadingHTTPServer):
    """Counts the requests that are posted to it."""

    def __init__(self) -> None:
        self.got: list[str] = []
        super().__init__(("127.0.0.1", 0), HookHandler)


class HookHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.got.append(body["data"]["promise"]["id"])
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *said: object) -> None:
        pass


def test_each_message_to_a_url_is_pushed_by_one_of_them(tmp_path):
    hook = Hook()
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    workers = Workers(tmp_path, 2, flags=("--push-allow", "127.0.0.0/8"))
    try:
        workers.wait_for(lambda: len(workers.pids()) == 2)
        ids = [f"p{n}" for n in range(20)]
        for id in ids:
            workers.ask("promise.create", id=id, timeoutAt=FAR)
            workers.ask("promise.register_listener", awaited=id, address=f"http://127.0.0.1:{hook.server_port}/hook")
            workers.ask("promise.settle", id=id, state="resolved")
        workers.wait_for(lambda: set(hook.got) == set(ids))
        workers.process.send_signal(signal.SIGTERM)  # deliveries in progress arrive before it ends
        assert workers.process.wait(PATIENCE) == 0, workers.log.read_text()
        assert sorted(hook.got) == sorted(ids)
    finally:
        hook.shutdown()
        hook.server_close()
        if workers.process.poll() is None:
            workers.process.kill()
            workers.process.wait()


def test_none_outlives_a_supervisor_that_was_killed(workers):
    pids = workers.pids()
    workers.process.kill()
    workers.process.wait()

    def gone(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{pid}/stat") as stat:  # a killed process stays a zombie if no process waits for it
            return stat.read().rpartition(")")[2].split()[0] == "Z"

    deadline = time.monotonic() + PATIENCE
    while not all(map(gone, pids)):
        assert time.monotonic() < deadline, workers.log.read_text()
        time.sleep(0.05)
    restarted = Workers(workers.log.parent / "again", 1, port=workers.port)
    try:
        restarted.wait_for(lambda: restarted.pids())
    finally:
        restarted.process.kill()
        restarted.process.wait()


@pytest.mark.parametrize(
    "flags,said",
    [
        (["--auth-public-key", "nothere.pem"], "public_key 'nothere.pem' cannot be read: No such file or directory"),
        (["--tls-certificate", "no.pem", "--tls-key", "no.key"], "tls_certificate 'no.pem' and tls_key: [Errno 2] No such file"),
    ],
)
def test_files_that_cannot_be_read_are_named_before_anything_is_served(tmp_path, flags, said):
    command = [sys.executable, "-m", "resonate_core", "serve", "--port", "0", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert said in done.stderr and "server: serving" not in done.stderr, done.stderr


def test_workers_need_a_file(tmp_path):
    command = [sys.executable, "-m", "resonate_core", "serve", "--port", "0", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert done.returncode == 2
    assert "server.workers must be 1 for a store in memory, got 2" in done.stderr


def test_a_worker_that_cannot_open_its_store_ends_them_all(tmp_path):
    (tmp_path / "no.db").write_bytes(b"this is no database, and long enough to be sure of that" * 20)
    command = [sys.executable, "-m", "resonate_core", "serve", "--db", str(tmp_path / "no.db"), "--port", "0", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3, done.stderr
    assert "no.db" in done.stderr
