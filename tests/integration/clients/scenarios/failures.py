"""Programs in which a process dies before the end."""

from __future__ import annotations

from integration.clients.scene import Record, Scene

STEPS = 4
VALUE = [0, 100, 1, 2, 3]
LEASE_MS = 6000
"""A short lease, which a slow machine can renew: another worker takes over a dead worker's task when it expires."""


def _unchanged(scene: Scene, id: str, before: dict[str, Record]) -> None:
    """Checks that the promises that were settled before have not changed in any member."""
    after = scene.settled(id)
    assert {child: after.get(child) for child in before} == before


def worker_killed(scene: Scene) -> None:
    """A worker is killed in the middle of a step; another worker finishes the workflow and repeats no finished step."""
    scene.serve()
    first = scene.worker("first", ttl_ms=LEASE_MS)
    called = scene.caller("caller").do("rpc", "order", "steps", ["log", STEPS], target="workers")
    for i in range(2):
        scene.open_gate("log", i)
    scene.until("the third step has begun", lambda: "2 begun by first" in scene.trace("log"))
    before = scene.settled("order")
    assert len(before) == 4, before  # two steps, the call of another worker, a sleep
    first.kill()

    scene.worker("second", ttl_ms=LEASE_MS)
    for i in range(2, STEPS):
        scene.open_gate("log", i)
    assert called.value() == VALUE
    assert scene.ended("order") == VALUE
    _unchanged(scene, "order", before)
    assert scene.trace("log") == [
        *("0 begun by first", "0 ended by first", "1 begun by first", "1 ended by first", "2 begun by first"),
        *("2 begun by second", "2 ended by second", "3 begun by second", "3 ended by second"),
    ]
    assert len(scene.tree("order")) == 1 + len(VALUE) + 1


def server_killed(scene: Scene) -> None:
    """The server is killed twice in the middle of a step and started again on its file; the step continues meanwhile."""
    server = scene.serve()
    scene.worker("w1", ttl_ms=LEASE_MS)
    called = scene.caller("caller").do("rpc", "order", "steps", ["log", STEPS], target="workers").begun()
    for i in (1, 3):
        scene.open_gate("log", i - 1)
        scene.until(f"step {i} has begun", lambda i=i: f"{i} begun by w1" in scene.trace("log"))
        before = scene.settled("order")
        server.kill()
        scene.open_gate("log", i)
        scene.until(f"step {i} has ended", lambda i=i: f"{i} ended by w1" in scene.trace("log"))
        server.start()
        _unchanged(scene, "order", before)
    assert called.value() == VALUE
    assert scene.ended("order") == VALUE
    _unchanged(scene, "order", before)
    assert len(scene.tree("order")) == 1 + len(VALUE) + 1
    for i in (0, 2):  # their results were stored when the server died; the others may have run again
        assert scene.trace("log").count(f"{i} begun by w1") == 1


def heartbeats(scene: Scene) -> None:
    """Three workflows on two workers take more than twice the time of their leases, and none of them is begun again."""
    scene.serve()
    scene.worker("w1", ttl_ms=LEASE_MS)
    scene.worker("w2", ttl_ms=LEASE_MS)
    caller = scene.caller("caller")
    called = [caller.do("rpc", key, "work", [key, 13], target="workers") for key in ("a", "b", "c")]
    assert [call.value() for call in called] == ["a done", "b done", "c done"]
    assert [len(scene.trace(key)) for key in ("a", "b", "c")] == [1, 1, 1]
    assert {scene.task(key)["version"] for key in ("a", "b", "c")} == {1}


def _long_run(scene: Scene) -> tuple[int, int]:
    """Runs a step that takes longer than its lease in the calling process; returns how often it began, and its task's version."""
    scene.serve()
    assert scene.worker("w1", ttl_ms=3000).do("run", "long", "work", ["long", 7]).value() == "long done"
    scene.ended("long")
    return len(scene.trace("long")), scene.task("long")["version"]


def long_run(scene: Scene) -> None:
    """A workflow that runs in the calling process keeps its lease, and is begun once."""
    assert _long_run(scene) == (1, 1)


def long_run_without_heartbeat(scene: Scene) -> None:
    """The same with a client that does not renew such a lease: the step begins again, but the workflow ends once."""
    begun, version = _long_run(scene)
    assert begun == version > 1
