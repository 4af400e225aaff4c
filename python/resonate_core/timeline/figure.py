"""Draws a `History` with matplotlib. Imported by `timeline` alone, since matplotlib is an extra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from matplotlib import dates, ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from resonate_core.errors import Invalid
from resonate_core.history import History, Life, Span
from resonate_core.timeline.data import DATES_FROM, extent, lives_between, name_of, story_events, timeline_data, worker_colour
from resonate_core.timeline.folds import Fold, fold_data, folds_of
from resonate_core.timeline.legend import legend_of, short
from resonate_core.timeline.result import Timeline
from resonate_core.timeline.style import BAND, ENDS, EVENTS, HALTED, HATCHES, LINES, MARKS, SUSPENDED, WAKE, WORKERS

if TYPE_CHECKING:
    from resonate_core.history import Source
    from resonate_core.timeline.data import Event

LEGEND_LINE = 0.18  # inches
UNITS = (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000), ("ms", 1))


def draw(
    source: Source,
    ids: str | None,
    start: int | None,
    end: int | None,
    title: str | None,
    ax: Axes | None,
    events: Iterable[Event],
    most_rows: int,
) -> Figure:
    """Does what `timeline` says."""
    if most_rows < 1:
        raise Invalid(f"most_rows must be at least 1, got {most_rows}")
    events = story_events(events)
    history = History(source)
    first, last = extent(history, ids, start, end)
    last = max(last, first + 1)
    lives = lives_between(history, ids, first, last)
    rows = _folded(lives) if len(lives) > most_rows else _own_rows(lives, history)
    if ax is None:
        figure: Figure = Timeline(figsize=(10, 1.1 + 0.42 * max(min(len(rows), most_rows), 1)), layout="constrained")
        ax = figure.subplots()
        figure.data_of = lambda: timeline_data(  # type: ignore[attr-defined]
            history, ids=ids, start=start, end=end, title=title, events=events
        )
        figure.source = source  # type: ignore[attr-defined]
    else:
        figure = ax.figure.figure  # the whole one, also of a part
    picture = _Picture(ax, history, rows, first, last, events, most_rows)
    picture.draw()
    if isinstance(figure, Timeline):
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, max(height, 0.5 + LEGEND_LINE * picture.legend_lines))
    if title:
        ax.set_title(short(title, 120), loc="left", fontsize=11, pad=18 if picture.has_notes else 6)
    return figure


def _own_rows(lives: list[Life], history: History) -> list[Life | Fold]:
    """Return the rows without promises that are shown in the row of their schedule, since no worker acquired them."""
    here = {life.id for life in lives}
    return [life for life in lives if life.schedule not in here or life.job is not None or any(span.pid for span in life.spans)]


def _folded(lives: list[Life]) -> list[Life | Fold]:
    """Fold rows that belong together into one, in the place of their schedule or of the first of them."""
    schedules = {life.id: life for life in lives if life.timeout_at is None}
    found = folds_of(lives)
    folds = {id(schedules.get(fold.label, fold.members[0]) if fold.kind == "schedule" else fold.members[0]): fold for fold in found}
    members = {id(life) for fold in found for life in fold.members}
    rows: list[Life | Fold] = []
    for life in lives:
        if id(life) in folds:
            rows.append(folds[id(life)])
        elif id(life) not in members:
            rows.append(life)
    return rows


class _Picture:
    def __init__(
        self,
        ax: Axes,
        history: History,
        rows: list[Life | Fold],
        first: int,
        last: int,
        events: list[dict[str, Any]],
        most_rows: int,
    ) -> None:
        self.ax = ax
        self.history = history
        self.cut = rows[most_rows:]
        self.rows = rows[:most_rows]
        self.first, self.last = first, last
        self.events = events
        self.place = {row.id: -number for number, row in enumerate(self.rows) if isinstance(row, Life)}
        self.scale, self.unit = self._axis()
        self.width = self.scale(last) - self.scale(first)
        self.workers = self._workers()
        self.states: dict[str, None] = {}  # what the legend explains, in order of appearance
        self.kinds: dict[str, None] = {}
        self.lines: dict[str, None] = {}
        self.folds = False
        self.has_notes = False  # whether texts of events stand above it
        self.legend_lines = 0

    def _axis(self) -> tuple[Callable[[int], float], str]:
        if self.first >= DATES_FROM:
            return (lambda at: at / 86_400_000), "UTC"  # matplotlib counts days since 1970
        unit, size = next(((unit, size) for unit, size in UNITS if self.last - self.first >= 3 * size), UNITS[-1])
        return (lambda at: at / size), unit

    def _workers(self) -> dict[str, tuple[str, str]]:
        """Return the colour and the hatch of each worker in the picture: workers with the same colour differ by their hatch."""
        lives = [row for row in self.rows if isinstance(row, Life)]
        seen = dict.fromkeys(
            span.pid
            for life in lives
            for span in life.spans
            if span.pid is not None and self.seen_between(span.start, self.end_of(span))
        )
        taken: dict[int, int] = {}
        looks = {}
        for pid in sorted(seen):
            colour = worker_colour(pid)
            looks[pid] = WORKERS[colour], HATCHES[taken.get(colour, 0) % len(HATCHES)]
            taken[colour] = taken.get(colour, 0) + 1
        return {pid: looks[pid] for pid in seen}

    def end_of(self, span: Span) -> int:
        return self.last if span.end is None else span.end

    def x(self, at: int) -> float:
        return self.scale(min(max(at, self.first), self.last))

    def seen(self, at: int) -> bool:
        return self.first <= at <= self.last

    def seen_between(self, start: int, end: int) -> bool:
        return start <= self.last and end >= self.first

    def draw(self) -> None:
        for number, row in enumerate(self.rows):
            if isinstance(row, Fold):
                self._fold(row, -number)
            else:
                self._row(row, -number)
        for at, settled, awaiter in self.history.wakes:
            if settled in self.place and awaiter in self.place and self.seen(at):
                self._wake(at, self.place[settled], self.place[awaiter])
        for event in self.events:
            self._event(event)
        if not self.rows:
            self.ax.text(0.5, 0.5, "nothing to show", transform=self.ax.transAxes, ha="center", va="center", color=WAKE)
        self._frame()
        self.legend_lines = legend_of(self)

    # --- rows ---------------------------------------------------------------------------------------------------------------

    def _bar(self, row: float, start: int, end: int, height: float, colour: str, order: float, hatch: str = "") -> None:
        left, right = self.x(start), self.x(end)
        if right > left:
            bars = self.ax.barh(row, right - left, left=left, height=height, color=colour, linewidth=0, zorder=order)
            if hatch:
                bars[0].set(hatch=hatch, edgecolor="#ffffffb0")

    def _row(self, life: Life, row: int) -> None:
        if life.timeout_at is None:
            self._schedule(life, row)
        else:
            self._life(life, row)
        if life.job is not None or life.of_workflow is not None:
            self._outcomes(life, row)
        drawn: dict[str, float] = {}
        for mark in life.marks:
            if self.seen(mark.at) and self._apart(drawn, mark.kind, mark.at, 160):
                self._mark(mark.at, mark.kind, row, mark.text)

    def _apart(self, drawn: dict[str, float], kind: str, at: int, most: int) -> bool:
        """Whether a mark is far enough from the one before it of its kind: there may be thousands, such as repeated dispatches."""
        if self.x(at) - drawn.get(kind, float("-inf")) < self.width / most:
            return False
        drawn[kind] = self.x(at)
        return True

    def _life(self, life: Life, row: int) -> None:
        self._states(life, row)
        drawn: dict[str, float] = {}
        for span in life.spans:
            end = self.end_of(span)
            if not self.seen_between(span.start, end):
                continue
            if span.pid is not None:
                self._held(row, span, end, drawn)
            elif span.start == end:
                continue
            elif (life.job is not None or life.of_workflow is not None) and span.state in LINES:
                self.lines.setdefault(span.state)
                colour, dashes, _ = LINES[span.state]
                self.ax.plot([self.x(span.start), self.x(end)], [row, row], color=colour, linewidth=1.3, linestyle=dashes, zorder=2)
            elif span.state in ("suspended", "halted"):
                self.states.setdefault(span.state)
                colour, style = (SUSPENDED, ":") if span.state == "suspended" else (HALTED, "--")
                self.ax.plot([self.x(span.start), self.x(end)], [row, row], color=colour, linewidth=1.4, linestyle=style, zorder=2)

    def _states(self, life: Life, row: int) -> None:
        """Draw the state over time: a band while it is pending, a bar at its end, and a thin line in the colour of its state after that."""
        changes = life.changes
        for place, (at, state) in enumerate(changes):
            until = changes[place + 1][0] if place + 1 < len(changes) else self.last
            if not self.seen_between(at, until):
                continue
            self.states.setdefault(state)
            if state == "pending":
                self._bar(row, at, until, 0.74, BAND, 1)
                continue
            if state != "deleted":
                self._bar(row, at, until, 0.1, ENDS[state] + "80", 1)
            if self.seen(at):
                where = [self.x(at)] * 2
                self.ax.plot(where, [row - 0.37, row + 0.37], color=ENDS[state], linewidth=2.4, zorder=2.5, solid_capstyle="butt")

    def _held(self, row: int, span: Span, end: int, drawn: dict[str, float]) -> None:
        claimed = span.state == "claimed"  # by a worker that has not begun it
        colour, hatch = self.workers[str(span.pid)]
        if self.x(end) - self.x(span.start) < self.width / 800:  # also of no time at all
            if self._apart(drawn, str(span.pid), span.start, 800):
                high = 0.12 if claimed else 0.26
                where = [self.x(span.start)] * 2
                self.ax.plot(where, [row - high, row + high], color=colour, linewidth=1.8, zorder=3, solid_capstyle="butt")
            return
        self._bar(row, span.start, end, 0.14 if claimed else 0.40, colour, 3, hatch)
        if not claimed:
            self._holder(row, span.start, end, str(span.pid), colour)

    def _holder(self, row: int, start: int, end: int, pid: str, back: str) -> None:
        width = (self.x(end) - self.x(start)) / self.width
        if width > 0.011 * (len(pid) + 2):  # it fits, more or less: nine letters take a tenth of the axes
            middle = (self.x(start) + self.x(end)) / 2
            text = self.ax.text(middle, row - 0.01, short(pid), color="white", fontsize=8, ha="center", va="center", zorder=6)
            text.set_bbox({"facecolor": back, "edgecolor": "none", "pad": 0.8})  # above heartbeats and hatches

    def _outcomes(self, life: Life, row: int) -> None:
        """Draw how the attempts of a job ended."""
        drawn: dict[str, float] = {}
        for span in life.spans:
            if span.outcome is None or span.end is None or not self.seen(span.end):
                continue
            if self._apart(drawn, span.outcome, span.end, 160):
                self._mark(span.end, span.outcome, row, "")

    def _schedule(self, life: Life, row: int) -> None:
        end = self.last if life.settled_at is None else life.settled_at
        self.ax.plot([self.x(life.created_at), self.x(end)], [row, row], color="#b9c3cf", linewidth=1, zorder=1)
        drawn: dict[str, float] = {}
        for made in self.history.lives.values():
            if made.schedule == life.id and made.id not in self.place and self._apart(drawn, made.state, made.created_at, 400):
                self._life(made, row)

    def _fold(self, fold: Fold, row: int) -> None:
        """Draw a fold: how many members run (area) and wait (line), which succeeded (below) and which failed (below that)."""
        self.folds = True
        data = fold_data(fold, self.first, self.last)
        edges = [self.x(self.first + place * data["step"]) for place in range(len(data["running"]) + 1)]
        most = max(1.0, *data["running"], *data["waiting"])
        for name, is_area in (("running", True), ("waiting", False)):
            heights = [row - 0.16 + 0.54 * value / most for value in data[name]]
            if is_area:
                self.ax.stairs(heights, edges, baseline=row - 0.16, fill=True, color="#7da7d9", zorder=2)
            else:
                self.ax.stairs(heights, edges, baseline=None, color="#5f6f80", linewidth=0.8, zorder=3)
        for name, colour, base in (("done", ENDS["completed"], row - 0.28), ("failed", ENDS["failed"], row - 0.42)):
            worst = max(1, *data[name])
            places = [place for place, count in enumerate(data[name]) if count]
            left = [edges[place] for place in places]
            high = [0.03 + 0.09 * data[name][place] / worst for place in places]
            widths = [max(edges[place + 1] - edges[place], self.width / 400) for place in places]
            self.ax.bar(left, high, width=widths, bottom=base, align="edge", color=colour, linewidth=0, zorder=2)

    # --- marks --------------------------------------------------------------------------------------------------------------

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

    def _event(self, event: Mapping[str, Any]) -> None:
        """Draw a line of the story across all rows."""
        end = event.get("end", event["at"])
        if not self.seen_between(event["at"], end):
            return
        colour = EVENTS.get(event["kind"], EVENTS["note"])
        left, right = self.x(event["at"]), self.x(end)
        if right > left:
            self.ax.axvspan(left, right, color=colour, alpha=0.13, linewidth=0, zorder=0.5)
        else:
            self.ax.axvline(left, color=colour, linewidth=1.2, alpha=0.7, zorder=0.5)
        self.has_notes = True
        place = self.ax.get_xaxis_transform()
        note = self.ax.text(left, 1.0, short(event["text"], 60), transform=place, color=colour, fontsize=8, va="bottom")
        if left > self.scale(self.first) + 0.85 * self.width:
            note.set_horizontalalignment("right")

    # --- frame --------------------------------------------------------------------------------------------------------------

    def _frame(self) -> None:
        self.ax.set_yticks([-row for row in range(len(self.rows))], [_name(row) for row in self.rows], fontsize=9)
        self.ax.set_ylim(-max(len(self.rows), 1) + 0.4, 0.6)
        margin = self.width * 0.015
        self.ax.set_xlim(self.scale(self.first) - margin, self.scale(self.last) + margin)
        if self.unit == "UTC":
            locator = dates.AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
            self.ax.xaxis.set_major_locator(locator)
            self.ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        else:
            self.ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins=10, steps=[1, 2, 5, 10]))
        unit = self.unit if not self.cut else f"{self.unit}   ({self._left_out()})"
        self.ax.set_xlabel(unit, fontsize=9, loc="left" if self.unit == "UTC" else "right")  # at the right stands the date
        self.ax.tick_params(axis="x", labelsize=8)
        self.ax.tick_params(axis="y", length=0)
        self.ax.grid(axis="x", color="#eceff3", zorder=0)
        self.ax.set_axisbelow(True)
        for side in ("top", "right", "left"):
            self.ax.spines[side].set_visible(False)

    def _left_out(self) -> str:
        members = sum(len(row.members) if isinstance(row, Fold) else 1 for row in self.cut)
        return f"{members:,} more row{'' if members == 1 else 's'} {'is' if members == 1 else 'are'} not shown"


def _name(row: Life | Fold) -> str:
    if isinstance(row, Life):
        name = name_of(row)
        return short(row.id) if name is None else f"{short(name, 20)} {short(row.id, 16)}"
    return f"{short(row.label, 20)} × {len(row.members):,}"
