"""Every program of the table with every published client, in real processes over HTTP."""

from __future__ import annotations

import pytest

from integration.clients.published import CLIENTS, Client
from integration.clients.scene import Scenes
from integration.clients.table import PROGRAMS, Program

CELLS = [pytest.param(client, program, id=f"{client.name}-{program.name}") for client in CLIENTS for program in PROGRAMS]
RING = list(zip(CLIENTS, [*CLIENTS[1:], CLIENTS[0]]))


@pytest.mark.parametrize(("client", "program"), CELLS)
def test_program(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table."""
    limit = program.limits.get(client.name)
    (limit or program).play(scenes(client))


@pytest.mark.parametrize(("calling", "called"), RING, ids=lambda client: client.name)
def test_a_client_calls_another(calling: Client, called: Client, scenes: Scenes) -> None:
    """One client can call workflows of another client's worker; arguments, results and errors are passed correctly."""
    workers = scenes(called)
    callers = scenes(calling, workers.serve())
    workers.worker("w1")
    caller = callers.caller("caller")
    assert caller.do("rpc", "greeting", "greet", ["Ada"], target="workers").value() == "Hello, Ada! \u2713 \u2028"
    assert caller.do("rpc", "tree", "fibonacci", [5], target="workers").value() == 5
    assert "no tea left" in caller.do("rpc", "error", "hopeless", ["no tea left"], target="workers").error()
    assert workers.caller("second").do("get", "tree").value() == 5 == workers.ended("tree")
