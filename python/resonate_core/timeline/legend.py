"""The legend of the static timeline. It explains the colours and marks of the picture, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from resonate_core.timeline.style import BAND, ENDS, HALTED, LINES, MARKS, SUSPENDED, WAKE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["legend_of", "short"]

MOST_WORKERS = 16
"""The maximum of workers that the legend names; a last line counts the others."""


def short(text: str, most: int = 28) -> str:
    """Return a text that matplotlib does not read as a formula, cut in its middle if it is long: ids often differ at their ends."""
    shown = text.replace("$", r"\$")
    if len(shown) <= most:
        return shown
    tail = most // 3
    return f"{shown[: most - 1 - tail]}…{shown[-tail:]}"


def legend_of(picture: Any) -> int:
    """Draw the legend of a picture beside it, in two columns if the picture is low, and return its number of lines."""
    ax: Axes = picture.ax
    handles: list[Patch | Line2D] = []
    workers = list(picture.workers.items())
    for pid, (colour, hatch) in workers[:MOST_WORKERS]:
        patch = Patch(facecolor=colour, linewidth=0, label=f"held by {short(pid, 22)}")
        if hatch:
            patch.set(hatch=hatch, edgecolor="#ffffffb0")
        handles.append(patch)
    if len(workers) > MOST_WORKERS:
        handles.append(Line2D([], [], linestyle="", label=f"and {len(workers) - MOST_WORKERS} more workers"))
    for state in sorted(picture.states, key=lambda state: (state in ("suspended", "halted"), state != "pending")):
        handles.append(_state(state))
    for state in sorted(picture.lines, key=list(LINES).index):
        colour, dashes, label = LINES[state]
        handles.append(Line2D([], [], color=colour, linestyle=dashes, label=label))
    for kind in picture.kinds:
        handles.append(_mark(kind))
    if picture.folds:
        handles.append(Patch(color="#7da7d9", label="number that run"))
        handles.append(Line2D([], [], color="#5f6f80", linewidth=0.8, label="number that wait"))
        handles.append(Patch(color=ENDS["completed"], label="ended well"))
        handles.append(Patch(color=ENDS["failed"], label="failed"))
    columns = 2 if len(handles) > 4 + 3 * max(len(picture.rows), 1) else 1
    if handles:
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.02),
            borderaxespad=0,
            fontsize=8,
            frameon=False,
            ncols=columns,
        )
    return -(-len(handles) // columns)


def _state(state: str) -> Patch | Line2D:
    if state == "suspended":
        return Line2D([], [], color=SUSPENDED, linestyle=":", label="suspended")
    if state == "halted":
        return Line2D([], [], color=HALTED, linestyle="--", label="halted")
    if state == "pending":
        return Patch(color=BAND, label="pending")
    return Line2D([], [], color=ENDS[state], marker="|", markersize=9, markeredgewidth=2.4, linewidth=2, label=state)


def _mark(kind: str) -> Line2D:
    if kind == "wake":
        arrow = Line2D([0, 1], [0, 0], color=WAKE, marker=">", markersize=5, linewidth=1, label="settled for its awaiter")
        arrow.set_markevery([1])
        return arrow
    marker, size, colour, _, label = MARKS[kind]
    return Line2D(
        [], [], color="#888888" if kind == "heartbeat" else colour, marker=marker, markersize=size, linestyle="", label=label
    )
