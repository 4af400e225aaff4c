"""Long requests, and the answer to a batch: what one client sends at once is divided, so that others get their turn between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from .._core import Envelope, RequestLimits

__all__ = ["LONG", "MOST_RECORDS", "Portion", "answer_batch", "portions"]

#: The most records that the requests of one transaction name (`Envelope.records`); one request may name more.
MOST_RECORDS = 2000
#: A request that names more records is long: long requests run in transactions of their own, and take turns with the others.
LONG = 256


class Portion(NamedTuple):
    """Lines of a batch that run together: envelopes, or the texts of long ones, which take less memory until they run."""

    short: list[Envelope]
    long: list[bytes]
    limits: RequestLimits
    following: bool

    def envelopes(self) -> list[Envelope]:
        """Return its envelopes, decoded."""
        return self.short or [Envelope(text, self.limits) for text in self.long]


def portions(lines: Iterable[bytes], limits: RequestLimits) -> Iterator[Portion]:
    """Divide the lines of a batch into portions of few records.

    Args:
        lines: The texts of the envelopes.
        limits: The limits of each request.

    Yields:
        The portions in order, none of them empty. No portion has both short and long requests.

    Example:
        >>> from resonate_core import RequestLimits
        >>> from resonate_core.server.batches import portions
        >>> [len(portion.short) for portion in portions([b"{}", b"{}"], RequestLimits())]
        [2]
    """
    short: list[Envelope] = []
    long: list[bytes] = []
    records = 0
    for line in lines:
        decoded = Envelope(line, limits)
        size = decoded.records
        records += size
        added = [] if size > LONG else [decoded]
        del decoded  # a long one is decoded again when it runs
        is_other_kind = bool(short if size > LONG else long)
        if is_other_kind or (records > MOST_RECORDS and (short or long)):
            yield Portion(short, long, limits, following=True)
            short, long, records = [], [], size
        short += added
        if not added:
            long.append(line)
    yield Portion(short, long, limits, following=False)


async def answer_batch(
    send: Callable[[Any], Awaitable[None]],
    headers: Iterable[tuple[bytes, bytes]],
    divided: Iterable[Portion],
    turn: Callable[[int], AbstractAsyncContextManager[None]],
    reply: Callable[[Envelope], Awaitable[tuple[int, bytes]]],
) -> None:
    """Run a batch portion by portion, and send the replies to each, one a line.

    What is sent is not kept: the next portion runs once the client has taken most of this one.

    Args:
        send: Sends a message of ASGI.
        headers: The headers of the answer, to which an answer of one portion adds its length.
        divided: The portions.
        turn: Waits until so many long requests may be decoded and run.
        reply: Runs an envelope.
    """
    begun = False
    for portion in divided:
        async with turn(len(portion.long)):
            answers = await asyncio.gather(*(reply(envelope) for envelope in portion.envelopes()))
        body = b"".join(line + b"\n" for _, line in answers)
        if not begun:
            length = [] if portion.following else [(b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": 200, "headers": [*headers, *length]})
            begun = True
        await send({"type": "http.response.body", "body": body, "more_body": portion.following})
