"""`listen=[::1]:PORT` was looked up as a name with brackets and never listened, and `store.url` was no URL: its brackets were gone."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest

import postgres_server
import resonate_core as rc
from backends import POSTGRES, require
from resonate_core._core import schema_versions

FAR = 10**15


@pytest.fixture(scope="module")
def server() -> Iterator[postgres_server.PostgresServer]:
    require(POSTGRES)
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no address ::1")
    with postgres_server.running(settings={"listen_addresses": "'127.0.0.1,::1'"}) as made:
        yield made


def listens(server: postgres_server.PostgresServer) -> list[str | None]:
    """Returns the addresses from which listeners are connected."""
    listening = "SELECT host(client_addr) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
    return [row[0] for row in server.execute(listening)]


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("more", ["prepared=no", "hostaddr=127.0.0.1"])
def test_a_store_listens_there(server: postgres_server.PostgresServer, more: str, escaped: bool) -> None:
    place = f"[::1]:{server.port}"
    url = f"{server.url()}?{more}&listen={quote(place, safe='') if escaped else place}"
    with rc.Store(url) as store, rc.Store(server.url()) as other:
        read, write = socket.socketpair()
        with read, write:
            read.settimeout(60)
            write.setblocking(False)
            watch = store.watch(write.fileno())
            until = time.monotonic() + 60
            while listens(server) != ["::1"] and time.monotonic() < until:
                time.sleep(0.02)
            assert listens(server) == ["::1"]
            other.jobs.enqueue("t")
            assert read.recv(1)
            watch.close()


@pytest.mark.parametrize("listen", ["::1:5432", "[::1]", "[::1]:", "[]:5432", ":5432", "[db]:5432", "db"])
def test_what_is_no_host_and_port(listen: str) -> None:
    with pytest.raises(rc.Invalid, match="listen must be yes, no or HOST:PORT, got"):
        schema_versions(f"postgresql://127.0.0.1/x?listen={listen}")


def test_the_error_shows_the_form_of_ipv6() -> None:
    with pytest.raises(rc.Invalid, match=r'got "::1:5432": write an address of IPv6 in brackets, as \[::1\]:5432'):
        schema_versions("postgresql://127.0.0.1/x?listen=::1:5432")


def test_the_url_of_a_store_opens_it_again(server: postgres_server.PostgresServer) -> None:
    given = server.url().replace("127.0.0.1", "[::1]")
    with rc.Store(given) as store:
        store.promises.create("a", FAR)
        shown = store.url
    assert shown == f"postgresql://[::1]:{server.port}/postgres?schema=resonate"
    with rc.Store(shown.replace("//", f"//{postgres_server.USER}@")) as store:
        assert store.promises.get("a").state == "pending"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://[::1]:1,[fe80::2]:2/x", "postgresql://[::1]:1,[fe80::2]:2/x?schema=resonate"),
        ("postgresql://a,b/x?port=1", "postgresql://a:1,b:1/x?schema=resonate"),
        ("postgresql://%2Fvar%2Frun/x", "postgresql://%2Fvar%2Frun/x?schema=resonate"),
        ("postgresql:///x?host=/var/run", "postgresql://%2Fvar%2Frun/x?schema=resonate"),
        ("postgresql://h/x?hostaddr=::1", "postgresql://h/x?schema=resonate"),
        ("postgresql:///x?hostaddr=::1", "postgresql://[::1]/x?schema=resonate"),
    ],
)
def test_other_hosts(given: str, shown: str) -> None:
    with pytest.raises(rc.StoreError) as failed:
        rc.Store(f"{given}{'&' if '?' in given else '?'}connect_timeout=2&sslmode=disable")
    assert shown in str(failed.value)
