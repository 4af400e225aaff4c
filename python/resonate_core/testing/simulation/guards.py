"""What is not deterministic is replaced while a simulation runs, or refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..choices import Choices
    from .world import World

__all__ = ["guarded"]


@contextlib.contextmanager
def guarded(choices: Choices) -> Iterator[Callable[[World], None]]:
    yield lambda world: None
