"""The findings of a judge: violated rules, and rules that could not be judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Finding", "NotJudged", "SceneFailed", "Tally"]


@dataclass(frozen=True)
class Finding:
    """An answer that the contract does not allow.

    Attributes:
        rule: The section of the contract and its name, as ``PROTOCOL 3.3 promise.settle``.
        scene: Where it was found: a scene, or a random program with its seed.
        dialect: The version of the protocol.
        request: The envelope that was sent.
        answer: The answer: an envelope, or the text that is none.
        right: What would be right: the model's reply, or a sentence.
        differences: Where both differ, one line each.
        story: The requests of the scene before this one.
    """

    rule: str
    scene: str
    dialect: str
    request: dict[str, Any]
    answer: Any
    right: Any
    differences: tuple[str, ...]
    story: tuple[dict[str, Any], ...] = field(default=(), repr=False)


class SceneFailed(Exception):
    """Ends a scene with a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.rule)
        self.finding = finding


class NotJudged(Exception):
    """Ends a scene: its rule cannot be judged on this server, or not now."""


@dataclass
class Tally:
    """The numbers of one dialect.

    Attributes:
        judged: How often each scene of a rule was played to its end, or to a finding, by rule.
        not_judged: The reasons for which scenes of a rule were not judged, with their number, by rule.
    """

    judged: dict[str, int] = field(default_factory=dict)
    not_judged: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, rule: str) -> None:
        """Count a scene of a rule that was judged."""
        self.judged[rule] = self.judged.get(rule, 0) + 1

    def leave(self, rule: str, reason: str, scenes: int = 1) -> None:
        """Count scenes of a rule that were not judged."""
        reasons = self.not_judged.setdefault(rule, {})
        reasons[reason] = reasons.get(reason, 0) + scenes

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for rule, number in other.judged.items():
            self.judged[rule] = self.judged.get(rule, 0) + number
        for rule, reasons in other.not_judged.items():
            for reason, number in reasons.items():
                self.leave(rule, reason, number)
