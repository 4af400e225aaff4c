"""The messages of a server (PROTOCOL 5, WIRE 3), received from a poll stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...errors import ResonateError
from ..findings import Finding, NotJudged, SceneFailed
from ..player import Scene, SceneClient
from ..requests import ADDRESS, V26

__all__ = ["MESSAGES", "scenes"]

MESSAGES = "PROTOCOL 5 messages"
DELAYS = "PROTOCOL 3.2 resonate:delay"
_SILENCE = 0.7  # seconds without an event after which a stream has shown everything


def scenes(dialect: str, soon: int) -> Iterator[Scene]:
    """The scenes of one dialect.

    Args:
        dialect: The dialect of the requests.
        soon: How long the first message of a task is delayed, in ms.
    """
    plays: list[tuple[str, Callable[[SceneClient], None]]] = [
        ("a new task, and a settled promise with a listener", _first),
        ("a task that is resumed", _resumed),
        ("a task that is released", _released),
    ]
    for name, play in plays:
        yield Scene(MESSAGES, f"messages of {name}", dialect, partial(_play, play))
    delay = max(2 * soon, 1_500)
    yield Scene(DELAYS, "the first message of a task with a delay", dialect, partial(_delayed, delay), delay + soon)


def _play(play: Callable[[SceneClient], None], client: SceneClient) -> None:
    client.has_own_group = True
    play(client)
    _receive(client, client.twin.model.messages())
    client.settle("task")  # before its message is sent again, which no stream receives


def _first(client: SceneClient) -> None:
    client.create("task", target=ADDRESS).must()
    client.create("awaited", tags={"resonate:external": "true"}).must()
    client.listen("awaited").must()
    client.settle("awaited", "rejected", {"data": "eA=="}).must()


def _resumed(client: SceneClient) -> None:
    client.create("awaited", tags={"resonate:external": "true"}).must()
    client.create("task", target=ADDRESS).must()
    client.acquire("task", 0).must()
    client.suspend("task", 1 if client.version == V26 else 0, "awaited").must()
    client.settle("awaited").must()


def _released(client: SceneClient) -> None:
    client.create("task", target=ADDRESS).must()
    client.acquire("task", 0).must()
    client.release("task", 1 if client.version == V26 else 0).must()


def _delayed(delay: int, client: SceneClient) -> Iterator[int]:
    client.has_own_group = True
    client.create("task", target=ADDRESS, tags={"resonate:delay": str(client.instant(delay))}).must()
    _receive(client, [])
    yield delay
    client.twin.steps_are_due()
    _receive(client, client.twin.model.messages())
    client.settle("task")


def _receive(client: SceneClient, expected: list[dict[str, Any]]) -> None:
    """Compare the messages that a stream of the scene's group receives with the model's outbox; one may come more than once.

    Raises:
        SceneFailed: A message is missing, or there is one that is not in the outbox.
        NotJudged: The server has no such stream.
    """
    right = [_plain(one["message"]) for one in expected]

    def missing_in(events: list[dict[str, Any]]) -> list[Any]:
        got = [_plain(one) for one in events]
        return [one for one in right if one not in got]

    server, path = client.twin.server, f"poll/{client.group}/c1"
    try:
        # A slow server has time for what it must send; what else it sends is there by then.
        events = server.events(path, client.twin.patience / 1000, lambda found: not missing_in(found)) if right else []
        events += server.events(path, _SILENCE)
    except ResonateError as error:
        raise NotJudged(f"the server has no stream: {error}") from error
    got = [_plain(one) for one in events]
    missing = [f"missing: {one}" for one in missing_in(events)]
    others = [f"not to be sent: {one}" for one in got if one not in right]
    if missing or others:
        twin = client.twin
        raise SceneFailed(
            Finding(
                MESSAGES, twin.scene, client.version, twin.story[-1], events, right, (*missing, *others), tuple(twin.story[:-1])
            )
        )


def _plain(message: Any) -> Any:
    """Return a message without its head, which contains the server's URL."""
    return {"kind": message.get("kind"), "data": message.get("data")} if isinstance(message, dict) else message
