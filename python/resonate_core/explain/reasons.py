"""Why an id does not move: a finding about one id (`Reason`), and the answer with all that it waits for (`Why`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..base.instants import when

__all__ = ["Advice", "Next", "Reason", "Why"]

#: A text, and the kind and data of the request that does it.
Advice = tuple[str, "tuple[str, dict[str, Any]] | None"]


class Next(NamedTuple):
    """What happens next.

    Attributes:
        what: In words, without the instant.
        at: When, in Unix ms; None if it is not known.
        is_step: Whether it is an internal step, which needs a process that ticks the store.
    """

    what: str
    at: int | None
    is_step: bool = False


@dataclass(frozen=True)
class Reason:
    """Why one id does not move, without what it waits for in turn.

    Attributes:
        id: The id.
        kind: As in `Why`.
        state: As in `Why`.
        sentence: The reason.
        next: What happens next by itself.
        waits_for: The ids that it waits for, the most telling first.
        stuck: Whether nothing happens by itself that lets it continue.
        advice: What a person can do.
        names_cause: Whether the sentence tells what `waits_for` leads to.
    """

    id: str
    kind: str
    state: str | None
    sentence: str
    next: Next | None
    waits_for: Sequence[str] = ()
    stuck: bool = False
    advice: tuple[Advice, ...] = ()
    names_cause: bool = False


@dataclass(frozen=True)
class Why:
    """Why an id does not move.

    Attributes:
        id: The id.
        kind: `promise`, `task`, `job`, `schedule`, `queue`, or `unknown`.
        state: Its state; None for a queue and an unknown id.
        sentence: The reason, in one sentence.
        next: What happens to it next, and when (Unix ms, or None); None: nothing happens by itself.
        chain: The ids that it waits for, each with a sentence: the first one, the one that this one waits for, and so on.
        stuck: Whether it waits for a person: nothing that happens by itself lets it continue.
        advice: What a person can do: texts, each with the kind and the data of a request, or None.
        now: The instant of the answer, in Unix ms.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("t", id="a", process_in=60_000)
        >>> rc.why(store, "a").state
        'scheduled'
    """

    id: str
    kind: str
    state: str | None
    sentence: str
    next: Next | None = None
    chain: tuple[tuple[str, str], ...] = ()
    stuck: bool = False
    advice: tuple[Advice, ...] = ()
    now: int = 0

    def __str__(self) -> str:
        lines = [self.sentence]
        lines += [f"  {id}: {sentence}" for id, sentence in self.chain]
        lines.append(f"Next: {self.following}.")
        lines += [f"You can: {text}." for text, _ in self.advice]
        return "\n".join(lines)

    @property
    def following(self) -> str:
        """The next event with its instant, as text."""
        if self.next is None:
            return "nothing happens by itself"
        return self.next.what if self.next.at is None else f"{self.next.what}, at {when(self.next.at, self.now)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all members in a JSON-able dict.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> rc.why(store, "a").to_dict()["stuck"]
            False
        """
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "sentence": self.sentence,
            "next": None if self.next is None else {"what": self.next.what, "at": self.next.at},
            "now": self.now,
            "chain": [{"id": id, "sentence": sentence} for id, sentence in self.chain],
            "stuck": self.stuck,
            "advice": [
                {"text": text, "action": None if action is None else {"kind": action[0], "data": action[1]}}
                for text, action in self.advice
            ],
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Why:
        """Return what `to_dict` has shown.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("t", id="a")
            >>> found = rc.why(store, "a")
            >>> type(found).from_dict(found.to_dict()) == found
            True
        """
        next = given["next"]
        advice = [(one["text"], one["action"]) for one in given["advice"]]
        return cls(
            id=given["id"],
            kind=given["kind"],
            state=given["state"],
            sentence=given["sentence"],
            next=None if next is None else Next(next["what"], next["at"]),
            chain=tuple((link["id"], link["sentence"]) for link in given["chain"]),
            stuck=given["stuck"],
            advice=tuple((text, None if action is None else (action["kind"], action["data"])) for text, action in advice),
            now=given["now"],
        )
