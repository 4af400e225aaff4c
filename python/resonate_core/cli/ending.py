"""The end of commands that have no other: Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ended_by_signals"]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ctrl-C ends what is inside, as SIGTERM does: neither is an error of a view that has no other end."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
