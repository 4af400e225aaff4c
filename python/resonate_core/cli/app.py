"""All commands."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import resonate_core as rc
from resonate_core.cli import files, jobs, promises, queues, schedules, server, tasks, workflows
from resonate_core.cli.bench import bench
from resonate_core.cli.command import on_store
from resonate_core.cli.commands import Commands
from resonate_core.cli.conformance import conformance
from resonate_core.cli.dash import dash
from resonate_core.cli.exits import MEANINGS
from resonate_core.cli.invoke import invoke
from resonate_core.cli.show import put
from resonate_core.cli.target import DIALECTS, Access
from resonate_core.cli.tree import tree
from resonate_core.cli.ui import ui
from resonate_core.cli.why import why
from resonate_core.cli.worker import worker
from resonate_core.cli.workers import workers

__all__ = ["app_for", "command_for"]

PROTOCOL = "The protocol's requests"
JOBS = "Jobs"


def _print_version(asked: bool) -> None:
    if asked:
        put(rc.__version__)
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version", show_default=False)
    ] = False,
) -> None:
    """Durable promises, tasks, schedules and jobs: serve them, look at them, act on them, in a file or on a server."""


def command_for(arguments: Sequence[str]) -> Any:
    """Return the program for click, and keep it for the next call: making it takes longer than most commands.

    Args:
        arguments: The arguments of the command. If the first one is a command, the program has no other.
    """
    return _command(server.wants_flags(arguments), next(iter(arguments), None))


@functools.lru_cache(maxsize=32)
def _command(with_flags: bool, name: str | None) -> Any:
    app = app_for(with_flags)
    commands = [each for each in app.registered_commands if each.name == name]
    groups = [each for each in app.registered_groups if each.name == name]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups
    return typer.main.get_command(app)


def app_for(with_flags: bool) -> typer.Typer:
    """The program.

    Args:
        with_flags: Whether the commands of the server have their flags; see `server.wants_flags`.
    """
    app = typer.Typer(
        name="resonate-core",
        cls=Commands,
        epilog="Exit codes: " + "; ".join(f"{int(code)} {text}" for code, text in MEANINGS.items()) + ".",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    server.add_to(app, with_flags)
    app.add_typer(promises.app, name="promises", rich_help_panel=PROTOCOL)
    app.add_typer(tasks.app, name="tasks", rich_help_panel=PROTOCOL)
    app.add_typer(schedules.app, name="schedules", rich_help_panel=PROTOCOL)
    app.add_typer(jobs.app, name="jobs", rich_help_panel=JOBS)
    app.add_typer(queues.app, name="queues", rich_help_panel=JOBS)
    app.add_typer(workflows.app, name="workflows", rich_help_panel=JOBS)
    on_store(app, "dash", Access.READ, dialects=DIALECTS[:1], rich_help_panel=JOBS)(dash)
    app.command("worker", rich_help_panel=JOBS)(worker)
    on_store(app, "workers", Access.READ, dialects=DIALECTS[:1], rich_help_panel=JOBS)(workers)
    on_store(app, "invoke", Access.MAKE, dialects=DIALECTS[:1])(invoke)
    on_store(app, "tree", Access.READ, dialects=DIALECTS[:1])(tree)
    on_store(app, "why", Access.READ, dialects=DIALECTS[:1])(why)
    app.command("ui")(ui)
    files.add_to(app)
    on_store(app, "bench", Access.MAKE, dialects=DIALECTS[:1])(bench)
    app.command("conformance")(conformance)
    return app
