"""The dashboard: views, actions and their HTTP interface, which mounts into any ASGI app (extra ``server``).

`resonate-core serve --ui` serves it at `/ui`, `resonate-core ui FILE|URL` alone, and `create_ui` in an app of one's own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resonate_core.explain.reasons import Why
    from resonate_core.explain.why import why
    from resonate_core.ui.mounted import create_ui
    from resonate_core.ui.options import UiOptions

__all__ = ["UiOptions", "Why", "create_ui", "why"]

_LATER = {
    "UiOptions": "resonate_core.ui.options",
    "Why": "resonate_core.explain.reasons",
    "create_ui": "resonate_core.ui.mounted",
    "why": "resonate_core.explain.why",
}

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_LATER[name]), name)
        return value
