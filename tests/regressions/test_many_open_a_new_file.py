"""Processes that opened one new file at the same time got "which is in use in this file", "which no release has written" or "is busy".

The version and the names of the tables were read one after the other, while another process made the store.
"""

from __future__ import annotations

import threading
from pathlib import Path

import resonate_core as rc

ROUNDS, OPENERS = 60, 6


def test_all_who_open_a_new_file_at_once_get_the_store(tmp_path: Path) -> None:
    failed: list[Exception] = []
    for number in range(ROUNDS):
        path, together = tmp_path / f"{number}.db", threading.Barrier(OPENERS)

        def open_it(path: Path = path, together: threading.Barrier = together) -> None:
            together.wait()
            try:
                with rc.Store(path, durability="normal") as store:
                    store.promises.create(f"of-{threading.get_ident()}", timeout=60_000)
            except Exception as error:
                failed.append(error)

        openers = [threading.Thread(target=open_it) for _ in range(OPENERS)]
        for opener in openers:
            opener.start()
        for opener in openers:
            opener.join()
        with rc.Store(path) as store:
            assert len(store.promises.search("of-*")) == OPENERS - len(failed) and store.check() == []
    assert failed == []
