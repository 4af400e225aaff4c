"""SQLite read `Store("file:x.db")` as a URI: it created `x.db`, and every call after a fork said that the file does not exist."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import resonate_core as rc

FAR = 10**12
NAMES = ["file:x.db", "file:x.db?mode=memory", "file:a%20b.db", "a?b#c.db", "sqlite:///file:y.db"]


def names_in(folder: Path) -> set[str]:
    """Returns the files of a folder without logs and their indexes."""
    return {one.name.removesuffix("-wal").removesuffix("-shm") for one in folder.iterdir()}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("given", NAMES)
def test_a_path_is_a_path(given: str, tmp_path: Path) -> None:
    name = given.removeprefix("sqlite:///")
    store = rc.Store(given, clock=rc.ManualClock(0))
    store.promises.create("a", FAR)
    assert names_in(tmp_path) == {name}
    child = os.fork()
    if child == 0:
        os._exit(0 if store.promises.get("a").state == "pending" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.promises.get("a").state == "pending"
    store.backup("file:copy.db")
    store.close()
    assert rc.check_file(name) == [] == rc.check_file("file:copy.db")
    assert names_in(tmp_path) == {name, "file:copy.db"}


def test_a_process_that_changes_its_folder_keeps_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After fork(2) the child opens the file again. A relative path still means the folder in which the store was made."""
    with rc.Store("x.db", clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        child = os.fork()
        if child == 0:
            os._exit(0 if store.promises.get("a").state == "pending" else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.promises.get("a").state == "pending"
        assert store.path == str(tmp_path / "x.db")
        store.backup("copy.db")
    assert [one.name for one in (tmp_path / "elsewhere").iterdir()] == ["copy.db"]
