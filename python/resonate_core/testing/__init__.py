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
    from .assertions import ANYTHING, assert_enqueued, assert_same_state, assert_settled, assert_sound, assert_waiting_for
    from .certificates import CrashCertificate, EffectDefect, EffectsBroken, crash_everywhere
    from .choices import Choice, ChoiceLimit, Choices
    from .crashes import CrashingConnection, crash_at_every_request
    from .exploration import explore
    from .failures import Failure, NotDeterministic, Report
    from .machine import StoreMachine
    from .programs import IDLE, Programs, interleave
    from .regressions import replay_of
    from .searches import CrashSearch, PrioritySearch, RandomSearch, Search
    from .servers import LiveServer, serving
    from .simulation import (
        Faults,
        HistoryBroken,
        NotSimulated,
        ProcessStore,
        PropertyBroken,
        Run,
        Stuck,
        World,
        check_determinism,
        simulate,
    )
    from .traces import trace_of

__all__ = [
    "ANYTHING",
    "IDLE",
    "Choice",
    "ChoiceLimit",
    "Choices",
    "CrashCertificate",
    "CrashSearch",
    "CrashingConnection",
    "EffectDefect",
    "EffectsBroken",
    "Failure",
    "Faults",
    "HistoryBroken",
    "LiveServer",
    "NotDeterministic",
    "NotSimulated",
    "PrioritySearch",
    "ProcessStore",
    "Programs",
    "PropertyBroken",
    "RandomSearch",
    "Report",
    "Run",
    "Search",
    "StoreMachine",
    "Stuck",
    "World",
    "assert_enqueued",
    "assert_same_state",
    "assert_settled",
    "assert_sound",
    "assert_waiting_for",
    "check_determinism",
    "crash_at_every_request",
    "crash_everywhere",
    "explore",
    "interleave",
    "replay_of",
    "serving",
    "simulate",
    "trace_of",
]

#: Each name with its module, which is imported at the first use of the name.
_LATER = {
    "ANYTHING": "assertions",
    "Choice": "choices",
    "ChoiceLimit": "choices",
    "Choices": "choices",
    "CrashCertificate": "certificates",
    "CrashSearch": "searches",
    "CrashingConnection": "crashes",
    "EffectDefect": "certificates",
    "EffectsBroken": "certificates",
    "Failure": "failures",
    "Faults": "simulation",
    "HistoryBroken": "simulation",
    "IDLE": "programs",
    "LiveServer": "servers",
    "NotDeterministic": "failures",
    "NotSimulated": "simulation",
    "PrioritySearch": "searches",
    "ProcessStore": "simulation",
    "Programs": "programs",
    "PropertyBroken": "simulation",
    "RandomSearch": "searches",
    "Report": "failures",
    "Run": "simulation",
    "Search": "searches",
    "StoreMachine": "machine",
    "assert_enqueued": "assertions",
    "assert_same_state": "assertions",
    "assert_settled": "assertions",
    "assert_sound": "assertions",
    "assert_waiting_for": "assertions",
    "crash_at_every_request": "crashes",
    "crash_everywhere": "certificates",
    "explore": "exploration",
    "interleave": "programs",
    "replay_of": "regressions",
    "serving": "servers",
    "trace_of": "traces",
    "Stuck": "simulation",
    "World": "simulation",
    "check_determinism": "simulation",
    "simulate": "simulation",
}

if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every misspelt name

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
