"""Warnings of tags that have no meaning though they look as if they had one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Envelope

__all__ = ["TagWarnings"]

_log = logging.getLogger("resonate_core.server")

#: After so many different warnings there are no more: clients may send what they like.
_MOST = 200
_LONGEST_ID = 100


class TagWarnings:
    """Logs each warning once: a client that misspells a tag misspells it in every request."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def look_at(self, envelope: Envelope) -> None:
        """Logs what the tags of a request that may be made were probably meant to be."""
        for advice in envelope.advice:
            if advice in self._told or len(self._told) >= _MOST:
                continue
            self._told.add(advice)
            named = envelope.ids
            of = f" of {named[0][:_LONGEST_ID]!a}" if named else ""
            _log.warning("%s%s: %s (this is said once)", envelope.kind, of, advice)
