"""`rc.why(rc.connect(url), id)` was "'Client' object has no attribute 'run'"; so were `store.aio`, a snapshot and a path."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ServerSettings, create_app
from resonate_core.worker import Worker
from server.live_server import live

SERVER = ServerSettings(ui=True)
SECRET = "a secret of thirty-two bytes, or more"


def filled(store: rc.Store[Any]) -> rc.Store[Any]:
    store.jobs.enqueue("mail", id="j")
    store.queues.pause("default")
    store.promises.create("p", timeout=60_000)
    return store


def without_instant(found: rc.Why) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "now"}


def test_a_client_of_a_server_with_a_dashboard() -> None:
    with filled(rc.Store()) as store, live(create_app(store, server=SERVER)) as running:
        with rc.connect(f"http://127.0.0.1:{running.port}") as client:
            for id in ("j", "p", "default", "absent", "a/b c?&#"):
                assert without_instant(rc.why(client, id)) == without_instant(rc.why(store, id))
            found = rc.why(client, "j")
            assert isinstance(found, rc.Why) and found.advice == rc.why(store, "j").advice
            assert str(found).startswith("Job j is pending: queue default is paused.\n")

        async def main() -> rc.Why:
            async with rc.connect(f"http://127.0.0.1:{running.port}").aio as asynchronous:
                return await rc.why(asynchronous, "j")

        assert without_instant(asyncio.run(main())) == without_instant(found)


def test_a_server_without_a_dashboard_says_so() -> None:
    with rc.Store() as store, live(create_app(store)) as running, rc.connect(f"http://127.0.0.1:{running.port}") as client:
        with pytest.raises(rc.Unsupported, match=rf"http://127.0.0.1:{running.port} has no dashboard: start it with --ui"):
            rc.why(client, "j")

        async def main() -> None:
            async with client.aio as asynchronous:
                await rc.why(asynchronous, "j")

        with pytest.raises(rc.Unsupported, match="has no dashboard"):
            asyncio.run(main())
    with rc.connect("http://127.0.0.1:1", retry_for=0) as client, pytest.raises(rc.Unreachable):
        rc.why(client, "j")


def test_a_token_decides_what_a_client_sees() -> None:
    app = create_app(filled(rc.Store()), server=SERVER, auth=AuthSettings(secret=SECRET))
    with live(app) as running:
        url = f"http://127.0.0.1:{running.port}"
        with rc.connect(url) as nobody, pytest.raises(rc.ResonateError) as refused:
            rc.why(nobody, "j")
        assert refused.value.status == 401
        with rc.connect(
            url, token=jwt.encode({"exp": int(time.time()) + 3600, "prefix": "", "role": "read"}, SECRET, "HS256")
        ) as reader:
            assert rc.why(reader, "j").kind == "job"


def test_the_asynchronous_face_of_a_store() -> None:
    async def main(store: rc.Store[Any]) -> rc.Why:
        return await rc.why(store.aio, "j")

    with filled(rc.Store(clock=rc.ManualClock(5))) as store:
        assert asyncio.run(main(store)) == rc.why(store, "j")


def test_forks_and_snapshots(make_store: Any) -> None:
    with filled(make_store(clock=rc.ManualClock(5))) as store:
        found = rc.why(store, "j")
        assert rc.why(store.fork(), "j") == found
        assert rc.why(store.snapshot(), "j") == found
        assert rc.why(store.snapshot(), "absent").kind == "unknown"


def test_anything_else_is_a_type_error(tmp_path: Path) -> None:
    with rc.Store(clock=rc.ManualClock(5)) as store:
        worker = Worker(store)
        for given in ("app.db", tmp_path / "app.db", "http://127.0.0.1:1", None, {}, {"promises": []}, worker, store.jobs, 3):
            with pytest.raises(TypeError, match="store must be a Store, a full snapshot, a Client of"):
                rc.why(given, "j")  # type: ignore[call-overload]
        for id in (store.promises.create("a", 100), b"a", 3, None):
            with pytest.raises(TypeError, match="id must be str, got"):
                rc.why(store, id)  # type: ignore[call-overload]
        store.close()
        with pytest.raises(rc.errors.Closed):
            rc.why(store, "a")
    assert list(tmp_path.iterdir()) == []
