"""`create_app("shop.db")` failed with an AttributeError of a str, then with a TypeError; now it serves the file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from resonate_core import Store
from resonate_core.asgi import AuthSettings, ResonateApp, create_app
from resonate_core.errors import StoreError, Unsupported

FAR = 4_000_000_000_000


async def create(app: ResonateApp, id: str) -> int:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
        head = {"corrId": "1", "version": "2026-04-01"}
        answer = await client.post("/", json={"kind": "promise.create", "head": head, "data": {"id": id, "timeoutAt": FAR}})
        return answer.status_code


@pytest.mark.parametrize("given", [3, b"shop.db", None])
def test_what_names_no_store_is_refused_at_once(given: Any) -> None:
    expected = f"^store must be a Store, the path of one or the URL of a database, got {type(given).__name__}$"
    with pytest.raises(TypeError, match=expected):
        create_app(given)


def test_a_path_is_opened_and_closed_with_the_lifespan(tmp_path: Path) -> None:
    place = tmp_path / "shop.db"
    app = create_app(place)
    assert not place.exists(), "importing the app must open nothing"
    with pytest.raises(RuntimeError, match=r"open only during its lifespan"):
        _ = app.store

    async def main(id: str) -> Store:
        async with app.lifespan():
            store = app.store
            assert await create(app, id) == 200
        assert store.closed
        return store

    first = asyncio.run(main("a"))
    second = asyncio.run(main("b"))  # an ASGI server, or a test, may start it again, on another loop
    assert first is not second
    with Store(place) as store:
        assert [promise.id for promise in store.promises.search()] == ["a", "b"]


def test_a_url_is_opened_with_the_lifespan(postgres_url: str) -> None:
    app = create_app(postgres_url)

    async def main() -> None:
        async with app.lifespan():
            assert await create(app, "a") == 200
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
                assert "resonate_database" in (await client.get("/metrics")).text

    asyncio.run(main())
    with Store(postgres_url) as store:
        assert store.promises.get("a").state == "pending"


def test_a_store_of_the_caller_stays_open() -> None:
    with Store() as store:
        app = create_app(store)

        async def main() -> None:
            async with app.lifespan():
                assert await create(app, "a") == 200

        asyncio.run(main())
        assert not store.closed
        assert store.promises.get("a").state == "pending"


def test_without_a_lifespan_the_first_request_opens_it(tmp_path: Path) -> None:
    app = create_app(tmp_path / "shop.db")

    async def main() -> None:
        assert await create(app, "a") == 200
        async with app.lifespan():  # of the same store
            assert app.store.promises.get("a").state == "pending"
        with pytest.raises(RuntimeError, match="open only during"):
            _ = app.store

    asyncio.run(main())


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [("no/such/folder/shop.db", StoreError, "does not exist"), ("mysql://shop", Unsupported, "must be the path of a SQLite file")],
)
def test_a_store_that_cannot_be_opened_stops_the_start_with_its_reason(place: str, error: type[Exception], words: str) -> None:
    app = create_app(place)

    async def start() -> None:
        async with app.lifespan():
            raise AssertionError("it must not start")

    with pytest.raises(error, match=words):
        asyncio.run(start())

    sent: list[Any] = []

    async def serve() -> None:
        async def receive() -> dict[str, str]:
            return {"type": "lifespan.startup"}

        async def send(message: Any) -> None:
            sent.append(message)

        await app({"type": "lifespan"}, receive, send)

    with pytest.raises(error):
        asyncio.run(serve())
    assert [message["type"] for message in sent] == ["lifespan.startup.failed"]
    assert words in sent[0]["message"]


def test_a_key_that_cannot_be_read_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="algorithm"):
        create_app("shop.db", auth=AuthSettings(secret="x" * 40, algorithms=["RS256"]))
