"""The ways to serve the dashboard: in the server with its tokens, in other apps under a prefix, alone, and before a server."""

from __future__ import annotations

import http.client
import io
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core.asgi import AuthSettings, ResonateApp, ServerSettings, UiSettings, create_app
from resonate_core.ui import create_ui
from resonate_core.ui.proxy import ServerUi
from server.live_server import live
from ui.ui_client import MARKER, PAGE, Client, client_of, scene

SECRET = "a secret of thirty-two bytes, or more"


@pytest.fixture
def store() -> Any:
    made = rc.Store(clock=rc.ManualClock(0))
    scene(made)
    return made


def token(**claims: Any) -> str:
    return jwt.encode({"exp": int(time.time()) + 3600, **claims}, SECRET, "HS256")


def served(store: Any, auth: bool = False, **tables: Any) -> ResonateApp:
    tables.setdefault("server", ServerSettings(ui=True))
    return create_app(store, auth=AuthSettings(secret=SECRET) if auth else None, **tables)  # type: ignore[arg-type]


def bearer(**claims: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {token(**claims)}"}


# --- in the server ------------------------------------------------------------------------------------------------------------


def test_the_server_serves_it_by_option(store: Any) -> None:
    assert Client(create_app(store), "/ui/").get("session").status_code == 404
    ui = Client(served(store, ui=UiSettings(role="operate")), "/ui/")
    assert ui.see("session")["role"] == "operate" and ui.see("jobs")["items"]
    redirect = Client(ui.app, "/ui").request("GET", "")
    assert redirect.status_code == 307 and redirect.headers["location"] == "ui/"
    done = ui.do("queue.pause", {"queue": "mail"})
    assert done.status_code == 200 and store.queues.get("mail")["paused"] is True
    assert "no worker listens" in ui.see("why", id="nobody")["sentence"]


def test_latencies_are_those_of_this_process() -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    with live(served(store)) as running, httpx.Client(base_url=f"http://127.0.0.1:{running.port}/ui/", timeout=60) as client:
        assert client.get("api/overview").json()["latency"] == {"waitMs": None, "runMs": None}
        store.jobs.enqueue("send", id="x")
        store.clock.advance(70)
        (job,) = store.jobs.claim("default", worker="ann", lease=60_000, start=1)
        store.clock.advance(900)
        store.jobs.complete("x", job.version)
        latency = client.get("api/overview").json()["latency"]
        assert 70 <= latency["waitMs"]["p50"] < 900 <= latency["runMs"]["p99"]


def test_the_limits_of_the_server_hold_for_actions(store: Any) -> None:
    ui = Client(served(store, ui=UiSettings(role="operate")), "/ui/")
    answer = ui.do("job.enqueue", {"type": "x", "id": "i" * 3000})
    assert answer.status_code == 400 and "2048" in answer.json()["error"]


@pytest.mark.parametrize(
    "claims, role, posts",
    [
        ({"role": "read", "sub": "ann"}, "read", 403),
        ({"role": "operate"}, "operate", 403),
        ({"role": "Read", "prefix": "flow"}, "read", 403),
        ({"role": "operate", "prefix": ""}, "operate", 403),
        ({"role": "none", "prefix": ""}, "none", 200),
        ({"role": "admin"}, "operate", 200),
        ({"prefix": ""}, "operate", 200),
        ({"prefix": "flow"}, "operate", 200),
        ({}, "none", 403),
        ({"role": "reader"}, "none", 403),
        ({"role": "viewer", "prefix": "flow"}, "none", 200),
        ({"role": "", "prefix": "flow"}, "none", 200),
    ],
)
def test_the_role_comes_from_the_token(store: Any, claims: dict[str, Any], role: str, posts: int) -> None:
    app = served(store, auth=True)
    ui = Client(app, "/ui/", bearer(**claims))
    session = ui.see("session")
    assert (session["role"], session["prefix"]) == (role, claims.get("prefix", "") if role != "none" else "")
    assert session["requiresToken"] is True and session["name"] == claims.get("sub")
    assert ui.get("jobs").status_code == (403 if role == "none" else 200)
    assert ui.do("job.cancel", {"id": "flow.mail"}).status_code == (200 if role == "operate" else 403)
    body = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "flow"}}
    assert Client(app, "/", bearer(**claims)).request("POST", "", body).status_code == posts
    if "read" in str(claims.get("role")).lower() or claims.get("role") == "operate":
        for path in ("poll/any/1", "jobs/claimable?queue=flow", "metrics"):
            assert Client(app, "/", bearer(**claims)).request("HEAD", path).status_code == 403, path
    if claims.get("prefix") == "flow" and role != "none":
        assert {job["id"] for job in ui.see("jobs")["items"]} == {"flow.mail"}
        assert ui.do("job.run", {"id": "archived"}).status_code == 403


