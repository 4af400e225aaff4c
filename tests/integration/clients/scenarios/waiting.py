"""Programs that wait for an instant, for a person or for a schedule, that do not wait, and that time out."""

from __future__ import annotations

import json

from integration.clients.scene import Scene
from integration.clients.server_process import encoded


def sleep(scene: Scene) -> None:
    """A workflow that sleeps between its steps runs each step once, and wakes at the instants that it asked for."""
    scene.serve()
    assert scene.worker("w1").do("run", "countdown", "countdown", [3, 0.3]).value() == "Done!"
    assert scene.trace("countdown") == ["3", "2", "1"]
    timers = [promise for promise in scene.tree("countdown").values() if promise["tags"].get("resonate:timer") == "true"]
    assert len(timers) == 3
    assert all(timer["settledAt"] == timer["timeoutAt"] for timer in timers)
    assert scene.ended("countdown") == "Done!"


def _asked(scene: Scene) -> str:
    file = scene.traces / "asked"
    scene.until("the workflow has asked", lambda: file.exists() and file.read_text(encoding="utf-8"))
    id: str = json.loads(file.read_text(encoding="utf-8"))["id"]
    scene.until("the promise that it asked for is there", lambda: scene.server.ask("promise.get", {"id": id})[0] == 200)
    return id


def human_in_the_loop(scene: Scene) -> None:
    """A workflow is suspended on a promise until a plain request of the protocol settles it."""
    scene.serve()
    scene.worker("w1")
    called = scene.caller("caller").do("rpc", "order", "approval", ["Ship it?"], target="workers")
    asked = _asked(scene)
    scene.until("the workflow is suspended", lambda: scene.task("order")["state"] == "suspended")
    assert scene.promise(asked)["state"] == "pending"
    scene.server.must("promise.settle", {"id": asked, "state": "resolved", "value": encoded("Yes.")})
    assert called.value() == "Ship it? Yes."
    assert scene.ended("order") == "Ship it? Yes."


def cancellation(scene: Scene) -> None:
    """A promise that is cancelled from outside is an error for its awaiter: the caller of a workflow, or the workflow."""
    scene.serve()
    scene.worker("w1")
    caller = scene.caller("caller")
    called = caller.do("rpc", "first", "approval", ["Ship it?"], target="workers")
    asked = _asked(scene)
    scene.until("the workflow is suspended", lambda: scene.task("first")["state"] == "suspended")
    scene.server.must("promise.settle", {"id": "first", "state": "rejected_canceled", "value": {}})
    assert "cancel" in called.error().lower()
    assert scene.task("first")["state"] == "fulfilled"
    scene.server.must("promise.settle", {"id": asked, "state": "resolved", "value": encoded("Too late.")})
    assert scene.promise("first")["state"] == "rejected_canceled"

    (scene.traces / "asked").unlink()
    called = caller.do("rpc", "second", "approval", ["And this?"], target="workers")
    scene.server.must("promise.settle", {"id": _asked(scene), "state": "rejected_canceled", "value": {}})
    assert called.value().startswith("And this? refused: ")
    assert scene.promise("second")["state"] == "resolved"


def detached(scene: Scene) -> None:
    """A workflow starts another and ends first; the other continues."""
    scene.serve()
    scene.worker("w1")
    caller = scene.caller("caller")
    launched = caller.do("rpc", "launcher", "launch", ["eagle"], target="workers").value()
    assert scene.promise("launcher")["state"] == "resolved"
    assert caller.do("get", launched).value() == "eagle landed on 9"
    assert scene.promise(launched)["settledAt"] > scene.promise("launcher")["settledAt"]


def schedule(scene: Scene) -> None:
    """A schedule starts one workflow per second until it is deleted."""
    scene.serve()
    worker = scene.worker("w1")
    assert worker.do("schedule", "tick", "report", ["ticks"], cron="* * * * * *").value() == "tick"
    scene.until("it has fired twice", lambda: len(scene.trace("ticks")) >= 2)
    assert scene.server.must("schedule.get", {"id": "tick"})["schedule"]["lastRunAt"] % 1000 == 0
    assert worker.do("unschedule", "tick").value() == "tick"
    assert scene.server.ask("schedule.get", {"id": "tick"})[0] == 404

    fired = scene.tree("tick", tag="resonate:schedule")
    for id in fired:
        scene.until(f"{id} has ended", lambda id=id: scene.promise(id)["state"] != "pending")
    assert sorted(scene.ended(id) for id in fired) == list(range(1, len(fired) + 1))
    assert len({promise["createdAt"] for promise in fired.values()}) == len(fired) >= 2
