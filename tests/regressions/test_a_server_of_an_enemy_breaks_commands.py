"""Commands with --url printed a traceback for an answer that is none of the protocol, and `--all` had no end if a cursor came again.

They print one line and end with the status for a server that cannot be used, 3.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc
from command_line import run_command
from enemy_server import Asked, Respond, chunked, enemy, envelope, http, with_data, zeros
from resonate_core.cli.exits import Exit

PROMISE = {"id": "x", "state": "pending", "param": {}, "value": {}, "tags": {}, "timeoutAt": 1000, "createdAt": 0}
JOB = rc.Store(clock=rc.ManualClock()).jobs.enqueue("t", {"a": 1}, id="x").to_dict()
NEVER = 2**63 - 1

UNUSABLE: dict[str, Respond] = {
    "a bomb": lambda asked: http(zeros(300_000_000), "content-encoding: gzip"),
    "no end": lambda asked: chunked(b"{", b" " * 65_536),
    "deep": with_data('{"promise": ' + "[" * 200_000),
    "deep and closed": with_data('{"promise": ' + "[" * 900 + "]" * 900 + "}"),
    "deep beside a promise": with_data({"promise": PROMISE, "more": json.loads("[" * 300 + "]" * 300)}),
    "a count of a batch": with_data([], "resonate-batch: " + "9" * 5000),
    "a list": with_data([1, 2]),
    "null": with_data(None),
    "a text": with_data('"x"'),
    "nothing": with_data({}),
    "a promise as a number": with_data({"promise": 5}),
    "an instant": with_data({"promise": {**PROMISE, "createdAt": 10**400}}),
    "an instant as text": with_data({"promise": {**PROMISE, "createdAt": "now"}}),
    "another id": with_data({"promise": {**PROMISE, "id": "y"}}),
    "a page": lambda asked: http(b"<html>\x1b[2J", content_type="text/html"),
    "a redirect": lambda asked: http(b"", "location: http://127.0.0.1:9/", status="302 Found"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_one_line_and_a_status(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with enemy(UNUSABLE[name]) as server:
        for command in (["promises", "get", "x"], ["promises", "wait", "x"], ["tree", "x"]):
            ran = run_command(capsys, *command, "--url", server.url)
            assert ran.code == Exit.UNREACHABLE, command
            assert ran.err.count("\n") == 1 and len(ran.err) < 1000 and ran.err.strip().isprintable()
            ran = run_command(capsys, *command, "--json", "--url", server.url)
            assert ran.code == Exit.UNREACHABLE and ran.error["exit"] == 3


def test_the_job_of_a_schedule_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = {**rc.Store(clock=rc.ManualClock()).schedules.create("s", "* * * * *", promise_timeout=1000).to_dict(), "job": None}
    for command, data in ((["get", "s"], {"schedule": schedule}), (["search"], {"schedules": [schedule]})):
        with enemy(with_data(data)) as server:
            ran = run_command(capsys, "schedules", *command, "--url", server.url)
        assert ran.code == 0 and "* * * * *" in ran.out, ran.err


def test_instants_far_away_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    promise = {**PROMISE, "createdAt": -(2**63), "timeoutAt": NEVER, "settledAt": -1, "state": "resolved"}
    with enemy(with_data({"promise": promise})) as server:
        ran = run_command(capsys, "promises", "get", "x", "--url", server.url)
    assert ran.code == 0 and str(-(2**63)) in ran.out and str(NEVER) in ran.out


def _same() -> Iterator[str]:
    return itertools.repeat("same")


def _turns() -> Iterator[str]:
    return itertools.cycle(["one", "two"])


def _a_circle() -> Iterator[str]:
    return itertools.cycle([str(number) for number in range(50)])


def _ever_new() -> Iterator[str]:
    return (str(number) for number in itertools.count())


SEARCHES: list[tuple[list[str], str, dict[str, Any]]] = [
    (["promises", "search", "--all"], "promises", PROMISE),
    (["tasks", "search", "--all"], "tasks", {"id": "x", "state": "pending", "version": 0, "resumes": 0}),
    (["schedules", "search", "--all"], "schedules", {}),
    (["jobs", "list", "--all"], "jobs", JOB),
    (["jobs", "list", "--newest"], "jobs", JOB),
]


@pytest.mark.parametrize("cursors", [_same, _turns, _a_circle, _ever_new], ids=lambda each: each.__name__)
@pytest.mark.parametrize(("arguments", "member", "record"), SEARCHES, ids=[" ".join(one[0]) for one in SEARCHES])
def test_pages_without_an_end(
    arguments: list[str],
    member: str,
    record: dict[str, Any],
    cursors: Callable[[], Iterator[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    following = cursors()
    records = [record] if record and cursors is not _ever_new else []  # new cursors: of pages without records
    with enemy(lambda asked: http(envelope(asked, {member: records, "cursor": next(following)}))) as server:
        ran = run_command(capsys, *arguments, "--url", server.url)
        assert len(server.asked) < 1000
    assert ran.code == Exit.UNREACHABLE and "have no end" in ran.err


def test_pages_of_more_bytes_than_a_command_keeps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("resonate_core.cli.target.MOST_OF_A_SEARCH", 1_000_000)
    numbers = itertools.count()

    def respond(asked: Asked) -> bytes:
        page = [{**PROMISE, "id": f"{next(numbers):09}"} for _ in range(1000)]
        return http(envelope(asked, {"promises": page, "cursor": page[-1]["id"]}))

    with enemy(respond) as server:
        ran = run_command(capsys, "promises", "search", "--all", "--url", server.url)
    assert ran.code == Exit.UNREACHABLE and "more than 1000000 bytes together" in ran.err


@pytest.mark.parametrize(
    "data", [{"count": 0, "more": True}, {"count": -5, "more": True}, {"count": "1", "more": True}, {"count": 1, "more": 1}, {}]
)
def test_a_change_of_all_without_an_end(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with enemy(with_data(data)) as server:
        ran = run_command(capsys, "jobs", "delete", "--all", "--state", "completed", "--type", "t", "--yes", "--url", server.url)
    assert ran.code == Exit.UNREACHABLE and ran.err.count("\n") == 1


WHY = {"kind": "promise", "sentence": "s", "chain": [], "advice": [], "next": None, "now": 5}


@pytest.mark.parametrize(
    "body",
    ["", "[", "[]", "null", "5", "{}", '{"error": 5}', "NaN", "[" * 200_000]
    + [json.dumps({**WHY, name: value}) for name in ("sentence", "chain", "advice", "next") for value in (5, [5], {"a": 5}, True)],
)
def test_why(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    with enemy(lambda asked: http(body.encode(), "content-security-policy: x")) as server:
        ran = run_command(capsys, "why", "x", "--url", server.url)
    assert ran.code == Exit.UNREACHABLE and ran.err.count("\n") == 1


def test_a_change_of_all_that_does_not_say_whether_there_are_more(capsys: pytest.CaptureFixture[str]) -> None:
    with enemy(with_data({"count": 3})) as server:
        ran = run_command(capsys, "jobs", "cancel", "--all", "--type", "t", "--yes", "--url", server.url)
    assert (ran.code, ran.out) == (0, "3 jobs cancelled\n")


@pytest.mark.parametrize("name", UNUSABLE)
def test_conformance(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with enemy(UNUSABLE[name]) as server:
        ran = run_command(
            capsys, "conformance", server.url, "--requests", "5", "--dialect", "2026-04-01", "--effort", "quick", "--timeout", "5"
        )
    assert ran.code in (Exit.UNREACHABLE, Exit.FAILED) and "Traceback" not in ran.err


def test_completion_offers_no_value_that_a_shell_or_a_terminal_would_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from resonate_core.cli.completion import promise_ids

    ids = [
        "good:1",
        "straße",
        "a;reboot",
        "$(reboot)",
        "`reboot`",
        "a b",
        "a\x1b[31m",
        "a\u202eb",
        "a\nb",
        "~root",
        "a|b",
        "a>b",
        "a'b",
    ]
    promises = [{**PROMISE, "id": id} for id in ids]
    with enemy(with_data({"promises": promises})) as server:
        context = SimpleNamespace(params={"url": server.url})
        assert promise_ids(context, "") == ["good:1", "straße"]