def test_without_a_token_nothing_is_seen(store: Any) -> None:
    app = served(store, auth=True)
    for headers in (
        {},
        {"authorization": "Bearer nonsense"},
        {"authorization": f"Bearer {jwt.encode({'exp': 1}, SECRET, 'HS256')}"},
    ):
        ui = Client(app, "/ui/", headers)
        for view, answer in ui.every_view():
            anonymous = view == "session" and not headers
            assert answer.status_code == (200 if anonymous else 401), view
        assert {answer.status_code for _, answer in ui.every_action()} == {401}
    assert Client(app, "/ui/").see("session")["role"] == "none"
    assert Client(app, f"/ui/api/jobs?token={token(role='admin')}&x=").request("GET", "").status_code == 401


def test_read_tokens_and_every_action(store: Any) -> None:
    ui, before = Client(served(store, auth=True), "/ui/", bearer(role="read")), store.digest()
    for preview in (False, True):
        assert {answer.status_code for _, answer in ui.every_action(preview=preview)} == {403}
    assert store.digest() == before


def test_redaction_by_settings(store: Any) -> None:
    scene_of_secrets = rc.Store(clock=rc.ManualClock(0))
    scene(scene_of_secrets, MARKER)
    settings = UiSettings(role="operate", redact_keys="password, *token*")  # type: ignore[arg-type]
    ui = Client(served(scene_of_secrets, ui=settings), "/ui/")
    for view, answer in ui.every_view():
        assert answer.status_code == 200 and MARKER not in answer.text, view


def test_a_name_of_elsewhere_has_no_role(store: Any) -> None:
    """On a loopback address without tokens, a page may reach the server under a name of its own (DNS rebinding)."""
    with live(served(store)) as running:
        for host, status in (("localhost", 200), ("127.0.0.1", 200), ("evil.example", 421)):
            connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
            connection.request("GET", "/ui/api/jobs", headers={"host": host})
            answer = connection.getresponse()
            assert answer.status == status, (host, answer.read())
            connection.close()


def test_events_tell_of_changes_and_end_with_the_server() -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    with (
        live(served(store)) as running,
        httpx.stream("GET", f"http://127.0.0.1:{running.port}/ui/api/events", timeout=60) as stream,
    ):
        assert (
            stream.headers["content-type"] == "text/event-stream"
            and "default-src 'none'" in stream.headers["content-security-policy"]
        )
        lines = stream.iter_lines()
        first = _next_event(lines)
        assert first["changed"] is False and first["counts"] == {}
        store.jobs.enqueue("send", id="x")
        second = _next_event(lines)
        assert second["changed"] is True and second["counts"]["pending"] == 1 and second["n"] > first["n"]
        store.promises.create("p", timeout=1000)
        store.promises.resolve("p", 1)  # no count tells of it
        assert _next_event(lines)["n"] > second["n"]
        running.run(_ending(running.app))
        assert list(lines) is not None


async def _ending(app: ResonateApp) -> None:
    app.end_streams()


def _next_event(lines: Any) -> dict[str, Any]:
    for line in lines:
        if line.startswith("data: "):
            return dict(json.loads(line[6:]))
    raise AssertionError("the stream has ended")


# --- in other apps ------------------------------------------------------------------------------------------------------------


def in_starlette(ui: Any) -> Any:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    return Starlette(routes=[Mount("/ops/jobs", ui)])


def in_fastapi(ui: Any) -> Any:
    from fastapi import FastAPI

    app = FastAPI()
    app.mount("/ops/jobs", ui)
    return app


