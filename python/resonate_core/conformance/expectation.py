"""The expectation of a table, which a scene checks in addition to that of the model."""

from __future__ import annotations

from typing import Any

from .findings import Finding, SceneFailed
from .player import SceneClient
from .reply_form import status_in
from .requests import V26, Reply
from .rules import section

__all__ = ["Expectation"]


class Expectation:
    """Checks replies against one cell of a table. Where a table has one rule set, the model alone judges the other.

    Args:
        client: The client of the scene.
        source: The name of the cell.
        rules: The rule set of the cell.
        timed: Whether the scene waits until something is due. By then the model has agreed with each answer, so that a cell which
            does not hold tells of a scene that was too slow for its instants, as on a machine under load, and not of the server.
    """

    def __init__(self, client: SceneClient, source: str, rules: str = "compatible", timed: bool = False) -> None:
        self.client, self.source, self._timed = client, source, timed
        self._judges = client.twin.rules == rules

    def status(self, reply: Reply, right: int | None) -> None:
        """Check a status; 422 is 400 in 2025-01-15.

        Raises:
            SceneFailed: It is another one.
        """
        expected = status_in(self.client.version, right)
        if self._judges and reply.status != expected:
            self._refuse(reply.status, f"{self.source}: status {expected}")

    def task(self, name: str, state: str | None) -> None:
        """Check the state of a task; None: there is no task. In 2025-01-15, tasks have no state on the wire.

        Raises:
            SceneFailed: It is another one.
        """
        reply = self.client.task(name)
        if self.client.version != V26 or not self._judges:
            return
        shown = reply.data["task"]["state"] if reply.status == 200 else None
        if shown != state:
            self._refuse(shown, f"{self.source}: the task is {state or 'missing'}")

    def job(self, shown: Reply, state: str) -> None:
        """Check the state of a job.

        Raises:
            SceneFailed: It is another one.
        """
        got = shown.data["job"]["state"] if shown.status == 200 else None
        if got != state:
            self._refuse(got, f"{self.source}: the job is {state}")

    def _refuse(self, got: Any, right: str) -> None:
        if self._timed:
            raise AssertionError(f"{right}, got {got}: the scene was too slow for its instants")
        twin = self.client.twin
        request = twin.story[-1]
        found = Finding(section(request["kind"]), twin.scene, self.client.version, request, got, right, (), tuple(twin.story[:-1]))
        raise SceneFailed(found)
