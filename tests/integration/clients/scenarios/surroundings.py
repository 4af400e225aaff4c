"""Programs on a server that ends every stream after a while, and on a server that requires tokens."""

from __future__ import annotations

import time

import jwt

from integration.clients.peer_process import PeerProcess
from integration.clients.scene import Scene

OPENED = ("SSE connection established", "adapter connected", "adapter reconnected")
CLOSED = ("SSE connection closed", "adapter reconnecting")
"""Texts in the logs of the clients."""

NEVER = 3_600_000
SECRET = "a secret of the tests, of more than 32 bytes"


def streams(scene: Scene) -> None:
    """The server ends streams long before the client's timeout; no message that is queued between two streams is lost.

    The client's limit is 300 s, and the server's 240 s; here they are 5 s and 2 s. A lost message would not be queued again.
    """
    scene.serve(STREAMS__LIFETIME=2, STORE__RETRY_TIMEOUT_MS=NEVER)
    worker = scene.worker("w1", ttl_ms=NEVER, PEER_STREAM_LIMIT="5")
    caller = scene.caller("caller", ttl_ms=NEVER, PEER_STREAM_LIMIT="5")
    called = caller.do("rpc", "relay", "relay", [8], target="workers")
    for i in range(2):
        _next_gap(scene, worker)
        assert caller.do("rpc", f"to a deaf worker {i}", "square", [i], target="workers").value() == i * i
        deaf = caller.do("rpc", f"from a deaf caller {i}", "work", [f"work{i}", 0.1], target="workers").begun()
        _next_gap(scene, caller)
        assert deaf.value() == f"work{i} done"
    assert called.value() == 140 == scene.ended("relay")
    assert worker.logged(*OPENED) >= 3 and caller.logged(*OPENED) >= 3


def _next_gap(scene: Scene, peer: PeerProcess) -> None:
    """Waits until a stream of the client has ended; the client reconnects after a second."""
    before = peer.logged(*CLOSED)
    scene.until(f"a stream of {peer.name} has ended", lambda: peer.logged(*CLOSED) > before)


def _token(secret: str = SECRET, **claims: str) -> str:
    return jwt.encode({"exp": int(time.time()) + 3600, **claims}, secret, algorithm="HS256")


def tokens(scene: Scene) -> None:
    """Without a token every request is refused; a token with a prefix allows the ids with that prefix, including their children."""
    server = scene.serve(AUTH__SECRET=SECRET)
    server.token = _token(role="admin")
    scene.worker("admin", token=server.token)
    mine = scene.worker("mine", group="team-a", token=_token(prefix="team-a."))
    called = mine.do("rpc", "team-a.rpc", "greet", ["Ada"], target="workers")
    assert called.value() == scene.ended("team-a.rpc") == "Hello, Ada! \u2713 \u2028"
    assert mine.do("run", "team-a.tree", "fibonacci", [4]).value() == 3 == scene.ended("team-a.tree")
    assert mine.do("run", "team-a.sleep", "countdown", [2, 0.1]).value() == "Done!"

    strangers = {
        "no token": scene.caller("nobody"),
        "another secret": scene.caller("forger", token=_token("another secret that has 32 bytes or more", role="admin")),
        "another prefix": mine,
    }
    for why, stranger in strangers.items():
        for what in ("run", "rpc") if stranger is mine else ("rpc",):
            id = f"team-b.{why}.{what}".replace(" ", "-")
            stranger.do(what, id, "greet", ["Eve"], **({"target": "workers"} if what == "rpc" else {})).error()
            assert server.ask("promise.get", {"id": id})[0] == 404
    assert server.ask("promise.get", {"id": "team-a.rpc"}, token=_token(prefix="team-b."))[0] == 403
