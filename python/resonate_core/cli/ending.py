"""Ctrl-C and SIGTERM as the normal end of a command that would otherwise run for ever."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ended_by_signals"]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End the block at Ctrl-C and at SIGTERM, without an error."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
