"""Scenes on a server: each plays under ids of its own, on a model of its own, and waits for its deadlines beside the others."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ResonateError
from .exchange import JudgedServer, local_ms
from .findings import Finding, NotJudged, SceneFailed, Tally
from .instants import ServerTime
from .job_requests import JobRequests
from .leftovers import Leftovers
from .requests import ADDRESS, LISTENER, Reply, request, tags_of
from .rules import named
from .twin import Twin

__all__ = ["MARK", "Player", "Scene", "SceneClient"]

MARK = "resonate-conformance"
"""The tag of everything that a judge creates; its text is the prefix."""
_SCENE = f"{MARK}-scene"
_STEP_PATIENCE = 500
"""How long a server may take for an internal step that is due, at least, in ms."""
_ATTEMPTS = 3
"""How often a scene with a deadline is tried if it is too slow for it."""
_ADDRESSED = ("resonate:target", "resonate:invoke")


@dataclass(frozen=True)
class Scene:
    """A short program of requests; the last ones are judged.

    Attributes:
        rule: The section of the contract that it tries, for the count of judged rules.
        name: Its name, for findings.
        dialect: The version of the protocol.
        play: The program. It yields instants, in ms since its begin, that it waits for.
        waits: How long it waits at most, in ms.
    """

    rule: str
    name: str
    dialect: str
    play: Callable[[SceneClient], Iterator[int] | None]
    waits: int = 0


class SceneClient(JobRequests):
    """The requests of a scene. Each response is compared with the model's.

    Attributes:
        twin: The server and the model.
        base: The server's instant at the begin of the scene.
        has_own_group: Whether its addresses are in a group of its own.
    """

    longest_lease = 3_600_000

    def __init__(self, twin: Twin, version: str, prefix: str, number: str, mark: str, corr_ids: Iterator[int]) -> None:
        super().__init__(version)
        self.twin = twin
        self.base = 0
        self.has_own_group = False
        self._prefix, self._number, self._mark, self._corr_ids = prefix, number, mark, corr_ids

    def begin(self) -> None:
        """Learn the server's instant."""
        data = {"id": self.id("begin"), "timeoutAt": 2**53 - 1, "param": {}, "tags": self.tags()}
        begin = local_ms()
        self.base = int(self.send("promise.create", data)["promise"]["createdAt"])
        self.twin.clock.learn(begin, local_ms(), self.base)

    def elapsed(self) -> int:
        """The ms since the scene began, by the server's clock."""
        return self.twin.clock.now()[1] - self.base

    def other(self, version: str) -> SceneClient:
        """The same scene in another dialect."""
        made = SceneClient(self.twin, version, self._prefix, self._number, self._mark, self._corr_ids)
        made.base = self.base
        return made

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Send a request to the server, and to the model at the server's instant."""
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
        return {ADDRESS: f"poll://any@{self.group}", LISTENER: f"poll://uni@{self.group}/c1"}.get(address, address)

    @property
    def group(self) -> str:
        """The group of the addresses."""
        return f"{self._mark}-{self._number}" if self.has_own_group else self._mark

    def tags(self, target: str | None = None, tags: dict[str, str] | None = None) -> dict[str, str]:
        """The tags, with the mark of the judge."""
        found = tags_of(target, tags) | {MARK: self._mark, _SCENE: self._number}
        own = {"resonate:branch": self.id, **dict.fromkeys(_ADDRESSED, self.address)}
        return {name: own[name](text) if name in own else text for name, text in found.items()}

    def filters(self, data: dict[str, Any]) -> dict[str, Any]:
        """Filters that find the rows of this scene only."""
        found = dict(data, tags={**data.get("tags", {}), MARK: self._mark, _SCENE: self._number})
        if "id" in found:
            found["id"] = self.id(found["id"])
        return found


