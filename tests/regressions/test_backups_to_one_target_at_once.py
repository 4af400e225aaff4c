"""Threads that backed up to one target wrote the same unfinished file: all failed, with "database is locked" or "disk I/O error"."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import resonate_core as rc


@pytest.mark.parametrize("in_memory", [False, True])
def test_one_gets_the_name_and_the_others_are_told(tmp_path: Path, in_memory: bool) -> None:
    with rc.Store(None if in_memory else tmp_path / "app.db", clock=rc.ManualClock(0)) as store:
        store.promises.create_many([f"p{number}" for number in range(2_000)], 10**12)
        (tmp_path / "copies").mkdir()
        target = tmp_path / "copies" / "copy.db"
        together = threading.Barrier(4)
        said: list[str] = []

        def back_up() -> None:
            together.wait()
            try:
                store.backup(target)
            except rc.StoreError as error:
                said.append(str(error))
            else:
                said.append("done")

        threads = [threading.Thread(target=back_up) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(said) == sorted(["done"] + 3 * [f'backup "{target}": the target must not exist: choose another path'])
    assert [one.name for one in target.parent.iterdir()] == ["copy.db"]
    assert rc.check_file(target) == []


def test_an_unfinished_file_of_another_process_stays(tmp_path: Path) -> None:
    """In two containers that share a folder, two processes may have the same process id."""
    import os

    other = tmp_path / f"copy.db.partial-{os.getpid()}-0"
    other.write_bytes(b"of another")
    with rc.Store(clock=rc.ManualClock(0)) as store:
        store.backup(tmp_path / "copy.db")
    assert other.read_bytes() == b"of another"
    assert rc.check_file(tmp_path / "copy.db") == []
