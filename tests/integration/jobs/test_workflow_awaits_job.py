"""A workflow of the published SDK awaits a job: the job fails until it is archived, a person runs it again, the workflow ends.

The workflow creates a durable promise, and one of its steps enqueues a job that adopts the promise. Then the promise is settled
when a worker completes the job.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from resonate.resonate import Resonate

import resonate_core as rc
from integration.clients.server_process import ServerProcess, encoded
from resonate_core.connection import Connection

MINUTE, DAY = 60_000, 86_400_000


def play(program: Coroutine[Any, Any, Any]) -> Any:
    """Runs a program; a program that hangs fails by a timeout."""

    async def bounded() -> Any:
        async with asyncio.timeout(120):
            return await program

    return asyncio.run(bounded())


def workflow(store: rc.Store, **options: Any) -> Any:
    """Returns the workflow of an order, whose mail is a job."""

    def post(ctx: Any, id: str, order: str) -> None:
        store.jobs.enqueue("email:send", {"order": order}, id=id, queue="mail", **options)

    async def ordered(ctx: Any, order: str) -> str:
        mail = ctx.promise(timeout=timedelta(days=30))
        await ctx.run(post, await mail.id(), order)
        return f"{order}: {(await mail)['receipt']}"

    return ordered


def attempt(store: rc.Store, works: bool) -> rc.Job:
    """Claims and starts the next job, and completes or fails it."""
    (job,) = store.jobs.claim("mail", worker="w", lease=MINUTE)
    store.jobs.start(job.id, job.version)
    if works:
        return store.jobs.complete(job.id, job.version, {"receipt": f"sent to {job.payload.json()['order']}"})
    return store.jobs.fail(job.id, job.version, "SmtpDown", "no connection")


def test_a_workflow_awaits_a_job_that_is_archived_and_run_again_days_later() -> None:
    store = rc.Store(clock=rc.ManualClock(0), check=True)
    ordered = workflow(store, max_retries=2, retry_policy={"kind": "fixed", "intervals": [MINUTE, 10 * MINUTE]})

    async def main() -> str:
        connection = Connection(store)
        resonate = connection.resonate()
        resonate.register(ordered, name="ordered")
        handle = resonate.options(timeout=timedelta(days=40)).run("order-7", ordered, "tea")
        await connection.settle()
        (job,) = store.jobs.search(queue="mail")
        assert (job.state, job.payload.json()) == ("pending", {"order": "tea"})
        for wait, state in ((MINUTE, "retry"), (10 * MINUTE, "retry"), (0, "archived")):
            assert attempt(store, works=False).state == state
            await connection.advance(wait)
        assert store.jobs.get(job.id).asynq_state == "archived"
        assert store.promises.get(job.id).state == "pending"
        await connection.advance(3 * DAY)
        assert not handle.done(), "an archived job is no end: the workflow goes on waiting"
        assert store.jobs.run(job.id).state == "pending"
        assert attempt(store, works=True).state == "completed"
        result: str = await connection.run_until(handle)
        await resonate.stop()
        return result

    assert play(main()) == "tea: sent to tea"
    assert store.now == 11 * MINUTE + 3 * DAY
    (job,) = store.jobs.search(queue="mail")
    assert [one["outcome"] for one in job.attempts] == ["failed", "failed", "failed", "completed"]
    assert store.check() == []


def command(*words: str) -> str:
    """Runs `resonate-core`; returns its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    done = subprocess.run(
        [sys.executable, "-m", "resonate_core", *words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_runs_it_again(tmp_path: Path) -> None:
    """On a file that the program, its worker and the command have open at the same time."""
    path = tmp_path / "shop.db"

    async def main() -> tuple[str, str]:
        with rc.Store(path) as store:
            ordered = workflow(store, max_retries=1, retry_policy={"kind": "fixed", "intervals": [0]})
            connection = Connection(store)
            resonate = connection.resonate()
            resonate.register(ordered, name="ordered")
            handle = resonate.run("order-7", ordered, "tea")
            while not (found := store.jobs.search(queue="mail")):
                await asyncio.sleep(0.01)
            assert [attempt(store, works=False).state for _ in range(2)] == ["retry", "archived"]
            await asyncio.to_thread(command, "jobs", "run", found[0].id, "--db", str(path))
            assert store.jobs.get(found[0].id).state == "pending" and not handle.done()
            assert attempt(store, works=True).state == "completed"
            result = await handle.result()
            await resonate.stop()
            return result, found[0].id

    result, id = play(main())
    assert result == "tea: sent to tea"
    assert id in command("jobs", "list", "--db", str(path))
    assert rc.check_file(path) == []


def test_the_same_over_http(tmp_path: Path) -> None:
    """The same with a server; the program uses the SDK's own connection, and the command runs over HTTP."""
    server = ServerProcess(tmp_path / "server.log", tmp_path / "server.db").start()

    def post(ctx: Any, id: str, order: str) -> None:
        mail = {"id": id, "queue": "mail", "type": "email:send", "payload": encoded({"order": order}), "onExhausted": "archived"}
        server.must("job.enqueue", {**mail, "maxRetries": 1, "retryPolicy": {"kind": "fixed", "intervals": [0]}})

    async def ordered(ctx: Any, order: str) -> str:
        mail = ctx.promise(timeout=timedelta(days=30))
        await ctx.run(post, await mail.id(), order)
        return f"{order}: {(await mail)['receipt']}"

    def one_attempt(**result: Any) -> tuple[str, str]:
        """Claims, starts and ends the next job; returns its id and state."""
        (job,) = server.must("job.claim", {"queues": ["mail"], "worker": "w", "lease": MINUTE})["jobs"]
        held = {"id": job["id"], "version": job["version"]}
        server.must("job.start", held)
        kind, more = ("job.complete", {"result": encoded(result)}) if result else ("job.fail", {"error": {"code": "SmtpDown"}})
        return job["id"], server.must(kind, {**held, **more})["job"]["state"]

    async def main() -> str:
        resonate = Resonate(url=server.url, group="shop", pid="w1")
        resonate.register(ordered, name="ordered")
        handle = resonate.run("order-7", ordered, "tea")
        while not (await asyncio.to_thread(server.must, "job.search", {"queue": "mail"}))["jobs"]:
            await asyncio.sleep(0.02)
        assert [(await asyncio.to_thread(one_attempt))[1] for _ in range(2)] == ["retry", "archived"]
        (job,) = (await asyncio.to_thread(server.must, "job.search", {"state": "archived"}))["jobs"]
        await asyncio.to_thread(command, "jobs", "run", job["id"], "--url", server.url)
        assert await asyncio.to_thread(lambda: one_attempt(receipt="sent")) == (job["id"], "completed")
        result: str = await handle.result()
        await resonate.stop()
        return result

    try:
        assert play(main()) == "tea: sent"
    finally:
        server.stop()


@pytest.mark.parametrize("ending", ["cancelled", "failed", "expired"])
def test_a_job_that_ends_badly_is_an_error_of_the_workflow(ending: str) -> None:
    store = rc.Store(clock=rc.ManualClock(0), check=True)
    options: dict[str, Any] = {
        "max_retries": 0,
        "on_exhausted": "failed",
        **({"good_until": MINUTE} if ending == "expired" else {}),
    }
    ordered = workflow(store, **options)

    async def main() -> None:
        connection = Connection(store)
        resonate = connection.resonate()
        resonate.register(ordered, name="ordered")
        handle = resonate.options(timeout=timedelta(days=40)).run("order-7", ordered, "tea")
        await connection.settle()
        (job,) = store.jobs.search(queue="mail")
        if ending == "cancelled":
            store.jobs.cancel(job.id)
        elif ending == "failed":
            attempt(store, works=False)
        with pytest.raises(Exception) as raised:
            await connection.run_until(handle)
        assert store.jobs.get(job.id).state == ending
        expected = {"cancelled": "cancelled", "failed": "no connection", "expired": ""}[ending]
        assert expected in str(raised.value).lower()
        await resonate.stop()

    play(main())
    assert store.check() == []
