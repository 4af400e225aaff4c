"""Every program of the table with every published client, all of them real processes over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from integration.clients.published import CLIENTS, Client
from integration.clients.scene import Scene
from integration.clients.table import PROGRAMS, Program

CELLS = [pytest.param(client, program, id=f"{client.name}-{program.name}") for client in CLIENTS for program in PROGRAMS]


@pytest.mark.parametrize(("client", "program"), CELLS)
def test_program(client: Client, program: Program, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A cell of the table."""
    if client.missing is not None:
        if os.environ.get("RESONATE_REQUIRE_BACK_ENDS"):
            pytest.fail(f"client {client.name} is required here: {client.missing}")
        pytest.skip(f"client {client.name}: {client.missing}")
    scene = Scene(client, tmp_path)
    try:
        limit = program.limits.get(client.name)
        (limit or program).play(scene)
        scene.close()
    except BaseException:
        scene.abandon()
        request.node.user_properties += [(f"log of {name}", log) for name, log in scene.logs().items()]
        raise
