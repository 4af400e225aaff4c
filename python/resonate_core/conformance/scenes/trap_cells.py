"""Each cell of the table of traps (PROTOCOL 7) as a scene on a server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..expectation import Expectation
from ..player import Scene, SceneClient
from ..requests import V25, V26
from ..rules import TIMEOUT, section
from ..tables.traps import CELLS, Cell
from .traps import REQUESTS, TrapScene

__all__ = ["scenes"]

_WAITS = ("expired", "late", "timer", "untargeted", "inner dead", "awaiter")
_NEW_KINDS = {"callback": "promise.register_callback", "listener": "promise.register_listener"}
_OLD_KINDS = {"callback": "promise.register", "listener": "promise.subscribe"}


class _Trap(TrapScene):
    """A scene on a server: p's deadline is soon after p is created."""

    def __init__(self, client: SceneClient, helper: SceneClient, cell: Cell, soon: int) -> None:
        super().__init__(client, helper, cell)
        self._scene, self._soon = client, soon

    def _lay(self, trap: str) -> None:
        self.deadline = self._scene.elapsed() + self._soon
        super()._lay(trap)


def scenes(dialect: str, spoken: tuple[str, ...], rules: str, soon: int) -> Iterator[Scene]:
    """The scenes of all cells of a dialect and a rule set.

    Args:
        dialect: The dialect of the requests.
        spoken: The dialects that the server speaks.
        rules: The rule set.
        soon: How long after p is created its deadline is, in ms.
    """
    for cell in CELLS:
        if cell.meaningless or (cell.version, cell.rules) != (dialect, rules):
            continue
        name = f"trap {cell.trap}: {cell.request}"
        waits = 2 * soon if cell.trap in _WAITS else 0
        yield Scene(_rule(cell), name, dialect, partial(_play, cell, spoken, soon), waits)


def _rule(cell: Cell) -> str:
    if cell.request.startswith("step:"):
        return TIMEOUT
    word = cell.request.split()[0]
    return section((_NEW_KINDS if cell.version == V26 else _OLD_KINDS).get(word, word))


def _play(cell: Cell, spoken: tuple[str, ...], soon: int, client: SceneClient) -> Iterator[int]:
    helper = client.other(V26 if V26 in spoken else V25)
    scene = _Trap(client, helper, cell, soon)
    scene.build()
    if cell.trap in _WAITS:
        yield scene.deadline + (soon // 2 if cell.trap == "late" else 1)
    if not cell.request.startswith("step:"):
        source = f"the table of PROTOCOL 7, {cell.request}, trap {cell.trap}"
        expect = Expectation(client, source, cell.rules, timed=cell.trap in _WAITS)
        expect.status(REQUESTS[cell.request](scene), cell.status)
    for version in spoken:
        client.other(version).get("p")
        client.other(version).task("p")
    if V26 in spoken:
        for state in ("pending", "resolved", "rejected_timedout"):
            client.other(V26).search("promise", state=state)
