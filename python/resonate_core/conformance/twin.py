"""A reference model that follows a server: it must be able to give each answer of the server.

A request runs at one instant of the server's clock, which is known only within bounds. Where the model's answer depends on the instant,
each of its answers within the bounds is right. An instant that an answer shows of its own request is taken over by the model.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Any

from ..base.json_differences import differences
from .compare import plain_reply
from .exchange import JudgedServer, TimedAnswer, local_ms
from .findings import Finding, NotJudged, SceneFailed
from .instants import ServerTime
from .reference import Model
from .reply_form import fault_of
from .rules import rule_of

__all__ = ["Twin"]

_INSTANTS = (
    *("createdAt", "settledAt", "sentAt", "enqueuedAt", "claimedAt", "startedAt", "completedAt", "failedAt", "cancelledAt"),
    *("finishedAt", "expiredAt", "at"),
)
_OPAQUE = ("cursor", "batch")
"""Members whose value the server chooses."""
_OF_STEPS = {"failedAt", "finishedAt", "nextRetryAt"}
"""Instants of internal steps, which a server may take a little later than they are due."""
_HEARTBEATS = ("job.heartbeat", "task.heartbeat")
_BETWEEN = 8  # due instants within the bounds of one request that are tried one by one
_PAUSE = 0.01
_STEP_READS = ("task.get", "promise.get", "task.search", "promise.search", "schedule.get", "job.get")
#: The reply of a request that a limit of the server, or its token, refuses says nothing about the contract.
_NOT_OURS = (401, 403, 413, 429, 500, 503)


class Twin:
    """A server and a model that get the same requests.

    Args:
        server: The connections to the server.
        clock: Its time.
        rules: The rule set of the model.
        scene: The name of what is played, for findings.
        patience: How long the server may take for an internal step that is due, in ms.
    """

    def __init__(self, server: JudgedServer, clock: ServerTime, rules: str, scene: str, patience: int) -> None:
        self.server, self.clock = server, clock
        self.rules, self.scene, self.patience = rules, scene, patience
        low = clock.now()[0] if clock.known else 0
        self.model = Model(rules=rules, start=max(low, 0), debug=clock.fixed is not None)
        self.story: list[dict[str, Any]] = []
        self.steps_wait = False
        self._cursors: dict[str, str] = {}
        self._opaque = set(_OPAQUE)
        self.rule: str | None = None

    # ---- requests

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to both; return the server's answer.

        Raises:
            SceneFailed: The answer is not right.
            NotJudged: A limit of the server, or the token, refused the request.
            Unreachable: There is no answer.
        """
        answer = self.server.ask(request)
        self._check_form(answer)
        if not self._in_step(answer):
            answer = self._again(answer)
        self.story.append(request)
        if request["kind"] in _HEARTBEATS:  # its reply does not show the instant from which a lease counts
            self._opaque.add("leaseUntil")
        body: dict[str, Any] = answer.body
        return body

    def steps_are_due(self, instants: Collection[str] = ()) -> None:
        """Note that the effects of all due steps must be visible from now on, at the latest after the patience of the twin.

        Args:
            instants: Further members that show when a step was taken.
        """
        self.model.advance_to(max(self.model.now, self.clock.now()[0]))
        self.steps_wait = True
        self._opaque |= {*_OF_STEPS, *instants}

    def _again(self, answer: TimedAnswer) -> TimedAnswer:
        """Repeat a read while an internal step may still be running; it is a finding if that does not help."""
        wrong = self._verdict(answer)
        waits = answer.request["kind"] in _STEP_READS and (self.steps_wait or wrong.finding.rule.startswith("PROTOCOL 4"))
        end = local_ms() + self.patience
        while waits and local_ms() < end:
            time.sleep(_PAUSE)
            answer = self.server.ask(answer.request)
            self._check_form(answer)
            if self._in_step(answer):
                return answer
        raise wrong

    # ---- one answer

    def _check_form(self, answer: TimedAnswer) -> None:
        """Check the rules of WIRE 1 for every response.

        Raises:
            SceneFailed: It says otherwise.
        """
        request, body = answer.request, answer.body
        if answer.http_status in _NOT_OURS:
            raise NotJudged(f"the server answered {answer.http_status}: {answer.text[:200]}")
        problem = _problem_of(answer)
        if problem is None:
            return
        raise SceneFailed(self._finding("WIRE 1 envelope", request, answer.text if body is None else body, problem, (problem,)))

    def _in_step(self, answer: TimedAnswer) -> bool:
        """Send the request to the model so that it gives the same answer; return whether it can."""
        low, high = self.clock.bounds(answer.begin, answer.end) if self.clock.known else (0, 2**62)
        low, high = max(low, self.model.now), max(high, self.model.now)
        got = _comparable(answer.body, self._opaque)
        for at in self._candidates(answer.body, low, high):
            for model in self._models(at):
                right = model.apply(self._for_model(answer.request), at)
                if _comparable(right, self._opaque) == got:
                    self.model = model
                    self._note_cursor(answer.body, right)
                    return True
        return False

    def _for_model(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request with the cursor of the model in place of that of the server, which is opaque."""
        cursor = request["data"].get("cursor") if isinstance(request["data"], dict) else None
        if not isinstance(cursor, str) or cursor not in self._cursors:
            return request
        return dict(request, data=dict(request["data"], cursor=self._cursors[cursor]))

    def _note_cursor(self, body: dict[str, Any], right: dict[str, Any]) -> None:
        data = body["data"]
        if isinstance(data, dict) and isinstance(data.get("cursor"), str):
            self._cursors[data["cursor"]] = right["data"]["cursor"]

    def _candidates(self, body: Any, low: int, high: int) -> Iterator[int]:
        """The instants at which the request may have run: first those that its answer shows."""
        shown = {at for at in _instants_in(body) if low <= at <= high}
        yield from shown
        if self.clock.known:
            yield from (at for at in self._points(low, high) if at not in shown)

    def _points(self, low: int, high: int) -> list[int]:
        """The instants within the bounds at which the model's answer may change."""
        points, due = [low], self.model.next_due()
        following = self.model.fork() if due is not None and due <= high else None
        while following is not None and due is not None and due <= high and len(points) < _BETWEEN:
            points += [due]
            following.tick(due)
            due = following.next_due()
        # What only a projection changes has no step: a deadline.
        points += [row["timeoutAt"] for row in self.model.snapshot()["promises"] if low < row["timeoutAt"] <= high]
        return [*points, high]

    def _models(self, at: int) -> Iterator[Model]:
        """The models that may answer at an instant: the steps that are due were taken before the request, or were not."""
        yield self.model.fork()
        due = self.model.next_due()
        if due is not None and due <= at:
            ahead = self.model.fork()
            ahead.advance_to(at)
            yield ahead

    def _verdict(self, answer: TimedAnswer) -> SceneFailed:
        """The finding of an answer that the model does not give."""
        low, high = self.clock.bounds(answer.begin, answer.end) if self.clock.known else (self.model.now, self.model.now)
        shown = [at for at in _instants_in(answer.body) if low <= at <= high]
        at = max(shown[0] if shown else high, self.model.now)
        *_, model = self._models(at)
        right = model.apply(self._for_model(answer.request), at)
        differ = tuple(
            differences(_comparable(answer.body, self._opaque), _comparable(right, self._opaque), ("the server", "right is"), "")
        )
        past = {
            row["id"]
            for row in model.snapshot()["promises"]
            if row["timeoutAt"] <= at and row.get("settledAt") in (None, row["timeoutAt"])
        }
        tasks = ((row["id"], row["task"]) for row in self.model.snapshot()["promises"] if "task" in row)
        resumed = {id for id, task in tasks if task["state"] == "pending" and task["resumes"]}
        rule = rule_of(answer.request, answer.body, right, past, resumed)
        if self.rule is not None and not rule.startswith(("PROTOCOL 1.2", "PROTOCOL 4")):
            rule = self.rule
        return SceneFailed(self._finding(rule, answer.request, answer.body, right, differ))

    def _finding(self, rule: str, request: dict[str, Any], got: Any, right: Any, differences: tuple[str, ...]) -> Finding:
        return Finding(rule, self.scene, request["head"]["version"], request, got, right, differences, tuple(self.story))


def _comparable(reply: dict[str, Any], opaque: Collection[str] = _OPAQUE) -> dict[str, Any]:
    """Return the parts of a reply that must be equal: not the head, whose form is checked separately, nor the value of an opaque member."""
    plain = plain_reply(reply)
    return {"status": plain["head"]["status"], "data": _hidden(plain["data"], opaque)}


def _hidden(value: Any, opaque: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {name: "(opaque)" if name in opaque and inner else _hidden(inner, opaque) for name, inner in value.items()}
    return [_hidden(one, opaque) for one in value] if isinstance(value, list) else value


def _problem_of(answer: TimedAnswer) -> str | None:
    """The first fault in the form of an answer, or None."""
    fault = fault_of(answer.request, answer.body)
    if fault is not None:
        return fault
    status = answer.body["head"]["status"]
    if answer.http_status != status:
        return f"the HTTP status must be head.status, {status}, got {answer.http_status}"
    if answer.content_type.partition(";")[0].strip() != "application/json":
        return f"the content type must be application/json, got {answer.content_type!r}"
    return None


def _instants_in(value: Any) -> Iterator[int]:
    """The instants in a reply that may be those of its request."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _INSTANTS and type(inner) is int:
                yield inner
            else:
                yield from _instants_in(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _instants_in(one)
