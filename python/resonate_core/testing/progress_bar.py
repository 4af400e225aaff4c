"""The progress of a search on a terminal."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..base.extras import how_to_install

if TYPE_CHECKING:
    from .failures import Report

__all__ = ["progress_of"]

#: Is called after each batch.
Shown = Callable[["Report"], None]


def progress_of(wanted: bool | Shown | None, runs: int) -> AbstractContextManager[Shown]:
    """Return the context in which progress is shown; it gives the function to call after each batch.

    Args:
        wanted: None shows a bar if standard error is a terminal and rich is installed, true shows it always, false never; a function is
            called itself.
        runs: The number of runs of the search.

    Raises:
        ImportError: `wanted` is true and rich is not installed.
    """
    if callable(wanted):
        return nullcontext(wanted)
    found = wanted is not False and (wanted or sys.stderr.isatty()) and importlib.util.find_spec("rich") is not None
    if wanted and not found:
        raise ImportError(f"progress needs rich: {how_to_install('testing')}")
    return _Bar(runs) if found else nullcontext(_nothing)


def _nothing(report: Report) -> None:
    pass


class _Bar:
    def __init__(self, runs: int) -> None:
        self._runs = runs

    def __enter__(self) -> Shown:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        self._progress: Any = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("exploring", total=self._runs, rate="")
        self._progress.__enter__()
        return self._show

    def _show(self, report: Report) -> None:
        failing = f", {len(report.failing)} failing" if report.failing else ""
        self._progress.update(self._task, completed=report.runs, rate=f"{report.rate:,.0f} runs/s{failing}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.__exit__(kind, error, trace)
