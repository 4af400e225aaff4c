"""Says where a socket was opened that nothing has closed.

Python warns of such a socket when its memory is freed, which may be in another test, much later: the warning names neither the test nor
the line that opened it. It is an error in these tests, and the report of the test that fails contains what is printed here.
"""

from __future__ import annotations

import os
import socket
import sys
import weakref
from typing import Any

__all__ = ["watch"]

FRAMES = 25
"""The most callers that are printed."""


class Origin:
    """Where a socket was opened."""

    def __init__(self) -> None:
        self.closed = False
        self.process = os.getpid()
        self.test = os.environ.get("PYTEST_CURRENT_TEST", "no test")
        self.callers: list[tuple[str, int, str]] = []
        frame = sys._getframe(2)
        while frame is not None and len(self.callers) < FRAMES:
            self.callers.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back  # type: ignore[assignment]

    def freed(self) -> None:
        """The socket's memory is freed. The child of a fork has not opened it."""
        if self.closed or self.process != os.getpid():
            return
        callers = "".join(f'  File "{file}", line {line}, in {name}\n' for file, line, name in self.callers)
        print(f"A socket was not closed. It was opened in {self.test} by\n{callers}", file=sys.stderr)


def watch() -> None:
    """Notes from now on where each socket of this process is opened."""
    origins: weakref.WeakKeyDictionary[socket.socket, Origin] = weakref.WeakKeyDictionary()
    make, really_close, detach = socket.socket.__init__, socket.socket._real_close, socket.socket.detach

    def __init__(self: socket.socket, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        origins[self] = origin = Origin()
        weakref.finalize(self, origin.freed).atexit = False

    def _real_close(self: socket.socket, *arguments: Any) -> None:
        _note(self)
        really_close(self, *arguments)

    def _detach(self: socket.socket) -> int:
        _note(self)
        return detach(self)

    def _note(self: socket.socket) -> None:
        if (origin := origins.get(self)) is not None:
            origin.closed = True

    patched: Any = socket.socket
    patched.__init__, patched._real_close, patched.detach = __init__, _real_close, _detach
