"""A store that fails under a server: every request is answered, nothing is half done, and the server continues."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import DeliverySettings, PushSettings, ResonateApp, create_app
from server.app_calls import Answer, call

FAR = 10**15
TESTS = Path(__file__).parents[1]
COMPILER = shutil.which("cc") or shutil.which("gcc")


def app_of(store: Store) -> ResonateApp:
    return create_app(store, push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False))


def envelope(kind: str, corr: str, **data: Any) -> bytes:
    return json.dumps({"kind": kind, "head": {"corrId": corr, "version": "2025-01-15"}, "data": data}).encode()


def refused(answer: Answer, status: int, kind: str, corr: str) -> str:
    seen = answer.json()
    assert answer.status == status and answer.headers["content-type"] == "application/json"
    assert seen["kind"] == kind and seen["head"] == {"corrId": corr, "status": status, "version": "2025-01-15"}
    return str(seen["data"])


def test_a_file_that_another_process_holds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A write is answered with 429 and did nothing; reads continue; afterwards writes do, too."""

    async def main() -> None:
        path = tmp_path / "a.db"
        with Store(path, clock=ManualClock(1000), busy_timeout=10) as store:
            app = app_of(store)
            async with app.lifespan():
                await call(app, body=envelope("promise.create", "0", id="there", timeoutAt=FAR))
                before = store.digest()
                with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
                    other.execute("BEGIN IMMEDIATE")
                    creates = [envelope("promise.create", str(i), id=f"p{i}", timeoutAt=FAR) for i in range(5)]
                    for i, answer in enumerate(await asyncio.gather(*(call(app, body=body) for body in creates))):
                        assert "nothing was done" in refused(answer, 429, "promise.create", str(i))
                        assert answer.headers["retry-after"] == "1"
                    assert (await call(app, body=envelope("promise.get", "g", id="there"))).status == 200
                    assert (await call(app, "GET", "/ready")).status == 200
                    assert store.digest() == before
                    other.execute("ROLLBACK")
                answers = await asyncio.gather(*(call(app, body=body) for body in creates))
                assert [answer.status for answer in answers] == [200] * 5

    asyncio.run(main())


def test_a_store_that_was_closed(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        store = Store(clock=ManualClock(1000))
        app = app_of(store)
        async with app.lifespan():
            store.close()
            for kind, corr in (("promise.get", "1"), ("task.get", "é")):
                refused(await call(app, body=envelope(kind, corr, id="a")), 500, kind, corr)
            assert (await call(app, "GET", "/health")).status == 200
            assert (await call(app, "GET", "/ready")).status == 503

    asyncio.run(main())
    assert "store is closed" in caplog.text


@pytest.mark.skipif(sys.platform != "linux", reason="the disk is preloaded as the Linux loader does it")
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_a_disk_that_fails_at_every_call(tmp_path: Path) -> None:
    library = tmp_path / "faulty_disk.so"
    source = TESTS / "integration" / "storage" / "faulty_disk.c"
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    (tmp_path / "files").mkdir()
    program = [sys.executable, str(Path(__file__).parent / "failing_disk_program.py"), str(library), str(tmp_path / "files")]
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    run = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    for row in rows:
        print(row)
    assert {row["what"] for row in rows if row["reached"]} == {0, 1}
    assert any(500 in row["statuses"] for row in rows)
    for row in rows:
        assert row["problems"] == [], row
        # A transaction is done as a whole or not at all.
        assert len({(status, done) for status, done in zip(row["statuses"], row["done"], strict=True)}) == 1, row
        if row["statuses"][0] != 200:
            assert not any(row["done"]), "they were told that nothing was done"
