"""Connections: their attributes, and the arguments that they refuse."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
from resonate.resonate import Resonate
from resonate_base import Network, Source

from programs import add, manual_store, play, worker
from resonate_core.connection import Connection, SdkMissing, sdk


def test_it_is_both_halves_of_what_the_sdk_takes():
    connection = Connection(manual_store(), pid="w")
    assert isinstance(connection, Network)
    assert isinstance(connection, Source)
    assert connection.unicast() == "poll://uni@default/w"
    assert connection.resolve_target("cpu") == "poll://any@cpu"


def test_the_sdk_takes_it_as_its_network():
    async def main():
        connection = Connection(manual_store())
        resonate = Resonate(**connection.settings())
        resonate.register(add)
        assert await resonate.run("sum", add, 1, 2).result() == 3
        await resonate.stop()

    play(main())


@pytest.mark.parametrize("request_text", ["", "{}", '{"kind": "task.create"}', "[]"])
def test_a_malformed_request_is_answered(request_text):
    async def main():
        answer = json.loads(await Connection(manual_store()).send(request_text))
        assert answer["head"]["status"] == 400

    play(main())


def test_names_repeat_on_a_manual_clock_and_never_on_system_time():
    import resonate_core as rc

    async def main(store):
        return [Connection(store, group=group).pid for group in ("g", "g", "h")]

    assert play(main(manual_store())) == ["g-1", "g-2", "h-3"]
    system = play(main(rc.Store()))
    assert len(set(system)) == 3


@pytest.mark.parametrize(
    ("group", "pid"), [("", "p"), ("a/b", "p"), ("a\0", "p"), ("a*", "p"), ("g", "b*"), ("g", ""), ("g", "a\0")]
)
def test_names_that_no_address_can_hold(group, pid):
    with pytest.raises(ValueError, match="must be a non-empty text"):
        Connection(manual_store(), group=group, pid=pid)


def test_one_store_on_one_loop_after_the_other():
    store = manual_store()
    connection = Connection(store)

    async def once(n: int):
        resonate = connection.resonate()
        resonate.register(add)
        assert await connection.run_until(resonate.run(f"sum-{n}", add, n, n)) == 2 * n
        await resonate.stop()

    for n in (1, 2):
        play(once(n))


def test_not_on_two_loops_at_once():
    connection = Connection(manual_store())

    async def use():
        return connection.exchange

    async def main():
        assert await use() is connection.exchange
        with pytest.raises(RuntimeError, match="another event loop"):
            await asyncio.to_thread(asyncio.run, use())

    play(main())


def test_it_needs_an_event_loop_only_when_it_is_used():
    connection = Connection(manual_store())
    assert "None" in repr(connection)
    with pytest.raises(RuntimeError, match="no running event loop"):
        _ = connection.pid


def test_another_event_loop_that_hides_its_queue_is_refused_on_manual_time():
    class Opaque:
        def __getattr__(self, name):
            raise AttributeError(name)

    async def main():
        connection = Connection(manual_store())
        connection.exchange.time._loop = Opaque()
        with pytest.raises(RuntimeError, match="asyncio's own event loops"):
            await connection.settle()

    play(main())


def test_without_the_sdk_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "resonate_base.error", None)
    with pytest.raises(SdkMissing, match="resonate-core\\[sdk\\]"):
        Connection(manual_store())


def test_on_an_older_python_the_error_says_so(monkeypatch):
    monkeypatch.setattr(sdk.sys, "version_info", sys.version_info.__class__ and _Version(3, 11))
    with pytest.raises(SdkMissing, match=r"this is Python 3\.11"):
        Connection(manual_store())


class _Version(tuple):
    """A version that compares like a tuple."""

    def __new__(cls, major: int, minor: int):
        made = super().__new__(cls, (major, minor))
        made.major, made.minor = major, minor
        return made


def test_the_package_imports_without_the_sdk():
    code = "import sys; import resonate_core.connection; assert 'resonate' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_client_shares_work_with_a_plain_one():
    async def main():
        store = manual_store()
        connection, resonate = worker(store, add)
        assert connection.resonate(group="elsewhere", autostart=False)._group == "elsewhere"
        assert await connection.run_until(resonate.rpc("r", add, 2, 2)) == 4
        await resonate.stop()

    play(main())
