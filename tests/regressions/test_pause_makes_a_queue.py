"""`queues pause` with a misspelt name created a paused queue of that name and reported success."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.cli import main


@pytest.mark.parametrize("operation", ["pause", "resume"])
def test_an_unknown_queue_is_not_found(make_store: Any, operation: str) -> None:
    store = make_store()
    with pytest.raises(rc.errors.NotFound, match=r'^queue "nosuch" does not exist$'):
        getattr(store.queues, operation)("nosuch")
    assert store.queues.list() == []
    head = {"corrId": "1", "version": "2026-04-01"}
    reply = store.apply({"kind": f"queue.{operation}", "head": head, "data": {"queue": "nosuch"}})
    assert reply["head"]["status"] == 404


def test_a_queue_that_was_set_and_the_default_queue_can_be_paused_before_their_first_job(make_store: Any) -> None:
    store = make_store()
    store.queues.set("mail")
    for queue in ("mail", "default"):
        assert store.queues.pause(queue)["paused"] is True
        store.jobs.enqueue("t", queue=queue)
        assert len(store.jobs.claim(queue, worker="w", lease=1000)) == 0
        assert store.queues.resume(queue)["paused"] is False
        assert len(store.jobs.claim(queue, worker="w", lease=1000)) == 1


@pytest.mark.parametrize("operation", ["pause", "resume"])
def test_the_command_fails_with_the_code_of_what_is_missing(tmp_path: Path, operation: str, capsys: Any) -> None:
    path = tmp_path / "a.db"
    rc.Store(path).close()
    assert main(["queues", operation, "nosuch", "--db", str(path)]) == 4
    assert 'queue "nosuch" does not exist' in capsys.readouterr().err
    with rc.Store(path) as store:
        assert store.queues.list() == []
