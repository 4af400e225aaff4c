"""The dashboard in front of a server read 32 MiB of any stranger, without a limit of time, by copies that grew with the square."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import jwt
import pytest

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ResonateApp, ServerSettings
from resonate_core.server.settings import Settings
from resonate_core.ui import receiving
from resonate_core.ui.proxy import ServerUi
from server.app_calls import scope_of

SECRET = "a secret of thirty-two bytes, or more"
PAGE = [(b"content-type", b"application/json"), (b"x-resonate-ui", b"1")]


def token(**claims: Any) -> str:
    return jwt.encode({"exp": 4_000_000_000, **claims}, SECRET, "HS256")


def front(role: str) -> ServerUi:
    settings = Settings(auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True))  # type: ignore[arg-type]
    server = ResonateApp(rc.Store(clock=rc.ManualClock(0)), settings)
    return ServerUi("http://server", token(role="admin"), transport=httpx.ASGITransport(server), role=lambda scope: role)  # type: ignore[arg-type, return-value]


def posted(ui: ServerUi, name: str, bearer: str | None = None, part: bytes = b" " * 65_536, most: int = 10_000) -> tuple[int, int]:
    """Return the status of a POST whose body does not end, and the bytes that were read of it before the answer."""

    async def main() -> tuple[int, int]:
        read, statuses = 0, []

        async def receive() -> dict[str, Any]:
            nonlocal read
            if statuses:
                return {"type": "http.disconnect"}
            if read >= most * len(part):
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            read += len(part)
            return {"type": "http.request", "body": part, "more_body": True}

        async def send(message: dict[str, Any]) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        sent = [] if bearer is None else [(b"authorization", f"Bearer {bearer}".encode())]
        scope = scope_of("POST", f"/api/{name}")
        await asyncio.wait_for(ui({**scope, "headers": [*scope["headers"], *PAGE, *sent]}, receive, send), 60)
        return statuses[0], read

    return asyncio.run(main())


@pytest.mark.parametrize("name", ["do", "travel", "travel/fork"])
def test_the_role_is_judged_before_the_body(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unread(name: str, receive: Any) -> bytes:
        raise AssertionError("the body of a stranger was read")

    monkeypatch.setattr("resonate_core.ui.proxy.read_body", unread)
    assert posted(front("none"), name)[0] == 401
    assert posted(front("none"), name, "no token")[0] == 401
    assert posted(front("none"), name, token(role="none"))[0] == 403
    if name == "do":
        assert posted(front("none"), name, token(role="read"))[0] == 403
        assert posted(front("read"), name, token(role="read"))[0] == 403


@pytest.mark.parametrize(("name", "most"), [("do", 2_097_152), ("travel/fork", 2_097_152), ("travel", 33_554_432)])
def test_a_body_is_bounded(name: str, most: int) -> None:
    status, read = posted(front("operate"), name)
    assert status == 413 and read <= most + 65_536
    assert posted(front("none"), name, token(role="operate"))[0] == 413


def test_a_body_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "_BODY_TIMEOUT", 0.05)
    assert posted(front("operate"), "do", most=1)[0] == 408


def test_recordings_on_their_way_are_bounded() -> None:
    async def main() -> None:
        ui, begun, statuses = front("read"), 0, []
        going = asyncio.Event()

        async def receive() -> dict[str, Any]:
            nonlocal begun
            begun += 1
            await going.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            statuses.extend([message["status"]] if "status" in message else [])

        scope = scope_of("POST", "/api/travel")
        uploads = [asyncio.ensure_future(ui({**scope, "headers": [*scope["headers"], *PAGE]}, receive, send)) for _ in range(3)]
        while begun < 2 or not statuses:  # in Python 3.10 wait_for() begins to read in a task of its own, later
            await asyncio.sleep(0)
        assert (begun, statuses) == (2, [429])
        going.set()
        await asyncio.gather(*uploads)

    asyncio.run(main())
