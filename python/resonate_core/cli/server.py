"""``resonate-core serve`` and ``resonate-core config``: the commands that have a flag for every setting."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from resonate_core.base.extras import how_to_install
from resonate_core.cli.command import CONFIG, JSON, group, with_parameters
from resonate_core.cli.configuration import config_file, described, load
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.show import Output, say

__all__ = ["add_to", "wants_flags"]

#: A flag of earlier releases: the settings refuse it, and say what to do instead.
_ENGINE = Annotated[str | None, typer.Option("--engine", hidden=True)]


def serve(**given: Any) -> None:
    """Serve a store over HTTP until Ctrl-C or SIGTERM.

    A flag beats the environment (RESONATE_STORE__PATH for store.path), which beats the configuration file. Secrets are better given in the
    environment or the file: other users can see the flags of a process.
    """
    from resonate_core.cli.flags import given_by

    file = config_file(given.pop("config"))
    settings = load(file, given_by(given))
    try:
        from resonate_core.server.run import serve as run_server
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("resonate_core"):
            raise
        raise CommandFailed(f"serve needs {error.name}: {how_to_install('server')}", Exit.USAGE) from error
    if settings.store.path is None:
        say("serving from memory: what is in it is gone when this ends; --db FILE keeps it")
    raise typer.Exit(run_server(settings))


def config_show(**given: Any) -> None:
    """Show every setting, its value, and where that comes from. Takes the flags of serve. Secrets are not shown."""
    from resonate_core.cli.flags import given_by

    out = Output(given.pop("json"))
    file = config_file(given.pop("config"))
    tables = given_by(given)
    rows = described(load(file, tables), file, tables)
    if out.as_json:
        values: dict[str, dict[str, Any]] = {}
        for row in rows:
            origin = {"value": row.value, "origin": row.origin} | ({"source": row.source} if row.source else {})
            values.setdefault(row.table, {})[row.key] = origin
        out.json({"file": None if file is None else str(file), "settings": values})
        return
    cells = [[f"{row.table}.{row.key}", _shown(row.value), row.origin, row.source] for row in rows]
    out.table(("setting", "value", "origin", "named"), cells)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {None: "", True: "on", False: "off"}.get(value, str(value)) if value is None or isinstance(value, bool) else str(value)


def wants_flags(arguments: Sequence[str]) -> bool:
    """Return whether the command may need the flags. Importing the settings takes a quarter of a second, which other commands avoid."""
    return bool({"serve", "config"} & set(arguments)) or any(name.endswith("_COMPLETE") for name in os.environ)


def add_to(app: typer.Typer, with_flags: bool) -> None:
    """Add the commands to the program, with their flags if `flags` is set."""
    flags: list[inspect.Parameter] = []
    if with_flags:
        from resonate_core.cli.flags import parameters

        flags = [*parameters(), _keyword("server__engine", _ENGINE, None)]
    config = _keyword("config", CONFIG, None)
    app.command("serve")(with_parameters(serve, [*flags, config], serve))
    shown = group("The configuration: flags, environment and file together.")
    shown.command("show")(with_parameters(config_show, [*flags, config, _keyword("json", JSON, False)], config_show))
    app.add_typer(shown, name="config")


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
