"""Files that a person or a setting names: each is read to a limit, and a setting waits for no pipe and no device."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO

__all__ = ["MOST_OF_A_SETTING", "MOST_OF_A_TEXT", "read_setting", "read_text", "refuse_irregular", "text_of"]

#: The most bytes of a file that a setting names: a configuration, a key.
MOST_OF_A_SETTING = 262_144
#: The most bytes of a text that a person gives to a command.
MOST_OF_A_TEXT = 67_108_864


def refuse_irregular(path: str | os.PathLike[str]) -> None:
    """Refuse what is no regular file. To open a pipe may wait for ever, and a device may have no end.

    Args:
        path: That of the file; links are followed.

    Raises:
        OSError: It is none, or cannot be found.

    Example:
        >>> from resonate_core.base.files import refuse_irregular
        >>> refuse_irregular("/dev/null")
        Traceback (most recent call last):
        OSError: [Errno 22] it is not a regular file: '/dev/null'
    """
    _refuse(os.stat(path), path)


def _refuse(found: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


def read_setting(path: str | os.PathLike[str]) -> bytes:
    """Read a file that a setting names.

    Args:
        path: That of the file.

    Raises:
        OSError: It is not a regular file, has more than `MOST_OF_A_SETTING` bytes, or cannot be read.

    Example:
        >>> from resonate_core.base.files import read_setting
        >>> read_setting("/dev/zero")
        Traceback (most recent call last):
        OSError: [Errno 22] it is not a regular file: '/dev/zero'
    """
    refuse_irregular(path)
    with open(path, "rb", opener=_open_at_once) as file:
        _refuse(os.fstat(file.fileno()), path)  # another one may be there by now
        return _bounded(file, MOST_OF_A_SETTING, path)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _bounded(file: IO[bytes], most: int, path: str | os.PathLike[str]) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it must have at most {most} bytes, got more", os.fspath(path))
    return content


def text_of(path: str | os.PathLike[str]) -> str:
    """Read a text that a person gives by the name of a file, which may be a pipe of the shell: `<(…)`.

    Args:
        path: That of the file.

    Raises:
        OSError: It has more than `MOST_OF_A_TEXT` bytes, or cannot be read.
        UnicodeDecodeError: It is not UTF-8.

    Example:
        >>> from resonate_core.base.files import text_of
        >>> text_of("/dev/null")
        ''
    """
    with open(path, "rb") as file:
        return _bounded(file, MOST_OF_A_TEXT, path).decode()


def read_text(stream: IO[str], name: str) -> str:
    """Read a text from an open stream, such as standard input.

    Args:
        stream: It.
        name: Its name, for the error.

    Raises:
        OSError: It has more than `MOST_OF_A_TEXT` bytes, or cannot be read.
        UnicodeDecodeError: It has another encoding.

    Example:
        >>> import io
        >>> from resonate_core.base.files import read_text
        >>> read_text(io.StringIO("[1, 2]"), "standard input")
        '[1, 2]'
    """
    buffer = getattr(stream, "buffer", None)
    if buffer is not None:
        return _bounded(buffer, MOST_OF_A_TEXT, name).decode()
    text = stream.read(MOST_OF_A_TEXT + 1)  # a stream of texts, which a program has put into the place of standard input
    if len(text) > MOST_OF_A_TEXT:
        raise OSError(errno.EFBIG, f"it must have at most {MOST_OF_A_TEXT} bytes, got more", name)
    return text
