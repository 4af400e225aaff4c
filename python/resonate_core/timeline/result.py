"""What `timeline` returns: a figure that shows itself in a notebook, as a widget or as a picture."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from resonate_core.notebook.widget_view import picture_html, publish, view_of
from resonate_core.timeline.fork_slider import widget_of
from resonate_core.timeline.page import timeline_page, write_page

if TYPE_CHECKING:
    from resonate_core.history import Source
    from resonate_core.timeline.widget import TimelineWidget

__all__ = ["Timeline"]


class Timeline(Figure):
    """A figure that shows itself in a notebook, with or without pyplot: as a widget if anywidget is installed, else as a picture.

    The picture is always there too, so that a notebook that is exported or read without its program shows it.
    """

    data_of: Callable[[], dict[str, Any]]
    source: Source

    @property
    def data(self) -> dict[str, Any]:
        """The timeline as JSON-able data, as `timeline_data` returns it."""
        return self.data_of()

    def widget(self) -> TimelineWidget:
        """Return the interactive timeline.

        Raises:
            ModuleNotFoundError: anywidget is not installed; the extra `notebook` brings it.
        """
        return widget_of(self.data, self.source, lambda: self)

    def export_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the interactive timeline as one page that needs no network, with the static picture for readers without scripts.

        Args:
            path: The file to write; None to return the text only.
        """
        return write_page(timeline_page(self.data, self.svg()), path)

    def svg(self) -> str:
        """Return the static picture as SVG."""
        written = io.StringIO()
        self.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        return written.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        svg = self.svg()
        return f"<div>{svg[svg.index('<svg') :]}</div>"

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png", bbox_inches="tight", dpi=110)
        return written.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The widget, if anywidget is installed; pictures are returned for their own MIME types only."""
        widget = self._widget_if_installed()
        return {} if widget is None else view_of(widget)

    def _ipython_display_(self) -> None:
        """The widget and the picture as outputs of their own, so that each export shows the picture."""
        publish(self._widget_if_installed(), self.still())

    def still(self) -> dict[str, str]:
        """Return the picture as a MIME bundle, for exports and for readers without scripts.

        It has no SVG: an export as LaTeX converts every SVG, also beside a PNG, and fails without Inkscape.
        """
        png = self._repr_png_()
        return {
            "text/html": picture_html(png, self.axes[0].get_title(loc="left") or "Timeline"),
            "image/png": base64.b64encode(png).decode(),
            "text/plain": repr(self),
        }

    def _widget_if_installed(self) -> TimelineWidget | None:
        try:
            return self.widget()
        except ModuleNotFoundError:
            return None
