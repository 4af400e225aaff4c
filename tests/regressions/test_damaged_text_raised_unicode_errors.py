"""A damaged byte that made a text invalid UTF-8 raised UnicodeDecodeError in `check()` and in every read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.cli import main

FAR = 10**12
TEXTS = {
    "the-promise": "promise",
    "the-param": "promise",
    "the-listener": "edge of",
    "the-schedule": "schedule",
    "the-target": "promise",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "app.db"
    with rc.Store(made, clock=rc.ManualClock(0)) as store:
        data = {"id": "the-promise", "timeoutAt": FAR, "param": {"data": "the-param"}, "tags": {"resonate:target": "x:the-target"}}
        store.apply({"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, "data": data})
        store.promises.register_listener("the-promise", "poll://uni@the-listener")
        store.schedules.create("the-schedule", "* * * * *", promise_id="p", promise_timeout=1000)
    return made


@pytest.mark.parametrize("text", TEXTS)
def test_damaged_text_is_named(path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    whole = path.read_bytes()
    assert text.encode() in whole
    path.write_bytes(whole.replace(text.encode(), text.encode()[:-1] + b"\xf2"))

    problems = rc.check_file(path)
    assert any(one.startswith(f"rows: {TEXTS[text]}") and "UTF-8" in one for one in problems), problems
    assert main(["check", str(path)]) == 1
    assert "UTF-8" in capsys.readouterr().out

    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        calls: list[Callable[[], Any]] = [
            store.check,
            lambda: repr(store.promises.search()),
            lambda: repr(store.schedules.search()),
            store.snapshot,
            lambda: repr(store.messages()),
            lambda: store.tick(120_000),
        ]
        said = []
        for call in calls:
            try:
                call()
            except rc.StoreError as error:
                said.append(str(error))
        assert said and all("damaged" in one for one in said), said
