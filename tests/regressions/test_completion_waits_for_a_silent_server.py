"""Completion by Tab waited for half a minute for a server that did not answer. It waits for two seconds, and offers nothing."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from enemy_server import Asked, enemy
from resonate_core.cli import completion

COMPLETERS = ("queues", "job_types", "job_ids", "promise_ids", "schedule_ids")


@pytest.mark.parametrize("name", COMPLETERS)
def test_a_server_that_does_not_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESONATE_STORE__PATH", raising=False)
    monkeypatch.setattr(completion, "LONGEST", 1.0)
    ended = threading.Event()
    answered: list[Asked] = []

    def silent(asked: Asked) -> bytes:
        if not ended.wait(20):
            answered.append(asked)
        return b""

    with enemy(silent) as server:
        monkeypatch.setenv("RESONATE_URL", server.url)
        try:
            assert getattr(completion, name)(SimpleNamespace(params={}, command_path="resonate-core"), "") == []
        finally:
            ended.set()
    assert server.asked and not answered
