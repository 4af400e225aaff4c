"""Tables of jobs and queues for a terminal: a line for each, with as many columns as fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from resonate_core.cli.show import clean

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["Column", "fits", "fitted", "middle_cut", "short", "text"]

_BETWEEN = 2
_LEAST = 20


def text(shown: Any, style: str = "") -> Text:
    """Return the text of a cell without control characters."""
    from rich.text import Text

    return Text(clean(str(shown)), style=style)


def short(number: float) -> str:
    """Return a number in at most six characters.

    Example:
        >>> from resonate_core.cli.jobs_table import short
        >>> short(0.25), short(9_999), short(18_223), short(4_500_000)
        ('0.25', '9,999', '18.2k', '4.5M')
    """
    if number < 100:
        return f"{number:.3g}"
    if number < 10_000:
        return f"{number:,.0f}"
    return f"{number / 1000:.3g}k" if number < 999_500 else f"{number / 1_000_000:.4g}M"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: Its head.
        cell: The function that gives its text for a record.
        right: It stands to the right.
        spared: Where there is no room the highest go first; 0: never.
        elastic: It takes the remaining width.
        always: It is there where it has nothing to show, too.
        middle: Where there is no room, its text is cut in the middle: ids often differ at their ends.
    """

    name: str
    cell: Callable[[Any], Text]
    right: bool = False
    spared: int = 0
    elastic: bool = False
    always: bool = True
    middle: bool = False


def middle_cut(shown: str, width: int) -> str:
    """Return a text without its middle, if it is too long.

    Example:
        >>> from resonate_core.cli.jobs_table import middle_cut
        >>> middle_cut("order-2026-11-25-000123.charge", 20), middle_cut("order-1", 20)
        ('order-2026…23.charge', 'order-1')
    """
    if len(shown) <= width:
        return shown
    tail = max((width - 1) // 2, 1)
    return f"{shown[: max(width - 1 - tail, 1)]}…{shown[-tail:]}"


def _needed(column: Column, cells: Sequence[Text]) -> int:
    most = max([len(column.name), *(cell.cell_len for cell in cells)])
    return min(most, max(_LEAST, len(column.name))) if column.elastic else most


def _chosen(columns: Sequence[Column], rows: Sequence[Any], width: int) -> tuple[list[tuple[Column, list[Text]]], int]:
    """Return the shown columns with their cells, and the width that is left beside them."""
    made = [(column, [column.cell(row) for row in rows]) for column in columns]
    made = [(column, cells) for column, cells in made if column.always or any(cell.plain for cell in cells)]
    while True:
        left = width - sum(_needed(*one) for one in made) - _BETWEEN * (len(made) - 1)
        least = max(made, key=lambda one: one[0].spared)
        if left >= 0 or not least[0].spared:
            return made, left
        made.remove(least)


def _shortened(column: Column, cells: list[Text], left: int) -> list[Text]:
    """Cut the texts of a column in their middle, so that the other columns fit."""
    if not column.middle:
        return cells
    room = max(_needed(column, cells) + left, _LEAST)
    return [text(middle_cut(cell.plain, room), str(cell.style)) for cell in cells]


def fits(columns: Sequence[Column], rows: Sequence[Any], width: int) -> bool:
    """Whether all columns with contents fit."""
    return _chosen([Column(one.name, one.cell, always=one.always) for one in columns], rows, width)[1] >= 0


def fitted(
    columns: Sequence[Column],
    rows: Sequence[Any],
    width: int,
    *,
    title: str | None = None,
    cut: bool = False,
    selected: int | None = None,
) -> Table:
    """Return a table that is no wider than permitted.

    Args:
        columns: The possible columns.
        rows: The records.
        width: In characters.
        title: What stands above it.
        cut: Cut long text with an ellipsis, so that each record has one line; otherwise it is wrapped.
        selected: The row that is marked; None for none.
    """
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    if title is not None:
        table.title, table.title_justify, table.title_style = text(title, "bold"), "left", ""
        table.min_width = min(len(title), width)  # a title does not fold
    made, left = _chosen(columns, rows, width)
    if cut and left < 0:
        made = [(column, _shortened(column, cells, left)) for column, cells in made]
    for column, cells in made:
        table.add_column(
            text(column.name),
            justify="right" if column.right else "left",
            # Where there is no room, long cells fold, and those of the first column, which are to be whole.
            no_wrap=cut or not (column.elastic or (left < 0 and (column is made[0][0] or _needed(column, cells) > _LEAST))),
            overflow="ellipsis" if cut else "fold",
            max_width=_needed(column, cells) + max(left, 0) if column.elastic else None,
        )
    for number, row in enumerate(zip(*(cells for _, cells in made), strict=True)):
        table.add_row(*row, style="reverse" if number == selected else None)
    if not rows:
        table.show_header = False
        table.add_row(text("none", "dim"))
    return table
