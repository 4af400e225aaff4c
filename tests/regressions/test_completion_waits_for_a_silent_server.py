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
    ended = threading.Event()
    answered: list[Asked] = []

    def silent(asked: Asked) -> bytes:
        if not ended.wait(60):
            answered.append(asked)
        return b""

    with enemy(silent) as server:
        monkeypatch.setenv("RESONATE_URL", server.url)
        try:
            for longest in (1.0, 20.0):  # a slow machine may not have sent the request in a second
                monkeypatch.setattr(completion, "LONGEST", longest)
                assert getattr(completion, name)(SimpleNamespace(params={}, command_path="resonate-core"), "") == []
                if server.asked:
                    break
        finally:
            ended.set()
    assert server.asked and not answered
