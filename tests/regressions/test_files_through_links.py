"""SQLite follows a symbolic link, and keeps the log and its index beside the file; the store looked for them beside the link.

Through a link, a reader in a folder that it cannot write saw an old state, `check_file` saw no damage in the log, and an idle server read
the file 20 times a second.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core._core import schema_versions

FAR = 10**12


def target(folder: Path) -> Path:
    (folder / "data").mkdir()
    return folder / "data" / "app.db"


def absolute(folder: Path) -> Path:
    (folder / "link.db").symlink_to(folder / "data" / "app.db")
    return folder / "link.db"


def relative(folder: Path) -> Path:
    (folder / "links").mkdir()
    (folder / "links" / "link.db").symlink_to("../data/app.db")
    return folder / "links" / "link.db"


def chain(folder: Path) -> Path:
    (folder / "links").mkdir()
    (folder / "second.db").symlink_to("data/app.db")
    (folder / "links" / "first.db").symlink_to("../second.db")
    return folder / "links" / "first.db"


def of_the_folder(folder: Path) -> Path:
    (folder / "shortcut").symlink_to("data")
    return folder / "shortcut" / "app.db"


def of_both(folder: Path) -> Path:
    (folder / "elsewhere" / "deep").mkdir(parents=True)
    (folder / "elsewhere" / "deep" / "link.db").symlink_to("../../data/app.db")
    (folder / "shortcut").symlink_to("elsewhere/deep")
    return folder / "shortcut" / "link.db"


LINKS = [absolute, relative, chain, of_the_folder, of_both]


@pytest.mark.parametrize("link", LINKS)
def test_the_store_is_that_of_the_file(link: object, tmp_path: Path) -> None:
    file, name = target(tmp_path), link(tmp_path)  # type: ignore[operator]
    with rc.Store(name, clock=rc.ManualClock(0)) as store:  # it makes the file
        store.promises.create("a", FAR)
        assert store.path == str(file)
        with rc.Store(file, clock=rc.ManualClock(0)) as other:
            other.promises.resolve("a")
        assert store.promises.get("a").state == "resolved"
        assert rc.Store(name, read_only=True, clock=rc.ManualClock(0)).promises.get("a").state == "resolved"
    assert sorted(one.name for one in file.parent.iterdir()) == ["app.db"]
    assert rc.check_file(name) == []
    assert schema_versions(str(name))[0] == str(file)


@pytest.mark.parametrize("link", LINKS)
def test_damage_in_the_log_is_seen(link: object, tmp_path: Path) -> None:
    file, name = target(tmp_path), link(tmp_path)  # type: ignore[operator]
    program = "import os, sys, resonate_core as rc\ns = rc.Store(sys.argv[1])\nfor n in range(9): s.promises.create(str(n), 10**15)\nos._exit(0)"
    subprocess.run([sys.executable, "-c", program, str(name)], check=True)  # it leaves its log
    log = bytearray(file.with_name("app.db-wal").read_bytes())
    log[len(log) // 2] ^= 1
    file.with_name("app.db-wal").write_bytes(log)
    assert [line[:4] for line in rc.check_file(file)][:1] == ["log:"]
    assert [line[:4] for line in rc.check_file(name)][:1] == ["log:"]


@pytest.mark.parametrize("link", LINKS)
def test_a_reader_without_a_writable_folder_sees_the_log(link: object, tmp_path: Path) -> None:
    file, name = target(tmp_path), link(tmp_path)  # type: ignore[operator]
    rc.Store(file, clock=rc.ManualClock(0)).close()
    folders = [tmp_path, *(one for one in tmp_path.rglob("*") if one.is_dir() and not one.is_symlink() and one != file.parent)]
    program = (
        "import os, sys, resonate_core as rc\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "with rc.Store(sys.argv[1], read_only=True) as store:\n"
        "    print(len(list(store.promises.search('*'))), flush=True); input()\n"
        "    print(len(list(store.promises.search('*'))), flush=True)\n"
    )
    for folder in (tmp_path, *tmp_path.parents):
        if os.getuid() == 0 and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o011)
    file.parent.chmod(0o777)
    file.chmod(0o666)
    for folder in folders:
        folder.chmod(0o555)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", program, str(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as reader:
            assert reader.stdout is not None and reader.stdin is not None
            try:
                assert reader.stdout.readline() == "0\n"
                with rc.Store(file, clock=rc.ManualClock(0)) as store:
                    store.promises.create("a", FAR)
                    reader.stdin.write("\n")
                    reader.stdin.flush()
                    assert reader.stdout.readline() == "1\n"
            finally:
                reader.kill()
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("link", LINKS)
def test_an_idle_server_sees_when_the_log_changes(link: object, tmp_path: Path) -> None:
    """Without a log beside the path that it knows, a server reads the file again and again."""
    target(tmp_path)
    with rc.Store(link(tmp_path)) as store:  # type: ignore[operator]
        store.promises.create("a", FAR)
        assert Path(f"{store.path}-wal").stat().st_size > 0


def test_a_link_that_is_changed_later(tmp_path: Path) -> None:
    """A store keeps its file: after a fork, too, it opens that one."""
    (tmp_path / "link.db").symlink_to("one.db")
    with rc.Store(tmp_path / "link.db", clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        (tmp_path / "link.db").unlink()
        (tmp_path / "link.db").symlink_to("two.db")
        child = os.fork()
        if child == 0:
            os._exit(0 if store.promises.get("a").state == "pending" else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.promises.get("a").state == "pending"
    assert not (tmp_path / "two.db").exists()


def test_links_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "a.db").symlink_to("b.db")
    (tmp_path / "b.db").symlink_to("a.db")
    with pytest.raises(rc.StoreError, match=r"cannot open: (its symbolic links have no end|Too many levels of symbolic links)"):
        rc.Store(tmp_path / "a.db")


@pytest.mark.parametrize("exists", [False, True])
def test_a_backup_replaces_no_link(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "link.db").symlink_to("copy.db")
    if exists:
        (tmp_path / "copy.db").write_bytes(b"mine")
    for store in (rc.Store(tmp_path / "app.db"), rc.Store()):
        with store, pytest.raises(rc.StoreError, match="the target must not exist"):
            store.backup(tmp_path / "link.db")
    assert (tmp_path / "link.db").is_symlink() and (tmp_path / "copy.db").exists() == exists


def test_a_backup_into_a_folder_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    with rc.Store(tmp_path / "app.db") as store:
        store.backup(tmp_path / "folder" / "copy.db")
    assert rc.check_file(tmp_path / "real" / "copy.db") == []
