"""A step of an SDK program that raised an exception was tried again for ever, and nothing was logged or shown; nor was it in a simulation."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import resonate_core as rc

if sys.version_info < (3, 12):
    pytest.skip("the SDK needs Python 3.12", allow_module_level=True)

from resonate.resonate import Resonate
from resonate.retry import Constant, Never
from resonate.types import Value

from resonate_core.base.failed_attempts import FailedAttempt, failed_attempts
from resonate_core.connection import Connection, sdk
from resonate_core.explain.call_tree import calls_of
from resonate_core.ui.access import StoreAccess
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.options import UiOptions
from resonate_core.ui.parameters import Parameters
from resonate_core.ui.principal import Principal
from resonate_core.ui.redaction import Redaction, RedactionRules
from resonate_core.ui.workflows import promise, workflow, workflows

LOGGER = "resonate_core.connection.attempts"
FAR = timedelta(days=9)


def charge(ctx: Any) -> None:
    return undefined_name  # type: ignore[name-defined]  # noqa: F821


async def order(ctx: Any) -> None:
    await ctx.run(charge)


async def careless(ctx: Any) -> None:
    await ctx.run(lambda ctx: None)
    return undefined_name  # type: ignore[name-defined]  # noqa: F821


def client_of(connection: Connection, own: bool, **options: Any) -> Any:
    """The client of a connection, or one that the program makes itself."""
    made = Resonate(**connection.settings(), **options) if own else connection.resonate(**options)
    for function in (charge, order, careless):
        made.register(function)
    return made


def access_to(store: rc.Store[Any]) -> StoreAccess:
    return StoreAccess(store, Principal("operate"), Redaction(RedactionRules(UiOptions())))


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == LOGGER]


def traceback_of(record: logging.LogRecord) -> str:
    return logging.Formatter().format(record)


@pytest.mark.parametrize("own", [False, True], ids=["connection.resonate", "Resonate"])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_each_attempt_is_a_warning_with_its_traceback_and_the_next_try(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, place: str, own: bool
):
    async def main() -> None:
        store = rc.Store(None if place == "memory" else tmp_path / "x.db", clock=rc.ManualClock(start=0))
        connection = Connection(store)
        resonate = client_of(connection, own, retry_policy=Constant(max_retries=1, delay=60))
        with pytest.raises(NameError, match="undefined_name"):
            await connection.run_until(resonate.options(timeout=FAR).run("order-1", order))
        await resonate.stop()
        store.close()

    asyncio.run(main())
    first, last, of_order = warnings_of(caplog)
    assert "the installed SDK" not in caplog.text
    assert {record.levelname for record in caplog.records if record.name == LOGGER} == {"WARNING"}
    assert first.getMessage() == (
        "order-1:1 (charge) on worker 'default-1', attempt 1, failed: NameError: name 'undefined_name' is not defined; "
        "the next attempt begins in 1m, at 1970-01-01T00:01:00.000Z"
    )
    assert "in charge\n    return undefined_name" in traceback_of(first)
    assert (first.promise, first.task, first.func, first.worker, first.attempt) == (  # type: ignore[attr-defined]
        "order-1:1",
        "order-1",
        "charge",
        "default-1",
        1,
    )
    rejected = "is not defined; there is no further attempt, and its promise is rejected"
    assert last.getMessage().startswith("order-1:1 (charge) on worker 'default-1', attempt 2, failed: NameError")
    assert last.getMessage().endswith(rejected)
    assert "in charge\n    return undefined_name" in traceback_of(last)
    assert of_order.getMessage().startswith("order-1 (order) on worker 'default-1', attempt 1, failed: NameError")
    assert of_order.getMessage().endswith(rejected)


@pytest.mark.parametrize("own", [False, True], ids=["connection.resonate", "Resonate"])
@pytest.mark.parametrize(("function", "id"), [(charge, "x"), (careless, "x")])
def test_an_attempt_that_is_not_repeated_is_a_warning(caplog: pytest.LogCaptureFixture, own: bool, function: Any, id: str):
    """On the system's clock, by a call whose result is not awaited."""

    async def main() -> None:
        store = rc.Store()
        resonate = client_of(Connection(store), own, retry_policy=Never())
        resonate.rpc(id, function.__name__)
        while not store.promises.search(id=id, state="rejected"):
            await asyncio.sleep(0.01)
        await resonate.stop()

    asyncio.run(asyncio.wait_for(main(), 60))
    (failed,) = warnings_of(caplog)
    assert failed.getMessage().startswith(f"x ({function.__name__}) on worker ")
    assert f"in {function.__name__}\n    return undefined_name" in traceback_of(failed)


