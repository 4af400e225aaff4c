"""A browser that opened the address of a server with a dashboard got 405 and JSON, and the log did not say where the dashboard is.

`/` redirects a browser by a relative reference, so that a mounted app and a proxy that strips a part of the path need no setting.
The protocol and other clients get what they got before.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import resonate_core as rc
from resonate_core.asgi import ServerSettings, Settings, create_app
from server.served import served

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
OTHERS = [None, "*/*", "application/json", "text/event-stream", "text/*", "text/html;q=0", "text/html; q=0.0, */*", "text/htmlx"]


def answered(
    app: Any, path: str, method: str = "GET", accept: str | None = BROWSER, root_path: str = "", **more: Any
) -> httpx.Response:
    async def main() -> httpx.Response:
        transport = httpx.ASGITransport(app, root_path=root_path)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            client.headers.pop("accept")
            headers = {} if accept is None else {"accept": accept}
            return await client.request(method, path, headers=headers | more.pop("headers", {}), **more)

    return asyncio.run(main())


def app(ui: bool = True) -> Any:
    return create_app(rc.Store(clock=rc.ManualClock(0)), server=ServerSettings(ui=ui))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("accept", [BROWSER, "TEXT/HTML", "application/json, text/html ; q=0.5"])
def test_a_browser_is_redirected_to_the_dashboard(method: str, accept: str) -> None:
    answer = answered(app(), "/", method, accept)
    assert (answer.status_code, answer.headers["location"], answer.content) == (307, "ui/", b"")
    assert answer.headers["vary"] == "accept"


@pytest.mark.parametrize("accept", OTHERS)
def test_other_clients_get_what_they_got(accept: str | None) -> None:
    answer = answered(app(), "/", accept=accept)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"error": "only POST is served here"}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods_of_a_browser_are_refused(method: str) -> None:
    assert answered(app(), "/", method).status_code == 405


def test_without_a_dashboard_nothing_is_redirected() -> None:
    assert answered(app(ui=False), "/").status_code == 405


def test_a_post_of_a_browser_is_the_protocol() -> None:
    body = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "none"}}
    assert answered(app(), "/", "POST", json=body).json()["head"]["status"] == 404


def test_a_foreign_page_is_still_refused() -> None:
    assert answered(app(), "http://127.0.0.1/", headers={"host": "rebound.example.org"}).status_code == 421


@pytest.mark.parametrize("where", ["/resonate/", "/a/b/resonate/"])
def test_a_mounted_app_redirects_below_its_own_place(where: str) -> None:
    mounted = Starlette(routes=[Mount(where.rstrip("/"), app())])
    answer = answered(mounted, where)
    assert httpx.URL(f"http://localhost{where}").join(answer.headers["location"]).path == f"{where}ui/"
    page = answered(mounted, f"{where}ui/")
    assert page.status_code == 200 and "<title>Resonate</title>" in page.text


def test_a_root_path_with_and_without_its_slash() -> None:
    for path in ("/x/resonate/", "/x/resonate"):
        answer = answered(app(), path, root_path="/x/resonate")
        assert httpx.URL(f"http://localhost{path}").join(answer.headers["location"]).path == "/x/resonate/ui/"


@pytest.mark.parametrize("flags", [(), ("--root-path", "/resonate")])
def test_serve_logs_the_address(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with served(tmp_path, "--ui", *flags) as server:
        assert f"the dashboard is at {server.url}{''.join(flags[1:])}/ui/\n" in server.said()
        answer = httpx.get(server.url, headers={"accept": BROWSER}, follow_redirects=True, trust_env=False)
        assert str(answer.url) == f"{server.url}/ui/" and "<title>Resonate</title>" in answer.text


def test_the_address_is_below_the_url_of_the_settings() -> None:
    def address(**server: Any) -> str | None:
        return Settings.model_construct(None, server=ServerSettings(**server)).with_url(8001).dashboard_url

    assert address(ui=True, url="https://jobs.example.org/rc/") == "https://jobs.example.org/rc/ui/"
    assert address(ui=True, host="0.0.0.0") == "http://localhost:8001/ui/"
    assert address(ui=True, host="::1") == "http://[::1]:8001/ui/"
    assert address() is None


def test_without_the_dashboard_no_address_is_logged(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert "dashboard" not in server.said()
