"""The dashboard: views, actions and their HTTP interface, which mounts into any ASGI app (extra ``server``).

`resonate-core serve --ui` serves it at `/ui`, `resonate-core ui FILE|URL` alone, and `create_ui` in an app of one's own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .mounted import create_ui
    from .options import UiOptions
    from .stuck import why
    from .verdict import Why

__all__ = ["UiOptions", "Why", "create_ui", "why"]

_LATER = {"UiOptions": "options", "Why": "verdict", "create_ui": "mounted", "why": "stuck"}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        return value
