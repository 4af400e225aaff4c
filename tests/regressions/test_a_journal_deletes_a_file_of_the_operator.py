"""A hot journal beside a file named a super-journal, and opening the store deleted any file of that name.

SQLite plays the journal back and deletes the super-journal, whose name is in the journal. A store has none, so such a journal is refused
before SQLite sees it. The brother: files beside a store that are hard links of other files, which SQLite shortens and overwrites.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from pathlib import Path

import pytest

import resonate_core as rc
from command_line import run_command

MAGIC = bytes.fromhex("d9d505f920a163d7")
FAR = 10**15
TEXT = b"important\n" * 24_000


def make(path: Path, mode: str) -> None:
    with rc.Store(path) as store:
        store.promises.create("a", FAR)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA journal_mode = {mode}")


def journal_of(path: Path, named: Path) -> bytes:
    """A hot journal without pages, which names the other file."""
    size = struct.unpack(">H", path.read_bytes()[16:18])[0]
    head = MAGIC + struct.pack(">IIIII", 0, 12345, path.stat().st_size // size, 512, size)
    name = os.fsencode(named)
    return (
        head.ljust(512, b"\0") + struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    )


def commands(path: Path) -> list[list[str]]:
    at = ["--db", str(path)]
    others = [["promises", "get", "a", *at], ["promises", "create", "b", *at], ["migrate", *at], ["migrate", "--dry-run", *at]]
    return [["check", str(path)], ["backup", str(path), f"{path}.copy"], *others]


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_journal_that_names_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    path, victim = tmp_path / "app.db", tmp_path / "victim.txt"
    make(path, mode)
    victim.write_bytes(TEXT)
    journal = tmp_path / "app.db-journal"
    journal.write_bytes(journal_of(path, victim))
    for opens in (
        lambda: rc.Store(path),
        lambda: rc.Store(path, read_only=True),
        lambda: rc.Store(path, durability="normal"),
    ):
        with pytest.raises(rc.StoreError, match=r'app\.db-journal" names another file, a super-journal'):
            opens()
    (finding,) = rc.check_file(path)
    assert finding.startswith("journal: ") and "super-journal" in finding
    for args in commands(path):
        done = run_command(capsys, *args)
        assert done.code != 0 and "super-journal" in done.out + done.err
    assert victim.read_bytes() == TEXT and journal.exists()


@pytest.mark.parametrize(
    "content", [b"", MAGIC, b"\0" * 504 + MAGIC, MAGIC + b"\0" * 504], ids=["empty", "short", "ended", "plain"]
)
def test_other_journals_are_left_to_sqlite(tmp_path: Path, content: bytes) -> None:
    """As after a crash while the file was made."""
    path = tmp_path / "app.db"
    make(path, "delete")
    (tmp_path / "app.db-journal").write_bytes(content)
    with rc.Store(path) as store:
        assert store.promises.get("a").state == "pending"


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal"])
def test_files_beside_a_store_have_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], beside: str) -> None:
    path, victim = tmp_path / "app.db", tmp_path / "victim.txt"
    make(path, "wal")
    victim.write_bytes(TEXT)
    os.link(victim, f"{path}{beside}")
    for opens in (lambda: rc.Store(path), lambda: rc.Store(path, read_only=True)):
        with pytest.raises(rc.StoreError, match=rf'app\.db{beside}" beside it must have one name, got 2'):
            opens()
    assert any(finding.startswith("names: ") and beside in finding for finding in rc.check_file(path))
    for args in commands(path):
        done = run_command(capsys, *args)
        assert done.code != 0 and "must have one name" in done.out + done.err
    assert victim.read_bytes() == TEXT


def test_a_store_that_is_open_goes_on(tmp_path: Path) -> None:
    """A copy by hard links is no reason to stop a store that runs; its next opening is refused."""
    path = tmp_path / "app.db"
    with rc.Store(path) as store:
        store.promises.create("a", FAR)
        os.link(tmp_path / "app.db-wal", tmp_path / "copied")
        store.promises.create("b", FAR)
        assert len(store.promises.search()) == 2
        with pytest.raises(rc.StoreError, match="must have one name"):
            rc.Store(path)
