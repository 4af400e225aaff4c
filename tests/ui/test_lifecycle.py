"""The dashboard has the states of the engine, and the states in which each request applies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import resonate_core
from resonate_core.base.states import JOB_STATES, PROMISE_STATES, STATES_BEFORE
from resonate_core.conformance.tables.job_transitions import CELLS

MODULE = Path(resonate_core.__file__).parent / "ui" / "modules" / "format.js"


def exported() -> dict[str, Any]:
    """Returns the constants of the module that are written as JSON."""
    found = re.findall(r"^export const ([A-Z_]+) = (.*?);$", MODULE.read_text(), re.MULTILINE | re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def test_the_module_has_the_states_of_the_engine() -> None:
    constants = exported()
    assert constants["JOB_STATES"] == list(JOB_STATES)
    assert constants["PROMISE_STATES"] == list(PROMISE_STATES)
    assert constants["STATES_BEFORE"] == {kind: list(states) for kind, states in STATES_BEFORE.items() if kind.startswith("job.")}


def test_the_states_are_those_of_the_contract() -> None:
    for name, states in STATES_BEFORE.items():
        event = {"expire": "step: good_until"}.get(name, name)
        cells = [cell for cell in CELLS if cell.event == event and cell.state in JOB_STATES]
        found = [cell.state for cell in cells if not cell.refused and cell.after != cell.state]
        assert list(states) == sorted(found, key=JOB_STATES.index), name