def test_a_client_without_sources_is_no_exception(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        connection = Connection(rc.Store(clock=rc.ManualClock()))
        resonate = client_of(connection, False, sources=[], retry_policy=Never())
        resonate.run("x", careless)
        await connection.settle()
        await resonate.stop()

    asyncio.run(main())
    assert [record.promise for record in warnings_of(caplog)] == ["x"]  # type: ignore[attr-defined]


def test_a_value_that_a_program_rejects_a_promise_with_is_no_attempt(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        connection = Connection(rc.Store(clock=rc.ManualClock()))
        resonate = connection.resonate()

        async def refuse(ctx: Any, id: str) -> None:
            await resonate.promises.create(id, 10_000, Value(), {})
            try:
                raise ValueError("no tea left")
            except ValueError as error:
                await resonate.promises.reject(id, Value(data=error))

        resonate.register(refuse)
        await connection.run_until(resonate.run("x", refuse, "p"))
        await resonate.stop()

    asyncio.run(main())
    assert warnings_of(caplog) == []


@pytest.mark.parametrize("place", ["memory", "file"])
def test_why_tree_and_the_dashboard_show_the_failure_as_long_as_it_is_tried_again(tmp_path: Path, place: str):
    told = (
        "attempt 1 of charge failed with NameError: name 'undefined_name' is not defined; "
        "the next one begins at 1970-01-01T00:01:00.000Z (in 1m)"
    )

    async def main() -> None:
        store = rc.Store(None if place == "memory" else tmp_path / "x.db", clock=rc.ManualClock(start=0))
        connection = Connection(store)
        resonate = client_of(connection, False, retry_policy=Constant(max_retries=9, delay=60))
        resonate.options(timeout=FAR).run("order-1", order)
        resonate.options(timeout=FAR).run("alone", charge)
        await connection.settle()
        for id in ("order-1", "order-1:1", "alone"):
            found = rc.why(store, id)
            assert told in found.sentence
            assert found.following == "its next attempt begins, at 1970-01-01T00:01:00.000Z (in 1m)"
        other = (
            store if place == "memory" else rc.Store(tmp_path / "x.db", clock=rc.ManualClock(start=0))
        )  # of another part of this process
        tree = calls_of(access_to(other), "order-1")
        assert tree.note(0) == "run by default-1"
        assert [child.note(0) for child in tree.children] == [f"run by its caller; {told}"]
        assert calls_of(access_to(other), "order-1:1").note(0) == f"run by its caller; {told}"
        await connection.advance(timedelta(minutes=1))
        found = rc.why(store, "order-1")
        assert "attempt 2 of charge failed" in found.sentence
        assert (found.now, found.following) == (60_000, "its next attempt begins, at 1970-01-01T00:02:00.000Z (in 1m)")
        connection.crash()
        assert "failed" not in rc.why(store, "order-1").sentence
        await resonate.stop()
        store.close()

    asyncio.run(main())


def test_every_view_of_a_dashboard_in_the_process_shows_it():
    httpx = pytest.importorskip("httpx")
    from resonate_core.asgi import ServerSettings, create_app

    async def main() -> None:
        store = rc.Store()
        connection = Connection(store)
        resonate = client_of(connection, False, retry_policy=Constant(max_retries=9, delay=3600))
        resonate.run("order-1", order)
        app = create_app(store, server=ServerSettings(ui=True))
        async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:

            async def view(name: str, **parameters: str) -> Any:
                answer = await client.get(f"/ui/api/{name}", params=parameters)
                assert answer.status_code == 200, answer.text
                return answer.json()

            told = "attempt 1 of charge failed with NameError: name 'undefined_name' is not defined"
            while told not in (await view("why", id="order-1"))["sentence"]:
                await asyncio.sleep(0.01)
            shown = await view("workflow", id="order-1")
            assert told in shown["why"]["sentence"]
            assert told in shown["tree"]["children"][0]["note"]
            assert told in (await view("promise", id="order-1:1"))["why"]["sentence"]
            (root,) = (await view("workflows"))["items"]
            assert told in root["note"]
        await resonate.stop()
        assert "failed" not in rc.why(store, "order-1").sentence

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize(
    ("redact", "error"),
    [
        ({"redact_types": ["pay"]}, "ValueError"),
        ({"redact_keys": ["card"]}, "ValueError: declined, card=[redacted]"),
        ({"redact_types": ["other"]}, "ValueError: declined, card=4111-1111"),
    ],
)
def test_no_view_of_a_dashboard_shows_the_error_of_a_redacted_function(redact: dict[str, Any], error: str):
    def pay(ctx: Any) -> None:
        raise ValueError("declined, card=4111-1111")

    async def shop(ctx: Any) -> None:
        await ctx.run(pay)

    async def main() -> None:
        store = rc.Store(clock=rc.ManualClock(start=0))
        connection = Connection(store)
        resonate = connection.resonate(retry_policy=Constant(max_retries=9, delay=60))
        resonate.register(shop)
        resonate.register(pay)
        resonate.options(timeout=FAR).run("o", shop)
        resonate.options(timeout=FAR).run("alone", pay)
        await connection.settle()
        dashboard = Dashboard(store, UiOptions(**redact))
        told = f"attempt 1 of pay failed with {error}; the next one begins at"
        for name, view, given in [
            ("workflows", workflows, ""),
            ("workflow", workflow, "id=o"),
            ("workflow", workflow, "id=alone"),
            ("promise", promise, "id=o:1"),
        ]:
            access = StoreAccess(store, Principal("operate"), Redaction(dashboard.rules))
            shown = json.dumps(access.redaction.document(view(access, Parameters(given), dashboard)))
            assert told in shown, name
            assert ("4111" in shown) == ("4111" in error), name
        await resonate.stop()

    asyncio.run(main())


def test_a_worker_that_stops_makes_no_further_attempt(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        connection = Connection(rc.Store(clock=rc.ManualClock()))
        resonate = client_of(connection, False)
        going_on = asyncio.Event()

        async def late(ctx: Any) -> None:
            await going_on.wait()
            raise ValueError("too late")

        resonate.register(late)
        resonate.run("x", late)
        while not connection.store.promises.search(id="x"):
            await asyncio.sleep(0.01)
        stopping = asyncio.ensure_future(resonate.stop())
        while not connection.stopped:
            await asyncio.sleep(0.01)
        going_on.set()
        await stopping
        assert connection.exchange.attempts._noted.of_all() == []

    asyncio.run(asyncio.wait_for(main(), 60))
    (failed,) = warnings_of(caplog)
    assert failed.getMessage().endswith(
        "attempt 1, failed: ValueError: too late; this worker stops: another one may try it when the lease has expired"
    )


PROGRAM = """
import asyncio, sys
import resonate_core as rc
from resonate.retry import Constant
from resonate_core.connection import Connection

def charge(ctx):
    return undefined_name

async def order(ctx):
    await ctx.run(charge)

async def main():
    resonate = Connection(rc.Store(sys.argv[1]), pid="shop").resonate(retry_policy=Constant(max_retries=9, delay=3600))
    resonate.register(order)
    await resonate.run("order-1", order).result()

asyncio.run(main())
"""


@pytest.mark.parametrize("linked", [False, True], ids=["path", "link"])
def test_commands_of_another_process_show_it(tmp_path: Path, linked: bool):
    place = shown = tmp_path / "x.db"
    if linked:
        (tmp_path / "links").mkdir()
        shown = tmp_path / "links" / "y.db"
        shown.symlink_to(place)
    told = "attempt 1 of charge failed with NameError: name 'undefined_name' is not defined; the next one begins at "

    def printed(*words: str) -> str:
        command = [sys.executable, "-m", "resonate_core", *words, "--db", str(shown)]
        return " ".join(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.split())

    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(place)], stderr=subprocess.PIPE, text=True)
    try:
        assert program.stderr is not None
        assert "order-1:1 (charge) on worker 'shop', attempt 1, failed: NameError" in program.stderr.readline()
        assert program.stderr.readline() == "Traceback (most recent call last):\n"
        assert told in printed("why", "order-1")
        assert told in printed("tree", "order-1")
        with rc.Store(place) as store:
            assert told in rc.why(store, "order-1:1").sentence
    finally:
        program.kill()
        program.communicate()
    (left,) = tmp_path.glob("x.db-attempts.*")
    assert left.stat().st_mode == place.stat().st_mode
    with rc.Store(place) as store:
        noted = failed_attempts(store)
        assert [failed.id for failed in noted.of_all()] == ["order-1:1"]
        assert noted.held(lambda task: {"id": task, "state": "acquired", "pid": "another"}) == []
        noted.note(FailedAttempt("p", "t", "f", "w", 1, "ValueError: no", 5))
        assert [failed.id for failed in noted.of_all()] == ["p"]  # the file of the killed process is gone
        noted.forget("p")
    assert not list(tmp_path.glob("*attempts*"))


@pytest.mark.parametrize("missing", ["context", "effects", "core"])
def test_a_program_runs_with_an_sdk_of_other_internals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, missing: str
):
    """The modules of the SDK have imported each other by then: only the connection does not find a class in one of them."""

    async def main() -> None:
        for _ in range(2):
            connection = Connection(rc.Store(clock=rc.ManualClock()))
            resonate = client_of(connection, False, retry_policy=Constant(max_retries=1, delay=1))
            with pytest.raises(NameError):
                await connection.run_until(resonate.options(timeout=FAR).run("o", order))
            await resonate.stop()

    monkeypatch.setattr(sdk, "_missing", set(), raising=False)
    monkeypatch.setitem(sys.modules, f"resonate.{missing}", ModuleType(f"resonate.{missing}"))
    asyncio.run(main())
    told = [record.getMessage() for record in caplog.records if record.name == "resonate_core.connection.sdk"]
    assert len(told) == len(set(told)) >= 1
    assert all(text.startswith(f"the installed SDK has no resonate.{missing}") for text in told)


def test_a_program_runs_with_an_sdk_of_other_local_variables(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        connection = Connection(rc.Store(clock=rc.ManualClock()))
        attempts = connection.exchange.attempts
        attempts._ending = dict.fromkeys(attempts._ending, "renamed")
        resonate = client_of(connection, False, retry_policy=Never())
        for id in ("a", "b"):
            with pytest.raises(NameError):
                await connection.run_until(resonate.options(timeout=FAR).run(id, order))
        await resonate.stop()

    monkeypatch.setattr(sdk, "_missing", set(), raising=False)
    asyncio.run(main())
    told = [record.getMessage() for record in caplog.records if record.name == "resonate_core.connection.sdk"]
    assert len(told) == len(set(told)) == 2  # in the two functions that encode an end
    assert all(text.startswith("the installed SDK has no local variable 'renamed'") for text in told)
