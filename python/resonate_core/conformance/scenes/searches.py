"""Searches on a server: filters, the order by the bytes of ids, and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..player import Scene, SceneClient
from ..requests import ADDRESS, V26
from ..rules import section

__all__ = ["scenes"]

_NAMES = ("b", "a", "B", "a.1", "Z", "é", "~", "￿", "𝒳", "10", "9")
"""Ids in an order of creation that is none of their orders; by UTF-16, the last but two would be last."""
_MOST_PAGES = 20


def scenes() -> Iterator[Scene]:
    """The scenes of `PROTOCOL 3.7`."""
    plays: dict[str, Callable[[SceneClient], None]] = {
        "promise.search": _promises,
        "task.search": _tasks,
        "schedule.search": _schedules,
    }
    for kind, play in plays.items():
        yield Scene(section(kind), f"{kind}: filters, order and pages", V26, play)
    for name, data in _WRONG.items():
        for kind in plays:
            yield Scene(section(kind), f"{kind} with {name}", V26, partial(_refused, kind, data))


_WRONG: dict[str, dict[str, Any]] = {
    "limit 0": {"limit": 0},
    "limit 1001": {"limit": 1001},
    "a limit that is a text": {"limit": "5"},
    "a limit that is a fraction": {"limit": 1.0},
    "tags that are a list": {"tags": []},
}


def _refused(kind: str, data: dict[str, Any], client: SceneClient) -> None:
    client.send(kind, client.filters({}) | data)


def _pages(client: SceneClient, noun: str, **filters: Any) -> None:
    """All pages of a search, each compared with the model's."""
    cursor: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        reply = client.search(noun, **filters, **cursor).must()
        if "cursor" not in reply.data:
            return
        cursor = {"cursor": reply["cursor"]}


def _promises(client: SceneClient) -> None:
    for name in _NAMES:
        client.create(name, tags={"kind": "even" if len(name) % 2 else "odd"}).must()
    client.settle("a").must()
    client.settle("Z", "rejected").must()
    client.settle("9", "rejected_canceled").must()
    for limit in (1, 3, 1000):
        _pages(client, "promise", limit=limit)
    for state in ("pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"):
        _pages(client, "promise", state=state, limit=2)
    _pages(client, "promise", tags={"kind": "odd"}, limit=2)
    client.search("promise", tags={"kind": "none"})
    client.search("promise", state="unknown")


def _tasks(client: SceneClient) -> None:
    for name in _NAMES:
        client.create(name, target=ADDRESS).must()
    client.acquire("a", 0).must()
    client.halt("b").must()
    client.acquire("Z", 0).must()
    client.fulfill("Z", 1).must()
    for limit in (2, 1000):
        _pages(client, "task", limit=limit)
    for state in ("pending", "acquired", "suspended", "halted", "fulfilled"):
        _pages(client, "task", state=state, limit=2)
    client.search("task", target=client.address(ADDRESS))
    client.search("task", target="poll://any@nobody")
    client.search("task", state="resolved")


def _schedules(client: SceneClient) -> None:
    for name in _NAMES:
        client.schedule(name, cron="0 0 1 1 *", timeout=1000).must()
    for limit in (2, 1000):
        _pages(client, "schedule", limit=limit)
    _pages(client, "schedule")
    client.send("schedule.delete", {"id": client.id("a")}).must()
    _pages(client, "schedule", limit=4)
