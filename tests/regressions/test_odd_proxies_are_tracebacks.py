"""`HTTP_PROXY=foo://x resonate-core promises get x --url …` was a traceback, and SSL_CERT_FILE of a pipe waited for ever: what the environment
says about connections was first read by httpx. It is an error of the configuration, which names the variable, and no password."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core.server.push_client import PushClient
from resonate_core.server.settings import PushSettings
from resonate_core.ui import create_ui
from resonate_core.worker import Worker

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
URL = "http://10.0.0.1:1"
ODD = [
    ("HTTP_PROXY", "foo://user:pass%20word@x"),
    ("http_proxy", "foo://x"),
    ("HTTPS_PROXY", "http://[x"),
    ("https_proxy", "http://x:99999"),
    ("ALL_PROXY", "ftp://x:1"),
    ("all_proxy", "http://x:port"),
    ("HTTP_PROXY", "http://me:secret@x\x7f"),
    ("HTTP_PROXY", "http:///x"),
    ("ALL_PROXY", "me:secret@x:port"),
    ("ALL_PROXY", "socks4://x"),
    ("NO_PROXY", "http://x:port"),
    ("NO_PROXY", "http://[::"),
    ("NO_PROXY", "::1/xx"),
    ("no_proxy", "é"),
    ("SSL_CERT_FILE", "absent.pem"),
    ("SSL_CERT_FILE", "/dev/null"),
    ("SSL_CERT_FILE", "/dev/zero"),
    ("SSL_CERT_FILE", "pipe"),
    ("SSL_CERT_FILE", "garbage"),
    ("SSLKEYLOGFILE", "pipe"),
]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*VARIABLES, *map(str.lower, VARIABLES), "RESONATE_URL", "RESONATE_TOKEN", "RESONATE_STORE__PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("garbage").write_bytes(b"\x00\xff garbage")


@pytest.mark.parametrize(("name", "value"), ODD)
def test_a_command_says_so_in_one_line(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    for command in (
        ("promises", "get", "x", "--url", URL),
        ("why", "x", "--url", URL),
        ("ui", URL),
        ("dash", "--once", "--url", URL),
        ("conformance", URL),
    ):
        ran = run_command(capsys, *command)
        assert ran.code == 2, (command, ran)
        assert ran.err.startswith(f"{name} must be ") and len(ran.err.splitlines()) == 1, ran.err
        assert "secret" not in ran.err and "pass" not in ran.err, ran.err


@pytest.mark.parametrize(("name", "value"), ODD)
def test_programs_get_an_error_of_ours(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    for use in (
        lambda: rc.connect(URL),
        lambda: Worker(URL).run(),
        lambda: create_ui(URL),
    ):
        with pytest.raises(rc.Invalid, match=f"^{name} must be ") as refused:
            use()
        assert "secret" not in str(refused.value) and "pass" not in str(refused.value)


def test_a_server_reads_no_pipe_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "pipe")
    with pytest.raises(rc.Invalid, match=r"^SSL_CERT_FILE must be "):
        PushClient(PushSettings())


def test_serve_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "pipe")
    ran = run_command(capsys, "serve", "--port", "0")
    assert ran.code == 3 and "Traceback" not in ran.err, ran.err
    assert "SSL_CERT_FILE must be a file with certificates, got 'pipe': it is not a regular file" in ran.err


def test_usual_values_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("HTTP_PROXY", "proxy.internal:3128"),
        ("HTTPS_PROXY", "http://me:secret@proxy.internal:3128"),
        ("NO_PROXY", "localhost,127.0.0.1,::1,.internal,192.168.0.0/16,*.example"),
        ("ALL_PROXY", ""),
        ("SSL_CERT_FILE", ""),
        ("SSLKEYLOGFILE", "keys"),
    ):
        monkeypatch.setenv(name, value)
    rc.connect(URL).close()
