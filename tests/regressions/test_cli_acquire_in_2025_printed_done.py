"""`tasks acquire --dialect 2025-01-15` printed "done" and not what is to be run: the invoke, or the resume with what woke it."""

from __future__ import annotations

from pathlib import Path

import pytest

import resonate_core as rc
from conformance.wire import ADDRESS
from resonate_core.cli import main


def lines_of(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Returns the printed lines by their first word."""
    return dict(line.split("\t", 1) for line in capsys.readouterr().out.splitlines())


def acquire(path: Path, version: int) -> int:
    where = ["--db", str(path), "--dialect", "2025-01-15"]
    return main(["tasks", "acquire", "job", "-v", str(version), "--pid", "w", *where])


def test_an_invoke_and_a_resume_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path) as store:
        store.promises.create("job", timeout=600_000, param={"n": 1}, tags={"resonate:target": ADDRESS})
        store.promises.create("awaited", timeout=600_000, tags={"resonate:external": "true"})
    assert acquire(path, 0) == 0
    seen = lines_of(capsys)
    assert (seen["kind"], seen["invoked.id"], seen["invoked.param"]) == ("invoke", "job", '{"n":1}')

    with rc.Store(path) as store:
        store.tasks.suspend("job", 1, ["awaited"])
        store.promises.resolve("awaited", {"answer": 42})
    assert acquire(path, 1) == 0
    seen = lines_of(capsys)
    assert (seen["kind"], seen["invoked.id"], seen["awaited.id"], seen["awaited.state"]) == ("resume", "job", "awaited", "resolved")
    assert seen["awaited.value"] == '{"answer":42}'
