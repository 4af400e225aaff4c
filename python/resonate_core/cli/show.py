"""The output of commands: one JSON document, tables for people, or plain lines for a pipe or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from resonate_core._foreign_text import clean, clean_json, clean_lines
from resonate_core.base.instants import counted, length, moment
from resonate_core.base.payloads import decoded
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.values import now

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

__all__ = ["COLOURS", "Output", "beside", "clean", "confirmed", "length", "moment", "payload_text", "put", "put_json", "say"]

COLOURS = {
    "pending": "yellow",
    "acquired": "cyan",
    "suspended": "blue",
    "halted": "magenta",
    "resolved": "green",
    "fulfilled": "green",
    "rejected": "red",
    "rejected_canceled": "red",
    "rejected_timedout": "red",
    "scheduled": "blue",
    "waiting": "blue",
    "claimed": "cyan",
    "running": "cyan",
    "retry": "magenta",
    "archived": "red",
    "completed": "green",
    "failed": "red",
    "cancelled": "red",
    "expired": "red",
    "crashed": "red",
    "timed_out": "red",
    "snoozed": "blue",
}
_LAST_OF_THE_CALENDAR = 253_402_300_800_000  # the year 10000
_LONGEST = 200
_STATES = ("state", "outcome")
_LENGTHS = ("ttl", "promiseTimeout", "timeout", "retention", "uniqueFor", "took", "latency")
_VALUES = ("param", "value", "promiseParam", "payload", "result")
_RECORDS = ("task", "promise", "schedule", "invoked", "awaited")
_COLUMNS = {
    "promises": ("id", "state", "createdAt", "timeoutAt", "settledAt"),
    "tasks": ("id", "state", "version", "resumes", "pid", "ttl"),
    "schedules": ("id", "cron", "promiseId", "nextRunAt", "lastRunAt", "job", "paused", "problem"),
    "messages": ("address", "kind", "id", "version", "attempts", "queuedAt"),
}


def need_terminal(out: Output, command: str) -> None:
    """Refuse a command that asks for confirmation where it cannot ask.

    Raises:
        CommandFailed: The output is JSON, or standard input is no terminal (USAGE).
    """
    if out.as_json:
        raise CommandFailed(f"{command} asks for confirmation, and --json excludes a question: give --yes", Exit.USAGE)
    if not sys.stdin.isatty():
        raise CommandFailed(f"{command} asks for confirmation, and standard input is no terminal: give --yes", Exit.USAGE)


def confirmed(question: str) -> bool:
    """Ask on standard error, and read the answer from standard input."""
    put(f"{question} [y/N] ", end="", to=sys.stderr)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _is_instant(name: str) -> bool:
    return name.endswith(("At", "Until", ".at")) or name in ("at", "deadline")


def beside(ms: int, present: int) -> str:
    """Return how far an instant is from another one; empty if that is more than a year.

    Example:
        >>> from resonate_core.cli.show import beside
        >>> beside(61_000, 1000), beside(0, 1500)
        ('in 1m', '1.5s ago')
    """
    away = ms - present
    if abs(away) > 366 * 86_400_000:
        return ""
    return f"in {length(away)}" if away > 0 else f"{length(-away)} ago"


def payload_text(value: Mapping[str, Any]) -> str:
    """Return the data of a value for people: its JSON if it is JSON in base64, else the data as it is."""
    payload = decoded(value)
    return clean(payload.text if payload.kind == "json" else value.get("data") or "")


def put(*texts: object, sep: str = "\n", end: str = "\n", to: TextIO | None = None) -> None:
    """Print texts: the one function that writes what others wrote, such as ids, names of members, errors, to a terminal or a pipe.

    Args:
        texts: Each may have several lines; whatever else is not printable becomes an escape.
        sep: Between them.
        end: After the last.
        to: Where to; by default standard output.
    """
    stream = sys.stdout if to is None else to
    stream.write(sep.join(clean_lines(str(text)) for text in texts) + end)
    if not end.endswith("\n"):
        stream.flush()


def put_json(document: Any, to: TextIO | None = None, indent: bool = False) -> None:
    """Print a JSON document. A terminal gets JSON's own escapes for characters that are not printable, a pipe the characters themselves.

    Args:
        document: The document.
        to: Where to; by default standard output.
        indent: Whether a terminal gets it indented.
    """
    stream = sys.stdout if to is None else to
    terminal = stream.isatty()
    text = json.dumps(document, indent=2 if terminal and indent else None, ensure_ascii=False)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # an encoding without these characters, or half a surrogate pair: JSON has escapes for them
        text = json.dumps(document, indent=2 if terminal and indent else None)
    stream.write((clean_json(text) if terminal else text) + "\n")


def say(text: str) -> None:
    """Print a remark on standard error: it is no result."""
    put(text, to=sys.stderr)


class Output:
    """Standard output, in the form that was asked for.

    Args:
        as_json: One JSON document and nothing else.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._console: Console | None = None

    @property
    def is_rich(self) -> bool:
        """Whether the output is for a person at a terminal."""
        return not self.as_json and sys.stdout.isatty()

    @property
    def console(self) -> Console:
        """The terminal."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(highlight=False, emoji=False, markup=False)
        return self._console

    def draw(self, *drawn: Any, **options: Any) -> None:
        """Print something that rich draws. Characters of its texts that are not printable become escapes.

        Args:
            drawn: Tables, trees and texts.
            options: Of `rich.console.Console.print`.
        """
        from resonate_core.cli.drawing import Foreign

        self.console.print(*map(Foreign, drawn), **options)

    def json(self, document: Any) -> None:
        """Print a document, indented for a person."""
        put_json(document, indent=True)

    def line(self, text: str, document: Any) -> None:
        """Print one line, or the document with the same content."""
        if self.as_json:
            self.json(document)
        else:
            put(text)

    def answer(self, data: dict[str, Any], done: str = "done") -> None:
        """Print the data of an answer by its members, or `done` if it has none."""
        if self.as_json:
            self.json(data)
            return
        if isinstance(data.get("data"), dict) and isinstance(data.get("kind"), str):
            # How 2025-01-15 answers an acquire: whether it is an invoke or a resume, with one promise or two.
            self.record({"kind": data["kind"]}, title="task")
            data = data["data"]
        records = [member for member in _RECORDS if isinstance(data.get(member), dict)]
        for member in records:
            # Of two records in a pipe, each line says which it is of; so it does where there may be two.
            self.record(data[member], title=member, prefix=f"{member}." if len(records) > 1 or member == "invoked" else "")
        for member in _COLUMNS:
            if member in data:
                self.rows(member, data[member])
        if data.get("preload"):
            self.rows("promises", data["preload"], title="preload")
        if not any(member in data for member in (*_RECORDS, *_COLUMNS)):
            put(done)
        if data.get("cursor") is not None:
            say(f"there is more: --cursor {data['cursor']!r}, or --all")

    def record(self, record: Mapping[str, Any], title: str, prefix: str = "") -> None:
        """Print the members of one record, a line each; to a pipe: the names with a prefix, and tabs."""
        cells = [(name, cell) for name, value in record.items() for cell in [self._cell(name, value)] if cell or name == "id"]
        if not self.is_rich:
            for name, cell in cells:
                put(prefix + clean(name), cell, sep="\t")
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), title=title, title_justify="left", title_style="bold")
        table.add_column(style="dim")
        table.add_column(overflow="fold")
        for name, cell in cells:
            table.add_row(Text(clean(name)), Text(cell, style=COLOURS.get(cell, "") if name in _STATES else ""))
        self.draw(table)

    def rows(self, kind: str, records: Sequence[Mapping[str, Any]], title: str | None = None) -> None:
        """Print records, a line each, with their usual columns; to a person also their number."""
        self.table(_COLUMNS[kind], [[record.get(name) for name in _COLUMNS[kind]] for record in records])
        if self.is_rich:
            say(counted(len(records), (title or kind).removesuffix("s")) if title != "preload" else f"{len(records)} preloaded")

    def table(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table; to a pipe: tabs between cells, and no headings."""
        if not self.is_rich:
            for row in rows:
                put(*(self._cell(name, value) for name, value in zip(names, row, strict=True)), sep="\t")
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        used = [
            index
            for index, name in enumerate(names)
            if not rows or name == "id" or any(row[index] not in (None, "") for row in rows)
        ]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for index in used:
            numeric = all(isinstance(row[index], int | float | None) for row in rows) and not _is_instant(names[index])
            table.add_column(Text(names[index]), justify="right" if numeric and rows else "left", overflow="fold")
        for row in rows:
            cells = [(names[index], self._listed(names[index], row[index])) for index in used]
            table.add_row(*(Text(cell, style=COLOURS.get(cell, "") if name in _STATES else "") for name, cell in cells))
        if rows:
            self.draw(table)

    def tree(self, tree: Callable[[], Tree]) -> None:
        """Print a tree; to a pipe or a file without colours and with whole lines."""
        if self.is_rich:
            self.draw(tree())
            return
        from rich.console import Console

        from resonate_core.cli.drawing import Foreign

        console = Console(file=sys.stdout, width=100_000, color_system=None, force_terminal=False, highlight=False)
        with console.capture() as captured:
            console.print(Foreign(tree()))
        put("\n".join(line.rstrip() for line in captured.get().split("\n")).removesuffix("\n"))

    def _cell(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if _is_instant(name) and isinstance(value, int):
            return self._instant(value)
        if name in _LENGTHS and isinstance(value, int):
            return length(value)
        if name in _VALUES and isinstance(value, dict):
            text = payload_text(value)
            headers = " ".join(f"{clean(key)}={clean(str(held))}" for key, held in (value.get("headers") or {}).items())
            text = (
                text
                if len(text) <= _LONGEST or not self.is_rich
                else text[:_LONGEST] + f"… ({len(text)} characters; --json has all)"
            )
            return f"{text}  [{headers}]" if headers else text
        if name in ("tags", "promiseTags") and isinstance(value, dict):
            separator = "\n" if self.is_rich else " "
            return separator.join(f"{clean(key)}={clean(str(held))}" for key, held in value.items())
        return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def _listed(self, name: str, value: Any) -> str:
        """Return a cell of a table: instants to the second, since columns are narrow."""
        if _is_instant(name) and isinstance(value, int):
            return moment(value)[:19].replace("T", " ") + "Z" if value < _LAST_OF_THE_CALENDAR else str(value)
        return self._cell(name, value)

    def _instant(self, ms: int) -> str:
        if not self.is_rich:
            return moment(ms)
        near = beside(ms, now())
        return moment(ms) + (f" ({near})" if near else "")
