"""Which of the streams that watch a queue are woken for its jobs."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

__all__ = ["Stats", "WatchedQueue"]

#: The statistics of a queue, as `Queues.stats` returns them, without `latency`.
Stats = dict[str, Any]

_Stream = TypeVar("_Stream")


class WatchedQueue(Generic[_Stream]):
    """One queue that streams watch.

    Example:
        >>> from resonate_core.server.watched_queue import WatchedQueue
        >>> queue = WatchedQueue()
        >>> queue.streams.update(dict.fromkeys("abcd"))
        >>> one_job = {"paused": False, "counts": {"pending": 1}}
        >>> queue.take(one_job, committed=True)       # one job wakes one worker
        ['a']
        >>> queue.take(one_job, committed=False)      # nobody has claimed it: two more
        ['b', 'c']

    Attributes:
        streams: In the order in which they are woken; the values mean nothing.
        seen: Its statistics at the last look; None before the first.
        claimable: The number of its jobs that could be claimed then.
        left: The streams that have not been woken for these jobs.
        portion: The number of streams that were woken at once.
    """

    def __init__(self) -> None:
        self.streams: dict[_Stream, None] = {}
        self.seen: Stats | None = None
        self.claimable = 0
        self.left: list[_Stream] = []
        self.portion = 0

    def take(self, stats: Stats, committed: bool) -> list[_Stream]:
        """Take the statistics of a look; return the streams to wake.

        One worker is woken for each job. If jobs are left after a moment, since workers are busy, further ones are: twice as many
        each time.

        Args:
            stats: Of now.
            committed: Whether a commit has made a job claimable since the last look; False: as far as is known.
        """
        claimable = 0 if stats["paused"] else stats["counts"]["pending"]
        # Fewer jobs, without a commit that made one claimable: workers have claimed some.
        news = stats != self.seen and (committed or claimable >= self.claimable)
        self.seen, self.claimable = stats, claimable
        if claimable == 0:
            self.left = []
        elif news:
            self.left, self.portion = list(self.streams), claimable
        elif self.left:
            self.portion *= 2
        elif committed:  # of another queue, or a job was claimed and given back since the last look: it seems unchanged
            self.left, self.portion = list(self.streams), 1
        woken, self.left = self.left[: self.portion], self.left[self.portion :]
        for stream in woken:
            self.streams[stream] = self.streams.pop(stream)  # to the end
        return woken

    def remove(self, stream: _Stream) -> None:
        """Wake a stream no more."""
        self.streams.pop(stream, None)
        if stream in self.left:
            self.left.remove(stream)
