"""What a dashboard shows and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["ROLES", "Role", "UiOptions"]

Role: TypeAlias = Literal["none", "read", "operate"]
#: From the fewest permissions to the most.
ROLES: tuple[Role, ...] = ("none", "read", "operate")


@dataclass(frozen=True)
class UiOptions:
    """The options of a dashboard.

    Attributes:
        redact_keys: Names of members of payloads, results, headers and tags whose values are never sent; `*` stands for any text, and
            upper and lower case are alike.
        redact_types: Types of jobs and names of functions whose payloads, results and errors are never sent; `*` stands for any text.
        audit_kept: The number of actions that the audit view keeps, and of refusals and previews.
        secret: What the key of cursors is derived from; processes that serve the same dashboard share it. By default each has its own.
        requests: The most requests of a tenant that are under way or wait.
        streams: The most streams of events of a tenant.
        recordings: The most recordings of a tenant that are open.
        recording_bytes: The most bytes of memory that they take together.

    Raises:
        ValueError: An option breaks its rule.

    Example:
        >>> from resonate_core.ui import UiOptions
        >>> UiOptions(redact_keys=["password", "*token*"]).redact_keys
        ['password', '*token*']
    """

    redact_keys: Sequence[str] = ()
    redact_types: Sequence[str] = ()
    audit_kept: int = 1000
    secret: str | None = field(default=None, repr=False)
    requests: int = 64
    streams: int = 64
    recordings: int = 8
    recording_bytes: int = 536_870_912

    def __post_init__(self) -> None:
        for name in ("redact_keys", "redact_types"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(pattern, str) and pattern for pattern in given):
                raise ValueError(f"{name} must be a list of texts that are not empty, got {given!r}")
        if self.secret is not None and len(self.secret) < 16:
            raise ValueError("secret must have at least 16 characters: a shorter one can be guessed")
        for name in ("audit_kept", "requests", "streams", "recordings", "recording_bytes"):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{name} must be at least 1, got {number!r}")
