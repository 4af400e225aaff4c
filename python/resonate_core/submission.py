"""Requests that take effect if and only if the caller's own transaction commits: `submit`."""

from __future__ import annotations

from .calls.submission import DEFAULT_SCHEMA, submit

__all__ = ["DEFAULT_SCHEMA", "submit"]
