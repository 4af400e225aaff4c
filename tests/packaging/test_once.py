"""One worker makes what several need."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from once import made_once

WORKERS = 4


def test_one_worker_makes_it_and_the_others_wait(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    together = Barrier(WORKERS)
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "whole").touch()

    def work(_: int) -> bool:
        together.wait()
        return (made_once(tmp_path_factory, tmp_path.name, make) / "whole").exists()

    with ThreadPoolExecutor(WORKERS) as workers:
        assert all(workers.map(work, range(WORKERS)))
    assert len(made) == 1


def test_what_could_not_be_made_is_tried_again(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        made_once(tmp_path_factory, tmp_path.name, fail)
    folder = made_once(tmp_path_factory, tmp_path.name, lambda made: (made / "whole").touch())
    assert (folder / "whole").exists()
