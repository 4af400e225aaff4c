"""`rc.connect` took `answer_bytes`, the most bytes of an answer of a server that is not trusted; `Worker(url)` had the default of 64 MiB alone."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import enemy, with_data
from resonate_core.worker import Worker

JOBS = {"jobs": [], "nextAt": None, "note": "x" * 5000}


@pytest.mark.parametrize("bound", [False, True])
def test_a_worker_takes_the_limit(bound: bool) -> None:
    with enemy(with_data(JOBS)) as server:
        made = Worker(server.url, answer_bytes=1000) if not bound else Worker()
        if bound:
            made.bind(server.url, answer_bytes=1000)
        with closing(made), pytest.raises(rc.errors.NoEnvelope, match=r"more than 1000 bytes"):
            made.client.claim(("default", 1, "w", 1000, 1000, False, 0))  # type: ignore[arg-type]


def test_a_worker_without_it_takes_more() -> None:
    with enemy(with_data(JOBS)) as server, closing(Worker(server.url)) as worker:
        assert not worker.client.claim(("default", 1, "w", 1000, 1000, False, 0)).jobs  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, True, "5", 1.5])
def test_another_limit_is_refused(wrong: Any) -> None:
    with pytest.raises((rc.Invalid, TypeError), match=r"^answer_bytes must be "):
        Worker("http://127.0.0.1:1", answer_bytes=wrong)


def test_it_is_for_servers() -> None:
    with pytest.raises(TypeError, match=r"^answer_bytes must be None"):
        Worker(answer_bytes=5)
    store = rc.Store(clock=rc.ManualClock())
    with pytest.raises(TypeError, match=r"^answer_bytes must be None"):
        Worker(store, answer_bytes=5).run_until_idle()
