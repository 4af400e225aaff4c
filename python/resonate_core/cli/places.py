"""The place of a store, as a command line names it: the path of a file, or the URL of a database."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NoReturn

import resonate_core as rc
from resonate_core.cli.exits import Exit, Failure

__all__ = ["Place", "place_of", "refuse_missing"]

Place = Path | str
#: How the URLs of databases begin.
_DATABASES = ("postgresql://", "postgres://")


def place_of(text: str, name: str) -> Place:
    """Return the path of a file, or the URL of a database as it is.

    Args:
        text: The place as it was given.
        name: The name of the argument, for the error.

    Raises:
        Failure: It is the URL of something else (USAGE).

    Example:
        >>> from resonate_core.cli.places import place_of
        >>> place_of("app.db", "FROM").name, place_of("postgresql://db.internal/app", "TO")
        ('app.db', 'postgresql://db.internal/app')
    """
    scheme, separator, _ = text.partition("://")
    if not separator:
        return Path(text)
    if not text.startswith(_DATABASES):  # the rest of a URL may contain a password
        raise Failure(f"{name} must be a store's file or a URL postgresql://, got a URL {scheme}://", Exit.USAGE)
    return text


def refuse_missing(place: Path) -> NoReturn:
    """Say that there is no such file.

    Args:
        place: A path at which nothing is.

    Raises:
        Failure: Always. Where the path is rather an address in the form of another program, it names the nearest form of ours (USAGE),
            since such a text may contain a password; else that the file is missing (UNREACHABLE).

    Example:
        >>> from pathlib import Path
        >>> from resonate_core.cli.places import refuse_missing
        >>> refuse_missing(Path("absent.db"))
        Traceback (most recent call last):
        resonate_core.cli.exits.Failure: there is no file 'absent.db'
    """
    try:
        with contextlib.suppress(rc.StoreError):
            rc.check_file(place)  # looks at the form first
    except rc.Invalid as error:
        raise Failure(str(error), Exit.USAGE) from error
    raise Failure(f"there is no file {str(place)!r}", Exit.UNREACHABLE)
