"""Programs with calls: local, remote, parallel, retried after a failure, and with an error as the result."""

from __future__ import annotations

from integration.clients.scene import Scene


def run(scene: Scene) -> None:
    """A function runs in the process that calls it; a second call with the same id is the same call."""
    scene.serve()
    worker = scene.worker("w1")
    expected = "Hello, Ada! \u2713 \u2028"
    assert worker.do("run", "greeting.1", "greet", ["Ada"]).value() == expected
    before = scene.promise("greeting.1")
    assert worker.do("run", "greeting.1", "greet", ["somebody else"]).value() == expected
    assert scene.promise("greeting.1") == before
    assert scene.ended("greeting.1") == expected


def rpc(scene: Scene) -> None:
    """A process without functions calls a worker; a third process asks for the result before it exists, and after."""
    scene.serve()
    early, caller = scene.caller("early"), scene.caller("caller")
    called = caller.do("rpc", "greeting", "greet", ["Grace"], target="workers").begun()
    asked = early.do("get", "greeting")
    assert scene.promise("greeting")["state"] == "pending"
    scene.worker("w1")
    expected = "Hello, Grace! \u2713 \u2028"
    assert called.value() == expected and asked.value() == expected
    assert early.do("get", "greeting").value() == expected
    assert scene.ended("greeting") == expected


def nested_and_parallel(scene: Scene) -> None:
    """A tree of calls over two workers, in which each call exists once, and ten parallel calls."""
    scene.serve()
    scene.worker("w1")
    scene.worker("w2")
    caller = scene.caller("caller")
    tree = caller.do("rpc", "tree", "fibonacci", [6], target="workers")
    fan = caller.do("rpc", "fan", "fan_out", [5], target="workers")
    assert tree.value() == 8 and scene.ended("tree") == 8
    assert len(scene.tree("tree")) == 25
    assert fan.value() == [n * n for n in range(10)] == scene.ended("fan")
    assert len(scene.tree("fan")) == 11


def retries(scene: Scene) -> None:
    """A child that fails twice is tried three times within one call."""
    scene.serve()
    assert scene.worker("w1").do("run", "persistent", "persist", ["job"]).value() == 3
    assert scene.trace("job") == ["tried"] * 3
    assert scene.ended("persistent") == 3
    assert len(scene.tree("persistent")) == 2


def errors(scene: Scene) -> None:
    """An error reaches the caller, from the same process and from another, and the caller can catch it."""
    scene.serve()
    worker, caller = scene.worker("w1"), scene.caller("caller")
    assert "no tea left" in worker.do("run", "here", "hopeless", ["no tea left"]).error()
    assert "no milk left" in caller.do("rpc", "elsewhere", "hopeless", ["no milk left"], target="workers").error()
    assert {scene.promise(id)["state"] for id in ("here", "elsewhere")} == {"rejected"}
    assert scene.task("elsewhere")["state"] == "fulfilled"
    seen = caller.do("rpc", "lived", "careful", ["no cup left"], target="workers").value()
    assert seen.count("no cup left") == 2
    assert scene.promise("lived")["state"] == "resolved"
