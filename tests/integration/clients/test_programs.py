"""Every program of the table with every published client, in real processes over HTTP.

All cells run with a server on a file. On PostgreSQL CI runs every third program, each with another client; `scripts/test --full` runs
all cells there, and again with two servers on one database.
"""

from __future__ import annotations

import itertools

import pytest

from integration.clients.published import CLIENTS, Client
from integration.clients.scene import FILE, POSTGRES, TWO_SERVERS, Deployment, Scenes
from integration.clients.table import PROGRAMS, Program

RING = list(zip(CLIENTS, [*CLIENTS[1:], CLIENTS[0]]))


def is_in_the_sample(client: Client, program: Program) -> bool:
    """Whether the cell is one of the sample: every third program, dealt to the clients one by one."""
    turn, rest = divmod(PROGRAMS.index(program), 3)
    return rest == 0 and CLIENTS[turn % len(CLIENTS)] is client


def play(client: Client, program: Program, scenes: Scenes, deployment: Deployment) -> None:
    limit = program.limits.get(client.name)
    (limit or program).play(scenes(client, deployment))


CELLS = [pytest.param(*cell, id=f"{cell[0].name}-{cell[1].name}") for cell in itertools.product(CLIENTS, PROGRAMS)]
SAMPLED = [
    pytest.param(*cell.values, id=cell.id, marks=[] if is_in_the_sample(*cell.values) else pytest.mark.full) for cell in CELLS
]


@pytest.mark.parametrize(("client", "program"), CELLS)
def test_program(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table."""
    play(client, program, scenes, FILE)


@pytest.mark.parametrize(("client", "program"), SAMPLED)
def test_program_on_postgres(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table, with a server on PostgreSQL."""
    play(client, program, scenes, POSTGRES)


@pytest.mark.full
@pytest.mark.parametrize(("client", "program"), CELLS)
def test_program_on_two_servers(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table, with two servers on one database: the worker is connected to one, the caller to the other."""
    play(client, program, scenes, TWO_SERVERS)


@pytest.mark.parametrize("deployment", [FILE, TWO_SERVERS], ids=lambda deployment: deployment.name)
@pytest.mark.parametrize(("calling", "called"), RING, ids=lambda client: client.name)
def test_a_client_calls_another(calling: Client, called: Client, deployment: Deployment, scenes: Scenes) -> None:
    """One client can call workflows of another client's worker; arguments, results and errors are passed correctly."""
    workers = scenes(called, deployment)
    callers = scenes(calling, server=workers.serve())
    workers.worker("w1")
    caller = callers.caller("caller")
    assert caller.do("rpc", "greeting", "greet", ["Ada"], target="workers").value() == "Hello, Ada! \u2713 \u2028"
    assert caller.do("rpc", "tree", "fibonacci", [5], target="workers").value() == 5
    assert "no tea left" in caller.do("rpc", "error", "hopeless", ["no tea left"], target="workers").error()
    assert workers.caller("second").do("get", "tree").value() == 5 == workers.ended("tree")
