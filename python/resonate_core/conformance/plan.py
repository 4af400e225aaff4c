"""The options of a judgement."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field

from ..errors import Invalid
from .requests import DIALECTS

__all__ = ["EFFORTS", "Plan"]

EFFORTS = ("quick", "normal", "thorough")
_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Plan:
    """The options of a judgement.

    Attributes:
        dialects: The versions of the protocol; those that the server does not speak are not judged.
        rules: The rule set, ``"compatible"`` or ``"strict"``.
        prefix: The beginning of every id; a fresh one by default.
        seed: The seed of random programs and of connections.
        requests: How many requests the random programs send, and half as many the connections.
        connections: The number of connections; with 1, requests at the same time are not judged.
        patience: How long a scene may wait for a deadline, in ms.
        effort: ``"quick"``: one scene in four; ``"normal"``; ``"thorough"``: rows of 2025-01-15 with all combinations of their values.
        jobs: Whether jobs are judged too, which are no part of the protocol; their queues stay on the server.
        debug: Whether ``debug.*`` is used: a manual clock of the server is moved, instead of waiting.
    """

    dialects: tuple[str, ...] = DIALECTS
    rules: str = "compatible"
    prefix: str = field(default_factory=lambda: f"conformance-{secrets.token_hex(4)}.")
    seed: int = 1
    requests: int = 2000
    connections: int = 8
    patience: int = 3000
    effort: str = "normal"
    jobs: bool = False
    debug: bool = False

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix) or not self.prefix.strip("._-"):
            raise Invalid(
                f"prefix must be 1 to 64 letters, digits, '.', '_' and '-', with a letter or a digit, got {self.prefix!r}"
            )
        if self.rules not in ("compatible", "strict"):
            raise Invalid(f"rules must be 'compatible' or 'strict', got {self.rules!r}")
        if self.effort not in EFFORTS:
            raise Invalid(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")
        for dialect in self.dialects:
            if dialect not in DIALECTS:
                raise Invalid(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
