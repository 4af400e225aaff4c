"""Workflows of this package and programs of every published client call each other over HTTP, while processes are killed."""

from __future__ import annotations

import sys
import time

import pytest

from integration.clients.peer_process import PeerProcess
from integration.clients.published import CLIENTS, Client
from integration.clients.scene import FILE, POSTGRES, Deployment, Scene, Scenes
from integration.clients.server_process import clean_environment, decoded

PROGRAM = '''"""A worker with workflows that serves the group shop and calls functions of the group workers."""

import os
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

from resonate_core.worker import JobError, Worker
from resonate_core.workflow import StepFailed, receive, rpc, run, sleep

FOLDER, NAME = Path(os.environ["PEER_FOLDER"]), os.environ["PEER_NAME"]
worker = Worker(os.environ["RESONATE_URL"], name=NAME, target_group="shop", lease=2000)


def note(line):
    with open(FOLDER / "shop", "a") as file:
        file.write(line + "\\n")


def pack(order):
    note(f"begun by {NAME}")
    while not (FOLDER / "gate").exists():
        time.sleep(0.02)
    note(f"ended by {NAME}")
    return f"parcel of {order}"


@worker.workflow("order:fulfil")
async def fulfil(order: str, count: int = 1) -> list:
    square = await rpc("square", count + 1, target="workers", type=int)
    parcel = await run(pack, order)
    await sleep(timedelta(milliseconds=300))
    return [parcel, square, await rpc("square", 10, target="workers", type=int)]


@worker.workflow("order:careful")
async def careful(reason: str) -> str:
    try:
        await rpc("hopeless", reason, target="workers")
    except StepFailed as error:
        return error.message
    return "no error"


@worker.workflow("order:approve")
async def approve(order: str) -> str:
    return await receive("approval", type=str)


@worker.task("charge", max_retries=0)
def charge(order: str) -> None:
    raise JobError("CardDeclined", f"no money for {order}")


if __name__ == "__main__":
    threading.Thread(target=lambda: (sys.stdin.read(), worker.stop(0)), daemon=True).start()
    print('@@ {"ready": true}', flush=True)
    worker.run()
'''


def shop(scene: Scene, name: str) -> PeerProcess:
    """Starts a worker of this package."""
    (scene.programs / "shop.py").write_text(PROGRAM, encoding="utf-8")
    environment = clean_environment() | {
        "RESONATE_URL": scene.url_of_workers,
        "PEER_NAME": name,
        "PEER_FOLDER": str(scene.traces),
    }
    scene.peers.append(PeerProcess(name, [sys.executable, "-u", "shop.py"], scene.programs, environment))
    scene.peers[-1].wait_for("ready")
    return scene.peers[-1]


def play(scene: Scene) -> None:
    """Results, errors, cancellations and kills."""
    scene.serve()
    scene.worker("w1")
    first = shop(scene, "shop-1")
    caller = scene.caller("caller")

    # Results and errors, in both directions.
    assert "no money for tea" in caller.do("rpc", "refused", "charge", ["tea"], target="shop").error()
    assert scene.promise("refused")["state"] == "rejected" and scene.task("refused")["state"] == "fulfilled"
    wrong = caller.do("rpc", "wrong", "charge", [5], target="shop").error()
    assert "order: Expected `str`, got `int`" in wrong
    assert "no milk left" in caller.do("rpc", "careful", "order:careful", ["no milk left"], target="shop").value()

    # A cancelled call cancels the workflow, and a cancelled workflow the call.
    down = caller.do("rpc", "down", "order:approve", ["tea"], target="shop").begun()
    scene.until("the workflow waits", lambda: state_of(scene, "down:1") == "waiting")
    scene.server.must("promise.settle", {"id": "down", "state": "rejected_canceled", "value": {}})
    down.error()
    scene.until("the workflow is cancelled", lambda: state_of(scene, "down:1") == "cancelled")
    up = caller.do("rpc", "up", "order:approve", ["tea"], target="shop").begun()
    scene.until("the workflow waits", lambda: state_of(scene, "up:1") == "waiting")
    scene.server.must("job.cancel", {"id": "up:1"})
    up.error()
    assert scene.promise("up")["state"] == "rejected_canceled"

    # The worker is killed in the middle of a step, the server while another one runs it.
    fulfilled = caller.do("rpc", "order", "order:fulfil", ["tea", 6], target="shop").begun()
    scene.until("the step runs", lambda: scene.trace("shop") == ["begun by shop-1"])
    first.kill()
    shop(scene, "shop-2")
    scene.until("another worker runs it", lambda: len(scene.trace("shop")) == 2)
    scene.server.kill()
    time.sleep(0.5)
    scene.server.start()
    (scene.traces / "gate").touch()
    assert fulfilled.value() == ["parcel of tea", 49, 100]
    assert decoded(scene.promise("order")["value"]) == ["parcel of tea", 49, 100]
    assert scene.task("order")["state"] == "fulfilled"
    assert scene.trace("shop")[:2] == ["begun by shop-1", "begun by shop-2"]
    assert {each["state"] for id, each in scene.tree("order").items()} == {"resolved"}


def state_of(scene: Scene, id: str) -> str | None:
    """The state of a job; None: there is none yet."""
    status, answer = scene.server.ask("job.get", {"id": id})
    return str(answer["job"]["state"]) if status == 200 else None


@pytest.mark.parametrize(
    ("client", "deployment"),
    [
        pytest.param(
            client,
            deployment,
            id=f"{client.name}-{deployment.name}",
            marks=[] if deployment is FILE and client.name == "python-0.8" else pytest.mark.full,
        )
        for client in CLIENTS
        for deployment in (FILE, POSTGRES)
    ],
)
def test_workflows_and_programs_call_each_other(client: Client, deployment: Deployment, scenes: Scenes) -> None:
    play(scenes(client, deployment))
