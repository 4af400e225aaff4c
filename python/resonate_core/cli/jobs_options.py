"""Parameters that several commands on jobs and queues have, and what they say as the requests have it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.jobs_words import read_policy
from resonate_core.cli.values import duration

__all__ = [
    "ATTEMPT_TIMEOUT",
    "GROUP",
    "JOB_STATE",
    "LIFECYCLE",
    "MAX_RETRIES",
    "ON_EXHAUSTED",
    "POLICY",
    "PRIORITY",
    "QUEUE",
    "RETENTION",
    "RETRY_ON",
    "TYPE",
    "course",
    "lengths",
]

QUEUE = Annotated[str | None, typer.Option("--queue", "-q", metavar="NAME", help="jobs of this queue")]
TYPE = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="jobs of this type")]
GROUP = Annotated[str | None, typer.Option("--group", metavar="TEXT", help="jobs of this group")]
JOB_STATE = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="scheduled, pending, claimed, running, retry, archived, completed, failed, cancelled or expired",
    ),
]
PRIORITY = Annotated[int | None, typer.Option("--priority", metavar="NUMBER", help="1 (first) to 100 (last)")]
ATTEMPT_TIMEOUT = Annotated[
    str | None, typer.Option("--timeout", metavar="LENGTH", help="longest duration of one attempt: 90s, 5m, or ms")
]
RETENTION = Annotated[
    str | None,
    typer.Option(
        "--retention", metavar="LENGTH", help="how long it is kept after it completed: 0, 2h, 7d, or keep (until deleted)"
    ),
]
MAX_RETRIES = Annotated[int | None, typer.Option("--max-retries", metavar="NUMBER", help="number of retries")]
POLICY = Annotated[
    str | None,
    typer.Option(
        "--retry-policy",
        metavar="POLICY",
        help="asynq; fixed:10s,1m,10m; exponential:1s,factor=2,cap=1h,jitter=0.1; or JSON, @file, -",
    ),
]
RETRY_ON = Annotated[
    list[str] | None,
    typer.Option(
        "--retry-on",
        metavar="CODE",
        help="with --retry-policy: only errors with this code are retried; may be repeated",
        show_default=False,
    ),
]
ON_EXHAUSTED = Annotated[
    str | None, typer.Option("--on-exhausted", metavar="STATE", help="state after the last retry failed: archived or failed")
]
LIFECYCLE = Annotated[str | None, typer.Option("--lifecycle", metavar="NAME", help="preset of defaults: asynq or horsies")]


def course(
    priority: int | None,
    timeout: str | None,
    retention: str | None,
    max_retries: int | None,
    policy: str | None,
    retry_on: list[str] | None,
    on_exhausted: str | None,
    prefix: str = "--",
) -> dict[str, Any]:
    """What a job takes from these options, or a queue gives its jobs: the members that were given (JOBS 2).

    Args:
        priority: As the option of this name; so are those that follow.
        timeout: Of one attempt.
        retention: A length, or `keep`.
        max_retries: A number.
        policy: As `read_policy` has it.
        retry_on: Codes.
        on_exhausted: A state.
        prefix: What the names of the options begin with.

    Raises:
        Failure: One cannot be read, or codes are given without a policy (USAGE).

    Example:
        >>> from resonate_core.cli.jobs_options import course
        >>> course(1, "30s", "keep", None, None, None, "failed")
        {'priority': 1, 'timeout': 30000, 'retention': None, 'onExhausted': 'failed'}
    """
    if retry_on and policy is None:
        raise Failure(f"{prefix}retry-on is for {prefix}retry-policy", Exit.USAGE)
    made: dict[str, Any] = {"priority": priority} if priority is not None else {}
    made |= lengths({"timeout": timeout}, prefix)
    if retention is not None:
        made |= {"retention": None} if retention == "keep" else lengths({"retention": retention}, prefix)
    if max_retries is not None:
        made["maxRetries"] = max_retries
    if policy is not None:
        made["retryPolicy"] = read_policy(policy, f"{prefix}retry-policy", retry_on)
    return made if on_exhausted is None else made | {"onExhausted": on_exhausted}


def lengths(given: Mapping[str, str | None], prefix: str = "--") -> dict[str, int]:
    """The lengths of time that were given, in ms.

    Args:
        given: Texts by member.
        prefix: What the names of the options begin with.

    Raises:
        Failure: One is none (USAGE).

    Example:
        >>> from resonate_core.cli.jobs_options import lengths
        >>> lengths({"processIn": "90s", "goodFor": None})
        {'processIn': 90000}
    """
    made = {}
    for member, text in given.items():
        if text is not None:
            made[member] = duration(text, prefix + re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", member))
    return made
