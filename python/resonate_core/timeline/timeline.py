"""Pictures of promises, tasks and jobs over time: a figure, a page, a widget."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from resonate_core.base.extras import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_core._core import Store
    from resonate_core.history import History, Source
    from resonate_core.timeline.data import Event
    from resonate_core.timeline.result import Timeline
    from resonate_core.timeline.widget import TimelineWidget

__all__ = ["explore", "export_html", "timeline", "timeline_data"]


def timeline(
    source: Source,
    *,
    ids: str | None = None,
    start: int | None = None,
    end: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    events: Iterable[Event] = (),
    most_rows: int = 60,
) -> Timeline:
    """Draws promises, tasks and jobs over time: a row for each, leases and attempts as bars, internal steps as marks.

    The band of a row is the time while the promise is pending. It ends with a stroke in the colour of the outcome, and a thin line of
    that colour follows. A bar on the band is a lease, in the colour of its holder (a tick if the lease had no length); a thin line is
    the time while the task is suspended. Marks are internal steps and refused requests. An arrow goes from a settled promise to
    the task that it resumed. Promises that a schedule made and that no worker took are in the schedule's row.

    The bars of a job are its attempts, in the colour of the worker; the mark at the end of a bar is the outcome. A thin bar is a claim
    before its start. The lines between the bars are waits: for an instant, for a claim, for a retry, or for a person.

    The colour of a worker depends on its name alone, so that it is the same in each picture. If there are more rows than `most_rows`,
    rows of one schedule, of one type of job, or with ids that differ only in a number are folded to one row, which shows how many of
    them ran, waited, ended well and failed. A line below the picture has the number of rows that are still left out.

    Args:
        source: A trace (the path of a file, its lines, or the `io.StringIO` that it was recorded to), or a `Store`. A store does not
            know the past: the picture then has the life of each promise and the present leases.
        ids: A pattern in which `*` stands for any run of characters; None for all.
        start: The first instant to draw, in Unix ms; None for the first of the source.
        end: The last instant to draw; None for the last of the source.
        title: The title above the picture.
        ax: Axes of matplotlib to draw on; None for a figure of its own.
        events: What happened beside the recording, such as an outage, as `timeline_data` takes it.
        most_rows: The maximum of rows.

    Returns:
        The figure. It has `savefig`, `data`, `widget()` and `export_html(path)`. In a notebook it shows itself: as the interactive
        widget if anywidget is installed, else as a picture. With `ax`, it is the figure of these axes.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the extra `notebook` brings it.
        Invalid: `source` is no trace, `events` has an item that is no event, or `most_rows` is below 1.

    Example:
        >>> import io
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> trace = io.StringIO()
        >>> with store.record(trace):
        ...     _ = store.tasks.create("job", pid="w1", ttl=1000, timeout=60_000, target="poll://any@workers")
        ...     _ = clock.advance(5000)
        ...     _ = store.jobs.enqueue("email:send", id="mail-1")
        >>> [row.get_text() for row in rc.display.timeline(trace).axes[0].get_yticklabels()]
        ['job', 'mail-1']
    """
    try:
        from resonate_core.timeline.figure import draw
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        message = f"timeline draws with matplotlib, which is not installed: {how_to_install('notebook')}"
        raise ModuleNotFoundError(message, name=error.name) from error
    figure: Any = draw(source, ids, start, end, title, ax, events, most_rows)
    return figure  # type: ignore[no-any-return]


def export_html(
    source: Source | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    *,
    ids: str | None = None,
    start: int | None = None,
    end: int | None = None,
    title: str | None = None,
    events: Iterable[Event] = (),
) -> str:
    """Return the interactive timeline as one page that needs no network and no extra: its data, modules and style are inside.

    Args:
        source: A trace or a store, as `timeline` takes it, or what `timeline_data` returned.
        path: The file to write; None to return the text only.
        ids: A pattern in which `*` stands for any run of characters; None for all.
        start: The first instant, in Unix ms; None for the first of the source.
        end: The last instant; None for the last of the source.
        title: The title of the page.
        events: What happened beside the recording, as `timeline_data` takes it.

    Raises:
        Invalid: The source is no trace, or an event is none.
        OSError: The file cannot be written.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("mail", id="m")
        >>> page = rc.display.export_html(store, title="One mail")
        >>> "<title>One mail</title>" in page, "Content-Security-Policy" in page
        (True, True)
    """
    from resonate_core.timeline.page import timeline_page, write_page

    if isinstance(source, Mapping):
        data: dict[str, Any] = {str(key): value for key, value in source.items()}
        data["title"] = title or data.get("title")
    else:
        data = timeline_data(source, ids=ids, start=start, end=end, title=title, events=events)
    return write_page(timeline_page(data), path)


def timeline_data(
    source: Source | History,
    *,
    ids: str | None = None,
    start: int | None = None,
    end: int | None = None,
    title: str | None = None,
    events: Iterable[Event] = (),
    most_rows: int = 2000,
) -> dict[str, Any]:
    """Return what happened over time as JSON-able data, for the interactive timeline.

    Args:
        source: A recording (a path, its lines, or the `io.StringIO` that it was recorded to), a `Store`, or a `History`.
        ids: A pattern in which `*` stands for any run of characters; None for all.
        start: The first instant, in Unix ms; None for the first of the source.
        end: The last instant; None for the last of the source.
        title: The text above the timeline.
        events: What the story says beside the recording, such as an outage: dicts of `at` and `text`, and optionally `kind`
            (`note`, `fault`, `crash`, `outage`, `deploy`), `end`, `worker` and `id`.
        most_rows: The maximum of rows. Rows that belong together (a schedule, a job type, ids that differ in a number) are left
            out first; their counts stay in `folds`, and `notes` says how many rows are missing.

    Raises:
        Invalid: The source is no trace, an event is none, `end` is before `start`, or most_rows is below 1.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("mail", id="m")
        >>> data = rc.display.timeline_data(store)
        >>> [(row["id"], row["kind"], row["changes"]) for row in data["rows"]]
        [('m', 'job', [[0, 'pending']])]
    """
    from resonate_core.timeline.data import timeline_data as data_of

    return data_of(source, ids=ids, start=start, end=end, title=title, events=events, most_rows=most_rows)


def explore(
    store: Store, horizon: timedelta | int = timedelta(days=1), *, history: Source | None = None, events: Iterable[Event] = ()
) -> TimelineWidget:
    """Return a widget that shows what will happen to a store: a clock slider moves a fork, never the store.

    Beside the timeline it shows what differs between the store and the fork, as `rc.diff` tells it. `widget.fork` is the fork: try
    something on it, then call `widget.refresh()`.

    Args:
        store: The store. A fork is taken now; later changes of the store are not seen.
        horizon: How far the clock of the fork may go: a timedelta or ms.
        history: A recording that led to the state of the store, to be shown before it.
        events: What the story says beside it, as `timeline_data` takes it.

    Raises:
        ModuleNotFoundError: anywidget is not installed; the extra `notebook` brings it.
        Invalid: The horizon is below 1 ms, or the history is no trace.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=5000, tags={"resonate:timer": "true"})
        >>> widget = rc.display.explore(store, 60_000)
        >>> widget.fork_at = 6000
        >>> widget.fork.promises.get("a").state, store.promises.get("a").state
        ('resolved', 'pending')
    """
    from resonate_core.timeline.fork_slider import widget_of_fork

    marked = list(events)

    def drawn(lines: list[str | bytes]) -> Timeline | None:
        try:
            return timeline(lines, events=marked)
        except ModuleNotFoundError:
            return None

    return widget_of_fork(store, horizon, history, marked, drawn)
