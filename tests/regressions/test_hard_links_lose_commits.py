"""SQLite keeps the log of a file by its name. Two processes that opened one file by two names (hard links) each had a log of their own, and
lost each other's commits in silence. In one process the second name was "disk I/O error"."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core._core import schema_versions
from resonate_core.asgi import create_app
from resonate_core.worker import Worker

FAR = 10**15
REFUSED = r"a store's file must have one name, got 2 \(hard links\): .* remove the other names; .* `find FOLDER -xdev -samefile "

ELSEWHERE = """
import sys, resonate_core as rc
with rc.Store(sys.argv[1]) as store:
    store.promises.create(sys.argv[2], 10**15)
    print("made", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """One file with two names, in two folders."""
    (tmp_path / "other").mkdir()
    names = tmp_path / "a.db", tmp_path / "other" / "b.db"
    with rc.Store(names[0], clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
    os.link(*names)
    return names


@pytest.mark.parametrize("read_only", [False, True])
def test_neither_name_opens(two: tuple[Path, Path], read_only: bool) -> None:
    for name in two:
        with pytest.raises(rc.StoreError, match=REFUSED):
            rc.Store(name, read_only=read_only)
    two[1].unlink()
    with rc.Store(two[0], read_only=read_only) as store:
        assert store.promises.get("a").state == "pending"


def test_the_file_of_a_symbolic_link(two: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(two[1])
    with pytest.raises(rc.StoreError, match=REFUSED):
        rc.Store(tmp_path / "link.db")
    two[0].unlink()
    with rc.Store(tmp_path / "link.db", clock=rc.ManualClock(0)) as store:
        assert store.path == str(two[1])


def test_a_second_name_of_an_open_file(tmp_path: Path) -> None:
    """The store that has the file continues by its name: also its second connection, and after a fork."""
    with rc.Store(tmp_path / "a.db", clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        os.link(tmp_path / "a.db", tmp_path / "b.db")
        with pytest.raises(rc.StoreError, match=REFUSED):
            rc.Store(tmp_path / "b.db")
        store.promises.create("b", FAR)
        assert len(store.snapshot()["promises"]) == 2 and store.check() == []
        store.backup(tmp_path / "copy.db")
        child = os.fork()
        if child == 0:
            os._exit(0 if store.promises.create("c", FAR).state == "pending" else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.promises.get("c").state == "pending"
    assert rc.check_file(tmp_path / "copy.db") == []


def test_a_second_name_of_a_file_that_another_process_has_open(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "a.db"), "theirs"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "made\n"
        os.link(tmp_path / "a.db", tmp_path / "b.db")
        with pytest.raises(rc.StoreError, match=REFUSED):
            rc.Store(tmp_path / "b.db")
        other.stdin.write("\n")
        other.stdin.flush()
    (tmp_path / "b.db").unlink()
    with rc.Store(tmp_path / "a.db") as store:
        assert store.promises.get("theirs").state == "pending"


def test_so_do_the_other_ways_to_a_store(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    doors: list[Callable[[], object]] = [
        lambda: Worker(two[1]).run_until_idle(),
        lambda: rc.Store(f"sqlite:///{two[1]}"),
    ]
    for door in doors:
        with pytest.raises(rc.StoreError, match=REFUSED):
            door()
    for command in (["promises", "get", "a", "--db", two[1]], ["serve", "--db", two[1], "--port", "0"], ["ui", two[1]]):
        ran = run_command(capsys, *command)
        assert ran.code != 0 and "must have one name" in ran.err, command
    for command in (
        ["copy", two[0], tmp_path / "copy.db"],
        ["migrate", "--db", two[0]],
        ["backup", two[0], tmp_path / "copy.db"],
        ["clock", "reset", two[0]],
    ):
        ran = run_command(capsys, *command)
        assert ran.code != 0 and "must have one name" in ran.err, command
    assert not (tmp_path / "copy.db").exists()
    assert create_app(two[0]) is not None  # it opens the file when it starts


def test_a_check_names_it(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is known about the log of another name, so it is a finding, beside those of the file."""
    (found,) = rc.check_file(two[1])
    assert found.startswith("names: a store's file must have one name, got 2 (hard links)")
    ran = run_command(capsys, "check", two[1])
    assert ran.code == 1 and "names: a store's file must have one name" in ran.out
    assert schema_versions(str(two[1]))[1] is not None  # it reads no more than the version
    two[0].unlink()
    assert rc.check_file(two[1]) == []


def test_a_backup_has_one_name(tmp_path: Path) -> None:
    for number, store in enumerate((rc.Store(tmp_path / "app.db"), rc.Store())):
        with store:
            store.backup(tmp_path / f"copy{number}.db")
        assert (tmp_path / f"copy{number}.db").stat().st_nlink == 1
        rc.Store(tmp_path / f"copy{number}.db").close()
