"""``resonate-core migrate``: brings the tables of a store to the schema of this release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import resonate_core as rc
from resonate_core._core import schema_versions
from resonate_core.cli.command import CONFIG, DB, JSON, place_with_options
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.show import Output
from resonate_core.cli.target import Access, FileTarget

__all__ = ["migrate"]

_DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="say what it would do, and change nothing", show_default=False)]


@dataclass(frozen=True)
class _Plan:
    """The versions before and after a migration."""

    place: dict[str, str]  # its kind and its name
    found: int | None
    newest: int

    def show(self, out: Output, done: bool) -> None:
        (name,) = self.place.values()
        answer = {**self.place, "from": self.found, "to": self.newest, "done": done}
        if self.found == self.newest:
            text = f"up to date, schema version {self.newest}"
        elif self.found is None:
            text = f"{'made' if done else 'would make'} its tables, schema version {self.newest}"
        else:
            text = f"{'' if done else 'would be '}migrated from schema version {self.found} to {self.newest}"
        out.line(f"{name}: {text}", answer)


def _plan(place: Path | str) -> _Plan:
    try:
        shown, found, newest = schema_versions(str(place))
    except rc.ResonateError as error:
        raise CommandFailed(str(error), Exit.USAGE if isinstance(error, rc.Invalid) else Exit.UNREACHABLE) from error
    if (found is None and isinstance(place, Path)) or (found is not None and found >= newest):
        FileTarget(place, Access.READ).close()  # its error names what is wrong
    return _Plan({"file": str(place)} if isinstance(place, Path) else {"url": shown}, found, newest)


def migrate(db: DB = None, dry_run: _DRY_RUN = False, config: CONFIG = None, json: JSON = False) -> None:
    """Bring the tables of a file or database to the schema of this release.

    A command or server that opens the store for writing does this too. In a database without tables it makes them; a file must exist.
    A store of a newer release is refused.
    """
    place, _ = place_with_options(db, config)
    plan = _plan(place)
    done = not dry_run and plan.found != plan.newest
    if done:
        FileTarget(place, Access.WRITE, clock=rc.ManualClock()).close()
    plan.show(Output(json), done)
