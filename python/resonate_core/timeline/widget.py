"""The interactive timeline in a notebook. Imported only where it is shown, since anywidget is an extra."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import traitlets

from resonate_core._core import Store
from resonate_core.notebook.js_bundle import bundle, stylesheet
from resonate_core.notebook.widget import PicturedWidget
from resonate_core.notebook.widget_view import HIDE_STILLS, Picture
from resonate_core.timeline.page import timeline_page, write_page

__all__ = ["TimelineWidget"]

_MODULE = f"""{HIDE_STILLS}
export default {{
  render({{ model, el }}) {{
    const end = views["timeline_widget.js"].render({{ model, el }});
    const hidden = hideStills(model);
    return () => {{
      hidden.remove();
      end();
    }};
  }},
}};
"""


class TimelineWidget(PicturedWidget):
    """A timeline with jobs and workers, zoom and a cursor; of a store also with a clock that moves a fork.

    Its traits are synchronized: assign `at`, `range`, `selected`, `mode` or `filter` to move it, or observe what a reader does.

    Attributes:
        data: The timeline, as `timeline_data` returns it.
        at: The instant of the cursor, in Unix ms; None for the end.
        range: The first and last instant in view; None for all.
        selected: The id of the selected row; None for none.
        mode: `rows`, `workers` or `table`.
        filter: A part of an id, a type or a worker.
        fork_at: The instant of the fork, in Unix ms. Assign it to move the fork; never earlier than the store.
        horizon: The first and last instant of the fork's clock; None if there is no store.
        diff: What differs between the store and the fork, as `rc.diff(store, fork).to_dict()` returns it.
        problem: Why the fork could not be moved; empty if it could.
    """

    _esm = bundle("timeline_widget.js") + _MODULE
    _css = stylesheet("timeline.css", "timeline_widget.css", "diff.css")

    data = traitlets.Dict().tag(sync=True)
    at = traitlets.Int(None, allow_none=True).tag(sync=True)
    range: Any = traitlets.List(default_value=None, allow_none=True).tag(sync=True)
    selected = traitlets.Unicode(None, allow_none=True).tag(sync=True)
    mode = traitlets.Enum(["rows", "workers", "table"], "rows").tag(sync=True)
    filter = traitlets.Unicode("").tag(sync=True)
    fork_at = traitlets.Int(None, allow_none=True).tag(sync=True)
    horizon: Any = traitlets.List(default_value=None, allow_none=True).tag(sync=True)
    next_due = traitlets.Int(None, allow_none=True).tag(sync=True)
    diff = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        data: dict[str, Any],
        mover: Callable[[int | None], dict[str, Any]] | None = None,
        picture: Callable[[], Picture | None] | None = None,
        **traits: Any,
    ) -> None:
        self._mover = mover
        self._picture = picture
        super().__init__(data=data, **traits)
        if mover is not None:
            self._take(mover(None))
            self.observe(self._moved, names="fork_at")

    @property
    def fork(self) -> Store | None:
        """The fork at the instant of its clock, to look into or to try something on; call `refresh` to show that."""
        return getattr(self._mover, "fork", None)

    def refresh(self) -> None:
        """Show what a program has changed in the fork."""
        if self._mover is not None:
            self._take(self._mover(self.fork_at))

    def export_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return what is shown as one page that needs no network; `path` is the file to write, if any."""
        return write_page(timeline_page(self.data), path)

    def _repr_html_(self) -> str | None:
        """The static picture, for an exported notebook and for a front end without widgets."""
        figure = self._figure()
        return None if figure is None else figure._repr_html_()

    def _still(self) -> dict[str, str] | None:
        figure = self._figure()
        return None if figure is None else figure.still()

    def _figure(self) -> Picture | None:
        return None if self._picture is None else self._picture()

    def _moved(self, change: Any) -> None:
        if change["new"] is not None and self._mover is not None:
            self._take(self._mover(change["new"]))

    def _take(self, state: dict[str, Any]) -> None:
        with self.hold_sync():
            for name, value in state.items():
                setattr(self, name, value)
