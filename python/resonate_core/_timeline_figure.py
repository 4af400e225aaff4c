"""Draws a `History` with matplotlib. Imported by `timeline` alone, since matplotlib is an extra."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matplotlib import dates, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch

from resonate_core.history import History, Life, Span

if TYPE_CHECKING:
    from resonate_core.history import Source

MOST_ROWS = 60
BANDS = {
    "pending": "#e3e8ef",
    "resolved": "#d3ead5",
    "rejected": "#f6d3cf",
    "rejected_canceled": "#e4e0da",
    "rejected_timedout": "#fbe3bd",
}
BANDS.update(
    completed=BANDS["resolved"],
    failed=BANDS["rejected"],
    cancelled=BANDS["rejected_canceled"],
    expired=BANDS["rejected_timedout"],
    deleted="#f3f3f3",
)
HOLDERS = ["#4e79a7", "#b07aa1", "#76b7b2", "#9c755f", "#59a14f", "#edc948", "#ff9da7", "#bab0ac"]
SUSPENDED = "#8a93a0"
HALTED = "#5b5b5b"
# state of a job: (colour, style of its line, what the legend says)
LINES: dict[str, tuple[str, Any, str]] = {
    "scheduled": ("#8a93a0", ":", "scheduled"),
    "pending": ("#8a93a0", "-", "waits in its queue"),
    "retry": ("#c77f2b", (0, (3, 2)), "waits for its retry"),
    "archived": ("#5b5b5b", "--", "archived"),
}
# kind: (marker, size, colour, height in the row, what the legend says)
MARKS = {
    "dispatch": ("^", 5.5, "#2f6f9f", -0.40, "dispatched"),
    "heartbeat": ("|", 6.0, "#ffffff", 0.0, "heartbeat"),
    "lease_expiry": ("X", 8.0, "#c0392b", 0.0, "lease expired"),
    "promise_timeout": ("D", 6.0, "#d08a1d", 0.0, "deadline"),
    "listener_drain": ("o", 6.0, "#3c7d5a", 0.0, "listener notified"),
    "schedule": ("d", 5.5, "#2f6f9f", 0.0, "schedule fired"),
    "schedule_set_aside": ("d", 5.5, "#c0392b", 0.0, "schedule set aside"),
    "refused": ("x", 6.0, "#c0392b", 0.36, "refused"),
    "completed": ("o", 5.5, "#3c7d5a", 0.0, "attempt completed"),
    "failed": ("X", 7.0, "#c0392b", 0.0, "attempt failed"),
    "crashed": ("P", 7.0, "#c0392b", 0.0, "worker crashed"),
    "timed_out": ("D", 6.0, "#d08a1d", 0.0, "attempt timed out"),
    "snoozed": ("<", 6.0, "#5f6f80", 0.0, "snoozed"),
    "cancelled": ("s", 5.5, "#7d7466", 0.0, "attempt cancelled"),
}
WAKE = "#7a8594"
SINCE_DATES = 631_152_000_000  # an instant before 1990 is taken as a distance from 0
UNITS = (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000), ("ms", 1))


class Timeline(Figure):
    """A figure that shows itself in a notebook, with or without pyplot."""

    def _repr_svg_(self) -> str:
        written = io.StringIO()
        self.savefig(written, format="svg", bbox_inches="tight")
        return written.getvalue()


def draw(source: Source, ids: str | None, start: int | None, end: int | None, title: str | None, ax: Axes | None) -> Figure:
    """Does what `timeline` says."""
    history = History(source)
    rows = _rows(history, ids)
    first = start if start is not None else min((life.created_at for life in rows), default=history.start or 0)
    last = max(end if end is not None else history.end, first + 1)
    if ax is None:
        figure: Figure = Timeline(figsize=(10, 1.1 + 0.42 * max(len(rows), 1)), layout="constrained")
        ax = figure.subplots()
    else:
        figure = ax.figure.figure  # the whole one, also of a part
    _Picture(ax, history, rows, first, last).draw()
    if title:
        ax.set_title(title, loc="left", fontsize=11)
    return figure


def _rows(history: History, ids: str | None) -> list[Life]:
    wanted = None if ids is None else re.compile(".*".join(re.escape(part) for part in ids.split("*")), re.DOTALL)

    def has_a_row(life: Life) -> bool:
        if wanted is not None:
            return wanted.fullmatch(life.id) is not None
        return life.schedule not in history.lives or any(span.pid for span in life.spans)

    return sorted(filter(has_a_row, history.lives.values()), key=lambda life: life.created_at)


class _Picture:
    def __init__(self, ax: Axes, history: History, rows: list[Life], first: int, last: int) -> None:
        self.ax = ax
        self.history = history
        self.cut = max(len(rows) - MOST_ROWS, 0)
        self.rows = rows[:MOST_ROWS]
        self.first, self.last = first, last
        self.place = {life.id: -row for row, life in enumerate(self.rows)}
        self.scale, self.unit = self._axis()
        self.width = self.scale(last) - self.scale(first)
        pids = (span.pid for life in self.rows for span in life.spans if span.pid is not None and self.width_of(span) > 0)
        self.colour = {pid: HOLDERS[i % len(HOLDERS)] for i, pid in enumerate(dict.fromkeys(pids))}
        self.states: dict[str, None] = {}  # what the legend explains, in order of appearance
        self.kinds: dict[str, None] = {}
        self.lines: dict[str, None] = {}

    def _axis(self) -> tuple[Callable[[int], float], str]:
        if self.first >= SINCE_DATES:
            return (lambda at: at / 86_400_000), "UTC"  # matplotlib counts days since 1970
        unit, size = next(((unit, size) for unit, size in UNITS if self.last - self.first >= 3 * size), UNITS[-1])
        return (lambda at: at / size), unit

    def x(self, at: int) -> float:
        return self.scale(min(max(at, self.first), self.last))

    def width_of(self, span: Span) -> float:
        return self.x(self.last if span.end is None else span.end) - self.x(span.start)

    def seen(self, at: int) -> bool:
        return self.first <= at <= self.last

    def draw(self) -> None:
        for life in self.rows:
            self._row(life, self.place[life.id])
        for at, settled, awaiter in self.history.wakes:
            if settled in self.place and awaiter in self.place and self.seen(at):
                self._wake(at, self.place[settled], self.place[awaiter])
        if not self.rows:
            self.ax.text(0.5, 0.5, "nothing to show", transform=self.ax.transAxes, ha="center", va="center", color=WAKE)
        self._frame()
        self._legend()

    def _bar(self, row: float, start: int, end: int, height: float, colour: str, order: float) -> None:
        left, right = self.x(start), self.x(end)
        if right > left:
            self.ax.barh(row, right - left, left=left, height=height, color=colour, edgecolor="none", zorder=order)

    def _row(self, life: Life, row: int) -> None:
        if life.timeout_at is None:
            self._schedule(life, row)
        else:
            self._life(life, row)
        if life.job is not None:
            self._ends(life, row)
        drawn: dict[str, float] = {}
        for mark in life.marks:
            if self.seen(mark.at) and self._apart(drawn, mark.kind, mark.at, 160):
                self._mark(mark.at, mark.kind, row, mark.text)

    def _apart(self, drawn: dict[str, float], kind: str, at: int, most: int) -> bool:
        """Whether it is far enough from the mark of its kind before: there may be thousands, such as repeated dispatches."""
        if self.x(at) - drawn.get(kind, float("-inf")) < self.width / most:
            return False
        drawn[kind] = self.x(at)
        return True

    def _life(self, life: Life, row: int) -> None:
        end = self.last + 1 if life.settled_at is None else life.settled_at
        if end >= self.first and life.created_at <= self.last:
            self.states.setdefault(life.state)
            self._bar(row, life.created_at, end, 0.74, BANDS[life.state], 1)
        if life.settled_at is not None and self.seen(life.settled_at):
            at = self.x(life.settled_at)
            self.ax.plot(
                [at, at], [row - 0.37, row + 0.37], color=_darker(BANDS[life.state]), linewidth=1.6, zorder=2, solid_capstyle="butt"
            )
        for span in life.spans:
            end = self.last if span.end is None else span.end
            if self.width_of(span) <= 0:
                continue
            if span.pid is not None:
                held = span.state == "claimed"  # by a worker that has not begun it
                self._bar(row, span.start, end, 0.14 if held else 0.40, self.colour[span.pid], 3)
                if not held:
                    self._holder(row, span.start, end, span.pid)
            elif life.job is not None and span.state in LINES:
                self.lines.setdefault(span.state)
                colour, dashes, _ = LINES[span.state]
                self.ax.plot([self.x(span.start), self.x(end)], [row, row], color=colour, linewidth=1.3, linestyle=dashes, zorder=2)
            elif span.state in ("suspended", "halted"):
                self.states.setdefault(span.state)
                colour, style = (SUSPENDED, ":") if span.state == "suspended" else (HALTED, "--")
                self.ax.plot([self.x(span.start), self.x(end)], [row, row], color=colour, linewidth=1.4, linestyle=style, zorder=2)

    def _ends(self, life: Life, row: int) -> None:
        """How the attempts of a job ended."""
        drawn: dict[str, float] = {}
        for span in life.spans:
            if span.outcome is None or span.end is None or not self.seen(span.end):
                continue
            if self._apart(drawn, span.outcome, span.end, 160):
                self._mark(span.end, span.outcome, row, "")

    def _holder(self, row: int, start: int, end: int, pid: str) -> None:
        width = (self.x(end) - self.x(start)) / self.width
        if width > 0.011 * (len(pid) + 2):  # it fits, more or less: nine letters take a tenth of the axes
            middle = (self.x(start) + self.x(end)) / 2
            self.ax.text(middle, row - 0.01, _short(pid), color="white", fontsize=8, ha="center", va="center", zorder=4)

    def _schedule(self, life: Life, row: int) -> None:
        end = self.last if life.settled_at is None else life.settled_at
        self.ax.plot([self.x(life.created_at), self.x(end)], [row, row], color="#b9c3cf", linewidth=1, zorder=1)
        drawn: dict[str, float] = {}
        for made in self.history.lives.values():
            if made.schedule == life.id and made.id not in self.place and self._apart(drawn, made.state, made.created_at, 400):
                self._life(made, row)

    def _mark(self, at: int, kind: str, row: int, text: str) -> None:
        marker, size, colour, height, _ = MARKS[kind]
        self.kinds.setdefault(kind)
        edge = colour if kind in ("heartbeat", "refused") else "white"
        at_x, at_y, width = self.x(at), row + height, 1.4 if edge == colour else 0.7
        style = Line2D([at_x], [at_y], color=colour, marker=marker, zorder=5, clip_on=False)
        style.set(markersize=size, markeredgecolor=edge, markeredgewidth=width)
        self.ax.add_line(style)
        if text:
            note = self.ax.annotate(text, (at_x, at_y), xytext=(6, -1), textcoords="offset points", fontsize=7, color=colour)
            note.set(verticalalignment="center", zorder=6)

    def _wake(self, at: int, settled: int, awaiter: int) -> None:
        self.kinds.setdefault("wake")
        ends = ((self.x(at), settled), (self.x(at), awaiter))
        self.ax.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=10, shrinkB=0, color=WAKE, linewidth=1, zorder=4))

    def _frame(self) -> None:
        self.ax.set_yticks([-row for row in range(len(self.rows))], [_short(life.id) for life in self.rows], fontsize=9)
        self.ax.set_ylim(-max(len(self.rows), 1) + 0.4, 0.6)
        margin = self.width * 0.015
        self.ax.set_xlim(self.scale(self.first) - margin, self.scale(self.last) + margin)
        if self.unit == "UTC":
            locator = dates.AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
            self.ax.xaxis.set_major_locator(locator)
            self.ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        else:
            self.ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins=10, steps=[1, 2, 5, 10]))
        unit = self.unit if not self.cut else f"{self.unit}   ({self.cut} more rows are not shown)"
        self.ax.set_xlabel(unit, fontsize=9, loc="left" if self.unit == "UTC" else "right")  # at the right stands the date
        self.ax.tick_params(axis="x", labelsize=8)
        self.ax.tick_params(axis="y", length=0)
        self.ax.grid(axis="x", color="#eceff3", zorder=0)
        self.ax.set_axisbelow(True)
        for side in ("top", "right", "left"):
            self.ax.spines[side].set_visible(False)

    def _legend(self) -> None:
        handles: list[Patch | Line2D] = []
        for pid, colour in self.colour.items():
            handles.append(Patch(color=colour, label=f"held by {_short(pid, 16)}"))
        for state in sorted(self.states, key=lambda state: state in ("suspended", "halted")):
            if state == "suspended":
                handles.append(Line2D([], [], color=SUSPENDED, linestyle=":", label="suspended"))
            elif state == "halted":
                handles.append(Line2D([], [], color=HALTED, linestyle="--", label="halted"))
            else:
                handles.append(Patch(color=BANDS[state], label=state))
        for state in sorted(self.lines, key=list(LINES).index):
            colour, dashes, label = LINES[state]
            handles.append(Line2D([], [], color=colour, linestyle=dashes, label=label))
        for kind in self.kinds:
            if kind == "wake":
                handles.append(
                    Line2D(
                        [0, 1], [0, 0], color=WAKE, marker=">", markersize=5, markevery=[1], linewidth=1, label="wakes its awaiter"
                    )
                )
            else:
                marker, size, colour, _, label = MARKS[kind]
                colour = "#888888" if kind == "heartbeat" else colour
                handles.append(Line2D([], [], color=colour, marker=marker, markersize=size, linestyle="", label=label))
        if handles:
            self.ax.legend(
                handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.02), fontsize=8, frameon=False, borderaxespad=0
            )


def _short(text: str, most: int = 28) -> str:
    shown = text.replace("$", r"\$")
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _darker(colour: str) -> str:
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{int(channel * 0.72):02x}" for channel in channels)
