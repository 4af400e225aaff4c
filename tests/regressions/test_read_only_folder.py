"""`Store(path, read_only=True)`, `check_file` and backups refused a complete file in a folder that cannot be written.

SQLite reads a file with a log by an index in a file beside it (`-shm`), which it could not create there.
"""

from __future__ import annotations

import os
import select
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import resonate_core as rc

FAR = 10**12


def as_nobody(act: Callable[[], str]) -> str:
    """Returns the result of the function in a process that may not write to other users' folders."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "died"
        try:
            os.close(read)
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            said = act()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as shown:
        said = shown.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    made = Path(tempfile.mkdtemp(prefix="resonate-tests-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def wait_for(pipe: int) -> None:
    """Waits for a byte from the other process; raises if it does not come."""
    assert select.select([pipe], [], [], 30)[0], "the other process says nothing"
    os.read(pipe, 1)


def look(path: Path) -> str:
    with rc.Store(path, read_only=True, clock=rc.ManualClock(0)) as store:
        return f"{store.counts()['promises']['pending']} {store.check()} {rc.check_file(path)}"


def test_a_file_without_a_log_is_read(folder: Path) -> None:
    path = folder / "a?b%c#.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
    folder.chmod(0o555)
    assert as_nobody(lambda: look(path)) == "1 [] []"
    assert [one.name for one in folder.iterdir()] == [path.name]


def test_it_can_be_backed_up(folder: Path, tmp_path: Path) -> None:
    path = folder / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
    target = Path(tempfile.mkdtemp(prefix="resonate-tests-"))
    try:
        target.chmod(0o777)
        folder.chmod(0o555)

        def back_up() -> str:
            with rc.Store(path, read_only=True, clock=rc.ManualClock(0)) as store:
                store.backup(target / "copy.db")
            return look(target / "copy.db")

        assert as_nobody(back_up) == "1 [] []"
    finally:
        shutil.rmtree(target)


def test_a_file_in_use_is_read_with_its_log(folder: Path) -> None:
    path = folder / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        folder.chmod(0o555)
        assert as_nobody(lambda: look(path)) == "1 [] []"


def test_a_log_that_cannot_be_read_is_named(folder: Path) -> None:
    """A copy of a file in use, with its log and without the index: the newest commits are in the log."""
    with rc.Store(folder / "app.db", clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        for end in ("", "-wal"):
            shutil.copy(folder / f"app.db{end}", folder / f"copy.db{end}")
    folder.chmod(0o555)
    said = as_nobody(lambda: look(folder / "copy.db"))
    assert said.startswith("StoreError") and "copy.db-wal" in said and "into a writable folder" in said


def test_a_writer_that_comes_later_is_seen(folder: Path) -> None:
    path = folder / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
    folder.chmod(0o555)
    to_reader, from_writer = os.pipe()
    to_writer, from_reader = os.pipe()

    def read_twice() -> str:
        with rc.Store(path, read_only=True, clock=rc.ManualClock(0)) as store:
            seen = [store.counts()["promises"]["pending"]]
            for _ in range(2):
                os.write(from_reader, b"x")
                wait_for(to_reader)
                seen.append(store.counts()["promises"]["pending"])
        return str(seen)

    writer = os.fork()
    if writer == 0:
        try:
            wait_for(to_writer)
            folder.chmod(0o755)
            with rc.Store(path, clock=rc.ManualClock(0)) as store:  # while the writer has it open there is a log
                store.promises.create("b", FAR)
                os.write(from_writer, b"x")
                wait_for(to_writer)
                store.promises.create("c", FAR)
            os.write(from_writer, b"x")  # and then there is none
        finally:
            os._exit(0)
    assert as_nobody(read_twice) == "[1, 2, 3]"
    os.waitpid(writer, 0)
