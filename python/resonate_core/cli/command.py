"""Commands on a store: the options that name the store, its target, and searches and waits that several commands share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Annotated, Any, TypeVar

import typer

from resonate_core.cli import configuration
from resonate_core.cli.commands import Commands
from resonate_core.cli.exits import CommandFailed, Exit, OutputClosed
from resonate_core.cli.places import Place, place_of
from resonate_core.cli.show import Output, length
from resonate_core.cli.target import DIALECTS, Access, FileTarget, Target, UrlTarget
from resonate_core.cli.values import duration, now, one_of

__all__ = ["CONFIG", "DB", "JSON", "Session", "group", "on_file", "on_store", "place_with_options"]

F = TypeVar("F", bound=Callable[..., None])
_WHERE = "Which store"
#: The first pause between two polls of a promise (ms), and the longest; each is twice as long as the one before.
_FIRST_POLL, _LONGEST_POLL = 20, 1000

JSON = Annotated[bool, typer.Option("--json", help="print one JSON document, and errors as JSON too", show_default=False)]
CONFIG = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="TOML file; default: RESONATE_CONFIG, then ./resonate.toml", rich_help_panel=_WHERE
    ),
]
DB = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="a store's file, or a URL postgresql://; default: RESONATE_STORE__PATH, then store.path of the configuration",
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
    """The store of a command, and its output."""

    target: Target
    out: Output

    def search(
        self,
        kind: str,
        member: str,
        filters: dict[str, Any],
        limit: int | None,
        cursor: str | None,
        every: bool,
        show: Callable[[Output, dict[str, Any]], None] = Output.answer,
    ) -> None:
        """Show one page of a search, or all pages.

        With `every`, the limit is that of a page, and `--json` prints one document.
        """
        data = {name: value for name, value in filters.items() if value not in (None, {})}
        data |= {name: value for name, value in (("limit", limit), ("cursor", cursor)) if value is not None}
        if not every:
            show(self.out, self.target.send(kind, data))
            return
        if cursor is not None:
            raise CommandFailed("--all and --cursor exclude each other", Exit.USAGE)
        data.setdefault("limit", 1000)
        show(self.out, {member: list(self.target.pages(kind, member, data))})

    def wait_for(self, id: str, limit: str | None) -> None:
        """Poll a promise, ever less often, and show it once it is settled.

        Args:
            id: The promise.
            limit: A length of time as on the command line; None: until its deadline.

        Raises:
            CommandFailed: It is not resolved, or was not settled in time (FAILED).
        """
        timeout = None if limit is None else duration(limit, "--limit")
        began, pause = now(), _FIRST_POLL
        while (data := self.target.send("promise.get", {"id": id}))["promise"]["state"] == "pending":
            waited = now() - began
            if timeout is not None and waited >= timeout:
                raise CommandFailed(f"promise {id!r} is still pending after {length(waited)}", Exit.FAILED)
            sleep((pause if timeout is None else min(pause, timeout - waited)) / 1000)
            pause = min(pause * 2, _LONGEST_POLL)
        self.out.answer(data)
        state = data["promise"]["state"]
        if state != "resolved":
            raise CommandFailed(f"promise {id!r} is {state}", Exit.FAILED)


@dataclass(frozen=True)
class StoreFlags:
    """The flags that name the store."""

    db: str | None
    url: str | None
    token: str | None
    config: Path | None
    dialect: str


def _named(db: str | None, config: Path | None) -> tuple[str | None, dict[str, Any]]:
    """Return the file or database and the options of its store: from flags, then the environment, then the configuration."""
    file = configuration.config_file(config)
    if file is None and not configuration.has_environment("store"):
        return db, {}  # the usual case: nothing to read, and nothing to import for it
    settings = configuration.load(file, {} if db is None else {"store": {"path": db}}).store
    return settings.path, settings.options()


def place_with_options(db: str | None, config: Path | None, name: str = "--db") -> tuple[Place, dict[str, Any]]:
    """Return the file or database that a command uses, and the options of its store.

    Args:
        db: The place as it was given; None: that of the environment or the configuration.
        config: The value of --config.
        name: The name of the argument, for the error.

    Raises:
        CommandFailed: None is named, or it is the URL of something else (USAGE).
    """
    place, options = _named(db, config)
    if place is None:
        raise CommandFailed("which file? give --db FILE, or set RESONATE_STORE__PATH", Exit.USAGE)
    return place_of(place, name), options


def open_file(flags: StoreFlags, access: Access) -> FileTarget:
    """Open the file or database, for commands that need one.

    Raises:
        CommandFailed: None is named (USAGE), or it cannot be opened (UNREACHABLE).
    """
    place, options = place_with_options(flags.db, flags.config)
    return FileTarget(place, access, flags.dialect, **options)


def open_target(flags: StoreFlags, access: Access) -> Target:
    """Open the store that flags, environment and configuration name. A flag overrides the others; contradictions are refused.

    Raises:
        CommandFailed: None is named, or both a file and a server (USAGE), or it cannot be opened (UNREACHABLE).
    """
    one_of(flags.dialect, "--dialect", DIALECTS)
    if flags.db is not None and flags.url is not None:
        raise CommandFailed("--db and --url exclude each other", Exit.USAGE)
    named = os.environ.get("RESONATE_URL") or None
    if flags.db is None and flags.url is None and named and os.environ.get("RESONATE_STORE__PATH"):
        raise CommandFailed("RESONATE_URL and RESONATE_STORE__PATH are both set: say which with --url or --db", Exit.USAGE)
    url = flags.url if flags.url is not None else named if flags.db is None else None
    if url is not None:
        return UrlTarget(url, flags.dialect, flags.token or os.environ.get("RESONATE_TOKEN") or None)
    if flags.token is not None:
        raise CommandFailed("--token is for a server: give --url too", Exit.USAGE)
    if flags.db is None and _named(None, flags.config)[0] is None:
        raise CommandFailed("which store? give --db FILE or --url URL, or set RESONATE_STORE__PATH or RESONATE_URL", Exit.USAGE)
    return open_file(flags, access)


def _own(function: Callable[..., None]) -> list[inspect.Parameter]:
    """The parameters of a command except its session, with resolved annotations."""
    # Not get_type_hints: in Python 3.10 it hides what is Annotated where the default is None.
    found = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    return [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in found if one.kind is not one.VAR_KEYWORD]


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def with_parameters(
    function: Callable[..., None], parameters: list[inspect.Parameter], run: Callable[..., None]
) -> Callable[..., None]:
    """Return `run` with the name and the text of a command, and a signature for typer."""

    def command(**given: Any) -> None:
        try:
            run(**given)
        except BrokenPipeError as error:
            raise OutputClosed from error

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _register(
    app: typer.Typer,
    name: str,
    access: Access,
    opened: Callable[[StoreFlags, Access], Target],
    common: list[inspect.Parameter],
    **typer_options: Any,
) -> Callable[[F], F]:
    if access is Access.MAKE:
        common = [*common, _parameter("make", _MAKE, False)]
    common = [*common, _parameter("config", CONFIG), _parameter("json", JSON, False)]

    def decorate(function: F) -> F:
        def run(**given: Any) -> None:
            flags = StoreFlags(
                given.pop("db"),
                given.pop("url", None),
                given.pop("token", None),
                given.pop("config"),
                given.pop("dialect", DIALECTS[0]),
            )
            out = Output(given.pop("json"))
            made = access if access is not Access.MAKE or given.pop("make") else Access.WRITE
            with opened(flags, made) as target:
                function(Session(target, out), **given)

        app.command(name, **typer_options)(with_parameters(function, [*_own(function), *common], run))
        return function

    return decorate


def on_store(
    app: typer.Typer,
    name: str,
    access: Access,
    *,
    dialects: Sequence[str] = DIALECTS,
    more: Sequence[inspect.Parameter] = (),
    **typer_options: Any,
) -> Callable[[F], F]:
    """Make a function the command `name`, on a file or a server. Its first parameter is a `Session`.

    Args:
        app: What the command is added to.
        name: Its name.
        access: The access to the file.
        dialects: The versions of the protocol that it supports; with more than one it has the option --dialect.
        more: Further parameters, which the function takes as keywords.
        typer_options: Of `typer.Typer.command`.
    """
    where = [_parameter("db", DB), _parameter("url", _URL), _parameter("token", _TOKEN)]
    choice = [_parameter("dialect", _DIALECT, DIALECTS[0])] if len(dialects) > 1 else []
    return _register(app, name, access, open_target, [*more, *where, *choice], **typer_options)


def on_file(app: typer.Typer, name: str, access: Access, **typer_options: Any) -> Callable[[F], F]:
    """Make a function the command `name`, on a file only."""
    return _register(app, name, access, open_file, [_parameter("db", DB)], **typer_options)


def group(text: str) -> typer.Typer:
    """Make a group of commands."""
    return typer.Typer(cls=Commands, help=text, no_args_is_help=True, pretty_exceptions_enable=False)
