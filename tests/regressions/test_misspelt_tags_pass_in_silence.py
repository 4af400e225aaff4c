"""The tags `resonate:traget` and `resonate:timer="yes"` have no effect, and there was no warning."""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.asgi import create_app
from resonate_core.cli import main

FAR = 4_000_000_000_000
TARGET = 'tag "resonate:traget" has no meaning; did you mean "resonate:target"?'


def making(tags: dict[str, str]) -> list[Callable[[rc.Store], Any]]:
    """Returns every typed call that takes tags."""

    def fenced(store: rc.Store) -> None:
        claim = store.tasks.create("outer", pid="w", ttl=1000, timeout_at=FAR, target="poll://any@w")
        store.tasks.fence_create("outer", claim.task.version, "p", FAR, tags=tags)

    return [
        lambda store: store.promises.create("p", FAR, tags=tags),
        lambda store: store.promises.create_many(["p"], FAR, tags=tags),
        lambda store: store.tasks.create("p", pid="w", ttl=1000, timeout_at=FAR, target="poll://any@w", tags=tags),
        fenced,
        lambda store: store.schedules.create("s", "@daily", promise_timeout=1000, tags=tags),
        lambda store: store.jobs.enqueue("t", tags=tags),
        lambda store: store.jobs.enqueue_many("t", [None, None], tags=tags),
    ]


@pytest.mark.parametrize("call", making({"resonate:traget": "poll://any@w"}))
def test_each_call_warns_at_the_line_that_makes_it(call: Callable[[rc.Store], Any]) -> None:
    store = rc.Store(clock=rc.ManualClock())
    with pytest.warns(UserWarning, match="^tag ") as warned:
        call(store)
    assert {str(one.message) for one in warned} == {TARGET}
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    "tag, value, said",
    [
        ("resonate:timer", "yes", 'tag "resonate:timer" is "yes"; only "true" makes the promise a timer'),
        ("resonate:external", "True", 'tag "resonate:external" is "True"; only "true" makes the promise external'),
        ("Resonate:Target", "poll://a@b", 'tag "Resonate:Target" has no meaning; did you mean "resonate:target"?'),
        ("resonate.delay", "5", 'tag "resonate.delay" has no meaning; did you mean "resonate:delay"?'),
        ("resonate:tmier", "true", 'tag "resonate:tmier" has no meaning; did you mean "resonate:timer"?'),
        (
            "resonate:timer",
            "a\nb\u2028\x1b",
            r'tag "resonate:timer" is "a\x0ab\xe2\x80\xa8\x1b"; only "true" makes the promise a timer',
        ),
        ("resonate:timer", "x" * 1000, f'tag "resonate:timer" is "{"x" * 40}..."; only "true" makes the promise a timer'),
    ],
)
def test_what_is_said(tag: str, value: str, said: str) -> None:
    store = rc.Store(clock=rc.ManualClock())
    with pytest.warns(UserWarning, match="^tag ") as warned:
        store.promises.create("p", FAR, tags={tag: value})
    assert [str(one.message) for one in warned] == [said]
    assert store.promises.get("p").tags == {tag: value}, "it is stored as it was given"


@pytest.mark.parametrize(
    "tags",
    [
        {"resonate:target": "poll://any@w", "resonate:delay": "5", "resonate:scope": "global", "resonate:origin": "p"},
        {"resonate:timer": "true", "resonate:external": "false", "resonate:branch": "b", "resonate:parent": "p"},
        {"resonate:team": "blue", "resonate:": "", "resonate": "", "target": "poll://any@w", "team": "resonate:traget"},
        {"resonate:invoke": "x", "resonate:root": "r", "resonate:timeout": "5", "resonate:prefix": "p", "resonate:schedule": "s"},
    ],
)
def test_what_nobody_misspelt_is_not_warned_of(tags: dict[str, str]) -> None:
    store = rc.Store(clock=rc.ManualClock())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.promises.create("p", FAR, tags=tags)


def test_where_warnings_are_errors_nothing_was_done() -> None:
    store = rc.Store(clock=rc.ManualClock())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            store.promises.create("p", FAR, tags={"resonate:traget": "x"})
    assert len(store.promises.search()) == 0


def test_a_server_answers_as_before_and_logs_each_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    import httpx

    async def ask() -> list[int]:
        app = create_app(rc.Store())
        async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            statuses = []
            for number in range(3):
                data = {
                    "id": f"p\n{number}",
                    "timeoutAt": FAR,
                    "param": {},
                    "tags": {"resonate:traget": "a", "resonate:timer": "1\r\n"},
                }
                head = {"corrId": "1", "version": "2026-04-01"}
                reply = await client.post("/", content=json.dumps({"kind": "promise.create", "head": head, "data": data}))
                statuses.append(reply.json()["head"]["status"])
            return statuses

    with caplog.at_level(logging.WARNING, logger="resonate_core.server"):
        assert asyncio.run(ask()) == [200, 200, 200]
    assert [record.getMessage() for record in caplog.records] == [
        r"""promise.create of 'p\n0': tag "resonate:timer" is "1\x0d\x0a"; only "true" makes the promise a timer (this is said once)""",
        rf"promise.create of 'p\n0': {TARGET} (this is said once)",
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["promises", "create", "p", "--timeout", "1h"],
        ["tasks", "create", "p", "--pid", "w", "--ttl", "5s", "--timeout", "1h", "--target", "poll://any@w"],
        ["schedules", "create", "s", "--cron", "@daily", "--timeout", "1h"],
        ["jobs", "enqueue", "t"],
    ],
)
def test_a_command_remarks_on_it(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--tag", "resonate:traget=a", "--db", str(tmp_path / "a.db"), "--make"]) == 0
    assert capsys.readouterr().err.splitlines() == [TARGET]