def in_django(ui: Any) -> Any:
    """As in an asgi.py: Django has no mounts, so the app gets its prefix as an argument."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if ui.matches(scope):
            await ui(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"a page of Django"})

    return application


@pytest.mark.parametrize("host", [in_starlette, in_fastapi, in_django], ids=lambda host: host.__name__)
def test_mounted_under_a_prefix(store: Any, host: Any) -> None:
    prefix = "/ops/jobs" if host is in_django else ""
    app = host(create_ui(store, role="operate", prefix=prefix))
    ui = Client(app, "/ops/jobs/")
    for view, answer in ui.every_view():
        assert answer.status_code == 200, view
    assert ui.do("queue.pause", {"queue": "mail"}).status_code == 200
    page = ui.request("GET", "")
    assert page.status_code in (200, 404) and "default-src 'none'" in page.headers["content-security-policy"]
    assert ui.request("GET", "modules/none.js").status_code == 404
    assert Client(app, "/").get("jobs").status_code == 404
    if host is in_django:
        redirect = Client(app, "/ops/jobs").request("GET", "")
        assert redirect.status_code == 307 and redirect.headers["location"] == "jobs/"


def test_the_role_of_a_mounted_app_is_that_of_its_function(store: Any) -> None:
    from resonate_core.ui.principal import Principal

    def role(scope: Any) -> Any:
        user = dict(scope["headers"]).get(b"x-user")
        return "none" if user is None else Principal("operate", "ada") if user == b"ada" else "read"

    app = create_ui(store, role=role)
    assert Client(app).get("jobs").status_code == 403
    assert Client(app, headers={"x-user": "bob"}).do("queue.pause", {"queue": "mail"}).status_code == 403
    assert Client(app, headers={"x-user": "ada"}).do("queue.pause", {"queue": "mail"}).status_code == 200
    assert Client(app, headers={"x-user": "bob"}).see("audit")["items"][0]["who"] == "ada"


def test_without_a_role_only_this_machine_operates(store: Any) -> None:
    from resonate_core.ui.mounted import local_role

    def scope(server: str, host: str) -> Any:
        return {"server": (server, 80), "client": ("127.0.0.1", 5), "headers": [(b"host", host.encode())]}

    assert local_role(scope("127.0.0.1", "localhost:8000")) == "operate" and local_role(scope("::1", "[::1]:8000")) == "operate"
    assert local_role(scope("127.0.0.1", "evil.example")) == "none" and local_role(scope("10.0.0.1", "localhost")) == "none"
    assert local_role({"server": None, "client": ("127.0.0.1", 5), "headers": []}) == "none"
    assert local_role({**scope("127.0.0.1", "localhost"), "client": None}) == "none"


@pytest.mark.parametrize(
    "given, error, why",
    [
        ({"store": 7}, TypeError, "store must be a Store, the path of one, or a URL, got int"),
        ({"store": "a.db", "prefix": "ops"}, ValueError, "prefix must begin with a slash"),
        ({"store": "a.db", "role": "admin"}, ValueError, "role must be one of none, read, operate"),
        ({"store": "a.db", "redact_keys": "password"}, ValueError, "redact_keys must be a list"),
        ({"store": "a.db", "token": "x"}, ValueError, "token is for the URL of a server"),
        ({"store": "http://h", "role": "read"}, ValueError, "the server decides"),
        ({"store": "http://u:p4ss@h"}, ValueError, "without a password"),
    ],
)
def test_bad_options_are_refused(given: dict[str, Any], error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why) as caught:
        create_ui(**given)
    assert "p4ss" not in str(caught.value)


def test_a_path_is_opened_at_the_first_request(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    app = create_ui(file, role="read")
    assert not file.exists()
    assert Client(app).see("session")["place"]["kind"] == "file" and file.exists()


# --- in front of a server -----------------------------------------------------------------------------------------------------


def test_the_dashboard_of_a_server_is_passed_on(store: Any) -> None:
    server = served(store, auth=True)
    front = ServerUi("http://server", token(role="operate"), transport=httpx.ASGITransport(server))
    ui = Client(front)
    assert ui.see("session")["role"] == "operate" and ui.see("jobs")["items"]
    assert ui.do("queue.pause", {"queue": "mail"}).status_code == 200 and store.queues.get("mail")["paused"]
    assert ui.get("job", id="absent").json()["error"] == "job 'absent' does not exist"
    foreign = ui.request(
        "POST", "api/do", {"kind": "queue.resume", "data": {"queue": "mail"}}, {**PAGE, "origin": "https://evil.example"}
    )
    assert foreign.status_code == 403 and store.queues.get("mail")["paused"]
    assert ui.request("GET", "api/jobs", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    without = Client(ServerUi("http://server", transport=httpx.ASGITransport(create_app(store))))
    assert without.get("jobs").json()["error"] == "the server has no dashboard: start it with --ui"


# --- the commands -------------------------------------------------------------------------------------------------------------


class Running:
    """`resonate-core ui` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "resonate_core", "ui", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.process.communicate(timeout=30)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)


