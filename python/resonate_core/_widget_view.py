"""The forms of a widget that a notebook gets."""

from __future__ import annotations

from typing import Any

__all__ = ["view_of"]


def view_of(widget: Any) -> dict[str, Any]:
    """Return the MIME bundle of a widget without its text, so that the text shown without a widget stays the same."""
    shown = widget._repr_mimebundle_()
    bundle = shown[0] if isinstance(shown, tuple) else shown
    return {} if bundle is None else {name: value for name, value in bundle.items() if name != "text/plain"}
