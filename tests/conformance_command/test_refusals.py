"""The exit codes of the command for a server that it cannot judge, and the one line that says why."""

from __future__ import annotations

import json
from typing import Any

import pytest

import resonate_core as rc
from command_line import run_command
from conformance_command.servers import faulty
from free_ports import free_port
from resonate_core.conformance.judging import judge
from resonate_core.conformance.plan import Plan
from server.live_server import live


def speaking(*versions: str) -> Any:
    """An app that answers an envelope of another version as an unknown version, and any other with 404."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        request = json.loads(body)
        version = request["head"]["version"]
        status = 404 if version in versions else 400
        head = {"corrId": request["head"]["corrId"], "status": status, "version": version if status == 404 else "2026-04-01"}
        text = json.dumps({"kind": request["kind"], "head": head, "data": "no"}).encode()
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": text})

    return app


def test_an_unreachable_server_has_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_command(capsys, "conformance", f"http://127.0.0.1:{free_port()}")
    assert ran.code == 3 and "cannot be reached" in ran.err and ran.out == ""


def test_a_server_of_other_versions_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    with live(speaking()) as running:
        ran = run_command(capsys, "conformance", f"http://127.0.0.1:{running.port}")
        assert ran.code == 3 and "speaks none of 2026-04-01, 2025-01-15" in ran.err


def test_of_a_server_of_one_dialect_the_other_is_not_judged() -> None:
    with live(speaking("2025-01-15")) as running:
        report = judge(f"http://127.0.0.1:{running.port}", Plan(effort="quick", requests=40, patience=0))
    assert report.tallies["2026-04-01"].not_judged == {"every rule": {"the server does not speak this dialect": 1}}
    assert set(report.broken) == {"PROTOCOL 3.2 promise.create"}, "it answers 404 to everything"


def test_a_page_is_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<p>Welcome</p>"})

    with live(page) as running:
        ran = run_command(capsys, "conformance", f"http://127.0.0.1:{running.port}")
        assert ran.code == 3 and "does not speak the protocol" in ran.err


@pytest.mark.parametrize(
    "arguments, seen",
    [
        ((), "which server?"),
        (("ftp://a",), "url must be"),
        (("http://a", "--prefix", "a b"), "prefix must be 1 to 64 letters"),
        (("http://a", "--prefix", "..."), "prefix must be 1 to 64 letters"),
        (("http://a", "--dialect", "2020"), "dialect must be one of 2026-04-01, 2025-01-15, got '2020'"),
        (("http://a", "--patience", "soon"), "--patience"),
        (("http://a", "--token", "a b"), "token must be"),
    ],
)
def test_bad_options_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], seen: str
) -> None:
    monkeypatch.delenv("RESONATE_URL", raising=False)
    ran = run_command(capsys, "conformance", *arguments)
    assert ran.code == 2 and seen in ran.err


def test_findings_have_their_exit_code_and_are_in_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    with faulty("search_is_not_ordered") as url:
        options = ("--effort", "quick", "--requests", 40, "--patience", 0, "--dialect", "2026-04-01", "--connections", 1)
        ran = run_command(capsys, "conformance", url, *options, "--format", "json")
        assert ran.code == 1
        document = json.loads(ran.out)
        (found,) = document["findings"]
        assert found["rule"] == "PROTOCOL 3.7 promise.search" and found["request"]["kind"] == "promise.search"
        assert found["answer"]["head"]["status"] == found["right"]["head"]["status"] == 200
        assert found["differences"] and found["story"]


def test_a_server_that_stops_answering_is_unreachable() -> None:
    with rc.Store() as store:
        from server.live_server import serving

        with serving(store) as running:
            url = f"http://127.0.0.1:{running.port}"
            parts: list[str] = []

            def stop(part: str) -> None:
                parts.append(part)
                if part == "random programs":
                    running.server.should_exit = True
                    running._thread.join(60)

            with pytest.raises(rc.errors.Unreachable):
                judge(url, Plan(effort="quick", requests=40, patience=0, connections=2), progress=stop)
            assert parts[-1] == "cleaning up"