class Player:
    """Runs scenes on a server, and collects the findings.

    Attributes:
        server: The connections to the server.
        clock: The server's time.
        rules: The rule set.
        prefix: The beginning of all ids.
        patience: How long a scene may wait for a deadline, in ms.
        moves_clock: Whether a clock that stands still may be moved.
        leftovers: Rows to clean up.
        findings: The wrong answers.
        tallies: The numbers of scenes, by dialect.
    """

    def __init__(self, server: JudgedServer, clock: ServerTime, rules: str, prefix: str, patience: int) -> None:
        self.server, self.clock, self.rules, self.prefix, self.patience = server, clock, rules, prefix, patience
        self.moves_clock = False
        self.leftovers = Leftovers()
        self.findings: list[Finding] = []
        self.tallies: dict[str, Tally] = {}
        self.corr_ids = itertools.count(1)
        self._numbers = itertools.count(1)
        self._order = itertools.count()
        self._waiting: list[_Waiting] = []

    @property
    def mark(self) -> str:
        """The text of the mark: the prefix as the name of a group."""
        return self.prefix.strip("._-")

    def tally(self, dialect: str) -> Tally:
        """The numbers of a dialect."""
        return self.tallies.setdefault(dialect, Tally())

    def client(self, dialect: str, name: str) -> SceneClient:
        """Return a client for one scene, with ids that no other scene has."""
        twin = Twin(self.server, self.clock, self.rules, name, max(self.patience, _STEP_PATIENCE))
        return SceneClient(twin, dialect, self.prefix, str(next(self._numbers)), self.mark, self.corr_ids)

    def play_all(self, scenes: Iterable[Scene], connections: int) -> None:
        """Run scenes on several connections; each scene runs on one of them.

        Raises:
            Unreachable: The server does not answer.
        """
        shared = _Shared(scenes)
        if connections < 2 or self.clock.fixed is not None:
            self.play(shared)
            return
        players = [self._another() for _ in range(connections)]
        try:
            with ThreadPoolExecutor(connections) as pool:
                # Each result is asked for, since it may be an error.
                list(pool.map(lambda player: player.play(shared), players))
        finally:
            for player in players:
                player.server.close()
                self._take(player)

    def _another(self) -> Player:
        made = Player(self.server.another(), self.clock, self.rules, self.prefix, self.patience)
        made.corr_ids, made._numbers = self.corr_ids, self._numbers
        return made

    def _take(self, player: Player) -> None:
        """Take over the findings and rows of another player."""
        for waiting in player._waiting:  # it was interrupted
            player.leftovers.take(waiting.client.twin)
        self.findings += player.findings
        self.leftovers.add(player.leftovers)
        for dialect, tally in player.tallies.items():
            self.tally(dialect).add(tally)

    def play(self, scenes: Iterable[Scene]) -> None:
        """Run scenes one after the other; while one waits, others run.

        Raises:
            Unreachable: The server does not answer.
        """
        for scene in scenes:
            while self._waiting and self.clock.now()[0] > self._waiting[0].until:
                self._go_on(heapq.heappop(self._waiting))
            if (reason := self._reason_against(scene)) is not None:
                self.tally(scene.dialect).leave(scene.rule, reason)
            else:
                self._begin(scene, 1)
        while self._waiting:
            self._wait(self._waiting[0].until)
            self._go_on(heapq.heappop(self._waiting))

    def _reason_against(self, scene: Scene) -> str | None:
        """Return why a scene cannot run, or None."""
        if not scene.waits or self.moves_clock:
            return None
        if self.clock.fixed is not None:
            return "the clock of the server stands still: --debug permits to move it"
        return "it waits longer than --patience" if scene.waits > self.patience else None

    def _begin(self, scene: Scene, attempt: int) -> None:
        client = self.client(scene.dialect, scene.name)
        self._go_on(_Waiting(0, next(self._order), scene, client, _program(scene, client), attempt))

    def _go_on(self, entry: _Waiting) -> None:
        """Run a scene until it waits or ends."""
        scene, client, tally = entry.scene, entry.client, self.tally(entry.scene.dialect)
        try:
            until = client.instant(next(entry.program))
        except StopIteration:
            tally.count(scene.rule)
        except NotJudged as reason:
            tally.leave(scene.rule, str(reason))
        except AssertionError as refused:
            # The model agrees with each answer: the scene was too slow for its deadline, or the rule set refuses its preparation.
            if scene.waits and entry.attempt < _ATTEMPTS:
                self._begin(scene, entry.attempt + 1)
            else:
                tally.leave(scene.rule, f"its preparation was not carried out: {refused}")
        except SceneFailed as verdict:
            tally.count(scene.rule)
            self.findings.append(verdict.finding)
        else:
            heapq.heappush(self._waiting, replace(entry, until=until, order=next(self._order)))
            return
        self.leftovers.take(client.twin)

    def _wait(self, until: int) -> None:
        if self.clock.fixed is None:
            self.clock.sleep_past(until)
        elif until >= self.clock.fixed:
            self._move(until + 1)

    def _move(self, instant: int) -> None:
        """Move the manual clock of the server."""
        answer = self.server.ask(request("debug.tick", {"time": instant}, corr=f"c{next(self.corr_ids)}"))
        if answer.http_status != 200:
            raise ResonateError(
                f"{self.server.name} answered {answer.http_status} to debug.tick: {answer.text[:200]}", answer.http_status
            )
        self.clock.fixed = instant


def _program(scene: Scene, client: SceneClient) -> Iterator[int]:
    client.begin()
    program = scene.play(client)
    if program is not None:
        yield from program


@dataclass(frozen=True, order=True)
class _Waiting:
    """A scene that waits for an instant of the server."""

    until: int
    order: int
    scene: Scene = field(compare=False)
    client: SceneClient = field(compare=False)
    program: Iterator[int] = field(compare=False)
    attempt: int = field(compare=False)


class _Shared:
    """Scenes that several threads take, each scene once; none after a thread has failed to make one."""

    def __init__(self, scenes: Iterable[Scene]) -> None:
        self._scenes = iter(scenes)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Scene]:
        return self

    def __next__(self) -> Scene:
        with self._lock:
            return next(self._scenes)
