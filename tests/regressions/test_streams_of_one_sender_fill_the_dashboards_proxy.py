"""The dashboard in front of a server kept the streams of clients that had gone, and all had a hundred connections together."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import jwt
import pytest

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ResonateApp, ServerSettings
from resonate_core.server.settings import Settings
from resonate_core.ui.proxy import ServerUi
from server.app_calls import scope_of
from server.live_server import live

SECRET = "a secret of thirty-two bytes, or more"
GUARD = 60


def token(**claims: Any) -> str:
    return jwt.encode({"exp": 4_000_000_000, **claims}, SECRET, "HS256")


class Stream:
    """A client of `api/events`, which goes at `end`."""

    def __init__(self, app: Any, bearer: str | None) -> None:
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._gone = asyncio.Event()
        self._asked = False
        scope = scope_of("GET", "/api/events")
        if bearer is not None:
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {bearer}".encode())]}
        self.served = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status.set_result(message["status"])

    async def end(self) -> None:
        self._gone.set()
        await asyncio.wait_for(self.served, GUARD)


async def session_of(app: Any, bearer: str | None) -> int:
    headers = {} if bearer is None else {"authorization": f"Bearer {bearer}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        return (await client.get("http://127.0.0.1/api/session", headers=headers)).status_code


def connections(ui: ServerUi) -> int:
    made = ui._client.made
    assert made is not None
    return sum(not one.is_idle() for one in made._transport._pool.connections)  # type: ignore[attr-defined]


@pytest.fixture
def url() -> Any:
    settings = Settings(auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True))  # type: ignore[arg-type]
    with live(ResonateApp(rc.Store(clock=rc.ManualClock(0)), settings), settings) as running:
        yield f"http://127.0.0.1:{running.port}"


def test_a_stream_ends_with_its_client(url: str) -> None:
    async def main() -> None:
        ui = ServerUi(url, token(role="admin"), role=lambda scope: "read")
        for _ in range(3):
            streams = [Stream(ui, None) for _ in range(10)]
            assert [await asyncio.wait_for(one.status, GUARD) for one in streams] == [200] * 10
            assert connections(ui) == 10
            for one in streams:
                await one.end()
            assert connections(ui) == 0
        await ui.aclose()

    asyncio.run(main())


def test_a_client_that_goes_before_the_answer_keeps_nothing() -> None:
    async def main() -> None:
        asked, held = asyncio.Event(), asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()  # until the other end closes
            held.set()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        ui = ServerUi(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        stream = Stream(ui, None)
        await asyncio.wait_for(asked.wait(), GUARD)
        await stream.end()
        await asyncio.wait_for(held.wait(), GUARD)
        await ui.aclose()
        server.close()

    asyncio.run(main())


def test_the_streams_of_tenants_leave_room_for_others(url: str) -> None:
    async def main() -> None:
        ui = ServerUi(url, token(role="admin"), role=lambda scope: "none")
        a, b = token(role="read", prefix="a."), token(role="read", prefix="b.")
        streams = [Stream(ui, one) for one in (a, b) for _ in range(60)]
        assert [await asyncio.wait_for(one.status, GUARD) for one in streams] == [200] * 120
        for bearer in (None, a, b, token(role="admin")):
            assert await session_of(ui, bearer) == 200
        more = [Stream(ui, a) for _ in range(6)]
        assert sorted([await asyncio.wait_for(one.status, GUARD) for one in more]) == [200] * 4 + [503] * 2
        other = Stream(ui, token(role="read", prefix="c."))
        assert await asyncio.wait_for(other.status, GUARD) == 200
        for one in (*streams, *more, other):
            await one.end()
        await ui.aclose()

    asyncio.run(main())


def test_tokens_that_are_none_share_one_room() -> None:
    """Texts that a stranger invents take no places of tokens that the server has accepted."""
    waiting, rest = 0, asyncio.Event

    async def main() -> None:
        nonlocal waiting
        open_up = rest()

        async def server(scope: Any, receive: Any, send: Any) -> None:
            nonlocal waiting
            accepted = dict(scope["headers"]).get(b"authorization") == b"Bearer good"
            if not accepted:
                waiting += 1
                await open_up.wait()
            session = {"role": "read", "prefix": "a.", "requiresToken": True} if accepted else {"error": "Unauthorized"}
            start = {"type": "http.response.start", "status": 200 if accepted else 401}
            await send({**start, "headers": [(b"content-type", b"application/json")]})
            await send({"type": "http.response.body", "body": json.dumps(session).encode()})

        ui = ServerUi("http://server", transport=httpx.ASGITransport(server))
        assert await session_of(ui, "good") == 200
        strangers = [asyncio.ensure_future(session_of(ui, f"bad{i}")) for i in range(100)]
        while waiting < 64:
            await asyncio.sleep(0)
        assert await session_of(ui, "good") == 200
        open_up.set()
        found = await asyncio.gather(*strangers)
        assert sorted(set(found)) == [401, 429] and found.count(429) == 36

    asyncio.run(main())
