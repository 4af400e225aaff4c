"""Recording and replaying."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc


def play(store: rc.Store) -> None:
    clock = store.clock
    assert isinstance(clock, rc.ManualClock)
    store.tasks.create("job", 50_000, pid="w", ttl=1000, target="poll://any@w")
    store.promises.create("child", 9000, param={"n": 1}, tags={"resonate:external": "true"})
    store.tasks.suspend("job", 1, ["child"])
    with pytest.raises(rc.NotFound):
        store.promises.get("nobody")
    clock.advance(9500)
    store.apply(
        {
            "kind": "task.acquire",
            "head": {"corrId": "x", "version": "2025-01-15"},
            "data": {"id": "job", "version": 1, "pid": "v", "ttl": 5},
        }
    )
    store.take_messages()
    clock.advance(60_000)


def test_a_file_by_path(tmp_path: Path) -> None:
    store = rc.Store(clock=rc.ManualClock(5), rules="strict", retry_timeout=700)
    path = tmp_path / "trace.jsonl"
    with store.record(path) as recording:
        play(store)
    assert recording.closed and "closed=True" in repr(recording)
    lines = path.read_text().splitlines()
    assert len(lines) == recording.lines > 8
    assert all({"kind", "now", "req", "res"} <= set(json.loads(line)) for line in lines)
    with path.open() as as_text, path.open("rb") as as_bytes:
        for trace in (path, str(path), lines, [line.encode() for line in lines], iter(lines), as_text, as_bytes):
            result = rc.replay(trace)
            assert result and result.ok and result.difference is None and result.line is None and result.steps == len(lines)


@pytest.mark.parametrize("kind", [io.StringIO, io.BytesIO])
def test_a_file_object(kind: Any) -> None:
    store = rc.Store(clock=rc.ManualClock())
    file = kind()
    with store.record(file):
        play(store)
    assert not file.closed
    assert rc.replay(file.getvalue().splitlines()).ok


def test_ends_with_the_store(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with rc.Store(clock=rc.ManualClock()) as store:
        recording = store.record(path)
        store.promises.create("a", 10)
    assert recording.closed and rc.replay(path).ok


def test_lines_are_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    store = rc.Store(clock=rc.ManualClock())
    store.record(path)
    store.promises.create("a", 10)
    assert '"a"' in path.read_text().splitlines()[-1]


def test_one_at_a_time() -> None:
    store = rc.Store(clock=rc.ManualClock())
    with store.record(io.StringIO()), pytest.raises(rc.Invalid):
        store.record(io.StringIO())
    store.record(io.StringIO()).close()


def test_says_where_it_differs() -> None:
    store = rc.Store(clock=rc.ManualClock())
    file = io.StringIO()
    with store.record(file):
        play(store)
    lines = file.getvalue().splitlines()
    forged = [line.replace('"state":"pending"', '"state":"resolved"') if i == 2 else line for i, line in enumerate(lines)]
    result = rc.replay(forged)
    assert not result and result.line == 3 and result.steps == 2
    assert result.expected == forged[2] and result.got == lines[2]
    assert result.difference is not None and "line 3" in result.difference and "difference" in repr(result)


@pytest.mark.parametrize("trace", [["no json"], ["[]"], ['{"kind":"open"}']])
def test_no_trace(trace: list[str]) -> None:
    with pytest.raises(rc.Invalid, match="1"):
        rc.replay(trace)


def test_wrong_types() -> None:
    with pytest.raises(TypeError):
        rc.replay([1])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        rc.replay(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        rc.Store().record(1)  # type: ignore[arg-type]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(rc.StoreError):
        rc.Store().record(tmp_path / "no" / "trace")
    with pytest.raises(OSError):
        rc.replay(tmp_path / "nothing")


class Full(io.StringIO):
    """A file that accepts a few lines and then raises."""

    def write(self, text: str) -> int:
        if self.tell() > 2000:
            raise OSError(28, "no space left")
        return super().write(text)


def test_a_full_disk_stops_the_recording_only() -> None:
    store = rc.Store(clock=rc.ManualClock(), check=True)
    recording = store.record(Full())
    for i in range(50):
        store.promises.create(f"p{i}", 1000)
    assert store.promises.count() == 50
    with pytest.raises(OSError, match="no space"):
        recording.close()
    assert recording.closed
    store.promises.create("after", 1000)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
def test_a_full_disk_by_path() -> None:
    store = rc.Store(clock=rc.ManualClock())
    recording = store.record("/dev/full")
    store.promises.create("a", 1000)
    with pytest.raises(rc.StoreError, match="/dev/full"):
        recording.close()


def test_a_delay_that_is_over_dispatches_at_the_present() -> None:
    store = rc.Store(clock=rc.ManualClock(1000), check=True)
    file = io.StringIO()
    with store.record(file):
        store.promises.create("p", 50_000, tags={"resonate:target": "poll://any@w", "resonate:delay": "3"})
    events = [json.loads(line) for line in file.getvalue().splitlines()]
    assert [event["req"] for event in events if event["kind"] == "step.dispatch"] == [{"id": "p", "at": 1000}]
