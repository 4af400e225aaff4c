"""Instants of the store, in Unix ms, and Django's datetimes."""

from __future__ import annotations

from datetime import datetime, timezone as zones

from django.conf import settings
from django.utils import timezone

__all__ = ["to_datetime", "to_ms"]


def to_datetime(ms: int | None) -> datetime | None:
    """An aware datetime in UTC; without USE_TZ a naive one in the project's time zone."""
    if ms is None:
        return None
    at = datetime.fromtimestamp(ms / 1000, zones.utc)
    return at if settings.USE_TZ else timezone.make_naive(at)


def to_ms(at: datetime) -> int:
    """Unix ms; a naive datetime is in the project's time zone."""
    aware = at if timezone.is_aware(at) else timezone.make_aware(at)
    return round(aware.timestamp() * 1000)
