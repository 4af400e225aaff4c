"""Settings of jobs in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["defaults_in_words", "duration", "policy_in_words"]

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))
_DURATIONS = ("retention", "timeout")


def duration(ms: int) -> str:
    """Return a duration exactly, in the units that it needs.

    Example:
        >>> from resonate_core.ui.policies import duration
        >>> duration(1_800_000), duration(90_500), duration(0)
        ('30 min', '1 min 30 s 500 ms', '0 ms')
    """
    parts = []
    left = ms
    for name, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts) or "0 ms"


def policy_in_words(policy: Mapping[str, Any]) -> str:
    """Return a retry policy in words.

    Example:
        >>> from resonate_core.ui.policies import policy_in_words
        >>> policy_in_words({"kind": "fixed", "intervals": [1000, 5000]})
        'after 1 s, then every 5 s'
        >>> policy_in_words({"kind": "exponential", "base": 1000, "factor": 2, "cap": 60_000, "jitter": 0.1})
        'after 1 s, then 2 times as long, at most 1 min, ± 10 %'
    """
    kind = policy["kind"]
    if kind == "fixed":
        *first, last = map(duration, policy["intervals"])
        words = f"after {', '.join(first)}, then every {last}" if first else f"every {last}"
    elif kind == "exponential":
        words = f"after {duration(policy['base'])}, then {policy.get('factor', 2):g} times as long"
        words += f", at most {duration(policy['cap'])}" if "cap" in policy else ""
        words += f", ± {policy['jitter'] * 100:g} %" if policy.get("jitter") else ""
    else:
        words = "after about 15 s, then longer each time" if kind == "asynq" else str(kind)
    return words + (f"; only after {', '.join(policy['codes'])}" if policy.get("codes") else "")


def defaults_in_words(defaults: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the defaults of a queue as names and texts.

    Example:
        >>> from resonate_core.ui.policies import defaults_in_words
        >>> defaults_in_words({"maxRetries": 3, "retryPolicy": {"kind": "fixed", "intervals": [1_800_000]}})
        [('Max retries', '3'), ('Retry policy', 'every 30 min')]
    """
    return [(_words(name), _text(name, value)) for name, value in defaults.items()]


def _words(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f" {letter[0].lower()}", name).capitalize()


def _text(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name == "retryPolicy":
        return policy_in_words(value)
    if name in _DURATIONS:
        return duration(value)
    return "yes" if value is True else "no" if value is False else str(value)
