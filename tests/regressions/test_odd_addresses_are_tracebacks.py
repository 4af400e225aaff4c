"""`resonate-core promises get x --url http://xn--0.com` was a traceback of idna, and port 99999 was taken and became port 34463: the URL of a
server is judged once, before a request, for commands, clients, workers and dashboards."""

from __future__ import annotations

import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core.ui import create_ui
from resonate_core.worker import Worker

ODD = [
    "http://xn--0.com",
    "http://xn--",
    "https://xn--a.example:1/x",
    "http://10.0.0.1:99999",
    "http://10.0.0.1:0",
    "http://[::1]:65536/ui",
]


@pytest.mark.parametrize("url", ODD)
def test_a_command_says_so_in_one_line(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ("promises", "get", "x", "--url", url),
        ("jobs", "list", "--url", url),
        ("dash", "--once", "--url", url),
        ("why", "x", "--url", url),
        ("ui", url),
        ("conformance", url),
    ):
        ran = run_command(capsys, *command)
        assert ran.code == 2, (command, ran)
        assert "url must " in ran.err and len(ran.err.splitlines()) == 1, (command, ran.err)
    monkeypatch.setenv("RESONATE_URL", url)
    ran = run_command(capsys, "promises", "get", "x")
    assert ran.code == 2 and "url must " in ran.err and len(ran.err.splitlines()) == 1, ran.err


@pytest.mark.parametrize("url", ODD)
def test_programs_get_an_error_of_ours(url: str) -> None:
    for use in (lambda: rc.connect(url), lambda: Worker(url).run(), lambda: create_ui(url)):
        with pytest.raises(rc.Invalid, match=r"^url must "):
            use()


def test_usual_addresses_are_taken() -> None:
    for url in ("http://xn--strae-oqa.example", "http://straße.example:80/x", "https://[::1]:65535", "http://127.0.0.1:1/"):
        rc.connect(url).close()
