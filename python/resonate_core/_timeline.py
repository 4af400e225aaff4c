"""A picture of promises, tasks and jobs over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resonate_core._extras import how_to_install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from resonate_core.history import Source

__all__ = ["timeline"]


def timeline(
    source: Source,
    *,
    ids: str | None = None,
    start: int | None = None,
    end: int | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draws promises, tasks and jobs over time: a row for each, leases and attempts as bars, internal steps as marks.

    The band of a row is the promise's life, from its creation to its settlement, in the colour of what became of it. On it, a bar for
    each lease in the colour of its holder, and a thin line while the task is suspended; marks say what the engine did and what it
    refused. An arrow goes from a settled promise to the task that it woke. Promises that a schedule made and that no worker took stand
    in the schedule's row.

    Of a job the bars are its attempts, in the colour of the worker; a mark at their end says how they ended. A thin bar is a claim
    before its start. The lines between say what the job waits for: its time, its turn in the queue, its retry, or a person.

    Args:
        source: A trace (the path of a file, its lines, or the `io.StringIO` that it was recorded to), or a `Store`, which does not
            know the past: each promise's life and the leases of now.
        ids: A pattern in which `*` stands for any run of characters; None for all. More than 60 rows are cut.
        start: The first instant to draw, in Unix ms; None for the first of the source.
        end: The last instant to draw; None for the last of the source.
        title: What stands above it.
        ax: Axes of matplotlib to draw on; None for a figure of its own.

    Returns:
        The figure, which shows itself in a notebook and has `savefig`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed; the extra `notebook` brings it.
        Invalid: The source is no trace.

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
        from resonate_core import _timeline_figure
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        message = f"timeline draws with matplotlib, which is not installed: {how_to_install('notebook')}"
        raise ModuleNotFoundError(message, name=error.name) from error
    return _timeline_figure.draw(source, ids, start, end, title, ax)
