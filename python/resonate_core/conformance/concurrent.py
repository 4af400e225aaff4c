"""Several connections that use the same few ids at the same time: for each id, one order of the requests must explain all answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .compare import plain_reply
from .exchange import JudgedServer
from .findings import Finding, SceneFailed
from .linearizable import Asked, explanation, id_of
from .player import Player
from .reference import Model
from .requests import ADDRESS, V26, request

__all__ = ["RULE", "judge"]

RULE = "PROTOCOL 1 one instant for each request (linearizability)"
_TASKS, _PROMISES = 3, 3
_LIFE = 30
"""The number of requests of a connection after which all of them use other ids: settled promises change no more."""
_INSTANTS = ("createdAt", "settledAt")


@dataclass
class _Connection:
    """One of the clients. The seed alone determines its requests, whatever the answers are."""

    server: JudgedServer
    dialect: str
    name: str
    seed: str
    ids: str
    deadline: int
    tags: dict[str, str]
    address: str
    count: int

    def requests(self) -> Iterator[dict[str, Any]]:
        """The requests of this connection."""
        chance = random.Random(self.seed)
        for number in range(self.count):
            kind, data = self._request(chance, number)
            yield request(kind, data, self.dialect, f"{self.name}-{number}")

    def _request(self, chance: random.Random, number: int) -> tuple[str, dict[str, Any]]:
        task = f"{self.ids}t{chance.randrange(_TASKS)}.{number // _LIFE}"
        promise = f"{self.ids}p{chance.randrange(_PROMISES)}.{number // _LIFE}"
        version, value = chance.randrange(4), {"data": self.name}
        state = chance.choice(("resolved", "rejected"))
        made = {"timeoutAt": self.deadline, "param": value}
        pid = {"pid": f"{self.ids}{self.name}", "ttl": 3_600_000}
        targeted = {**self.tags, "resonate:target": self.address}
        action = request("promise.settle", {"id": task, "state": state, "value": value}, self.dialect, "inner")
        choices: list[tuple[str, dict[str, Any]]] = [
            ("promise.create", {"id": promise, "tags": self.tags, **made}),
            ("promise.settle", {"id": promise, "state": state, "value": value}),
            ("promise.get", {"id": promise}),
            ("promise.create", {"id": task, "tags": targeted, **made}),
            *[("task.acquire", {"id": task, "version": version, **pid})] * 3,
            ("task.release", {"id": task, "version": version}),
            ("task.fulfill", {"id": task, "version": version, "action": action}),
            *[("task.get", {"id": task})] * 2,
        ]
        if self.dialect == V26:
            choices += [("task.halt", {"id": task}), ("task.continue", {"id": task})]
        return chance.choice(choices)

    def run(self) -> list[Asked]:
        """Send all requests, one after the other."""
        history = []
        for one in self.requests():
            answer = self.server.ask(one)
            begin, end = (round(at * 1_000_000) for at in (answer.begin, answer.end))
            body = answer.body if isinstance(answer.body, dict) else {"kind": "", "head": {}, "data": answer.text}
            history.append(Asked(begin, end, one, body))
        return history


def judge(player: Player, dialects: tuple[str, ...], seed: int, connections: int, requests: int) -> None:
    """Run the connections, and judge the history of each id.

    Args:
        player: Knows the server, and keeps what is found.
        dialects: The dialects of the connections in turn.
        seed: The seed of their requests.
        connections: Their number.
        requests: The number of requests of all of them.
    """
    base = player.clock.now()[1]
    begin = player.client(dialects[0], "connections")
    try:
        begin.begin()
    except SceneFailed as verdict:
        player.findings.append(verdict.finding)
        return
    ids = begin.id("")
    made = [
        _Connection(
            player.server.another(),
            dialects[number % len(dialects)],
            f"c{number}",
            f"{seed}.{number}",
            ids,
            base + 10**10,
            begin.tags(),
            begin.address(ADDRESS),
            max(1, requests // connections),
        )
        for number in range(connections)
    ]
    try:
        with ThreadPoolExecutor(connections) as pool:
            histories = list(pool.map(_Connection.run, made))
    finally:
        for one in made:
            one.server.close()
            for asked in one.requests():
                player.leftovers.note(id_of(asked))
        player.leftovers.take(begin.twin)
    begin_of_all = min(one.begin for history in histories for one in history)
    for id in sorted({id_of(one.request) for history in histories for one in history}):
        player.tally(dialects[0]).count(RULE)
        if explanation(histories, id, _without_instants, Model(rules=player.rules, start=base)) is None:
            player.findings.append(_unexplained(id, histories, begin_of_all, f"connections of seed {seed}", dialects[0]))


def _without_instants(reply: dict[str, Any]) -> dict[str, Any]:
    """The status and data of an answer, in which each instant that the server chose is 0."""
    plain = plain_reply(reply)
    return {"status": plain["head"].get("status"), "data": _at_zero(plain["data"])}


def _at_zero(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: 0 if name in _INSTANTS else _at_zero(inner) for name, inner in value.items()}
    return [_at_zero(one) for one in value] if isinstance(value, list) else value


def _unexplained(id: str, histories: list[list[Asked]], begin: int, scene: str, dialect: str) -> Finding:
    """The finding of an id whose answers no order explains: its whole history is the answer."""
    ordered = sorted((one for history in histories for one in history if id_of(one.request) == id), key=lambda one: one.begin)
    history = [
        {"begin_us": (one.begin - begin) // 1000, "end_us": (one.end - begin) // 1000, "request": one.request, "answer": one.answer}
        for one in ordered
    ]
    right = (
        f"the requests on {id!r} have an order, within the instants of their begins and ends, in which the model gives each answer"
    )
    return Finding(RULE, scene, dialect, ordered[0].request, history, right, ())