def test_the_command_opens_a_file_for_reading_or_operating(tmp_path: Path) -> None:
    file = str(tmp_path / "a.db")
    with rc.Store(file, durability="normal") as store:
        store.jobs.enqueue("send", {"password": MARKER}, id="x")
    with Running(file, "--redact-key", "password") as running, httpx.Client(base_url=running.url, timeout=60) as client:
        assert client.get("api/session").json()["readOnly"] is True
        assert MARKER not in client.get("api/job?id=x").text
        body = {"kind": "job.cancel", "data": {"id": "x"}}
        assert client.post("api/do", json=body, headers=PAGE).status_code == 403
        assert client.get("api/session", headers={"host": "evil.example"}).status_code == 421
    with Running(file, "--operate") as running, httpx.Client(base_url=running.url, timeout=60) as client:
        assert client.post("api/do", json=body, headers=PAGE).status_code == 200
    with rc.Store(file) as store:
        assert store.jobs.get("x").state == "cancelled"


def test_the_command_opens_a_recording(tmp_path: Path) -> None:
    trace = io.StringIO()
    store = rc.Store(clock=rc.ManualClock(0))
    with store.record(trace):
        scene(store)
    file = tmp_path / "story.jsonl"
    file.write_text(trace.getvalue())
    with Running(str(file)) as running, httpx.Client(base_url=running.url, timeout=60) as client:
        session = client.get("api/session").json()
        assert session["place"] == {"kind": "recording", "name": "story.jsonl"} and session["role"] == "read"
        assert client.get("api/travel/state?travel=opened&n=3").json()["n"] == 3
        assert client.get("api/jobs").json()["items"]


def test_why_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "a.db")
    with rc.Store(file, durability="normal") as store:
        store.jobs.enqueue("send", id="x")
        store.queues.pause("default")
        seen = run_command(capsys, "why", "x", "--db", file)
        assert seen.code == 0
        assert (
            seen.out == "Job x is pending: queue default is paused.\nNext: nothing happens by itself.\nYou can: resume the queue.\n"
        )
        assert run_command(capsys, "why", "x", "--db", file, "--json").json["advice"][0]["action"]["kind"] == "queue.resume"
        assert run_command(capsys, "why", "absent", "--db", file).code == 4
        with live(served(store)) as running:
            assert run_command(capsys, "why", "x", "--url", f"http://127.0.0.1:{running.port}").out == seen.out
        with live(create_app(store)) as running:
            refused = run_command(capsys, "why", "x", "--url", f"http://127.0.0.1:{running.port}")
            assert refused.code == 3 and "start it with --ui" in refused.err


def test_bad_places_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.jsonl").write_text('{"kind":"open"}\n')
    rc.Store(tmp_path / "a.db").close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, code, why in (
            ([tmp_path / "absent.db"], 3, "there is no file"),
            ([tmp_path / "broken.jsonl"], 6, "trace line 1"),
            (["http://127.0.0.1:1", "--operate"], 2, "are for stores"),
            (["ftp://host/x"], 2, "FILE|URL must be the path of a SQLite file or a URL"),
            ([tmp_path / "broken.jsonl", "--token", "x"], 2, "--token is for a server"),
            ([tmp_path / "a.db", "--port", port], 3, f"cannot listen on 127.0.0.1:{port}"),
        ):
            refused = run_command(capsys, "ui", *arguments)
            assert refused.code == code and why in refused.err, (arguments, refused)


def test_clients_are_apart(store: Any) -> None:
    assert client_of(store).see("audit")["items"] == [] and client_of(store, "read").see("session")["role"] == "read"


@pytest.mark.parametrize("accepted", ["gzip", "br, GZIP;q=0.5", "identity", "gzip;q=0", "gzip; q=0.00", None])
def test_files_are_compressed_for_those_who_accept_it(accepted: str | None) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock(0)))
    content = (Path(sys.modules["resonate_core.ui.proxy"].__file__ or "").parent / "modules" / "charts.js").read_bytes()
    headers = {"accept-encoding": accepted or ""}
    answer = ui.request("GET", "modules/charts.js", headers=headers)
    packed = accepted in ("gzip", "br, GZIP;q=0.5")
    assert answer.content == content and ("content-encoding" in answer.headers) == packed
    assert (int(answer.headers["content-length"]) < len(content) / 2) == packed and answer.headers["vary"] == "accept-encoding"
    again = ui.request("GET", "modules/charts.js", headers={**headers, "if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = ui.request("GET", "modules/charts.js", headers={"accept-encoding": "identity" if packed else "gzip"})
    assert other.headers["etag"] != answer.headers["etag"]
