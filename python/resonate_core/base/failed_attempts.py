"""The failed attempts of programs of the SDK on a store in process: `why`, `tree` and the dashboard show them.

The SDK tries a failed function again in the worker that runs it, so no store has these failures: a worker notes them here, by store.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import stat
from collections.abc import Callable, Container, Mapping
from dataclasses import asdict, dataclass
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .instants import when
from .log_lines import escape_lines
from .per_process import PerProcess

if TYPE_CHECKING:
    from .._core import Store

_log = logging.getLogger("resonate_core.failed_attempts")
escape_lines(_log.name)

__all__ = ["FailedAttempt", "FailedAttempts", "failed_attempts"]

#: The end of the name of a process's file.
_NAME = re.compile(r"-attempts\.([1-9][0-9]*)(?:\.new)?\Z")


@dataclass(frozen=True)
class FailedAttempt:
    """The last failed attempt of a function that is tried again.

    Attributes:
        id: The id of its promise.
        task: The id of the task in which it runs.
        func: The name of the function.
        worker: The name under which the worker holds the task.
        number: How many attempts have failed.
        error: The type and the message of its exception.
        next_at: When the next attempt begins, in Unix ms.
    """

    id: str
    task: str
    func: str
    worker: str
    number: int
    error: str
    next_at: int

    def told(self, now: int, error: str) -> str:
        """Return the failure and the next attempt, as a part of a sentence.

        Args:
            now: The present instant, in Unix ms.
            error: Its error as it may be shown.

        Example:
            >>> from resonate_core.base.failed_attempts import FailedAttempt
            >>> failed = FailedAttempt("order:1", "order", "charge", "w", 2, "NameError: name 'x' is not defined", 4000)
            >>> failed.told(0, failed.error)
            "attempt 2 of charge failed with NameError: name 'x' is not defined; the next one begins at 1970-01-01T00:00:04.000Z (in 4s)"
        """
        verb = "begins" if self.next_at >= now else "began"
        return f"attempt {self.number} of {self.func} failed with {error}; the next one {verb} at {when(self.next_at, now)}"


class FailedAttempts:
    """Those of one store. A worker's loop notes them, and other threads read them.

    Those of a store in a file are kept beside it, in a file for each process, so that other processes of the machine show them. Nothing
    depends on these files: a process that ends leaves at most a stale one.

    Args:
        beside: The path of the store's file; None: only this process knows them.
    """

    def __init__(self, beside: str | None = None) -> None:
        self._made: PerProcess[dict[str, FailedAttempt]] = PerProcess(dict)
        self._beside = None if beside is None else os.path.realpath(beside)

    @property
    def _by_id(self) -> Mapping[str, FailedAttempt]:
        """Those of this process, by promise: a forked child has none of its parent's."""
        return self._made.made or {}

    def note(self, failed: FailedAttempt) -> None:
        """Note a failed attempt, in place of an earlier one of this promise."""
        self._made.get()[failed.id] = failed
        self._save()

    def number(self, id: str, worker: str) -> int:
        """Return how many attempts of a function have failed in a worker."""
        known = self._by_id.get(id)
        return known.number if known is not None and known.worker == worker else 0

    def forget(self, id: str) -> None:
        """Forget those of a promise that is settled."""
        if self._made.get().pop(id, None) is not None:
            self._save()

    def forget_held(self, worker: str, task: str | None = None) -> None:
        """Forget those of a task that a worker does not hold any more, or of all its tasks."""
        for failed in list(self._by_id.values()):
            if failed.worker == worker and task in (None, failed.task):
                self.forget(failed.id)

    def of_all(self) -> list[FailedAttempt]:
        """Return all of them: of this process and, of a store in a file, of others."""
        return [*self._by_id.values(), *(failed for process in self._others() for failed in self._read(process))]

    def _file(self, process: int) -> Path:
        return Path(f"{self._beside}-attempts.{process}")

    def _save(self) -> None:
        """Write those of this process beside the store's file. Without that only this process shows them."""
        if self._beside is None:
            return
        file = self._file(os.getpid())
        try:
            for process, left in self._files():
                if process != os.getpid() and not _runs(process):
                    with contextlib.suppress(PermissionError):  # of another user, whose next process removes it
                        left.unlink(missing_ok=True)
            if not self._by_id:
                file.unlink(missing_ok=True)
                return
            new = Path(f"{file}.new")
            new.unlink(missing_ok=True)  # of a process that crashed, or a link that another user has put here
            with open(new, "x", encoding="utf-8", opener=_open_private) as writing:
                os.fchmod(writing.fileno(), stat.S_IMODE(os.stat(self._beside).st_mode))  # who may read the store may read these
                json.dump([asdict(failed) for failed in self._by_id.values()], writing)
            new.replace(file)
        except OSError as error:
            _log.warning("other processes do not see the failed attempts of this one: %s", error)

    def _files(self) -> list[tuple[int, Path]]:
        """Return the files of all processes, each with its process; also those that a process has not finished writing."""
        found = glob(f"{escape(self._beside)}-attempts.*") if self._beside is not None else []
        named = ((_NAME.search(path), Path(path)) for path in found)
        return [(int(name[1]), path) for name, path in named if name is not None]

    def _others(self) -> list[int]:
        """The other processes that keep a file."""
        return [process for process, path in self._files() if process != os.getpid() and path.suffix != ".new"]

    def _read(self, process: int) -> list[FailedAttempt]:
        try:
            return [FailedAttempt(**one) for one in json.loads(self._file(process).read_text(encoding="utf-8"))]
        except FileNotFoundError:  # it has none any more
            return []
        except (OSError, TypeError, ValueError) as error:
            _log.warning("the failed attempts of process %d cannot be read: %s", process, error)
            return []

    def held(self, find: Callable[[str], Mapping[str, Any] | None], *, ids: Container[str] | None = None) -> list[FailedAttempt]:
        """Return those of tasks that their worker still holds: a worker that was killed has forgotten nothing.

        Args:
            find: Returns the record of a task.
            ids: Of these promises and tasks only.
        """
        chosen = [failed for failed in self.of_all() if ids is None or failed.id in ids or failed.task in ids]
        tasks = {task: find(task) or {} for task in dict.fromkeys(failed.task for failed in chosen)}
        return [failed for failed in chosen if tasks[failed.task].get("pid") == failed.worker]


def _open_private(path: str, flags: int) -> int:
    """Open a file that only its owner may use, until its mode is set."""
    return os.open(path, flags, 0o600)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # no process has a number that large
        return False
    except PermissionError:  # of another user
        return True
    return True


_of_stores: WeakKeyDictionary[Store, FailedAttempts] = WeakKeyDictionary()
_of_places: dict[str, FailedAttempts] = {}


def failed_attempts(store: Store) -> FailedAttempts:
    """Return the failed attempts of a store; those of a file or a database are the same for each `Store` that has opened it.

    Example:
        >>> from resonate_core.base.failed_attempts import failed_attempts
        >>> store = rc.Store()
        >>> failed_attempts(store) is failed_attempts(store)
        True
    """
    simulated: Store | None = getattr(store, "of_simulation", None)
    if simulated is not None:
        return _of_stores.setdefault(simulated, FailedAttempts())
    path, url = (None, None) if store in _of_stores else (store.path, store.url)
    if path is None and url is None:
        return _of_stores.setdefault(store, FailedAttempts())
    place = str(path or url)
    if place not in _of_places:
        _of_places.setdefault(place, FailedAttempts(path))
    return _of_places[place]
