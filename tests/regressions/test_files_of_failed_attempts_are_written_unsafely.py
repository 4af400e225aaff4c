"""The file beside a store that holds failed attempts was written through a symbolic link, and had the umask's mode before the store's.

What a crashed process left stayed for ever, an impossible process id raised, and a forked child passed its parent's failures for its own.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from resonate_core.base.failed_attempts import FailedAttempt, FailedAttempts


def failed_once(id: str) -> FailedAttempt:
    return FailedAttempt(id, "t", "f", "w", 1, "ValueError: no", 5)


@pytest.fixture
def beside(tmp_path: Path) -> str:
    place = tmp_path / "app.db"
    place.touch()
    place.chmod(0o600)
    return str(place)


def test_a_link_at_the_name_of_its_file_is_not_followed(beside: str, tmp_path: Path):
    mine = tmp_path / "precious"
    mine.write_text("mine")
    noted = FailedAttempts(beside)
    for name in (f"{beside}-attempts.{os.getpid()}.new", f"{beside}-attempts.{os.getpid()}"):
        Path(name).symlink_to(mine)
    noted.note(failed_once("p"))
    assert mine.read_text() == "mine"
    written = Path(f"{beside}-attempts.{os.getpid()}")
    assert not written.is_symlink() and '"p"' in written.read_text()
    assert [path.name for path in tmp_path.glob("*.new")] == []


def test_its_file_is_never_readable_by_more_than_the_store(beside: str):
    seen: list[int] = []

    def watched(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("os.chmod", "os.rename"):
            seen.extend(stat.S_IMODE(path.stat().st_mode) for path in Path(beside).parent.iterdir())

    watching = True
    sys.addaudithook(watched)
    before = os.umask(0)
    try:
        FailedAttempts(beside).note(failed_once("p"))
    finally:
        os.umask(before)
        watching = False
    assert set(seen) == {0o600}


def test_files_that_crashed_processes_left_are_removed(beside: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for left in (f"{ended.pid}", f"{ended.pid}.new", "9" * 20, "9" * 20 + ".new"):
        Path(f"{beside}-attempts.{left}").write_text("[]")
    for foreign in ("²", "notes", "0"):
        Path(f"{beside}-attempts.{foreign}").write_text("[]")
    noted = FailedAttempts(beside)
    assert noted.of_all() == []
    noted.note(failed_once("p"))
    assert [failed.id for failed in noted.of_all()] == ["p"]
    left_over = {path.name.partition("attempts.")[2] for path in tmp_path.glob("*attempts*")}
    assert left_over == {"0", "notes", "²", str(os.getpid())}
    assert not caplog.records


FORKED = """
import os, sys
from resonate_core import Store
from resonate_core.base.failed_attempts import FailedAttempt, failed_attempts
from resonate_core.base.standstills import Standstill, note, standstills_of

def failed(id):
    return FailedAttempt(id, "t", "f", "w", 1, "ValueError: no", 5)

store = Store(sys.argv[1])
failed_attempts(store).note(failed("of the parent"))
note(store, "w", Standstill("w", ("default",), 0, ()))
if os.fork() == 0:
    print(failed_attempts(store).number("of the parent", "w"), len(standstills_of(store)), flush=True)
    failed_attempts(store).note(failed("of the child"))
    print(sorted(one.id for one in failed_attempts(store).of_all()), flush=True)
    os._exit(0)
os.wait()
print(failed_attempts(store).number("of the parent", "w"), len(standstills_of(store)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_no_failures_and_standstills_of_its_parent(tmp_path: Path):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "x.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["0 0", "['of the child', 'of the parent']", "1 1"], done.stderr


def test_a_warning_about_the_files_has_another_logger(beside: str, caplog: pytest.LogCaptureFixture):
    Path(f"{beside}-attempts.{os.getpid()}").mkdir()
    FailedAttempts(beside).note(failed_once("p"))
    (warning,) = caplog.records
    assert warning.name == "resonate_core.failed_attempts" and "other processes do not see" in warning.getMessage()
