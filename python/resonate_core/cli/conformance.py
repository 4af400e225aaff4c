"""``resonate-core conformance``: checks a server against the contract."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

import resonate_core as rc
from resonate_core._foreign_text import clean_json
from resonate_core.base.extras import how_to_install
from resonate_core.cli.exits import CommandFailed, Exit, code_of
from resonate_core.cli.show import put, say
from resonate_core.cli.target import DIALECTS
from resonate_core.cli.values import duration
from resonate_core.http.server_client import NoEnvelope
from resonate_core.http.surroundings import OddSurroundings

__all__ = ["conformance"]


class Format(str, Enum):
    """The forms of a report."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"


class Effort(str, Enum):
    """How many scenes are played."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


class RuleSet(str, Enum):
    """The rule sets."""

    COMPATIBLE = "compatible"
    STRICT = "strict"


def conformance(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="the server; default: RESONATE_URL", show_default=False)] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="JWT", help="token for the server; default: RESONATE_TOKEN, which other users cannot see"),
    ] = None,
    dialect: Annotated[
        list[str] | None,
        typer.Option("--dialect", metavar="VERSION", help=f"{' or '.join(DIALECTS)}; default: both, if the server speaks them"),
    ] = None,
    rules: Annotated[RuleSet, typer.Option("--rules", help="the rule set of the server")] = RuleSet.COMPATIBLE,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="TEXT", help="the beginning of every id that is used; default: a fresh one")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="NUMBER", help="seed of the random programs")] = 1,
    requests: Annotated[
        int,
        typer.Option(
            "--requests", metavar="NUMBER", help="requests of the random programs; half as many of the connections", min=0
        ),
    ] = 2000,
    connections: Annotated[
        int, typer.Option("--connections", metavar="NUMBER", help="connections; with 1, nothing at the same time", min=1, max=64)
    ] = 8,
    effort: Annotated[
        Effort, typer.Option("--effort", help="quick: one scene in four; thorough: every combination")
    ] = Effort.NORMAL,
    jobs: Annotated[
        bool, typer.Option("--jobs", help="judge jobs too; their queues stay on the server", show_default=False)
    ] = False,
    patience: Annotated[
        str, typer.Option("--patience", metavar="LENGTH", help="how long a scene may wait for a deadline; 0: not at all")
    ] = "3s",
    debug: Annotated[
        bool,
        typer.Option("--debug", help="permit debug operations: a manual clock of the server is moved", show_default=False),
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="the form of the report")] = Format.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="write the report to a file, and one line to standard output"),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="how long one answer is waited for", min=0.1)] = 30,
) -> None:
    """Check a server against the contract: tables of states and requests, random programs, and several connections at the same time.

    It uses ids with a prefix of its own and settles or deletes what it made. Exit code: 0 no findings, 1 findings, 3 unreachable.
    """
    try:
        from resonate_core.conformance.judging import judge
        from resonate_core.conformance.plan import Plan
        from resonate_core.conformance.report import FORMATS
    except ModuleNotFoundError as error:
        raise CommandFailed(f"conformance needs {error.name or 'cronsim'}: {how_to_install('conformance')}", Exit.USAGE) from error
    server = url or os.environ.get("RESONATE_URL") or None
    if server is None:
        raise CommandFailed("which server? give its URL, or set RESONATE_URL", Exit.USAGE)
    given: dict[str, Any] = {} if prefix is None else {"prefix": prefix}
    chosen = tuple(dict.fromkeys(dialect)) if dialect else DIALECTS
    try:
        plan = Plan(
            chosen,
            rules.value,
            **given,
            seed=seed,
            requests=requests,
            connections=connections,
            patience=duration(patience, "--patience"),
            effort=effort.value,
            jobs=jobs,
            debug=debug,
        )
        progress = (lambda part: say(f"{part} …")) if sys.stderr.isatty() else str
        report = judge(server, plan, token or os.environ.get("RESONATE_TOKEN") or None, timeout, progress)
    except OddSurroundings:
        raise
    except rc.Invalid as error:
        raise CommandFailed(f"--{error}", Exit.USAGE) from error
    except NoEnvelope as error:
        raise CommandFailed(str(error), Exit.UNREACHABLE, error.status) from error
    except rc.ResonateError as error:
        code = Exit.UNREACHABLE if isinstance(error, rc.errors.Unreachable) else code_of(error.status)
        raise CommandFailed(str(error), code, error.status) from error
    text = FORMATS[form.value](report)
    if output is None:
        if form is Format.JSON and sys.stdout.isatty():
            text = clean_json(text)
        put(text, end="")
    else:
        output.write_text(text, encoding="utf-8")
        put(report.summary)
    if report.findings:
        raise typer.Exit(Exit.FAILED)
