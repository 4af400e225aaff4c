"""The options of `queues.set`, by name: a misspelt one is an error in an editor, and at run time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

__all__ = ["QueueDefaults", "QueueGroups", "QueueOptions", "QueueRate"]


class _LimitPer(TypedDict):
    limit: int
    per: int


class QueueRate(_LimitPer, total=False):
    """How often the jobs of a queue may be claimed: `limit` in `per` ms, and up to `burst` at once (default: `limit`).

    Example:
        >>> rate: rc.QueueRate = {"limit": 100, "per": 60_000}
    """

    burst: int | None


class QueueGroups(TypedDict, total=False):
    """When a batch of a queue is ready: at `size` jobs, `grace` ms after the last one joined, or `maxDelay` ms after the first.

    Example:
        >>> groups: rc.QueueGroups = {"size": 20, "grace": 60_000}
    """

    size: int | None
    grace: int | None
    maxDelay: int | None


class QueueDefaults(TypedDict, total=False):
    """Members of jobs of a queue that do not set them. Durations are ms; a `retention` of None keeps jobs without limit.

    Example:
        >>> defaults: rc.QueueDefaults = {"maxRetries": 3, "timeout": 60_000}
    """

    maxRetries: int | None
    retryPolicy: Mapping[str, Any] | None
    onExhausted: Literal["archived", "failed"] | None
    retention: int | None
    timeout: int | None
    priority: int | None


class QueueOptions(TypedDict, total=False):
    """Members of a queue that `queues.set` sets; None clears one.

    Example:
        >>> options: rc.QueueOptions = {"weight": 6, "concurrency": 10}
        >>> rc.Store(clock=rc.ManualClock()).queues.set("mail", **options)["weight"]
        6
    """

    lifecycle: Literal["asynq", "horsies", "workflow"] | None
    weight: int | None
    concurrency: int | None
    rate: QueueRate | None
    groups: QueueGroups | None
    defaults: QueueDefaults | None
