"""How a command on a store is made: its own parameters, those that say which store, and the door that they open."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from resonate_core.cli import configuration
from resonate_core.cli.exits import Exit, Failure, ReaderGone
from resonate_core.cli.show import Output
from resonate_core.cli.target import DIALECTS, Access, FileTarget, Target, UrlTarget

__all__ = ["CONFIG", "JSON", "Session", "group", "on_file", "on_store"]

F = TypeVar("F", bound=Callable[..., None])
_WHERE = "Which store"

JSON = Annotated[bool, typer.Option("--json", help="print one JSON document, and errors as JSON too", show_default=False)]
CONFIG = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="TOML file; default: RESONATE_CONFIG, then ./resonate.toml", rich_help_panel=_WHERE
    ),
]
_DB = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="a store's file; default: RESONATE_STORE__PATH, then store.path of the configuration",
        rich_help_panel=_WHERE,
    ),
]
_URL = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="a server's URL; default: RESONATE_URL", rich_help_panel=_WHERE)
]
_TOKEN = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="JWT",
        help="token for the server; default: RESONATE_TOKEN, which other users cannot see",
        rich_help_panel=_WHERE,
    ),
]
_DIALECT = Annotated[str, typer.Option("--dialect", metavar="VERSION", help="2026-04-01 or 2025-01-15", rich_help_panel=_WHERE)]
_MAKE = Annotated[
    bool, typer.Option("--make", help="create the file if it does not exist", rich_help_panel=_WHERE, show_default=False)
]


@dataclass(frozen=True)
class Session:
    """What a command works with: the store it was pointed at, and where its answer goes."""

    target: Target
    out: Output


@dataclass(frozen=True)
class Where:
    """What the flags said of the store."""

    db: Path | None
    url: str | None
    token: str | None
    config: Path | None
    dialect: str


def _file(where: Where) -> tuple[Path | None, dict[str, Any]]:
    """The file that is meant, and the options of its store; flags, then environment, then configuration."""
    file = configuration.config_file(where.config)
    if file is None and not configuration.has_environment("store"):
        return where.db, {}  # the usual case: nothing to read, and nothing to import for it
    settings = configuration.load(file, {} if where.db is None else {"store": {"path": where.db}}).store
    return settings.path, settings.options()


def open_file(where: Where, access: Access) -> FileTarget:
    """The file, for what only a file can do.

    Raises:
        Failure: None is named (USAGE), or it cannot be opened (UNREACHABLE).
    """
    path, options = _file(where)
    if path is None:
        raise Failure("which file? give --db FILE, or set RESONATE_STORE__PATH", Exit.USAGE)
    if "://" in str(where.db or ""):
        raise Failure(f"--db: {str(where.db)!r} is no file; a server is given with --url", Exit.USAGE)
    return FileTarget(path, access, where.dialect, **options)


def open_target(where: Where, access: Access) -> Target:
    """The store that flags, environment and configuration mean; a flag beats them all, and two that say different things are refused.

    Raises:
        Failure: None is named, or both a file and a server (USAGE), or it cannot be opened (UNREACHABLE).
    """
    if where.dialect not in DIALECTS:
        raise Failure(f"--dialect: {where.dialect!r} is not one of {', '.join(DIALECTS)}", Exit.USAGE)
    if where.db is not None and where.url is not None:
        raise Failure("--db and --url exclude each other", Exit.USAGE)
    named = os.environ.get("RESONATE_URL") or None
    if where.db is None and where.url is None and named and os.environ.get("RESONATE_STORE__PATH"):
        raise Failure("RESONATE_URL and RESONATE_STORE__PATH are both set: say which with --url or --db", Exit.USAGE)
    url = where.url if where.url is not None else named if where.db is None else None
    if url is not None:
        return UrlTarget(url, where.dialect, where.token or os.environ.get("RESONATE_TOKEN") or None)
    if where.token is not None:
        raise Failure("--token is for a server: give --url too", Exit.USAGE)
    if where.db is None and _file(where)[0] is None:
        raise Failure("which store? give --db FILE or --url URL, or set RESONATE_STORE__PATH or RESONATE_URL", Exit.USAGE)
    return open_file(where, access)


def _own(function: Callable[..., None]) -> list[inspect.Parameter]:
    """The parameters of a command, its session aside, with their annotations resolved."""
    # Not get_type_hints: in Python 3.10 it hides what is Annotated where the default is None.
    found = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    return [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in found]


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def dressed(function: Callable[..., None], parameters: list[inspect.Parameter], run: Callable[..., None]) -> Callable[..., None]:
    """`run`, with the name and text of a command and a signature that typer reads."""

    def command(**given: Any) -> None:
        try:
            run(**given)
        except BrokenPipeError as error:
            raise ReaderGone from error

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _register(
    app: typer.Typer,
    name: str,
    access: Access,
    opened: Callable[[Where, Access], Target],
    common: list[inspect.Parameter],
    **look: Any,
) -> Callable[[F], F]:
    if access is Access.MAKE:
        common = [*common, _parameter("make", _MAKE, False)]
    common = [*common, _parameter("config", CONFIG), _parameter("json", JSON, False)]

    def decorate(function: F) -> F:
        def run(**given: Any) -> None:
            where = Where(
                given.pop("db"),
                given.pop("url", None),
                given.pop("token", None),
                given.pop("config"),
                given.pop("dialect", DIALECTS[0]),
            )
            out = Output(given.pop("json"))
            made = access if access is not Access.MAKE or given.pop("make") else Access.WRITE
            with opened(where, made) as target:
                function(Session(target, out), **given)

        app.command(name, **look)(dressed(function, [*_own(function), *common], run))
        return function

    return decorate


def on_store(app: typer.Typer, name: str, access: Access, *, dialects: Sequence[str] = DIALECTS, **look: Any) -> Callable[[F], F]:
    """Makes a function the command `name`, on a file or a server. Its first parameter is a `Session`.

    Args:
        app: What the command is added to.
        name: Its name.
        access: The access to the file.
        dialects: In which it can be asked for; a single one is not asked about.
        look: Of `typer.Typer.command`.
    """
    where = [_parameter("db", _DB), _parameter("url", _URL), _parameter("token", _TOKEN)]
    choice = [_parameter("dialect", _DIALECT, DIALECTS[0])] if len(dialects) > 1 else []
    return _register(app, name, access, open_target, [*where, *choice], **look)


def on_file(app: typer.Typer, name: str, access: Access, **look: Any) -> Callable[[F], F]:
    """Makes a function the command `name`, on a file only."""
    return _register(app, name, access, open_file, [_parameter("db", _DB)], **look)


def group(text: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(help=text, no_args_is_help=True, pretty_exceptions_enable=False)
