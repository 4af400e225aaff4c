"""Parameters that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from resonate_core.cli.completion import any_id

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
    "TARGET",
    "TASK_VERSION",
    "TIMEOUT",
    "TTL",
    "VALUE",
]

ID = Annotated[str, typer.Argument(metavar="ID", show_default=False, autocompletion=any_id)]
TAGS = Annotated[list[str] | None, typer.Option("--tag", metavar="NAME=TEXT", help="a tag; may be repeated", show_default=False)]
TARGET = Annotated[
    str | None, typer.Option("--target", metavar="ADDRESS", help="address for dispatch; short for --tag resonate:target=…")
]
HEADERS = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=TEXT", help="a header of the data; may be repeated", show_default=False),
]
PARAM = Annotated[str | None, typer.Option("--param", metavar="JSON", help="input: JSON, @file, or - for standard input")]
VALUE = Annotated[str | None, typer.Option("--value", metavar="JSON", help="the result: JSON, @file, or - for standard input")]
RAW = Annotated[bool, typer.Option("--raw", help="store the data as it is, not as JSON in base64", show_default=False)]
TIMEOUT = Annotated[str, typer.Option("--timeout", metavar="TIME", help="deadline: +10m, 1h30m, 2026-05-01T12:00Z, or Unix ms")]
KEY = Annotated[str | None, typer.Option("--key", metavar="TEXT", help="idempotency key")]
PID = Annotated[str, typer.Option("--pid", metavar="TEXT", help="name of the worker that holds the lease", show_default=False)]
ACTOR = Annotated[str, typer.Option("--pid", metavar="TEXT", help="name of the worker that holds the leases", show_default=False)]
TTL = Annotated[str, typer.Option("--ttl", metavar="LENGTH", help="duration of the lease: 60s, 5m, or ms")]
TASK_VERSION = Annotated[
    int, typer.Option("--task-version", "-v", metavar="NUMBER", help="version of the task, as printed by get", show_default=False)
]
MATCH = Annotated[
    str | None, typer.Option("--id", metavar="GLOB", help="pattern of ids; * stands for any characters", autocompletion=any_id)
]
LIMIT = Annotated[int | None, typer.Option("--limit", metavar="NUMBER", help="size of a page, 1 to 1000")]
CURSOR = Annotated[str | None, typer.Option("--cursor", metavar="TEXT", help="cursor of the next page")]
ALL = Annotated[bool, typer.Option("--all", help="print every page", show_default=False)]
