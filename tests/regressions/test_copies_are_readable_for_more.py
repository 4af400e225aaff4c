"""A backup, a copy and a recording of a file with the mode 0600 had the mode 0644: every user of the machine read what the operator had
closed to them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core.cli import main


@pytest.fixture(autouse=True)
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _backup(source: Path, target: Path) -> None:
    with rc.Store(source) as store:
        store.backup(target)


def _read_only_backup(source: Path, target: Path) -> None:
    with rc.Store(source, read_only=True) as store:
        store.backup(target)


def _record(source: Path, target: Path) -> None:
    with rc.Store(source) as store, store.record(target):
        store.promises.create("b", 10**15)


def _command(*words: str) -> Callable[[Path, Path], None]:
    def copy(source: Path, target: Path) -> None:
        assert main([word.format(source=source, target=target) for word in words]) == 0

    return copy


WAYS = {
    "backup": _backup,
    "a read-only store": _read_only_backup,
    "recording": _record,
    "the command backup": _command("backup", "{source}", "{target}"),
    "the command copy": _command("copy", "{source}", "{target}"),
}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o660])
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_has_the_rights_of_its_source(tmp_path: Path, way: str, mode: int) -> None:
    source, target = tmp_path / "s.db", tmp_path / "copy"
    with rc.Store(source) as store:
        store.promises.create("a", 10**15)
    source.chmod(mode)
    WAYS[way](source, target)
    assert _mode(target) == mode & 0o755  # less the mask
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("copy")) == ["copy"]


def test_a_recording_keeps_the_file_that_is_there(tmp_path: Path) -> None:
    source, target = tmp_path / "s.db", tmp_path / "trace.jsonl"
    rc.Store(source).close()
    target.write_text("of before\n" * 100)
    target.chmod(0o640)
    _record(source, target)
    assert _mode(target) == 0o640
    assert "of before" not in target.read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to groups that it is not in")
def test_the_group_of_the_source(tmp_path: Path) -> None:
    source, target = tmp_path / "s.db", tmp_path / "copy.db"
    rc.Store(source).close()
    os.chown(source, -1, 12345)
    source.chmod(0o640)
    _backup(source, target)
    assert (_mode(target), target.stat().st_gid) == (0o640, 12345)


def test_of_a_database(postgres_url: str, tmp_path: Path) -> None:
    with rc.Store(postgres_url) as store:
        store.backup(tmp_path / "copy.db")
        with store.record(tmp_path / "trace.jsonl"):
            pass
    assert main(["copy", postgres_url, str(tmp_path / "other.db")]) == 0
    assert {path.name: _mode(path) for path in tmp_path.iterdir()} == {"copy.db": 0o600, "trace.jsonl": 0o600, "other.db": 0o600}
