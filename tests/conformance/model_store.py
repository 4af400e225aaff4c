"""The reference model with the interface of a store, so that the conformance tests judge it as they judge the engine.

The model knows neither JSON text nor invariants. This module adds the first in the plainest way; for the second it uses the properties
that `tests/property` checks on the model.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from backends import BackEnd
from reference import properties
from resonate_core.conformance.reference import Model
from resonate_core.errors import Invalid


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Raises the error of the engine in place of the model's ValueError."""
    try:
        yield
    except ValueError as error:
        raise Invalid(str(error)) from error


class Fired:
    """An internal step that ran."""

    def __init__(self, step: dict[str, Any]) -> None:
        self.kind, self.id, self.at, self.now = step["kind"], step["id"], step["at"], step["now"]
        self.detail = step.get("detail") or {}


class ManualClock:
    """A clock that moves the stores made on it, like the module's."""

    def __init__(self, start: int = 0) -> None:
        self._start = start
        self._store: Store | None = None

    @property
    def now(self) -> int:
        """The last instant seen."""
        return self._store.model.now if self._store else self._start

    def _move(self, method: str, *arguments: int) -> list[Fired]:
        assert self._store is not None
        with refusals():
            return [Fired(f) for f in getattr(self._store.model, method)(*arguments)]

    def advance(self, by: int | timedelta) -> list[Fired]:
        """Moves the clock by a duration."""
        ms = by // timedelta(milliseconds=1) if isinstance(by, timedelta) else by
        return self._move("advance_to", self.now + ms)

    def advance_to(self, instant: int) -> list[Fired]:
        """Visits every due instant up to this one."""
        return self._move("advance_to", instant)

    def advance_to_next(self) -> list[Fired]:
        """Moves the clock to the next due instant."""
        return self._move("advance_to_next")


@dataclass(frozen=True)
class Broken:
    """A property that a row does not have."""

    name: str
    id: object


class Message:
    """A message of the outbox."""

    def __init__(self, row: dict[str, Any], wire: dict[str, Any]) -> None:
        self.kind, self.id, self.version = row["kind"], row["id"], row.get("version")
        self.address, self.attempts, self.queued_at = row["address"], row["attempts"], row["queuedAt"]
        self.message, self.key = wire["message"], wire["key"]


class Store:
    """A `Model` with the store's methods."""

    closed = False

    def __init__(
        self, path: None = None, *, clock: ManualClock | None = None, check: bool = False, debug: bool | None = None, **options: Any
    ) -> None:
        self.clock = clock or ManualClock()
        self.model = Model(start=self.clock.now, debug=debug is not False, **options)
        self.clock._store = self

    @property
    def now(self) -> int:
        """The last instant seen."""
        return self.model.now

    def apply(self, envelope: Any, now: int | None = None, atomic: bool = False) -> Any:
        """Runs one envelope, or a list of them."""
        if isinstance(envelope, list):
            return self.model.apply_batch(envelope, now, atomic)
        return self.model.apply(envelope, now)

    def apply_json(self, text: Any, now: int | None = None, atomic: bool = False) -> Any:
        """Runs envelopes given as text."""
        if isinstance(text, list):
            envelopes = [_parsed(t) for t in text]
            return [_written(a) for a in self.model.apply_batch(envelopes, now, atomic)]
        return _written(self.model.apply(_parsed(text), now))

    def tick(self, now: int | None = None, limit: int | None = None) -> list[Fired]:
        """Runs the steps that are due at one instant, at most `limit` of them."""
        with refusals():
            return [Fired(f) for f in self.model.tick(now, limit)]

    def purge(self, *, settled_before: int) -> int:
        """Deletes what was settled before an instant."""
        with refusals():
            return self.model.purge(settled_before)

    def next_due(self) -> int | None:
        """The instant of the next step."""
        return self.model.next_due()

    def check(self) -> list[Broken]:
        """Returns the properties that the stored rows do not have."""
        return [Broken(name, id) for name, id in properties.of_a_state(self.model.snapshot(), self.model.world.rules)]

    def fork(self, clock: ManualClock | None = None) -> Store:
        """Returns an independent copy."""
        other = Store(clock=clock or ManualClock(self.now))
        other.model = self.model.fork()
        return other

    def snapshot(self, format: str = "full") -> dict[str, Any]:
        """Returns the stored rows."""
        return self.model.snapshot() if format == "full" else self.model.debug_snapshot()

    def restore(self, snapshot: dict[str, Any], check: bool = True) -> None:
        """Replaces all rows by those of a snapshot."""
        self.model.restore(snapshot)

    def digest(self) -> str:
        """Returns a hash of the stored rows."""
        rows = {k: v for k, v in self.model.snapshot().items() if k != "now"}
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    def messages(self) -> list[Message]:
        """Returns the outbox."""
        return [Message(r, w) for r, w in zip(self.model.snapshot()["messages"], self.model.messages(), strict=True)]

    def take_messages(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Takes all messages out of the outbox."""
        return copy.deepcopy(self.model.take_messages(limit))


MODEL = BackEnd("reference", Store, check_each_step=False, clock_type=ManualClock)
"""The model as an end of the conformance tests."""


def _parsed(text: bytes | str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    try:
        text.encode() if isinstance(text, str) else text.decode()
        parsed = json.loads(text, parse_constant=refuse)
        json.dumps(parsed, ensure_ascii=False).encode()
        copy.deepcopy(parsed)  # nested as deeply as the model can copy; the engine has a limit, too
    except (ValueError, RecursionError):
        return None
    return parsed


def _written(answer: Any) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode()
