"""A store in a file whose machine loses its power: commits that SQLite had not synced are gone."""

from __future__ import annotations

import shutil
import struct
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..._core import ManualClock, Store

if TYPE_CHECKING:
    from typing import Literal

    from ..choices import Choices

__all__ = ["StoreFile"]

_HEADER, _FRAME_HEADER = 32, 24
#: Where the index of the write-ahead log counts the frames that were copied into the database: after two headers of 48 bytes.
_BACKFILLED = 96


class StoreFile:
    """The file of a simulated store, in a folder of its own.

    A write-ahead log is a row of frames, one a page; the last frame of a commit is marked. With ``durability="normal"`` a commit is not
    synced: a loss of power keeps any number of the last commits, the first ones first. Frames that were copied into the database
    are synced. With ``"full"`` every commit is synced.

    Args:
        clock: Of the store.
        durability: Of the store.
    """

    def __init__(self, clock: ManualClock, durability: Literal["full", "normal"]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="resonate-simulation-"))
        self._clock = clock
        self._durability = durability
        self._number = 0

    @property
    def _path(self) -> Path:
        return self._folder / f"store-{self._number}.db"

    def open(self) -> Store[ManualClock]:
        """Open the store."""
        return Store(self._path, clock=self._clock, check=True, durability=self._durability)

    def cut(self, store: Store[ManualClock], choices: Choices) -> tuple[Store[ManualClock], int]:
        """Lose the power, and open what is left.

        Args:
            store: The open store, which is closed.
            choices: Draws how many of the commits that were not synced are lost.

        Returns:
            The store after the loss, and the number of lost commits.
        """
        before = self._path
        log = Path(f"{before}-wal")
        frames = log.read_bytes() if log.exists() else b""
        ends = _ends_of_commits(frames, _backfilled(Path(f"{before}-shm"))) if self._durability == "normal" else []
        lost = choices.integer(0, len(ends) - 1, "fault:unsynced") if ends else 0
        self._number += 1
        shutil.copyfile(before, self._path)
        if frames:
            Path(f"{self._path}-wal").write_bytes(frames[: ends[len(ends) - 1 - lost]] if ends else frames)
        store.close()
        return self.open(), lost

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _backfilled(index: Path) -> int:
    """The number of frames that are in the database already, and synced."""
    data = index.read_bytes() if index.exists() else b""
    return int.from_bytes(data[_BACKFILLED : _BACKFILLED + 4], sys.byteorder) if len(data) >= _BACKFILLED + 4 else 0


def _ends_of_commits(log: bytes, synced: int) -> list[int]:
    """Where the log may end after a loss of power: behind what was synced, and behind each later commit.

    Args:
        log: The file.
        synced: The number of synced frames.
    """
    if len(log) < _HEADER:
        return []
    size, salts = struct.unpack(">I", log[8:12])[0], log[16:24]
    at, ends = _HEADER, []
    number = 0
    while at + _FRAME_HEADER + size <= len(log) and log[at + 8 : at + 16] == salts:  # older frames follow, with other salts
        if number == synced:
            ends.append(at)
        (pages,) = struct.unpack(">I", log[at + 4 : at + 8])
        at += _FRAME_HEADER + size
        number += 1
        if pages and number > synced:
            ends.append(at)
    return ends
