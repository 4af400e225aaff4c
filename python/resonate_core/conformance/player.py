"""Scenes on a server: each plays under ids of its own, on a model of its own, and waits for its deadlines beside the others."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .exchange import Door, local_ms
from .findings import Finding, NotJudged, Tally, Verdict
from .instants import ServerTime
from .leftovers import Leftovers
from .requests import ADDRESS, LISTENER, Reply, Requests, request, tags_of
from .rules import named, section
from .twin import Twin

__all__ = ["MARK", "Player", "Scene", "SceneClient"]

MARK = "resonate-conformance"
"""The tag of everything that a judge creates; its text is the prefix."""
_SCENE = f"{MARK}-scene"
_ADDRESSED = ("resonate:target", "resonate:invoke")


@dataclass(frozen=True)
class Scene:
    """A short program of requests that ends with those that are judged.

    Attributes:
        rule: The section of the contract that it tries, for the count of judged rules.
        name: What it does.
        dialect: The version of the protocol.
        play: The program. It yields instants, in ms since its begin, that it waits for.
        waits: How long it waits at most, in ms.
    """

    rule: str
    name: str
    dialect: str
    play: Callable[[SceneClient], Iterator[int] | None]
    waits: int = 0


class SceneClient(Requests):
    """The requests of a scene, each judged.

    Attributes:
        twin: The server and the model.
        base: The server's instant at the begin of the scene.
    """

    def __init__(self, twin: Twin, version: str, prefix: str, number: str, mark: str, corr_ids: Iterator[int]) -> None:
        super().__init__(version)
        self.twin = twin
        self.base = 0
        self._prefix, self._number, self._mark, self._corr_ids = prefix, number, mark, corr_ids

    def begin(self) -> None:
        """Learn the server's instant."""
        data = {"id": self.id("begin"), "timeoutAt": 2**53 - 1, "param": {}, "tags": self.tags()}
        begin = local_ms()
        self.base = int(self.send("promise.create", data)["promise"]["createdAt"])
        self.twin.clock.learn(begin, local_ms(), self.base)

    def other(self, version: str) -> SceneClient:
        """The same scene in another dialect."""
        made = SceneClient(self.twin, version, self._prefix, self._number, self._mark, self._corr_ids)
        made.base = self.base
        return made

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Send a request to the server and to the model; the instant is the server's."""
        outside = [one for one in named(data) if one.strip("\0") and not one.startswith(self._prefix)]
        if outside:
            raise ValueError(f"ids of a scene must begin with {self._prefix!r}, got {outside[0]!r}")
        envelope = request(kind, data, self.version, f"c{next(self._corr_ids)}", **head)
        answer = self.twin.ask(envelope)
        return Reply(answer["head"]["status"], answer["data"])

    def id(self, name: str) -> str:
        """The id under the prefix and the number of the scene."""
        return f"{self._prefix}{self._number}.{name}"

    def instant(self, ms: int) -> int:
        """The instant so many ms after the begin of the scene."""
        return self.base + ms

    def address(self, address: str) -> str:
        """The address in the group of the prefix, which no worker of the server has."""
        group = self._mark
        return {ADDRESS: f"poll://any@{group}", LISTENER: f"poll://uni@{group}/c1"}.get(address, address)

    def tags(self, target: str | None = None, tags: dict[str, str] | None = None) -> dict[str, str]:
        """The tags, with the mark of the judge."""
        found = tags_of(target, tags) | {MARK: self._mark, _SCENE: self._number}
        own = {"resonate:branch": self.id, **dict.fromkeys(_ADDRESSED, self.address)}
        return {name: own[name](text) if name in own else text for name, text in found.items()}

    def filters(self, data: dict[str, Any]) -> dict[str, Any]:
        """Filters for what this scene created, and no one else."""
        found = dict(data, tags={**data.get("tags", {}), MARK: self._mark, _SCENE: self._number})
        if "id" in found:
            found["id"] = self.id(found["id"])
        return found


@dataclass
class Player:
    """Plays scenes on a server and keeps what was found.

    Attributes:
        door: The connections to the server.
        clock: The server's time.
        rules: The rule set.
        prefix: The beginning of all ids.
        patience: How long a scene may wait for a deadline, in ms.
        leftovers: What must be cleaned up.
        findings: What was found.
        tallies: What was judged, by dialect.
    """

    door: Door
    clock: ServerTime
    rules: str
    prefix: str
    patience: int
    leftovers: Leftovers
    findings: list[Finding] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    corr_ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def mark(self) -> str:
        """The text of the mark: the prefix as the name of a group."""
        return self.prefix.rstrip("./:-")

    def tally(self, dialect: str) -> Tally:
        """The numbers of a dialect."""
        return self.tallies.setdefault(dialect, Tally())

    def client(self, dialect: str, name: str) -> SceneClient:
        """A client for one scene, under ids that no other scene has."""
        twin = Twin(self.door, self.clock, self.rules, name, max(self.patience, 100))
        return SceneClient(twin, dialect, self.prefix, str(next(self._numbers)), self.mark, self.corr_ids)

    def play(self, scenes: Iterable[Scene]) -> None:
        """Play scenes; while one waits, the others go on.

        Raises:
            Unreachable: The server does not answer.
        """
        order = itertools.count()
        waiting: list[tuple[int, int, Scene, SceneClient, Iterator[int]]] = []
        for scene in scenes:
            while waiting and self.clock.now()[0] > waiting[0][0]:
                self._go_on(heapq.heappop(waiting), waiting, order)
            if scene.waits > self.patience:
                reason = f"it waits {scene.waits} ms: --patience must be more"
                self.tally(scene.dialect).leave(scene.rule, reason)
                continue
            client = self.client(scene.dialect, scene.name)
            self._go_on((0, 0, scene, client, self._program(scene, client)), waiting, order)
        while waiting:
            self._wait(waiting[0][0])
            self._go_on(heapq.heappop(waiting), waiting, order)

    def _program(self, scene: Scene, client: SceneClient) -> Iterator[int]:
        client.begin()
        program = scene.play(client)
        if program is not None:
            yield from program

    def _go_on(self, entry: Any, waiting: list[Any], order: Iterator[int]) -> None:
        """Play a scene to its next wait or to its end."""
        _, _, scene, client, program = entry
        try:
            until = client.instant(next(program))
        except StopIteration:
            self.tally(scene.dialect).count(scene.rule)
        except NotJudged as reason:
            self.tally(scene.dialect).leave(scene.rule, str(reason))
        except Verdict as verdict:
            self.tally(scene.dialect).count(scene.rule)
            self.findings.append(verdict.finding)
        else:
            heapq.heappush(waiting, (until, next(order), scene, client, program))
            return
        self.leftovers.take(client.twin)

    def _wait(self, until: int) -> None:
        if self.clock.fixed is None:
            self.clock.sleep_past(until)
        elif until >= self.clock.fixed:
            self.move(until + 1)

    def move(self, instant: int) -> None:
        """Move the manual clock of the server."""
        answer = self.door.ask(request("debug.tick", {"time": instant}, corr=f"c{next(self.corr_ids)}"))
        if answer.http_status != 200:
            raise NotJudged(f"{section('debug.tick')}: the server answered {answer.http_status}")
        self.clock.fixed = instant
