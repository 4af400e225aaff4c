"""``resonate-core worker``: runs a worker that a program has made."""

from __future__ import annotations

import importlib
import logging
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from resonate_core.cli.exits import CommandFailed, Exit

__all__ = ["FOLDER", "PLACE", "found", "worker"]

PLACE = Annotated[
    str,
    typer.Argument(metavar="MODULE:NAME", help="module and name of the worker, such as shop.jobs:worker", show_default=False),
]
FOLDER = Annotated[Path, typer.Option("--app-dir", metavar="FOLDER", help="folder from which modules are imported first")]


def _imported(name: str) -> Any:
    """A module.

    Raises:
        CommandFailed: There is none (USAGE), or it breaks while it is imported (FAILED).
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandFailed(
                f"there is no module {error.name!r} in {sys.path[0]!r} or where Python looks", Exit.USAGE
            ) from error
        raise CommandFailed(f"module {name!r} cannot be imported: {error}", Exit.FAILED) from error
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raised = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CommandFailed(
            f"module {name!r} cannot be imported: {raised} ({where.filename}, line {where.lineno})", Exit.FAILED
        ) from error


def found(place: str, folder: Path) -> Any:
    """The object that MODULE:NAME names.

    Args:
        place: A module that can be imported, a colon, and a name in it; dots lead further into it.
        folder: From which modules are imported first.

    Raises:
        CommandFailed: It is not written so, there is no such folder, module or name, or it has no run() (USAGE); the module breaks
            (FAILED).

    Example:
        >>> from pathlib import Path
        >>> from resonate_core.cli.worker import found
        >>> found("resonate_core:nothing", Path("."))
        Traceback (most recent call last):
            ...
        resonate_core.cli.exits.CommandFailed: module 'resonate_core' has no 'nothing'
    """
    if not folder.is_dir():
        raise CommandFailed(f"--app-dir: there is no folder {str(folder)!r}", Exit.USAGE)
    sys.path.insert(0, str(folder.resolve()))
    module, colon, name = place.partition(":")
    if not (colon and module and name):
        raise CommandFailed(f"worker: {place!r} is not written as MODULE:NAME, such as shop.jobs:worker", Exit.USAGE)
    if module.startswith(".") or module.endswith((".py", ".")):
        raise CommandFailed(f"worker: {module!r} is no name of a module: shop/jobs.py is shop.jobs", Exit.USAGE)
    thing = _imported(module)
    way = module
    for part in name.split("."):
        if not hasattr(thing, part):
            near = sorted(key for key, value in vars(thing).items() if _runs(value)) if way == module else []
            hint = f"; what can be run in it: {', '.join(near)}" if near else ""
            raise CommandFailed(f"{'module ' if way == module else ''}{way!r} has no {part!r}{hint}", Exit.USAGE)
        thing, way = getattr(thing, part), f"{module}:{part}" if way == module else f"{way}.{part}"
    if isinstance(thing, type):
        raise CommandFailed(f"{place!r} is a class: name an object that is made of it", Exit.USAGE)
    if not _runs(thing):
        raise CommandFailed(f"{place!r} ({type(thing).__name__}) has no run()", Exit.USAGE)
    return thing


def _runs(thing: Any) -> bool:
    return not isinstance(thing, type | ModuleType) and callable(getattr(thing, "run", None))


def _log_to_stderr(level: str | None, format: str | None) -> None:
    """Log lines with time and level to standard error, unless the program has set up logging and no option asks for it.

    Raises:
        CommandFailed: There is no such level or format (USAGE), or what writes it is not installed (FAILED).
    """
    given = {name: value for name, value in (("level", level), ("format", format)) if value is not None}
    if logging.getLogger().handlers and not given:
        return
    # Here, since they are slow to import and no other command needs them.
    from pydantic import ValidationError

    from resonate_core.server.logs import configure
    from resonate_core.server.settings import LogSettings

    try:
        configure(LogSettings.model_validate(given))
    except ValidationError as error:
        wrong = error.errors()[0]
        message = f"--log-{wrong['loc'][0]} must be {wrong['ctx']['expected']}, got {wrong['input']!r}"
        raise CommandFailed(message, Exit.USAGE) from error
    except ImportError as error:
        raise CommandFailed(str(error), Exit.FAILED) from error
    logging.getLogger("httpx").setLevel(max(logging.WARNING, logging.getLogger().level))  # it has a line for each request


def worker(
    place: PLACE,
    folder: FOLDER = Path("."),
    log_level: Annotated[
        str | None, typer.Option(metavar="LEVEL", envvar="RESONATE_LOG__LEVEL", help="debug, info (default), warning or error")
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", envvar="RESONATE_LOG__FORMAT", help="text (default), or json: one object per line"),
    ] = None,
) -> None:
    """Run a worker of jobs: import the object of that name and call its run(), until SIGTERM or Ctrl-C (Ctrl-C, SIGTERM)."""
    runs = found(place, folder)
    _log_to_stderr(log_level, log_format)
    from resonate_core.worker import Worker  # not above: it takes longer than most commands

    if isinstance(runs, Worker):
        logging.getLogger("resonate_core.worker").info("program %s in %s", place, folder.resolve())
    runs.run()
