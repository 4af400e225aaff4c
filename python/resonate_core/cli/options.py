"""Parameters that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "ACTOR",
    "ALL",
    "CURSOR",
    "HEADERS",
    "ID",
    "KEY",
    "LIMIT",
    "MATCH",
    "PARAM",
    "PID",
    "RAW",
    "TAGS",
    "TASK_VERSION",
    "TIMEOUT",
    "TTL",
    "VALUE",
]

ID = Annotated[str, typer.Argument(metavar="ID", show_default=False)]
TAGS = Annotated[list[str] | None, typer.Option("--tag", metavar="NAME=TEXT", help="a tag; may be repeated", show_default=False)]
HEADERS = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=TEXT", help="a header of the data; may be repeated", show_default=False),
]
PARAM = Annotated[
    str | None, typer.Option("--param", metavar="JSON", help="what is kept with it: JSON, @file, or - for standard input")
]
VALUE = Annotated[str | None, typer.Option("--value", metavar="JSON", help="the result: JSON, @file, or - for standard input")]
RAW = Annotated[bool, typer.Option("--raw", help="give the data as it is, not as JSON in base64", show_default=False)]
TIMEOUT = Annotated[str, typer.Option("--timeout", metavar="TIME", help="its deadline: +10m, 1h30m, 2026-05-01T12:00Z, or Unix ms")]
KEY = Annotated[str | None, typer.Option("--key", metavar="TEXT", help="idempotency key")]
PID = Annotated[str, typer.Option("--pid", metavar="TEXT", help="who holds the lease", show_default=False)]
ACTOR = Annotated[str, typer.Option("--pid", metavar="TEXT", help="who holds the leases", show_default=False)]
TTL = Annotated[str, typer.Option("--ttl", metavar="LENGTH", help="length of the lease: 60s, 5m, or ms")]
TASK_VERSION = Annotated[
    int, typer.Option("--task-version", "-v", metavar="NUMBER", help="the task's version, as get shows it", show_default=False)
]
MATCH = Annotated[str | None, typer.Option("--id", metavar="GLOB", help="ids that match; * stands for any characters")]
LIMIT = Annotated[int | None, typer.Option("--limit", metavar="NUMBER", help="how many at most, 1 to 1000 a page")]
CURSOR = Annotated[str | None, typer.Option("--cursor", metavar="TEXT", help="go on where a page ended")]
ALL = Annotated[bool, typer.Option("--all", help="every page", show_default=False)]
