"""A widget with a picture. Imported only where one is shown, since anywidget is an extra."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from .widget_view import new_still, publish

__all__ = ["PicturedWidget"]


class PicturedWidget(anywidget.AnyWidget):
    """A widget with a picture.

    Attributes:
        still: The class of its pictures in the page, which it hides while it runs.
    """

    still = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(still=new_still(), **traits)

    def _ipython_display_(self) -> None:
        """The widget and its picture as outputs of their own, so that each export shows the picture."""
        picture = self._still()
        if picture is None:
            raise NotImplementedError("there is no picture")
        publish(self, picture)

    def _still(self) -> dict[str, str] | None:
        raise NotImplementedError
