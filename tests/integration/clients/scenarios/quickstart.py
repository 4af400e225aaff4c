"""The programs of the READMEs that were published with the clients; only the server's URL is changed."""

from __future__ import annotations

from integration.clients.peer_process import PeerProcess
from integration.clients.published import code_blocks
from integration.clients.scene import Scene

PRINTED = [*(f"Countdown: {i}" for i in range(5, 0, -1)), "Done!"]
URL = "http://localhost:8001"
WORKFLOW = "countdown.1"


def _program(scene: Scene) -> str:
    """The program of the README that counts down with this client."""
    module = {"generators": '"@resonatehq/sdk"', "async": '"@resonatehq/sdk/async"'}.get(
        scene.client.environment.get("PEER_ENGINE", ""), ""
    )
    blocks = code_blocks(scene.client.readme(), scene.client.language)
    (program,) = (block for block in blocks if "countdown" in block and f"from {module}" in block)
    assert URL in program
    return program.replace(URL, scene.url_of_workers)


def _start(scene: Scene, name: str) -> PeerProcess:
    suffix = "py" if scene.client.language == "python" else "ts"
    (scene.programs / f"quickstart.{suffix}").write_text(_program(scene), encoding="utf-8")
    return scene.run("quickstart", name)


def _invoke(scene: Scene) -> None:
    """Step 6 of the TypeScript README, with our command line; the Python program does this step itself."""
    if scene.client.language == "typescript":
        scene.command("invoke", WORKFLOW, "--func", "countdown", "--arg", "5", "--arg", "1")


def _finish(scene: Scene, started: PeerProcess) -> None:
    """Waits for the end of the workflow, and of the Python program."""
    if scene.client.language == "python":
        scene.until("the program has ended", lambda: started.process.poll() is not None)
        assert started.end() == 0
    else:
        scene.until("the workflow has ended", lambda: scene.promise(WORKFLOW)["state"] != "pending")
        scene.until("it has said so", lambda: PRINTED[-1] in started.lines())
        started.kill()  # a worker runs forever
    assert WORKFLOW in scene.command("tree", WORKFLOW)
    scene.ended(WORKFLOW)


def quickstart(scene: Scene) -> None:
    """The program prints the lines that the README shows."""
    scene.serve()
    started = _start(scene, "quickstart")
    _invoke(scene)
    _finish(scene, started)
    assert started.lines() == PRINTED


def killed(scene: Scene) -> None:
    """The program is killed before the end and started again, as the README suggests; it continues from the same point."""
    scene.serve()
    first = _start(scene, "first")
    _invoke(scene)
    scene.until("it has counted once", lambda: PRINTED[1] in first.lines())
    scene.until("it sleeps", lambda: scene.task(WORKFLOW)["state"] == "suspended")
    first.kill()
    first.end()
    second = _start(scene, "second")
    _finish(scene, second)
    assert second.lines()[-1] == PRINTED[-1] and PRINTED[0] not in second.lines()
    assert list(dict.fromkeys(first.lines() + second.lines())) == PRINTED
