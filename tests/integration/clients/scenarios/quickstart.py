"""The programs of the READMEs that were published with the clients, as published, but for the server's URL."""

from __future__ import annotations

from integration.clients.peer_process import PeerProcess
from integration.clients.published import code_blocks
from integration.clients.scene import Scene

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
    """The worker of the README, and its step 6 with our command line; with the engine's program of the two that are there."""
    scene.serve()
    module = "@resonatehq/sdk/async" if scene.client.environment["PEER_ENGINE"] == "async" else "@resonatehq/sdk"
    started = _program(scene, f'from "{module}";')
    scene.command("invoke", "countdown.1", "--func", "countdown", "--arg", "5", "--arg", "1")
    scene.until("the workflow has ended", lambda: scene.promise("countdown.1")["state"] != "pending")
    assert "countdown.1" in scene.command("tree", "countdown.1")
    started.kill()  # a worker goes on for ever
    assert started.lines() == PRINTED
    scene.ended("countdown.1")
