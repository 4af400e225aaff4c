"""The place of a store, as a command line names it: the path of a file, or the URL of a database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import resonate_core as rc
from resonate_core._core import path_of_file, place_of_store
from resonate_core.cli.exits import CommandFailed, Exit

__all__ = ["Place", "file_of", "place_of", "refuse_missing"]

Place = Path | str
#: How the URLs of databases begin.
_DATABASES = ("postgresql://", "postgres://")


def place_of(text: str, name: str) -> Place:
    """Return the path of a file, or the URL of a database as it is.

    Args:
        text: The place as it was given.
        name: The name of the argument, for the error.

    Raises:
        CommandFailed: It is the address of something else, or one of a store in another form, which the error names (USAGE).

    Example:
        >>> from resonate_core.cli.places import place_of
        >>> place_of("app.db", "FROM").name, place_of("postgresql://db.internal/app", "TO")
        ('app.db', 'postgresql://db.internal/app')
    """
    place = _read(place_of_store, text, name)
    return place if place.startswith(_DATABASES) else _path(place, name)


def file_of(text: str, name: str) -> Path:
    """Return the file that a text names.

    Args:
        text: The text that was given.
        name: The name of the argument, for the error.

    Raises:
        CommandFailed: It is the address of a database or of something else (USAGE).

    Example:
        >>> from resonate_core.cli.places import file_of
        >>> file_of("sqlite:///app.db", "TARGET").name
        'app.db'
    """
    return _path(_read(path_of_file, text, name), name)


def _read(reads: Callable[[str, str], str], text: str, name: str) -> str:
    try:
        return reads(text, name)
    except rc.ResonateError as error:
        raise CommandFailed(str(error), Exit.USAGE) from error


def _path(place: str, name: str) -> Path:
    path = Path(place)
    try:
        place_of_store(str(path), name)
    except rc.ResonateError:  # a Path has no ./, which says that this is one
        return path.absolute()
    return path


def refuse_missing(place: Path) -> NoReturn:
    """Say that there is no such file.

    Args:
        place: A path at which nothing is.

    Raises:
        CommandFailed: Always (UNREACHABLE).

    Example:
        >>> from pathlib import Path
        >>> from resonate_core.cli.places import refuse_missing
        >>> refuse_missing(Path("absent.db"))
        Traceback (most recent call last):
        resonate_core.cli.exits.CommandFailed: there is no file 'absent.db'
    """
    raise CommandFailed(f"there is no file {str(place)!r}", Exit.UNREACHABLE)
