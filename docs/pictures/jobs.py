"""Draws the states of a job: writes `jobs.svg`, `jobs_asynq.svg` and `jobs_horsies.svg` beside this file.

The moves are data (`JOBS`, `ASYNQ`, `HORSIES`), so that a test can hold them against the tables of the pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Outline

LINE, WORD, FAINT, INK = "#55606e", "#374151", "#6b7280", "#1f2937"
WAITS, HELD, GOOD, BAD, KEPT = "#e3e8ef", "#cfe0f1", "#d3ead5", "#f3d9d6", "#f1ecd9"
WIDE, HIGH = 1.3, 0.42


@dataclass(frozen=True)
class State:
    """A box, by its middle."""

    x: float
    y: float
    colour: str


@dataclass(frozen=True)
class Move:
    """An arrow.

    Attributes:
        start: The state that it leaves; empty: a job that was not there.
        end: Where it leads.
        word: Its label: the request or the step.
        points: Its two ends, or an end, two control points and the other end of a curve.
        at: The position of the label.
        side: The edge of the label that is at this position.
        alone: Whether the engine takes this step by itself when it is due.
    """

    start: str
    end: str
    word: str
    points: tuple[tuple[float, float], ...]
    at: tuple[float, float]
    side: str = "center"
    alone: bool = False


@dataclass(frozen=True)
class Machine:
    """One picture.

    Attributes:
        states: The boxes, by name.
        moves: Every arrow.
        below: What may happen to several states at once, in words.
        size: Of the picture, in its own units.
    """

    states: dict[str, State]
    moves: tuple[Move, ...]
    below: tuple[str, ...]
    size: tuple[float, float]


JOBS = Machine(
    {
        "scheduled": State(0.95, 3.1, WAITS),
        "waiting": State(0.95, 1.8, WAITS),
        "pending": State(3.3, 3.1, WAITS),
        "claimed": State(5.7, 3.1, HELD),
        "running": State(8.0, 3.1, HELD),
        "completed": State(10.5, 3.1, GOOD),
        "retry": State(5.7, 1.8, WAITS),
        "failed": State(10.5, 1.8, BAD),
        "archived": State(3.3, 0.6, KEPT),
        "expired": State(8.0, 0.6, BAD),
        "cancelled": State(10.5, 0.6, BAD),
    },
    (
        Move("", "scheduled", "enqueue, for later", ((0.6, 4.0), (0.6, 3.31)), (0.5, 4.1), "left"),
        Move("", "pending", "enqueue", ((2.9, 4.0), (2.9, 3.31)), (2.83, 3.72), "right"),
        Move("", "waiting", "enqueue, after others", ((0.95, 1.05), (0.95, 1.59)), (0.3, 0.92), "left"),
        Move("waiting", "pending", "all settled", ((1.6, 1.8), (2.5, 1.8), (2.85, 2.1), (2.9, 2.89)), (2.0, 2.14), alone=True),
        Move("running", "waiting", "suspend", ((7.88, 2.89), (7.5, 0.95), (5.0, 0.95), (1.4, 1.59)), (2.5, 1.2)),
        Move("scheduled", "pending", "processAt", ((1.6, 3.1), (2.65, 3.1)), (2.12, 3.21), alone=True),
        Move("pending", "claimed", "claim", ((3.95, 3.18), (5.05, 3.18)), (4.5, 3.29)),
        Move("pending", "running", "claim, in one step", ((3.5, 3.31), (4.2, 3.86), (7.1, 3.86), (7.8, 3.31)), (5.65, 3.84)),
        Move("claimed", "pending", "release", ((5.05, 3.02), (3.95, 3.02)), (4.5, 2.9)),
        Move("claimed", "pending", "lease expires", ((5.4, 2.89), (5.1, 2.52), (3.9, 2.52), (3.6, 2.89)), (4.5, 2.48), alone=True),
        Move("claimed", "running", "start", ((6.35, 3.1), (7.35, 3.1)), (6.85, 3.21)),
        Move("running", "completed", "complete", ((8.65, 3.1), (9.85, 3.1)), (9.25, 3.21)),
        Move("running", "scheduled", "snooze", ((8.1, 3.31), (7.3, 4.66), (1.9, 4.66), (1.1, 3.31)), (4.6, 4.44)),
        Move("running", "retry", "fail, retries left", ((7.8, 2.89), (7.6, 2.1), (7.2, 1.8), (6.35, 1.8)), (7.5, 2.35), "right"),
        Move("retry", "pending", "nextRetryAt", ((5.05, 1.8), (4.0, 1.8), (3.5, 2.1), (3.4, 2.89)), (4.5, 2.05), alone=True),
        Move("running", "failed", "fail, none left", ((8.5, 2.89), (8.9, 2.3), (9.3, 1.95), (9.85, 1.85)), (9.2, 2.25), "left"),
        Move("running", "archived", "fail, none left", ((7.95, 2.89), (7.7, 1.2), (6.2, 0.6), (3.95, 0.6)), (4.9, 0.87)),
        Move("archived", "pending", "run", ((3.15, 0.81), (3.15, 2.89)), (3.05, 1.7), "right"),
    ),
    (
        "Dashed: internal steps of the engine. scheduled, waiting, pending and claimed become expired at goodUntil before the first "
        "start. Every state but the green and",
        "the red ones becomes cancelled by cancel, and failed at the deadline. "
        "An expired lease or an exceeded timeout of a running job counts as a fail.",
        "run makes scheduled, waiting and retry jobs pending, too; archive archives scheduled, waiting, pending and retry jobs.",
    ),
    (11.4, 4.7),
)

ASYNQ = Machine(
    {
        "scheduled": State(0.95, 2.5, WAITS),
        "pending": State(3.6, 2.5, WAITS),
        "active": State(6.5, 2.5, HELD),
        "completed": State(9.6, 2.5, GOOD),
        "retry": State(5.1, 1.3, WAITS),
        "archived": State(9.6, 1.3, KEPT),
    },
    (
        Move("", "scheduled", "ProcessIn, ProcessAt", ((0.95, 3.4), (0.95, 2.71)), (0.3, 3.52), "left"),
        Move("", "pending", "Enqueue", ((3.6, 3.4), (3.6, 2.71)), (3.6, 3.52)),
        Move("scheduled", "pending", "processAt", ((1.6, 2.5), (2.95, 2.5)), (2.28, 2.61), alone=True),
        Move("pending", "active", "claim and start", ((4.25, 2.5), (5.85, 2.5)), (5.05, 2.62)),
        Move("active", "completed", "complete, with Retention", ((7.15, 2.58), (8.95, 2.58)), (8.05, 2.7)),
        Move("active", "", "complete: gone", ((6.5, 2.71), (6.5, 3.4)), (6.5, 3.52)),
        Move("active", "retry", "fail, retries left", ((6.35, 2.29), (6.3, 1.6), (6.1, 1.3), (5.75, 1.3)), (6.3, 1.42), "left"),
        Move(
            "retry",
            "pending",
            "nextRetryAt",
            ((4.45, 1.3), (3.8, 1.3), (3.65, 1.7), (3.65, 2.29)),
            (3.95, 1.85),
            "left",
            alone=True,
        ),
        Move("active", "archived", "fail, none left", ((7.0, 2.29), (7.5, 1.7), (8.2, 1.34), (8.95, 1.32)), (7.75, 1.78), "left"),
        Move("archived", "pending", "RunTask", ((9.2, 1.09), (8.0, 0.5), (2.6, 0.1), (3.45, 2.29)), (6.6, 0.48)),
    ),
    (
        "Dashed: internal steps of the engine. failed, cancelled and expired jobs are shown as archived, too; they do not run again.",
    ),
    (10.6, 3.75),
)

HORSIES = Machine(
    {
        "PENDING": State(0.95, 2.4, WAITS),
        "CLAIMED": State(3.8, 2.4, HELD),
        "RUNNING": State(6.5, 2.4, HELD),
        "COMPLETED": State(9.3, 2.4, GOOD),
        "FAILED": State(9.3, 1.5, BAD),
        "CANCELLED": State(9.3, 0.5, BAD),
        "EXPIRED": State(3.8, 0.5, BAD),
    },
    (
        Move("", "PENDING", "send, schedule", ((0.95, 3.3), (0.95, 2.61)), (1.05, 3.2), "left"),
        Move("PENDING", "CLAIMED", "claim", ((1.6, 2.48), (3.15, 2.48)), (2.38, 2.6)),
        Move("CLAIMED", "PENDING", "release, lease expires", ((3.15, 2.32), (1.6, 2.32)), (2.38, 2.2)),
        Move("CLAIMED", "RUNNING", "start", ((4.45, 2.4), (5.85, 2.4)), (5.15, 2.52)),
        Move("RUNNING", "COMPLETED", "complete", ((7.15, 2.4), (8.65, 2.4)), (7.9, 2.52)),
        Move("RUNNING", "FAILED", "fail, none left", ((6.9, 2.19), (7.3, 1.7), (7.9, 1.5), (8.65, 1.5)), (7.55, 1.82), "left"),
        Move("RUNNING", "PENDING", "fail, retries left", ((6.2, 2.61), (5.6, 3.35), (1.9, 3.35), (1.25, 2.61)), (3.8, 3.3)),
        Move("PENDING", "EXPIRED", "goodUntil", ((1.1, 2.19), (1.3, 1.2), (2.2, 0.5), (3.15, 0.5)), (1.75, 0.62), alone=True),
        Move("CLAIMED", "EXPIRED", "goodUntil", ((3.8, 2.19), (3.8, 0.71)), (3.9, 1.4), "left", alone=True),
    ),
    ("Dashed: internal steps of the engine. PENDING, CLAIMED and RUNNING become CANCELLED by cancel.",),
    (10.2, 3.5),
)

PICTURES = {"jobs.svg": JOBS, "jobs_asynq.svg": ASYNQ, "jobs_horsies.svg": HORSIES}


def _box(axes: Axes, name: str, state: State) -> None:
    """A state."""
    corner = (state.x - WIDE / 2, state.y - HIGH / 2)
    shape = "round,pad=0,rounding_size=0.08"
    axes.add_patch(FancyBboxPatch(corner, WIDE, HIGH, boxstyle=shape, facecolor=state.colour, edgecolor=LINE, linewidth=1.1))
    axes.text(state.x, state.y, name, ha="center", va="center_baseline", fontsize=11.5, color=INK)


def _arrow(axes: Axes, move: Move) -> None:
    """A move, with its word."""
    codes = [Outline.MOVETO] + [Outline.LINETO if len(move.points) == 2 else Outline.CURVE4] * (len(move.points) - 1)
    line = {"linestyle": (0, (4, 2.5)) if move.alone else "solid", "color": LINE, "linewidth": 1.2}
    tip = "-|>,head_length=5,head_width=2.4"
    axes.add_patch(FancyArrowPatch(path=Outline(move.points, codes), arrowstyle=tip, mutation_scale=1, **line))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axes.text(*move.at, move.word, ha=move.side, va="center_baseline", fontsize=9.5, color=WORD, bbox=box)


def draw(machine: Machine, to: Path) -> None:
    """Draws one, with texts as texts, and the same bytes every time."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "jobs", "font.family": ["DejaVu Sans", "sans-serif"]}):
        wide, high = machine.size
        foot = 0.26 * len(machine.below) + 0.1
        figure = Figure(figsize=(wide, high + foot))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(-foot, high))
        axes.set_axis_off()
        for move in machine.moves:
            _arrow(axes, move)
        for name, state in machine.states.items():
            _box(axes, name, state)
        for row, words in enumerate(machine.below):
            axes.text(0.3, -0.08 - 0.26 * row, words, va="center_baseline", fontsize=9.5, color=FAINT)
        figure.savefig(to, metadata={"Date": None} if to.suffix == ".svg" else None)


if __name__ == "__main__":
    for name, machine in PICTURES.items():
        draw(machine, Path(__file__).parent / name)
