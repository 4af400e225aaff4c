"""Every program of the table with every published client, in real processes over HTTP.

`scripts/test --full` runs all cells: with a server on a file, with one on PostgreSQL, and with two servers on one database. CI runs
every second program on a file with one client, dealt in turn, and with all clients where these run different programs; a limit that
clients share it tries with one of them. On PostgreSQL it runs every sixth program, each with another client.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from integration.clients.published import CLIENTS, Client
from integration.clients.scene import FILE, POSTGRES, TWO_SERVERS, Deployment, Scenes
from integration.clients.table import PROGRAMS, Program

RING = list(zip(CLIENTS, [*CLIENTS[1:], CLIENTS[0]]))
DEPLOYMENTS = [FILE, TWO_SERVERS]
OF_ALL_CLIENTS = ("quickstart",)
"""Each client has its own text of these programs: that of its README."""


def runs_in_ci(client: Client, program: Program) -> bool:
    """Whether CI runs the cell on a file: one client for every second program, dealt in turn, and one with a limit; or all clients."""
    dealt = CLIENTS[PROGRAMS.index(program) % len(CLIENTS)]
    limited = dealt.name if dealt.name in program.limits else next(iter(program.limits), None)
    in_the_sample = PROGRAMS.index(program) % 2 == 0 and (client is dealt or client.name == limited)
    return program.name in OF_ALL_CLIENTS or in_the_sample


def is_in_the_sample(client: Client, program: Program) -> bool:
    """Whether CI runs the cell on PostgreSQL: every sixth program, dealt to the clients one by one."""
    turn, rest = divmod(PROGRAMS.index(program), 6)
    return rest == 0 and CLIENTS[turn % len(CLIENTS)] is client


def play(client: Client, program: Program, scenes: Scenes, deployment: Deployment) -> None:
    limit = program.limits.get(client.name)
    (limit or program).play(scenes(client, deployment))


def cells(in_ci: Callable[[Client, Program], bool]) -> list[Any]:
    """All cells, of which CI runs those for which the function returns true."""
    return [
        pytest.param(client, program, id=f"{client.name}-{program.name}", marks=[] if in_ci(client, program) else pytest.mark.full)
        for client, program in itertools.product(CLIENTS, PROGRAMS)
    ]


@pytest.mark.parametrize(("client", "program"), cells(runs_in_ci))
def test_program(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table."""
    play(client, program, scenes, FILE)


@pytest.mark.parametrize(("client", "program"), cells(is_in_the_sample))
def test_program_on_postgres(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table, with a server on PostgreSQL."""
    play(client, program, scenes, POSTGRES)


@pytest.mark.parametrize(("client", "program"), cells(lambda client, program: False))
def test_program_on_two_servers(client: Client, program: Program, scenes: Scenes) -> None:
    """A cell of the table, with two servers on one database: the worker is connected to one, the caller to the other."""
    play(client, program, scenes, TWO_SERVERS)


# CI runs the two pairs of different languages, each on one of the two deployments.
@pytest.mark.parametrize(
    ("calling", "called", "deployment"),
    [
        pytest.param(
            *pair,
            deployment,
            id=f"{pair[0].name}-{pair[1].name}-{deployment.name}",
            marks=[] if turn % 2 and deployment is DEPLOYMENTS[(turn // 2) % len(DEPLOYMENTS)] else pytest.mark.full,
        )
        for turn, pair in enumerate(RING)
        for deployment in DEPLOYMENTS
    ],
)
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
