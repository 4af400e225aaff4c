"""Reads the static timeline that matplotlib draws: its rows, its legend and its bars."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from resonate_core.timeline.data import worker_colour
from resonate_core.timeline.style import WORKERS


def axes_of(figure: Figure) -> Axes:
    """Returns the only axes of a figure."""
    (axes,) = figure.axes
    return axes


def rows(figure: Figure) -> list[str]:
    """Returns the labels of the rows, from the top."""
    return [label.get_text() for label in axes_of(figure).get_yticklabels()]


def explained(figure: Figure) -> set[str]:
    """Returns the entries of the legend."""
    legend = axes_of(figure).get_legend()
    return set() if legend is None else {text.get_text() for text in legend.get_texts()}


def bars_with_heights(figure: Figure, colour: str) -> list[tuple[float, float, float]]:
    """Returns where the bars of a colour begin and end, and their heights."""
    drawn = [patch for patch in axes_of(figure).patches if isinstance(patch, Rectangle) and to_hex(patch.get_facecolor()) == colour]
    return [(bar.get_x(), bar.get_x() + bar.get_width(), round(bar.get_height(), 2)) for bar in drawn]


def bars(figure: Figure, colour: str) -> list[tuple[float, float]]:
    """Returns where the bars of a colour begin and end."""
    return [(begin, end) for begin, end, _ in bars_with_heights(figure, colour)]


def colour_of(worker: str) -> str:
    """Returns the colour of a worker."""
    return WORKERS[worker_colour(worker)]
