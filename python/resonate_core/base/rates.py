"""When the rate of a queue allows the next claim (JOBS 3, limits of a queue)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["claimable_at"]


def claimable_at(queue: Mapping[str, Any]) -> int | None:
    """Return the instant from which the rate of a queue allows a claim, which may have passed; None without a rate.

    Args:
        queue: Its row in a snapshot.

    Example:
        >>> from resonate_core.base.rates import claimable_at
        >>> rate = {"limit": 2, "per": 1000, "burst": 2}
        >>> claimable_at({"rate": rate, "level": 1000, "refilledAt": 500, "claims": [{"at": 200, "count": 1}, {"at": 500, "count": 1}]})
        1200
    """
    if "rate" not in queue or "level" not in queue:
        return None
    rate = queue["rate"]
    missing = max(0, rate["per"] - queue["level"])
    at: int = queue["refilledAt"] - (-missing // rate["limit"])  # rounded up
    counted = queue.get("claims", [])
    taken = sum(one["count"] for one in counted)
    for one in counted:
        if taken < max(rate["limit"], rate["burst"]):
            break
        taken -= one["count"]
        at = max(at, one["at"] + rate["per"])
    return at
