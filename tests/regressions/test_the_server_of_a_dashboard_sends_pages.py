"""`resonate-core ui URL` passed on what the server sent, also pages and scripts, which ran with the rights of the local dashboard."""

from __future__ import annotations

import asyncio
import itertools

import httpx
import pytest

from enemy_server import Respond, endless, enemy, http, zeros
from resonate_core.ui.proxy import ServerUi

CSP = "content-security-policy: x"
SENT: dict[str, Respond] = {
    "a page": lambda asked: http(b"<script src=job></script>", CSP, content_type="text/html; charset=utf-8"),
    "a script": lambda asked: http(b"fetch('/')", CSP, content_type="text/javascript"),
    "a picture that is a script": lambda asked: http(b"<svg/>", CSP, content_type="image/svg+xml"),
    "no type": lambda asked: http(b"<html>", CSP, content_type=""),
    "an encoding": lambda asked: http(zeros(1_000_000), CSP, "content-encoding: gzip"),
    "a status that is none": lambda asked: http(b"{}", CSP, status="999 Odd"),
    "a header in another script": lambda asked: http(b"{}", CSP, "content-disposition: \xd1\x88"),
    "no HTTP": lambda asked: endless(b"SSH-2.0\r\n", b"\0" * 1000),
    "headers without an end": lambda asked: endless(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 1000),
    "closed": lambda asked: iter([b""]),
}


async def _got(url: str) -> httpx.Response:
    ui = ServerUi(url)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(ui)) as client:
        found = await client.get("http://127.0.0.1/api/jobs")
    await ui.aclose()
    return found


@pytest.mark.parametrize("name", SENT)
def test_it_is_refused(name: str) -> None:
    with enemy(SENT[name]) as server:
        found = asyncio.run(_got(server.url))
    assert found.status_code == 502 and found.headers["content-type"] == "application/json"
    assert found.json()["status"] == 502


def test_data_are_passed_on() -> None:
    with enemy(lambda asked: http(b'{"a": 1}', CSP, "set-cookie: a=b")) as server:
        found = asyncio.run(_got(server.url))
        assert (found.status_code, found.json()) == (200, {"a": 1})
        assert "set-cookie" not in found.headers
        head = next(itertools.islice(server.asked, 1))
    assert head.path == "/ui/api/jobs"
