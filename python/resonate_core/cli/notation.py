"""The notation of retry policies and rates: commands read it and print it in the same form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from resonate_core.cli.values import duration, read_json, refuse

__all__ = ["exact", "groups_text", "policy_text", "rate_text", "read_policy", "read_rate"]

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_POLICY_RULE = "is no retry policy: write asynq, fixed:10s,1m,10m, exponential:1s,factor=2,cap=1h,jitter=0.1, or its JSON"
_RATE_RULE = "is no rate: write 100/1m or 100/1m,burst=20"
_RATE = re.compile(r"(\d+)/(\w[\w.]*)(?:,burst=(\d+))?", re.ASCII)


def exact(ms: int) -> str:
    """Return a duration in the largest unit that gives a whole number.

    Example:
        >>> from resonate_core.cli.notation import exact
        >>> exact(5_400_000), exact(1500), exact(0)
        ('90m', '1500ms', '0s')
    """
    if ms == 0:
        return "0s"
    unit, size = next((unit, size) for unit, size in _UNITS if ms % size == 0)
    return f"{ms // size}{unit}"


def read_policy(text: str, option: str, codes: list[str] | None = None) -> dict[str, Any]:
    """Parse a retry policy into the form of job.enqueue (JOBS 3).

    Args:
        text: `asynq`; `fixed:` and the intervals, the last of which repeats; `exponential:` and the first delay, then any of `factor=`,
            `cap=` and `jitter=`; or its JSON, `@file` with it, or `-`.
        option: The name of the option, for errors.
        codes: The only errors that are retried; none: all.

    Raises:
        CommandFailed: It is none (USAGE).

    Example:
        >>> from resonate_core.cli.notation import read_policy
        >>> read_policy("fixed:10s,1m", "--retry-policy")
        {'kind': 'fixed', 'intervals': [10000, 60000]}
        >>> read_policy("exponential:1s,cap=1h,jitter=0.1", "--retry-policy", ["Timeout"])
        {'kind': 'exponential', 'base': 1000, 'cap': 3600000, 'jitter': 0.1, 'codes': ['Timeout']}
    """
    kind, colon, rest = text.strip().partition(":")
    policy: dict[str, Any]
    if text.strip() == "asynq":
        policy = {"kind": "asynq"}
    elif kind == "fixed" and colon:
        policy = {"kind": "fixed", "intervals": [duration(part, option) for part in rest.split(",")]}
    elif kind == "exponential" and colon:
        policy = _exponential(text, rest, option)
    elif text.strip()[:1] in ("{", "@", "-"):
        policy = read_json(text, option)
        if not isinstance(policy, dict):
            refuse(option, text, _POLICY_RULE)
    else:
        refuse(option, text, _POLICY_RULE)
    return policy | ({"codes": list(codes)} if codes else {})


def _exponential(text: str, rest: str, option: str) -> dict[str, Any]:
    base, *members = rest.split(",")
    policy: dict[str, Any] = {"kind": "exponential", "base": duration(base, option)}
    for member in members:
        name, _, value = (part.strip() for part in member.partition("="))
        if name in policy or name not in ("factor", "cap", "jitter"):
            refuse(option, text, _POLICY_RULE)
        try:
            policy[name] = duration(value, option) if name == "cap" else _number(value)
        except ValueError:
            refuse(option, text, _POLICY_RULE)
    return policy


def _number(text: str) -> int | float:
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        raise ValueError(text)
    return float(text) if "." in text else int(text)


def policy_text(policy: Mapping[str, Any]) -> str:
    """Return a policy in the form that `read_policy` parses, with the codes that it retries.

    Example:
        >>> from resonate_core.cli.notation import policy_text
        >>> policy_text({"kind": "exponential", "base": 1000, "factor": 2.0, "cap": 86400000, "jitter": 0, "codes": ["Timeout"]})
        'exponential:1s,factor=2,cap=1d (only Timeout)'
    """
    kind = str(policy["kind"])
    parts = []
    if kind == "fixed":
        parts = [exact(interval) for interval in policy["intervals"]]
    elif kind == "exponential":
        parts = [exact(policy["base"])]
        parts += [f"{name}={policy[name]:g}" for name in ("factor", "jitter") if policy.get(name)]
        if "cap" in policy:
            parts.insert(-1 if policy.get("jitter") else len(parts), f"cap={exact(policy['cap'])}")
    text = f"{kind}:{','.join(parts)}" if parts else kind
    return f"{text} (only {', '.join(policy['codes'])})" if policy.get("codes") else text


def read_rate(text: str, option: str) -> dict[str, int]:
    """Parse a rate into the form of queue.set.

    Args:
        text: How many jobs in which time, `100/1m` or `100/m`, and how many at once after a pause, `,burst=20`.
        option: The name of the option, for errors.

    Raises:
        CommandFailed: It is none (USAGE).

    Example:
        >>> from resonate_core.cli.notation import read_rate
        >>> read_rate("100/1m,burst=20", "--rate"), read_rate("5/s", "--rate")
        ({'limit': 100, 'per': 60000, 'burst': 20}, {'limit': 5, 'per': 1000})
    """
    found = _RATE.fullmatch(text.strip())
    if found is None:
        refuse(option, text, _RATE_RULE)
    per = found[2] if found[2][0].isdigit() else f"1{found[2]}"
    rate = {"limit": int(found[1]), "per": duration(per, option)}
    return rate if found[3] is None else rate | {"burst": int(found[3])}


def rate_text(rate: Mapping[str, int]) -> str:
    """Return a rate in the form that `read_rate` parses.

    Example:
        >>> from resonate_core.cli.notation import rate_text
        >>> rate_text({"limit": 100, "per": 60000, "burst": 20}), rate_text({"limit": 5, "per": 1000, "burst": 5})
        ('100/1m,burst=20', '5/1s')
    """
    text = f"{rate['limit']}/{exact(rate['per'])}"
    return text if rate.get("burst", rate["limit"]) == rate["limit"] else f"{text},burst={rate['burst']}"


def groups_text(groups: Mapping[str, int]) -> str:
    """Return how a queue gathers jobs: the size, the grace after the last job, the maximum delay after the first.

    Example:
        >>> from resonate_core.cli.notation import groups_text
        >>> groups_text({"size": 100, "grace": 5000, "maxDelay": 60_000}), groups_text({"size": 3, "grace": 0})
        ('size=100,grace=5s,max-delay=1m', 'size=3,grace=0s')
    """
    text = f"size={groups['size']},grace={exact(groups['grace'])}"
    return f"{text},max-delay={exact(groups['maxDelay'])}" if "maxDelay" in groups else text
