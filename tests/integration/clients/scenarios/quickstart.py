"""The programs of the READMEs that were published with the clients, as published, but for the server's URL."""

from __future__ import annotations

import time

from integration.clients.peer_process import PeerProcess
from integration.clients.published import code_blocks
from integration.clients.scene import Scene
from integration.clients.server_process import encoded

PRINTED = [*(f"Countdown: {i}" for i in range(5, 0, -1)), "Done!"]
URL = "http://localhost:8001"


def _program(scene: Scene, opening: str) -> PeerProcess:
    """Starts the one program of the README that has all of these parts."""
    (program,) = (
        block for block in code_blocks(scene.client.readme(), scene.client.language) if opening in block and "countdown" in block
    )
    assert URL in program
    suffix = "py" if scene.client.language == "python" else "ts"
    (scene.programs / f"quickstart.{suffix}").write_text(program.replace(URL, scene.server.url), encoding="utf-8")
    return scene.run("quickstart", "quickstart")


def python(scene: Scene) -> None:
    """`python countdown.py`: it starts the workflow, works on it, and ends."""
    scene.serve()
    started = _program(scene, "asyncio.run(main())")
    scene.until("the program has ended", lambda: started.process.poll() is not None)
    assert started.end() == 0
    assert started.lines() == PRINTED
    scene.ended("countdown.1")


def typescript(scene: Scene) -> None:
    """The worker of the README; what its step 6 does with another program is done over the protocol: an invocation."""
    _invoked(scene, 'from "@resonatehq/sdk";')


def typescript_async(scene: Scene) -> None:
    """The same with the README's async functions."""
    _invoked(scene, 'from "@resonatehq/sdk/async";')


def _invoked(scene: Scene, opening: str) -> None:
    scene.serve()
    started = _program(scene, opening)
    param = encoded({"func": "countdown", "args": [5, 1], "version": 1})
    tags = dict.fromkeys(("resonate:origin", "resonate:branch", "resonate:parent"), "countdown.1")
    tags |= {"resonate:scope": "global", "resonate:target": "poll://any@default"}
    timeout = int(time.time() * 1000) + 3_600_000
    scene.server.must("promise.create", {"id": "countdown.1", "timeoutAt": timeout, "param": param, "tags": tags})
    scene.until("the workflow has ended", lambda: scene.promise("countdown.1")["state"] != "pending")
    started.kill()  # a worker goes on for ever
    assert started.lines() == PRINTED
    scene.ended("countdown.1")
