"""The forms of a widget that a notebook gets: the widget in one output, and a picture that needs no scripts in another.

An exporter shows one form of each output, and prefers the widget, whose scripts it loads from other hosts. If both were forms of one
output, an export without a network would show nothing. A widget that runs hides the picture.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from html import escape
from typing import Any, Protocol
from uuid import uuid4

__all__ = ["HIDE_STILLS", "Picture", "new_still", "picture_html", "publish", "view_of"]

#: A part of the script of each widget: it hides the pictures of a model, until the returned element is removed.
HIDE_STILLS = """
function hideStills(model) {
  const style = document.createElement("style");
  style.textContent = `.${CSS.escape(model.get("still"))} { display: none }`;
  document.head.append(style);
  return style;
}
"""


class Picture(Protocol):
    """A picture that needs no scripts."""

    def still(self) -> dict[str, str]:
        """Return it as a MIME bundle."""
        ...

    def _repr_html_(self) -> str: ...


def view_of(widget: Any) -> dict[str, Any]:
    """Return the MIME bundle of a widget without its text, so that the text shown without a widget stays the same."""
    shown = widget._repr_mimebundle_()
    bundle = shown[0] if isinstance(shown, tuple) else shown
    return {} if bundle is None else {name: value for name, value in bundle.items() if name != "text/plain"}


def new_still() -> str:
    """Return the class of the pictures of a new model."""
    return f"resonate-still-{uuid4().hex}"


def picture_html(png: bytes, text: str) -> str:
    """Return a picture as HTML. SVG in HTML would be shown nowhere on a page of a repository, and an image is."""
    return f'<img alt="{escape(text)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def publish(widget: Any, picture: Mapping[str, Any]) -> None:
    """Show a widget, if there is one, and its picture in the running notebook.

    Args:
        widget: The widget, with the class of its pictures in the trait `still`; None shows the picture alone.
        picture: The MIME bundle of what is seen where no widget runs, with `text/html`.

    Raises:
        NotImplementedError: No notebook runs; IPython then shows the object by its other forms.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        raise NotImplementedError("only a notebook shows widgets")
    from IPython.display import display

    show: Any = display  # it has no types
    still = "" if widget is None else f' class="{widget.still}"'
    if widget is not None:
        show({**view_of(widget), "text/plain": ""}, raw=True)
    show({**picture, "text/html": f"<div{still}>{picture['text/html']}</div>"}, raw=True)
