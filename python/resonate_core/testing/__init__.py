"""Tests of programs that use a store: search for the shortest story that breaks them, and replay it.

`explore` runs a scenario thousands of times, each time with other choices (which worker continues, which one crashes, how long it
takes), and shrinks a failing run to the shortest one. It needs nothing but the core; a bar of progress needs the extra ``testing``.

Example:
    >>> from resonate_core.testing import Choices
    >>> Choices.from_seed(1).pick(["a", "b", "c"], "schedule") in ("a", "b", "c")
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .choices import Choice, ChoiceLimit, Choices
    from .crashes import CrashingConnection, crash_at_every_request
    from .exploration import explore
    from .failures import Failure, NotDeterministic, Report
    from .programs import IDLE, Programs, interleave
    from .searches import CrashSearch, PrioritySearch, RandomSearch, Search

__all__ = [
    "IDLE",
    "Choice",
    "ChoiceLimit",
    "Choices",
    "CrashSearch",
    "CrashingConnection",
    "Failure",
    "NotDeterministic",
    "PrioritySearch",
    "Programs",
    "RandomSearch",
    "Report",
    "Search",
    "crash_at_every_request",
    "explore",
    "interleave",
]

#: Each name with its module, which is imported at the first use of the name.
_LATER = {
    "Choice": "choices",
    "ChoiceLimit": "choices",
    "Choices": "choices",
    "CrashSearch": "searches",
    "CrashingConnection": "crashes",
    "Failure": "failures",
    "IDLE": "programs",
    "NotDeterministic": "failures",
    "PrioritySearch": "searches",
    "Programs": "programs",
    "RandomSearch": "searches",
    "Report": "failures",
    "Search": "searches",
    "crash_at_every_request": "crashes",
    "explore": "exploration",
    "interleave": "programs",
}

if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every misspelt name

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
