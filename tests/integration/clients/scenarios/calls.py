"""Programs that call: here, elsewhere, many at once, again after a failure, and with an error in the end."""

from __future__ import annotations

from integration.clients.scene import Scene


def run(scene: Scene) -> None:
    """A function is run where it is called; the same id again is the same call."""
    scene.serve()
    worker = scene.worker("w1")
    expected = "Hello, Ada! \u2713 \u2028"
    assert worker.do("run", "greeting.1", "greet", ["Ada"]).value() == expected
    before = scene.promise("greeting.1")
    assert worker.do("run", "greeting.1", "greet", ["somebody else"]).value() == expected
    assert scene.promise("greeting.1") == before
    assert scene.ended("greeting.1") == expected


def rpc(scene: Scene) -> None:
    """A process without functions calls another; a third one asks for the result before it is there, and after."""
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
    """A call tree over two workers, every node of which is there once, and a fan of ten."""
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
    """A child that fails twice is tried three times, in one call."""
    scene.serve()
    assert scene.worker("w1").do("run", "persistent", "persist", ["job"]).value() == 3
    assert scene.trace("job") == ["tried"] * 3
    assert scene.ended("persistent") == 3
    assert len(scene.tree("persistent")) == 2


def errors(scene: Scene) -> None:
    """An error arrives where it was called from, here and over another process, and can be lived through."""
    scene.serve()
    worker, caller = scene.worker("w1"), scene.caller("caller")
    assert "no tea left" in worker.do("run", "here", "hopeless", ["no tea left"]).error()
    assert "no milk left" in caller.do("rpc", "elsewhere", "hopeless", ["no milk left"], target="workers").error()
    assert {scene.promise(id)["state"] for id in ("here", "elsewhere")} == {"rejected"}
    assert scene.task("elsewhere")["state"] == "fulfilled"
    told = caller.do("rpc", "lived", "careful", ["no cup left"], target="workers").value()
    assert told.count("no cup left") == 2
    assert scene.promise("lived")["state"] == "resolved"
