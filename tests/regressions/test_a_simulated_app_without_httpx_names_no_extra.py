"""`world.app` and `world.http` without httpx raised `No module named 'httpx'`; the page did not name it, and a comment named another extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

sys.modules["httpx"] = None
from resonate_core.testing import simulate


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 204})


async def scenario(world):
    CALL


simulate(scenario)
"""


@pytest.mark.parametrize("call", ['world.app("web", lambda: app)', "world.http(app)"])
def test_the_error_names_the_extra(call: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM.replace("CALL", call)], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: simulated apps need httpx: install the extra resonate-core[worker]"), done.stderr


def test_a_client_of_a_server_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['httpx'] = None; import resonate_core as rc; rc.connect('http://127.0.0.1:1').promises.get('a')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "install the extra resonate-core[worker]" in done.stderr.strip().splitlines()[-1], done.stderr
