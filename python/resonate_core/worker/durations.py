"""Durations as callers give them."""

from .._calls.values import Duration, milliseconds

__all__ = ["Duration", "milliseconds"]
