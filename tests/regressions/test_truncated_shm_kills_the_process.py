"""If the `-shm` file of an open store was truncated, the next call ended the process with SIGBUS.

A truncation that can be seen before a transaction is refused, and the store works again from the next call on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc

PROGRAM = """
import os, sys
import resonate_core as rc

path, action, then = sys.argv[1:4]
store = rc.Store(path)
for n in range(200):
    store.promises.create(f"before.{n}", timeout=10**10, param="x" * 500)
index = path + "-shm"
if action == "remove":
    os.unlink(index)
elif action == "replace":
    os.rename(index, index + ".old")
    open(index, "wb").close()
else:
    os.truncate(index, int(action))
if then != "close":
    try:
        store.promises.create("refused", timeout=10**10) if then == "write" else store.promises.get("before.1")
    except rc.StoreError as error:
        print(error)
    store.promises.create("after", timeout=10**10)
    print(store.promises.count(), store.check())
store.close()
"""


ACTIONS = {
    "0": "was truncated",
    "1000": "was truncated",
    "20000": "was truncated",
    "remove": "was removed",
    "replace": "was replaced",
}
#: A read does not see that the file was only moved away: the next write does.
CASES = [(action, then) for action in ACTIONS for then in ("write", "read", "close") if (action, then) != ("replace", "read")]


@pytest.mark.parametrize(("action", "then"), CASES)
def test_an_index_that_somebody_touched(tmp_path: Path, action: str, then: str) -> None:
    path = tmp_path / "store.db"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), action, then], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    if then != "close":
        error, state = done.stdout.splitlines()
        assert f'store.db-shm" {ACTIONS[action]} while the store had it open' in error
        assert state == "201 []"
    assert rc.check_file(path) == []
    with rc.Store(path) as store:
        assert store.promises.count() == (200 if then == "close" else 201) and store.check() == []
