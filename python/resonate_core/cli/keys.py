"""Keys of a terminal, one by one, while a view is refreshed."""

from __future__ import annotations

import codecs
import os
import select
import sys
from time import sleep
from types import TracebackType
from typing import Any

__all__ = ["Keys", "names_of"]

_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "[H": "home",
    "[F": "end",
    "[5~": "page up",
    "[6~": "page down",
    "[Z": "back tab",
}
_NAMES = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace", "\x03": "q"}
#: How long (s) the rest of a key's sequence may take.
_REST = 0.03


def names_of(text: str) -> list[str]:
    r"""Return the keys that a terminal sent: characters as they are, others by name.

    Example:
        >>> from resonate_core.cli.keys import names_of
        >>> names_of("a\x1b[A\r"), names_of("\x1b"), names_of("\x1bOB")
        (['a', 'up', 'enter'], ['escape'], ['down'])
    """
    found = []
    at = 0
    while at < len(text):
        if text[at] != "\x1b":
            found.append(_NAMES.get(text[at], text[at]))
            at += 1
            continue
        rest = text[at + 1 :].replace("O", "[", 1) if text[at + 1 : at + 2] == "O" else text[at + 1 :]
        known = next((sequence for sequence in _SEQUENCES if rest.startswith(sequence)), None)
        if known is not None:
            found.append(_SEQUENCES[known])
            at += 1 + len(known)
        elif rest.startswith("["):  # one that nothing is bound to
            end = next((place for place, one in enumerate(rest[1:], start=1) if "@" <= one <= "~"), len(rest) - 1)
            at += 2 + end
        else:
            found.append("escape")
            at += 1
    return [key for key in found if len(key) > 1 or key.isprintable()]


class Keys:
    """Standard input without waiting for the end of a line. The terminal is as it was when the context ends, however it ends.

    If standard input is no terminal, there are no keys.
    """

    def __init__(self) -> None:
        self._before: Any = None
        self._fd = -1
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")

    def __enter__(self) -> Keys:
        try:
            import termios
            import tty

            self._fd = sys.stdin.fileno()
            if os.isatty(self._fd):
                self._before = termios.tcgetattr(self._fd)
                tty.setcbreak(self._fd, termios.TCSANOW)
        except (ImportError, OSError, ValueError):  # no terminal, or a system without termios
            self._before = None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._before is not None:
            import termios

            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    @property
    def are_read(self) -> bool:
        """Whether standard input is a terminal whose keys can be read."""
        return self._before is not None

    def wait(self, length: float) -> list[str]:
        """Return the keys that arrive within a time (s), as soon as there are any; none after that."""
        if self._before is None:
            sleep(length)
            return []
        if not select.select([self._fd], [], [], length)[0]:
            return []
        data = os.read(self._fd, 1024)
        if not data:  # the terminal has gone
            raise KeyboardInterrupt
        while data[-3:].rpartition(b"\x1b")[1] and select.select([self._fd], [], [], _REST)[0]:
            more = os.read(self._fd, 1024)
            if not more:
                break
            data += more
        return names_of(self._decoder.decode(data))
