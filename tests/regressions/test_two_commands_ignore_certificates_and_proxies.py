"""`resonate-core why` and `ui` ignored SSL_CERT_FILE and the proxies of the environment: two places made clients of HTTP of their own."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core.ui.proxy import ServerUi
from server.live_server import serving
from server.test_tls import certificate  # noqa: F401  (a fixture)

FAR = 4_000_000_000_000
PAGE = (
    b'{"id": "p", "kind": "promise", "state": "pending", "sentence": "p waits.", '
    b'"chain": [], "next": null, "stuck": false, "advice": [], "now": 0}'
)


@pytest.fixture(autouse=True)
def _empty_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "RESONATE_URL",
        "RESONATE_TOKEN",
        "RESONATE_STORE__PATH",
        "SSL_CERT_FILE",
        "NO_PROXY",
        "no_proxy",
        "HTTP_PROXY",
        "http_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def page_of(ui: ServerUi, path: str) -> httpx.Response:
    """Returns what the dashboard of `resonate-core ui URL` answers."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(ui), base_url="http://127.0.0.1") as browser:
            answer = await browser.get(path)
        await ui.aclose()
        return answer

    return asyncio.run(ask())


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The URLs that a proxy of the environment was asked for; it answers itself."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            for name, value in (
                ("content-type", "application/json"),
                ("content-security-policy", "x"),
                ("content-length", str(len(PAGE))),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_: Any) -> None: ...

    with contextlib.closing(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        server.close = server.server_close  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_address[1]}")
        yield asked
        server.shutdown()
        thread.join()


def test_why_uses_a_proxy(proxy: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "p waits." in run_command(capsys, "why", "p", "--url", "http://server.invalid").out
    assert proxy == ["http://server.invalid/ui/api/why?id=p"]


def test_ui_uses_a_proxy(proxy: list[str]) -> None:
    assert page_of(ServerUi("http://server.invalid"), "/api/why?id=p").content == PAGE
    assert proxy == ["http://server.invalid/ui/api/why?id=p"]


def test_both_use_the_file_of_authorities(
    certificate: tuple[Path, Path],  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = {"ui": True, "tls_certificate": str(certificate[0]), "tls_key": str(certificate[1])}
    with rc.Store() as store, serving(store, server=server) as live:
        store.promises.create("p", FAR)
        url = f"https://127.0.0.1:{live.port}"
        assert "CERTIFICATE_VERIFY_FAILED" in run_command(capsys, "why", "p", "--url", url).err
        assert page_of(ServerUi(url), "/api/why?id=p").status_code == 502
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        ran = run_command(capsys, "why", "p", "--url", url)
        assert ran.code == 0, ran.err
        assert page_of(ServerUi(url), "/api/why?id=p").json()["kind"] == "promise"


def test_one_place_makes_the_clients() -> None:
    package = Path(rc.__file__).parent
    made = re.compile(
        r"httpx\.(Client[,)]|AsyncClient[,)]|(Client|AsyncClient|get|post|put|request|stream)\()|urlopen\(|(?<!\.)http\.client|trust_env"
    )
    simulated = package / "testing" / "simulation"  # without sockets
    found = [
        str(file.relative_to(package))
        for file in sorted(package.rglob("*.py"))
        if simulated not in file.parents
        for line in file.read_text().splitlines()
        if made.search(line) and ">>>" not in line and "... " not in line
    ]
    assert found == ["http/client.py", "http/streams.py"]
