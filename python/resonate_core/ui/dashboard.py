"""One dashboard: its store, its options, and what it keeps in memory: audit, open recordings, counts of minutes, the key of cursors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .._core import Store, Watch
from .audit import Audit
from .cursors import Cursors
from .minute_counts import MinuteCounts
from .open_recordings import OpenRecordings
from .options import UiOptions
from .redaction import RedactionRules

__all__ = ["Dashboard"]


@dataclass
class Dashboard:
    """What all requests of one dashboard share.

    Attributes:
        store: The store, or None if it shows recordings only.
        options: Its options.
        listening: Returns whether a worker listens on an address; None if that is not known.
        counting: Counts commits of this process, for histograms; None if there are none.
        read_only: Whether the store was opened for reading.
        name: The place of the store, for people.
        is_recording: Whether the store is the last state of a recording.
        no_role: Why every request has the role `none` here, and what to do; None if requests may have another one.
    """

    store: Store
    options: UiOptions
    listening: Callable[[str], bool | None] | None = None
    counting: Callable[[], Watch] | None = None
    read_only: bool = False
    name: str | None = None
    is_recording: bool = False
    no_role: str | None = None
    rules: RedactionRules = field(init=False)
    audit: Audit = field(init=False)
    recordings: OpenRecordings = field(init=False)
    minutes: MinuteCounts = field(init=False)
    cursors: Cursors = field(init=False)

    def __post_init__(self) -> None:
        self.rules = RedactionRules(self.options)
        self.audit = Audit(self.options.audit_kept)
        self.recordings = OpenRecordings(self.options)
        self.minutes = MinuteCounts(self.store)
        self.cursors = Cursors(self.options.secret)
